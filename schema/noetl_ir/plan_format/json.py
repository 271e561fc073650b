"""The JSON form of a plan, for people and other programs; it loads like the bytes do.

Records are objects with their fields' names, spans are `[line, column, end_line, end_column]`, embedded plans are
base64. Expressions and templates are rows as in the byte form, with words for tags. What a record is made of is
read off its annotations, so that a new field is in this form and in its schema by existing. `digest` is that of the
byte form: layout and the order of keys in records are free, and any other change is refused.
"""

from collections.abc import Callable, Mapping, Sequence
from types import NoneType, UnionType
from typing import TypeAlias, Union, cast, get_args, get_origin, get_type_hints

from noetl_ir.codec import CodecError
from noetl_ir.expr import Json, Template
from noetl_ir.net import PlaceClass, Trigger, Weight
from noetl_ir.plan import EXTENSIONS, Limits, Plan, extensions_of
from noetl_ir.plan_format import READABLE, VERSION, PlanError, digest_of, write_plan
from noetl_ir.plan_format.columns import Malformed
from noetl_ir.plan_format.nodes import BadNodes, ExpressionReader, Expressions
from noetl_ir.plan_format.templates import row_of, template_of
from noetl_ir.span import Span
from noetl_ir.verify import verify

FORMAT = "noetl-plan"

EXPRESSION_WORDS = (
    *("const", "name", "attribute", "item", "slice", "call", "filter", "test", "unary", "not", "binary"),
    *("concat", "logic", "compare", "conditional", "list", "tuple", "map"),
)
TEMPLATE_WORDS = ("literal", "native", "text", "map", "list", "block")
"""The words for the tags of rows, by tag."""

_APART = frozenset({"templates", "edition"})
_LATER = frozenset(Limits._fields[4:])
"""Limits that formats 1 and 2 do not have."""
_HEAD = frozenset({"format", "version_of_format", "digest"})
_SCALARS = (bool, int, float, str)


def plan_to_json(plan: Plan) -> dict[str, Json]:
    """The JSON form of a plan."""
    expressions = Expressions()
    rows = [row_of(template, expressions) for template in plan.templates]
    left_out = _APART | {*EXTENSIONS} - extensions_of(plan).keys()
    fields = {name: _written(value) for name, value in plan._asdict().items() if name not in left_out}
    if plan.edition < 3:
        fields["limits"] = {name: value for name, value in plan.limits._asdict().items() if name not in _LATER}
    return {
        "format": FORMAT,
        "version_of_format": plan.edition,
        "digest": digest_of(write_plan(plan)),
        **fields,
        "expressions": [_worded(row, EXPRESSION_WORDS) for row in expressions.listed()],
        "templates": [_worded(row, TEMPLATE_WORDS) for row in rows],
    }


def plan_from_json(value: Json) -> Plan:
    """The plan of a JSON form, checked through and through. Raises PlanError."""
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise PlanError("this is not a plan")
    edition = value.get("version_of_format")
    if type(edition) is not int or edition not in READABLE:
        raise PlanError(f"the plan has format {edition}, and {VERSION} is known here")
    known = {key: item for key, item in value.items() if key not in _HEAD}
    if edition < 3 and isinstance(limits := known.get("limits"), dict):
        # An older runtime would not know them, and run with others than the plan says.
        if limits.keys() & _LATER:
            raise PlanError(f"the plan is damaged: format {edition} has no such limits")
        known["limits"] = {**{name: Limits._field_defaults[name] for name in _LATER}, **limits}
    extended = known.keys() & {*EXTENSIONS}
    if bool(extended) != (edition > 3):
        raise PlanError(f"the plan is damaged: format {edition} with {', '.join(sorted(extended)) or 'no'} extensions")
    absent = {name: Plan._field_defaults[name] for name in EXTENSIONS if name not in extended}
    try:
        reader = ExpressionReader(_tagged(known.pop("expressions", None), EXPRESSION_WORDS))
        rows = _tagged(known.pop("templates", None), TEMPLATE_WORDS)
        templates = tuple([template_of(row, reader) for row in rows])
        plan = cast("Plan", _record(Plan, {"templates": (), "edition": edition, **absent}, known))._replace(
            templates=templates
        )
    except (Malformed, BadNodes) as problem:
        raise PlanError(f"the plan is damaged: {problem}") from problem
    # A child runs under its digest, which a person who edits this form may forget to make anew.
    for child in plan.children:
        if digest_of(child.data) != child.digest:
            raise PlanError("an embedded plan is not the one that was named")
    problems = verify(plan)
    if problems:
        raise PlanError(f"the plan is not sound: {problems[0]}")
    # The digest of the byte form, made anew: layout is free, content is not.
    if value.get("digest") != _digest(plan):
        raise PlanError("the plan was altered: its digest is not that of its content")
    return plan


