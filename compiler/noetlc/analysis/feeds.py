"""Who decides what an expression gives: the engine, the author of the playbook, or data from outside.

A value of the workload that is written out is the author's, though a payload may replace it; one that is null or empty
waits for a payload. So is a loop over items that are the author's. Everything else may hold anything.
"""

from collections.abc import Mapping
from enum import IntEnum
from functools import cached_property
from re import compile as pattern

from noetl_ir.expr import (
    Binary,
    Compare,
    Concat,
    Conditional,
    Const,
    Expr,
    Filter,
    Json,
    Literal,
    Logic,
    Name,
    Not,
    Template,
    Test,
    Text,
    Unary,
    expressions_of,
)
from noetlc.ast.playbook import Playbook, Step, Task
from noetlc.ast.walk import loops_of
from noetlc.ast.workbook import pairs_of
from noetlc.expr.check import Names
from noetlc.expr.paths import Access, accesses
from noetlc.reading.around import Around

_ENGINE = frozenset({"execution_id", "action_id", "loop_index", "_attempt", "_task", "_iteration", "_elapsed"})
_NUMBERS = frozenset({"int", "float", "length", "count", "abs", "round", "sum"})
_DEFAULT = frozenset({"default", "d"})
_KEEPING = _DEFAULT | {"trim", "upper", "lower", "title", "capitalize", "string"}
"""Filters that bring in no character of their own but those of their arguments."""


_NUMERIC = frozenset({"integer", "number", "boolean", "null"})
"""Types of inputs in whose values no character is that ends a command."""


class Feed(IntEnum):
    """Who decides; of several the one with the highest number counts. `PLAIN` is the author, by values of the workload
    in whose texts no character stands that a shell or SQL reads as its own.
    """

    ENGINE = 0
    PLAIN = 1
    AUTHOR = 2
    OUTSIDE = 3


class Feeds:
    """The sources that feed the expressions of a playbook."""

    def __init__(self, playbook: Playbook) -> None:
        self._playbook = playbook
        self._names: dict[str, Names] = {}

    def feed_of(self, expr: Expr, step: Step, task: Task) -> Feed:
        """The sources that feed an expression in a task of a step."""
        own = pairs_of(task.args.template) if task.args is not None else {}
        found = Feed.ENGINE
        for access in accesses(expr):
            name = str(access.keys[0]) if access.root.name == "args" and access.keys else access.root.name
            if access.called:
                continue
            # Args that are computed may hold any name from anywhere. In doubt it is data from outside: a warning too
            # many is better than an injection unseen.
            if own is None:
                return Feed.OUTSIDE
            found = max(found, self._template(own[name], step) if name in own else self._of(access, step))
        return found

    def _of(self, access: Access, step: Step) -> Feed:
        name, keys = access.root.name, access.keys
        if name in _ENGINE:
            return Feed.ENGINE
        if name == "workload":
            return self._workload.get(str(keys[0]), Feed.OUTSIDE) if keys else Feed.OUTSIDE
        names = self._around(step)
        if name == "iter" and keys and keys[0] in names.iterators:
            return self._items(str(keys[0]), step)
        if name in names.iterators:
            return self._items(name, step)
        if name in names.tasks or name in names.args or name in names.ctx or name in names.iter:
            return Feed.OUTSIDE
        return self._workload.get(name, Feed.OUTSIDE)

    def _around(self, step: Step) -> Names:
        if step.name not in self._names:
            self._names[step.name] = self._all.names(step)
        return self._names[step.name]

    @cached_property
    def _all(self) -> Around:
        return Around(self._playbook)

    def _items(self, iterator: str, step: Step) -> Feed:
        """The sources that feed the items of a loop; those of an inner one that are computed are anybody's."""
        loop = next(loop for loop in loops_of(step) if loop.iterator == iterator)
        template = loop.items.template
        roots = {access.root.name for expr in expressions_of(template) for access in accesses(expr)}
        return self._template(template, step) if roots <= {"workload", *self._workload} else Feed.OUTSIDE

    def _template(self, template: Template, step: Step) -> Feed:
        found = [access for expr in expressions_of(template) for access in accesses(expr) if not access.called]
        return max((self._of(access, step) for access in found), default=Feed.AUTHOR)

    @cached_property
    def _workload(self) -> dict[str, Feed]:
        """Key → what feeds it. A declared input is said to come from outside, whatever its default."""
        found = {key: _written(value.template) for key, value in self._playbook.workload}
        for one in self._playbook.executor.inputs or ():
            found[one.name] = Feed.PLAIN if _allows_plain_alone(one.schema) else Feed.OUTSIDE
        return found


_PLAIN = pattern(r"[\w ./:@%+,=!-]*")
"""Texts that neither `sh` nor SQL reads as anything but letters, inside of quotes and outside: `!` is a word of shells
that one types in.
"""


def _written(template: Template) -> Feed:
    """The sources that feed a value of the workload; a name that only the engine adds to is as plain as its text."""
    if isinstance(template, Text) and all(
        _is_plain(part) if isinstance(part, str) else _is_id(part) for part in template.parts
    ):
        return Feed.PLAIN
    if not isinstance(template, Literal):
        return Feed.AUTHOR
    # An empty value waits for one from the payload, which somebody else writes.
    if template.value in (None, ""):
        return Feed.OUTSIDE
    return Feed.PLAIN if _is_plain(template.value) else Feed.AUTHOR


def _allows_plain_alone(schema: Mapping[str, Json]) -> bool:
    """Whether each value that a declared input may have is a number, or one of some that are written out and plain."""
    written = schema.get("enum", [schema["const"]] if "const" in schema else None)
    if isinstance(written, list):
        return all(map(_is_plain, written))
    types = schema.get("type")
    return bool(types) and all(one in _NUMERIC for one in (types if isinstance(types, list) else [types]))


def _is_id(expr: Expr) -> bool:
    return isinstance(expr, Name) and expr.name in _ENGINE


def _is_plain(value: Json) -> bool:
    if isinstance(value, dict):
        return all(map(_is_plain, value.values()))
    if isinstance(value, list):
        return all(map(_is_plain, value))
    # `--` begins a comment in SQL, though each of its characters alone is plain.
    return not isinstance(value, str) or ("--" not in value and _PLAIN.fullmatch(value) is not None)


def is_harmless(expr: Expr, quote: str = "") -> bool:
    """Whether an expression gives numbers, truths and texts that are written out in it alone; with a `quote` also what
    cannot end a literal in such quotes, because each of them is doubled, or taken out.
    """
    match expr:
        case Const() | Not() | Compare() | Test() | Unary() | Binary(op="-" | "/" | "//" | "**"):
            return True
        case Filter(name=name) if name in _NUMBERS:
            return True
        case Filter(name="replace", args=(Const(value=old), Const(value=str(new)), *_)) if quote and old == quote:
            return new == 2 * quote or quote not in new
        case Filter(of=of, name=name, args=args, named=named) if name in (_KEEPING if quote else _DEFAULT):
            return all(is_harmless(each, quote) for each in (of, *args, *(value for _, value in named)))
        case Conditional(then=then, otherwise=otherwise):
            return is_harmless(then, quote) and (otherwise is None or is_harmless(otherwise, quote))
        case Logic(left=left, right=right) | Binary(left=left, right=right):
            return is_harmless(left, quote) and is_harmless(right, quote)
        case Concat(parts=parts):
            return all(is_harmless(each, quote) for each in parts)
        case _:
            return False
