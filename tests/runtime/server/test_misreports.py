"""Reports that cannot be recorded, or not even be read, end their task with the reason: no run hangs on them.

The workers here are ours with a mistake: each makes the same one again, whoever takes the order next.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from harness.running import Ran, bus_made, compiled, run
from noetl.messages.encoding import UnreadableMessage, read_report, write_report
from noetl.ports.bus import Ticket
from noetl.worker.results import Results
from noetl_ir.codec import CodecError
from noetl_ir.events import Event
from noetl_ir.expr import Json
from noetl_ir.orders import Answer, Report
from noetl_ir.outcome import Outcome

TEXT = """
workflow:
- step: start
  tool:
    - {name: first, kind: noop, result: 1}
    - {name: call, kind: http, url: "http://x", spec: {policy: {rules: [
        {when: "{{ outcome.status == 'error' }}", then: {do: retry, attempts: 2, delay: 1}},
        {else: {then: {do: continue}}}]}}}
    - {name: waits, kind: wait, timers: {late: 1}}
  next:
    spec: {mode: exclusive}
    arcs: [{step: mend, when: "{{ event.name == 'step.failed' }}"}, {step: mend}]
- {step: mend, tool: {kind: noop, result: mended}}
"""
WORKS = "outcomes: [{task: call, outcome: {result: 1}}]"
FAILS = "outcomes: [{task: call, outcome: {status: error, error: {code: x}}}]"
Change = Callable[[Event], Event]


def data(event: Event, **more: Json) -> Event:
    """The event with other data."""
    return event._replace(data={**event.data, **more})


CHANGES: dict[str, tuple[str, str, Change]] = {
    "another id": ("call", "task.started", lambda event: event._replace(event_id="x")),
    "an id of a later report": ("call", "task.done", lambda event: event._replace(event_id=event.event_id[:-1] + "s")),
    "no time": ("call", "task.done", lambda event: event._replace(ts=-1)),
    "no outcome": ("call", "task.done", lambda event: data(event, outcome=None)),
    "another status": ("call", "task.done", lambda event: data(event, status="fine")),
    "no directive": ("call", "task.done", lambda event: data(event, directive="stop")),
    "a jump to nowhere": ("call", "task.done", lambda event: data(event, directive="jump", to=999)),
    "a jump that no rule makes": ("call", "task.done", lambda event: data(event, directive="jump", to=0)),
    "a patch that is none": ("first", "task.done", lambda event: data(event, ctx=[1])),
    "a retry at no time": ("call", "retry.started", lambda event: data(event, due="soon")),
    "a retry that no rule makes": (
        "first", "task.done", lambda event: data(event._replace(event_type="retry.started"), directive="retry", due=5),
    ),
    "an origin that is no text": ("first", "task.started", lambda event: data(event, origin=1)),
    "a call that is none": ("waits", "task.started", lambda event: data(event, call=5)),
    "timers that are none": ("waits", "task.started", lambda event: data(event, timers={"late": "soon"})),
}  # fmt: skip


class Wrong:
    """A `Bus` around another, whose workers change what they say of a task."""

    def __init__(self, inner: Any, number: int, event_type: str, change: Change) -> None:
        self._inner = inner
        self._change = lambda event: change(event) if (event.task, event.event_type) == (number, event_type) else event

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def report(self, key: str, report: Any) -> Ticket[Answer]:
        """`Bus.report`."""
        if isinstance(report, Report):
            report = report._replace(events=tuple(map(self._change, report.events)))
        ticket: Ticket[Answer] = self._inner.report(key, report)
        return ticket


def error_of(ran: Ran) -> tuple[str, str, str]:
    """The code of what the first step failed with, and where."""
    error = ran.of("step.failed", "start")[0].data["error"]
    assert isinstance(error, dict)
    return str(error["code"]), str(error["step"]), str(error["task"])


@pytest.mark.parametrize("name", CHANGES)
def test_what_cannot_be_recorded_fails_its_task(name: str) -> None:
    task, event_type, change = CHANGES[name]
    number = ["first", "call", "waits"].index(task)
    plan = compiled(TEXT)
    script = FAILS if event_type == "retry.started" else WORKS
    with bus_made(partial(Wrong, number=number, event_type=event_type, change=change)):
        ran = run(plan, script, endless=500)
    assert (ran.status, ran.result("mend")) == ("completed", "mended")
    assert error_of(ran) == ("report.refused", "start", task)


class Written:
    """A `Bus` around another, on which reports are bytes, and nobody hears those that cannot be read."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def report(self, key: str, report: Any) -> Any:
        """`Bus.report`. Raises CodecError for what cannot be written."""
        data = write_report(report)
        try:
            return self._inner.report(key, read_report(data))
        except UnreadableMessage:
            return Unheard()


class Unheard:
    """A `Ticket` of what nobody heard."""

    answer = None


@pytest.mark.parametrize("value", [float("nan"), {1: 2}, 10**5_000, {"x": {1, 2}}], ids=["nan", "key", "digits", "set"])
@pytest.mark.parametrize("task", ["first", "call"])
def test_what_no_server_can_read_fails_its_task(task: str, value: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = Results.recorded

    def mistaken(self: Results, step: int, outcome: Outcome, kind: str, inline: int | None) -> tuple[Outcome, Json]:
        whole, shown = recorded(self, step, outcome, kind, inline)
        return whole, value if kind == {"first": "noop", "call": "http"}[task] and step == 0 else shown

    monkeypatch.setattr(Results, "recorded", mistaken)
    with bus_made(Written):
        ran = run(compiled(TEXT), WORKS, endless=500)
    assert (ran.status, ran.result("mend")) == ("completed", "mended")
    assert error_of(ran) == ("report.refused", "start", task)


def test_what_can_be_read_is_as_it_was() -> None:
    with bus_made(Written):
        ran = run(compiled(TEXT), WORKS, endless=500)
    assert ran.status == "completed" and not ran.of("step.failed")
    with pytest.raises(CodecError):
        write_report(Report("e", "1", 1, (Event("x", "task.done", 1, data={"result": {1, 2}}),)))  # type: ignore[dict-item]
