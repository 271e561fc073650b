"""The case dialect (`case-dialect.md`): `case` with its modes and policies, `poll`, `on_error`, scopes of `retry`."""

from noetlc.dialects import Dialect
from noetlc.older.dialects import CASE, by
from noetlc.reading.reader import Tables, no_effect

_SETTINGS = dict.fromkeys(("case_mode", "eval_mode", "branch_order", "next_policy"), by("reader", "take_setting", CASE))
_LOOP = {
    "collection": by("loops", "take_collection"),
    "items": by("loops", "take_collection"),
    "element": by("loops", "take_element"),
    "mode": by("loops", "take_mode"),
    "max_in_flight": by("loops", "take_in_flight"),
    "concurrency": by("loops", "take_in_flight"),
    "policy": by("loops", "take_policy"),
    "where": by("loops", "take_where"),
    "filter": by("loops", "take_where"),
    "order_by": by("loops", "take_slicing"),
    "limit": by("loops", "take_slicing"),
    "chunk": by("loops", "take_slicing"),
    "batch_size": by("loops", "take_slicing"),
    "on_error": by("loops", "take_on_error"),
    "enumerate": by("loops", "take_nothing"),
    "distribution": by("loops", "take_nothing"),
}
_LOOP_SPEC = {
    "batch_size": by("loops", "take_slicing"),
    "chunk": by("loops", "take_slicing"),
    "limit": by("loops", "take_slicing"),
    "order_by": by("loops", "take_slicing"),
    "on_error": by("loops", "take_on_error"),
}

DIALECT = Dialect(
    "case dialect",
    Tables(
        step={
            **_SETTINGS,
            "case": by("reader", "take_case", CASE),
            "poll": by("poll", "take_poll"),
            "on_error": by("retry", "take_on_error"),
        },
        step_spec={
            **_SETTINGS,
            "on_error": by("retry", "take_on_error"),
            "retry": by("retry", "take_retry"),
            "next_mode": by("targets", "take_next_mode"),
        },
        loop=_LOOP,
        loop_spec=_LOOP_SPEC,
        task={"poll": by("poll", "take_poll"), "on_error": by("retry", "take_on_error")},
        task_spec={
            "retry": by("retry", "take_retry"),
            "poll": by("poll", "take_poll"),
            "async": no_effect,
            "cache": no_effect,
        },
    ),
    legacy={
        "next": ("to", "policy", "priority"),
    },
)
