"""Declared inputs (EXTENSIONS.md §2): what a payload may have, what values must be, and that a replay says the same."""

from typing import Any

import pytest

from harness.running import HEAD, compiled, run
from noetl.engine.inputs import undeclared
from noetl.engine.program import Program
from noetl.engine.replay import replay
from noetl.engine.starting import Request, unmet
from noetl.engine.unread import unread
from noetl_ir.plan_format import digest_of, read_plan

STEP = 'workflow:\n  - {step: start, tool: {kind: noop, result: "{{ workload }}"}}\n'
DECLARED = """
executor:
  spec:
    inputs:
      day: {type: string, format: date, required: true, description: the day to load}
      limit: {type: integer, minimum: 1}
      note: {type: string}
      box: {type: object, properties: {a: {type: integer}}, additionalProperties: false}
workload: {limit: 10, url: "{{ day }}/{{ limit }}"}
"""


def program(text: str) -> Program:
    data = compiled(text + STEP)
    return Program(read_plan(data), digest_of(data), data)


def said(text: str, payload: dict[str, Any]) -> tuple[str, ...]:
    return unmet(program(text), "1", Request(payload))


# Each input stands in a line of its own: three of the head, an empty one, and three keys come before the first.
DAY = {"day": "2026-01-31"}
NO_DAY = "t.yaml:8:7: the input `day` (the day to load) must be brought: give `--set day=…`, or `day` in the payload"


@pytest.mark.parametrize(
    ("payload", "told"),
    [
        (DAY, []),
        ({**DAY, "limit": 1, "note": "x", "box": {"a": 1}}, []),
        (
            {},
            [NO_DAY],
        ),
        ({"dya": "x", **DAY}, ["`dya` is no input of this playbook: did you mean `day`?"]),
        ({"zebra": 1, **DAY}, ["`zebra` is no input of this playbook: known are `day`, `limit`, `note`, `box`"]),
        # A key of `workload` that is no input is the playbook's own.
        ({"url": "x", **DAY}, ["`url` is no input of this playbook: known are `day`, `limit`, `note`, `box`"]),
        ({**DAY, "limit": 0}, ["t.yaml:9:7: the input `limit` must be at least 1"]),
        ({**DAY, "limit": "5"}, ["t.yaml:9:7: the input `limit` must be a whole number, and is a text"]),
        # What is given is given: null is a value, and no text.
        ({**DAY, "note": None}, ["t.yaml:10:7: the input `note` must be a text, and is null"]),
        ({"day": None}, ["t.yaml:8:7: the input `day` must be a text, and is null"]),
        ({**DAY, "box": {"b": 1}}, ["t.yaml:11:7: the input `box.b` is no key of it"]),
        (
            {"dya": 1, "limit": 0},
            [
                "`dya` is no input of this playbook: did you mean `day`?",
                NO_DAY,
            ],
        ),
    ],
)
def test_what_a_start_brings(payload: dict[str, Any], told: list[str]) -> None:
    assert said(DECLARED, payload) == tuple(told)


def test_an_input_that_is_not_given_and_not_in_workload_is_null() -> None:
    done = run(HEAD + DECLARED + STEP, payload=DAY)
    expected = {"limit": 10, "url": "2026-01-31/10", **DAY, "note": None, "box": None}
    assert done.status == "completed" and done.result("start") == expected


def test_values_are_held_on_the_merged_workload() -> None:
    # `box` is `{a: x}` of the workload with what the payload gives over it.
    text = DECLARED.replace("limit: 10", "limit: 10, box: {a: \"{{ 'x' }}\"}")
    assert said(text, DAY) == ("t.yaml:11:7: the input `box.a` must be a whole number, and is a text",)
    assert said(text, {**DAY, "box": {"a": 1}}) == ()


def test_a_required_input_is_required_beside_a_default() -> None:
    text = DECLARED.replace("limit: 10", "day: '2026-01-31', limit: 10")
    assert said(text, {}) == (NO_DAY,)


def test_no_inputs_are_none() -> None:
    assert said("executor: {spec: {inputs: {}}}\nworkload: {a: 1}\n", {"a": 2}) == (
        "`a` is no input of this playbook: there is none",
    )


def test_a_start_that_was_recorded_all_the_same_fails_and_replays() -> None:
    done = run(HEAD + DECLARED + STEP, payload={"dya": 1})
    assert done.names() == ["playbook.execution.requested", "workflow.finished", "playbook.processed"]
    assert done.log[1].data["status"] == "failed"
    assert done.log[1].data["error"] == {
        "code": "inputs.invalid",
        "message": "`dya` is no input of this playbook: did you mean `day`?",
    }
    assert replay(done.program, "e1", done.log).wrong is None
    forged = done.log[0]._replace(data={**done.log[0].data, "payload": DAY})
    assert replay(done.program, "e1", [forged, *done.log[1:]]).wrong is not None


@pytest.mark.parametrize(
    ("payload", "told"),
    [
        ({"limit": 5}, ()),
        ({"lmit": 5}, ("`lmit` is no key of `workload`; did you mean `limit`?",)),
        ({"zebra": 5}, ("`zebra` is no key of `workload`",)),
    ],
)
def test_without_declared_inputs_the_keys_of_workload_are_the_names(
    payload: dict[str, Any], told: tuple[str, ...]
) -> None:
    plain = program("workload: {limit: 10}\n")
    assert undeclared(plain, payload) == told
    assert bool(unread(plain, payload)) is bool(told)
    assert unread(program(DECLARED), payload) == undeclared(program(DECLARED), payload) == ()
