"""Expression nodes: the only form that a template has after parsing.

An expression is Jinja2's expression language (Jinja2 3.1, "Expressions"). `start` and `end` are offsets in
code points inside the template text, kept out of equality so that equal text means equal nodes.
A template is the value tree that a playbook field holds: a constant, a lone expression, text with
expressions in it, a mapping, a list, or a block template that only the worker may render.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

Json: TypeAlias = "None | bool | int | float | str | list[Json] | dict[str, Json]"
"""A value that plans, events and messages can carry. Integers are unbounded."""


def _offset() -> int:
    return field(default=0, compare=False, repr=False)  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Const:
    """A literal: null, boolean, number or text."""

    value: None | bool | int | float | str
    start: int = _offset()
    end: int = _offset()


@dataclass(frozen=True, slots=True)
class Name:
    """A bare name; which scope it means is decided by `noetl_ir.scopes` (LANGUAGE §2)."""

    name: str
    start: int = _offset()
    end: int = _offset()


@dataclass(frozen=True, slots=True)
class Attribute:
    """`of.name`: the value under the key `name`, before anything else."""

    of: "Expr"
    name: str
    start: int = _offset()
    end: int = _offset()


@dataclass(frozen=True, slots=True)
class Item:
    """`of[key]`."""

    of: "Expr"
    key: "Expr"
    start: int = _offset()
    end: int = _offset()


@dataclass(frozen=True, slots=True)
class Slice:
    """`of[lower:upper:step]`, each part optional."""

    of: "Expr"
    lower: "Expr | None"
    upper: "Expr | None"
    step: "Expr | None"
    start: int = _offset()
    end: int = _offset()


@dataclass(frozen=True, slots=True)
class Call:
    """`callee(args, **named)`: a global function, or one of the closed list of pure methods."""

    callee: "Expr"
    args: "tuple[Expr, ...]"
    named: "tuple[tuple[str, Expr], ...]"
    start: int = _offset()
    end: int = _offset()


@dataclass(frozen=True, slots=True)
class Filter:
    """`of | name(args, **named)`."""

    of: "Expr"
    name: str
    args: "tuple[Expr, ...]"
    named: "tuple[tuple[str, Expr], ...]"
    start: int = _offset()
    end: int = _offset()


@dataclass(frozen=True, slots=True)
class Test:
    """`of is name(args)`; `is not` is a `Not` around it."""

    of: "Expr"
    name: str
    args: "tuple[Expr, ...]"
    named: "tuple[tuple[str, Expr], ...]"
    start: int = _offset()
    end: int = _offset()


@dataclass(frozen=True, slots=True)
class Unary:
    """`op of` with op `-` or `+`."""

    op: str
    of: "Expr"
    start: int = _offset()
    end: int = _offset()


@dataclass(frozen=True, slots=True)
class Not:
    """`not of`."""

    of: "Expr"
    start: int = _offset()
    end: int = _offset()


@dataclass(frozen=True, slots=True)
class Binary:
    """`left op right` with op one of `+ - * / // % **`."""

    op: str
    left: "Expr"
    right: "Expr"
    start: int = _offset()
    end: int = _offset()


@dataclass(frozen=True, slots=True)
class Concat:
    """`a ~ b ~ c`: the texts of all parts joined."""

    parts: "tuple[Expr, ...]"
    start: int = _offset()
    end: int = _offset()


@dataclass(frozen=True, slots=True)
class Logic:
    """`left and right`, `left or right`: yields an operand, as Python does."""

    op: str
    left: "Expr"
    right: "Expr"
    start: int = _offset()
    end: int = _offset()


@dataclass(frozen=True, slots=True)
class Compare:
    """`first op expr op expr …` with ops `== != < <= > >= in` and `not in`; chains as Python does."""

    first: "Expr"
    rest: "tuple[tuple[str, Expr], ...]"
    start: int = _offset()
    end: int = _offset()


@dataclass(frozen=True, slots=True)
class Conditional:
    """`then if test else otherwise`; without `else` the value is undefined."""

    test: "Expr"
    then: "Expr"
    otherwise: "Expr | None"
    start: int = _offset()
    end: int = _offset()


@dataclass(frozen=True, slots=True)
class ListOf:
    """`[a, b]`."""

    items: "tuple[Expr, ...]"
    start: int = _offset()
    end: int = _offset()


@dataclass(frozen=True, slots=True)
class TupleOf:
    """`(a, b)`: a list wherever it leaves an expression."""

    items: "tuple[Expr, ...]"
    start: int = _offset()
    end: int = _offset()


@dataclass(frozen=True, slots=True)
class MapOf:
    """`{k: v}`."""

    items: "tuple[tuple[Expr, Expr], ...]"
    start: int = _offset()
    end: int = _offset()


Expr: TypeAlias = (
    Const | Name | Attribute | Item | Slice | Call | Filter | Test | Unary | Not | Binary | Concat | Logic
    | Compare | Conditional | ListOf | TupleOf | MapOf
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant value tree without any template in it."""

    value: Json


@dataclass(frozen=True, slots=True)
class Native:
    """A string that is exactly one `{{ expression }}`: yields the expression's value. `text` is as written."""

    expr: Expr
    text: str = field(compare=False)


@dataclass(frozen=True, slots=True)
class Text:
    """Text with expressions in it: renders to text and stays text. `text` is as written."""

    parts: tuple[str | Expr, ...]
    text: str = field(compare=False)


@dataclass(frozen=True, slots=True)
class MapTemplate:
    """A mapping of which at least one value is a template; keys are plain text, order as written."""

    items: "tuple[tuple[str, Template], ...]"


@dataclass(frozen=True, slots=True)
class ListTemplate:
    """A list of which at least one entry is a template."""

    items: "tuple[Template, ...]"


@dataclass(frozen=True, slots=True)
class Block:
    """A Jinja2 block template (`{% %}`), legal in task fields only; the worker renders it in the sandbox."""

    text: str


Template: TypeAlias = Literal | Native | Text | MapTemplate | ListTemplate | Block

NULL = Literal(None)
Names: TypeAlias = Mapping[str, Json]
