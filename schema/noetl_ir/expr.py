"""Expression nodes: the only form that a template has after parsing.

An expression is Jinja2's expression language (Jinja2 3.1, "Expressions"). `start` and `end` are offsets in
code points inside the template text, kept out of equality so that equal text means equal nodes.
A template is the value tree that a playbook field holds: a constant, a lone expression, text with
expressions in it, a mapping, a list, or a block template that only the worker may render.

In the `named` arguments of calls, filters and tests the names `*` and `**` stand for unpacked arguments.
"""

from collections.abc import Iterator, Mapping
from typing import TypeAlias, dataclass_transform

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
"""A value that plans, events and messages can carry. Integers are unbounded."""


@dataclass_transform(frozen_default=True)
class _Final(type):
    """Makes a class of slots out of annotations, as a frozen dataclass would be, at a tenth of its cost.

    A plan of 1,000 steps holds tens of thousands of nodes and a small command must start in milliseconds, so
    neither dataclasses' import nor its frozen constructor is affordable; the constructor of a class is compiled
    with its first node. That nobody assigns to a field is checked by mypy only. Equality and hash tell `1`, `1.0`
    and `true` apart.
    """

    def __new__(
        mcs, name: str, bases: tuple[type, ...], space: dict[str, object], apart: tuple[str, ...] = ()
    ) -> "_Final":
        fields: dict[str, object] = space.get("__annotations__", {})  # type: ignore[assignment]
        space["_signature"] = ", ".join(
            f"{field}={space.pop(field)!r}" if field in space else field for field in fields
        )
        space["__slots__"] = space["__match_args__"] = tuple(fields)
        space["_compared"] = tuple(field for field in fields if field not in ("start", "end", *apart))
        return super().__new__(mcs, name, bases, space)

    def complete(cls) -> None:
        """Compile the constructor, and the key where the class has none of its own."""
        fields: tuple[str, ...] = cls.__match_args__  # type: ignore[attr-defined]
        body = "; ".join(f"self.{field} = {field}" for field in fields)
        key = "".join(f"self.{field}, " for field in cls._compared)  # type: ignore[attr-defined]
        made: dict[str, object] = {}
        signature: str = cls._signature  # type: ignore[attr-defined]
        # Names of fields of this file only, never text of a playbook. A written constructor is three times as fast as
        # one that loops over the fields.
        exec(f"def __init__(self, {signature}): {body}\ndef _key(self): return ({key})", {}, made)
        for method in made.keys() - vars(cls).keys():
            setattr(cls, method, made[method])


class _Node(metaclass=_Final):
    """A value: equal when of one class and with equal fields."""

    def __init__(self, *positional: object, **named: object) -> None:
        """The first node of a class."""
        # From the second node on the compiled constructor stands in this one's place.
        type(self).complete()
        self.__init__(*positional, **named)  # type: ignore[misc]

    def _key(self) -> tuple[object, ...]:
        type(self).complete()
        return self._key()

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((type(self).__name__, self._key()))

    def __repr__(self) -> str:
        names: tuple[str, ...] = self._compared  # type: ignore[attr-defined]
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"


class Const(_Node):
    """A literal: null, boolean, number or text."""

    value: bool | int | float | str | None
    start: int = 0
    end: int = 0

    def _key(self) -> tuple[object, ...]:
        # In Python 1 == 1.0 == True, and 0.0 == -0.0.
        return (type(self.value), self.value, repr(self.value) if type(self.value) is float else "")


class Name(_Node):
    """A bare name; which scope it means is decided by `noetl_ir.scopes` (LANGUAGE §2)."""

    name: str
    start: int = 0
    end: int = 0


class Attribute(_Node):
    """`of.name`: the value under the key `name`, before anything else."""

    of: "Expr"
    name: str
    start: int = 0
    end: int = 0


class Item(_Node):
    """`of[key]`."""

    of: "Expr"
    key: "Expr"
    start: int = 0
    end: int = 0


class Slice(_Node):
    """`of[lower:upper:step]`, each part optional."""

    of: "Expr"
    lower: "Expr | None"
    upper: "Expr | None"
    step: "Expr | None"
    start: int = 0
    end: int = 0


class Call(_Node):
    """`callee(args, **named)`: a global function, or one of the closed list of pure methods."""

    callee: "Expr"
    args: "tuple[Expr, ...]"
    named: "tuple[tuple[str, Expr], ...]"
    start: int = 0
    end: int = 0


class Filter(_Node):
    """`of | name(args, **named)`."""

    of: "Expr"
    name: str
    args: "tuple[Expr, ...]"
    named: "tuple[tuple[str, Expr], ...]"
    start: int = 0
    end: int = 0


class Test(_Node):
    """`of is name(args)`; `is not` is a `Not` around it."""

    of: "Expr"
    name: str
    args: "tuple[Expr, ...]"
    named: "tuple[tuple[str, Expr], ...]"
    start: int = 0
    end: int = 0


class Unary(_Node):
    """`op of` with op `-` or `+`."""

    op: str
    of: "Expr"
    start: int = 0
    end: int = 0


class Not(_Node):
    """`not of`."""

    of: "Expr"
    start: int = 0
    end: int = 0


class Binary(_Node):
    """`left op right` with op one of `+ - * / // % **`."""

    op: str
    left: "Expr"
    right: "Expr"
    start: int = 0
    end: int = 0


class Concat(_Node):
    """`a ~ b ~ c`: the texts of all parts joined."""

    parts: "tuple[Expr, ...]"
    start: int = 0
    end: int = 0


