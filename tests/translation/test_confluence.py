"""Lowering ends in one form: the canonical stays as it is, and the order of what is independent does not matter."""

from random import Random
from typing import Any

import yaml
from hypothesis import given, note
from hypothesis import strategies as st

from harness.running import HEAD
from noetlc.ast.printing import printed
from noetlc.pipeline import understood
from noetlc.source.yaml_reader import read_yaml
from translation.crossing import combinations_of, crossed
from translation.effort import effort

playbooks = st.builds(
    lambda names, seed: crossed(Random(seed), names).playbook,
    st.sampled_from(combinations_of(2)),
    st.integers(0, 1 << 30),
)


def lowered(text: str) -> tuple[str, int]:
    """The canonical source of a file, and how many changes led to it."""
    reading = read_yaml("t.yaml", text.encode())
    made = understood(reading.source, reading.documents[0])
    assert made.playbook is not None
    return printed(made.playbook), len(made.changes)


def text_of(playbook: dict[str, Any]) -> str:
    return HEAD + yaml.dump(playbook, Dumper=yaml.CSafeDumper, sort_keys=False)


def turned(node: Any, random: Random, inside: str = "") -> Any:
    """A document in another order: keys of mappings, and the steps of the workflow.

    Lists keep theirs, and so does what a mapping of actions, targets or patches says: their order is one.
    """
    if isinstance(node, dict):
        keys = list(node)
        if inside not in ("args", "vars", "set", "params", "then"):
            random.shuffle(keys)
        return {key: turned(node[key], random, key) for key in keys}
    if isinstance(node, list):
        made = [turned(item, random, inside) for item in node]
        if inside == "workflow":
            random.shuffle(made)
        return made
    return node


def by_step(text: str) -> dict[str, Any]:
    """A canonical document in which the order of steps and keys cannot be seen."""
    document: dict[str, Any] = yaml.load(text, Loader=yaml.CSafeLoader)
    return {**document, "workflow": {step["step"]: step for step in document["workflow"]}}


@given(playbooks)
@effort(40)
def test_canonical_source_stays_as_it_is(playbook: dict[str, Any]) -> None:
    text = text_of(playbook)
    note(text)
    once, _ = lowered(text)
    assert lowered(once) == (once, 0)


@given(playbooks, st.integers(0, 1 << 30))
@effort(40)
def test_the_order_of_what_is_independent_does_not_matter(playbook: dict[str, Any], seed: int) -> None:
    text, other = text_of(playbook), text_of(turned(playbook, Random(seed)))
    note(text)
    note(other)
    assert by_step(lowered(other)[0]) == by_step(lowered(text)[0])
