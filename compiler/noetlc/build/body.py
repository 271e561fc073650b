"""The pipeline of a step: a state machine over its tasks (NET.md PIPELINE).

One control token in, one out, per transition. Which directive follows an outcome is data: for each outcome
there is one transition for every directive that a rule, or the default, could give.
"""

from noetl_ir.net import Trigger
from noetl_ir.rows import NamedTuple
from noetl_ir.span import Span
from noetlc.ast.playbook import Rule, Step, Task
from noetlc.build.loop import Ends, Level
from noetlc.build.making import REPORT, SIGNAL, TIME, Arcs, NetMaker
from noetlc.reading.kinds import kind_of

SIGNALLED = "wait"


class Stations(NamedTuple):
    """The places of one task; `due` and `parked` only where something can wait there."""

    at: Arcs
    run: Arcs
    due: Arcs | None
    parked: Arcs | None


def stations_of(maker: NetMaker, step: Step, index: int, first: int) -> tuple[Stations, ...]:
    """Make the places of a step's tasks; `first` is the index of its first task in the plan's table."""
    delayed = _delayed(step)
    made = []
    for offset, task in enumerate(step.tasks):
        made.append(_stations(maker, step, index, task=task, row=first + offset, due=task.name in delayed))
    return tuple(made)


def _stations(maker: NetMaker, step: Step, index: int, *, task: Task, row: int, due: bool) -> Stations:
    span, path = task.name_span, f"{step.name} {task.name}"
    return Stations(
        maker.place(f"at {path}", "at", index, task=row, span=span),
        maker.place(f"run {path}", "run", index, task=row, span=span),
        maker.place(f"due {path}", "due", index, task=row, span=span) if due else None,
        maker.place(f"parked {path}", "parked", index, task=row, span=span) if _parks(task) else None,
    )


def build_body(
    maker: NetMaker, step: Step, index: int, *, first: int, stations: tuple[Stations, ...], ends: Ends
) -> None:
    """Add the transitions of a pipeline whose places are made."""
    at = {task.name: place for task, place in zip(step.tasks, stations, strict=True)}
    for offset, task in enumerate(step.tasks):
        following = stations[offset + 1].at if offset + 1 < len(stations) else ends.done
        _Body(maker, step, index, task, first + offset, at, following, ends).build()


def build_stops(
    maker: NetMaker, step: Step, index: int, *, first: int, stations: tuple[Stations, ...], level: Level
) -> None:
    """Add what ends an iteration that nothing runs for, after a failure or timeout elsewhere in the loop."""
    ended = level.fin + level.slot
    for offset, (task, place) in enumerate(zip(step.tasks, stations, strict=True)):
        for role, here in (("at", place.at), ("due", place.due), ("parked", place.parked)):
            if here is not None:
                id, row = f"stop {step.name} {role} {task.name}", first + offset
                maker.now(id, "stop", here, ended, step=index, span=task.name_span, level=level.depth, task=row)


def build_expiry(
    maker: NetMaker, step: Step, index: int, *, first: int, stations: tuple[Stations, ...], bad: Arcs
) -> None:
    """Add what ends a run whose `lifecycle.timeout_s` is over, wherever it stands."""
    bound = step.spec.lifecycle_timeout
    span = step.name_span if bound is None else bound.span
    for offset, (task, place) in enumerate(zip(step.tasks, stations, strict=True)):
        for role, here in zip(Stations._fields, place, strict=True):
            if here is not None:
                id = f"expire {step.name} {role} {task.name}"
                row = first + offset
                maker.later(id, "expire", here, bad, trigger=TIME, step=index, task=row, span=span)


class _Exit(NamedTuple):
    """A way to leave a task: its role, its name in the transition's id, where it leads, and who asked for it."""

    role: str
    name: str
    target: Arcs
    span: Span


class _Body(NamedTuple):
    """What the transitions of one task are made from."""

    maker: NetMaker
    step: Step
    own: int
    task: Task
    row: int
    at: dict[str, Stations]
    following: Arcs
    ends: Ends

    def build(self) -> None:
        here, path, own = self.at[self.task.name], f"{self.step.name} {self.task.name}", self.task.name_span
        self._add(f"start {path}", "start", here.at, here.run, span=own)
        self._add(f"lost {path}", "lost", here.run, here.at, trigger=TIME, span=own)
        leaving, trigger = here.run, REPORT
        if here.parked is not None:
            self._add(f"park {path}", "park", here.run, here.parked, span=own)
            leaving = here.parked
            trigger = SIGNAL if self.task.kind == SIGNALLED else REPORT
        for outcome, exits in zip(("ok", "error"), self._exits(), strict=True):
            for role, name, target, span in exits:
                id = f"{outcome} {path} {name}"
                self._add(id, role, leaving, target, trigger=trigger, outcome=outcome, span=span)
        if here.parked is not None:
            self._fault(f"fault run {path}", here.run)
        self._fault(f"fault {path}", leaving)
        if here.due is not None:
            self._add(f"wake {path}", "wake", here.due, here.at, trigger=TIME, span=own)

    def _exits(self) -> tuple[list[_Exit], list[_Exit]]:
        """What may follow an ok and an error outcome, each once, in the order of the rules.

        Every rule may take either outcome: its guard is data.
        """
        task = self.task
        if not task.rules:
            return [self._exit("continue", "", task.span)], [self._exit("fail", "", task.span)]
        found: dict[tuple[str, str], Span] = {}
        for rule in task.rules:
            found.setdefault((_directive(rule), _target(rule)), rule.span)
        if task.rules[-1].when is not None:  # no rule matches: continue, on either outcome (LANGUAGE §4)
            found.setdefault(("continue", ""), task.span)
        either = [self._exit(directive, to, span) for (directive, to), span in found.items()]
        return either, either

    def _exit(self, directive: str, to: str, span: Span) -> _Exit:
        match directive:
            case "continue":
                return _Exit(directive, directive, self.following, span)
            case "break":
                return _Exit(directive, directive, self.ends.done, span)
            case "fail":
                return _Exit(directive, directive, self.ends.failed, span)
            case "jump":
                return _Exit(directive, f"jump {to}", self.at[to].at, span)
            case "retry":
                return _Exit(directive, directive, _due(self.at[self.task.name]), span)
            case _:
                return _Exit(directive, f"jump {to} later", _due(self.at[to]), span)

    def _fault(self, id: str, inputs: Arcs) -> None:
        self.maker.later(
            id,
            "fault",
            inputs,
            self.ends.failed,
            trigger=REPORT,
            step=self.own,
            task=self.row,
            span=self.task.name_span,
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
        self.maker.later(
            id, role, inputs, outputs, trigger=trigger, step=self.own, task=self.row, span=span, outcome=outcome
        )


def _due(place: Stations) -> Arcs:
    assert place.due is not None  # `_delayed` has named its task
    return place.due


def _directive(rule: Rule) -> str:
    return "jump_later" if rule.directive == "jump" and rule.delay is not None else rule.directive


def _target(rule: Rule) -> str:
    return rule.to or "" if rule.directive == "jump" else ""


def _delayed(step: Step) -> set[str]:
    """The tasks of a step at which a delay can end: those that retry, and the targets of delayed jumps."""
    found: set[str] = set()
    for task in step.tasks:
        for rule in task.rules:
            if rule.directive == "retry":
                found.add(task.name)
            elif rule.directive == "jump" and rule.delay is not None and rule.to is not None:
                found.add(rule.to)
    return found


def _parks(task: Task) -> bool:
    kind = kind_of(task.kind)
    return kind is not None and kind.parks
