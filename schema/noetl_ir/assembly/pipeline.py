"""The pipeline of a step: a state machine over its tasks (NET.md PIPELINE).

One control token in, one out, per transition. Which directive follows an outcome is data: for each outcome
there is one transition for every directive that a rule, or the default, could give.
"""

from collections.abc import Callable, Sequence

from noetl_ir.assembly.looping import Ends, Level
from noetl_ir.assembly.making import REPORT, SIGNAL, TIME, Arcs, Maker
from noetl_ir.net import Trigger
from noetl_ir.plan import Rule, Step, Task
from noetl_ir.records import NamedTuple
from noetl_ir.span import Span
from noetl_ir.words import FAILING

SIGNALLED = "wait"
"""The kind whose parked tasks end by a signal or a timer."""


class Stations(NamedTuple):
    """The places of one task; `due` and `parked` only where something can wait there."""

    at: Arcs
    run: Arcs
    due: Arcs | None
    parked: Arcs | None


def stations_of(
    maker: Maker,
    step: Step,
    index: int,
    *,
    tasks: Sequence[Task],
    parks: Callable[[Task], bool],
    spans: Sequence[Span],
) -> tuple[Stations, ...]:
    """Make the places of a step's tasks; `spans` has where each task has its name."""
    delayed = _delayed(step, tasks)
    made = []
    for row, task, span in zip(step.tasks, tasks, spans, strict=True):
        path = f"{step.name} {task.name}"
        made.append(
            Stations(
                maker.place(f"at {path}", "at", index, task=row, span=span),
                maker.place(f"run {path}", "run", index, task=row, span=span),
                maker.place(f"due {path}", "due", index, task=row, span=span) if row in delayed else None,
                maker.place(f"parked {path}", "parked", index, task=row, span=span) if parks(task) else None,
            )
        )
    return tuple(made)


def build_body(
    maker: Maker,
    step: Step,
    index: int,
    *,
    tasks: Sequence[Task],
    stations: tuple[Stations, ...],
    ends: Ends,
    spans: Sequence[Span],
) -> None:
    """Add the transitions of a pipeline whose places are made."""
    at = dict(zip(step.tasks, stations, strict=True))
    names = {row: task.name for row, task in zip(step.tasks, tasks, strict=True)}
    for offset, (row, task, span) in enumerate(zip(step.tasks, tasks, spans, strict=True)):
        following = stations[offset + 1].at if offset + 1 < len(stations) else ends.done
        _Body(maker, step, index, task, row, at, names, following, ends, span).build()


def build_stops(
    maker: Maker,
    step: Step,
    index: int,
    *,
    tasks: Sequence[Task],
    stations: tuple[Stations, ...],
    level: Level,
    spans: Sequence[Span],
    cancels: bool,
) -> None:
    """Add what ends an iteration that nothing runs for, after a failure or timeout elsewhere in the loop; where the
    loop `cancels` the rest of its iterations, also of one that a tool runs for.
    """
    ended = level.fin + level.slot
    for row, task, place, span in zip(step.tasks, tasks, stations, spans, strict=True):
        for role, here in (("at", place.at), ("due", place.due), ("parked", place.parked), ("run", place.run)):
            if here is not None and (cancels or role != "run"):
                id = f"stop {step.name} {role} {task.name}"
                maker.transition(id, "stop", here, ended, step=index, span=span, level=level.depth, task=row)


def build_ways_out(
    maker: Maker,
    step: Step,
    index: int,
    tasks: Sequence[Task],
    stations: tuple[Stations, ...],
    bad: Arcs,
    *,
    role: str,
    trigger: Trigger,
    span: Span,
) -> None:
    """Add what ends a pipeline wherever it stands: `expire`, as its time is over, or `interrupt`, from outside."""
    for row, task, place in zip(step.tasks, tasks, stations, strict=True):
        for standing, here in zip(Stations._fields, place, strict=True):
            if here is not None:
                id = f"{role} {step.name} {standing} {task.name}"
                maker.transition(id, role, here, bad, trigger=trigger, step=index, task=row, span=span)


class _Exit(NamedTuple):
    """A way to leave a task: its role, its name in the transition's id, where it leads, and who asked for it."""

    role: str
    name: str
    target: Arcs
    span: Span


