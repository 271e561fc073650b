"""Tallies of a log: how often each step and task of an execution ran, how it stands, and what an arc or transition did.

A picture is painted by them, by the compiler on paper and by a server on its page: one count, so that both agree.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeAlias

from noetl_ir.correlation import awaited_text
from noetl_ir.dates import days_of
from noetl_ir.envelope import key_of
from noetl_ir.events import Event, index_of, step_run_of
from noetl_ir.expr import Json
from noetl_ir.plan import Plan
from noetl_ir.records import NamedTuple

Envelope: TypeAlias = Mapping[str, Json]


MAX_ERRORS = 3
"""Errors of a task that are told."""

MAX_AWAITED = 2
"""How many things that a step waits for are told, where its iterations wait for several."""


class NoLog(Exception):
    """A file that is no log of an execution; the text says why."""


@dataclass(slots=True)
class Tally:
    """The story of one step or task: counts, microseconds in all, when each open run began, the first errors.

    Of a step also the runs and iterations that wait, with what for (`awaited`), and those of which a task is at work
    (`busy`), and how many of its arcs could not be evaluated (`faults`).
    """

    started: int = 0
    done: int = 0
    failed: int = 0
    retries: int = 0
    items: int = 0
    items_done: int = 0
    items_failed: int = 0
    items_skipped: int = 0
    cancelled: int = 0
    faults: int = 0
    took: int = 0
    open: dict[str, int] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    awaited: dict[str, str] = field(default_factory=dict)
    busy: set[str] = field(default_factory=set)

    def begin_run(self, run: str, at: int) -> None:
        """A run begins, unless it is open already."""
        # `step.scheduled` and `step.started` are both a beginning, and a gate may keep them apart for days: the first
        # counts.
        if run not in self.open:
            self.started += 1
            self.open[run] = at

    def end_run(self, run: str, at: int) -> None:
        """A run ends."""
        self.took += at - self.open.pop(run, at)

    def leave(self, run: str) -> None:
        """Nothing of a run, or of its iterations, waits or is at work any more."""
        for key in [key for key in (*self.awaited, *self.busy) if key.startswith(f"{run}/")]:
            self.awaited.pop(key, None)
            self.busy.discard(key)


@dataclass(slots=True)
class LogTally:
    """A whole log, counted. `faulty` are arcs that could not be evaluated, by their step and position, with why."""

    steps: dict[str, Tally] = field(default_factory=dict)
    tasks: dict[tuple[str, str], Tally] = field(default_factory=dict)
    fired: Counter[str] = field(default_factory=Counter)
    faulty: dict[tuple[str, int], str] = field(default_factory=dict)
    execution: str = ""
    digest: str = ""
    playbook: str = ""
    ending: str = ""
    first: int = 0
    last: int = 0


def log_of(envelopes: Iterable[Envelope]) -> LogTally:
    """The counts of a log; raises NoLog where what is given is none."""
    log = LogTally()
    for number, each in enumerate(envelopes):
        try:
            # One at a time: a log may be longer than memory.
            count_event(log, tallied_envelope(each))
        # The log is a file from anywhere. Whatever is wrong with a line is told with its number, and never as a
        # traceback.
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            raise NoLog(
                f"event {number + 1} is no envelope of an event ({type(problem).__name__}: {problem})"
            ) from None
    if not log.first:
        raise NoLog("there are no events")
    return log


class Painted(NamedTuple):
    """How a step or task stands: `mark` is a word of `idle done running waiting failed cancelled`, `facts` are lines
    about it.
    """

    mark: str
    facts: tuple[str, ...]


def painted(tally: Tally | None, retries: int, *, is_over: bool) -> Painted:
    """The mark and the facts of a step or task with a tally, None where it never ran.

    `retries` are those of a step's tasks, which are shown at the step. `is_over` says that the execution has ended.
    """
    waits = () if is_over or tally is None else tuple(islice(dict.fromkeys(tally.awaited.values()), MAX_AWAITED))
    if tally is None or not (tally.started or waits):
        return Painted("idle", ())
    if not tally.started:  # its first token is kept out by its gate
        return Painted("waiting", waits)
    count = len(tally.open)
    mark = "done"
    # A run that is still open when the execution has ended never ended itself: it was cut off, and that is no failure.
    if tally.failed or tally.faults:
        mark = "failed"
    elif (count and is_over) or (tally.cancelled and not tally.done):
        mark = "cancelled"
    if count and not is_over:
        mark = "waiting" if waits and not tally.busy else "running"
    runs = f"{tally.started} runs, " if tally.started > 1 else ""
    facts = [f"{runs}{duration(tally.took)}" if tally.took or not count else f"{runs}begun"]
    if mark == "waiting" and facts == ["begun"]:
        facts = []  # what it waits for says more
    if tally.items:
        others = ((tally.items_failed, "failed"), (tally.items_skipped, "skipped"))
        told = "".join(f", {number} {word}" for number, word in others if number)
        facts.append(f"{tally.items_done} of {tally.items} items{told}")
    again = retries or tally.retries
    if again:
        facts.append("1 retry" if again == 1 else f"{again} retries")
    if tally.failed:
        facts.append("failed" if tally.failed == tally.started == 1 else f"{tally.failed} failed")
    if tally.faults:
        facts.append("arc failed" if tally.faults == 1 else f"{tally.faults} arcs failed")
    if tally.cancelled:
        facts.append("cancelled" if tally.cancelled == tally.started == 1 else f"{tally.cancelled} cancelled")
    if count and is_over:
        facts.append("cut off" if count == tally.started == 1 else f"{count} cut off")
    elif count and mark == "running":
        facts.append(f"{count} running" if tally.started > 1 else "running")
    return Painted(mark, (*facts, *waits))


def arcs_of(plan: Plan) -> dict[str, tuple[str, int]]:
    """The arcs of a plan, as the name of their step and their position among its own, by the transitions that take
    them.
    """
    found = {}
    for each in plan.net.transitions:
        if each.role == "take":
            step = plan.steps[each.step]
            found[each.id] = step.name, step.arcs.index(each.arc)
    return found


def duration(micros: int) -> str:
    """A time for people."""
    seconds = micros / 1_000_000
    if seconds < 0.001:
        return "0 s" if not micros else "< 1 ms"
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 120:
        return f"{seconds:.1f} s"
    minutes = int(seconds // 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


def micros_of(ts: str) -> int:
    """Microseconds since the epoch of a time in UTC as RFC 3339 has it, as `noetl_ir.events.iso_of` writes it."""
    days = days_of(int(ts[0:4]), int(ts[5:7]), int(ts[8:10]))
    hour, minute, second = int(ts[11:13]), int(ts[14:16]), int(ts[17:19])
    fraction = ts[20:].rstrip("Z") if ts[19:20] == "." else ""
    return ((days * 24 + hour) * 60 + minute) * 60_000_000 + second * 1_000_000 + int(f"{fraction:0<6.6}")


class TalliedEvent(NamedTuple):
    """The parts of an event that tallies read. `at` is in microseconds since the epoch, `run` the run of its step,
    `iteration` the loop index path, `fired` the names of the transitions that it fired.
    """

    kind: str
    at: int
    execution: str
    step: str | None
    task: str | None
    run: str
    iteration: Sequence[Json]
    payload: Mapping[str, Json]
    fired: Iterable[str]


def tallied_event(plan: Plan, execution_id: str, event: Event) -> TalliedEvent:
    """The parts of an event of a log that tallies read, beside the plan that it ran. Raises IndexError where it is
    another plan's.
    """
    step = plan.steps[event.step].name if event.step >= 0 else None
    task = plan.tasks[event.task].name if event.task >= 0 else None
    transitions = plan.net.transitions
    fired = [transitions[firing.transition].id for firing in event.fired]
    run, index = step_run_of(event.run), index_of(key_of(event))
    return TalliedEvent(event.event_type, event.ts, execution_id, step, task, run, index, event.data, fired)


def tallied_envelope(each: Envelope) -> TalliedEvent:
    """The parts of a shown event that tallies read. Raises KeyError, TypeError, ValueError and AttributeError for what
    is no envelope.
    """
    fired, payload, index = each["fired"], each["payload"], each["iteration"]
    if not isinstance(fired, list) or not isinstance(payload, dict):
        raise TypeError("`fired` is no list, or `payload` no mapping")
    step, task = each["step"], each["task"]
    return TalliedEvent(
        _text(each, "event_type"),
        micros_of(_text(each, "ts")),
        _text(each, "execution_id"),
        step if isinstance(step, str) else None,
        task if isinstance(task, str) else None,
        str(each["step_run_id"] or ""),
        tuple(index) if isinstance(index, list) else (),
        payload,
        [str(row["transition"]) for row in fired if isinstance(row, dict)],
    )


def count_event(log: LogTally, event: TalliedEvent) -> None:
    """Count one event. Raises TypeError, ValueError and AttributeError for a payload that is none of its kind's."""
    kind, payload, step, task = event.kind, event.payload, event.step, event.task
    at = event.at + 1  # so that zero is before every event
    log.first, log.last = log.first or at, max(log.last, at)
    log.execution = log.execution or event.execution
    for name in event.fired:
        log.fired[name] += 1
    if kind == "playbook.execution.requested":
        log.digest = str(payload.get("digest", ""))
        log.playbook = str(payload.get("path") or payload.get("playbook", ""))
    elif kind == "workflow.finished":
        log.ending = str(payload.get("status", "over"))
    elif kind == "playbook.cancelled":
        log.ending = "cancelled"
    elif kind == "playbook.migrated":
        log.digest = str(payload.get("to", ""))
    elif kind == "playbook.rerun":
        _count_rerun(log, payload)
    if step is None:
        return
    if kind == "token.ended":
        _count_faults(log, step, payload, event.fired)
        return
    # A tally is looked up before one is made: there is one for each step and task, and an event for each of many runs.
    if kind not in _WATCHED and task is None and not kind.startswith(("step.", "loop.")):
        return
    whole = log.steps.get(step) or log.steps.setdefault(step, Tally())
    run = f"{event.run}/{event.iteration}"
    _count_waiting(whole, kind, payload, run)
    if task is not None:
        tally = log.tasks.get((step, task)) or log.tasks.setdefault((step, task), Tally())
        _count_waiting(tally, kind, payload, run)
        _count_task(tally, kind, payload, (run, at))
    elif kind not in _WATCHED:
        _count_step(whole, kind, payload, (event.run, at), len(event.iteration))


