"""The formal dialects (`formal.md`, `formal-extended.md`): `vars`, `sink`, `retry`, `args`, `result`."""

from noetlc.dialects import Dialect
from noetlc.older import read_retry, read_sink, read_state
from noetlc.reading.reader import Tables

_DIALECT = "formal dialect"


def _named(*keys: str) -> dict[str, str]:
    return {key: f"`{key}` ({_DIALECT})" for key in keys}


DIALECT = Dialect(
    _DIALECT,
    Tables(
        document={
            "vars": read_state.take_root_vars,
            "ctx": read_state.take_root_vars,
            "spec": read_state.take_root_vars,
            "tracing": read_state.take_root_hint,
        },
        step={
            "vars": read_state.take_vars,
            "set_ctx": read_state.take_vars,
            "sink": read_sink.take_sink,
            "result": read_state.take_result,
            "retry": read_retry.take_retry,
            "args": read_state.take_step_args,
        },
        loop={"pagination": read_retry.take_pagination},
        executor_spec={"retry": read_retry.take_retry},
        task={
            "vars": read_state.take_vars,
            "set_ctx": read_state.take_vars,
            "set_iter": read_state.take_set_iter,
            "sink": read_sink.take_sink,
            "retry": read_retry.take_retry,
        },
    ),
    legacy={
        "step": _named("set_iter"),
        "loop": _named("until"),
        "task": _named("result"),
        "then": _named("sink", "vars", "collect", "retry", "result"),
    },
)
