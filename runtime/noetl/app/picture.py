"""The activity of an execution now, read off its state: what `status` prints, a terminal shows and the API answers.

Everything is a row: a place in the playbook and what goes on there. Rows of loops count, so that there is one for a
loop and none for each of its iterations; retries and delays have the time at which they are over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from noetl.app.runtime import Runtime
from noetl.engine.execution import INTERRUPT, Execution, Region, Run
from noetl.engine.interrupting import is_in_progress
from noetl.engine.program import Program
from noetl.engine.sections import holder_of, lock_text, steps_in
from noetl.ports import StoreFailure
from noetl.server.children import root_of
from noetl.server.places import holders_of, key_in_store, waiting_before
from noetl.server.waiting_orders import waiting
from noetl_ir.correlation import awaited_text, key_of
from noetl_ir.events import Firing, index_of, iso_of, step_run_of
from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple


class Activity(NamedTuple):
    """One thing that goes on. `what` is one of the words in `status --json`; `due` in microseconds since the epoch.

    `text` says it in words, `data` in numbers. Place and text may hold what the playbook named, as it is.
    """

    what: str
    place: str
    text: str
    due: int | None
    data: dict[str, Json]

    def as_json(self) -> dict[str, Json]:
        """The activity in numbers; the time as RFC 3339."""
        due: dict[str, Json] = {"due": iso_of(self.due)} if self.due is not None else {}
        return {"what": self.what, **self.data, **due}


Why = Callable[[str], str]
"""Why no worker begins anything of a pool now; empty where nothing is known to be in the way."""


def not_known(pool: str) -> str:
    """A `Why` for whoever sees no workers."""
    return ""


def place_of(program: Program, step: int, run: str = "", task: int = -1) -> str:
    """Where something happens: the step, its iteration and its task, as in `fetch[3][0] / page`.

    A task that the compiler made is not named: nobody wrote it, and what it does is its step's business.
    """
    plan = program.plan
    # The number may come from a log that was altered, and a picture is what people look at to find that out.
    text = plan.steps[step].name if 0 <= step < len(plan.steps) else "?"
    text += "".join(f"[{index}]" for index in index_of(run))
    if 0 <= task < len(plan.tasks) and not plan.tasks[task].generated:
        text += f" / {plan.tasks[task].name}"
    return text


def log_place_of(program: Program, step: int, run: str, task: int) -> str:
    """The place of an event in a log, which names every task, also those that the compiler made."""
    place = place_of(program, step, run)
    return f"{place} / {program.plan.tasks[task].name}" if 0 <= task < len(program.plan.tasks) else place


class Queue(NamedTuple):
    """The executions that one which asks for a place waits for: the holders of places under its key, and those that
    asked `before` it. `undriven` are those of the latter that no process drives: they hold up the queue until one does.
    """

    holders: tuple[str, ...]
    before: tuple[str, ...] = ()
    undriven: frozenset[str] = frozenset()


def queue_now(runtime: Runtime, execution: Execution) -> Queue | None:
    """The queue that an execution stands in; None where it asks for no place, or the store does not tell."""
    if execution.place.asked is None:
        return None
    key = key_in_store(execution, str(execution.place.asked["key"]))
    try:
        rows, row_of = runtime.store.places(), runtime.store.execution
        before = tuple(row.execution_id for row in waiting_before(rows, key, execution.execution_id))
        # A row may have gone since the places were read: what is looked at moves on.
        known = [row for row in map(row_of, before) if row is not None]
        undriven = [row.execution_id for row in known if not runtime.store.is_owned(root_of(runtime.store, row))]
        return Queue(holders_of(rows, key), before, frozenset(undriven))
    except StoreFailure:  # that of a server, which answers for itself
        return None


def _queue(execution: Execution, queue: Queue | None) -> Iterator[Activity]:
    if execution.place.asked is not None:
        known = queue or Queue(tuple(execution.place.queued_behind or ()))
        key = str(execution.place.asked["key"])
        text = f"waits for a place under `{key}`"
        if known.holders:
            text += f", held by {', '.join(known.holders)}"
        if known.before:
            marked = [f"{each} (no process drives it)" if each in known.undriven else each for each in known.before]
            text += f", behind {', '.join(marked)}"
        data: dict[str, Json] = {"key": key, "holders": [*known.holders], "before": [*known.before]}
        yield Activity("place", "concurrency", text, None, data)


def rows_of(
    program: Program,
    execution: Execution,
    *,
    driven: bool = True,
    why: Why = not_known,
    queue: Queue | None = None,
) -> Iterator[Activity]:
    """The activity in words, in the order of the playbook's life: steps, each with what may interrupt it, retries and
    delays, gates, joins; then the signals that are kept.

    `driven` says that a process drives the execution: without one nothing is at work, whatever the log says. `queue` is
    the queue for a place by the store, which is newer than what the log says of it.
    """
    # Marking and timers of what is over stay as they were, and none of it goes on.
    if execution.is_over:
        return
    yield from _queue(execution, queue)
    # Why no worker begins something is only of interest where somebody drives: else that is the reason.
    for_worker = {step_run_of(key) for key in waiting(execution)} if driven else set()
    for key, run in (*execution.runs.items(), *execution.left.items()):
        if run.ended == 0 or key in execution.left:
            row = _step(program, execution, key, run, "at work" if driven else "begun")
            yield _hindered(program, row, run.step, why) if key in for_worker else row
            yield from _interrupts(program, execution, key, run)
    for key, region in execution.regions.items():
        yield from _task(program, execution, key, region)
    yield from _delays(program, execution)
    for key, place in execution.waiting.items():
        yield _gate(program, execution, key, program.plan.net.places[place].step)
    yield from _joins(program, execution)
    for name, count in Counter(signal.name for signal in execution.signals).items():
        times = f", {count} times" if count > 1 else ""
        kept: dict[str, Json] = {"signal": name, "count": count}
        yield Activity("signal", f"signal {name}", f"kept: nothing has taken it yet{times}", None, kept)


def _gate(program: Program, execution: Execution, key: str, step: int) -> Activity:
    data: dict[str, Json] = {"step": _name(program, step), "token": key}
    text = "a token waits at the gate"
    taken = [name for name in sorted(program.locks.get(step, ())) if holder_of(program, execution, name) is not None]
    if taken:
        text += f" for the lock {' and '.join(lock_text(program, execution, name) for name in taken)}"
        data["locks"] = [_lock(program, execution, name) for name in taken]
    return Activity("gate", place_of(program, step), text, None, data)


def _lock(program: Program, execution: Execution, name: str) -> dict[str, Json]:
    """Who holds a lock: the step and run that took it, and where what is left of that is."""
    holder = holder_of(program, execution, name)
    at: list[Json] = [_name(program, step) for step in steps_in(program, execution, name)]
    found: dict[str, Json] = {"name": name}
    if holder is not None:
        found.update(step=_name(program, holder.step), run=holder.run, at=at or [_name(program, holder.step)])
    return found


def _name(program: Program, step: int) -> str:
    return program.plan.steps[step].name


def _hindered(program: Program, row: Activity, step: int, why: Why) -> Activity:
    """A row with the reason why what is to run there is not begun, where one is known."""
    pool = program.plan.steps[step].pool
    if not (reason := why(pool)):
        return row
    return row._replace(text=f"{row.text}; {reason}", data={**row.data, "pool": pool, "reason": reason})


def _step(program: Program, execution: Execution, key: str, run: Run, begun: str) -> Activity:
    data: dict[str, Json] = {"step": _name(program, run.step), "step_run_id": key}
    place = place_of(program, run.step)
    loop = execution.loops.get(key)
    if loop is not None:
        done, total, failed = len(loop.items) - loop.open, len(loop.items), len(loop.errors)
        running, to_run = _iterations(execution, key)
        waits = len(loop.running) - running - to_run
        data["iterations"] = {
            "done": done, "total": total, "failed": failed, "running": running, "to_run": to_run, "waiting": waits
        }  # fmt: skip
        counted = ((running, begun), (to_run, "to run"), (waits, "waiting"), (failed, "failed"))
        parts = [f"{done} of {total}", *(f"{count} {words}" for count, words in counted if count)]
        last = ["left behind"] if loop.left else ["stopping"] * loop.stopping
        last += ["open for more"] * (not loop.closed)
        return Activity("step", place, ", ".join([*parts, *last]), None, data)
    if key in execution.regions and execution.regions[key].phase in ("at", "run"):
        region = execution.regions[key]
        task = program.plan.tasks[region.task]
        data.update(attempt=region.attempt, phase=region.phase)
        if not task.generated:  # what stands for sugar nobody wrote
            data["task"] = task.name
            words = "to run" if region.phase == "at" else "running" if begun == "at work" else "was running"
            return Activity("step", place, ", ".join([f"{words} {task.name}", *_counts(region)]), None, data)
    return Activity("step", place, "started", None, data)


def _interrupts(program: Program, execution: Execution, key: str, run: Run) -> Iterator[Activity]:
    """The signals and timers that would interrupt a run now."""
    armed = program.interrupts.get(run.step)
    if armed is None or not is_in_progress(execution, key):
        return
    lead = f"{INTERRUPT} {key} "
    due = {name.removeprefix(lead): execution.timers[name].due for name in run.interrupts if name in execution.timers}
    by = [f"signal {', '.join(armed.events)}"] if armed.events else []
    by += [f"timer {', '.join(due)}"] if due else []
    if by:
        data: dict[str, Json] = {"step": _name(program, run.step), "step_run_id": key, "signals": [*armed.events]}
        data["timers"] = {name: iso_of(at) for name, at in due.items()}
        text = f"may be interrupted by {' or '.join(by)}"
        yield Activity("interrupt", place_of(program, run.step), text, min(due.values(), default=None), data)


def interruptions_of(program: Program, execution: Execution) -> list[dict[str, Json]]:
    """The last runs that were interrupted, the oldest first; times as RFC 3339."""
    return [
        {
            "step": place_of(program, each.step),
            "step_run_id": each.run,
            "by": each.by,
            "name": each.name,
            "at": iso_of(each.at),
        }
        for each in execution.interruptions
    ]


def _iterations(execution: Execution, loop: str) -> tuple[int, int]:
    """How many iterations of a loop have a task that runs, and how many others one that a worker is to run.

    All others wait for something else, which has a row of its own.
    """
    phases: dict[str, set[str]] = {}
    for key, region in execution.regions.items():
        run, _, path = key.partition("/")
        if run == loop and region.task >= 0:
            # Of loops inside of a loop only the outer iterations count: there is a row a loop, and inner ones stand in
            # theirs.
            phases.setdefault(path.partition("/")[0], set()).add(region.phase)
    running = sum("run" in found for found in phases.values())
    return running, sum("at" in found and "run" not in found for found in phases.values())


def _task(program: Program, execution: Execution, key: str, region: Region) -> Iterator[Activity]:
    """A task that waits: for its next attempt, after a jump with a delay, or parked for a child or signal."""
    if region.task < 0 or region.phase not in ("due", "parked"):
        return
    if region.phase == "parked" and key not in execution.parked:
        return  # called off: it waits for nothing any more, and others are waited for
    data: dict[str, Json] = {
        "step": _name(program, region.step),
        "step_run_id": step_run_of(key),
        "iteration": list(index_of(key)),
        "attempt": region.attempt,
    }
    if not program.plan.tasks[region.task].generated:
        data["task"] = program.plan.tasks[region.task].name
    place = place_of(program, region.step, key, region.task)
    timer = execution.timers.get(f"wake {key}")
    if region.phase == "parked":
        kind = program.plan.tasks[region.task].kind
        data["kind"] = kind
        names = sorted(execution.waits.get(key, ()))
        timers = execution.parked[key].data.get("timers")
        due = [at for at in timers.values() if isinstance(at, int)] if isinstance(timers, dict) else []
        named = [*timers] if isinstance(timers, dict) else []
        data["signals"] = list(names)
        call = execution.parked[key].data.get("call")
        under = key_of(call.get("correlation")) if key in execution.mail.listed and isinstance(call, dict) else ""
        if under:
            data["correlation"] = under
        if region.pending is not None:
            yield Activity("wait", place, "what it waited for has come; a worker is to take it up", None, data)
            return
        yield Activity("wait", place, _awaited(kind, names, named, under), min(due, default=None), data)
    elif region.attempt > 1:
        yield Activity("retry", place, ", ".join(_counts(region)), timer.due if timer else None, data)
    else:
        yield Activity("delay", place, ", ".join(_counts(region)) or "goes on", timer.due if timer else None, data)


def _counts(region: Region) -> list[str]:
    """Which round a task is in, where it came again, and which attempt, where one failed."""
    visit = region.visits.get(region.task, 1)
    counted = (("round", visit), ("attempt", region.attempt))
    return [f"{word} {count}" for word, count in counted if count > 1]


_OTHERS = {"playbook": "its child", "signal": "its signal to be sent"}
"""What parked tasks of other kinds than `wait` wait for."""


def _awaited(kind: str, names: list[str], timers: list[str], under: str) -> str:
    """The events and times that a parked task waits for, in words."""
    return f"waits for {_OTHERS.get(kind) or awaited_text(names, timers, under)}"


def _delays(program: Program, execution: Execution) -> Iterator[Activity]:
    for name, timer in execution.timers.items():
        if timer.kind == "land":
            step = program.plan.arcs[timer.place].target
            data: dict[str, Json] = {"step": _name(program, step), "token": name.partition(" ")[2]}
            yield Activity("delay", place_of(program, step), "a token arrives", timer.due, data)


def _joins(program: Program, execution: Execution) -> Iterator[Activity]:
    """Tokens at a join that waits for others."""
    for number, tokens in execution.marking.tokens.items():
        place = program.plan.net.places[number]
        settles = place.role == "held" and program.plan.steps[place.step].join.mode == "settled"
        if not (place.role == "in" or settles) or place.step < 0 or not tokens:
            continue
        source = place.id.removeprefix(f"{place.role} {_name(program, place.step)} ")
        data: dict[str, Json] = {"step": _name(program, place.step), "source": source, "tokens": len(tokens)}
        waits = "for what can still come" if settles else "for the others"
        text = f"the join has {len(tokens)} from {source} and waits {waits}"
        yield Activity("join", place_of(program, place.step), text, None, data)


def marking_counts(program: Program, execution: Execution, fired: Iterable[Firing]) -> dict[str, Json]:
    """How many tokens lie in the places that firings touched, by their ids; None for none."""
    net, tokens = program.plan.net, execution.marking.tokens
    found: dict[str, Json] = {}
    for firing in fired:
        transition = net.transitions[firing.transition]
        for arc in (*transition.inputs, *transition.outputs):
            # None takes a place away from what a reader has: a marking names those with tokens alone.
            found[net.places[arc.place].id] = sum(tokens.get(arc.place, {}).values()) or None
    return found
