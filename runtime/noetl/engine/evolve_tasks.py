"""Folding the events of tasks, the patches they make, and timers (LANGUAGE §4)."""

from noetl.engine.contributions import contributed, patched
from noetl.engine.event_data import mapping_of, names_of
from noetl.engine.evolve_loops import (
    call_off,
    end_all,
    keep_row,
    leave_child,
    silence,
    stop_loop,
    take_letter,
    take_signal,
    unpark,
)
from noetl.engine.execution import WHOLE, Execution, Interruption, JsonObject, KeptSignal, Parked, Region, Timer
from noetl.engine.identities import call_name
from noetl.engine.marking import IllegalFiring
from noetl.engine.program import Program
from noetl_ir.correlation import is_listable, key_of
from noetl_ir.events import Event, step_run_of

WAIT = "wait"
"""The kind whose tasks park for signals and timers."""

SIGNAL = "signal"
"""The kind whose tasks park until the server has sent a signal."""


def task_started(program: Program, execution: Execution, event: Event) -> None:
    region = execution.regions[event.run]
    region.begun = True
    region.phase = "run"
    if "call" in event.data:
        # A `wait` and a `playbook` task hold no worker while they wait: what they wait for is state of the execution
        # and survives every process.
        region.phase = "parked"
        _park(program, execution, event)
    region.outcome = None
    if "origin" in event.data:
        region.origins = {**region.origins, event.task: str(event.data["origin"])}
    # Repeats of an attempt, and attempts after the first, are the same task; `status` counts them as retries.
    is_first = event.attempt == 1 and region.lost == 0
    execution.counts["tasks"] += is_first
    execution.made_tasks += is_first and program.plan.tasks[event.task].generated
    key = step_run_of(event.run)
    run = execution.run_of(key)
    # The clock of a step runs from its first task, not from its gate: time in a queue is not the step's.
    if run.timeout is not None and run.deadline is None:
        run.deadline = event.ts + run.timeout
        execution.timers[f"timeout {key}"] = Timer(run.deadline, "timeout", -1, event.ts)
    if program.plan.iteration_limits:
        _start_clocks(execution, event)


def _start_clocks(execution: Execution, event: Event) -> None:
    """The clock of an iteration runs from its first task, as that of a step does, at every level of nesting."""
    key = event.run
    while "/" in key:
        owner = key.rpartition("/")[0]
        loop = execution.loops[owner]
        if loop.timeout is not None and key not in loop.timed:
            loop.timed.add(key)
            execution.timers[f"timeout {key}"] = Timer(event.ts + loop.timeout, "timeout", -1, event.ts)
        key = owner


def _park(program: Program, execution: Execution, event: Event) -> None:
    """A `wait` listens for signals and timers, a `playbook` calls its child; both may have a limit."""
    execution.parked[event.run] = Parked(event.data, event.ts)
    call = mapping_of(event.data["call"])
    due = event.data.get("due")
    if isinstance(due, int):
        execution.timers[f"parked {event.run}"] = Timer(due, "parked", event.task, event.ts)
    if program.plan.tasks[event.task].kind != WAIT:
        execution.calling.append(event.run)
        return
    heard = execution.waits[event.run] = frozenset(names_of(call))
    if (key := call.get("correlation")) is not None and heard and is_listable(key_of(key), heard):
        execution.mail.listed[event.run] = call_name(execution.regions[event.run], event.run)
        execution.calling.append(event.run)
    if call.get("transient") is True:
        execution.transient[event.run] = execution.regions[event.run].came_at
    timers = call.get("timers")
    for name, at in mapping_of(event.data.get("timers") or {}).items():
        # One about a time of day follows the wall clock wherever that is set to; the others are lengths of time.
        by_wall = isinstance(timers, dict) and isinstance(timers.get(name), dict)
        timer = Timer(int(str(at)), "wait", event.task, event.ts, by_wall=by_wall)
        execution.timers[f"wait {event.run} {name}"] = timer


