"""The formal dialects (`formal.md`, `formal-extended.md`): `vars`, `sink`, `retry`, `args`, `result`."""

from noetlc.dialects import Dialect
from noetlc.reading import repeat, state, storage
from noetlc.reading.reader import Tables

_DIALECT = "formal dialect"


def _named(*keys: str) -> dict[str, str]:
    return {key: f"`{key}` ({_DIALECT})" for key in keys}


DIALECT = Dialect(
    _DIALECT,
    Tables(
        document={
            "vars": state.take_root_vars,
            "ctx": state.take_root_vars,
            "spec": state.take_root_vars,
            "tracing": state.take_root_hint,
        },
        step={
            "vars": state.take_vars,
            "set_ctx": state.take_vars,
            "sink": storage.take_sink,
            "result": state.take_result,
            "retry": repeat.take_retry,
            "args": state.take_step_args,
        },
        loop={"pagination": repeat.take_pagination},
        executor_spec={"retry": repeat.take_retry},
        task={
            "vars": state.take_vars,
            "set_ctx": state.take_vars,
            "set_iter": state.take_set_iter,
            "sink": storage.take_sink,
            "retry": repeat.take_retry,
        },
    ),
    legacy={
        "step": _named("set_iter"),
        "loop": _named("until"),
        "task": _named("result"),
        "then": _named("sink", "vars", "collect", "retry", "result"),
    },
)
