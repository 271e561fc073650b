"""Reruns: an execution that begins with what another one did, up to before a run of a step (README, *Reruns*).

Law: the new log is a legal run of its plan, which the engine makes of what came from outside in the old one
(`rerun_prefix`). What the same plan with the same values could keep and the new one cannot hinders, and so does
whatever no proof decides: then nothing is begun. The old log is only read.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator

from noetl.engine import reports
from noetl.engine.decide import decide
from noetl.engine.event_data import labels_in
from noetl.engine.execution import Execution
from noetl.engine.marking import IllegalFiring
from noetl.engine.program import Missing, Program
from noetl.engine.replay import replay
from noetl.engine.rerun_prefix import ID, LINEAR, PLACE, Prefix, Projector, Unmatched
from noetl.engine.rerun_source import RerunCut, RerunSource, has_effects
from noetl.engine.starting import Request, unmet
from noetl.engine.task_reads import written_keys
from noetl.engine.turn import Turn
from noetl_ir.codec import pack_unsorted
from noetl_ir.events import Event, step_run_of
from noetl_ir.expr import Json
from noetl_ir.plan import Plan
from noetl_ir.records import NamedTuple
from noetl_ir.reducing import ORDERED
from noetl_ir.words import MAIN

BEHIND_MAIN = "phases"
ACCEPTED = (BEHIND_MAIN, "execution_id", "signals")
"""Hindrances that whoever asks may accept, as only a person can know what they come to."""

_BESIDE = (BEHIND_MAIN, "child", "secret")
"""Hindrances beside which a rerun can be gone on with, to see what else there is."""

_MARKER = b"[[secret:"
_FROM = "say from which step (`--from STEP`)"


class Hindrance(NamedTuple):
    """Why a rerun is refused: a code, in words, and what to do instead."""

    code: str
    message: str
    instead: str = ""

    def as_text(self) -> str:
        """One sentence."""
        return f"{self.message}: {self.instead}" if self.instead else self.message

    def as_json(self) -> dict[str, Json]:
        """One document."""
        return {"code": self.code, "message": self.message, "instead": self.instead or None}


class TaskRuns(NamedTuple):
    """How many runs of a task of a step; `has_effects`: it may do something outside."""

    step: str
    task: str
    runs: int
    has_effects: bool


class RerunRequest(NamedTuple):
    """A rerun that is asked for: the program and payload of the new execution, and where it begins.

    - `named`: the step from which it is asked for, empty for where it failed.
    - `env`: the variables of the environment that its workload may read; `scripted`: a script stands in for tools.
    - `linear`: only what was over before the cut is kept; `accepted`: codes of hindrances that are none.
    - `moved`: makes the markers of secrets in a value the new execution's; None where nobody here can.
    - `project`: takes of results outside of the log what the new plan reads; None where nobody here can.
    """

    program: Program
    execution_id: str
    payload: dict[str, Json]
    cut: RerunCut
    env: dict[str, Json] | None = None
    linear: bool = False
    accepted: Collection[str] = ()
    moved: Callable[[Json], Json] | None = None
    named: str = ""
    project: Projector | None = None


class Rerun(NamedTuple):
    """A rerun that can be begun, or what hinders it.

    - `events`: the log that it begins with; `kept`: tasks that do not run again; `again`: tasks that ran and do.
    - `signals`: names of signals that the old one had and the new one has not; `at`: the steps at which it goes on.
    """

    events: tuple[Event, ...]
    execution: Execution
    hindrances: tuple[Hindrance, ...]
    kept: tuple[TaskRuns, ...]
    again: tuple[TaskRuns, ...]
    signals: tuple[str, ...]
    at: tuple[str, ...] = ()


def rerun_of(source: RerunSource, asked: RerunRequest, now: int) -> Rerun:
    """The rerun of a source at a time (microseconds since the epoch); with hindrances nothing of it may be begun."""
    same = _built(source, asked._replace(program=source.program, payload=payload_of(source)))
    is_changed = asked.program.digest != source.program.digest or asked.payload != payload_of(source)
    made = _built(source, asked) if is_changed else same
    found = [*_of_the_source(source, asked), *_told(same), *_told(made)]
    # All that is in the way is told at once: who has made way for one thing would meet the next one then.
    if source.execution.is_over and not same.problem and not made.problem:
        found += _of_the_same(source, same, asked)
        if "inputs" not in {one.code for one in found}:  # without them it has no values that could be compared
            found += _of_the_change(source, same, made) if is_changed else ()
            found += () if {one.code for one in found} & {"cut", "fault"} else _of_the_state(made.execution)
    if asked.moved is None:
        found += _of_secrets(made, asked)
    if all(one.code in _BESIDE for one in found):
        is_free = not found
        _go_on(source, made, asked, now)
        # What was at work is lost to its claim, and a loop that had failed may be over with that.
        found += _of_the_state(made.execution) or [*_of_the_way(made, asked)]
        if is_free and not found:
            found += _of_the_log(made, asked)
    kept, again = _tasks(source, made.prefix)
    at = _marked_steps(asked.program, made.execution)
    if at and not found:  # where it goes another way, what ran on the old one does not
        reach = {asked.program.plan.steps[step].name for step in at | _behind(asked.program.plan, at)}
        again = tuple(row for row in again if row.step in reach)
    ready = tuple(made.prefix.events) if not found else ()
    signals, names = dict.fromkeys(made.prefix.dropped), [asked.program.plan.steps[step].name for step in sorted(at)]
    return Rerun(ready, made.execution, tuple(dict.fromkeys(found)), kept, again, tuple(signals), tuple(names))


def payload_of(source: RerunSource) -> dict[str, Json]:
    """The payload that an execution was started with."""
    payload = source.events[0].data.get("payload")
    return payload if isinstance(payload, dict) else {}


class _Built(NamedTuple):
    prefix: Prefix
    problem: str

    @property
    def execution(self) -> Execution:
        return self.prefix.execution


def _built(source: RerunSource, asked: RerunRequest) -> _Built:
    prefix = Prefix(source, asked.program, asked.execution_id, asked.cut, asked.project)
    try:
        ids_differ = ID not in asked.accepted
        prefix.build(_request(source, asked), linear=asked.linear, ids_differ=ids_differ)
    except (Unmatched, Missing, IllegalFiring) as problem:
        return _Built(prefix, str(problem))
    return _Built(prefix, "")


def _request(source: RerunSource, asked: RerunRequest) -> Request:
    data = source.events[0].data
    env = data.get("env")
    recorded = env if isinstance(env, dict) else {}
    return Request(
        asked.payload,
        return_step=str(data.get("return_step", "")),
        scripted=data.get("scripted") is True,
        # What was read then stays as it was, so that the values are those that the tasks had.
        env={**(asked.env or {}), **recorded} or None,
        folder=str(data.get("folder", "")),
        rerun_of=source.execution_id,
        labels=labels_in(data) or None,
    )


def _of_the_source(source: RerunSource, asked: RerunRequest) -> Iterator[Hindrance]:
    old = source.execution
    if not old.is_over:
        yield Hindrance("open", "it is not over", "cancel it first, or let it come to its end")
        return
    if old.parent is not None:
        yield Hindrance("child", f"execution {old.parent[0]} called it", "rerun that one, from the step of the call")
    if old.fault is not None and not asked.cut.runs:
        yield Hindrance("fault", "it ended by a mistake of the engine", "go on with it: `noetl resume --retry-fault`")
    elif old.status in ("completed", "blocked") and not asked.cut.runs:
        yield Hindrance("cut", f"it is {old.status}, so that nothing says where to begin", _FROM)
    elif old.terminated == "failed" and old.failure is None and not asked.cut.runs:
        yield Hindrance("cut", "a step ended it on purpose, so that nothing says where to begin", _FROM)
    if source.after and BEHIND_MAIN not in asked.accepted:
        ran = ", ".join(f"`{step}`" for step in dict.fromkeys(step for step, _ in source.after))
        yield Hindrance(
            BEHIND_MAIN,
            f"what follows main has run: {ran}; it may have undone or removed what the rerun builds upon",
            "look at that, and accept it (`--accept phases`) where it does no harm, or start anew",
        )
    for told in unmet(asked.program, asked.execution_id, _request(source, asked)):
        yield Hindrance("inputs", told)


def _told(built: _Built) -> Iterator[Hindrance]:
    if built.problem:
        yield Hindrance("log", built.problem, "begin at an earlier step, or start anew")


def _of_the_same(source: RerunSource, same: _Built, asked: RerunRequest) -> Iterator[Hindrance]:
    """Hindrances that there are also where nothing is changed."""
    prefix = same.prefix
    for position, why in prefix.left.items():
        # What is not over runs again in any case.
        is_over = source.events[position - 1].event_type == "task.done"
        if is_over and why.why != LINEAR and (position <= asked.cut.position or why.why == ID):
            yield _left(source, position, why.text, why.why)
    kept = {step_run_of(source.events[position - 1].run) for position in prefix.kept}
    for run in source.undone:
        if run in kept:
            name = _step_of(source, run)
            yield Hindrance("undone", f"step `{name}` was undone after it had run", f"begin at it: `--from {name}`")
    yield from _conflicts(source, prefix, asked)
    if "signals" not in asked.accepted:
        yield from _doubled_signals(source, prefix)


def _left(source: RerunSource, position: int, text: str, code: str) -> Hindrance:
    event, plan = source.events[position - 1], source.program.plan
    step, task = plan.steps[event.step].name, plan.tasks[event.task].name
    place = f"step `{step}`" if len(plan.steps[event.step].tasks) == 1 else f"task `{task}` of step `{step}`"
    accept = ", or accept it (`--accept execution_id`)" if code == ID else ""
    return Hindrance(code, f"{place} ran, and {text}", f"begin at it (`--from {step}`) or start anew{accept}")


def _step_of(source: RerunSource, run: str) -> str:
    steps = source.program.plan.steps
    return next(steps[step].name for step, runs in source.scheduled.items() if run in dict(runs))


def _conflicts(source: RerunSource, prefix: Prefix, asked: RerunRequest) -> Iterator[Hindrance]:
    """Keys of `ctx` that were written beside what is made again, and that it may write too: which of the two comes last
    would be another.
    """
    plan, again = source.program.plan, {*asked.cut.steps}
    if not again:
        return
    numbers = {source.program.step_numbers[name] for name in again}
    reach = numbers | _behind(plan, numbers)
    reducers = source.program.reducers
    behind: dict[int, frozenset[str]] = {}
    for position in sorted(prefix.kept):
        event = source.events[position - 1]
        patch = event.data.get("ctx")
        if position <= asked.cut.position or not isinstance(patch, dict):
            continue
        if event.step not in behind:
            others = reach - _behind(plan, {event.step})
            behind[event.step] = frozenset(key for step in others for key in written_keys(plan, step))
        for key in sorted(patch.keys() & behind[event.step]):
            if reducers.get(key) is None or reducers[key] in ORDERED:
                yield Hindrance(
                    "ctx",
                    f"step `{plan.steps[event.step].name}` wrote `ctx.{key}` while what is made again was at work, "
                    "which may write it too: which of the two comes last would be another",
                    "keep only what was over before (`--linear`)",
                )


def _doubled_signals(source: RerunSource, prefix: Prefix) -> Iterator[Hindrance]:
    """Signals that are kept though what runs again may have sent them, and would send them again."""
    over = {_name(event) for event in prefix.inputs("task.done")}
    at, step, plan = source.end, "", source.program.plan
    for position, event in enumerate(source.events[: source.end], start=1):
        effective = event.event_type == "task.started" and has_effects(plan.tasks[event.task].kind)
        if effective and _name(event) not in over:
            at, step = position, plan.steps[event.step].name
            break
    for position in sorted(prefix.kept):
        event = source.events[position - 1]
        if position > at and event.event_type == "signal.received":
            yield Hindrance(
                "signals",
                f"signal `{event.data.get('name')}` came while step `{step}` was at work, which runs again and may "
                "have sent it",
                "accept it where it came from elsewhere (`--accept signals`), or begin at the step that took it",
            )
            return


def _name(event: Event) -> tuple[str, int, int]:
    return event.run, event.task, event.visit


def _behind(plan: Plan, steps: set[int]) -> set[int]:
    """The steps that arcs lead to from these."""
    found, waiting = set[int](), [*steps]
    while waiting:
        step = waiting.pop()
        for number in plan.steps[step].arcs:
            target = plan.arcs[number].target
            if target >= 0 and target not in found:
                found.add(target)
                waiting.append(target)
    return found


def _of_the_change(source: RerunSource, same: _Built, made: _Built) -> list[Hindrance]:
    """Hindrances of a change: it does not keep what the same plan with the same values would keep."""
    found: list[Hindrance] = []
    told: set[tuple[int, int]] = set()
    for position in sorted(same.prefix.kept - made.prefix.kept):
        event = source.events[position - 1]
        if event.event_type != "task.done" or (event.step, event.task) in told:
            continue
        told.add((event.step, event.task))
        why = made.prefix.left.get(position)
        text = why.text if why is not None else "does not begin there as it did"
        found.append(_left(source, position, text, why.why if why is not None else PLACE))
    # What does not begin follows from what is another, where anything is.
    return [one for one in found if one.code != PLACE] or found[:1]


def _of_the_state(execution: Execution) -> list[Hindrance]:
    if execution.failure is not None:
        told = f"it would fail again: {execution.failure.get('message')}"
        return [Hindrance("again", told, "begin at an earlier step, or with other values or a mended plan")]
    if execution.is_over or execution.phase != MAIN:
        return [Hindrance("again", "nothing would be left to run", _FROM)]
    return []


def _marked_steps(program: Program, execution: Execution) -> set[int]:
    """The steps in which tokens lie that go on; those of slots and of the memory of joins have no key."""
    steps = program.columns.places.steps
    found = {steps[place] for place, keys in execution.marking.tokens.items() if any(keys)}
    return {step for step in found if step >= 0}


def _of_the_way(made: _Built, asked: RerunRequest) -> Iterator[Hindrance]:
    """A hindrance where the step from which it is asked for is never come to: a guard before it says otherwise now."""
    plan, at = asked.program.plan, _marked_steps(asked.program, made.execution)
    step = asked.program.step_numbers.get(asked.named, -1)
    if asked.named and at and step not in at | _behind(plan, at):
        names = ", ".join(f"`{plan.steps[number].name}`" for number in sorted(at))
        yield Hindrance(
            "way", f"step `{asked.named}` is not come to any more: it would go on at {names}",
            "begin at the step whose arcs lead there, or leave `--from` out where that is meant",
        )  # fmt: skip


def _go_on(source: RerunSource, made: _Built, asked: RerunRequest, now: int) -> None:
    """Record that the rerun begins: attempts that were at work are lost, and a pause is over."""
    prefix, execution = made.prefix, made.execution
    turn = Turn(asked.program, execution, now)
    data: dict[str, Json] = {
        "of": source.execution_id, "position": source.end, "shift": max(now - execution.now, 0),
        "steps": [*asked.cut.steps],
        "kept": sum(one.runs for one in _tasks(source, prefix)[0]),
    }  # fmt: skip
    if execution.place.holds:
        data["place"] = next(event.data["place"] for event in prefix.events if "place" in event.data)
    reports.begin_rerun(turn, data)
    decide(turn)
    if execution.paused and reports.control(turn, "resume", None):
        decide(turn)
    for key in [key for key, region in execution.regions.items() if region.phase == "run"]:
        reports.lose(turn, key)
        decide(turn)
    prefix.events += turn.events


def _of_secrets(made: _Built, asked: RerunRequest) -> Iterator[Hindrance]:
    """Hindrances where what is kept holds secrets that nobody here can hand over, one for each step."""
    told = set[int]()
    for event in made.prefix.events:
        if event.step in told or _MARKER not in pack_unsorted(event.data):
            continue
        told.add(event.step)
        step = asked.program.plan.steps[event.step].name if event.step >= 0 else ""
        where = f"what step `{step}` came to holds a secret" if step else "its inputs hold a secret"
        yield Hindrance(
            "secret", f"{where}, which no other execution can use",
            f"begin at it (`--from {step}`) or start anew" if step else "start it anew",
        )  # fmt: skip


def _of_the_log(made: _Built, asked: RerunRequest) -> Iterator[Hindrance]:
    """Hindrances in the log that was made: it is checked as any other, with its secrets handed over."""
    events = made.prefix.events
    for at, event in enumerate(events):
        if asked.moved is not None and _MARKER in pack_unsorted(event.data):
            data = asked.moved(event.data)
            events[at] = event._replace(data=data if isinstance(data, dict) else {})
    wrong = replay(asked.program, asked.execution_id, made.prefix.events).wrong
    if wrong is not None:
        yield Hindrance("log", f"no legal log came of it (event {wrong[0]}: {wrong[1]})", "start it anew")


def _tasks(source: RerunSource, prefix: Prefix) -> tuple[tuple[TaskRuns, ...], tuple[TaskRuns, ...]]:
    """The tasks that do not run again, and those that ran and do, in the order in which they first ran."""
    state: dict[tuple[int, int, str, int], bool] = {}
    for position, event in enumerate(source.events[: source.end], start=1):
        if event.event_type == "task.started":
            state.setdefault((event.step, event.task, event.run, event.visit), False)
        elif event.event_type == "task.done" and position in prefix.kept:
            state[event.step, event.task, event.run, event.visit] = True
    plan = source.program.plan
    found: list[tuple[TaskRuns, ...]] = []
    for wanted in (True, False):
        count = Counter((step, task) for (step, task, _, _), is_kept in state.items() if is_kept is wanted)
        rows = [
            TaskRuns(plan.steps[step].name, plan.tasks[task].name, runs, has_effects(plan.tasks[task].kind))
            for (step, task), runs in count.items()
            if not plan.tasks[task].generated
        ]
        found.append(tuple(rows))
    return found[0], found[1]