class _Body(NamedTuple):
    """The parts that the transitions of one task are made from; `at` and `names` by the row of each task of the
    step.
    """

    maker: Maker
    step: Step
    own: int
    task: Task
    row: int
    at: dict[int, Stations]
    names: dict[int, str]
    following: Arcs
    ends: Ends
    span: Span

    def build(self) -> None:
        here, path, own = self.at[self.row], f"{self.step.name} {self.task.name}", self.span
        self._add(f"start {path}", "start", here.at, here.run, span=own)
        # Back to `at`, not to `due`: the attempt that was lost never had its outcome, so it owes no delay.
        self._add(f"lost {path}", "lost", here.run, here.at, trigger=TIME, span=own)
        leaving, trigger = here.run, REPORT
        if here.parked is not None:
            self._add(f"park {path}", "park", here.run, here.parked, span=own)
            leaving = here.parked
            # A wait ends by what somebody sends, every other parked task by the report about its child or its job.
            trigger = SIGNAL if self.task.kind == SIGNALLED else REPORT
        for outcome, exits in zip(("ok", "error"), self._exits(), strict=True):
            for role, name, target, span in exits:
                id = f"{outcome} {path} {name}"
                self._add(id, role, leaving, target, trigger=trigger, outcome=outcome, span=span)
        # A fault may come before the task parks and after it.
        if here.parked is not None:
            self._fault(f"fault run {path}", here.run)
        self._fault(f"fault {path}", leaving)
        if here.due is not None:
            self._add(f"wake {path}", "wake", here.due, here.at, trigger=TIME, span=own)

    def _exits(self) -> tuple[list[_Exit], list[_Exit]]:
        """The exits that may follow an ok and an error outcome, each once, in the order of the rules.

        Every rule may take either outcome: its guard is data. One that the kind never has, has no exit.
        """
        task = self.task
        if not task.rules:
            well = [] if task.kind == FAILING else [self._exit("continue", -1, task.span)]
            return well, [self._exit("fail", -1, task.span)]
        found: dict[tuple[str, int], Span] = {}
        for rule in task.rules:
            # Two rules with one directive share a transition: which rule it was stands in the event, and the net
            # needs to know only where the token goes.
            found.setdefault((_directive(rule), rule.to), rule.span)
        if task.rules[-1].when >= 0:  # no rule matches: continue, on either outcome (LANGUAGE §4)
            found.setdefault(("continue", -1), task.span)
        either = [self._exit(directive, to, span) for (directive, to), span in found.items()]
        return [] if task.kind == FAILING else either, either

    def _exit(self, directive: str, to: int, span: Span) -> _Exit:
        match directive:
            case "continue":
                return _Exit(directive, directive, self.following, span)
            case "break":
                return _Exit(directive, directive, self.ends.done, span)
            case "fail":
                return _Exit(directive, directive, self.ends.failed, span)
            case "jump":
                return _Exit(directive, f"jump {self.names[to]}", self.at[to].at, span)
            case "retry":
                return _Exit(directive, directive, _due(self.at[self.row]), span)
            case _:
                return _Exit(directive, f"jump {self.names[to]} later", _due(self.at[to]), span)

    def _fault(self, id: str, inputs: Arcs) -> None:
        self.maker.transition(
            id,
            "fault",
            inputs,
            self.ends.failed,
            trigger=REPORT,
            step=self.own,
            task=self.row,
            span=self.span,
            fault=True,
            outcome="error",
        )

    def _add(
        self,
        id: str,
        role: str,
        inputs: Arcs,
        outputs: Arcs,
        *,
        span: Span,
        trigger: Trigger = REPORT,
        outcome: str = "",
    ) -> None:
        self.maker.transition(
            id, role, inputs, outputs, trigger=trigger, step=self.own, task=self.row, span=span, outcome=outcome
        )


def _due(place: Stations) -> Arcs:
    assert place.due is not None  # `_delayed` has named its task
    return place.due


def _directive(rule: Rule) -> str:
    return "jump_later" if rule.directive == "jump" and rule.delay >= 0 else rule.directive


def _delayed(step: Step, tasks: Sequence[Task]) -> set[int]:
    """The rows of the tasks at which a delay can end: those that retry, and the targets of delayed jumps."""
    found: set[int] = set()
    for row, task in zip(step.tasks, tasks, strict=True):
        for rule in task.rules:
            if rule.directive == "retry":
                found.add(row)
            elif rule.directive == "jump" and rule.delay >= 0:
                found.add(rule.to)
    return found
