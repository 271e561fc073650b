"""How many items a loop has: a number where the playbook writes it out, else the name of what is looped over.

`{{ workload.items }}` is `|items|`; of two loops over different things that end alike, each has the whole path. A size
is the most that there can be: filters that only leave out or reorder are looked through.
"""

from collections.abc import Iterator, Sequence

from noetl_ir.expr import (
    Call,
    Conditional,
    Const,
    Expr,
    Filter,
    ListOf,
    ListTemplate,
    Literal,
    MapTemplate,
    Name,
    Native,
    Template,
    TupleOf,
    Unary,
)
from noetl_ir.paths import static_path
from noetl_ir.plan import Loop, Plan
from noetlc.analysis.formulas import Formula, largest, number, size
from noetlc.expr.unparse import unparse

KEEPING = frozenset({"list", "sort", "reverse", "unique", "map", "select", "reject", "selectattr", "rejectattr"})
"""Filters that give no more items than they get."""

SCOPES = frozenset({"workload", "ctx", "iter", "args"})
"""Names in front of a path that say nothing about what is counted."""


class Sizes:
    """The sizes of a plan's loops, each with the shortest name that no other one has."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        texts = dict.fromkeys(text for step in plan.steps for loop in step.loops for text in self._texts(loop))
        ends: dict[str, set[str]] = {}
        for text in texts:
            ends.setdefault(_end(text), set()).add(text)
        self._names = {text: _end(text) if len(ends[_end(text)]) == 1 else text for text in texts}

    def items(self, loop: Loop) -> Formula:
        """The items of a loop."""
        return self._of(self._plan.templates[loop.items])

    def in_flight(self, loop: Loop) -> Formula:
        """How many iterations of a loop there can be at once, one at least."""
        if loop.sequential:
            return number(1)
        items = self.items(loop)
        written = self._plan.templates[loop.in_flight] if loop.in_flight >= 0 else None
        if not isinstance(written, Literal) or not isinstance(written.value, int):
            return items
        most = items.value({})
        # A loop has no more iterations in flight than it has items, and a loop of none counts as one token.
        return number(max(1, written.value if most is None else min(most, written.value)))

    def named(self, expr: Expr) -> Formula:
        """The size of that name, for what is no loop."""
        return size(self._names.get(_text(expr), _end(_text(expr))))

    def _texts(self, loop: Loop) -> Iterator[str]:
        template = self._plan.templates[loop.items]
        if isinstance(template, Native):
            yield from (_text(each) for each in _ends_of(template.expr) if _count(each) is None)

    def _of(self, template: Template) -> Formula:
        match template:
            case Literal(value=list() | dict() as value):
                return number(len(value))
            case ListTemplate(items=items) | MapTemplate(items=items):
                return number(len(items))
            case Native(expr=expr):
                ends = [(each, _count(each)) for each in _ends_of(expr)]
                return largest(number(count) if count is not None else self.named(each) for each, count in ends)
            case _:
                return number(0)  # no list: a fault


def _ends_of(expr: Expr) -> Iterator[Expr]:
    """The list that a list comes from: through filters that keep it no longer, and both sides of a choice."""
    waiting = [expr]
    while waiting:
        match waiting.pop():
            case Filter(of=of, name=name) if name in KEEPING:
                waiting.append(of)
            case Conditional(then=then, otherwise=otherwise):
                waiting += [then] if otherwise is None else [then, otherwise]
            # Either list may be the one that is looped over, so that both are counted and the larger one is the size.
            case Filter(of=of, name="default", args=(ListOf() as other,)):
                waiting += [of, other]
            case each:
                yield each


def _count(expr: Expr) -> int | None:
    """The number of items of a list that is written out, or of a range of numbers."""
    match expr:
        case ListOf(items=items) | TupleOf(items=items):
            return len(items)
        case Call(callee=Name(name="range"), args=args, named=()):
            return None if (numbers := written_range(args)) is None else len(numbers)
    return None


def written_range(args: Sequence[Expr]) -> range | None:
    """The numbers of `range` where its arguments are written out; None where data decide, or it raises."""
    bounds = [each for each in map(_whole, args) if each is not None]
    # A step of 0 raises in the run. It gives no size, and must not raise here.
    return range(*bounds) if bounds and len(bounds) == len(args) <= 3 and bounds[2:] != [0] else None


def _whole(expr: Expr) -> int | None:
    """A whole number that is written out, with its sign."""
    match expr:
        case Const(value=value) if type(value) is int:
            return value
        case Unary(op=op, of=Const(value=value)) if type(value) is int:
            return -value if op == "-" else value
    return None


def _text(expr: Expr) -> str:
    path = static_path(expr)
    return ".".join(path[1:] if len(path) > 1 and path[0] in SCOPES else path) or unparse(expr)


def _end(text: str) -> str:
    return text.rpartition(".")[2] if text.replace(".", "").replace("_", "").isalnum() else text
