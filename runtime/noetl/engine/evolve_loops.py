"""Folding the events of loops: their runs, their iterations, and how both stop (LANGUAGE §5)."""

from noetl.engine.contributions import settle, settle_all
from noetl.engine.event_data import mapping_of
from noetl.engine.evolve_compensation import remember
from noetl.engine.execution import Execution, JsonObject, LoopRun, Region, Run, Timer
from noetl.engine.marking import IllegalFiring
from noetl.engine.program import Program
from noetl.engine.views import errors_of, final_counts, loop_value
from noetl_ir.events import Event
from noetl_ir.expr import Json
from noetl_ir.plan import CANCEL, CLOSE


def loop_created(program: Program, execution: Execution, event: Event) -> None:
    """The loop run must be there before its transition fires: it fixes the weights n and m."""
    data = event.data
    level, slots = data["level"], data["m"]
    items = data["items"]
    if not isinstance(level, int) or not isinstance(slots, int) or not isinstance(items, list):
        raise IllegalFiring("loop.started without its numbers")
    spec = program.plan.steps[event.step].loops[level]
    # An iterator stays visible in inner loops as `iter.parent`, over the border to a child playbook too (LANGUAGE
    # §5).
    outer = execution.regions[event.run].iter if level else execution.iter_parent
    loop = execution.loops[event.run] = LoopRun(
        event.step,
        level,
        items,
        slots,
        outer=outer,
        ctx=execution.ctx,
        ctx_at=execution.position,
        parallel=not spec.sequential,
    )
    timeout = data.get("timeout")
    loop.timeout = timeout if isinstance(timeout, int) else None
    loop.end = program.loop_end(event.step, level)
    loop.signals, loop.since = program.loop_signals(event.step, level), execution.position
    loop.closed = not loop.grows
    if loop.grows:
        loop.items = [*items]  # those of the event stay as they are
    around = execution.loops.get(event.run.rpartition("/")[0]) if level else None
    if around is not None and around.withdrawn:
        # It was next when the loop around it had enough.
        loop.stopping = loop.withdrawn = True


def loop_started(program: Program, execution: Execution, event: Event) -> None:
    loop = execution.loops[event.run]
    for verb, timers in mapping_of(event.data.get("timers") or {}).items():
        for name, due in mapping_of(timers).items():
            full = f"{verb} {event.run} {name}"
            execution.timers[full] = Timer(int(str(due)), verb, -1, event.ts)
            loop.set_timers.append(full)
    if loop.asks:
        _ask_next(program, execution, event.run)


def _ask_next(program: Program, execution: Execution, key: str) -> None:
    """Whether a loop has enough is asked before anything else is decided."""
    loop = execution.loops[key]
    execution.agenda.appendleft((_whole(program, loop), key))


def _whole(program: Program, loop: LoopRun) -> int:
    """The place of the token that stands for a loop run."""
    return _place_of(program, "close" if loop.closed else "shut", loop.step, loop.level)


def item_added(program: Program, execution: Execution, event: Event) -> None:
    """A signal has brought an item, which sees `ctx` as of now."""
    loop, data = execution.loops[event.run], event.data
    if not loop.grows or loop.closed or data["index"] != len(loop.items):
        raise IllegalFiring("an item cannot be added here")
    take_signal(execution, str(data["signal"]), -1)
    loop.added[len(loop.items)] = (execution.ctx, execution.position)
    loop.items.append(data["item"])
    loop.results.append(None)
    loop.open += 1
    if loop.parallel and program.plan.steps[loop.step].loops[loop.level].in_flight < 0:
        loop.slots += 1


def loop_closed(program: Program, execution: Execution, event: Event) -> None:
    """No item comes any more, or the loop ends from outside."""
    loop, data = execution.loops[event.run], event.data
    if data["by"] == "signal":
        take_signal(execution, str(data["name"]), loop.since)
    loop.closed = True
    if data.get("complete"):
        if loop.end is None or loop.satisfied:
            raise IllegalFiring("a loop cannot be completed here")
        _satisfy(program, execution, event.run, loop)
    elif data["by"] in ("signal", "timer"):
        hush(execution, loop, CLOSE)


