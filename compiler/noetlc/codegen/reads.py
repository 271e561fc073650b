"""Who reads which step's result: what a worker must send along, and what a run must keep (LANGUAGE §2).

A bare name may mean a step's result only where no scope that is known to hold it comes first: the tasks and
iterators of a pipeline and the declared workload do; `args`, `ctx` and `iter` are known at run time only
and hide nothing here.
"""

import re
from collections.abc import Iterable, Iterator

from noetl_ir.expr import (
    Attribute,
    Block,
    Call,
    Const,
    Expr,
    Item,
    ListTemplate,
    Literal,
    MapTemplate,
    Name,
    Native,
    Template,
    children,
    expressions_of,
)
from noetl_ir.outcome import REFERENCE_KEY
from noetl_ir.python_names import CONTEXT, MAIN, python_reads, words_of
from noetl_ir.records import NamedTuple
from noetl_ir.words import FINALLY
from noetlc.ast.playbook import Playbook, Step, Task, Value
from noetlc.ast.python_code import code_of
from noetlc.ast.walk import limits_of, loops_of, timers_of_loop
from noetlc.ast.workload import workload_names

_Path = tuple[str, ...]


class Reads(NamedTuple):
    """The paths that are read of each step, by its name.

    `server` holds the paths into its result that the server's expressions read, shortest first where one
    covers another; `needs` the steps that the worker's expressions of a step may read; `kept` those that
    any reads.
    """

    server: dict[str, tuple[_Path, ...]]
    needs: dict[str, tuple[str, ...]]
    kept: frozenset[str]


def reads_of(playbook: Playbook, sources: dict[str, tuple[str, ...]]) -> Reads:
    """Collect the reads of a playbook; `sources` are the sources of each step's join."""
    finder = _Finder(playbook)
    server: dict[str, set[_Path]] = {}
    needs: dict[str, tuple[str, ...]] = {}
    tellers = _tellers(playbook)
    for step in playbook.steps:
        # `event` at a gate is of whichever step sent the token, so all sources may be meant.
        for expr in _asked_at_the_gate(step):
            _collect(finder.paths(expr, sources.get(step.name, ())), server)
        for expr in _asked_on_the_end(step):
            _collect(finder.paths(expr, (step.name,)), server)
        if told := tellers.get(step.name):
            for expr in (*_asked_at_the_gate(step), *_asked_between(step), *_asked_on_the_end(step)):
                _collect(_told(expr, told), server)
        read = finder.needed(step)
        if read:
            needs[step.name] = tuple(sorted(read, key=finder.order.__getitem__))
    for expr in _within(playbook.executor.result):
        _collect(finder.paths(expr, ()), server)
    kept = frozenset(server).union(*needs.values())
    return Reads({name: _shortest(paths) for name, paths in server.items()}, needs, kept)


def _tellers(playbook: Playbook) -> dict[str, tuple[str, ...]]:
    """The steps whose result may be `args.result` of another one, by the name of that (EXTENSIONS.md §1)."""
    found: dict[str, tuple[str, ...]] = {}
    for step in playbook.steps:
        if (how := step.spec.compensate) is not None:
            found[how.step] = (*found.get(how.step, ()), step.name)
    for phase in playbook.executor.phases:
        # Which step of main is the last one is known at run time only; a declared result stands in the log whole.
        if phase.name == FINALLY and playbook.executor.result is None:
            found[phase.step] = tuple(step.name for step in playbook.steps)
    return found


def _told(expr: Expr, tellers: tuple[str, ...]) -> Iterator[tuple[str, _Path]]:
    """(step, path) of what a server expression reads of a result that its args tell."""
    for root, path in roots_of(expr):
        if root == "args" and path[:1] in ((), ("result",)):
            yield from ((name, path[1:]) for name in tellers)


def _collect(paths: Iterable[tuple[str, _Path]], into: dict[str, set[_Path]]) -> None:
    for name, path in paths:
        into.setdefault(name, set()).add(path)


def _shortest(paths: set[_Path]) -> tuple[_Path, ...]:
    kept: list[_Path] = []
    seen: set[_Path] = set()
    for path in sorted(paths):
        # Sorted, a prefix stands before what it covers.
        if not any(path[:length] in seen for length in range(len(path))):
            kept.append(path)
            seen.add(path)
    return tuple(kept)


def _asked_at_the_gate(step: Step) -> Iterator[Expr]:
    if step.spec.admit is not None:
        yield from (rule.when.expr for rule in step.spec.admit.rules if rule.when is not None)
    loop = step.loop
    while loop is not None:
        yield from _within(loop.items)
        yield from _within(loop.max_in_flight)
        yield from _within(loop.lifecycle_timeout)
        for timers in timers_of_loop(loop):
            yield from _within(timers)
        loop = loop.inner
    for limit in limits_of(step.spec):
        yield from _within(limit)


def _asked_between(step: Step) -> Iterator[Expr]:
    """Expressions that are asked of the counts of a loop, and may read args."""
    for loop in loops_of(step):
        yield from _within(loop.enough)


def _asked_on_the_end(step: Step) -> Iterator[Expr]:
    for arc in step.router.arcs if step.router is not None else ():
        if arc.when is not None:
            yield arc.when.expr
        yield from _within(arc.args)
        yield from _within(arc.delay)


def _within(value: Value | None) -> Iterable[Expr]:
    if value is None or type(value.template) is Literal:
        return ()
    return expressions_of(value.template)


