"""Results on their way into the log and back: secrets hidden, large values outside, references followed.

A result over `limits.max_payload_bytes` is stored as a blob before the event that names it; the paths into it that
the server's expressions read go along in the event (v10 §10, LANGUAGE §2).
"""

from collections.abc import Callable, Mapping

from noetl.host.confined_files import file_name_of
from noetl.ports import Blobs
from noetl.worker.schemas import KNOB
from noetl_ir import codec
from noetl_ir.expr import Json
from noetl_ir.outcome import Outcome, is_reference
from noetl_ir.plan import Plan
from noetl_ir.projections import PROJECTED, projection, told_value
from noetl_ir.scopes.values import Fault, Reference

MAX_BYTES = 1 << 30
MAX_ITEMS = 50_000_000
MAX_DEPTH = 500
"""Limits of one stored result."""

CALLS = "playbook"
"""The kind whose result may be a reference into another execution: its child's."""


class OwnValues:
    """The values that one execution has stored. No reference leads to a value of another execution, wherever the
    reference came from.
    """

    __slots__ = ("_blobs", "_folder")

    def __init__(self, execution_id: str, blobs: Blobs) -> None:
        self._folder = file_name_of(execution_id)
        self._blobs = blobs

    def value(self, reference: Mapping[str, Json]) -> Json:
        """The value that a reference stands for; raises KeyError with a clear text."""
        key = reference.get("key")
        # A reference is plain data, so anybody who answers a request can write one. Without this check it would read
        # any execution's values.
        if not isinstance(key, str) or key.partition("/")[0] != self._folder:
            raise KeyError("the reference is to no stored result of this execution")
        try:
            return unpacked_value(self._blobs, reference)
        except codec.CodecError as problem:
            raise KeyError(f"the stored result {key} is altered: {problem}") from None


def unpacked_value(blobs: Blobs, reference: Mapping[str, Json]) -> Json:
    """The value of a reference; raises KeyError, CodecError."""
    return codec.unpack(blobs.get(reference), max_bytes=MAX_BYTES, max_depth=MAX_DEPTH, max_items=MAX_ITEMS)


class Results:
    """Records and follows results of one execution. `redact` hides secrets in a value."""

    def __init__(self, plan: Plan, execution_id: str, blobs: Blobs, redact: Callable[[Json], Json]) -> None:
        self._plan = plan
        self._execution_id = execution_id
        self._blobs = blobs
        self._redact = redact

    def recorded(self, step: int, outcome: Outcome, kind: str, inline: int | None) -> tuple[Outcome, Json]:
        """The outcome with its secrets hidden and its value, as rules see it, and its result as the log will hold it.

        `inline` is the size in bytes above which the task asks for the result to be outside.
        """
        status, result, error, extras, meta = outcome
        # The most frequent outcome, a noop's, has nothing to hide.
        if result is None and error is None and not extras:
            return outcome, None
        result = self._redact(result)
        error = _mapping(self._redact(error)) if error else error
        extras = _mapping(self._redact(extras)) or {} if extras else extras
        hint = extras.get(KNOB)
        # What a child came to is only told by reference.
        value, posing = self._content(result, kind) if is_reference(result) else (result, False)
        shown = self._shown(step, value, hint, inline=inline, posing=posing)
        return Outcome(status, value, error, extras, meta), shown

    def hidden(self, text: str) -> str:
        """A text with its secrets hidden."""
        return str(self._redact(text))

    def follow(self, value: Json) -> "Json | Reference":
        """A result as expressions see it: a reference is fetched only when something reads it."""
        if is_reference(value) and isinstance(value, dict):
            record = value
            # The projection is for the server's expressions, which cannot fetch; who prints a reference is spared it.
            return Reference(
                {key: part for key, part in record.items() if key != PROJECTED}, lambda: self.fetch(record)
            )
        return value

    def own_value(self, record: dict[str, Json]) -> Json:
        """The value of a reference that must be to a result of this execution; raises Fault `ref.missing`."""
        try:
            return OwnValues(self._execution_id, self._blobs).value(record)
        except KeyError as problem:
            what = f"the stored result {record.get('key')} is gone or altered"
            raise Fault("ref.missing", f"{what}: {problem.args[0]}") from None

    def fetch(self, record: dict[str, Json]) -> Json:
        """The value of a reference; raises Fault `ref.missing`."""
        try:
            return unpacked_value(self._blobs, record)
        except (KeyError, codec.CodecError) as problem:
            raise Fault("ref.missing", f"the stored result {record.get('key')} is gone or altered: {problem}") from None

    def _shown(self, step: int, value: Json, hint: Json, *, inline: int | None, posing: bool) -> Json:
        row = self._plan.steps[step]
        asked = inline is not None and not row.loops  # the entries of a loop stand in one list
        # No sensible limit is below the size of these, and to pack a value only to measure it is most of the work here.
        small = isinstance(value, (bool, int, float)) or (isinstance(value, str) and len(value) < 1024)
        if value is None or (small and not asked):
            return value
        packed = codec.pack_unsorted(value)
        limit = self._plan.limits.max_payload_bytes
        if len(packed) <= (limit if inline is None or not asked else min(inline, limit)) and not posing:
            return value
        part, whole = projection(row, value)
        # The server reads all of it, so a blob would only be a second copy of what the event has to hold anyway.
        if whole and not posing and not asked:
            return value
        record = {**self._blobs.put(self._execution_id, packed), "schema_hint": hint}
        return {**record, PROJECTED: part}

    def _content(self, value: Json, kind: str) -> tuple[Json, bool]:
        """The value of a result, and whether it is posing as a reference.

        A result may be a reference, that of a child, say; its value is given then. Data from outside that only looks
        like a reference, or that names a value of another execution, is posing: it stands for itself. It is stored
        outside, so that whoever follows its reference finds the data, and does not follow the data."""
        record = value if isinstance(value, dict) else {}
        try:
            found = (
                told_value(record, self.fetch)
                if kind == CALLS
                else OwnValues(self._execution_id, self._blobs).value(record)
            )
        except (Fault, KeyError):
            return value, True
        return found, is_reference(found)


def _mapping(value: Json) -> dict[str, Json] | None:
    return value if isinstance(value, dict) else None
