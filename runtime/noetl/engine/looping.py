"""Pipelines and loops between a step's start and its end (NET.md, PIPELINE, NO LOOP, LOOP)."""

from noetl.engine.enough import Sufficiency, asked, not_enough
from noetl.engine.execution import LoopRun
from noetl.engine.locking import give
from noetl.engine.outside import due_timers, end_intake
from noetl.engine.scope import items_scope
from noetl.engine.time_limits import time_limit
from noetl.engine.turn import Turn
from noetl.engine.views import counts_of, errors_of, final_counts
from noetl_ir.evaluate import Fault, Scope
from noetl_ir.evaluate.access import rows_of
from noetl_ir.events import Firing, firing_of
from noetl_ir.expr import Json
from noetl_ir.plan import MORE, SWALLOW


def begin_loop(turn: Turn, place: int, key: str) -> None:
    """A run is ready, or an iteration of an outer loop: start its pipeline, or expand its loop."""
    if turn.is_winding_down:
        return
    places = turn.columns.places
    step = places.steps[place]
    # One transition, one event. A step with loops starts first and then expands, since its items may be large or
    # wrong.
    if not turn.program.plan.steps[step].loops:
        number = turn.program.transition("begin", step)
        turn.emit("step.started", step=step, run=key, fired=(firing_of((number, key, key)),))
        return
    level = max(places.levels[place], 0)
    if level == 0:
        turn.emit("step.started", step=step, run=key)
    _expand(turn, step, level, key)


def _expand(turn: Turn, step: int, level: int, key: str) -> None:
    try:
        items, slots = _evaluate(turn, step, level, key)
        limit, timers = _limit(turn, step, level, key), due_timers(turn, step, level, key)
    except Fault as fault:
        error: dict[str, Json] = {
            "code": fault.code,
            "message": fault.message,
            "step": turn.program.plan.steps[step].name,
            **fault.place(),
        }
        failing = Firing(turn.program.transition("expand_fault", step, level=level), key, key)
        if level:
            # Items of an inner loop that cannot be evaluated fail the outer iteration, not the step: `best_effort`
            # may go on with the others.
            bad = Firing(turn.program.transition("bad", step, level=level - 1), key, key.rpartition("/")[0])
            _iteration_ends(turn, "loop.iteration.failed", step, key, (failing, bad), {"error": error})
        else:
            turn.emit("step.failed", step=step, run=key, fired=(failing,), data={"error": error})
        return
    data: dict[str, Json] = {"n": len(items), "m": slots, "level": level, "items": items}
    if limit is not None:
        data["timeout"] = limit
    if timers:
        data["timers"] = timers
    if items or MORE in turn.program.loop_signals(step, level):
        expand = Firing(turn.program.transition("expand", step, level=level), key, key)
        turn.emit("loop.started", step=step, run=key, fired=(expand,), data=data)
        return
    # No transition fires: an empty loop has no item to expand. The event stands all the same, so that every loop in a
    # log begins and ends.
    turn.emit("loop.started", step=step, run=key, data=data)
    if turn.execution.loops[key].asks and not _has_enough(turn, key):
        _empty_fails(turn, step, level, key)
        return
    empty = Firing(turn.program.transition("empty", step, level=level), key, key)
    counts: dict[str, Json] = {"total": 0, "ok": 0, "failed": 0, "skipped": 0}
    turn.emit("loop.done", step=step, run=key, fired=(empty,), data={"stats": counts, "level": level})


def _has_enough(turn: Turn, key: str) -> bool:
    """Ask a loop whether it has enough, and record that it has, or why it cannot be asked."""
    loop = turn.execution.loops[key]
    found = asked(turn, loop, key)
    if found is Sufficiency.NO:
        return False
    data: dict[str, Json] = {"stats": counts_of(loop), "level": loop.level}
    if not isinstance(found, Sufficiency):
        data["error"] = found
    turn.emit("loop.enough", step=loop.step, run=key, data=data)
    return found is Sufficiency.YES


def _empty_fails(turn: Turn, step: int, level: int, key: str) -> None:
    """A loop of no items does not have enough: it fails as one does whose iterations are over."""
    loop = turn.execution.loops[key]
    data: dict[str, Json] = {"stats": counts_of(loop), "level": level, "error": _failure_of(turn, loop)}
    failing = Firing(turn.program.transition("empty_failed", step, level=level), key, key)
    _fails(turn, loop, key, failing, data)


