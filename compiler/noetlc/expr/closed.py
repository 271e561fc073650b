"""Comparisons of an expression with names of events and statuses, which have only a few values, so that a word that is
none of these is a mistake; and whether an expression provides for values that are missing.
"""

from collections.abc import Iterator

from noetl_ir.expr import Compare, Conditional, Const, Expr, Filter, ListOf, Logic, Name, Test, TupleOf, walk
from noetl_ir.nearest import nearest
from noetl_ir.paths import static_path
from noetl_ir.records import NamedTuple
from noetlc.ast.once import Once
from noetlc.ast.truth import FactPath, path_of

EVENTS = ("step.done", "step.failed", "loop.done", "workflow.started")
_FAMILIES = ("step.", "loop.", "task.", "call.", "workflow.")
STATUSES = ("ok", "error")
STATUS_PATHS = frozenset({("outcome", "status"), ("event", "outcome", "status"), ("event", "status")})
_OLD = {"success": "ok", "completed": "ok", "done": "ok", "failed": "error", "failure": "error"}


class Strange(NamedTuple):
    """A word that never stands at a path; `near` is what was probably meant, "" where nothing is like it."""

    path: FactPath
    const: Const
    near: str


def _words_compared(expr: Expr) -> Iterator[tuple[FactPath, Const]]:
    for part in walk(expr):
        if not isinstance(part, Compare):
            continue
        sides = (part.first, *(side for _, side in part.rest))
        paths = [path for side in sides if (path := path_of(side))]
        for side in sides if paths else ():
            for item in side.items if isinstance(side, ListOf | TupleOf) else (side,):
                if isinstance(item, Const) and isinstance(item.value, str):
                    yield from ((path, item) for path in paths)


words_compared: Once[Expr, tuple[tuple[FactPath, Const], ...]] = Once(lambda expr: tuple(_words_compared(expr)))
"""Every text that a path of an expression is compared with, by `==`, `!=` or `in`: the path, and the text."""


def asks_what_is_there(expr: Expr) -> bool:
    """Whether an expression gives a default or asks if something is defined: what is missing is then expected."""
    for part in walk(expr):
        if isinstance(part, Filter) and part.name in ("default", "d"):
            return True
        if isinstance(part, Test) and part.name in ("defined", "undefined", "none"):
            return True
    return False


def words_asked(expr: Expr) -> frozenset[str]:
    """The names whose absence an expression provides for: by a default, by a test, or because it never reads them."""
    found: set[str] = set()
    for part in walk(expr):
        # `x if false` is how a switched-off part is written; what it names is never read.
        if isinstance(part, Conditional) and isinstance(part.test, Const) and not part.test.value:
            found.update(inner.name for inner in walk(part.then) if isinstance(inner, Name))
        asks = isinstance(part, Filter) and part.name in ("default", "d")
        asks = asks or (isinstance(part, Test) and part.name in ("defined", "undefined", "none"))
        if asks and isinstance(part, Filter | Test) and (here := static_path(part.of)):
            found.add(str(here[0]))
    return frozenset(found)


def needs_all(expr: Expr) -> bool:
    """Whether an expression has no value of its own for what is missing: no default, no test, no second choice."""
    return not asks_what_is_there(expr) and not any(isinstance(part, Conditional | Logic) for part in walk(expr))


def _strange(expr: Expr) -> tuple[Strange, ...]:
    found = []
    for path, const in words_compared(expr):
        word = str(const.value)
        if path == ("event", "name") and word not in EVENTS:
            near = nearest(word.lower(), EVENTS)
            if near or word.startswith(_FAMILIES):
                found.append(Strange(path, const, near))
        elif path in STATUS_PATHS and word not in STATUSES:
            # Words of old playbooks come before likeness: `done` is nearer to nothing in spelling, and means `ok`.
            found.append(Strange(path, const, _OLD.get(word.lower()) or nearest(word.lower(), STATUSES)))
    return tuple(found)


strange_words = Once(_strange)
"""The words of an expression that can never stand at the path with which it compares them."""
