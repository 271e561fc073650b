"""The figures of a server: by the events that it writes, and around its store."""

import time
from collections.abc import Callable, Container, Mapping
from typing import TypeVar

from noetl.app.code_labels import OF_EXECUTIONS, CodeLabels
from noetl.engine.execution import Execution
from noetl.engine.program import Program
from noetl.host.measures import Measures
from noetl.ports import Conflict, NoRoom, StoreFailure, StoreRefused
from noetl.server.journal import Keep
from noetl.server.workers.tracker import pool_of
from noetl_ir.events import Event, is_of_unbegun_item, step_run_of

_CUT = ("step.failed", "step.cancelled", "loop.iteration.skipped", "loop.started")
"""Events behind which nothing of a run, or of an iteration, waits or runs any more: or only as a loop."""

_ENDS = ("completed", "failed", "cancelled", "blocked")
_MOST_KNOWN = 1_000
_T = TypeVar("_T")


class EventMeasures:
    """Counts events once they are on disk; for the thread that drives. It knows what it saw begin: an order or attempt
    of before this server drove its execution is counted, and has no time.
    """

    def __init__(self, measures: Measures) -> None:
        self._measures = measures
        self._ordered: dict[str, dict[str, tuple[int, str]]] = {}
        self._started: dict[str, dict[str, int]] = {}
        self._codes = CodeLabels()
        self._pools, self._plans = set[str](), set[str]()
        self._events = measures.counter("noetl_events")
        for code in OF_EXECUTIONS:
            measures.begin_counter("noetl_execution_failures", code)
        self._takers: dict[str, Callable[[Execution, Program, Event], None]] = {
            "playbook.execution.requested": self._take_begin,
            "step.started": self._give_order,
            "loop.iteration.started": self._give_order,
            "task.started": self._start_attempt,
            "task.done": self._end_attempt,
            "retry.started": self._end_attempt,
            "task.lost": self._lose_claim,
            **dict.fromkeys(_CUT, self._forget_run),
            "workflow.finished": self._end,
        }

    def observe(self, execution: Execution, program: Program, event: Event) -> None:
        """Take in an event."""
        self._events.count += 1
        # Most events say nothing that is counted, and there are thousands in a second.
        take = self._takers.get(event.event_type)
        if take is not None:
            take(execution, program, event)

    def _take_begin(self, execution: Execution, program: Program, event: Event) -> None:
        self._begin_ends(program)
        self._measures.count("noetl_executions_started", _playbook(program))

    def _begin_ends(self, program: Program) -> None:
        """Have the counters of a playbook at 0 before its first end, also where another server began it."""
        if _is_new(self._plans, program.digest):
            for status in _ENDS:
                self._measures.begin_counter("noetl_executions_ended", _playbook(program), status)

    def _give_order(self, execution: Execution, program: Program, event: Event) -> None:
        ordered, pool = self._ordered.setdefault(execution.execution_id, {}), pool_of(program.plan.steps[event.step])
        ordered[event.run] = (event.ts, pool)
        self._begin_ends(program)
        if _is_new(self._pools, pool):
            self._measures.begin_counter("noetl_lost_claims", pool)

    def _start_attempt(self, execution: Execution, program: Program, event: Event) -> None:
        self._take_order(execution, event)
        self._started.setdefault(execution.execution_id, {})[event.run] = event.ts

    def _lose_claim(self, execution: Execution, program: Program, event: Event) -> None:
        self._started.get(execution.execution_id, {}).pop(event.run, None)
        self._measures.count("noetl_lost_claims", pool_of(program.plan.steps[event.step]))

    def oldest_orders(self, driven: Container[str]) -> Mapping[str, int]:
        """When the oldest order of each pool was given that no worker has begun, in executions that are driven here;
        from any thread.
        """
        found: dict[str, int] = {}
        for name, orders in [*self._ordered.items()]:
            if name not in driven:  # another server goes on with it
                self._ordered.pop(name, None)
                self._started.pop(name, None)
                continue
            for at, pool in [*orders.values()]:
                found[pool] = min(at, found.get(pool, at))
        return found

    def _take_order(self, execution: Execution, event: Event) -> None:
        order = self._ordered.get(execution.execution_id, {}).pop(event.run, None)
        if order is not None:
            at, pool = order
            self._measures.observe("noetl_queue_seconds", (event.ts - at) / 1e6, pool)

    def _end_attempt(self, execution: Execution, program: Program, event: Event) -> None:
        # Of kinds without an effect only the end is reported, and they have no start.
        self._take_order(execution, event)
        kind, outcome = program.plan.tasks[event.task].kind, event.data.get("outcome")
        error = outcome.get("error") if isinstance(outcome, dict) else None
        is_good = event.event_type == "task.done" and event.data.get("status") == "ok"
        self._measures.count("noetl_task_attempts", kind, "ok" if is_good else "error")
        began = self._started.get(execution.execution_id, {}).pop(event.run, None)
        if began is not None:
            self._measures.observe("noetl_task_seconds", (event.ts - began) / 1e6, kind)
        if event.event_type == "retry.started":
            self._measures.count("noetl_task_retries", self._codes.label(program, error))

    def _forget_run(self, execution: Execution, program: Program, event: Event) -> None:
        """A run, or an iteration, is over, or has become a loop: what of it waited or ran does so no more."""
        if is_of_unbegun_item(event):
            return
        for table in (self._ordered, self._started):
            mine = table.get(execution.execution_id, {})
            mine.pop(event.run, None)
            if "/" not in event.run:  # with all of its iterations
                for key in [key for key in mine if step_run_of(key) == event.run]:
                    del mine[key]

    def _end(self, execution: Execution, program: Program, event: Event) -> None:
        playbook, name = _playbook(program), execution.execution_id
        self._ordered.pop(name, None)
        self._started.pop(name, None)
        self._measures.count("noetl_executions_ended", playbook, execution.status)
        self._measures.observe("noetl_execution_seconds", (event.ts - execution.started) / 1e6, playbook)
        if execution.status == "failed":
            self._measures.count("noetl_execution_failures", self._codes.label(program, event.data.get("error")))


def _is_new(known: set[str], name: str) -> bool:
    """Whether a name was not known before; it is from now on. Of very many all are forgotten: it harms nothing."""
    if name in known:
        return False
    if len(known) >= _MOST_KNOWN:
        known.clear()
    known.add(name)
    return True


def _playbook(program: Program) -> str:
    return program.plan.path or program.plan.name


class MeasuredKeep:
    """A `Keep` that times each write, and counts those that the store did not do."""

    def __init__(self, keep: Keep, measures: Measures) -> None:
        self._keep = keep
        self._measures = measures

    def __call__(self, work: Callable[[], _T]) -> _T:
        """The value of some work."""
        began = time.perf_counter()
        try:
            return self._keep(lambda: self._counted(work))
        finally:
            self._measures.observe("noetl_commit_seconds", time.perf_counter() - began)

    def _counted(self, work: Callable[[], _T]) -> _T:
        try:
            return work()
        except (Conflict, StoreFailure) as problem:
            self._measures.count("noetl_store_errors", reason_of(problem))
            raise


def reason_of(problem: Conflict | StoreFailure) -> str:
    """Why a store did not do something, as a label."""
    match problem:
        case NoRoom():
            return "no_room"
        case StoreRefused():
            return "refused"
        case Conflict():
            return "conflict"
    return "failure"
