"""Inputs that reach an execution from outside: worker reports, timers, control requests, and the start itself.

A report is a proposal. It is recorded only if the run or iteration stands where the report says, under the claim
it names, and nothing forbids it to go on; else it is refused, which tells the worker to stop. One that stands where it
should and cannot be recorded, as its form is none or the net has nothing of the kind, would come again with the next
claim, and again: it is the fault of its task.
"""

from collections.abc import Sequence
from contextlib import suppress

from noetl.engine.contributions import fault_in
from noetl.engine.execution import INTERRUPT, WHOLE, Execution, Region
from noetl.engine.interrupting import interrupt_by_timer, taken_out
from noetl.engine.outside import TIMERS, by_timer
from noetl.engine.phases import finish
from noetl.engine.program import Missing
from noetl.engine.proposals import is_well_formed
from noetl.engine.turn import Turn
from noetl.engine.whole import limit_key
from noetl_ir.events import Event, Firing, event_of, firing_of, step_run_of
from noetl_ir.expr import Json
from noetl_ir.outcome import error, ok
from noetl_ir.records import NamedTuple
from noetl_ir.words import MAIN

REFUSED = "report.refused"
"""The code of an attempt whose worker reports what cannot be recorded."""


def accept(turn: Turn, report: Event) -> bool:
    """Record a worker's report; False means refused: stop."""
    execution = turn.execution
    if execution.is_over or execution.cancelled or execution.terminated:
        return False
    region = execution.regions.get(report.run)
    if region is None or not _fits(region, report):
        return False
    if is_well_formed(report):
        # A worker of another version, or a forged report, may name a directive that this plan has no transition for.
        with suppress(Missing):  # the net has nothing that the report says, and none of it was recorded
            return _accepted(turn, region, report)
    _misreported(turn, region, report)
    return False


def _misreported(turn: Turn, region: Region, report: Event) -> None:
    """Have the attempt fail whose worker says what cannot be recorded."""
    plan = turn.program.plan
    event_id = ":".join(map(str, (report.run, report.task, report.visit, report.attempt, report.claim)))
    # The attempt that could not say that it began has to begin first: the net has no way to fail what never started.
    if region.phase == "at":
        start = report._replace(event_id=f"{event_id}:s", event_type="task.started", ts=turn.now, fired=(), data={})
        if not _accept_start(turn, region, start):
            return
    if region.phase not in ("run", "parked"):
        return
    message = (
        f"what its worker reported ({report.event_type}) cannot be recorded: it has not the form of such a report, or "
        "the plan has no place for it; is the worker of another version than the server?"
    )
    error: dict[str, Json] = {"code": REFUSED, "message": message}
    place: dict[str, Json] = {"step": plan.steps[report.step].name, "task": plan.tasks[report.task].name}
    outcome: dict[str, Json] = {"status": "error", "error": error}
    data: dict[str, Json] = {
        "status": "error", "outcome": outcome, "directive": "fault", "rule": -1, "error": {**error, **place},
    }  # fmt: skip
    done = report._replace(event_id=f"{event_id}:d", event_type="task.done", ts=turn.now, fired=(), data=data)
    _accept_end(turn, region, done)


def _accepted(turn: Turn, region: Region, report: Event) -> bool:
    event_type = report.event_type
    if event_type == "task.started":
        return _accept_start(turn, region, report)
    if region.phase not in ("run", "parked"):
        return False
    if region.phase == "run" and turn.program.parks(report.task) and report.data["directive"] != "fault":
        raise Missing("it never parked, as its call was none: that is all that can be said of it")
    if event_type == "retry.started" and _conflict(turn, report) is None:
        # Status is part of the name, since a rule may retry a success too (polling).
        number = turn.program.transition("retry", report.step, report.task, outcome=str(report.data["status"]))
        turn.record(_fired(report, Firing(number, report.run, report.run)))
        _spread_ctx(turn, region, report)
        return True
    _accept_end(turn, region, report)
    return True


def _fits(region: Region, report: Event) -> bool:
    _, _, _, step, _, task, visit, attempt, claim, _, _ = report
    return (
        region.claim == claim
        and region.task == task
        and region.step == step
        and region.attempt == attempt
        and region.visits.get(task, 0) == visit
    )


def _may_go_on(turn: Turn, region: Region, key: str) -> bool:
    """Whether a further attempt may start: no stop, failure or timeout stands against it."""
    execution = turn.execution
    if turn.is_winding_down or execution.run_of(key).timed_out:
        return False
    return not (region.loop and execution.loops[region.loop].stopping)


