"""Values of a payload of another type than `workload` has: what is told, and what is not."""

import pytest

from harness.running import compiled
from noetl.engine.program import Program
from noetl.engine.retyped import retyped
from noetl_ir.expr import Json
from noetl_ir.plan_format import digest_of, read_plan

WORKLOAD = (
    "workload: {n: 3, on: true, who: Ada, rows: [1], none: null, made: '{{ 1 }}', deep: {n: 1.5, t: '{{ 2 }}'}}\n"
)
STEPS = "workflow:\n- {step: start, tool: {kind: noop}}\n"


def program(text: str) -> Program:
    data = compiled(text)
    return Program(read_plan(data), digest_of(data), data)


QUOTED = "for the text write `--set 'who=\"123\"'`, or quotes in the payload"
TOLD: dict[str, tuple[dict[str, Json], str]] = {
    "a text for a number": ({"n": "three"}, "`n` is a text, and a number in `workload`"),
    "a text for a boolean": ({"on": "yes"}, "`on` is a text, and a boolean in `workload`"),
    "a number for a boolean": ({"on": 1}, "`on` is a number, and a boolean in `workload`"),
    "a boolean for a number": ({"n": True}, "`n` is a boolean, and a number in `workload`"),
    "a number for a text": ({"who": 123}, f"`who` is a number, and a text in `workload`: {QUOTED}"),
    "a mapping for a text": ({"who": {"a": 1}}, "`who` is a mapping, and a text in `workload`"),
    "a text for a list": ({"rows": "1,2"}, "`rows` is a text, and a list in `workload`"),
    "below": ({"deep": {"n": "x", "t": 1}}, "`deep.n` is a text, and a number in `workload`"),
    "for a mapping": ({"deep": 1}, "`deep` is a number, and a mapping in `workload`"),
}


@pytest.mark.parametrize("about", TOLD)
def test_another_type_is_told(about: str) -> None:
    payload, said = TOLD[about]
    assert retyped(program(WORKLOAD + STEPS), payload) == (said,)


@pytest.mark.parametrize(
    "payload",
    [{"n": 4}, {"n": 4.5}, {"deep": {"n": 2}}, {"none": "x"}, {"n": None}, {"made": "x"}, {"fresh": 1}, {"rows": []}],
    ids=str,
)
def test_the_same_type_and_what_says_nothing_are_not_told(payload: dict[str, Json]) -> None:
    assert retyped(program(WORKLOAD + STEPS), payload) == ()


def test_declared_inputs_are_checked_elsewhere() -> None:
    declared = "executor: {spec: {inputs: {n: {}}}}\n"
    assert retyped(program(declared + "workload: {n: 3}\n" + STEPS), {"n": "x"}) == ()
