"""bind_json: a value as JSON that python code takes for the value itself.

    args: {user: "{{ workload.user | tojson }}"}, code: user["name"]   →   user: "{{ workload.user }}"

The engines read a text with JSON back before code saw it. Code that reads it by itself, or asks for a text, keeps it.
"""

import ast
from collections.abc import Set
from functools import lru_cache

from noetl_ir.expr import Attribute, Filter, Name, Native, Template
from noetl_ir.span import Span
from noetlc.ast.bodies import all_taken
from noetlc.ast.playbook import Playbook
from noetlc.ast.sugar import Guess
from noetlc.diag.change import Change, RecordChange
from noetlc.expr.rewrite import rewritten
from noetlc.expr.templates import native
from noetlc.older.bind_lists import asks, bound_all, names_of, nodes_of, takes_mapping


class AskedJson(Guess):
    """Some args of the file may be JSON."""

    span: Span


def bind_json(playbook: Playbook, record: RecordChange) -> Playbook:
    """The playbook in which code that takes a text for its value gets that."""
    asked, playbook = all_taken(playbook, AskedJson)
    if not asked:
        return playbook

    def bound(name: str, template: Template, code: str, hidden: Set[str], span: Span) -> Template:
        del hidden
        found = _json_in(template)
        if found is None or not isinstance(template, Native) or not takes_value(code, name):
            return template
        made = native(rewritten(template.expr, lambda expr: found.of if expr is found else None))
        record(Change("bind_json", span, f"`{name}` as JSON", "review", f"`{made.text}`: the code takes the value"))
        return made

    return bound_all(playbook, bound)


def _json_in(template: Template) -> Filter | None:
    """The filter that the whole template is, or that a default of an arg is."""
    expr = template.expr if isinstance(template, Native) else None
    match expr:
        case Filter(name="default", of=Attribute(of=Name(name="args")), args=(inner,)):
            expr = inner
    return expr if isinstance(expr, Filter) and expr.name in ("tojson", "to_json") else None


@lru_cache(1 << 10)
def takes_value(text: str, arg: str) -> bool:
    """Whether python code takes an arg of it for a mapping or list, and nowhere for a text."""
    nodes = nodes_of(text)
    names = names_of(nodes, arg)
    taken = any(takes_mapping(node, names) or asks(node, names, "list") for node in nodes)
    return taken and not any(asks(node, names, "str") or _reads_json(node, names) for node in nodes)


def _reads_json(node: ast.AST, names: set[str]) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr="loads") | ast.Name(id="loads"), args=[ast.Name(id=name), *_]):
            return name in names
    return False
