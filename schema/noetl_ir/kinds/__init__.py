"""The contract of a tool kind: its fields, knobs, outcome extras and effects, as plain data.

One kind, one module, each exporting `KIND`. The compiler checks playbooks against these tables and generates
JSON Schema from them; the worker renders exactly the fields that are templates. Third parties add kinds
through the entry-point group `noetl.kinds` (LANGUAGE §7).
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, Never, TypeAlias

from noetl_ir.expr import Json
from noetl_ir.patterns import LatePattern
from noetl_ir.records import NamedTuple

FieldShape: TypeAlias = Literal[
    "any", "text", "name", "integer", "number", "boolean", "duration", "map", "list", "map of text", "list of names"
]
"""What a field's value may be once rendered; a template may stand wherever a value may. A name is a text, and no number
that is written as one.
"""

FieldText: TypeAlias = Literal["template", "code", "sql", "shell", "literal"]
"""How text in a field is read: a template; program text that is never rendered; SQL text and shell text,
which are templates with a lint warning, where braces that are no expression stay so; or no template."""


class Field(NamedTuple):
    """One field of a task of this kind.

    `shapes` are alternatives; `values` a closed list where there is one, in upper case if `any_case` takes them in
    any; of an open list, `runs` are those that can be run here. `idle` fields are read, for older playbooks have them,
    and have no effect: the compiler notes it.
    """

    shapes: tuple[FieldShape, ...] = ("any",)
    text: FieldText = "template"
    required: bool = False
    values: tuple[str, ...] = ()
    doc: str = ""
    any_case: bool = False
    runs: tuple[str, ...] = ()
    idle: bool = False

    def takes(self, value: str) -> bool:
        """Whether a value is in the closed list."""
        return value in self.values or (self.any_case and value.upper() in self.values)


INLINE = "inline_max_bytes"
"""The knob that has results of a task stored outside the log from a size on."""

TASK_KNOBS: Mapping[str, Field] = MappingProxyType(
    {
        "schema_hint": Field(("text",), doc="The JSON Schema that the result is held against, by its name."),
        INLINE: Field(
            ("integer",), doc="A result above that many bytes is stored outside the log; `ref` gives its reference."
        ),
    }
)
"""What `task.spec` may hold whatever the kind, but for kinds that park; never inherited from outer specs."""

_NONE: Mapping[str, Never] = MappingProxyType({})
_NO_WORDS: Mapping[str, str] = MappingProxyType({})


class Kind(NamedTuple):
    """The contract of a tool kind.

    `fields`: what may stand beside `name kind desc spec args` in a task. `knobs`: what `task.spec` may hold
    beside `policy` and `timeout`; only these are inherited from outer specs. `one_of`: sets of fields of
    which exactly one must be given; `only_one`: sets of which at most one may. `older`: what older playbooks call a
    field. `extras`: attributes of `outcome.<key>` (e.g. `http` → status, headers).
    `pure`: has no effect outside, so that its start may share a transaction with its end, unless one of `reaching`
    is given: fields, also as args, by which it does reach outside. `parks`: waits
    outside a worker (`wait`, `playbook`). `available`: false for kinds that compile with a warning and give
    `kind.unavailable`. `binds_args`: the args of the token are args of the task too, under its own.
    `module`: what has to be importable where it runs, brought by the extra of the kind's name.
    """

    name: str
    summary: str
    fields: Mapping[str, Field] = _NONE
    knobs: Mapping[str, Field] = _NONE
    one_of: tuple[tuple[str, ...], ...] = ()
    only_one: tuple[tuple[str, ...], ...] = ()
    older: Mapping[str, str] = _NO_WORDS
    extras: Mapping[str, tuple[str, ...]] = _NONE
    result: str = ""
    pure: bool = False
    reaching: tuple[str, ...] = ()
    parks: bool = False
    available: bool = True
    binds_args: bool = False
    module: str = ""

    def has_effect(self, fields: Mapping[str, Json], args: Mapping[str, Json]) -> bool:
        """Whether a task with these fields and args may reach outside."""
        return not self.pure or any(at.get(name) is not None for name in self.reaching for at in (fields, args))


CALLED = frozenset({"python", "playbook", "workbook", "script", "noop", "container", "quantum"})
"""Kinds whose args are what they are called with; those of any other kind are there for its own fields to read."""

_DURATION = LatePattern(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?\s*", re.ASCII)
_UNITS = {"ms": 0.001, None: 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


MAX_SECONDS = 1e10
"""The longest duration, some 317 years: every time that one leads to is a date of four digits."""


def seconds_of(value: Json) -> float | None:
    """A duration in seconds: a number, or text like `1.5s`, `5m`, `2h` (LANGUAGE §4); else None.

    Neither one below zero nor one above `MAX_SECONDS` is a duration, however it is written.
    """
    match value:
        # `True` is an int in Python: without this `timeout: true` would be a second.
        case bool():
            return None
        case int() | float():
            seconds: float = value
        case str() if found := _DURATION.fullmatch(value):
            seconds = float(found[1]) * _UNITS[found[2]]
        case _:
            return None
    # Infinities and NaN fail the comparison, so that no timer is ever set to one.
    return float(seconds) if 0 <= seconds <= MAX_SECONDS else None


def grown(delay: float, multiplier: float, times: int) -> float:
    """A delay multiplied so many times, `MAX_SECONDS` at most."""
    try:
        # The power of a float raises instead of giving infinity.
        return min(delay * multiplier**times, MAX_SECONDS)
    except OverflowError:
        return MAX_SECONDS if delay else 0.0


def faulty_limit(timeout: Json) -> str:
    """Why a computed `timeout` is none, "" for a good one: it is a duration, or a mapping of them."""
    parts = timeout.items() if isinstance(timeout, dict) else [("", timeout)]
    for name, value in parts:
        if seconds_of(value) is None and not (name and value is None):
            return f"`timeout{'.' if name else ''}{name}` is {_shown(value)}, which is no duration"
    return ""


def _shown(value: Json) -> str:
    """A value as far as a message needs it: a number, or what else it is."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        # A number of thousands of digits would fill the message, and may not even be printable.
        return str(value) if abs(value) < 1e15 else "a number that is too large"
    return "null" if value is None else kind_word(value)