def signal_received(program: Program, execution: Execution, event: Event) -> None:
    """Signals are kept in order until a wait takes them."""
    keep_row(execution, event)
    came = event.data.get("came")
    name, since = str(event.data["name"]), came if isinstance(came, int) else None
    wait, row = str(event.data.get("wait", "")), event.data.get("row")
    addressed = (wait, row) if wait and isinstance(row, int) else ("", 0)
    execution.signals.append(KeptSignal(name, event.data.get("data"), execution.position, since, *addressed))


def signal_returned(program: Program, execution: Execution, event: Event) -> None:
    """The wait that the mailbox addressed a signal to listens no more."""
    take_letter(execution, event.data["row"], is_taken=False)


def signal_missed(program: Program, execution: Execution, event: Event) -> None:
    """Nothing hears the oldest one of its name, and nothing will."""
    take_signal(execution, str(event.data["name"]), -1)


def token_claimed(program: Program, execution: Execution, event: Event) -> None:
    """The oldest wait that listens for it takes a signal; one of the mailbox is named by its row."""
    if "row" in event.data:
        take_letter(execution, event.data["row"], is_taken=True)
    else:
        take_signal(execution, str(event.data["signal"]), execution.transient.get(event.run, -1))
    _give_outcome(execution, event)


def signal_sent(program: Program, execution: Execution, event: Event) -> None:
    """A signal is with its receivers, or has none."""
    _give_outcome(execution, event)


def _give_outcome(execution: Execution, event: Event) -> None:
    """The outcome of a parked task is here; a worker is to ask the rules about it."""
    region = execution.regions[event.run]
    region.pending = mapping_of(event.data["outcome"])
    silence(execution, event.run)
    execution.to_judge.append(event.run)


def task_done(program: Program, execution: Execution, event: Event) -> None:
    region = execution.regions[event.run]
    data = event.data
    task = program.plan.tasks[event.task]
    unpark(execution, event.run)
    region.pending = None
    region.tasks_run += 1
    region.lost = 0
    result = data.get("result")
    outcome = mapping_of(data["outcome"])
    # The result is kept once, in `results`; a second copy in the outcome would double what a large one costs.
    region.outcome = {k: v for k, v in outcome.items() if k != "result"} if "result" in outcome else outcome
    # Tasks that lowering added (`set`, labels) must not become the step's result: the author's last task is.
    if not task.generated or program.gives_result(event.task):
        region.result = result
    if not task.generated:
        region.prev = result
        region.results = {**region.results, task.name: result}
    if data.get("passed_error"):
        execution.counts["passed_errors"] += 1
    _patch(program, region, event)
    directive = data["directive"]
    if directive in ("fail", "fault"):
        region.phase, region.error = "over", mapping_of(data["error"])
    elif directive == "break" or (directive == "continue" and task.following < 0):
        region.phase = "over"
    else:
        target = data["to"] if directive == "jump" else task.following
        _move_to(execution, event, region, int(str(target)))


def _move_to(execution: Execution, event: Event, region: Region, target: int) -> None:
    region.task = target
    region.came_at = execution.position
    # A new mapping: the order on its way to a worker holds the old one.
    region.visits = {**region.visits, target: region.visits.get(target, 0) + 1}
    region.attempt = 1
    due = event.data.get("due")
    if isinstance(due, int):
        region.phase = "due"
        execution.timers[f"wake {event.run}"] = Timer(due, "wake", target, event.ts)
    else:
        region.phase = "at"
        execution.ready.append(event.run)


def retry_started(program: Program, execution: Execution, event: Event) -> None:
    region = execution.regions[event.run]
    unpark(execution, event.run)
    execution.regions[event.run].pending = None
    execution.counts["retries"] += 1
    region.lost = 0
    _patch(program, region, event)
    region.attempt += 1
    region.phase = "due"
    due = event.data["due"]
    execution.timers[f"wake {event.run}"] = Timer(int(str(due)), "wake", event.task, event.ts)


def _patch(program: Program, region: Region, event: Event) -> None:
    patch = event.data.get("iter")
    if isinstance(patch, dict) and patch:
        region.iter = {**region.iter, **patch}
    patch = event.data.get("ctx")
    if isinstance(patch, dict) and patch:
        region.ctx = patched(program, region.ctx, patch)


