"""The formal dialects (`formal.md`, `formal-extended.md`): `vars`, `sink`, `retry`, `args`, `result`."""

from noetlc.dialects import Dialect
from noetlc.older.dialects import by
from noetlc.reading.reader import Tables

DIALECT = Dialect(
    "formal dialect",
    Tables(
        document={
            "vars": by("variables", "take_root_vars"),
            "ctx": by("variables", "take_root_vars"),
            "spec": by("variables", "take_root_vars"),
            "tracing": by("variables", "take_root_hint"),
        },
        step={
            "vars": by("variables", "take_vars"),
            "set_ctx": by("variables", "take_vars"),
            "sink": by("sinks", "take_sink"),
            "result": by("variables", "take_result"),
            "retry": by("retry", "take_retry"),
            "args": by("args", "take_step_args"),
        },
        loop={"pagination": by("pages", "take_pagination")},
        executor_spec={"retry": by("retry", "take_retry")},
        task={
            "vars": by("variables", "take_vars"),
            "set_ctx": by("variables", "take_vars"),
            "set_iter": by("variables", "take_set_iter"),
            "sink": by("sinks", "take_sink"),
            "retry": by("retry", "take_retry"),
        },
    ),
    legacy={
        "step": ("set_iter",),
        "loop": ("until",),
        "task": ("result",),
        "then": ("sink", "vars", "collect", "retry", "result"),
    },
)