def _digest(plan: Plan) -> str:
    try:
        return digest_of(write_plan(plan))
    except CodecError as problem:
        raise PlanError(f"the plan is damaged: {problem}") from problem


def templates_to_json(templates: Mapping[str, Template]) -> dict[str, Json]:
    """Templates that belong to no plan, by their names."""
    expressions = Expressions()
    rows = {name: _worded(row_of(template, expressions), TEMPLATE_WORDS) for name, template in templates.items()}
    return {"expressions": [_worded(row, EXPRESSION_WORDS) for row in expressions.listed()], "templates": rows}


def templates_from_json(value: Json) -> dict[str, Template]:
    """Templates that belong to no plan, checked. Raises PlanError."""
    try:
        if not isinstance(value, dict) or not isinstance(rows := value.get("templates"), dict):
            raise Malformed("expected expressions and templates")
        reader = ExpressionReader(_tagged(value.get("expressions"), EXPRESSION_WORDS))
        tagged = _tagged([*rows.values()], TEMPLATE_WORDS)
        return {name: template_of(row, reader) for name, row in zip(rows, tagged, strict=True)}
    except (Malformed, BadNodes, RecursionError) as problem:
        raise PlanError(f"the templates are damaged: {problem}") from problem


def plan_schema() -> dict[str, Json]:
    """The JSON Schema of the JSON form."""
    definitions: dict[str, Json] = {}
    body = _record_schema(Plan, definitions)
    properties = cast("dict[str, Json]", body["properties"])
    properties.update(
        {
            "format": {"const": FORMAT},
            "version_of_format": {"enum": [*READABLE]},
            "digest": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
            "expressions": {"type": "array", "items": _row_schema(EXPRESSION_WORDS)},
            "templates": {"type": "array", "items": {"$ref": "#/$defs/Row"}},
        }
    )
    definitions["Row"] = _row_schema(TEMPLATE_WORDS)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A compiled NoETL playbook",
        **body,
        "required": [*sorted(properties.keys() - {*EXTENSIONS})],
        "$defs": dict(sorted(definitions.items())),
    }


def _written(value: object) -> Json:
    """A value of a plan as JSON; enumerations become their texts."""
    # JSON has no bytes; only embedded plans are some, so base64 is loaded by few.
    if isinstance(value, bytes):
        from base64 import b64encode

        return b64encode(value).decode("ascii")
    if isinstance(value, Span):
        return list(value)
    if isinstance(value, tuple):
        if hasattr(value, "_asdict"):
            return {name: _written(inner) for name, inner in value._asdict().items()}
        return [_written(inner) for inner in value]
    if isinstance(value, PlaceClass | Trigger | Weight):
        return value.value
    return cast("Json", value)


