"""The first dialects: `type:`, `tool: <kind>`, `call`, `with`, `save`, `pipe`, `eval`, `expr`; recognised,
not read yet.
"""

from noetlc.dialects import Dialect

_DIALECT = "v1 dialect"


def _named(*keys: str) -> dict[str, str]:
    return {key: f"`{key}` ({_DIALECT})" for key in keys}


DIALECT = Dialect(
    _DIALECT,
    legacy={
        "document": _named("steps", "tasks", "environment", "context"),
        "step": _named(
            "type", "call", "run", "with", "save", "data", "when", "pass", "pipe", "eval", "expr", "end_loop"
        )
        | _named("assert", "next_step", "task", "code", "command", "method", "endpoint", "url", "auth", "params"),
        "task": _named("tool", "type", "call", "with", "save", "data", "pipe", "eval", "expr", "catch"),
        "rule": _named("expr", "do"),
        "arc": _named("with", "data", "condition", "cond", "then", "else", "input"),
        "task_spec": _named("eval"),
    },
)
