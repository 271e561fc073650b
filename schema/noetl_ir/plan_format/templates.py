"""Templates as rows over the rows of their expressions (`noetl_ir.plan_format.nodes`)."""

from noetl_ir.codec import count_of, unpack_trusted
from noetl_ir.expr import (
    Block,
    Expr,
    Json,
    ListTemplate,
    Literal,
    MapTemplate,
    Native,
    Template,
    Text,
)
from noetl_ir.plan_format.nodes import BadNodes, ExpressionReader, Expressions

# Numbers of a stored format: a new form goes at the end, and none is ever used for another one.
LITERAL, NATIVE, TEXT, MAP, LIST, BLOCK = range(6)
MAX_DEPTH = 256
"""How deep templates may stand inside each other."""


def row_of(template: Template, expressions: Expressions) -> list[object]:
    """The row of a template; what is new in its expressions is added to `expressions`.

    The depth of templates is that of the file, which its reader bounds.
    """
    match template:
        case Literal(value=value):
            return [LITERAL, value]
        case Native(expr=expr, text=text):
            return [NATIVE, expressions.add_expression(expr), text]
        case Text(parts=parts, text=text):
            rows = [part if isinstance(part, str) else expressions.add_expression(part) for part in parts]
            return [TEXT, rows, text]
        case MapTemplate(items=items):
            return [MAP, [[name, row_of(inner, expressions)] for name, inner in items]]
        case ListTemplate(items=entries):
            return [LIST, [row_of(inner, expressions) for inner in entries]]
        case Block(text=text):
            return [BLOCK, text]


def template_of(row: object, expressions: ExpressionReader, depth: int = 0) -> Template:
    """The template of a row. Raises BadNodes."""
    # Bounded before anything is made: a plan may come from anybody, and Python's own stack ends in a crash.
    if type(row) is not list or len(row) < 2 or depth > MAX_DEPTH:
        raise BadNodes("a template has no known form")
    match row:
        # `False == 0 == 0.0` in a pattern: without the check such a row would pass as a form.
        case [0, value] if type(row[0]) is int:
            return Literal(value)
        case [1, int(index), str(text)]:
            return Native(expressions.at(index), text)
        case [2, list(parts), str(text)]:
            return Text(tuple([_part(part, expressions) for part in parts]), text)
        case [3, list(items)]:
            return MapTemplate(tuple([_entry(item, expressions, depth) for item in items]))
        case [4, list(entries)]:
            return ListTemplate(tuple([template_of(inner, expressions, depth + 1) for inner in entries]))
        case [5, str(text)]:
            return Block(text)
        case _:
            raise BadNodes("a template has no known form")


class LateTemplates:
    """The templates that were read before with all checks, of the bytes of their nodes and rows: each is made when it
    is asked for."""

    def __init__(self, nodes: memoryview, rows: memoryview) -> None:
        self._nodes = nodes
        self._rows = rows
        self._count = count_of(rows)
        self._there: tuple[ExpressionReader, list[Json]] | None = None

    def __len__(self) -> int:
        return self._count

    def values(self, start: int, stop: int) -> list[Template]:
        # At the first use and not before: a run that renders nothing pays for no template.
        if self._there is None:
            rows = unpack_trusted(self._rows)
            self._there = ExpressionReader(unpack_trusted(self._nodes)), rows if isinstance(rows, list) else []
        reader, rows = self._there
        return [template_of(row, reader) for row in rows[start:stop]]


def _part(part: object, expressions: ExpressionReader) -> str | Expr:
    return part if isinstance(part, str) else expressions.at(part)


def _entry(item: object, expressions: ExpressionReader, depth: int) -> tuple[str, Template]:
    match item:
        case [str(name), inner]:
            return name, template_of(inner, expressions, depth + 1)
        case _:
            raise BadNodes("an entry of a mapping has no name")
