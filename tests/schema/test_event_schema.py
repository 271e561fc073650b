"""The JSON Schema of events fits every event of real runs, and lists what the engine knows: no more, no less."""

import json
import re
from functools import cache
from typing import Any

import jsonschema
import jsonschema_rs
import pytest
import yaml

from goldens import Case, cases
from harness.running import run
from noetl.engine.evolve import _APPLY
from noetl_ir.envelope import envelope_of, origin_of
from noetlc.emit.event import EVENTS, schema_text

_ACTION = re.compile(r"^# at ([\d.]+): (\w+)$", re.MULTILINE)
_PAYLOAD = re.compile(r"^# payload: (.*)$", re.MULTILINE)
RUNS = [case for case in cases() if case.stage == "run"]


@cache
def validator() -> jsonschema_rs.Draft202012Validator:
    """The validator of the whole schema."""
    schema = json.loads(schema_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema_rs.Draft202012Validator(schema)


@cache
def envelopes(case: Case) -> tuple[dict[str, Any], ...]:
    """The events of a golden run, children included, as `noetl events --json` prints them."""
    text, script = case.path.read_text("utf-8"), case.beside("script")
    payload = _PAYLOAD.search(text)
    ran = run(
        text,
        script.read_text("utf-8") if script.exists() else "",
        yaml.safe_load(payload.group(1)) if payload else None,
        at={float(seconds): verb for seconds, verb in _ACTION.findall(text)},
    )
    found, positions, origins = [], {}, {}
    for execution_id, program, event in ran.seen:
        position = positions[execution_id] = positions.get(execution_id, 0) + 1
        origin = origins.setdefault(execution_id, origin_of(execution_id, event))
        found.append(json.loads(json.dumps(envelope_of(program.plan, origin, event, position))))
    return tuple(found)


@pytest.mark.parametrize("case", RUNS, ids=lambda case: case.name)
def test_every_event_of_a_run_fits(case: Case) -> None:
    for envelope in envelopes(case):
        problems = [problem.message for problem in validator().iter_errors(envelope)]
        assert problems == [], envelope


def test_the_schema_knows_the_events_that_the_engine_folds() -> None:
    assert set(EVENTS) == set(_APPLY)


@pytest.mark.parametrize(
    "change",
    [
        {"event_type": "step.exploded"},
        {"status": "fine"},
        {"position": 0},
        {"payload": {"more": 1}},
        {"surprise": 1},
        {"fired": [{"transition": "x"}]},
    ],
)
def test_what_is_no_event_does_not_fit(change: dict[str, Any]) -> None:
    envelope = next(each for each in envelopes(RUNS[0]) if each["event_type"] == "workflow.started")
    assert validator().is_valid(envelope)
    assert not validator().is_valid({**envelope, **change})
    assert not validator().is_valid({key: value for key, value in envelope.items() if key != "ts"})
