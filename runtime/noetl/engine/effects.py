"""effects: the orders that follow from the last turn, and after a restart those that follow from the log.

Orders follow from the state, so a repeat is harmless: a worker's report is accepted once, and the ids of a child are
fixed. Within a process an order may be given before its events are on disk; the journal holds back whatever would let
an effect begin (`noetl.server.journal`).
"""

from noetl.engine.evolve_tasks import SIGNAL, WAIT
from noetl.engine.execution import Execution, Region
from noetl.engine.identities import call_name
from noetl.engine.program import Program
from noetl_ir.correlation import key_of
from noetl_ir.events import action_id_of
from noetl_ir.expr import Json
from noetl_ir.orders import AwaitLetter, Order, RunPipeline, SendSignal, SettleMail, StartChild, StopPipeline


def effects(program: Program, execution: Execution) -> list[Order]:
    """The orders that the last turn left; empties the lists that it kept for that."""
    orders: list[Order] = []
    if execution.stopped:
        orders += [StopPipeline(execution.execution_id, key, claim) for key, claim in execution.stopped]
        execution.stopped.clear()
    # `ready` is kept over a pause: `resume` orders what has become ready meanwhile.
    if execution.ready and not execution.stands_still:
        orders += _pipelines(program, execution)
        execution.ready.clear()
    has_place = execution.place.asked is None
    if execution.to_judge and has_place:
        # One turn may answer a region more than once (a signal after a timer that lost the race); it is ordered once.
        for key in dict.fromkeys(execution.to_judge):
            region = execution.regions.get(key)
            # The region may have ended in the same turn, by a timeout or a failed loop, after it got its answer.
            if region is not None and region.pending is not None:
                orders.append(_pipeline(program, execution, key, region, region.pending))
        execution.to_judge.clear()
    if execution.calling and has_place:
        told = [key for key in execution.calling if key in execution.parked and _is_told(program, execution, key)]
        orders += [_call(program, execution, key) for key in told]
        execution.calling.clear()
    if execution.mail.has_news:
        orders.append(settlement(execution))
    return orders


def settlement(execution: Execution) -> SettleMail:
    """The news for the mailbox: waits that are over, and what became of its signals."""
    over, settled = execution.mail.take_news()
    taken = tuple([row for row, is_taken in settled if is_taken])
    returned = tuple([row for row, is_taken in settled if not is_taken])
    return SettleMail(execution.execution_id, over, taken, returned)


def recover(program: Program, execution: Execution) -> None:
    """After a restart, mark everything that a worker should be doing to be ordered again."""
    # A crash may have come between the event that withdrew a claim and its stop. A repeat is harmless.
    execution.stopped[:] = execution.withdrawn
    execution.ready = [key for key, region in execution.regions.items() if region.phase == "at" and region.task >= 0]
    # A pending outcome that a worker is still to judge was ordered before the crash or not: nobody can tell, so it is
    # ordered again; the claim number makes the second report of two the refused one.
    execution.to_judge = [key for key, region in execution.regions.items() if region.pending is not None]
    execution.calling = [
        key for key in execution.parked if execution.regions[key].pending is None and _is_told(program, execution, key)
    ]


def _is_told(program: Program, execution: Execution, key: str) -> bool:
    """Whether somebody outside is told of a parked task: of a wait only the mailbox, where that is to know it."""
    return program.plan.tasks[execution.regions[key].task].kind != WAIT or key in execution.mail.listed


def resume_with(execution: Execution, key: str, program: Program, outcome: dict[str, Json]) -> RunPipeline | None:
    """The order that hands a parked task its outcome, None when it is not parked any more."""
    region = execution.regions.get(key)
    if region is None or region.phase != "parked":
        return None
    return _pipeline(program, execution, key, region, outcome)


def unbegun(program: Program, execution: Execution) -> list[RunPipeline]:
    """The orders of an execution that is over which nobody has claimed."""
    found = []
    for key, region in execution.regions.items():
        if (region.phase == "at" and region.task >= 0) or region.pending is not None:
            found.append(_pipeline(program, execution, key, region, region.pending))
    return found


def _pipelines(program: Program, execution: Execution) -> list[Order]:
    orders: list[Order] = []
    priorities: list[int] = []
    for key in dict.fromkeys(execution.ready):
        region = execution.regions.get(key)
        if region is not None and region.phase == "at" and region.task >= 0:
            priorities.append(execution.run_of(key).priority)
            orders.append(_pipeline(program, execution, key, region, None))
    # Sorting is stable, so that orders of one priority stay in the order in which they became ready. Most plans have
    # no priority and keep the list as it is.
    if any(priorities):
        rows = sorted(zip(priorities, orders, strict=True), key=lambda row: -row[0])
        orders = [order for _, order in rows]
    return orders


def _pipeline(
    program: Program, execution: Execution, key: str, region: Region, outcome: dict[str, Json] | None
) -> RunPipeline:
    run = execution.run_of(key)
    results: dict[str, object] = {}
    # An order carries the results that the step's expressions name, not all there are: its size must not grow with
    # the steps that ran before.
    for name in program.plan.steps[region.step].needs:
        number = program.step_numbers.get(name, -1)
        if number in execution.results:
            results[name] = execution.results[number]
    return RunPipeline(
        execution.execution_id,
        region.step,
        key,
        region.task,
        region.visits[region.task],
        region.attempt,
        region.claim,
        run.args,
        region.ctx,
        region.iter,
        execution.workload,
        results,
        region.results,
        region.prev,
        region.tasks_run,
        region.visits,
        region.began,
        outcome,
        region.lost >= program.plan.limits.max_lost,
        run.ordinal,
        _trace_of(execution),
        program.digest,
        execution.folder,
        origins=region.origins,
    )


def _trace_of(execution: Execution) -> str:
    """The trace of an order: the outermost execution's id, and behind a space the context that the start came with."""
    if not execution.started_by or not isinstance(header := execution.started_by.get("traceparent"), str):
        return execution.trace_id
    return f"{execution.trace_id} {header}"


def _call(program: Program, execution: Execution, key: str) -> StartChild | SendSignal | AwaitLetter:
    region, parked = execution.regions[key], execution.parked[key]
    call = parked.data.get("call")
    fields = call if isinstance(call, dict) else {}
    if program.plan.tasks[region.task].kind == SIGNAL:
        action_id = action_id_of(execution.execution_id, key, region.task, region.visits[region.task])
        return SendSignal(execution.execution_id, key, region.claim, action_id, fields)
    if program.plan.tasks[region.task].kind == WAIT:
        names = tuple(sorted(execution.waits[key]))
        return AwaitLetter(execution.execution_id, key_of(fields.get("correlation")), execution.mail.listed[key], names)
    parent_iter = region.iter if region.loop or "parent" in region.iter else None
    return StartChild(
        execution.execution_id,
        key,
        region.claim,
        call_name(region, key),
        parked.since,
        fields,
        parent_iter,
        execution.trace_id,
    )
