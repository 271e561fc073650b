"""Sharing between executions of a playbook: what one store has to keep for all of them."""

from __future__ import annotations

from collections.abc import Iterator

from noetl.app.playbook_calls import reached_from
from noetl.app.programs import Programs
from noetl.engine.program import Program
from noetl_ir.expr import entries_of
from noetl_ir.plan import Plan, Task

CONCURRENCY, LOCKS, SIGNALS, CALLS = "concurrency", "locks", "signals", "calls"
"""A limit of executions at once, locks of steps, signals under keys, and calls of which only a run tells where they
lead.
"""

_KEYED = {"wait": "correlation", "signal": "key"}


def shared_by(programs: Programs, program: Program) -> tuple[str, ...]:
    """The words for what executions of a playbook share, and those that they call, as calls lead now."""
    found = set[str]()
    for each, is_open in reached_from(programs, program):
        found.update(_shared_in(each.plan))
        if is_open:
            found.add(CALLS)
    return tuple(sorted(found))


def _shared_in(plan: Plan) -> Iterator[str]:
    if plan.concurrency is not None:
        yield CONCURRENCY
    if plan.locks or plan.sections:
        yield LOCKS
    if any(task.kind in _KEYED and _may_have(plan, task, _KEYED[task.kind]) for task in plan.tasks):
        yield SIGNALS


def _may_have(plan: Plan, task: Task, field: str) -> bool:
    entries = entries_of(plan.templates[task.fields]) if task.fields >= 0 else {}
    return entries is None or field in entries  # None: only a run tells which it has
