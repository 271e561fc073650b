"""The formal dialects (`formal.md`, `formal-extended.md`): recognised, not read yet."""

from noetlc.dialects import Dialect

_DIALECT = "formal dialect"


def _named(*keys: str) -> dict[str, str]:
    return {key: f"`{key}` ({_DIALECT})" for key in keys}


DIALECT = Dialect(
    _DIALECT,
    legacy={
        "document": _named("vars", "ctx", "tracing", "spec"),
        "step": _named("vars", "sink", "retry", "args", "result", "set_ctx", "set_iter"),
        "loop": _named("mode", "max_in_flight", "concurrency", "until", "where", "filter", "chunk", "limit", "order_by")
        | _named("pagination", "enumerate", "distribution", "policy"),
        "task": _named("vars", "sink", "retry", "result", "set_ctx", "set_iter"),
        "then": _named("sink", "vars", "collect", "retry", "result"),
    },
)