class _Finder:
    """Finds step names in expressions; what it found in one expression it remembers."""

    def __init__(self, playbook: Playbook) -> None:
        self.order = {step.name: index for index, step in enumerate(playbook.steps)}
        self._bare = self.order.keys() - workload_names(playbook)
        self._telling = {*self._bare, "steps", "event"}
        self._paths: dict[int, tuple[tuple[str, _Path], ...]] = {}

    def paths(self, expr: Expr, ended: tuple[str, ...]) -> Iterator[tuple[str, _Path]]:
        """(step, path) of each result that a server expression reads; `ended` are the steps `event` may be
        of.
        """
        for root, path in self._roots(expr):
            if root == "event":
                if not path:
                    # `event` as a whole holds the result.
                    yield from ((name, ()) for name in ended)
                elif path[0] == "result":
                    yield from ((name, path[1:]) for name in ended)
            else:
                yield from self._step_of(root, path)

    def needed(self, step: Step) -> set[str]:
        """The steps whose results the worker's expressions of a step may read."""
        hidden = {task.name for task in step.tasks}
        loop = step.loop
        while loop is not None:
            hidden.add(loop.iterator)
            loop = loop.inner
        found: set[str] = set()
        for task in step.tasks:
            found.update(self._of_code(task) - hidden)
        exprs, templates = _of_the_worker(step)
        for template in templates:
            if isinstance(template, Native):
                exprs.append(template.expr)
                continue
            exprs += expressions_of(template)
            for block in _blocks(template):
                # Any word counts in a block: too much is sent along at worst, and never too little.
                found.update(self._words(block.text) - hidden)
        for expr in exprs:
            for root, path in self._roots(expr):
                if root not in hidden:
                    found.update(name for name, _ in self._step_of(root, path))
        return found

    def _of_code(self, task: Task) -> set[str]:
        """The steps whose results python code may read: all of those where it is not known, or uses `context` whole."""
        if task.kind != "python":
            return set()
        code = code_of(task)
        if code is None:
            # Code that is not known before the run may read any result.
            return set(self.order)
        words = words_of(code)
        # A quick look at the words spares a parse of nearly all code.
        if CONTEXT not in words and (MAIN not in words or not words & self._bare):
            return set()
        reads = python_reads(code)
        if reads.keys is None:
            return set(self.order)
        named = reads.keys | reads.parameters
        return set(self.order) if "steps" in named else named & self._bare

    def _step_of(self, root: str, path: _Path) -> Iterable[tuple[str, _Path]]:
        if root == "steps":
            if not path:
                return [(name, ()) for name in self.order]
            return [(path[0], path[1:])] if path[0] in self.order else []
        return [(root, path)] if root != "event" else []

    def _words(self, text: str) -> set[str]:
        words = set(re.findall(r"\w+", text))
        return set(self.order) if "steps" in words else words & self._bare

    def _roots(self, expr: Expr) -> tuple[tuple[str, _Path], ...]:
        found = self._paths.get(id(expr))
        if found is None:
            roots = [(root, path) for root, path in roots_of(expr) if root in self._telling]
            found = self._paths[id(expr)] = tuple(roots)
        return found


def _blocks(template: Template) -> Iterator[Block]:
    """The block templates of a field, wherever in it they stand."""
    match template:
        case Block():
            yield template
        case MapTemplate(items=pairs):
            for _, value in pairs:
                yield from _blocks(value)
        case ListTemplate(items=entries):
            for entry in entries:
                yield from _blocks(entry)


def _of_the_worker(step: Step) -> tuple[list[Expr], list[Template]]:
    """The guards and the templates that the worker evaluates for a step, in no order."""
    guards: list[Expr] = []
    named: list[tuple[str, Value]] = []
    alone: list[Value | None] = []
    for task in step.tasks:
        named += (*task.fields, *task.knobs)
        alone += (task.args, task.timeout)
        for rule in task.rules:
            if rule.when is not None:
                guards.append(rule.when.expr)
            named += rule.set_iter
            named += rule.set_ctx
            alone += (rule.delay, rule.max_delay, rule.code, rule.message)
    templates = [value.template for _, value in named]
    templates += [value.template for value in alone if value is not None]
    return guards, [template for template in templates if type(template) is not Literal]


def roots_of(expr: Expr) -> Iterator[tuple[str, _Path]]:
    """(bare name, constant path under it) of everything that an expression reads.

    A path stops before an index, a computed key and the name of a method that is called. `ref(x)` reads nothing
    of `x` but where it is stored.
    """
    waiting: list[Expr] = [expr]
    while waiting:
        node = waiting.pop()
        path: list[str] = []
        while True:
            if isinstance(node, Attribute):
                path.append(node.name)
                node = node.of
            elif isinstance(node, Item) and isinstance(node.key, Const) and isinstance(node.key.value, str):
                path.append(node.key.value)
                node = node.of
            elif isinstance(node, Item) and isinstance(node.key, Const):
                path.clear()  # an index into a list: all of the list
                node = node.of
            else:
                break
        if isinstance(node, Name):
            yield node.name, tuple(reversed(path))
        # To send the value itself would undo what the reference is for.
        elif isinstance(node, Call) and isinstance(node.callee, Name) and node.callee.name == "ref":
            yield from ((root, (*path, REFERENCE_KEY)) for arg in node.args for root, path in roots_of(arg))
        elif isinstance(node, Call) and isinstance(node.callee, Attribute):
            waiting += (node.callee.of, *node.args, *(value for _, value in node.named))
        else:
            waiting.extend(children(node))