def _accept_start(turn: Turn, region: Region, report: Event) -> bool:
    if region.phase != "at" or turn.execution.stands_still or not _may_go_on(turn, region, report.run):
        return False
    program = turn.program
    start = firing_of((program.transition("start", report.step, report.task), report.run, report.run))
    if "call" in report.data:
        park = Firing(program.transition("park", report.step, report.task), report.run, report.run)
        turn.record(_fired(report, start, park))
    else:
        turn.record(_fired(report, start))
    return True


def _fired(report: Event, *fired: Firing) -> Event:
    """A report as it is recorded: with the transitions that it fires."""
    return event_of((*report[:9], fired, report[10]))


def _accept_end(turn: Turn, region: Region, report: Event) -> None:
    data = report.data
    # The server checks what no worker can see: what other iterations wrote meanwhile, and how often this run has gone
    # on.
    fault = _conflict(turn, report) or _overrun(turn, region, report)
    if fault is not None:
        plan = turn.program.plan
        place: dict[str, Json] = {"step": plan.steps[report.step].name, "task": plan.tasks[report.task].name}
        data = {key: value for key, value in data.items() if key not in _FOLLOWING}
        data.update(directive="fault", error={**fault, **place})
        report = report._replace(event_type="task.done", data=data)
    number = _transition_of(turn, region, report, data)
    event = _fired(report, firing_of((number, report.run, report.run)))
    turn.record(event)
    _spread_ctx(turn, region, event)


_FOLLOWING = frozenset({"iter", "ctx", "due", "to", "wait"})
"""What a directive leads to, and a fault found by the server does not."""


def _overrun(turn: Turn, region: Region, report: Event) -> dict[str, Json] | None:
    """The fault of a run that wants to go on to a further task and may not."""
    limit = turn.program.plan.limits.max_tasks_per_run
    if region.tasks_run + 1 < limit:
        return None
    directive, following = report.data["directive"], turn.program.plan.tasks[report.task].following
    # The last task may end at the limit: only a further one is over it.
    if directive != "jump" and (directive != "continue" or following < 0):
        return None
    message = f"{region.tasks_run + 1} tasks ran in this run; `limits.max_tasks_per_run` is {limit}"
    return {"code": "jump.budget", "message": message}


def _transition_of(turn: Turn, region: Region, report: Event, data: dict[str, Json]) -> int:
    directive, status = str(data["directive"]), str(data["status"])
    find = turn.program.transition
    if directive == "fault":
        return find(f"fault_{region.phase}", report.step, report.task)
    if directive == "jump":
        role = "jump_later" if "due" in data else "jump"
        return find(role, report.step, report.task, outcome=status, target=int(str(data["to"])))
    return find(directive, report.step, report.task, outcome=status)


def _conflict(turn: Turn, report: Event) -> dict[str, Json] | None:
    """In a parallel loop a ctx key belongs to the iteration that first wrote it (LANGUAGE §4); a reduced one belongs to
    all, and takes what goes with what is there.
    """
    patch, execution, reducers = report.data.get("ctx"), turn.execution, turn.program.reducers
    # Of an iteration that its step has left behind nothing becomes global, and nothing can be in its way.
    if not isinstance(patch, dict) or not patch or step_run_of(report.run) in execution.left:
        return None
    if reducers:
        if unfit := fault_in(turn.program, execution.ctx, patch):
            return unfit
        patch = {key: value for key, value in patch.items() if key not in reducers}
    loop_key = report.run
    while "/" in loop_key:
        loop_key, _, text = loop_key.rpartition("/")
        loop = execution.loops.get(loop_key)
        if loop is None or not loop.parallel:
            continue
        for key, value in patch.items():
            owner = loop.owners.get(key)
            # Equal values are no conflict: which of the two came first cannot be told from the outcome.
            if owner is not None and owner != int(text) and execution.ctx.get(key) != value:
                message = f"iterations {owner} and {text} of a parallel loop write different values to ctx key `{key}`"
                return {"code": "ctx.conflict", "message": message, "key": key, "iterations": [owner, int(text)]}
    return None