def take_signal(execution: Execution, name: str, since: int) -> None:
    """The oldest kept signal of a name that came behind a log position, and for no wait alone, is kept no longer."""
    # By position and not by value: two equal signals are two.
    kept = enumerate(execution.signals)
    position = next((number for number, one in kept if one.name == name and one.at > since and not one.wait), -1)
    if position < 0:
        raise IllegalFiring(f"no signal `{name}` is kept")
    del execution.signals[position]


def take_letter(execution: Execution, row: Json, *, is_taken: bool) -> None:
    """The signal that the mailbox addressed by an inbox row is kept no longer: a wait took it, or it goes back."""
    kept = enumerate(execution.signals)
    position = next((number for number, one in kept if one.wait and one.row == row), -1)
    if position < 0 or not isinstance(row, int):
        raise IllegalFiring(f"no signal of the mailbox came by row {row}")
    del execution.signals[position]
    execution.mail.settle(row, is_taken=is_taken)


def hush(execution: Execution, loop: LoopRun, verb: str = "") -> None:
    """A loop waits for its timers no longer, all of them or those of one verb."""
    for name in [name for name in loop.set_timers if name.startswith(verb)]:
        execution.timers.pop(name, None)
        loop.set_timers.remove(name)


def hush_run(execution: Execution, run: Run) -> None:
    """A run that has ended is interrupted by its timers no longer."""
    for name in run.interrupts:
        execution.timers.pop(name, None)


def _satisfy(program: Program, execution: Execution, key: str, loop: LoopRun) -> None:
    """The loop ends well whatever follows: what waits is skipped, what runs gets what its rest says."""
    loop.satisfied = True
    hush(execution, loop)
    if loop.end is not None and loop.end.rest == CANCEL:
        stop_loop(program, execution, key, withdraw=True)
    # What waits is skipped, and then the loop may be over.
    execution.agenda.append((_place_of(program, "begin", loop.step, loop.level), key))
    execution.agenda.append((_whole(program, loop), key))


def loop_enough(program: Program, execution: Execution, event: Event) -> None:
    """A loop has enough, or could not be asked: what waits is skipped."""
    loop = execution.loops[event.run]
    if "error" in event.data:
        loop.cause = loop.cause or mapping_of(event.data["error"])
        stop_loop(program, execution, event.run)
        return
    if loop.end is None or loop.satisfied:
        raise IllegalFiring("a loop cannot have had enough here")
    _satisfy(program, execution, event.run, loop)


def iteration_started(program: Program, execution: Execution, event: Event) -> None:
    loop_key, _, index_text = event.run.rpartition("/")
    loop = execution.loops[loop_key]
    index = int(index_text)
    step = program.plan.steps[event.step]
    spec = step.loops[loop.level]
    iteration: JsonObject = {spec.iterator: loop.items[index], "index": index}
    if loop.outer is not None:
        iteration["parent"] = loop.outer
    innermost = loop.level + 1 == len(step.loops)
    # Iterations in parallel all see the `ctx` of the loop's start, whichever ends first; one by one each sees what
    # those before it set.
    ctx, ctx_at = (loop.ctx, loop.ctx_at) if loop.parallel else (execution.ctx, execution.position)
    if loop.parallel and index in loop.added:
        ctx, ctx_at = loop.added.pop(index)
    task = step.tasks[0] if innermost else -1
    region = Region(event.step, task, ctx, ctx_at, iteration=iteration, loop=loop_key, began=event.ts)
    region.came_at = execution.position
    loop.next_index = index + 1
    loop.running.add(event.run)
    execution.regions[event.run] = region
    if innermost:
        execution.ready.append(event.run)
    # A firing puts only the new token's place on the agenda; the next item is asked for while slots are left.
    if loop.next_index < len(loop.items):
        execution.agenda.append((_place_of(program, "begin", event.step, loop.level), loop_key))


