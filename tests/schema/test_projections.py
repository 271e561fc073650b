"""The part of a large result that stays in the log, and whether that of one plan does for another one."""

from typing import Any

import pytest

from harness.running import HEAD, compiled
from noetl_ir.plan import Step
from noetl_ir.plan_format import read_plan
from noetl_ir.projections import projection, reads_more, without_projections

LOOP = "loop: {in: [1, 2], iterator: one}, "


def start(*guards: str, loop: bool = False) -> Step:
    """The first step of a playbook whose server reads these expressions behind it."""
    arcs = "".join(f'{{step: last, when: "{{{{ {guard} }}}}"}}, ' for guard in guards)
    text = f"""{HEAD}
workflow:
  - {{step: start, {LOOP if loop else ""}tool: {{kind: noop}}, next: {{arcs: [{arcs}{{step: last}}]}}}}
  - {{step: last, tool: {{kind: noop}}}}
"""
    return read_plan(compiled(text)).steps[0]


VALUE = {"a": {"b": 1, "c": 2}, "d": [3], "e": 4}


@pytest.mark.parametrize(
    ("guards", "part"),
    [
        (["start.a.b == 1"], {"a": {"b": 1}}),
        (["start.a.b == 1", "start.e == 4"], {"a": {"b": 1}, "e": 4}),
        (["start.d[0] == 3"], {"d": [3]}),
        (["start.missing is defined"], {}),
        (["start.result.e == 4"], {"e": 4}),  # there is no key of that name: it means the whole
        (["true"], {}),
    ],
)
def test_the_part_is_what_the_server_reads(guards: list[str], part: Any) -> None:
    assert projection(start(*guards), VALUE) == (part, False)


def test_whoever_reads_all_of_it_has_all_of_it() -> None:
    assert projection(start("start | length == 3"), VALUE) == (VALUE, True)
    assert projection(start("start[0] == 1", loop=True), VALUE) == (VALUE, True)


@pytest.mark.parametrize(
    ("old", "new", "more"),
    [
        (["start.a.b"], ["start.a.b"], False),
        (["start.a.b"], ["start.a.c"], True),
        (["start.a"], ["start.a.c"], False),
        (["start.a.b"], ["start.a"], True),
        (["start | length"], ["start.e"], False),
        (["start.e"], ["start | length"], True),
        (["true"], ["start.e"], True),
        (["start.e"], ["true"], False),
    ],
)
def test_a_part_does_for_another_plan_where_that_reads_nothing_else(old: list[str], new: list[str], more: bool) -> None:
    assert reads_more(start(*new), start(*old)) is more


def test_of_a_reference_the_part_is_left_out_wherever_it_stands() -> None:
    reference = {"__ref__": True, "key": "e1/1"}
    value = {"projected": 1, "rows": [{**reference, "projected": {"a": 1}}]}
    assert without_projections(value) == {"projected": 1, "rows": [reference]}
