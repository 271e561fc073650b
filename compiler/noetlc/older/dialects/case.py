"""The case dialect (`case-dialect.md`): `case` with its modes and policies, `poll`, `on_error`, scopes of `retry`."""

from noetlc.dialects import Dialect
from noetlc.older import read_loop, read_retry
from noetlc.older.case import reader
from noetlc.reading.reader import Tables, no_effect

_DIALECT = "case dialect"


def _named(*keys: str) -> dict[str, str]:
    return {key: f"`{key}` ({_DIALECT})" for key in keys}


DIALECT = Dialect(
    _DIALECT,
    Tables(
        step={
            **reader.SETTINGS,
            "case": reader.take_case,
            "poll": read_retry.take_poll,
            "on_error": read_retry.take_on_error,
        },
        step_spec={**reader.SETTINGS, "on_error": read_retry.take_on_error, "retry": read_retry.take_retry},
        loop=read_loop.LOOP_KEYS,
        loop_spec=read_loop.SPEC_KEYS,
        task={"poll": read_retry.take_poll, "on_error": read_retry.take_on_error},
        task_spec={
            "retry": read_retry.take_retry,
            "poll": read_retry.take_poll,
            "async": no_effect,
            "cache": no_effect,
        },
    ),
    legacy={
        "next": _named("to", "policy", "priority"),
    },
)