def _spread_ctx(turn: Turn, region: Region, event: Event) -> None:
    """The patches of a run become global once their event is in the log."""
    patch = event.data.get("ctx")
    if not isinstance(patch, dict) or not patch or step_run_of(event.run) in turn.execution.left:
        return
    # Not refused, since another branch may have been meant to be overwritten, but said: `status` and the log show a
    # lost update.
    reducers = turn.program.reducers
    newer = [key for key in patch if key not in reducers and _is_newer(turn.execution, region, key, event.run)]
    data: dict[str, Json] = {"patch": patch}
    if newer:
        data["replaced_newer"] = list(newer)
    turn.emit("ctx.patched", step=event.step, run=event.run, data=data)


def _is_newer(execution: Execution, region: Region, key: str, run: str) -> bool:
    written = execution.ctx_set.get(key)
    return written is not None and written[0] > region.ctx_at and written[1] != run


def lose(turn: Turn, key: str) -> None:
    """The claim on a running attempt is lost: the same attempt may be claimed again under the next number."""
    region = turn.execution.regions[key]
    number = turn.program.transition("lost", region.step, region.task)
    visit = region.visits[region.task]
    event_id = f"{key}:{region.task}:{visit}:{region.attempt}:{region.claim}:lost"
    fired = (Firing(number, key, key),)
    turn.record(
        Event(
            event_id, "task.lost", turn.now, region.step, key, region.task, visit, region.attempt, region.claim, fired
        )
    )


def fire_timer(turn: Turn, name: str) -> None:
    """A due timer fires: a region wakes, a delayed token lands, or a run is out of time."""
    program, execution = turn.program, turn.execution
    timer = execution.timers[name]
    key = name.partition(" ")[2]
    data: dict[str, Json] = {"timer": name}
    if timer.kind == "land":
        arc = program.plan.arcs[timer.place]
        number = program.landing(timer.place)
        event = Event(f"{name}", "timer.fired", turn.now, arc.step, key, fired=(Firing(number, key, key),), data=data)
    elif timer.kind in ("parked", "wait"):
        key, _, waited = key.partition(" ")
        region = execution.regions[key]
        event_id = f"{name}:{region.task}:{region.visits[region.task]}:{region.attempt}"
        late = error("timeout", "the task was not done in time")
        # Plans of format 1 gave every timer one name.
        over = ok({"name": waited if program.plan.edition > 1 else "timer.fired", "data": {"timer_id": waited}})
        data["outcome"] = (over if timer.kind == "wait" else late).as_json()
        event = Event(event_id, "timer.fired", turn.now, region.step, key, data=data)
    elif timer.kind == "wake":
        region = execution.regions[key]
        number = program.transition("wake", region.step, region.task)
        event_id = f"{name}:{region.task}:{region.visits[region.task]}:{region.attempt}"
        event = Event(event_id, "timer.fired", turn.now, region.step, key, fired=(Firing(number, key, key),), data=data)
    elif timer.kind in TIMERS:
        key, _, waited = key.partition(" ")
        turn.record(Event(name, "timer.fired", turn.now, execution.loops[key].step, key, data=data))
        by_timer(turn, timer.kind, key, waited)
        return
    elif timer.kind == INTERRUPT:
        key, _, waited = key.partition(" ")
        turn.record(Event(name, "timer.fired", turn.now, execution.runs[key].step, key, data=data))
        interrupt_by_timer(turn, key, waited)
        return
    elif timer.kind == WHOLE:
        is_main = execution.phase == MAIN
        what = "the execution" if is_main else f"phase `{execution.phase}`"
        message = f"{what} was not done within {(timer.due - timer.since) / 1_000_000:g} s"
        data["error"] = {"code": "timeout", "message": message, "key": limit_key("timeout_s" if is_main else "after_s")}
        event = Event(name, "timer.fired", turn.now, data=data)
    else:
        step = execution.run_of(key).step
        row, within = program.plan.steps[step], f"within {(timer.due - timer.since) / 1_000_000:g} s"
        what = f"iteration {key.partition('/')[2]} of step" if "/" in key else "step"
        data["error"] = {"code": "timeout", "message": f"{what} `{row.name}` was not done {within}", "step": row.name}
        event = Event(name, "timer.fired", turn.now, step, key, fired=taken_out(turn, key, "expire"), data=data)
    turn.record(event)


class Incoming(NamedTuple):
    """A signal from outside; `row` is the inbox row that brought it, which `came` at that time (microseconds; now where
    that is not known). One of the mailbox is for the call `wait` alone, and was posted at `since`.
    """

    name: str
    data: Json
    row: int | None = None
    came: int | None = None
    wait: str = ""
    since: int | None = None


