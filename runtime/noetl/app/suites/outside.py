"""Signals and timers for the steps of a generated case: what stops their runs, and feeds, closes and ends their loops.

A run shows what it came to that listens. Where that is open at the end, it gets its signals there. Where it is over, as
the tools of a case take no time, the case is made again with tools that take longer, so that a signal comes between or
a timer is over first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from noetl.app.suites.carried import data_of, item_of
from noetl.app.suites.running import Ran
from noetl.app.suites.signalling import DATA, MOST_SIGNALS, moment_behind, rows_of
from noetl.engine.event_data import mapping_of
from noetl_ir.events import Event
from noetl_ir.expr import Json
from noetl_ir.plan import CLOSE, COMPLETE, MORE, Plan
from noetl_ir.records import NamedTuple
from noetl_ir.suite import SuiteCase

INTERRUPT = "interrupt"
_READ = "what is read"
_ENDS = frozenset({"step.done", "step.failed", "step.cancelled", "loop.done"})
_STOPS = frozenset({"step.interrupted", "loop.closed"})
_SECOND = 1_000_000


class Opening(NamedTuple):
    """A run or a loop that listened: its step and level (-1 for a run), the times in microseconds between which it did,
    `until` None where it still does, and the timers that would have been over later, each with its time.
    """

    step: int
    level: int
    since: int
    until: int | None
    timers: dict[str, int]


class Tried(NamedTuple):
    """The reason of a change to a case: step and level, what listens there, a name, and the data that come with it."""

    step: int
    level: int
    verb: str
    name: str
    data: str


def reached_from_outside(case: SuiteCase, ran: Ran) -> Iterator[tuple[Tried, SuiteCase]]:
    """The case with signals, or longer outcomes, for what listened in its run: the likeliest first, each with what it
    tries, as the first run of a step stands for all of them.
    """
    plan, first = ran.program.plan, set[tuple[int, int]]()
    for place in _openings(ran):
        if (place.step, place.level) not in first and len(rows_of(case, "signals")) < MOST_SIGNALS:
            first.add((place.step, place.level))
            yield from _timers(plan, case, place)
            yield from _signals(plan, case, ran, place)


def _openings(ran: Ran) -> list[Opening]:
    """The places that listened in a run, in order."""
    plan = ran.program.plan
    steps = {row.step for row in plan.interrupts}
    loops = {(row.step, row.level) for row in plan.loop_signals}
    open_: dict[tuple[str, int], int] = {}
    found: list[Opening] = []
    for event in ran.log:
        at, level = event.ts - ran.log[0].ts, event.data.get("level")
        if event.event_type == "step.scheduled" and event.step in steps:
            open_[event.run, -1] = len(found)
            found.append(Opening(event.step, -1, at, None, _due(ran, event, event.data.get("timers"))))
        elif event.event_type == "loop.started" and isinstance(level, int) and (event.step, level) in loops:
            due = {f"{verb} {name}": each for verb, timers in mapping_of(event.data.get("timers") or {}).items()
                   for name, each in _due(ran, event, timers).items()}  # fmt: skip
            open_[event.run, level] = len(found)
            found.append(Opening(event.step, level, at, None, due))
        elif event.event_type in _ENDS | _STOPS:
            is_loop = event.event_type in ("loop.done", "loop.closed")
            for key in [key for key in open_ if key[0] == event.run and (not is_loop or key[1] == level)]:
                number = open_.pop(key)
                found[number] = found[number]._replace(until=at)
    return found


def _due(ran: Ran, event: Event, timers: Json) -> dict[str, int]:
    return {name: due - ran.log[0].ts for name, due in mapping_of(timers or {}).items() if isinstance(due, int)}


def _names(plan: Plan, place: Opening) -> dict[str, Sequence[str]]:
    """The names of signals that were listened for, by what they do there."""
    if place.level < 0:
        return {INTERRUPT: next(row.events for row in plan.interrupts if row.step == place.step)}
    rows = {row.verb: row.events for row in plan.loop_signals if (row.step, row.level) == (place.step, place.level)}
    return {verb: rows[verb] for verb in (CLOSE, COMPLETE, MORE) if verb in rows}


def _signals(plan: Plan, case: SuiteCase, ran: Ran, place: Opening) -> Iterator[tuple[Tried, SuiteCase]]:
    names = _names(plan, place)
    begun = case if place.until is None else _longer(plan, case, place.step, 2)
    at = place.since / _SECOND + 1 if place.until is not None else moment_behind(case, ran, ran.log[-1].ts)
    item, told = item_of(plan, place.step), data_of(plan)
    for data in (_READ, *DATA):
        for verb, known in names.items():
            for name in known:
                carried = data if data != _READ else item if verb == MORE else told
                signals: list[dict[str, Json]] = [_signal(at, name, carried)]
                # An item alone ends nothing: what closes the loop comes behind it.
                ends = [each for way in (CLOSE, COMPLETE) for each in names.get(way, ())]
                if verb == MORE and ends:
                    signals.append(_signal(at + 1, ends[0], None))
                yield Tried(place.step, place.level, verb, name, repr(data)), _sending(begun, signals)


def _signal(at: float, name: str, data: Json) -> dict[str, Json]:
    at = round(at, 3)
    row: dict[str, Json] = {"at": int(at) if at == int(at) else at, "name": name}
    return row if data is None else {**row, "data": data}


def _sending(case: SuiteCase, signals: list[dict[str, Json]]) -> SuiteCase:
    return case._replace(script={**case.script, "signals": [*rows_of(case, "signals"), *signals]})


def _timers(plan: Plan, case: SuiteCase, place: Opening) -> Iterator[tuple[Tried, SuiteCase]]:
    """Tools that take longer than each timer that was not over yet."""
    for name, due in place.timers.items():
        if place.until is not None and due > place.until:
            longer = (due - place.since) // _SECOND + 1
            tried = Tried(place.step, place.level, "timer", name, "")
            yield tried, _longer(plan, case, place.step, longer)


def _longer(plan: Plan, case: SuiteCase, step: int, seconds: int) -> SuiteCase:
    """The case in which the tools of a step take so long, those of children where it calls one."""
    tasks = [plan.tasks[each] for each in plan.steps[step].tasks]
    own, children = {plan.steps[step].name}, any(task.kind == "playbook" for task in tasks)
    others = {each.name for each in plan.steps}
    rows = rows_of(case, "outcomes")

    def is_its(row: Mapping[str, Json]) -> bool:
        return row.get("step") in own or (children and row.get("step") not in others)

    found: list[Json] = [{**row, "takes": seconds} if is_its(row) else row for row in rows]
    known = {row.get("task") for row in rows if row.get("step") in own}
    # What does nothing outside runs by itself, in no time.
    found += [
        {"step": plan.steps[step].name, "task": task.name, "takes": seconds}
        for task in tasks
        if task.kind == "noop" and not task.generated and task.name not in known
    ]
    return case._replace(script={**case.script, "outcomes": found})
