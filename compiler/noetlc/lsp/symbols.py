"""Every name of a file: where it is declared and where it is used, by the keys that hold it and inside of expressions.

Steps, tasks of a step, keys of `ctx`, `iter` and `workload`, iterators, secrets, entries of the workbook, and playbooks
by their path. A bare name in an expression is what it is to the evaluator (`noetl_ir.scopes`): the iterator before the
task, the task before the keys of scopes, and these before the results of steps.
"""

from collections.abc import Iterator

from noetl_ir.expr import Attribute, Expr, expressions_of
from noetl_ir.records import NamedTuple
from noetl_ir.scopes import PLACES, RESERVED, PlaceRules
from noetl_ir.span import Span
from noetlc.ast.playbook import Step
from noetlc.expr.block_names import expressions_within
from noetlc.expr.check import Names
from noetlc.expr.parser import parse_template
from noetlc.expr.paths import Access, accesses
from noetlc.lsp.completion import referred, step_around
from noetlc.lsp.cursor import CursorLevel, CursorPath, path_of
from noetlc.lsp.known import KnownFile, PlaybookView
from noetlc.lsp.scope_names import site_of
from noetlc.source.nodes import Mapping, Node, Scalar
from noetlc.source.text import Source

_OF_A_STEP = frozenset({"iter", "iterator", "task"})
"""The sorts of symbols that belong to a step."""


class Symbol(NamedTuple):
    """Something with a name. `sort` is `step`, `task`, `ctx`, `iter`, `iterator`, `workload`, `secret`, `entry` or
    `playbook`; `owner` is the step that it belongs to, "" where it is one of the whole file; `document` numbers the
    documents of the file, and is -1 for a playbook, which all files know.
    """

    sort: str
    name: str
    owner: str
    document: int


class Occurrence(NamedTuple):
    """A place with a symbol's name. `declares` says that the symbol is declared there, which may be so at several
    places, as for a key of `ctx`; `bare` that the name stands as a bare word in an expression.
    """

    symbol: Symbol
    span: Span
    declares: bool
    bare: bool = False


class Scalars(NamedTuple):
    """A scalar, the way to it, and whether it is a key."""

    scalar: Scalar
    levels: tuple[CursorLevel, ...]
    is_key: bool

    @property
    def path(self) -> CursorPath:
        """The keys and numbers that lead to it, its own among them."""
        return path_of(self.levels)


def occurrences_in(known: KnownFile) -> list[Occurrence]:
    """Every occurrence in a file, in the order of the file."""
    found: set[Occurrence] = set()
    for number, (root, view) in enumerate(known.documents):
        reader = _Reader(known.source, view, number)
        for one in scalars_in(root):
            found.update(reader.occurrences(one))
    return sorted(found, key=lambda one: (one.span, one.declares))


def scalars_in(root: Node) -> Iterator[Scalars]:
    """Every scalar of a document, keys among them, in the order of the file."""
    waiting: list[tuple[Node, tuple[CursorLevel, ...], bool]] = [(root, (), False)]
    while waiting:
        node, levels, is_key = waiting.pop()
        if isinstance(node, Scalar):
            yield Scalars(node, levels, is_key)
        elif isinstance(node, Mapping):
            # A stack gives back the last first, so all go on in reverse.
            for key, value in reversed(node.entries):
                here = (*levels, CursorLevel(node, key.text))
                waiting += [(value, here, False), (key, here, True)]
        else:
            numbered = reversed(list(enumerate(node.items)))
            waiting += [(item, (*levels, CursorLevel(node, at)), False) for at, item in numbered]