def limit_of(timeout: Json) -> float | None:
    """The seconds that an attempt may take by its `timeout`: a duration, or of {connect, read} the sum."""
    if isinstance(timeout, dict):
        parts = [seconds for value in timeout.values() if (seconds := seconds_of(value)) is not None]
        # The sum, since an attempt first connects and then reads: the whole may take both.
        return sum(parts) if parts else None
    return seconds_of(timeout)


def misfits(kind: Kind, fields: Mapping[str, Json]) -> tuple[str, ...]:
    """The faults of the rendered fields of a task of this kind, a sentence each; empty when nothing is.

    A field that rendered to null counts as not given.
    """
    # A template that renders to null is how authors leave a field out under a condition.
    present = {name: value for name, value in fields.items() if value is not None}
    wrong = [
        f"field {name!r} must be {_listed(known.shapes)}, not {_found(known.shapes, value)}"
        if (known := kind.fields.get(name))
        else f"there is no field {name!r}"
        for name, value in present.items()
        if name not in kind.fields or not any(fits(shape, value) for shape in kind.fields[name].shapes)
    ]
    for name, known in kind.fields.items():
        value = present.get(name)
        # A required field that renders to null is missing: an empty value is not the author's way to give it.
        if value is None and known.required:
            wrong.append(f"field {name!r} is missing")
        if known.values and isinstance(value, str) and not known.takes(value):
            wrong.append(f"field {name!r} must be {_listed(known.values)}, not {value!r}")
    for names in kind.one_of:
        count = sum(name in present for name in names)
        if count != 1:
            wrong.append(f"{'one' if not count else 'only one'} of the fields {_listed(names)} must be given")
    for names in kind.only_one:
        if sum(name in present for name in names) > 1:
            wrong.append(f"only one of the fields {_listed(names)} may be given")
    return tuple(wrong)