def iteration_over(program: Program, execution: Execution, event: Event) -> None:
    state = event.event_type.rpartition(".")[2]
    # Skipped before it began: there is no region, and the event names the loop run.
    if state == "skipped" and "index" in event.data:
        loop_key, index = event.run, int(str(event.data["index"]))
        loop = execution.loops[loop_key]
        loop.next_index = index + 1
    else:
        loop_key, _, text = event.run.rpartition("/")
        index, loop = int(text), execution.loops[loop_key]
        region = execution.regions.pop(event.run)
        remember(program, execution, event.run, region, {"skipped": "stopped"}.get(state, state))
        # Of an iteration that held an inner loop, which a stop or timeout may have left open.
        within = execution.loops.pop(event.run, None)
        if within is not None:
            hush(execution, within)
        settle(program, execution, event.run)
        loop.running.discard(event.run)
        call_off(execution, event.run, region)
        if region.phase == "run":  # of a loop that has enough: stopping its tool is repeated after a crash
            execution.withdrawn.append((event.run, region.claim))
        for timer in (f"wake {event.run}", f"timeout {event.run}"):
            execution.timers.pop(timer, None)
        loop.timed.discard(event.run)
        unpark(execution, event.run)
        if state == "done":
            loop.results[index] = region.result
        _share(loop, index, region.iter)
    loop.open -= 1
    if not 0 <= index < len(loop.items):
        raise IllegalFiring(f"loop run `{loop_key}` has no iteration {index}")
    loop.ended[{"done": "ok"}.get(state, state)] += 1
    if state == "failed":
        error = mapping_of(event.data["error"])
        loop.errors[index] = error
        if not program.plan.steps[event.step].best_effort and not loop.satisfied:
            # The first failure is the cause. Failures after it may be consequences of the stop.
            loop.cause = loop.cause or error
            stop_loop(program, execution, loop_key)
    if (loop.stopping or loop.satisfied) and loop.next_index < len(loop.items):
        execution.agenda.append((_place_of(program, "begin", event.step, loop.level), loop_key))
    if loop.left and not loop.open:
        del execution.loops[loop_key], execution.left[loop_key]
        execution.timers.pop(f"timeout {loop_key}", None)
    elif loop.asks and not loop.satisfied and state != "skipped":
        _ask_next(program, execution, loop_key)


def loop_done(program: Program, execution: Execution, event: Event) -> None:
    loop = execution.loops[event.run]
    loop.left = bool(loop.open)
    hush(execution, loop)
    if not loop.left:
        del execution.loops[event.run]
    settle(program, execution, event.run)
    if loop.level:
        region = execution.regions[event.run]
        # An inner loop's list is the result of the outer iteration, as if its pipeline had ended with it.
        region.result = loop.results
        region.iter = {**region.iter, **loop.shared}
        return
    run = execution.runs[event.run]
    hush_run(execution, run)
    run.iter, run.ended = loop.shared, event.ts
    run.stats, run.errors = final_counts(loop), errors_of(loop)
    run.result = loop_value(loop, len(program.plan.steps[run.step].loops))
    if loop.left:
        execution.left[event.run] = run
    else:
        execution.timers.pop(f"timeout {event.run}", None)
    keep_result(program, execution, run)


def keep_result(program: Program, execution: Execution, run: Run) -> None:
    """Remember the result of a run that ended well, as far as anything will ask for it: it may be the step's latest
    and the execution's. A plan of format 1 has that of whichever run was the last.
    """
    if program.plan.steps[run.step].kept:
        execution.results[run.step] = run.result
    if run.step == execution.return_step:
        execution.returned = run.result
    # Logs of that format must replay to what they said then.
    line = run.line if program.plan.edition > 1 else execution.line
    line.result = run.result


