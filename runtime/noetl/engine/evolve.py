"""evolve: one event into the state. With `evolve_*`, the only code that writes to an `Execution`.

Law: the marking changes by the firings an event names and by nothing else; the rest of the state follows from the
event's type and data. No clock, no expression, no choice: whatever decided something is in the event. A log
that folds here without `IllegalFiring` is a run of the plan's net.
"""

from collections.abc import Callable

from noetl.engine import evolve_flow as flow
from noetl.engine import evolve_locks as locks
from noetl.engine import evolve_loops as loops
from noetl.engine import evolve_phases as phases
from noetl.engine import evolve_tasks as tasks
from noetl.engine import evolve_withdrawals as withdrawals
from noetl.engine.execution import Execution
from noetl.engine.marking import IllegalFiring
from noetl.engine.program import Program
from noetl_ir.events import INPUT_EVENTS, Event


def evolve(program: Program, execution: Execution, event: Event) -> None:
    """Fold one event in. Raises IllegalFiring when the net and the marking do not allow it.

    Before anything came from outside, all that there was to decide had been decided, but for what a pause held back.
    """
    event_type = event.event_type
    if event_type in INPUT_EVENTS and not execution.stands_still:
        # The rest of the agenda are places that were looked at and left. What a pause held back stays, since it was
        # not looked at.
        execution.agenda.clear()
    if execution.status not in _OPEN:
        # An execution that a mistake of the engine ended may be tried again by a version that has the mistake mended;
        # any other end is final.
        may_follow = ("playbook.processed",) if execution.fault is None else ("playbook.processed", "playbook.retried")
        if event_type not in may_follow:
            raise IllegalFiring(f"`{event_type}` after the end of the execution")
    apply = _APPLY.get(event_type)
    if apply is None:
        raise IllegalFiring(f"`{event_type}` is no event of this version")
    try:
        if event_type == "loop.started":
            # Before the firing: `expand` has arcs of symbolic weight, n items and m slots, which only the loop run
            # knows.
            loops.loop_created(program, execution, event)
        fire = execution.marking.fire
        for firing in event.fired:
            fire(firing)
        apply(program, execution, event)
    # A log is untrusted: one that names a run that is not there has to be refused as no run of the net, not end as a
    # crash.
    except KeyError as problem:
        raise IllegalFiring(f"`{event_type}` is about {problem.args[0]!r}, which is not there") from None
    except (IndexError, TypeError, ValueError) as problem:
        raise IllegalFiring(f"`{event_type}` is not one of this plan: {problem}") from None
    # Positions count events from 1. They say how new a view of `ctx` is, so they move only when the event has been
    # applied whole.
    execution.position += 1
    execution.now = event.ts


def _nothing(program: Program, execution: Execution, event: Event) -> None:
    """The firings, or what happened before them, say it all."""


_OPEN = frozenset({"new", "running"})

_APPLY: dict[str, Callable[[Program, Execution, Event], None]] = {
    "playbook.execution.requested": flow.requested,
    "playbook.request.evaluated": flow.evaluated,
    "playbook.placed": flow.placed,
    "playbook.queued": flow.queued,
    "playbook.refused": flow.refused,
    "workflow.started": flow.workflow_started,
    "token.joined": flow.joined,
    "token.enqueued": flow.token_kept,
    "token.waiting": flow.token_kept,
    "token.swallowed": flow.token_gone,
    "token.rejected": flow.token_gone,
    "token.ended": flow.ended,
    "token.claimed": tasks.token_claimed,
    "signal.received": tasks.signal_received,
    "signal.missed": tasks.signal_missed,
    "signal.returned": tasks.signal_returned,
    "signal.sent": tasks.signal_sent,
    "step.scheduled": flow.scheduled,
    "step.started": flow.step_started,
    "step.done": flow.step_done,
    "step.failed": flow.step_failed,
    "loop.started": loops.loop_started,
    "loop.enough": loops.loop_enough,
    "step.interrupted": tasks.interrupted,
    "step.cancelled": withdrawals.step_cancelled,
    "token.withdrawn": withdrawals.token_withdrawn,
    "loop.item.added": loops.item_added,
    "loop.closed": loops.loop_closed,
    "lock.taken": locks.lock_taken,
    "lock.given": locks.lock_freed,
    "loop.iteration.started": loops.iteration_started,
    "loop.iteration.done": loops.iteration_over,
    "loop.iteration.failed": loops.iteration_over,
    "loop.iteration.skipped": loops.iteration_over,
    "loop.done": loops.loop_done,
    "task.started": tasks.task_started,
    "task.done": tasks.task_done,
    "task.lost": tasks.task_lost,
    "retry.started": tasks.retry_started,
    "ctx.patched": tasks.ctx_patched,
    "next.selected": flow.selected,
    "timer.fired": tasks.timer_fired,
    "playbook.paused": flow.paused,
    "playbook.resumed": flow.paused,
    "playbook.cancelled": flow.cancelled,
    "playbook.faulted": flow.faulted,
    "playbook.retried": flow.retried,
    "playbook.rerun": flow.begun_again,
    "playbook.migrated": flow.plan_migrated,
    "migration.refused": flow.migration_refused,
    "phase.started": phases.phase_started,
    "phase.ended": phases.phase_ended,
    "compensation.started": phases.compensation_started,
    "compensation.done": phases.compensation_done,
    "child.started": phases.child_started,
    "child.ended": phases.child_ended,
    "workflow.finished": flow.finished,
    "playbook.processed": _nothing,
}
