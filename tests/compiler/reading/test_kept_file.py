"""Findings in a text of which an older one was read before: the same as without."""

from pathlib import Path
from random import Random

import pytest

from harness.editing import edited, typed
from harness.samples import first
from noetlc.cli.inspection import looked_into
from noetlc.reading.kept_file import KeptFile
from noetlc.source.nodes import Mapping, Sequence

ROOT = Path(__file__).resolve().parents[3]
FILES = sorted([*(ROOT / "examples").glob("*.yaml"), *(ROOT / "golden" / "dialects").rglob("*.yaml")])
HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: t, path: t/t}\nworkflow:\n"


def found(text: str, kept: KeptFile | None = None) -> object:
    data = text.encode("utf-8", "surrogatepass")
    return looked_into("a.yaml", data, migrating=False, kept=kept)[0]


@pytest.mark.parametrize("seed", first(2, range(12)))
def test_findings_in_a_text_edited_at_random_are_those_of_the_text_alone(seed: int) -> None:
    random = Random(seed)
    for _ in range(12):
        text, kept = random.choice(FILES).read_text("utf-8"), KeptFile()
        for _ in range(6):
            text = (edited if random.random() < 0.3 else typed)(random, text)
            assert found(text, kept) == found(text), text


@pytest.mark.parametrize(
    ("text", "was", "now"),
    [
        # Whether `data` is what is sent depends on what other steps set.
        (
            HEAD + "- {step: start, tool: http, method: POST, endpoint: 'http://e/{{ id }}', data: {id: 7, more: 5}}\n"
            "- {step: b, tool: {kind: noop}, vars: {id: 1}}\n",
            "{id: 1}", "{it: 1}",
        ),
        # Unknown names are warnings in an older file, and errors in one of today.
        (
            HEAD + "- {step: start, tool: {kind: noop, args: {a: '{{ unknown }}'}}, next: {arcs: [{step: b}]}}\n"
            "- {step: b, tool: python, code: 'result = 1'}\n",
            "tool: python, code: 'result = 1'", "tool: {kind: noop}",
        ),
        (
            HEAD + "- {step: start, tool: {kind: noop, args: {a: '{{ unknown }}'}}, next: {arcs: [{step: b}]}}\n"
            "- {step: b, tool: python, code: 'result = 1'}\n",
            "kind: noop", "kind: python, code: 'result = a'",
        ),
        (HEAD + "- {step: start, next: {arcs: [{step: b}]}}\n- {step: b}\n", "- {step: b}", "- {step: c}"),
        # A name that YAML 1.1 reads as a boolean: what is known of it is known again.
        (HEAD + "- {step: start, next: {arcs: [{step: on}]}}\n- {step: on, desc: a}\n", "desc: a", "desc: 010"),
    ],
)  # fmt: skip
def test_what_a_step_means_by_another_one_is_not_kept(text: str, was: str, now: str) -> None:
    kept, changed = KeptFile(), text.replace(was, now)
    for each in (text, changed, text, changed):
        assert found(each, kept) == found(each)
    assert found(text) != found(changed)


def test_a_text_that_is_broken_for_the_moment_does_not_hide_what_was_read() -> None:
    text, kept = HEAD + "- {step: start, next: {arcs: [{step: b}]}}\n- {step: b, desc: one}\n", KeptFile()
    broken, mended = text.replace("desc: one", "desc: [one"), text.replace("desc: one", "desc: two")
    read = [kept.read("a.yaml", each.encode()).documents[0] for each in (text, broken, mended)]
    assert read[1] is None
    steps = [one.get("workflow") for one in (read[0], read[2]) if isinstance(one, Mapping)]
    first, second = (each.items for each in steps if isinstance(each, Sequence))
    assert first[0] is second[0] and first[1] is not second[1]
