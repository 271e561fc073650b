"""The case dialect (`case-dialect.md`): `case` with its modes and policies, `poll`, `on_error`, scopes of `retry`."""

from noetlc.dialects import Dialect
from noetlc.reading import cases, iteration, repeat
from noetlc.reading.reader import Tables, no_effect

_DIALECT = "case dialect"


def _named(*keys: str) -> dict[str, str]:
    return {key: f"`{key}` ({_DIALECT})" for key in keys}


DIALECT = Dialect(
    _DIALECT,
    Tables(
        step={**cases.SETTINGS, "case": cases.take_case, "poll": repeat.take_poll, "on_error": repeat.take_on_error},
        step_spec={**cases.SETTINGS, "on_error": repeat.take_on_error, "retry": repeat.take_retry},
        loop=iteration.LOOP_KEYS,
        loop_spec=iteration.SPEC_KEYS,
        task={"poll": repeat.take_poll, "on_error": repeat.take_on_error},
        task_spec={"retry": repeat.take_retry, "poll": repeat.take_poll, "async": no_effect, "cache": no_effect},
    ),
    legacy={
        "next": _named("to", "policy", "priority"),
    },
)