def _fails(turn: Turn, loop: LoopRun, key: str, failing: Firing, data: dict[str, Json]) -> None:
    """The step fails, or the iteration around an inner loop, which one that was stopped leaves as if skipped."""
    step, level = loop.step, loop.level
    if level == 0:
        turn.emit("step.failed", step=step, run=key, fired=(failing,), data=data)
        return
    bad = Firing(turn.program.transition("bad", step, level=level - 1), key, key.rpartition("/")[0])
    stopped = loop.cause is None and loop.stopping
    event_type = "loop.iteration.skipped" if stopped else "loop.iteration.failed"
    _iteration_ends(turn, event_type, step, key, (failing, bad), data)


def _iteration_ends(
    turn: Turn, event_type: str, step: int, key: str, fired: tuple[Firing, ...], data: dict[str, Json]
) -> None:
    """An iteration is over; the last one of a loop that its step has left behind ends that loop too."""
    owner = key.rpartition("/")[0]
    loop = turn.execution.loops[owner]
    if loop.left and loop.open == 1:
        fired = (*fired, Firing(turn.program.transition("rested", step, level=loop.level), owner, owner))
    turn.emit(event_type, step=step, run=key, fired=fired, data=data)
    give(turn, owner)


def _evaluate(turn: Turn, step: int, level: int, key: str) -> tuple[list[Json], int]:
    """The frozen items and the number of slots; a mapping gives `{key, value}` items (LANGUAGE §5), a SQL result its
    rows (§7).
    """
    row = turn.program.plan.steps[step]
    loop = row.loops[level]
    scope = items_scope(turn, step, level, key)
    value = rows_of(_value(turn, loop.items, scope, level, "in"))
    text = turn.program.text(loop.items)
    if isinstance(value, dict):
        items: list[Json] = [{"key": name, "value": item} for name, item in value.items()]
    elif isinstance(value, list):
        items = value
    else:
        found = "null" if value is None else {"str": "text"}.get(type(value).__name__, "a number")
        why = f"`loop.in` of step `{row.name}` must be a list or a mapping; `{text}` is {found}"
        raise Fault("loop.in", why).under(*_keys(level, "in"))
    grows = MORE in turn.program.loop_signals(step, level)
    if loop.sequential:
        return items, 1
    if loop.in_flight < 0:
        return items, len(items) if grows else max(len(items), 1)
    limit = _value(turn, loop.in_flight, scope, level, "spec", "max_in_flight")
    # `True` is an int in Python and no number in a playbook.
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        raise Fault(
            "loop.max_in_flight",
            f"`max_in_flight` of step `{row.name}` must be a whole number of 1 or more, not {limit!r}",
        ).under(*_keys(level, "spec", "max_in_flight"))
    # More slots than items would only be tokens that never move; the analysis bounds slots by the same minimum.
    return items, limit if grows else max(1, min(limit, len(items)))


def _value(turn: Turn, index: int, scope: Scope, level: int, *keys: str) -> Json:
    """The value of a template that stands under these keys of a loop level. Raises Fault."""
    try:
        return turn.program.value(index)(scope)
    except Fault as fault:
        fault.under(*_keys(level, *keys))
        raise


def _keys(level: int, *keys: str) -> tuple[str, ...]:
    """The keys in the step of what stands under these in a loop level: the inner one stands in the outer."""
    return (*["loop"] * (level + 1), *keys)


def _limit(turn: Turn, step: int, level: int, key: str) -> int | None:
    """How long an iteration may take, in microseconds; None where nothing bounds it. Raises Fault."""
    plan = turn.program.plan
    index = next((limit.timeout for limit in plan.iteration_limits if limit[:2] == (step, level)), -1)
    if index < 0:
        return None
    what = f"`loop.spec.policy.lifecycle.timeout_s` of step `{plan.steps[step].name}`"
    return time_limit(turn.program, index, items_scope(turn, step, level, key), code="loop.timeout", what=what)


def begin_iteration(turn: Turn, place: int, key: str) -> None:
    """Items wait: begin the next while a slot is free, or skip all that is left once the loop stops."""
    program, execution = turn.program, turn.execution
    loop = execution.loops.get(key)
    # The agenda may name a loop that has ended, or run out of items, since the entry was written.
    if loop is None or not execution.marking.count(place, key):
        return
    step, level = loop.step, loop.level
    # One event each: the log says of every item what became of it, and the counts of a loop add up to its items.
    if loop.stopping or loop.satisfied:
        skip = Firing(program.transition("skip", step, level=level), key, key)
        turn.emit("loop.iteration.skipped", step=step, run=key, fired=(skip,), data={"index": loop.next_index})
        return
    number = program.transition("begin", step, level=level)
    slot = next(other for other in program.columns.sources(number) if other != place)
    if turn.is_winding_down or not execution.marking.count(slot, key):
        return
    child = f"{key}/{loop.next_index}"
    turn.emit("loop.iteration.started", step=step, run=child, fired=(Firing(number, key, child),))


