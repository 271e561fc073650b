"""Results on their way into the log and back: secrets hidden, large values outside, references followed.

A result over `limits.max_payload_bytes` is stored as a blob before the event that names it; the paths into it that
the server's expressions read go along in the event (v10 §10, LANGUAGE §2).
"""

from collections.abc import Callable, Sequence

from noetl.ports import Blobs
from noetl.worker.schemas import KNOB
from noetl_ir import codec
from noetl_ir.expr import Json
from noetl_ir.outcome import Outcome, is_reference
from noetl_ir.plan import Plan
from noetl_ir.scopes.values import Fault, Reference

MAX_BYTES = 1 << 30
MAX_ITEMS = 50_000_000
MAX_DEPTH = 500
"""Limits of one stored result."""

WHOLE = frozenset({"data", "result", "results"})
"""Keys of a result that may mean all of it (LANGUAGE §2)."""


class Results:
    """Records and follows results of one execution. `redact` hides secrets in a value."""

    def __init__(self, plan: Plan, execution_id: str, blobs: Blobs, redact: Callable[[Json], Json]) -> None:
        self._plan = plan
        self._execution_id = execution_id
        self._blobs = blobs
        self._redact = redact

    def recorded(self, step: int, outcome: Outcome) -> tuple[Outcome, Json]:
        """The outcome with its secrets hidden, and its result as the log will hold it."""
        status, result, error, extras, meta = outcome
        if result is None and error is None and not extras:
            return outcome, None
        result = self._redact(result)
        error = _mapping(self._redact(error)) if error else error
        extras = _mapping(self._redact(extras)) or {} if extras else extras
        hint = extras.get(KNOB)
        return Outcome(status, result, error, extras, meta), self._shown(step, result, hint)

    def follow(self, value: Json) -> "Json | Reference":
        """A result as expressions see it: a reference is fetched only when something reads it."""
        if is_reference(value) and isinstance(value, dict):
            record = value
            return Reference(
                {key: part for key, part in record.items() if key != "projected"}, lambda: self.fetch(record)
            )
        return value

    def fetch(self, record: dict[str, Json]) -> Json:
        """The value of a reference; raises Fault `ref.missing`."""
        try:
            return codec.unpack(self._blobs.get(record), max_bytes=MAX_BYTES, max_depth=MAX_DEPTH, max_items=MAX_ITEMS)
        except (KeyError, codec.CodecError) as problem:
            raise Fault("ref.missing", f"the stored result {record.get('key')} is gone or altered: {problem}") from None

    def _shown(self, step: int, value: Json, hint: Json) -> Json:
        if isinstance(value, (bool, int, float)) or value is None or (isinstance(value, str) and len(value) < 1024):
            return value
        value, posing = self._content(value) if is_reference(value) else (value, False)
        packed = codec.pack_unsorted(value)
        if len(packed) <= self._plan.limits.max_payload_bytes and not posing:
            return value
        row = self._plan.steps[step]
        paths = [_meant(path, value) for path in row.reads or ()]
        whole = (row.loops and any(path[:1] != ("stats",) for path in paths)) or () in paths
        if whole and not posing:
            return value
        record = {**self._blobs.put(self._execution_id, packed), "schema_hint": hint}
        return {**record, "projected": value if whole else _projection(value, paths)}

    def _content(self, value: Json) -> tuple[Json, bool]:
        """What a result that is a reference stands for: that of a child, say. Data from outside that only looks like
        one stands for itself, and whoever follows a reference must find it: it is said to be posing."""
        try:
            return self.fetch(value if isinstance(value, dict) else {}), False
        except Fault:
            return value, True


def _mapping(value: Json) -> dict[str, Json] | None:
    return value if isinstance(value, dict) else None


def _meant(path: tuple[str, ...], value: Json) -> tuple[str, ...]:
    """The path that a read takes into a result: `data` and the like mean the whole where there is no such key."""
    while path and path[0] in WHOLE and not (isinstance(value, dict) and path[0] in value):
        path = path[1:]
    return path


def _projection(value: Json, paths: Sequence[tuple[str, ...]]) -> Json:
    """The part of a mapping that the paths reach."""
    projected: dict[str, Json] = {}
    for path in paths:
        there, here = value, projected
        for position, key in enumerate(path):
            if not isinstance(there, dict) or key not in there:
                break
            there = there[key]
            if position == len(path) - 1:
                here[key] = there
            else:
                deeper = here.setdefault(key, {})
                if not isinstance(deeper, dict):
                    break
                here = deeper
    return projected