def _worded(row: object, words: tuple[str, ...]) -> Json:
    tag, *rest = cast("list[Json]", row)
    parts: list[Json] = [words[cast("int", tag)]]
    if words is TEMPLATE_WORDS and parts[0] == "map":
        entries = cast("list[list[Json]]", rest[0])
        return [*parts, [[name, _worded(inner, words)] for name, inner in entries]]
    if words is TEMPLATE_WORDS and parts[0] == "list":
        return [*parts, [_worded(inner, words) for inner in cast("list[Json]", rest[0])]]
    return [*parts, *rest]


def _tagged(rows: object, words: tuple[str, ...], depth: int = 0) -> list[object]:
    # Templates nest, and JSON from outside may nest deeper than Python's stack.
    if not isinstance(rows, list) or depth > 256:
        raise Malformed("expected a list of rows")
    return [_tag(row, words, depth) for row in rows]


def _tag(row: object, words: tuple[str, ...], depth: int) -> list[object]:
    if not isinstance(row, list) or not row or row[0] not in words:
        raise Malformed("a row has no known form")
    tag, rest = words.index(row[0]), row[1:]
    if words is TEMPLATE_WORDS and rest and row[0] == "list":
        return [tag, _tagged(rest[0], words, depth + 1), *rest[1:]]
    if words is TEMPLATE_WORDS and rest and row[0] == "map" and isinstance(rest[0], list):
        pairs = [pair for pair in rest[0] if isinstance(pair, list) and len(pair) == 2]
        if len(pairs) != len(rest[0]):
            raise Malformed("an entry of a mapping has no name")
        inner = _tagged([pair[1] for pair in pairs], words, depth + 1)
        return [tag, [[pair[0], value] for pair, value in zip(pairs, inner, strict=True)], *rest[1:]]
    return [tag, *rest]


_Reader: TypeAlias = Callable[[object], object]
_readers: dict[object, _Reader] = {}


def _reader(hint: object) -> _Reader:
    """How a value of an annotated type is read; made once for each annotation."""
    found = _readers.get(hint)
    if found is None:
        found = _readers[hint] = _made_reader(hint)
    return found


def _is_list(hint: object) -> bool:
    """Whether it is of any length."""
    return get_origin(hint) is Sequence or (get_origin(hint) is tuple and get_args(hint)[-1] is Ellipsis)


def _made_reader(hint: object) -> _Reader:
    arguments = get_args(hint)
    if get_origin(hint) in (UnionType, Union):
        return _union([_reader(option) for option in arguments])
    if _is_list(hint):
        inner = _reader(arguments[0])
        return lambda value: tuple([inner(item) for item in _list(value)])
    if get_origin(hint) is tuple:
        readers = [_reader(argument) for argument in arguments]
        return lambda value: _fixed(readers, value)
    if get_origin(hint) is dict:
        return _mapping
    if hint is Span:
        number = _reader(int)
        return lambda value: Span._make(_fixed([number] * 4, value))
    if hint is bytes:
        return _bytes
    if isinstance(hint, type) and hasattr(hint, "_fields"):
        return lambda value: _record(hint, {}, value)
    if isinstance(hint, type) and issubclass(hint, PlaceClass | Trigger | Weight):
        return lambda value: _member(hint, value)
    return lambda value: _exact(cast("type", hint), value)


def _record(kind: type, known: dict[str, object], value: object) -> object:
    if not isinstance(value, dict):
        raise Malformed(f"expected a {kind.__name__}")
    hints = _hints(kind)
    if value.keys() | known.keys() != hints.keys():
        raise Malformed(f"a {kind.__name__} has a field too many or too few")
    fields = {name: known[name] if name in known else _reader(hint)(value[name]) for name, hint in hints.items()}
    return kind(**fields)


_known_hints: dict[type, dict[str, object]] = {}


def _hints(kind: type) -> dict[str, object]:
    """The annotations of a record; those that nothing here reads are left as they stand."""
    if kind not in _known_hints:
        _known_hints[kind] = get_type_hints(kind)
    return _known_hints[kind]