def signal(turn: Turn, incoming: Incoming) -> bool:
    """Record a signal. False when the execution is over."""
    if turn.execution.is_over:
        return False
    received: dict[str, Json] = {"name": incoming.name, "data": incoming.data}
    if incoming.row is not None:
        received["row"] = incoming.row
        if incoming.wait:
            received["wait"] = incoming.wait
            if incoming.since is not None:
                received["since"] = incoming.since
    # Only over a pause a signal waits while timers that were due before it do too.
    if turn.execution.stands_still:
        received["came"] = turn.now if incoming.came is None else incoming.came
    turn.emit("signal.received", data=received)
    return True


def sent(turn: Turn, key: str, outcome: dict[str, Json]) -> bool:
    """Record that the signal of a parked task is with its receivers, or has none. False where nobody waits for it."""
    execution = turn.execution
    region = execution.regions.get(key)
    if execution.is_over or region is None or region.phase != "parked" or region.pending is not None:
        return False
    visit = region.visits[region.task]
    event_id = f"{key}:{region.task}:{visit}:{region.attempt}:sent"
    place = region.step, key, region.task, visit, region.attempt, region.claim
    turn.record(Event(event_id, "signal.sent", turn.now, *place, data={"outcome": outcome}))
    return True


def fault(turn: Turn, problem: dict[str, Json]) -> None:
    """A mistake of the engine ends the execution: it is over until it is tried again."""
    turn.emit("playbook.faulted", data={"error": problem})
    finish(turn, {"status": "failed", "error": problem})


def retry_fault(turn: Turn) -> bool:
    """Go on with an execution that a mistake of the engine ended. False for any other, and for one that never began."""
    execution = turn.execution
    # Without a token in a control place it never began, and there is nothing to go on with.
    if execution.fault is None or not execution.marking.control:
        return False
    turn.emit("playbook.retried")
    return True


def begin_rerun(turn: Turn, data: dict[str, Json]) -> bool:
    """Record that a rerun goes on from what it has of another log. False where it has nothing of one. What it has may
    be of a rerun, too, and then it has gone on before.
    """
    execution = turn.execution
    if execution.is_over or not execution.rerun_of:
        return False
    turn.emit("playbook.rerun", data=data)
    return True


def migration(before: str, to: str) -> dict[str, Json]:
    """The data of a migration between the plans with these digests."""
    return {"from": before, "to": to}


def migrate(turn: Turn, data: dict[str, Json], row: int | None) -> None:
    """Record that an execution goes on under another plan, which its log is a run of; `row` asked for it."""
    turn.emit("playbook.migrated", data=data if row is None else {**data, "row": row})


def refuse_migration(turn: Turn, to: str, why: Sequence[str], row: int | None) -> bool:
    """Record that an execution stays with its plan. False where no inbox row asked, or it is over."""
    if row is None or turn.execution.is_over:
        return False
    turn.emit("migration.refused", data={"row": row, "to": to, "why": [*why]})
    return True


def begin_child(turn: Turn, run: str, child: str) -> bool:
    """Record that a task calls a child that may outlive a cancel. False where that is known, or it calls none."""
    region = turn.execution.regions.get(run)
    if run not in turn.execution.parked or run in turn.execution.children or region is None:
        return False
    turn.emit("child.started", step=region.step, run=run, data={"child": child})
    return True


def end_child(turn: Turn, child: str) -> bool:
    """Record that a child which was called off is over. False where nobody waits for it."""
    if child not in turn.execution.leaving:
        return False
    turn.emit("child.ended", data={"child": child})
    return True


def control(turn: Turn, verb: str, row: int | None, *, handed_down: bool = False, newer: str = "") -> bool:
    """Cancel, pause or resume. False when it changes nothing and no inbox row asked; `row` is answered by its event.

    A cancel that is `handed_down` by a caller does nothing to an execution that is past main, nor does one that makes
    room for a `newer` execution.
    """
    execution = turn.execution
    if handed_down and verb == "cancel" and (execution.phase != MAIN or execution.closing):
        return False
    # A row of the inbox is always answered by an event, also one that changes nothing, or it would be read again for
    # ever.
    changes = verb == "cancel" or (verb == "pause") != execution.paused
    if execution.is_over or not (changes or row is not None):
        return False
    event_type = {"cancel": "playbook.cancelled", "pause": "playbook.paused", "resume": "playbook.resumed"}[verb]
    data: dict[str, Json] = {} if row is None else {"row": row}
    turn.emit(event_type, data={**data, "by": newer} if newer else data)
    return True
