"""Readings made of an older one: they are what a reading of the whole text gives, or none at all."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

from harness.editing import edited, typed
from harness.samples import first
from noetlc.source.nodes import Mapping, Node, Scalar, Sequence
from noetlc.source.rereading import reread
from noetlc.source.yaml_reader import Reading, read_yaml

ROOT = Path(__file__).resolve().parents[3]
FILES = sorted([*(ROOT / "examples").glob("*.yaml"), *(ROOT / "golden").rglob("*.yaml")])
TEXT = """workload: {a: 1}
workflow:
- step: start
  desc: one
  next: {arcs: [{step: b}]}
# between
- step: b
  code: |
    two

- step: c
  desc: "three"
"""
BELOW = f"{TEXT}workbook: []\n"


def tree(node: Node | None) -> Any:
    """All that is in a node, with its places in lines and columns."""
    if node is None:
        return None
    if isinstance(node, Scalar):
        return node.value, node.text, node.style, tuple(node.span)
    if isinstance(node, Sequence):
        return [tree(item) for item in node.items], tuple(node.span)
    assert isinstance(node, Mapping)
    index = {name: (tree(key), tree(value)) for name, (key, value) in node.index.items()}
    return [(tree(key), tree(value)) for key, value in node.entries], index, tuple(node.span)


def read(text: str) -> Reading:
    return read_yaml("a.yaml", text.encode("utf-8", "surrogatepass"))


def reread_is_right(before: Reading, text: str) -> Reading | None:
    """The reading of a text from an older one, which is compared with that of the whole text."""
    found, whole = reread(before, "a.yaml", text.encode("utf-8", "surrogatepass")), read(text)
    if found is not None:
        assert [tree(node) for node in found.documents] == [tree(node) for node in whole.documents], text
        assert found.diagnostics == whole.diagnostics, text
        assert (found.source.text, found.uses) == (whole.source.text, whole.uses)
    return found


@pytest.mark.parametrize("seed", first(2, range(20)))
def test_a_text_edited_at_random_is_read_as_a_whole_would_be(seed: int) -> None:
    random, again = Random(seed), 0
    for _ in range(60):
        text = random.choice(FILES).read_bytes().decode("utf-8", "replace")
        before = read(text)
        for _ in range(8):
            text = (edited if random.random() < 0.3 else typed)(random, text)
            found = reread_is_right(before, text)
            again += found is not None
            whole = found or read(text)
            # A text that cannot be read is no beginning: the one before it is.
            before = before if None in whole.documents else whole
    assert again > 20  # else it says nothing


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("desc: one", "desc: only"), ("step: b", "step: be"), ("two", "two words"),
        ('"three"', "3"), ("# between", "# in between"), ("arcs: [{", "arcs: [{when: x, "),
    ],
)  # fmt: skip
@pytest.mark.parametrize("text", [TEXT, BELOW], ids=["last", "below"])
def test_of_a_change_in_one_step_the_others_are_those_of_the_last_reading(text: str, was: str, now: str) -> None:
    before = read(text)
    found = reread_is_right(before, text.replace(was, now, 1))
    assert found is not None
    old, new = (one.documents[0] for one in (before, found))
    assert isinstance(old, Mapping) and isinstance(new, Mapping)
    steps = [node.get("workflow") for node in (old, new)]
    assert all(isinstance(each, Sequence) for each in steps)
    same = [one is other for one, other in zip(steps[0].items, steps[1].items, strict=True)]  # type: ignore[union-attr]
    assert sorted(same) == [False, True, True] and old.get("workload") is new.get("workload")


def test_lines_may_come_and_go_in_the_last_step_of_a_file() -> None:
    assert reread_is_right(read(TEXT), f"{TEXT}  spec: {{}}\n") is not None
    assert reread_is_right(read(TEXT), TEXT.removesuffix('  desc: "three"\n')) is not None
    assert reread_is_right(read(BELOW), BELOW.replace("- step: c\n", "- step: c\n  spec: {}\n")) is None


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("a: 1", "a: 2"), ("desc: one", "desc: one\n  loop: x"), ("desc: one", 'desc: "one'),
        ("desc: one", "desc: [one"), ("- step: c", "-"), ("# between", "# noetl: x"),
        ("- step: b", " - step: b"), ("- step: b", "  step: b"), ("- step: b", "x: b"), ("# between", "---"),
        ("desc: one", "desc: *a"), ("desc: one", "step: one"), ("  desc: one", "- desc: one"),
    ],
)  # fmt: skip
def test_of_any_other_change_all_is_read(was: str, now: str) -> None:
    assert reread_is_right(read(TEXT), TEXT.replace(was, now, 1)) is None
    if was != "a: 1":
        assert reread_is_right(read(BELOW), BELOW.replace(was, now, 1)) is None


@pytest.mark.parametrize(
    "text",
    [
        TEXT.replace("desc: one", "desc: &a one").replace('"three"', "*a"),
        TEXT.replace("- step: c", "---\nworkflow:\n- step: c"),
        TEXT.replace("one", "one\u2028"), "workflow: [{step: start},\n {step: b, desc: one}]\n", f"- 1\n{'':9}\n",
        TEXT.replace("# between", "# noetl: ignore"), f"x: &a 1\n{TEXT}y: *a\n",
    ],
)  # fmt: skip
def test_of_other_files_all_is_read(text: str) -> None:
    assert reread_is_right(read(text), text.replace("one", "only")) is None