class _Reader:
    """One document: what its names mean."""

    def __init__(self, source: Source, view: PlaybookView, number: int) -> None:
        self._source = source
        self._view = view
        self._number = number
        # Of each step once: a step of many expressions would gather its names for each.
        self._names: dict[str, Names] = {}

    def occurrences(self, one: Scalars) -> Iterator[Occurrence]:
        """The names in a scalar."""
        step = step_around(one.levels, self._view)
        if one.is_key:
            yield from self._key(one, step)
            return
        yield from self._value(one, step)
        if "{{" in one.scalar.text or "{%" in one.scalar.text:
            yield from self._expressions(one, step)

    def _key(self, one: Scalars, step: Step | None) -> Iterator[Occurrence]:
        """A key that declares: of the workload, of `set_ctx`, a label of a task, …"""
        above, name = one.path[:-1], one.scalar.text
        match above:
            case ("workload",) | ("executor", "spec", "inputs"):
                yield self._declared("workload", name, one.scalar)
            case ("executor", "spec", "ctx"):
                yield self._declared("ctx", name, one.scalar)
            case ("keychain",):
                yield self._declared("secret", name, one.scalar)
            case ("workbook",):
                yield self._declared("entry", name, one.scalar)
            case (*_, "then" | "else", "set_ctx"):
                yield self._declared("ctx", name, one.scalar)
            case (*_, "then" | "else", "set_iter") if step is not None:
                yield self._declared("iter", name, one.scalar, step.name)
            case ("workflow", int(), "tool", int()) if step is not None and _is_label(one):
                yield self._declared("task", name, one.scalar, step.name)

    def _value(self, one: Scalars, step: Step | None) -> Iterator[Occurrence]:
        """A value that is a name: one that declares, or one that refers."""
        name, path = one.scalar.text, one.path
        if "{{" in name or not name:
            return
        match path:
            case ("workflow", int(), "step"):
                yield self._declared("step", name, one.scalar)
            case ("metadata", "path") | ("path",):
                yield self._of("playbook", name, one.scalar.span, "", declares=True, scalar=one.scalar)
            case ("keychain", int(), "name"):
                yield self._declared("secret", name, one.scalar)
            case ("workbook", int(), "name"):
                yield self._declared("entry", name, one.scalar)
            case ("workflow", int(), *keys, "iterator") if step is not None and all(key == "loop" for key in keys):
                yield self._declared("iterator", name, one.scalar, step.name)
            case ("workflow", int(), "tool", *_, "name") if step is not None and name in self._tasks(step):
                yield self._declared("task", name, one.scalar, step.name)
            case _:
                yield from self._reference(one, step)

    def _reference(self, one: Scalars, step: Step | None) -> Iterator[Occurrence]:
        sort = referred(one.levels)
        name = one.scalar.text
        if sort in ("step", "playbook", "entry") and not (sort == "step" and self._is_end(name)):
            yield self._of(sort, name, one.scalar.span, "", declares=False, scalar=one.scalar)
        elif sort == "task" and step is not None:
            yield self._of(sort, name, one.scalar.span, step.name, declares=False, scalar=one.scalar)

    def _is_end(self, name: str) -> bool:
        return name == "end" and name not in self._view.steps

    def _tasks(self, step: Step) -> set[str]:
        # Blocks lower to tasks whose names begin with theirs.
        return {task.name for task in step.tasks} | {
            task.name.removeprefix("__").partition("__")[0] for task in step.tasks if task.name.startswith("__")
        }

    def _expressions(self, one: Scalars, step: Step | None) -> Iterator[Occurrence]:
        row, names = PLACES[site_of(one.path)], self._named(step)
        template = parse_template(one.scalar.text).template
        bound = [(inside.expr, inside.bound) for inside in expressions_within(template)]
        plain: list[tuple[Expr, frozenset[str]]] = [(expr, frozenset()) for expr in expressions_of(template)]
        for expr, hidden in (*plain, *bound):
            for access in accesses(expr):
                # A name that a block binds (`{% set %}`, `{% for %}`) is nobody's symbol, and a called one is a
                # function.
                if access.root.name not in hidden and not access.called:
                    yield from self._access(access, one.scalar, row, names, step)

    def _named(self, step: Step | None) -> Names:
        if step is None:
            return self._view.around.outside()
        if step.name not in self._names:
            self._names[step.name] = self._view.around.names(step)
        return self._names[step.name]

    def _access(
        self, access: Access, scalar: Scalar, row: PlaceRules, names: Names, step: Step | None
    ) -> Iterator[Occurrence]:
        word, owner = access.root.name, step.name if step is not None else ""
        root = self._source.inner_span(scalar, access.root.start, access.root.end)
        if word in RESERVED:
            if not access.keys or not isinstance(access.keys[0], str):
                return
            key = access.keys[0]
            sort = {"ctx": "ctx", "workload": "workload", "keychain": "secret", "steps": "step", "iter": "iter"}.get(
                word
            )
            if sort == "iter":
                sort = "iterator" if key in names.iterators else "iter" if key in names.iter else None
            if sort is not None:
                place = self._key_span(access, scalar, key)
                found = self._of(sort, key, place, owner if sort in ("iter", "iterator") else "", declares=False)
                yield found._replace(bare=isinstance(access.nodes[0], Attribute))
            return
        for sort, known in _meanings(row, names):
            if word in known:
                # An arg is declared by each arc, under a name that other arcs use for other things: it is no symbol,
                # and hides those below.
                if sort != "arg":
                    found = self._of(sort, word, root, owner if sort in _OF_A_STEP else "", declares=False)
                    yield found._replace(bare=True)
                return

    def _key_span(self, access: Access, scalar: Scalar, key: str) -> Span:
        """The characters of the first key behind a root: `.key`, or between the quotes of `['key']`."""
        end = access.nodes[0].end
        text = scalar.text[access.root.end : end]
        # From behind: in `['a']` the key stands last, and white space may stand before it.
        start = access.root.end + text.rfind(key)
        return self._source.inner_span(scalar, start, start + len(key))

    def _declared(self, sort: str, name: str, scalar: Scalar, owner: str = "") -> Occurrence:
        return self._of(sort, name, scalar.span, owner, declares=True, scalar=scalar)

    def _of(
        self, sort: str, name: str, span: Span, owner: str, *, declares: bool, scalar: Scalar | None = None
    ) -> Occurrence:
        place = span if scalar is None else self._source.inner_span(scalar, 0, len(scalar.text))
        document = -1 if sort == "playbook" else self._number
        return Occurrence(Symbol(sort, name, owner, document), place, declares)


def _is_label(one: Scalars) -> bool:
    """Whether a key is the label of a task, `- label: {kind: …}`."""
    node = one.levels[-1].node
    value = node.get(one.scalar.text) if isinstance(node, Mapping) and len(node.entries) == 1 else None
    return isinstance(value, Mapping) and value.get("kind") is not None


def _meanings(row: PlaceRules, names: Names) -> Iterator[tuple[str, frozenset[str]]]:
    """The meanings that a bare name can have, the strongest first."""
    yield "iterator", frozenset(names.iterators)
    if row.tasks:
        yield "task", names.tasks
    for layer, sort in (("args", "arg"), ("ctx", "ctx"), ("iter", "iter"), ("workload", "workload")):
        if layer in row.names:
            yield sort, names.layer(layer)
    if row.results:
        yield "step", names.steps