def stop_loop(program: Program, execution: Execution, loop_key: str, *, withdraw: bool = False) -> None:
    """Nothing new begins in this loop run or in loops inside it: whoever can stop now is put on the agenda, where the
    iterations are to be withdrawn also those whose tools run.
    """
    loop = execution.loops[loop_key]
    if loop.stopping and not withdraw:
        return
    loop.stopping, loop.withdrawn = True, withdraw
    hush(execution, loop)
    if not loop.closed:  # one that is stopped takes no further items
        execution.agenda.append((_whole(program, loop), loop_key))
    phases = ("at", "run", "due", "parked") if withdraw else ("at", "due", "parked")
    net = program.plan.net
    execution.agenda.append((_place_of(program, "begin", loop.step, loop.level), loop_key))
    # A set has no order that another process would have too; sorted, a replay stops them in the same order. Length
    # first, so that 2 comes before 10.
    for key in sorted(loop.running, key=lambda key: (len(key), key)):
        region = execution.regions[key]
        if key in execution.loops:
            stop_loop(program, execution, key, withdraw=withdraw)
        elif region.phase in phases and region.task >= 0:
            stop = program.transition(f"stop_{region.phase}", region.step, region.task)
            execution.agenda.append((net.transitions[stop].inputs[0].place, key))


def call_off(execution: Execution, key: str, region: Region) -> None:
    # Only in these a worker or a child holds the claim. In the others nobody is to be told.
    if region.phase in ("run", "parked"):
        execution.stopped.append((key, region.claim))
    leave_child(execution, key)


def leave_child(execution: Execution, key: str) -> None:
    """A child that a task called is not waited for by it any more; it may have phases to go through."""
    child = execution.children.pop(key, None)
    if child is not None:
        execution.leaving[child] = key


def call_off_all(execution: Execution) -> None:
    """Whatever tasks run or wait for is not wanted any more."""
    for key, region in execution.regions.items():
        call_off(execution, key, region)


def end_all(program: Program, execution: Execution, event: Event, status: str) -> None:
    """The execution ends with a status, whatever is on its way: tools and children are stopped as by a cancel."""
    call_off_all(execution)
    settle_all(program, execution)
    execution.terminated = status
    if execution.failure is None and "error" in event.data:
        execution.failure = mapping_of(event.data["error"])


def unpark(execution: Execution, key: str) -> None:
    """A parked task is parked no longer."""
    if key in execution.parked:
        silence(execution, key)
        del execution.parked[key]
        execution.children.pop(key, None)


def silence(execution: Execution, key: str) -> None:
    """A parked task listens to nothing any more."""
    execution.waits.pop(key, None)
    execution.transient.pop(key, None)
    execution.mail.unlist(key)
    execution.timers.pop(f"parked {key}", None)
    timers = execution.parked[key].data.get("timers")
    for name in timers if isinstance(timers, dict) else ():
        execution.timers.pop(f"wait {key} {name}", None)


def keep_row(execution: Execution, event: Event) -> None:
    """The inbox is read up to the row that this event answers."""
    row = event.data.get("row")
    if isinstance(row, int):
        execution.inbox_row = max(execution.inbox_row, row)


def _share(loop: LoopRun, index: int, iteration: JsonObject) -> None:
    for key, value in iteration.items():
        # `__` keys are the compiler's own (loop results of older forms). Parallel iterations may set one in any
        # order; the lowest index wins, so the outcome does not depend on timing.
        if key.startswith("__") and loop.shared_from.get(key, index) >= index:
            loop.shared_from[key] = index
            loop.shared = {**loop.shared, key: value}


def _place_of(program: Program, role: str, step: int, level: int) -> int:
    transition = program.plan.net.transitions[program.transition(role, step, level=level)]
    return transition.inputs[0].place
