"""Names under which the status of an http answer is stored, and what their readers take it for.

    vars: {state: "{{ result.status }}"}, when: "{{ ctx.state == 'active' }}"    →  state: "{{ result.data.status }}"
    vars: {state: "{{ result.status }}"}, when: "{{ ctx.state == 200 }}"         →  state: "{{ result.status_code }}"

A status that is stored is the status code (REAL.md, values), but for those who compare the name with a word: what the
author stored is what a reader finds in it. Names are keys of `ctx`, of `iter`, args, and the results of steps that only
hand on what they are given; a name that is put into another one is read by the readers of both.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from noetl_ir.expr import Const, Expr, MapOf, MapTemplate, Native, Template
from noetl_ir.paths import static_path
from noetl_ir.span import Span
from noetlc.ast.playbook import Arc, Guard, Playbook, Task, Value
from noetlc.ast.python_code import code_of
from noetlc.ast.workbook import pairs_of, workbook_name
from noetlc.expr.block_names import BlockExpression, expressions_within
from noetlc.expr.templates import native, templated_in
from noetlc.older.http_status import NO_EVIDENCE, Evidence, StatusTexts, evidence, possible_values
from noetlc.older.status_in_code import evidence_in_code

Stored: TypeAlias = tuple[str, ...]
"""The root and keys of a name: `ctx`, or `iter args result` and the step."""

_ROOTS = {"ctx": "ctx", "vars": "ctx", "iter": "iter", "args": "args", "input": "args", "input_data": "args"}
_WORKBOOK = "\0workbook"
"""Stands before the names of entries where those of steps are: no step has such a name."""


class StoredStatus:
    """The kinds of value that readers take each stored value of a playbook for. The playbook is looked through once.

    Values are known by their `id`, so that the playbook has to outlive this object.
    """

    __slots__ = ("_at", "_into", "_read", "_texts")

    def __init__(self, playbook: Playbook, texts: StatusTexts) -> None:
        self._texts = texts
        self._read: dict[Stored, Evidence] = {}
        self._into: dict[Stored, list[Stored]] = {}
        self._at, known = _places(playbook)
        passing = {step.name for step in playbook.steps if step.tasks[-1].kind == "noop"}
        for place, root in _roots(playbook):
            scope = _Scope(place, known, passing)
            for templated in templated_in(root):
                self._reads(templated, scope)
            for task in _tasks(root):
                code = code_of(task) if task.kind == "python" else None
                for path, said in evidence_in_code(code) if code is not None else ():
                    self._add(scope.in_code(path), said)

    def readings_of(self, value: Value, keys: tuple[str, ...]) -> Evidence | None:
        """How readers take the part of a value under some keys; None where the value is stored nowhere."""
        names = self._at.get(id(value))
        if names is None:
            return None
        said = NO_EVIDENCE
        waiting = [(*name, *keys) for name in names]
        seen = set(waiting)
        while waiting:
            name = waiting.pop()
            said |= self._read.get(name, NO_EVIDENCE)
            # A name that is handed on is read where it goes to, alone or in what holds it.
            for cut in range(2, len(name) + 1):
                for other in self._into.get(name[:cut], ()):
                    there = (*other, *name[cut:])
                    if there not in seen and len(there) < 16:
                        seen.add(there)
                        waiting.append(there)
        return said

    def _reads(self, templated: Value | Guard, scope: "_Scope") -> None:
        if isinstance(templated, Guard):
            inside: Iterable[BlockExpression] = (BlockExpression(templated.expr, frozenset()),)
        else:
            inside = expressions_within(templated.template)
        for one in inside:
            for read, said in evidence(one.expr, self._texts):
                self._add(scope.name(read, one.bound), said)
        if isinstance(templated, Guard):
            return
        for keys, leaf in leaves(templated.template):
            for possible in possible_values(leaf):
                source = scope.name(possible, frozenset())
                if source is not None:
                    for name in self._at.get(id(templated), ()):
                        self._into.setdefault(source, []).append((*name, *keys))

    def _add(self, name: Stored | None, said: Evidence) -> None:
        if name is not None:
            self._read[name] = self._read.get(name, NO_EVIDENCE) | said


class _Scope:
    """The names that can be read in a step, or in an entry of the workbook."""

    __slots__ = ("_known", "_passing", "_place")

    def __init__(self, place: str, known: frozenset[Stored], passing: set[str]) -> None:
        self._place = place
        self._known = known
        self._passing = passing

    def name(self, expr: Expr, bound: frozenset[str]) -> Stored | None:
        """The stored name that an expression reads; None where it reads none."""
        here = static_path(expr)
        return self._of(here) if here and here[0] not in bound else None

    def in_code(self, path: tuple[str, ...]) -> Stored | None:
        """The stored name that code reads by a path."""
        if path[0] in ("context", "data") and len(path) > 1:
            return self._of(path[1:]) or self._of(path)
        return self._of(path)

    def _of(self, path: tuple[str, ...]) -> Stored | None:
        root, rest = _ROOTS.get(path[0]), path[1:]
        if root is not None and rest:
            return (root, *rest) if root == "ctx" else (root, self._place, *rest)
        # LANGUAGE §2: a bare name is looked up in args, `iter` and `ctx`, and then among the results.
        for name in (("args", self._place, path[0]), ("iter", self._place, path[0]), ("ctx", path[0])):
            if name in self._known:
                return (*name, *rest)
        if path[0] == "steps":
            path, rest = rest, rest[1:]
        if not rest:
            return None
        if ("result", path[0]) in self._known:
            return ("result", *path)
        if path[0] in self._passing:
            # A noop gives its args.
            rest = rest[1:] if rest[0] in ("data", "result") and len(rest) > 1 else rest
            return ("args", path[0], *rest)
        return None


def leaves(template: Template, keys: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Expr]]:
    """The expressions in a template whose values are kept whole, each with the keys that lead to it."""
    match template:
        case Native(expr=MapOf(items=pairs)):
            for key, value in pairs:
                if isinstance(key, Const) and isinstance(key.value, str):
                    yield (*keys, key.value), value
        case Native(expr=expr):
            yield keys, expr
        case MapTemplate(items=items):
            for name, inner in items:
                yield from leaves(inner, (*keys, name))


def with_leaves(
    template: Template, change: Callable[[tuple[str, ...], Expr], Expr], keys: tuple[str, ...] = ()
) -> Template:
    """The template with the expressions that `leaves` gives changed; itself where none is."""
    match template:
        case Native(expr=MapOf(items=pairs)):
            inner = [
                (key, change((*keys, str(key.value)), value) if isinstance(key, Const) else value)
                for key, value in pairs
            ]
            same = all(new is old for (_, new), (_, old) in zip(inner, pairs, strict=True))
            return template if same else native(MapOf(tuple(inner)))
        case Native(expr=expr):
            made = change(keys, expr)
            return template if made is expr else native(made)
        case MapTemplate(items=items):
            found = [(name, with_leaves(value, change, (*keys, name))) for name, value in items]
            same = all(new is old for (_, new), (_, old) in zip(found, items, strict=True))
            return template if same else MapTemplate(tuple(found))
    return template


def _roots(playbook: Playbook) -> Iterator[tuple[str, tuple[object, ...]]]:
    """The parts of a playbook with names of their own (a step, an entry of the workbook, the rest), each with the word
    that stands in `Stored` for it.
    """
    for step in playbook.steps:
        yield step.name, step
    for name, task in playbook.workbook:
        yield _WORKBOOK + name, task
    yield "", playbook.extras


def _walked(root: tuple[object, ...]) -> Iterator[tuple[object, ...]]:
    """Every node within one, itself among them."""
    waiting = [root]
    while waiting:
        here = waiting.pop()
        yield here
        if not isinstance(here, Value | Guard):
            waiting += [part for part in here if isinstance(part, tuple) and part and not isinstance(part, Span)]


def _tasks(root: tuple[object, ...]) -> Iterator[Task]:
    return (node for node in _walked(root) if isinstance(node, Task))


def _places(playbook: Playbook) -> tuple[dict[int, list[Stored]], frozenset[Stored]]:
    """(`id` of a stored value → the names under which it is stored, all these names)."""
    found: dict[int, list[Stored]] = {}
    known = set[Stored]()

    def put(value: Value, *name: str) -> None:
        found.setdefault(id(value), []).append(name)
        known.add(name)
        if name[0] == "args":
            known.update((*name, key) for key in pairs_of(value.template) or ())

    for place, root in _roots(playbook):
        for node in _walked(root):
            _put(node, place, put)
    return found, frozenset(known)


def _put(node: tuple[object, ...], place: str, put: Callable[..., None]) -> None:
    """Call `put` for every value that a node stores, with its name."""
    for key, value in getattr(node, "set_ctx", ()):
        put(value, "ctx", key)
    for key, value in getattr(node, "set_iter", ()):
        put(value, "iter", place, key)
    kind = type(node).__name__
    # The constructs are known by the names of their classes: this file is read for canonical playbooks too.
    if kind in ("StepArgs", "RootVars"):
        for key, value in getattr(node, "pairs"):  # noqa: B009
            put(value, *(("args", place) if kind == "StepArgs" else ("ctx",)), key)
    elif kind == "Result":
        put(getattr(node, "value"), "result", place)  # noqa: B009
    elif isinstance(node, Arc) and node.args is not None:
        put(node.args, "args", node.target)
    elif isinstance(node, Task):
        _put_task(node, place, put)


def _put_task(task: Task, place: str, put: Callable[..., None]) -> None:
    if task.args is not None:
        put(task.args, "args", place)
        if (entry := workbook_name(task)) is not None:
            put(task.args, "args", _WORKBOOK + entry)
    for key, value in task.fields:
        if key == "result" and task.kind == "noop":
            put(value, "result", place)
