"""bind_loops: what python code takes for the results and counts of a loop is them.

    args: {done: "{{ each }}"}, code: rows = done.get("results", [])
        →  done: {results: "{{ each }}", stats: "{{ dict(each.stats, success=each.stats.ok) }}"}

The value of a looped step is its list (LANGUAGE §4). The engines gave `{results, stats}`, and code that reads either
key of a bare value was written for that (REAL.md, values).
"""

import ast
from collections.abc import Set
from functools import lru_cache

from noetl_ir.expr import Attribute, Call, Const, MapOf, MapTemplate, Name, Native, Template
from noetl_ir.span import Span
from noetlc.ast.bodies import all_taken
from noetlc.ast.playbook import Playbook
from noetlc.ast.sugar import Guess
from noetlc.diag.change import Change, RecordChange
from noetlc.expr.rewrite import rewritten
from noetlc.expr.templates import native
from noetlc.older.bind_lists import bare_in, bound_all, names_of, nodes_of


class AskedLoops(Guess):
    """Some python code of the file may read the results or counts of a loop by their keys."""

    span: Span


KEYS = frozenset({"results", "stats"})


def bind_loops(playbook: Playbook, record: RecordChange) -> Playbook:
    """The playbook in which code that asks for results and counts gets them."""
    asked, playbook = all_taken(playbook, AskedLoops)
    looped = frozenset([step.name for step in playbook.steps if step.loop is not None])
    if not asked or not looped:
        return playbook

    def bound(name: str, template: Template, code: str, hidden: Set[str], span: Span) -> Template:
        bare = bare_in(template)
        if bare is None or bare.name not in looped - hidden or not reads_keys(code, name):
            return template
        record(Change("bind_loops", span, f"`{name}` by its keys", "review", "`{results, stats}` of the loop"))
        return _with_keys(template, bare)

    return bound_all(playbook, bound)


def _with_keys(template: Template, bare: Name) -> Template:
    """The statistics that the engines gave, with the old word for what went well beside ours. What the token brings
    stays as it is.
    """
    stats = Attribute(bare, "stats")
    counts = Call(Name("dict"), (stats,), (("success", Attribute(stats, "ok")),))
    if isinstance(template, Native) and template.expr is not bare:
        both = MapOf(((Const("results"), bare), (Const("stats"), counts)))
        return native(rewritten(template.expr, lambda expr: both if expr is bare else None))
    return MapTemplate((("results", template), ("stats", native(counts))))


@lru_cache(1 << 10)
def reads_keys(text: str, arg: str) -> bool:
    """Whether python code reads one of the keys of an arg of it."""
    nodes = nodes_of(text)
    names = names_of(nodes, arg)
    return any(_reads(node, names) for node in nodes)


def _reads(node: ast.AST, names: set[str]) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="get"), args=[ast.Constant(value=str(key)), *_]):
            return name in names and key in KEYS
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(key))):
            return name in names and key in KEYS
        case ast.Compare(
            left=ast.Constant(value=str(key)), ops=[ast.In() | ast.NotIn()], comparators=[ast.Name(id=name)]
        ):
            return name in names and key in KEYS
    return False