def fits(shape: FieldShape, value: Json) -> bool:
    """Whether a rendered value has a shape. A number is text too: a port or a name may be written as one."""
    match shape:
        case "any":
            return True
        case "text":
            return isinstance(value, str | int | float) and not isinstance(value, bool)
        case "name":
            return isinstance(value, str)
        case "integer":
            # A truth value is an `int` to Python, here and below.
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "boolean":
            return isinstance(value, bool)
        case "duration":
            return seconds_of(value) is not None
        case "map":
            return isinstance(value, dict)
        case "list":
            return isinstance(value, list)
        case "map of text":
            return isinstance(value, dict) and all(isinstance(entry, str) for entry in value.values())
        case "list of names":
            return isinstance(value, list) and all(isinstance(entry, str) for entry in value)


def kind_word(value: Json) -> str:
    """The kind of a value, for messages; never its content, which may be secret."""
    match value:
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "a list"
        case dict():
            return "a map"
    return "null"


def _found(shapes: tuple[FieldShape, ...], value: Json) -> str:
    """The kind of a value that has none of some shapes; of a list of names, what is in it that is none."""
    odd = next((item for item in value if not isinstance(item, str)), None) if isinstance(value, list) else None
    return f"a list with {kind_word(odd)}" if odd is not None and "list of names" in shapes else kind_word(value)


def _listed(words: tuple[str, ...]) -> str:
    return " or ".join(words) if len(words) < 3 else f"{', '.join(words[:-1])} or {words[-1]}"


def sql_fields(params: str) -> dict[str, Field]:
    """The fields of every kind that runs SQL; `params` says how values are written that the driver binds."""
    return {
        "command": Field(("text",), text="sql", doc="SQL; with several statements the result is that of the last one."),
        # Playbooks of all dialects have the statement under one of these names; `one_of` keeps two of them from being
        # given.
        "query": Field(("text",), text="sql", doc="Another name for `command`."),
        "sql": Field(("text",), text="sql", doc="Another name for `command`."),
        "statement": Field(("text",), text="sql", doc="Another name for `command`."),
        "code": Field(("text",), text="sql", doc="Another name for `command`."),
        "commands": Field(("text", "list"), text="sql", doc="SQL texts that run in order, in one transaction."),
        "command_b64": Field(("text",), text="literal", doc="`command` as base64 of its UTF-8 text."),
        # No program text: a path or a mapping, whose text is rendered like any other.
        "script": Field(
            ("text", "map"),
            doc="A file with the SQL: a path, or {uri, source: {type: file}}; or SQL, {source: {type: inline, code}}.",
        ),
        "params": Field(("map", "list"), doc=f"Values bound by the driver: {params}."),
        "parameters": Field(("map", "list"), doc="Another name for `params`."),
        "table": Field(("text",), doc="Storage form: the table that `args` are written to, with its schema if any."),
        "key": Field(("text", "list"), doc="Storage form: the columns that tell rows apart, for `mode: upsert`."),
        "mode": Field(
            ("text",),
            values=("insert", "append", "upsert", "replace"),
            doc="Storage form: upsert with `key`, else insert; replace removes all other rows.",
        ),
        "data": Field(("map", "list"), doc="Storage form: the row or rows to write; `args` when absent."),
    }


SQL_KNOBS: Mapping[str, Field] = MappingProxyType(
    {
        "max_rows": Field(("integer",), doc="Most rows that a result may have; 1,000,000 when absent."),
        "each_statement": Field(
            ("boolean",),
            doc="Whether the result has `command_N` too, {status, rows, row_count, columns} of the N-th one from 0 on; "
            "true when absent where the file names one.",
        ),
    }
)
"""The knobs of every kind that runs SQL."""

SQL_TEXTS = ("command", "query", "sql", "statement", "code", "commands", "command_b64", "script", "table")
"""The fields of a SQL kind of which one is given."""