def free_slot(turn: Turn, place: int, key: str) -> None:
    """A slot is free: the next item may begin."""
    program = turn.program
    step, level = program.columns.places.steps[place], program.columns.places.levels[place]
    begin = program.transition("begin", step, level=level)
    todo = next(other for other in program.columns.sources(begin) if other != place)
    begin_iteration(turn, todo, key)


def stop_where_it_stands(turn: Turn, place: int, key: str) -> None:
    """A pipeline between attempts, in a delay or parked: it stops at once if its loop is stopping."""
    region = turn.execution.regions.get(key)
    if region is None or not region.loop or not turn.execution.marking.count(place, key):
        return
    loop = turn.execution.loops[region.loop]
    # A tool that runs is stopped only where its loop has enough and cancels the rest.
    if not loop.stopping or (region.phase == "run" and not loop.withdrawn):
        return
    places = turn.columns.places
    step = places.steps[place]
    stop = turn.program.transition(f"stop_{places.roles[place]}", step, places.tasks[place])
    _iteration_ends(turn, "loop.iteration.skipped", step, key, (Firing(stop, key, region.loop),), {})


def end_pipeline(turn: Turn, place: int, key: str) -> None:
    """A pipeline is over: the run is done or failed, or the iteration is."""
    program = turn.program
    places = turn.columns.places
    step = places.steps[place]
    region = turn.execution.regions[key]
    good = places.roles[place] == "out"
    levels = len(program.plan.steps[step].loops)
    level = levels - 1 if levels else -1
    number = program.transition("out" if good else "bad", step, level=level)
    firing = firing_of((number, key, region.loop or key))
    data: dict[str, Json] = {} if good else {"error": region.error}
    if levels:
        event_type = "loop.iteration.done" if good else "loop.iteration.failed"
        _iteration_ends(turn, event_type, step, key, (firing,), data)
    else:
        turn.emit("step.done" if good else "step.failed", step=step, run=key, fired=(firing,), data=data)


def end_inner_loop(turn: Turn, place: int, key: str) -> None:
    """The loop inside an iteration is over: so is the iteration."""
    places = turn.columns.places
    step, region = places.steps[place], turn.execution.regions[key]
    number = turn.program.transition("out", step, level=places.levels[place] - 1)
    _iteration_ends(turn, "loop.iteration.done", step, key, (Firing(number, key, region.loop),), {})


def attend_loop(turn: Turn, place: int, key: str) -> None:
    """A loop has begun, an iteration of it is over, or no item comes any more: it may have enough, or be over."""
    loop = turn.execution.loops.get(key)
    if loop is None or loop.left:
        return
    if loop.asks and not loop.satisfied and not loop.stopping and _has_enough(turn, key):
        return
    if not loop.closed and (loop.satisfied or loop.stopping):
        end_intake(turn, key, {"by": "enough" if loop.satisfied else "stopped"})
        return
    close(turn, place, key)


def close(turn: Turn, place: int, key: str) -> None:
    """An iteration is over: when all are, so is the loop run."""
    loop = turn.execution.loops.get(key)
    if loop is None or loop.left or not loop.closed or (loop.open and not _may_leave(loop)):
        return
    program, step, level = turn.program, loop.step, loop.level
    data: dict[str, Json] = {"stats": final_counts(loop), "level": level}
    # An inner loop that was told to stop when its last iteration was done already has all its results: its outer
    # iteration ends well.
    complete = loop.level > 0 and loop.cause is None and loop.ended["ok"] == len(loop.items)
    # Once it has had enough it ends well, whatever followed.
    if loop.satisfied or (not loop.asks and (not loop.stopping or complete)):
        if loop.errors:
            data["errors"] = errors_of(loop)
        firing = Firing(program.transition("leave" if loop.open else "close", step, level=level), key, key)
        turn.emit("loop.done", step=step, run=key, fired=(firing,), data=data)
        return
    firing = Firing(program.transition("close_failed", step, level=level), key, key)
    data["error"] = _failure_of(turn, loop)
    _fails(turn, loop, key, firing, data)


def _may_leave(loop: LoopRun) -> bool:
    """Whether the step may go on without the iterations that still run: no item waits any more."""
    return loop.satisfied and loop.end is not None and loop.end.rest == SWALLOW and loop.next_index == len(loop.items)


def _failure_of(turn: Turn, loop: LoopRun) -> dict[str, Json]:
    """The first failure, with all errors by index (LANGUAGE §5)."""
    if loop.cause is None and not loop.stopping:
        error = not_enough(turn, loop)
    else:
        error = dict(loop.cause or {"code": "loop.stopped", "message": "the loop was stopped"})
    error.setdefault("step", turn.program.plan.steps[loop.step].name)
    if loop.errors:
        error["errors"] = errors_of(loop)
    return error
