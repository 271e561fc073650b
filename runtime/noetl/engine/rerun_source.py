"""The log of an execution that is over, read for one that is to begin with a part of it.

Only main counts, up to its end: phases behind it, a cancel and the limit of the whole belong to how it ended, and are
never a part of another execution.
"""

from collections.abc import Sequence

from noetl.engine.evolve import evolve
from noetl.engine.evolve_tasks import WAIT
from noetl.engine.execution import WHOLE, Execution
from noetl.engine.program import Program
from noetl_ir import registry
from noetl_ir.events import INPUT_EVENTS, Event, step_run_of
from noetl_ir.kinds import Kind
from noetl_ir.records import NamedTuple

_TAKING = frozenset(
    {"token.claimed", "loop.item.added", "loop.closed", "step.interrupted", "signal.missed", "signal.returned"}
)
"""Events by which a kept signal is kept no longer."""

_ENDING = frozenset({"playbook.cancelled", "phase.started", "phase.ended", "workflow.finished", "playbook.refused"})

MISSED = ""
"""Stands for the run that took a signal where none did, and none will."""


class RerunCut(NamedTuple):
    """The runs that are made again, by token key, with the names of their steps; all that follows from them is made
    again too. `position` is that in the log before the first of them began.
    """

    runs: frozenset[str]
    steps: tuple[str, ...]
    position: int


class RerunSource:
    """An execution that is over, as its log tells it. Raises IllegalFiring, Missing.

    - `end`: the position of the last event that another execution may begin with.
    - `scheduled`: by step, the token keys of its runs, each with its position; `began`: where each run began.
    - `done`: the tasks that are over, each with its run or iteration and visit.
    - `unhandled`: the runs that main failed of; `undone`: the runs that were compensated.
    - `after`: step and task of what ran behind main and may have had an effect.
    - `takers`: by the position of a signal, the run that took it, `MISSED` for none; absent where it is still kept.
    - `decided`: by the position of an input, the time of what followed from it.
    """

    def __init__(self, program: Program, execution_id: str, events: Sequence[Event]) -> None:
        self.program = program
        self.execution_id = execution_id
        self.events = tuple(events)
        self.execution = Execution(execution_id, program)
        self.end = 0
        self.scheduled: dict[int, list[tuple[str, int]]] = {}
        self.began: dict[str, int] = {}
        self.unhandled: list[str] = []
        self.undone: list[str] = []
        self.after: dict[tuple[str, str], None] = {}
        self.done: set[tuple[str, int, int]] = set()
        self.takers: dict[int, str] = {}
        self.decided: dict[int, int] = {}
        self._read()

    def _read(self) -> None:
        input_at = 0
        is_main, ended_at = True, len(self.events)
        for position, event in enumerate(self.events, start=1):
            kept = [*self.execution.signals] if event.event_type in _TAKING else []
            evolve(self.program, self.execution, event)
            if event.event_type in INPUT_EVENTS:
                input_at = position
            else:
                self.decided.setdefault(input_at, event.ts)
            if event.event_type == "playbook.retried":  # what the engine's mistake ended goes on
                is_main, ended_at = True, len(self.events)
            elif is_main and _is_end(event):
                is_main, ended_at = False, position - 1
            if is_main:
                self._read_main(position, event)
            else:
                self._read_after(event)
            left = {signal.at for signal in self.execution.signals}
            self.takers.update({signal.at + 1: _taker(event) for signal in kept if signal.at not in left})
        self.end = ended_at

    def _read_main(self, position: int, event: Event) -> None:
        if event.run:
            self.began.setdefault(step_run_of(event.run), position)
        if event.event_type == "step.scheduled":
            self.began[event.run] = position
            self.scheduled.setdefault(event.step, []).append((event.run, position))
        elif event.event_type == "token.ended" and event.data.get("unhandled"):
            self.unhandled.append(event.run)
        elif event.event_type == "task.done":
            self.done.add((event.run, event.task, event.visit))

    def _read_after(self, event: Event) -> None:
        if event.event_type == "compensation.started":
            self.undone.append(step_run_of(str(event.data.get("run"))))
        elif event.event_type == "task.started":
            task = self.program.plan.tasks[event.task]
            if has_effects(task.kind):
                self.after[self.program.plan.steps[event.step].name, task.name] = None

    def failed_cut(self) -> RerunCut:
        """The cut before the runs that main failed of; before nothing where it ended of something else."""
        return self._cut([(key, self.began.get(key, self.end)) for key in self.unhandled])

    def cut_before(self, step: int, number: int) -> RerunCut | None:
        """The cut before a run of a step, counted from 1, with the later ones and those that main failed of. None where
        there was no such run.
        """
        runs = self.scheduled.get(step, [])[number - 1 :]
        return self._cut([*runs, *((key, self.began.get(key, self.end)) for key in self.unhandled)]) if runs else None

    def _cut(self, runs: Sequence[tuple[str, int]]) -> RerunCut:
        of = {key: number for number, found in self.scheduled.items() for key, _ in found}
        names = [self.program.plan.steps[of[key]].name for key, _ in runs if key in of]
        first = min((position for _, position in runs), default=self.end + 1)
        return RerunCut(frozenset(key for key, _ in runs), tuple(dict.fromkeys(names)), first - 1)


def _is_end(event: Event) -> bool:
    return event.event_type in _ENDING or (event.event_type == "timer.fired" and event.data.get("timer") == WHOLE)


def _taker(event: Event) -> str:
    return MISSED if event.event_type in ("signal.missed", "signal.returned") else event.run


def has_effects(kind: str) -> bool:
    """Whether a task of a kind may do something outside of the execution."""
    if kind == WAIT:
        return False
    try:
        return not registry.load("noetl_ir.kinds", kind, "KIND", Kind).pure
    except (LookupError, TypeError):
        return True
