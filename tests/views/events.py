"""The view of a run: its events on a virtual clock, in the order of the log.

A line is: seconds, whose execution (`>n` for the n-th child), event, place, transitions fired with the tokens they
took and made, payload. A task's visit, attempt and claim are shown when they are not 1, the payload that is usual is
not. In the input, a comment `# at 1.5: cancel` asks for it at that second, `# payload: {…}` is the request's payload.
"""

import json
import re
from typing import Any, NamedTuple

import yaml

from goldens import Case
from harness.running import Ran, run
from noetl.engine.program import Program
from noetl_ir.events import Event, Firing

_ACTION = re.compile(r"^# at ([\d.]+): (\w+)$", re.MULTILINE)
_PAYLOAD = re.compile(r"^# payload: (.*)$", re.MULTILINE)
_DULL = frozenset({"digest", "trace_id", "level", "playbook", "path", "since"})
"""Payload keys that say nothing about a rule of the language, or are of the clock of a store."""
_USUAL = (("status", "ok"), ("directive", "continue"), ("rule", -1))
"""Payload that is left out where it says what is usual."""


class Input(NamedTuple):
    """The inputs beside a case's playbook: a script, the request's payload, and what people ask for at which second."""

    text: str
    script: str
    payload: dict[str, Any]
    asked: dict[float, str]


def input_of(case: Case) -> Input:
    """Read a case."""
    text, script = case.path.read_text("utf-8"), case.beside("script")
    payload = _PAYLOAD.search(text)
    return Input(
        text,
        script.read_text("utf-8") if script.exists() else "",
        yaml.safe_load(payload.group(1)) if payload else {},
        {float(seconds): verb for seconds, verb in _ACTION.findall(text)},
    )


def ran(case: Case) -> Ran:
    """The case's run."""
    text, script, payload, asked = input_of(case)
    return run(text, script, payload, at=asked)


def printed(case: Case) -> str:
    """The events of the case's run, then how it ended."""
    done = ran(case)
    names: dict[str, str] = {"e1": ""}
    lines = []
    for execution_id, program, event in done.seen:
        who = names.setdefault(execution_id, f">{len(names)} ")
        lines.append(f"{event.ts / 1_000_000:8.3f} {who}{line_of(program, event)}")
    return "\n".join([*lines, *_ending(done)]) + "\n"


def _ending(done: Ran) -> list[str]:
    live = done.execution
    lines = [f"status {done.status}"]
    if done.status == "completed":
        result = live.last_result
        lines.append(f"result {_json(getattr(result, 'entries', result))}")
    if live.ctx:
        lines.append(f"ctx {_json(live.ctx)}")
    counts = {name: count for name, count in live.counts.items() if count}
    lines.append(f"counts {_json(counts)}")
    return lines


def line_of(program: Program, event: Event) -> str:
    """One event, without its time."""
    plan = program.plan
    where = plan.steps[event.step].name if event.step >= 0 else ""
    if event.task >= 0:
        where += f".{plan.tasks[event.task].name}"
        counts = (("visit", event.visit), ("attempt", event.attempt), ("claim", event.claim))
        where += "".join(f" {name} {count}" for name, count in counts if count != 1)
    run_key = f"#{event.run}" if event.run else ""
    fired = ", ".join(_firing(program, firing, event.run) for firing in event.fired)
    data = _payload(event)
    parts = [event.event_type, run_key, where, f"[{fired}]" if fired else "", _json(data) if data else ""]
    return " ".join(part for part in parts if part)


def _firing(program: Program, firing: Firing, run_key: str) -> str:
    number, took, made = firing
    name = program.plan.net.transitions[number].id
    if took == made:
        return name if took == run_key else f"{name}: {_keys(took)}"
    return f"{name}: {_keys(took)} -> {_keys(made)}"


def _keys(keys: str | tuple[str, ...]) -> str:
    return "+".join(key or "-" for key in ((keys,) if isinstance(keys, str) else keys))


def _payload(event: Event) -> dict[str, Any]:
    data: dict[str, Any] = {}
    for key, value in event.data.items():
        if key in _DULL or value is None or value == {} or (key, value) in _USUAL:
            continue
        if key == "outcome" and isinstance(value, dict):
            value = {k: v for k, v in value.items() if k not in ("meta", "status") and v is not None}
            if not value:
                continue
        data[key] = value / 1_000_000 if key in ("due", "timeout", "after") and isinstance(value, int) else value
    return data


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