def _count_rerun(log: LogTally, payload: Mapping[str, Json]) -> None:
    """Leave out the time between what a rerun kept and its own beginning: nothing ran in it."""
    shift = payload.get("shift")
    if isinstance(shift, int):
        for tally in (*log.steps.values(), *log.tasks.values()):
            tally.open = {run: at + shift for run, at in tally.open.items()}


def _count_faults(log: LogTally, step: str, payload: Mapping[str, Json], fired: Iterable[str]) -> None:
    """Count an arc of a step that could not be evaluated: its token ends there, by a transition of its own."""
    if not any(name.startswith("err ") for name in fired):
        return
    whole = log.steps.get(step) or log.steps.setdefault(step, Tally())
    whole.faults += 1
    error = payload.get("error")
    arc = error.get("arc") if isinstance(error, dict) else None
    if isinstance(error, dict) and isinstance(arc, int):
        log.faulty[step, arc] = f"{error.get('code')}: {error.get('message')}"


def _text(each: Envelope, key: str) -> str:
    value = each[key]
    if not isinstance(value, str):
        raise TypeError(f"`{key}` is no text")
    return value


def _count_step(tally: Tally, kind: str, payload: Mapping[str, Json], run: tuple[str, int], depth: int) -> None:
    level = payload.get("level", 0)
    match kind:
        case "step.scheduled" | "step.started":
            tally.begin_run(*run)
        case "step.done":
            tally.done += 1
            tally.end_run(*run)
        case "step.failed":
            tally.failed += 1
            tally.end_run(*run)
        case "step.cancelled":
            tally.cancelled += 1
            tally.end_run(*run)
        case "loop.started" if level == 0:  # levels inside are counted by their tasks
            tally.begin_run(*run)
            count = payload.get("n")
            tally.items += count if isinstance(count, int) else 0
        # A loop at level 0 ends the run of its step, for which no `step.done` follows.
        case "loop.done" if level == 0 and run[0] in tally.open:
            tally.done += 1
            tally.end_run(*run)
        case "loop.iteration.done" if depth == 1:
            tally.items_done += 1
        case "loop.iteration.skipped" if depth == 1:
            tally.items_skipped += 1
        case "loop.iteration.failed" if depth == 1:
            tally.items_failed += 1
        case _:
            pass