def _union(options: list[_Reader]) -> _Reader:
    def read(value: object) -> object:
        # In the order of the annotation; the first that takes the value is right, since no two options of a plan's
        # fields take the same JSON.
        for option in options:
            try:
                return option(value)
            except Malformed:
                continue
        raise Malformed("a value has none of the types that it may have")

    return read


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise Malformed("expected a list")
    return value


def _fixed(readers: list[_Reader], value: object) -> tuple[object, ...]:
    items = _list(value)
    if len(items) != len(readers):
        raise Malformed("a list has an entry too many or too few")
    return tuple([read(item) for read, item in zip(readers, items, strict=True)])


def _mapping(value: object) -> object:
    if not isinstance(value, dict):
        raise Malformed("expected a mapping")
    return value


def _bytes(value: object) -> bytes:
    from base64 import b64decode
    from binascii import Error

    try:
        return b64decode(cast("str", value), validate=True)
    except (Error, TypeError, ValueError) as problem:
        raise Malformed("an embedded plan is not base64") from problem


def _member(enumeration: type, value: object) -> object:
    try:
        return enumeration(value)
    except ValueError as problem:
        raise Malformed(f"{value!r} is no {enumeration.__name__}") from problem


def _exact(kind: type, value: object) -> object:
    # Exact types: `true` is no number here, though Python takes it for one.
    if type(value) is not kind and not (kind is float and type(value) is int):
        raise Malformed(f"expected {kind.__name__}, found {type(value).__name__}")
    # JSON writes 1.0 as 1. Kept as an int it would have other bytes, and another digest, than the same plan compiled.
    return float(cast("float", value)) if kind is float else value


def _record_schema(kind: type, definitions: dict[str, Json]) -> dict[str, Json]:
    properties: dict[str, Json] = {
        name: _schema(hint, definitions) for name, hint in _hints(kind).items() if hint != Template
    }
    if kind is Plan:
        for name in _APART:
            properties.pop(name, None)
    return {
        "type": "object",
        "properties": properties,
        "required": [*sorted(name for name in properties if name not in _optional(kind))],
        "additionalProperties": False,
    }


def _optional(kind: type) -> frozenset[str]:
    """The fields of a record that not every format has."""
    return _LATER if kind is Limits else frozenset(EXTENSIONS) if kind is Plan else frozenset()


_NAMES: dict[object, str] = {bool: "boolean", int: "integer", float: "number", str: "string", NoneType: "null"}


def _schema(hint: object, definitions: dict[str, Json]) -> Json:
    arguments = get_args(hint)
    if get_origin(hint) in (UnionType, Union):
        return {"anyOf": [_schema(option, definitions) for option in arguments]}
    if _is_list(hint):
        return {"type": "array", "items": _schema(arguments[0], definitions)}
    if get_origin(hint) is tuple:
        return _listed([_schema(argument, definitions) for argument in arguments])
    if hint is Span:
        return _listed([{"type": "integer"}] * 4)
    if hint is bytes:
        return {"type": "string", "contentEncoding": "base64"}
    if isinstance(hint, type) and hasattr(hint, "_fields"):
        name = f"{hint.__module__.rpartition('.')[2].capitalize()}{hint.__name__}"
        if name not in definitions:
            # Entered before it is made, so that a record which holds its own kind ends.
            definitions[name] = {}
            definitions[name] = _record_schema(hint, definitions)
        return {"$ref": f"#/$defs/{name}"}
    if isinstance(hint, type) and issubclass(hint, PlaceClass | Trigger | Weight):
        return {"enum": [member.value for member in hint]}
    return {"type": _NAMES[hint]} if hint in _NAMES else {"type": "object"}


def _listed(items: list[Json]) -> dict[str, Json]:
    return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}


def _row_schema(words: tuple[str, ...]) -> dict[str, Json]:
    return {"type": "array", "prefixItems": [{"enum": [*words]}], "minItems": 2}
