"""The beginning of an execution that is made of what came from outside in another one.

Law: nothing that the engine decides is copied. Recorded inputs are put to the engine again, in the order of the log
that they come from, and what it decides is the new log: a legal run of its plan, whatever that is. An outcome is put to
it only where its task is the same and read the same, compared value by value. What follows from the runs that are made
again is not put to it, and neither is what cannot be shown to be the same.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from noetl.engine import reports
from noetl.engine.decide import decide
from noetl.engine.evolve import evolve
from noetl.engine.execution import WHOLE, Execution, Region
from noetl.engine.places import record_decision
from noetl.engine.program import Program
from noetl.engine.rerun_source import MISSED, RerunCut, RerunSource
from noetl.engine.starting import Request, start
from noetl.engine.task_reads import StepReads, is_same_task, step_reads
from noetl.engine.turn import Turn
from noetl_ir import codec
from noetl_ir.events import INPUT_EVENTS, WORKER_EVENTS, Event, step_run_of
from noetl_ir.expr import Json
from noetl_ir.outcome import LoopValue, is_reference
from noetl_ir.plan import Step
from noetl_ir.projections import reads_more, without_projections
from noetl_ir.records import NamedTuple

ID, TASK, WORKLOAD, DATA, PLACE, LINEAR = "execution_id", "task", "workload", "data", "place", "linear"
"""Why an outcome is left out: its task reads the execution's id, is another one, reads a value of `workload` or
something else that is another, does not begin, or was over only after the cut of a linear prefix."""


Projector: TypeAlias = Callable[[Step, dict[str, Json]], dict[str, Json]]
"""Takes anew what the server reads of a result outside of the log, given the step in the plan by which it does."""


class LeftOut(NamedTuple):
    """Why an outcome is not a part of the prefix, in words behind the name of its task."""

    why: str
    text: str


class Unmatched(Exception):
    """The engine records something else of an input than there is; the text says of which."""


class Prefix:
    """Puts the inputs of a source to the engine again.

    - `project` takes what the server reads of results outside of the log; without one nothing is kept of which the new
      plan reads more.
    - `events`: the new log; `kept`: positions in the old one of the inputs that are in it.
    - `left`: by position, why an outcome that does not follow from the cut is left out; `tainted`: the runs that do.
    - `dropped`: names of signals that are left out though nobody missed them.
    """

    def __init__(
        self, source: RerunSource, program: Program, execution_id: str, cut: RerunCut, project: Projector | None = None
    ) -> None:
        self._source = source
        self._project = project
        self._cut = cut
        self.old = Execution(source.execution_id, source.program)
        self.execution = Execution(execution_id, program)
        self._program = program
        self.events: list[Event] = []
        self.kept: set[int] = set()
        self.left: dict[int, LeftOut] = {}
        self.dropped: list[str] = []
        self.tainted = set(cut.runs)
        self._keys: dict[str, str] = {"1": "1"}
        self._routes: dict[str, list[Json]] = {}
        self._broken: dict[str, LeftOut] = {}
        self._reads: dict[int, StepReads] = {}
        self._same: dict[tuple[int, int], bool] = {}
        self._now = 0
        self._ids_differ = True

    def inputs(self, event_type: str) -> Iterator[Event]:
        """The inputs of a type that are kept, as they stand in the old log."""
        events = self._source.events
        return (events[at - 1] for at in sorted(self.kept) if events[at - 1].event_type == event_type)

    def build(self, request: Request, *, linear: bool, ids_differ: bool) -> None:
        """Go through the old log. With `linear`, what came behind the cut is left out; with `ids_differ`, so is what
        reads the execution's id. Raises Unmatched, Missing, IllegalFiring.
        """
        self._ids_differ = ids_differ
        for position, event in enumerate(self._source.events[: self._source.end], start=1):
            if position == 1:
                self._begin(event, request)
            elif event.event_type in INPUT_EVENTS:
                self._put(position, event, is_late=linear and position > self._cut.position)
            else:
                self._follow(event)
            evolve(self._source.program, self.old, event)

    def _begin(self, event: Event, request: Request) -> None:
        turn = self._turn(self._source.decided.get(1, event.ts))
        start(turn, request)
        self._settle(turn)
        # Whether it gets a place under its key is asked anew once it goes on; until then it has the old one's.
        had_one = any(one.event_type == "playbook.placed" for one in self._source.events)
        if self.execution.place.asked is not None and not had_one:
            self._place()

    def _place(self) -> None:
        turn = self._turn(self._now)
        if record_decision(turn, {"verdict": "placed"}):
            self._settle(turn)

    def _turn(self, now: int) -> Turn:
        self._now = now
        return Turn(self._program, self.execution, now)

    def _settle(self, turn: Turn) -> None:
        decide(turn)
        self.events += turn.events
        for event in turn.events:
            if event.event_type == "next.selected":
                arcs = event.data["arcs"]
                self._routes[event.run] = arcs if isinstance(arcs, list) else []

    def _put(self, position: int, event: Event, *, is_late: bool) -> None:
        if event.event_type in WORKER_EVENTS or event.event_type == "task.lost":
            self._put_report(position, event, is_late=is_late)
        elif is_late:
            self._drop(event)
        elif event.event_type == "timer.fired":
            self._put_timer(position, event)
        elif event.event_type == "signal.received":
            self._put_signal(position, event)
        elif event.event_type == "signal.sent":
            self._put_sent(position, event)
        elif event.event_type in ("playbook.paused", "playbook.resumed"):
            turn = self._turn(event.ts)
            if reports.control(turn, "pause" if event.event_type == "playbook.paused" else "resume", None):
                self._settle(turn)
        elif event.event_type == "playbook.placed":
            self._now = self._source.decided.get(position, event.ts)
            self._place()
        elif event.event_type == "playbook.rerun":  # the old one was a rerun itself
            turn = self._turn(event.ts)
            if reports.begin_rerun(turn, {key: value for key, value in event.data.items() if key != "place"}):
                self._settle(turn)

    def _drop(self, event: Event) -> None:
        if event.event_type == "signal.received":
            self.dropped.append(str(event.data.get("name")))

    def _put_report(self, position: int, event: Event, *, is_late: bool) -> None:
        base = step_run_of(event.run)
        if base in self.tainted:
            return
        if is_late:
            self._broken.setdefault(event.run, LeftOut(LINEAR, "was over only after that"))
        if (why := self._broken.get(event.run)) is None:
            why = self._hindered(event)
            if why is None and self._accepts(position, event):
                self.kept.add(position)
                return
            why = self._broken[event.run] = why or LeftOut(PLACE, "does not begin there as it did")
        self.left[position] = why

    def _hindered(self, event: Event) -> LeftOut | None:
        """Why the engine is not to have a report."""
        key = self._key_of(event.run)
        region = self.execution.regions.get(key) if key else None
        if key is None or region is None:
            return LeftOut(PLACE, "does not begin there as it did")
        task = self._task_of(event, region)
        if task < 0:
            return LeftOut(TASK, "is not in the other plan")
        if event.event_type == "task.started":
            return self._changed(event, key, region, task)
        was = self.old.regions[event.run].pending
        if event.event_type != "task.lost" and not is_same(was, region.pending):
            return LeftOut(DATA, "was told something else")
        if self._project is None and self._reads_more(event, region):
            return LeftOut(DATA, "came to a value outside of the log, of which the other plan reads more")
        return None

    def _reads_more(self, event: Event, region: Region) -> bool:
        """Whether the server reads parts of a result outside of the log that the old plan did not have it read."""
        old, new = self._source.program.plan.steps[event.step], self._program.plan.steps[region.step]
        return is_reference(event.data.get("result")) and reads_more(new, old)

    def _key_of(self, run: str) -> str | None:
        base = step_run_of(run)
        found = self._keys.get(base)
        return None if found is None else found + run[len(base) :]

    def _task_of(self, event: Event, region: Region) -> int:
        """The task of the new plan that a report is about, -1 for none."""
        name = self._source.program.plan.tasks[event.task].name
        plan = self._program.plan
        if plan.steps[region.step].name != self._source.program.plan.steps[event.step].name:
            return -1
        found = [number for number in plan.steps[region.step].tasks if plan.tasks[number].name == name]
        return found[0] if len(found) == 1 else -1

    def _changed(self, event: Event, key: str, region: Region, task: int) -> LeftOut | None:
        """Why the attempt that is about to start is not the one that started: it does or reads something else."""
        pair = event.task, task
        if pair not in self._same:
            self._same[pair] = is_same_task(self._source.program.plan, event.task, self._program.plan, task)
        if not self._same[pair]:
            return LeftOut(TASK, "is another one in the other plan")
        reads = self._reads.get(event.step)
        if reads is None:
            reads = self._reads[event.step] = step_reads(self._source.program.plan, event.step)
        return self._read_otherwise(event, key, region, reads)

    def _read_otherwise(self, event: Event, key: str, region: Region, reads: StepReads) -> LeftOut | None:
        was = self.old.regions[event.run]
        # A task that is not over is begun anew where it may have said the old id to somebody.
        is_over = (event.run, event.task, event.visit) in self._source.done
        if reads.reads_id and (self._ids_differ or not is_over):
            return LeftOut(ID, "reads `execution_id`, which is another one")
        for path in _differing(self.old.workload, self.execution.workload, reads.workload):
            return LeftOut(WORKLOAD, f"reads `{'.'.join(('workload', *path))}`, which is another value")
        old_run, new_run = self.old.run_of(event.run), self.execution.run_of(key)
        for what, before, after in (
            ("args", old_run.args, new_run.args),
            ("`iter`", was.iter, region.iter),
            (
                "the tasks before it",
                (was.results, was.prev, was.tasks_run),
                (region.results, region.prev, region.tasks_run),
            ),
        ):
            if not is_same(before, after):
                return LeftOut(DATA, f"has other values of {what}")
        for path in _differing(
            was.ctx, region.ctx, None if reads.ctx is None else frozenset((key,) for key in reads.ctx)
        ):
            return LeftOut(DATA, f"reads `{'.'.join(('ctx', *path))}`, which is another value")
        needs = self._source.program.plan.steps[event.step].needs, self._program.plan.steps[region.step].needs
        for name in dict.fromkeys([*needs[0], *needs[1]]):
            if not is_same(*self._results_of(name)):
                return LeftOut(DATA, f"reads the result of step `{name}`, which is another one")
        return None

    def _results_of(self, name: str) -> tuple[object, object]:
        old, new = self._source.program.step_numbers.get(name, -1), self._program.step_numbers.get(name, -1)
        return self.old.results.get(old, _ABSENT), self.execution.results.get(new, _ABSENT)

    def _accepts(self, position: int, event: Event) -> bool:
        """Whether the engine records a report, and records it as it is."""
        key = self._key_of(event.run) or ""
        region = self.execution.regions[key]
        if event.event_type == "task.lost":
            if region.phase != "run" or region.claim != event.claim:
                return False
            turn = self._turn(event.ts)
            reports.lose(turn, key)
            self._settle(turn)
            return True
        task = self._task_of(event, region)
        letter = event.event_id.rpartition(":")[2]
        event_id = f"{key}:{task}:{event.visit}:{event.attempt}:{event.claim}:{letter}"
        data = {**event.data, "to": self._target(event, region)} if "to" in event.data else event.data
        result = data.get("result")
        if self._project is not None and isinstance(result, dict) and self._reads_more(event, region):
            data = {**data, "result": self._project(self._program.plan.steps[region.step], result)}
        report = event._replace(event_id=event_id, step=region.step, run=key, task=task, fired=(), data=data)
        turn = self._turn(self._source.decided.get(position, max(event.ts, self._now)))
        accepted = reports.accept(turn, report)
        if not turn.events:
            return False
        recorded = turn.events[0]
        if not accepted or recorded.event_type != event.event_type or recorded.data != data:
            name = self._source.program.plan.steps[event.step].name
            raise Unmatched(f"what a task of step `{name}` came to could not be recorded as it was")
        self._settle(turn)
        return True

    def _target(self, event: Event, region: Region) -> int:
        name = self._source.program.plan.tasks[int(str(event.data["to"]))].name
        plan = self._program.plan
        return next((n for n in plan.steps[region.step].tasks if plan.tasks[n].name == name), -1)

    def _put_timer(self, position: int, event: Event) -> None:
        kind, _, rest = str(event.data["timer"]).partition(" ")
        run, _, name = rest.partition(" ")
        if kind == WHOLE or step_run_of(run) in self.tainted or run in self._broken:
            return
        key = self._key_of(run)
        here = f"{kind} {key} {name}".rstrip()
        timer = self.execution.timers.get(here)
        if key is None or timer is None or timer.due > event.ts:
            return
        turn = self._turn(event.ts)
        reports.fire_timer(turn, here)
        self._settle(turn)
        self.kept.add(position)

    def _put_signal(self, position: int, event: Event) -> None:
        taker = self._source.takers.get(position)
        base = None if taker is None else step_run_of(taker)
        # One that nobody has taken yet waits for whoever comes; one that was sent when it was clear what had failed
        # may be meant for what is made again, and that is for its sender to say.
        if base == MISSED or base in self.tainted or (base is None and position > self._cut.position):
            if base != MISSED:
                self._drop(event)
            return
        came = event.data.get("came")
        name = str(event.data.get("name"))
        turn = self._turn(event.ts)
        since = came if isinstance(came, int) else None
        reports.signal(turn, reports.Incoming(name, event.data.get("data"), None, since))
        self._settle(turn)
        self.kept.add(position)
        if "wait" in event.data and base is not None and not self._took(turn, self._key_of(taker or "")):
            raise Unmatched(f"the signal `{name}` went to one wait under a key, and would go to another one")

    def _took(self, turn: Turn, key: str | None) -> bool:
        return any(event.event_type == "token.claimed" and event.run == key for event in turn.events)

    def _put_sent(self, position: int, event: Event) -> None:
        key = self._key_of(event.run)
        outcome = event.data.get("outcome")
        if key is None or step_run_of(event.run) in self.tainted or event.run in self._broken:
            return
        turn = self._turn(event.ts)
        if reports.sent(turn, key, outcome if isinstance(outcome, dict) else {}):
            self._settle(turn)
            self.kept.add(position)

    def _follow(self, event: Event) -> None:
        """The keys of tokens in the new log for those that a decision of the old one made."""
        if event.event_type == "token.joined":
            tokens = event.data["tokens"]
            if isinstance(tokens, list) and not self.tainted.isdisjoint(map(str, tokens)):
                self.tainted.add(event.run)
            return
        if event.event_type != "next.selected":
            return
        arcs = event.data["arcs"]
        rows = [row for row in arcs if isinstance(row, dict)] if isinstance(arcs, list) else []
        if event.run in self.tainted:
            self.tainted.update(str(row["key"]) for row in rows)
            return
        there = [row for row in self._routes.get(self._keys.get(event.run, ""), []) if isinstance(row, dict)]
        targets = {self._arc(self._program, row): str(row["key"]) for row in there}
        for row in rows:
            if (key := targets.get(self._arc(self._source.program, row))) is not None:
                self._keys[str(row["key"])] = key

    def _arc(self, program: Program, row: Mapping[str, Json]) -> tuple[str, int, bool]:
        """An arc by the step that it leads to, and its number among those of its router that lead there."""
        plan, number = program.plan, int(str(row["arc"]))
        arc = plan.arcs[number]
        alike = [n for n in plan.steps[arc.step].arcs if plan.arcs[n].target == arc.target]
        name = plan.steps[arc.target].name if arc.target >= 0 else ""
        return name, alike.index(number), bool(row.get("ends"))


class _Absent:
    """Stands for a value that is not there; equal to nothing else."""


_ABSENT = _Absent()


def is_same(one: object, other: object) -> bool:
    """Whether two values are the same to every expression: `1` is not `1.0` or `true`, and the order of keys counts."""
    if one is other:
        return True
    if isinstance(one, _Absent) or isinstance(other, _Absent):
        return False
    plain = _plain(one), _plain(other)
    if codec.pack_unsorted(plain[0]) == codec.pack_unsorted(plain[1]):
        return True
    # What else stands beside a reference is for the server, and follows from the value and the plan.
    bare = [codec.pack_unsorted(without_projections(each)) for each in plain]
    return bare[0] == bare[1]


def _plain(value: object) -> Json:
    if isinstance(value, LoopValue):
        return [value.entries, value.stats]
    return list(value) if isinstance(value, tuple) else value  # type: ignore[return-value]


def _differing(
    old: dict[str, Json], new: dict[str, Json], paths: frozenset[tuple[str, ...]] | None
) -> list[tuple[str, ...]]:
    """The paths at which two mappings differ, sorted; None stands for all that there is."""
    if paths is None:
        paths = frozenset((key,) for key in {*old, *new})
        if is_same(old, new):
            return []
    return sorted(path for path in paths if not is_same(_value_at(old, path), _value_at(new, path)))


def _value_at(value: Json, path: tuple[str, ...]) -> object:
    """The value at a path, or what ends it: the whole of anything that is no mapping."""
    for key in path:
        if not isinstance(value, dict):
            break
        if key not in value:
            return _ABSENT
        value = value[key]
    return value