_WATCHED = frozenset({"token.waiting", "token.rejected", "token.withdrawn"})
"""Events of a token at the gate of a step."""


def _count_waiting(tally: Tally, kind: str, payload: Mapping[str, Json], run: str) -> None:
    """Count for what a run or iteration of a step waits, and whether a task of it is at work."""
    match kind:
        case "task.started" if "call" in payload:
            tally.busy.discard(run)
            tally.awaited[run] = f"waits for {awaited_by(payload)}"
        case "task.started":
            tally.awaited.pop(run, None)
            tally.busy.add(run)
        case "retry.started":
            tally.busy.discard(run)
            tally.awaited[run] = "waits for its next attempt"
        case "token.waiting":
            locks = payload.get("locks")
            names = f" for the lock {' and '.join(map(str, locks))}" if isinstance(locks, list) and locks else ""
            tally.awaited[run] = f"waits at its gate{names}"
        case "task.done" if "due" in payload:
            tally.busy.discard(run)
            tally.awaited[run] = "waits for the delay of a jump"
        case "step.done" | "step.failed" | "step.cancelled" | "loop.done":
            tally.leave(run.partition("/")[0])
        case "step.started" | "loop.started":
            pass
        case _:
            tally.awaited.pop(run, None)
            tally.busy.discard(run)


