"""The case dialect (`case-dialect.md`): recognised, not read yet."""

from noetlc.dialects import Dialect

_DIALECT = "case dialect"


def _named(*keys: str) -> dict[str, str]:
    return {key: f"`{key}` ({_DIALECT})" for key in keys}


DIALECT = Dialect(
    _DIALECT,
    legacy={
        "step": _named("case", "case_mode", "eval_mode", "branch_order", "next_policy", "on_error"),
        "step_spec": _named("case_mode", "eval_mode", "branch_order", "next_policy", "on_error", "retry"),
        "loop": _named("collection", "element", "batch_size", "on_error"),
        "task": _named("poll", "on_error"),
        "task_spec": _named("retry", "poll", "async", "cache"),
        "next": _named("to", "policy", "priority"),
        "executor_spec": _named("retry"),
    },
)
