"""Names of a payload that are no keys of `workload`: slips, for which the run would go on with the default.

Read is what an expression names as `workload.NAME`, `payload.NAME` or by its bare name, and every word of texts and
programs. Where all of the workload is read at once, as by `workload | tojson`, any name may be meant. In playbooks of
older dialects, which bring what they read without declaring it, only a name that nothing reads is told.
"""

import re
from collections.abc import Iterator, Mapping

from noetl.engine.inputs import keys_of, undeclared
from noetl.engine.program import Program
from noetl_ir.expr import (
    Attribute,
    Block,
    Const,
    Expr,
    Item,
    Json,
    ListTemplate,
    Literal,
    MapTemplate,
    Name,
    Template,
    Text,
    expressions_of,
    texts_in,
    walk,
)
from noetl_ir.nearest import nearest

_OF_THE_START = ("workload", "payload")
_WHOLE = frozenset({"workload", "payload", "context"})
_PROGRAM = "python"
_MOST = 20
"""How many names are told one by one: a request may have as many as its bytes allow."""
_LONGEST = 200
"""Characters of such a name that are told."""


def unread(program: Program, payload: Mapping[str, Json]) -> tuple[str, ...]:
    """A sentence for each name of a payload that may be a slip; none where inputs are declared."""
    plan = program.plan
    if plan.inputs is not None:  # a name that is none of them was refused
        return ()
    declared = keys_of(plan)
    fresh = [name for name in payload if name not in declared]
    if not fresh:
        return ()
    read, whole = set[str](), False
    for template in plan.templates:
        for expr in expressions_of(template):
            names, all_of_it = _read(expr)
            read |= names
            whole = whole or all_of_it
        for text in _texts(template):
            read |= {*re.findall(r"\w+", text)}
    # Code of Python may take all of the workload as an argument: then any name may be meant.
    programs = (row.fields for row in plan.tasks if row.kind == _PROGRAM and row.fields >= 0)
    whole = whole or any(_WHOLE & {*re.findall(r"\w+", t)} for f in programs for t in _texts(plan.templates[f]))
    told = []
    strange = [name for name in fresh if name not in read]
    for name in strange[:_MOST]:
        near = nearest(name, declared)
        if near or not whole:
            said = f"; did you mean `{near}`?" if near else ""
            told.append(f"nothing reads `{name[:_LONGEST]}` of the payload, and `workload` has no such key{said}")
    if len(strange) > _MOST and not whole:
        told.append(f"nor does anything read {len(strange) - _MOST} other names of it")
    if not plan.aliases and not told:
        told += [f"{said}: declare it there" for said in undeclared(program, payload)]
    return tuple(told)


def _read(expr: Expr) -> tuple[set[str], bool]:
    """The names that an expression may read from the workload, and whether it reads all of it."""
    names, whole = set[str](), 0
    for part in walk(expr):
        match part:
            case Attribute(of=Name(name=scope), name=name) | Item(of=Name(name=scope), key=Const(value=str(name))):
                if scope in _OF_THE_START:
                    names.add(name)
                    # The walk comes to the inner name too, and counts it as a use of the whole.
                    whole -= 1
            case Name(name=name):
                names.add(name)
                whole += name in _OF_THE_START
    return names, whole > 0


def _texts(template: Template) -> Iterator[str]:
    """The texts in a template, programs and block templates included."""
    match template:
        case Literal(value=value):
            yield from texts_in(value)
        case Block(text=text) | Text(text=text):
            yield text
        case MapTemplate(items=pairs):
            for _, inner in pairs:
                yield from _texts(inner)
        case ListTemplate(items=items):
            for inner in items:
                yield from _texts(inner)
        case _:
            return
