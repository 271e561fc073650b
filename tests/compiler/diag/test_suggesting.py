"""Whatever finding says what was meant offers it as a fix: over all goldens, and by hand."""

import re
from pathlib import Path

import pytest

from goldens import cases
from noetlc.diag.diagnostic import Diagnostic
from noetlc.pipeline import check_source
from noetlc.source.decoding import decode

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: a, path: a/a}\n"


def suggestions() -> list[tuple[str, Diagnostic]]:
    found = []
    for case in cases():
        compiled = check_source(case.path.name, case.path.read_bytes())
        found += [(str(case.path), one) for one in compiled.diagnostics if "did you mean" in one.help + one.message]
    return found


def test_every_suggestion_of_the_goldens_is_offered_as_a_fix() -> None:
    found = suggestions()
    assert len({one.code for _, one in found}) >= 15
    lacking = {(path.rpartition("golden/")[2], one.code, one.message) for path, one in found if one.fix is None}
    assert lacking == set()


def test_a_fix_writes_what_was_meant_where_the_slip_stands() -> None:
    for path, one in suggestions():
        if one.fix is None:
            continue
        source, _ = decode(path, Path(path).read_bytes())
        start = source.offset_of(one.fix.span.line, one.fix.span.column)
        before = source.text[start : source.offset_of(one.fix.span.end_line, one.fix.span.end_column)]
        meant = re.findall("did you mean `([^`]+)`", one.help + one.message)
        # What it writes is what was suggested, in the quotes that stood there, or behind the scope that it belongs to.
        written = one.fix.text.strip("'\"")
        assert any(written in (each, each.rpartition(".")[2]) or written.endswith(f".{each}") for each in meant)
        assert before != one.fix.text and one.fix.span.line >= one.span.line, (path, before)


@pytest.mark.parametrize(
    ("body", "code", "before", "after"),
    [
        ('workload: {cities: 1}\nworkflow: [{step: start, tool: {kind: noop, result: "{{ citis }}"}}]\n', "NL303",
         "{{ citis }}", "{{ cities }}"),
        ('workflow: [{step: start, tool: {kind: noop, result: "{{ [1] | lenght }}"}}]\n', "NL301",
         "| lenght", "| length"),
    ],
)  # fmt: skip
def test_a_slip_in_an_expression_has_a_fix(body: str, code: str, before: str, after: str) -> None:
    text = HEAD + body
    [one] = [one for one in check_source("a.yaml", text.encode()).diagnostics if one.code == code]
    assert one.fix is not None and not one.fix.safe
    lines = text.split("\n")
    line = lines[one.fix.span.line - 1]
    made = line[: one.fix.span.column - 1] + one.fix.text + line[one.fix.span.end_column - 1 :]
    assert made == line.replace(before, after)
