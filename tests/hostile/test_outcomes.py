"""Outcomes and payloads of any kind can be kept in the log and read again, or are refused in plain words."""

import pytest

from noetl.cli.inputs import json_of, with_sets
from noetl.ports import ToolCall
from noetl.worker import launcher
from noetl_ir.events import MAX_DEPTH, Event, read_event, write_event
from noetl_ir.expr import Json
from noetl_ir.outcome import Handle, Outcome, ok

CALL = ToolCall("e", "s", "t", "third", {}, {}, {}, None, "a", 1, {})


def nested(levels: int) -> Json:
    value: Json = 1
    for _ in range(levels):
        value = [value]
    return value


def outcome_of(result: object) -> Outcome:
    return launcher._checked(CALL, ok(result))  # type: ignore[arg-type]


def is_readable(outcome: Outcome) -> bool:
    event = Event("e", "task.done", 0, data={"outcome": outcome.as_json(), "result": outcome.result})
    return read_event(write_event(event)) == event


@pytest.mark.parametrize(
    "result",
    [
        nested(launcher.DEEPEST + 1), nested(5_000), float("inf"), [float("nan")], {"a": {1: 2}}, {1, 2}, b"x",
        (1, 2), object(), [10**5_000], [-(10**4_300)],
    ],
)  # fmt: skip
def test_an_outcome_that_no_log_can_hold_is_an_error(result: object) -> None:
    outcome = outcome_of(result)
    assert outcome.error is not None
    assert outcome.error["code"] == "result.type"
    assert is_readable(outcome)


@pytest.mark.parametrize("result", [nested(launcher.DEEPEST), [10**4_000], "\ud800\0"])
def test_any_other_outcome_is_read_as_it_was_written(result: Json) -> None:
    outcome = outcome_of(result)
    assert outcome.status == "ok"
    assert outcome.result == result
    assert is_readable(outcome)


def test_a_handle_is_told_from_other_mappings_of_a_type_of_their_own() -> None:
    class Mine(dict[str, Json]):
        pass

    assert outcome_of([Handle({"__secret__": "a"})]).status == "ok"
    assert outcome_of([Mine()]).status == "error"


def test_what_holds_a_value_as_deep_as_may_be_is_read_again() -> None:
    event = Event("e", "ctx.patched", 0, data={"ctx": nested(launcher.DEEPEST + 200)})
    assert launcher.DEEPEST + 200 < MAX_DEPTH
    assert read_event(write_event(event)) == event


@pytest.mark.parametrize("text", ["1e999", "[-1e999]", '{"a": [1E+400]}'])
def test_a_number_beyond_all_numbers_is_no_json(text: str) -> None:
    with pytest.raises(ValueError, match="too large a number"):
        json_of(text)
    assert with_sets({}, [f"a={text}"]) == {"a": text}