def awaited_by(payload: Mapping[str, Json]) -> str:
    """The signals and timers, or the child, that a parked task waits for, by what its `task.started` says."""
    call, timers = payload.get("call"), payload.get("timers")
    call = call if isinstance(call, dict) else {}
    if "path" in call:
        return "its child"
    if "signal" in call:
        return "its signal to be sent"
    events = call.get("events") or []
    names = [events] if isinstance(events, str) else [str(one) for one in events] if isinstance(events, list) else []
    return awaited_text(names, [*timers] if isinstance(timers, dict) else [], call.get("correlation"))


def _count_task(tally: Tally, kind: str, payload: Mapping[str, Json], run: tuple[str, int]) -> None:
    is_error = payload.get("status") == "error"
    error = payload.get("error")
    if is_error and isinstance(error, dict) and len(tally.errors) < MAX_ERRORS:
        tally.errors.append(f"{error.get('code')}: {error.get('message')}")
    match kind:
        case "task.started":
            tally.begin_run(*run)
        case "task.done":
            tally.failed += is_error
            tally.done += not is_error
            tally.end_run(*run)
        case "retry.started":
            # An attempt that will be repeated ends here, so that the waiting before the next one is no time of the
            # task.
            tally.retries += 1
            tally.end_run(*run)
        case _:
            pass
