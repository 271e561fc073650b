"""Signals for the waits of a generated case: the first wait that none has ended gets one, and the run is made again.

A run shows when it comes to a wait, under which key that listens and for which names. What the signal has to carry, the
compiler says where a guard behind the wait asks for it: as an outcome of the wait, which no script can give.
"""

from __future__ import annotations

from collections.abc import Iterator

from noetl.app.suites.carried import data_of
from noetl.app.suites.running import Ran
from noetl.app.suites.step_runs import numbers_of
from noetl.engine.event_data import names_of
from noetl.engine.evolve_tasks import WAIT
from noetl_ir.correlation import key_of
from noetl_ir.events import Event, step_run_of
from noetl_ir.expr import Json
from noetl_ir.plan import Plan
from noetl_ir.records import NamedTuple
from noetl_ir.suite import SuiteCase

DATA: tuple[Json, ...] = (None, {}, [], "", 0)
"""What a signal carries where nothing is known of it."""

MOST_SIGNALS = 20
"""Signals of one case."""


class Wish(NamedTuple):
    """A signal that a wait is to get: at which place, and its name and data as the compiler chose them."""

    place: tuple[Json, ...]
    name: Json
    data: Json


def without_wishes(plan: Plan, case: SuiteCase) -> tuple[SuiteCase, tuple[Wish, ...]]:
    """A case without outcomes of waits, and what these wish for."""
    waits = {(plan.steps[task.step].name, task.name) for task in plan.tasks if task.kind == WAIT}
    rows, wishes = [], []
    for row in rows_of(case, "outcomes"):
        if (row.get("step"), row.get("task")) not in waits:
            rows.append(row)
        elif isinstance(outcome := row.get("outcome"), dict):
            result = outcome.get("result")
            found = result if isinstance(result, dict) else {}
            place = (row["step"], row["task"], row.get("run"), row.get("visit"))
            wishes.append(Wish(place, found.get("name"), found.get("data")))
    return case._replace(script={**case.script, "outcomes": [*rows]}), tuple(wishes)


def signalled(case: SuiteCase, ran: Ran, wishes: tuple[Wish, ...]) -> Iterator[SuiteCase]:
    """The case with one signal more, for the first wait of its run that no signal has ended: one case for each name and
    each data that are tried, the likeliest first; none where there is no such wait.
    """
    sent = rows_of(case, "signals")
    event = _unheard(ran)
    # A child is somebody else: what is sent to the run does not reach it, what has its key does.
    below = [row for row in ran.below if key_of(row[1].get("correlation")) and names_of(row[1])]
    if len(sent) >= MOST_SIGNALS or (event is None and not below):
        return
    time, call = below[0] if event is None else (event.ts, event.data["call"])
    assert isinstance(call, dict)
    names: list[Json] = [*names_of(call)]
    at = moment_behind(case, ran, time)
    signal: dict[str, Json] = {"at": int(at) if at == int(at) else at}
    if key := key_of(call.get("correlation")):
        signal["key"] = key
    place = _place(ran, event)
    wished = [wish for wish in wishes if wish.place == place]
    pairs = [(name, wish.data) for wish in wished for name in ([wish.name] if wish.name in names else names)]
    pairs += [(name, data) for data in (DATA[0], data_of(ran.program.plan), *DATA[1:]) for name in names]
    tried: list[tuple[Json, Json]] = []
    for name, data in pairs:
        if (name, data) not in tried:
            tried.append((name, data))
            brings: dict[str, Json] = {} if data is None else {"data": data}
            more = {**signal, "name": name, **brings}
            yield case._replace(script={**case.script, "signals": [*sent, more]})


def _place(ran: Ran, event: Event | None) -> tuple[Json, ...]:
    """The place of a wait, as outcomes name it; of one of a child none is known."""
    if event is None:
        return ()
    plan = ran.program.plan
    run = numbers_of(ran.log).get(step_run_of(event.run), 1)
    return plan.steps[event.step].name, plan.tasks[event.task].name, run, event.visit


def moment_behind(case: SuiteCase, ran: Ran, at: int) -> float:
    """The second of the run that is a time of its log, or behind the last signal of the case: what comes at one moment
    is there before the next wait is, and to a transient one nothing.
    """
    before = [float(str(row["at"])) for row in rows_of(case, "signals")]
    return round(max((at - ran.log[0].ts) / 1_000_000, *(each + 0.001 for each in before), 0.0), 3)


def _unheard(ran: Ran) -> Event | None:
    """The first start of a wait that no signal ended."""
    tasks = ran.program.plan.tasks
    open_: dict[str, Event] = {}
    first: list[Event] = []
    for event in ran.log:
        if event.event_type == "task.started" and tasks[event.task].kind == WAIT and "call" in event.data:
            open_[event.run] = event
            first.append(event)
        elif event.event_type == "token.claimed" and event.run in open_:
            first.remove(open_.pop(event.run))
    return next((each for each in first if _names_some(each)), None)


def _names_some(event: Event) -> bool:
    call = event.data.get("call")
    return isinstance(call, dict) and bool(names_of(call))


def rows_of(case: SuiteCase, name: str) -> list[dict[str, Json]]:
    """The outcomes or signals of a case."""
    rows = case.script.get(name)
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
