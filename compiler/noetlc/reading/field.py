"""A field or knob of a tool kind, checked against the kind's table as far as its value is written out."""

from noetl_ir.expr import Json, ListTemplate, Literal, MapTemplate
from noetl_ir.kinds import Field, FieldShape, Kind, fits
from noetl_ir.nearest import nearest
from noetlc.ast.playbook import Value
from noetlc.diag.diagnostic import Fix
from noetlc.reading.drafts import TaskDraft
from noetlc.reading.idle import asks_for_nothing, help_for
from noetlc.reading.programs import program_text
from noetlc.reading.reader import Reader
from noetlc.reading.shapes import describe, is_misspelt, missing, quotes_told
from noetlc.reading.values import literal_text, read_value
from noetlc.source.nodes import Node, Scalar
from noetlc.source.resolve import resolve

_READERS = {
    "template": read_value,
    "code": literal_text,
    "literal": literal_text,
    "sql": program_text,
    "shell": program_text,
}
_SHAPE_NAMES = {
    "text": "text",
    "name": "a name",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "`true` or `false`",
    "duration": "a duration",
    "map": "a mapping",
    "list": "a list",
    "map of text": "a mapping of texts",
    "list of names": "a list of names",
}

_TYPES: tuple[tuple[str, tuple[type, ...]], ...] = (
    ("integer", (int,)), ("number", (int, float)), ("boolean", (bool,)), ("duration", (int, float)),
)  # fmt: skip
"""Shape → the types that a plain scalar of it has."""

_WRITTEN = (
    ("text", '"…"'), ("list of names", "[NAME, …]"), ("map", "{key: value}"), ("map of text", '{key: "…"}'),
    ("list", "[…, …]"),
)  # fmt: skip
"""Shape → how a value of it looks."""


def read_field(r: Reader, field: Field, name: str, node: Node) -> Value:
    """The value of a field, with a finding where no rendering of it can have a shape that the field takes."""
    value = _READERS[field.text](r, node)
    # Where only a boolean can stand, `yes` is meant as one, and the advice is `true` instead of quotes.
    if isinstance(node, Scalar) and isinstance(node.value, bool) and set(field.shapes) == {"boolean"}:
        r.meant[node.span] = "boolean"
    if not _fits(field, value):
        expected = " or ".join(_SHAPE_NAMES[shape] for shape in field.shapes if shape != "any")
        types = tuple([kind for shape, kinds in _TYPES if shape in field.shapes for kind in kinds])
        # A number in quotes gets its own text: the value is right, and the quotes are what is wrong.
        if quotes_told(r, "NL102", f"`{name}`: expected {expected};", node, types):
            return value
        help = next((f"write `{name}: {written}`" for shape, written in _WRITTEN if shape in field.shapes), "")
        r.report("NL102", f"`{name}`: expected {expected}, found {describe(node)}", node.span, help=help)
    elif {"name", "list of names"} <= {*field.shapes} and isinstance(node, Scalar) and "," in node.text:
        return _as_list(r, name, node, value)
    elif field.values and isinstance(value.template, Literal):
        _check_choice(r, field, name, value)
    elif field.runs and isinstance(value.template, Literal) and value.template.value not in (None, *field.runs):
        listed = " or ".join(f"`{each}`" for each in field.runs)
        message = f"`{name}: {value.template.value}` is not run here: only {listed} is"
        r.report("NL115", message, value.span, help=f"write `{name}: {field.runs[0]}`, or run it where there is one")
    return value


def _fits(field: Field, value: Value) -> bool:
    shapes = field.shapes
    match value.template:
        case Literal(value=literal):
            # Nothing written is the field not given.
            return literal is None or any(_has_shape(literal, shape) for shape in shapes)
        case MapTemplate():
            return any(shape in ("any", "map", "map of text") for shape in shapes)
        case ListTemplate(items=items):
            if "list of names" in shapes:
                return all(not isinstance(item, Literal) or isinstance(item.value, str) for item in items)
            return any(shape in ("any", "list") for shape in shapes)
        # An expression may give anything; the worker checks its value against the same shapes.
        case _:
            return True


def _has_shape(value: Json, shape: FieldShape) -> bool:
    """As for a rendered value, but that the entries of a map are texts once they are rendered."""
    return isinstance(value, dict) if shape == "map of text" else fits(shape, value)


def _as_list(r: Reader, name: str, node: Scalar, value: Value) -> Value:
    """Several names in one text are read as the list that is meant, so that one slip has one finding."""
    if not isinstance(value.template, Literal):
        return value
    names = [part.strip() for part in node.text.split(",") if part.strip()]
    # In the list `no` would be a boolean.
    written = f"[{', '.join(name if resolve(name).value == name else repr(name) for name in names)}]"
    fix = Fix(node.span, written, f"write `{written}`")
    r.report("NL102", f"`{name}`: several names are a list", node.span, help=f"write `{name}: {written}`", fix=fix)
    return value._replace(template=Literal([*names]))


def _check_choice(r: Reader, field: Field, name: str, value: Value) -> None:
    assert isinstance(value.template, Literal)
    text = value.template.value
    if text is None or field.takes(str(text)):
        return
    # Compared in the case of the table: `get` is no slip for `GET`, and `gte` is near to it.
    near = nearest(str(text).upper() if field.any_case else str(text), field.values)
    listed = ", ".join(f"`{each}`" for each in field.values)
    r.report(
        "NL104",
        f"`{name}`: `{text}` is not one of {listed}",
        value.span,
        help=f"did you mean `{near}`?" if near else "",
        fix=Fix(value.span, near, f"write `{near}`", safe=False) if near else None,
    )


def check_required(r: Reader, draft: TaskDraft, kind: Kind) -> None:
    """Report fields that the kind requires or that have no effect, and sets of which one must or may be given."""
    present = {name for name, _ in draft.fields}
    for name, span in draft.field_spans:
        if kind.fields[name].idle and not asks_for_nothing(name, draft.node.get(name)):
            r.report("NL110", f"`{name}` is accepted and has no effect", span, help=help_for(name))
    # A key that is spelt nearly like the required one was told as unknown: one mistake, one finding.
    known = (*kind.fields, *r.tables.task)
    for name, field in kind.fields.items():
        if field.required and name not in present and not is_misspelt(draft.node, name, known):
            missing(
                r,
                f"the field `{name}` of the `{kind.name}` task `{draft.name}`",
                draft.name_span,
                help=f"write `{name}: …`",
            )
    for names in (*kind.one_of, *kind.only_one):
        found = [name for name in names if name in present]
        listed = ", ".join(f"`{name}`" for name in names)
        if not found and (names in kind.only_one or any(is_misspelt(draft.node, name, known) for name in names)):
            continue
        if not found:
            what = f"one of {listed} in the `{kind.name}` task `{draft.name}`"
            missing(r, what, draft.name_span, help=f"write `{names[0]}: …` below `kind`")
        elif len(found) > 1:
            spans = dict(draft.field_spans)
            r.report(
                "NL109",
                f"a `{kind.name}` task takes only one of {listed}",
                spans[found[1]],
                help=f"`{found[0]}` is given already",
            )