class Logic(_Node):
    """`left and right`, `left or right`: yields an operand, as Python does."""

    op: str
    left: "Expr"
    right: "Expr"
    start: int = 0
    end: int = 0


class Compare(_Node):
    """`first op expr op expr …` with ops `== != < <= > >= in` and `not in`; chains as Python does."""

    first: "Expr"
    rest: "tuple[tuple[str, Expr], ...]"
    start: int = 0
    end: int = 0


class Conditional(_Node):
    """`then if test else otherwise`; without `else` the value is undefined."""

    test: "Expr"
    then: "Expr"
    otherwise: "Expr | None"
    start: int = 0
    end: int = 0


class ListOf(_Node):
    """`[a, b]`."""

    items: "tuple[Expr, ...]"
    start: int = 0
    end: int = 0


class TupleOf(_Node):
    """`(a, b)`: a list wherever it leaves an expression."""

    items: "tuple[Expr, ...]"
    start: int = 0
    end: int = 0


class MapOf(_Node):
    """`{k: v}`."""

    items: "tuple[tuple[Expr, Expr], ...]"
    start: int = 0
    end: int = 0


Expr: TypeAlias = (
    Const | Name | Attribute | Item | Slice | Call | Filter | Test | Unary | Not | Binary | Concat | Logic
    | Compare | Conditional | ListOf | TupleOf | MapOf
)  # fmt: skip


class Literal(_Node):
    """A constant value tree without any template in it."""

    value: Json

    def _key(self) -> tuple[object, ...]:
        return (repr(self.value),)


class Native(_Node, apart=("text",)):
    """A string that is exactly one `{{ expression }}`: gives its value. `text` is as written."""

    expr: Expr
    text: str


class Text(_Node, apart=("text",)):
    """Text with expressions in it: renders to text and stays text. `text` is as written."""

    parts: tuple[str | Expr, ...]
    text: str


class MapTemplate(_Node):
    """A mapping of which at least one value is a template; keys are plain text, order as written."""

    items: "tuple[tuple[str, Template], ...]"


class ListTemplate(_Node):
    """A list of which at least one entry is a template."""

    items: "tuple[Template, ...]"


class Block(_Node):
    """A Jinja2 block template (`{% %}`), legal in task fields only; the worker renders it in the sandbox."""

    text: str


Template: TypeAlias = Literal | Native | Text | MapTemplate | ListTemplate | Block

NULL = Literal(None)
_Names: TypeAlias = Mapping[str, Json]


def children(expr: Expr) -> tuple[Expr, ...]:
    """The expressions directly inside `expr`, in the order of the source text."""
    match expr:
        case Const() | Name():
            return ()
        case Attribute(of=of) | Unary(of=of) | Not(of=of):
            return (of,)
        case Item(of=of, key=key):
            return (of, key)
        case Slice(of=of, lower=lower, upper=upper, step=step):
            return (of, *(part for part in (lower, upper, step) if part is not None))
        case Call(callee=of, args=args, named=named) | Filter(of=of, args=args, named=named):
            return (of, *args, *(value for _, value in named))
        case Test(of=of, args=args, named=named):
            return (of, *args, *(value for _, value in named))
        case Binary(left=left, right=right) | Logic(left=left, right=right):
            return (left, right)
        case Concat(parts=parts):
            return parts
        case Compare(first=first, rest=rest):
            return (first, *(right for _, right in rest))
        case Conditional(test=test, then=then, otherwise=otherwise):
            return (then, test) if otherwise is None else (then, test, otherwise)
        case ListOf(items=items) | TupleOf(items=items):
            return items
        case MapOf(items=pairs):
            return tuple(part for pair in pairs for part in pair)


def operands_of(chain: Logic) -> list[Expr]:
    """The operands of a chain of one word (`a or b or c`), from left to right.

    A guard of a thousand `or` is a left-leaning chain: it is walked, not recursed into, so that no file can exhaust the
    stack.
    """
    found: list[Expr] = []
    here: Expr = chain
    while isinstance(here, Logic) and here.op == chain.op:
        found.append(here.right)
        here = here.left
    found.append(here)
    found.reverse()
    return found


def walk(expr: Expr) -> Iterator[Expr]:
    """`expr` and everything inside it, outermost first; without recursion."""
    waiting = [expr]
    while waiting:
        here = waiting.pop()
        yield here
        waiting.extend(reversed(children(here)))


def expressions_of(template: Template) -> Iterator[Expr]:
    """The expressions of a template, in file order; none for a block template."""
    match template:
        case Native(expr=expr):
            yield expr
        case Text(parts=parts):
            yield from (part for part in parts if not isinstance(part, str))
        case MapTemplate(items=pairs):
            for _, value in pairs:
                yield from expressions_of(value)
        case ListTemplate(items=entries):
            for entry in entries:
                yield from expressions_of(entry)
        case Literal() | Block():
            return


def entries_of(template: Template) -> Mapping[str, Template] | None:
    """The template of each key of a mapping; None where it is none, or all of it is computed."""
    if isinstance(template, MapTemplate):
        return dict(template.items)
    if isinstance(template, Literal) and isinstance(template.value, dict):
        return {key: Literal(value) for key, value in template.value.items()}
    return None


def texts_in(value: Json) -> Iterator[str]:
    """The texts in a value, keys aside, in order."""
    match value:
        case str():
            yield value
        case dict():
            for inner in value.values():
                yield from texts_in(inner)
        case list():
            for inner in value:
                yield from texts_in(inner)
