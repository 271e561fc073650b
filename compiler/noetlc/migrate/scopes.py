"""Which keys are canonical where: a key that the canonical text leaves out stays only if it is one."""

from functools import cache

from noetlc.dialects.v10 import DIALECT

DOCUMENT, STEP = "document", "step"

_INSIDE = {
    DOCUMENT: {"executor": "executor", "workflow": STEP, "workbook": "task"},
    "executor": {"spec": "executor_spec"},
    "executor_spec": {"policy": "executor_policy"},
    STEP: {"spec": "step_spec", "loop": "loop", "tool": "task", "next": "next"},
    "step_spec": {"policy": "step_policy"},
    "step_policy": {"admit": "admit"},
    "loop": {"spec": "loop_spec", "loop": "loop"},
    "loop_spec": {"policy": "loop_policy"},
    "task": {"spec": "task_spec"},
    "task_spec": {"policy": "task_policy"},
    "task_policy": {"rules": "rule"},
    "admit": {"rules": "rule"},
    "rule": {"then": "then", "else": "branch"},
    "branch": {"then": "then"},
    "next": {"spec": "next_spec", "arcs": "arc"},
    "arc": {"spec": "arc_spec"},
}
_WHOLE = frozenset({"rule", "branch"})
"""Scopes whose keys are all written: any other is none of theirs."""


def inside(scope: str, key: str) -> str:
    """The scope of what stands under a key; "" for data."""
    return _INSIDE.get(scope, {}).get(key, "")


@cache
def keys_of(scope: str) -> frozenset[str] | None:
    """The canonical keys of a scope; None where any key may be data."""
    if scope in _WHOLE:
        return frozenset()
    return frozenset(getattr(DIALECT.tables, scope)) if scope else None
