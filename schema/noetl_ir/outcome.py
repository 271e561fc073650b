"""The outcome of one attempt at a task, and the reference that stands for a large result.

canonical-v2 §5.3, LANGUAGE §4: every tool returns exactly one outcome.
"""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple

OutcomeStatus: TypeAlias = Literal["ok", "error"]


class Outcome(NamedTuple):
    """The outcome that a tool returns.

    `error` is `{code, message, retryable, …}` when `status` is `error`, else None; the worker adds its `kind`.
    `extras` holds the kind's own attributes by key (`{"http": {"status": 200, "headers": {…}}}`); they are
    `outcome.http` in rules.
    `meta` is `{attempt, duration, started, ended, trace_id}`, filled in by the worker, times as recorded.
    """

    status: OutcomeStatus
    result: Json = None
    error: dict[str, Json] | None = None
    extras: dict[str, Json] = {}  # noqa: RUF012  (never written to)
    meta: dict[str, Json] = {}  # noqa: RUF012  (never written to)

    def as_json(self) -> dict[str, Json]:
        """The envelope as expressions see it under `outcome`."""
        status, result, error, extras, meta = self
        return {"status": status, "result": result, "error": error, "meta": meta, **extras}

    def with_detail(self, **detail: Json) -> "Outcome":
        """The failure with more said about it under `error` (`line` of the user's code, …)."""
        return self._replace(error={**(self.error or {}), **detail})


_KINDS = {
    "timeout": ("timeout", "python.timeout"),
    "connection": ("http.connect", "http.protocol", "pg.connect", "snowflake.connect", "nats.connect"),
    "schema": ("result.schema",),
    "code": ("python.exception", "python.import", "python.syntax"),
    "auth": ("gcs.auth",),
}
_KIND_OF_CODE = {code: kind for kind, codes in _KINDS.items() for code in codes}
_KIND_OF_STATUS = {401: "auth", 403: "auth", 404: "not_found", 429: "rate_limit"}

_PLAYBOOK_FAULTS = frozenset({"result.type", "fields.invalid", "ref.missing"})
_AGAIN = frozenset(
    {
        "timeout", "http.connect", "http.protocol", "pg.connect", "snowflake.connect", "nats.connect",
        "nats.no_responders", "quantum.not_done", "worker.lost",
    }
)  # fmt: skip
_AGAIN_STATUS = frozenset({408, 425, 429})
"""These say that the same request may go through later (RFC 9110 §15.5.9, RFC 8470, RFC 6585), as all from 500 on do;
other 4xx are of the request itself."""
_AGAIN_STATES = {
    "pg": ("sqlstate", frozenset({"40001", "40P01", "55P03"})),
    "sqlite": ("code", frozenset({"SQLITE_BUSY", "SQLITE_LOCKED"})),
    "duckdb": ("code", frozenset({"TransactionException"})),
}
"""Extra → its attribute, and the values of conflicts of transactions, which one after the other would not have."""


def is_playbook_fault(code: Json) -> bool:
    """Whether the error code of a tool says that the playbook is at fault, not the world: no rule is asked (LANGUAGE
    §2).
    """
    return _is_among(code, _PLAYBOOK_FAULTS)


def _is_among(value: Json, texts: frozenset[str]) -> bool:
    # A script may say a list or a mapping there, which no set can be asked about.
    return isinstance(value, str) and value in texts


def is_retryable(code: Json, extras: Mapping[str, Json] | None = None) -> bool:
    """Whether the very same attempt may go through later, by the code of an error and the extras of its outcome."""
    if _is_among(code, _AGAIN):
        return True
    attributes = extras or {}
    response = attributes.get("http")
    status = response.get("status") if isinstance(response, dict) else None
    if isinstance(status, int) and not isinstance(status, bool):
        return status in _AGAIN_STATUS or status >= 500
    for name, (key, values) in _AGAIN_STATES.items():
        said = attributes.get(name)
        if isinstance(said, dict) and _is_among(said.get(key), values):
            return True
    return False


def kind_of_error(code: Json, status: Json = None) -> str:
    """The `kind` of an error: by the status of an answer where there is one, else by the code, else the code itself.

    A code `http.NNN` says the status too.
    """
    name = str(code)
    scheme, _, digits = name.partition(".")
    # A tool that is not http may still say the status of an answer in its code.
    if status is None and scheme == "http" and len(digits) == 3 and digits.isascii() and digits.isdecimal():
        status = int(digits)
    if isinstance(status, int) and not isinstance(status, bool) and 400 <= status < 600:
        return _KIND_OF_STATUS.get(status, "client_error" if status < 500 else "server_error")
    return _KIND_OF_CODE.get(name, name)


def with_kind(error: dict[str, Json], extras: dict[str, Json] | None = None) -> dict[str, Json]:
    """An error that says its `kind`; one that says it already stays as it is. `extras` are those of its outcome."""
    # A tool knows its errors better than the tables here.
    if "kind" in error:
        return error
    # The status counts before the code: one code, `http.status`, stands for all answers that are no success.
    response = (extras or {}).get("http")
    status = response.get("status") if isinstance(response, dict) else None
    return {**error, "kind": kind_of_error(error.get("code"), status)}


class LoopValue(NamedTuple):
    """The result of a loop run: one entry per item in index order, null where failed or skipped, and the counts
    `{total ok failed skipped}`. With `levels` above 1 it is of loops inside each other, and its entries are lists.
    """

    entries: list[Json]
    stats: dict[str, Json]
    levels: int = 1


def ok(result: Json = None, **extras: Json) -> Outcome:
    """A success with the kind's extras."""
    return Outcome("ok", result, None, extras)


def error(code: str, message: str, *, result: Json = None, retryable: bool | None = None, **extras: Json) -> Outcome:
    """A failure; `code` is a word from the glossary of run-time errors (`timeout`, `http.status`, …). Whether it is
    retryable follows from code and extras (`is_retryable`); only a tool that knows it otherwise says it.
    """
    again = is_retryable(code, extras) if retryable is None else retryable
    return Outcome("error", result, {"code": code, "message": message, "retryable": again}, extras)


REFERENCE_KEY = "__ref__"
HANDLE_KEY = "__secret__"
"""The key under which a handle of a credential names it."""


class Handle(dict[str, Json]):
    """A credential's handle before it is stored: `{__secret__: name, <field>: null, …}`, one key a field.

    Its type tells it from a look-alike that came from outside. What hides secrets replaces it by a plain mapping
    that has a marker under each field, which only task fields can open (LANGUAGE §7).
    """


def reference(*, store: str, key: str, size: int, checksum: str, schema_hint: str | None = None) -> dict[str, Json]:
    """The JSON form of a reference to a value kept outside the log (v10 §10).

    `size` is in bytes, `checksum` is sha256 in hex.
    """
    return {
        REFERENCE_KEY: True,
        "store": store,
        "key": key,
        "range": None,
        "size": size,
        "checksum": checksum,
        "schema_hint": schema_hint,
    }


def is_reference(value: object) -> bool:
    """Whether a value is a reference made by `reference`."""
    # Exactly `true`: a result of an author's own may have a key of this name.
    return isinstance(value, dict) and value.get(REFERENCE_KEY) is True
