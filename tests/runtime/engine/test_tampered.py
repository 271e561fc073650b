"""A log that was tampered with is no run of its plan: one event dropped, doubled, swapped or altered at a time.

What stays unseen is listed here with its reason: it could have come from outside just as well.
"""

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise

import pytest
import yaml

import goldens
from goldens import Case
from harness.running import Ran, run
from harness.samples import some
from noetl.engine.replay import replay
from noetl_ir.events import INPUT_EVENTS, WORKER_EVENTS, Event

_RUNS = [case for case in goldens.cases() if case.stage == "run" and "# at " not in case.path.read_text("utf-8")]
CASES = [case for number, case in enumerate(_RUNS) if number % 8 == 0 or case.name == "mailbox"]
ALSO = """
workflow:
  - {step: start, next: {spec: {mode: inclusive}, arcs: [{step: w}, {step: each}]}}
  - {step: w, tool: {name: w, kind: wait, events: [go], timers: {t: 50}}}
  - step: each
    loop: {in: "{{ [1, 2, 3] }}", iterator: i, spec: {mode: parallel, max_in_flight: 2}}
    tool:
      name: t
      kind: http
      url: "http://x"
      spec: {policy: {rules: [{when: "{{ _attempt == 1 }}", then: {do: retry, set_ctx: {"k": "{{ _task }}"}}}]}}
    next: {arcs: [{step: last, spec: {delay: 1}}]}
  - {step: last, tool: {kind: noop, args: {n: "{{ each }}"}}}
"""
SCRIPT = "outcomes: [{task: t, takes: 2, outcome: {result: 1}}]\nsignals: [{at: 1, name: x}, {at: 3, name: go}]"

OUTSIDE = {
    # What a worker reports of an attempt, the server can only believe.
    *(("task.done", key) for key in ("rule", "result", "status", "iter", "passed_error", "due")),
    *(("retry.started", key) for key in ("rule", "outcome", "status", "directive", "wait", "due", "iter")),
    ("task.started", "due"), ("task.started", "timers"), ("task.started", "utc"),
    # Whoever asks for a run, or sends a signal, may ask for another or send another.
    ("playbook.execution.requested", "trace_id"), ("signal.received", "name"), ("signal.received", "data"),
    ("signal.received", "row"), ("signal.received", "since"),
}  # fmt: skip


@cache
def ran_of(case: Case | None) -> Ran:
    """The run of a golden, or of the playbook here."""
    if case is None:
        return run(ALSO, SCRIPT)
    text, script = case.path.read_text("utf-8"), case.beside("script")
    head = re.search(r"^# payload: (.*)$", text, re.MULTILINE)
    payload = yaml.safe_load(head.group(1)) if head else None
    return run(text, script.read_text("utf-8") if script.exists() else "", payload)


def is_legal(ran: Ran, log: list[Event]) -> bool:
    """The verdict of replay on a log."""
    return replay(ran.program, "e1", log).wrong is None


EACH = pytest.mark.parametrize("case", [None, *some(CASES, 4)], ids=lambda case: case.name if case else "also")


@EACH
def test_an_event_that_is_missing_or_there_twice(case: Case | None) -> None:
    ran = ran_of(case)
    log = ran.log
    assert is_legal(ran, log)
    for at, event in enumerate(log):
        if at < len(log) - 1:
            assert not is_legal(ran, log[:at] + log[at + 1 :]), f"{at}: {event.event_type} dropped"
        doubled = is_legal(ran, log[: at + 1] + log[at:])
        assert not doubled or event.event_type == "signal.received", f"{at}: {event.event_type} doubled"


@EACH
def test_events_in_another_order(case: Case | None) -> None:
    """Events from outside about different pipelines may come in any order, signals too."""
    ran = ran_of(case)
    log = ran.log
    for at, (one, two) in enumerate(pairwise(log)):
        if {one.event_type, two.event_type} <= INPUT_EVENTS and (one.run != two.run or not one.run):
            continue
        swapped = [*log[:at], two, one, *log[at + 2 :]]
        assert not is_legal(ran, swapped), f"{at}: {one.event_type} after {two.event_type}"


def altered(event: Event) -> Iterator[tuple[str, Event]]:
    """The event with one thing changed at a time, its times and payload aside."""
    other = "step.done" if event.event_type != "step.done" else "step.failed"
    yield "event_id", event._replace(event_id=f"{event.event_id}x")
    yield "event_type", event._replace(event_type=other)
    yield "run", event._replace(run="99")
    for name in ("step", "task", "visit", "attempt", "claim"):
        for by in (1, -1, 99):
            yield name, event._replace(**{name: getattr(event, name) + by})
    if event.fired:
        first, *rest = event.fired
        yield "fired", event._replace(fired=())
        yield "fired", event._replace(fired=(first._replace(transition=first.transition + 1), *rest))
        yield "fired", event._replace(fired=(first._replace(took="99"), *rest))
        yield "fired", event._replace(fired=(first._replace(made="99"), *rest))


@EACH
def test_an_event_that_was_altered(case: Case | None) -> None:
    ran = ran_of(case)
    log = ran.log
    for at, event in enumerate(log):
        for name, changed in altered(event):
            assert not is_legal(ran, [*log[:at], changed, *log[at + 1 :]]), f"{at}: {name} of {event.event_type}"


@EACH
def test_a_time_that_was_altered(case: Case | None) -> None:
    """Seen wherever several events have one time because they were decided together."""
    ran = ran_of(case)
    log = ran.log
    for at, event in enumerate(log[1:-1], start=1):
        decided = [each.event_type not in INPUT_EVENTS for each in log[at - 1 : at + 2]]
        if decided[1] and (decided[0] or decided[2]):
            changed = event._replace(ts=event.ts + 1_000_000)
            assert not is_legal(ran, [*log[:at], changed, *log[at + 1 :]]), f"{at}: {event.event_type}"


@EACH
def test_a_payload_that_was_altered(case: Case | None) -> None:
    ran = ran_of(case)
    log = ran.log
    for at, event in enumerate(log):
        for key, value in event.data.items():
            other = value + 1 if type(value) is int else f"{value}x" if isinstance(value, str) else ["x"]
            without = {name: each for name, each in event.data.items() if name != key}
            for data in ({**event.data, key: other}, without):
                legal = is_legal(ran, [*log[:at], event._replace(data=data), *log[at + 1 :]])
                assert not legal or (event.event_type, key) in OUTSIDE, f"{at}: {key} of {event.event_type}"
        if event.event_type not in WORKER_EVENTS:
            more = event._replace(data={**event.data, "more": 1})
            assert not is_legal(ran, [*log[:at], more, *log[at + 1 :]]), f"{at}: more in {event.event_type}"


def test_a_timer_that_fired_early() -> None:
    ran = ran_of(None)
    for at, event in enumerate(ran.log):
        if event.event_type == "timer.fired":
            early = event._replace(ts=event.ts - 1)
            assert not is_legal(ran, [*ran.log[:at], early, *ran.log[at + 1 :]])