def ctx_patched(program: Program, execution: Execution, event: Event) -> None:
    patch = mapping_of(event.data["patch"])
    if program.reducers:
        reduced = contributed(program, execution, event.run, patch)
        patch = {key: value for key, value in patch.items() if key not in program.reducers}
        execution.ctx = {**execution.ctx, **reduced}
    # A new mapping, never changed in place: runs hold the `ctx` of the moment that they were scheduled.
    execution.ctx = {**execution.ctx, **patch}
    for key in patch:
        execution.ctx_set[key] = (execution.position, event.run)
    loop_key, index = event.run, -1
    while "/" in loop_key:
        loop_key, _, text = loop_key.rpartition("/")
        index = int(text)
        loop = execution.loops.get(loop_key)
        if loop is not None and loop.parallel:
            for key in patch:
                # The first to write a key in a parallel loop owns it, at every level of nesting.
                loop.owners.setdefault(key, index)
    # Gates that wait ask their admission rule again: only `ctx` can have changed its answer.
    # Who waits for locks alone is asked when they are free.
    rows, steps = program.columns.places.steps, program.plan.steps
    for key, place in execution.waiting.items():
        if rows[place] not in program.locks or steps[rows[place]].waits:
            execution.agenda.append((place, key))


def task_lost(program: Program, execution: Execution, event: Event) -> None:
    region = execution.regions[event.run]
    region.phase = "at"
    # A report under the old claim is refused from here on, even if its worker was only slow.
    region.claim = event.claim + 1
    region.lost += 1
    execution.ready.append(event.run)


def timer_fired(program: Program, execution: Execution, event: Event) -> None:
    name = str(event.data["timer"])
    timer = execution.timers.pop(name, None)
    # A timer's event that comes twice would wake a region that has gone on since.
    if timer is None:
        raise IllegalFiring(f"timer `{name}` is not set")
    if timer.kind == "wake":
        region = execution.regions[event.run]
        region.phase = "at"
        region.came_at = execution.position
        execution.ready.append(event.run)
    elif timer.kind in ("parked", "wait"):
        _give_outcome(execution, event)
        leave_child(execution, event.run)
    elif timer.kind == "timeout":
        _time_out(program, execution, event)
    elif timer.kind == WHOLE:
        end_all(program, execution, event, "failed")


def _time_out(program: Program, execution: Execution, event: Event) -> None:
    if "/" not in event.run:
        execution.run_of(event.run).timed_out = True
    _take_out(program, execution, event, mapping_of(event.data["error"]))


def interrupted(program: Program, execution: Execution, event: Event) -> None:
    """A signal or timer stops a run where it stands."""
    name, data = str(event.data["name"]), event.data
    by_signal = data["by"] == "signal"
    # One signal stops all runs that hear it: the last of them takes it.
    if by_signal and not data.get("also"):
        take_signal(execution, name, execution.runs[event.run].ctx_at)
    execution.interruptions.append(Interruption(event.step, event.run, str(data["by"]), name, event.ts))
    step = program.plan.steps[event.step].name
    message = f"step `{step}` was interrupted by {'signal' if by_signal else 'timer'} `{name}`"
    what: JsonObject = {"name": name, "data": data.get("data")}
    _take_out(program, execution, event, {"code": "interrupted", "message": message, "step": step, "event": what})


def _take_out(program: Program, execution: Execution, event: Event, error: JsonObject) -> None:
    """A run or iteration fails where it stands, with all that is in it."""
    if event.run in execution.loops:
        execution.loops[event.run].cause = error
        stop_loop(program, execution, event.run)
    # The event names each pipeline that is taken out, so the fold needs no search and no choice.
    for firing in event.fired:
        key = str(firing.took)
        region = execution.regions[key]
        call_off(execution, key, region)
        if region.phase == "run":  # stopping its tool is repeated after a crash
            execution.withdrawn.append((key, region.claim))
        region.phase, region.error = "over", error
        execution.timers.pop(f"wake {key}", None)
        unpark(execution, key)
