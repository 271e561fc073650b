"""unmet-declaration: `assert` expects a name that nothing brings, or declares a result that the task does not give.

Why it matters
    `assert` of older playbooks says what a step or an entry of the workbook needs and what it gives. No run asks for
    it: a name that is missing shows up later, as a value that is not there.
Example
    workbook:
      - name: area
        tool: {kind: python, code: "result = {'size': w * h}"}
        assert: {expects: [w, h], returns: [area]}
    workflow: [{step: start, tool: {kind: workbook, name: area, args: {w: 3}}}]
Instead
    assert: {expects: [w, h], returns: [size]}
    workflow: [{step: start, tool: {kind: workbook, name: area, args: {w: 3, h: 4}}}]
When to ignore
    Where the name is one of the payload's that the playbook declares nowhere.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING
from warnings import catch_warnings, simplefilter

from noetl_ir.expr import Literal, MapTemplate, Template
from noetl_ir.nearest import nearest
from noetlc.ast.bodies import all_tasks
from noetlc.ast.code_names import CodeNames, arriving_args, code_names
from noetlc.ast.playbook import Playbook, Step, Task
from noetlc.ast.python_code import code_of
from noetlc.ast.sugar import Declared, DeclaredName
from noetlc.ast.walk import loops_of
from noetlc.ast.workbook import pairs_of, workbook_name
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import LintRule, Unit

_WHOLE = frozenset({"data", "args", "input", "input_data", "payload", "result"})
"""Words before a dot that stand for the args, or for the result, where neither has such a key."""


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Every `assert` of the playbook as it was read, against what there is after lowering."""
    read, playbook = unit.read, unit.playbook
    around = _Around(playbook)
    steps = {step.name: step for step in playbook.steps}
    for was in read.steps:
        step = steps.get(was.name)
        if step is None:
            continue
        for declared in _declared(was.extras, *(task.extras for task in all_tasks(was.tasks, was.extras))):
            yield from _unbrought(declared, was.name, around.of_step(step), step.tasks)
            yield from _ungiven(declared, was.name, playbook, step.tasks)
    entries = dict(playbook.workbook)
    for name, entry in read.workbook:
        for declared in _declared(entry.extras):
            yield from _unbrought(declared, name, around.of_entry(name), (entries.get(name, entry),))
            yield from _ungiven(declared, name, playbook, (entries.get(name, entry),))


def _declared(*extras: Iterable[object]) -> Iterator[Declared]:
    return (extra for extra in chain(*extras) if isinstance(extra, Declared))


class _Around:
    """The names that are bound in steps and entries of a playbook."""

    def __init__(self, playbook: Playbook) -> None:
        self._playbook = playbook
        self._arriving = arriving_args(playbook)

    def of_step(self, step: Step) -> frozenset[str] | None:
        """The names that tasks of a step find; None where some are known at run time only."""
        entries = dict(self._playbook.workbook)
        found: set[str] = set()
        for task in step.tasks:
            names = code_names(self._playbook, step, task, self._arriving)
            called = entries.get(workbook_name(task) or "")
            own = _arg_keys(called) if called is not None else frozenset[str]()
            if names is None or own is None:
                return None
            found |= names.args | names.items | names.context | own
        return frozenset(found | {loop.iterator for loop in loops_of(step)})

    def of_entry(self, name: str) -> frozenset[str] | None:
        """The names that the callers of an entry bring, and its own; None where it is not called, or not by a step."""
        found: set[str] = set()
        own = _arg_keys(dict(self._playbook.workbook)[name])
        callers = [(step, task) for step in self._playbook.steps for task in step.tasks if workbook_name(task) == name]
        nested = any(workbook_name(task) == name for _, task in self._playbook.workbook)
        # What another entry hands on is not followed: nothing is said where something may be brought.
        if own is None or nested or not callers:
            return None
        for step, task in callers:
            names: CodeNames | None = code_names(self._playbook, step, task, self._arriving)
            if names is None:
                return None
            found |= names.args | names.items | names.context
        return frozenset(found | own)


def _arg_keys(task: Task) -> frozenset[str] | None:
    pairs = pairs_of(task.args.template) if task.args is not None else {}
    return None if pairs is None else frozenset(pairs)


def _unbrought(
    declared: Declared, name: str, known: frozenset[str] | None, tasks: tuple[Task, ...]
) -> Iterator[Diagnostic]:
    if known is None:
        return
    known |= {name for task in tasks for field in task.fields for name in (field[0], *(_keys(field[1].template) or ()))}
    for expected in declared.expects:
        parts = expected.name.split(".")
        aliases = _aliases(tasks) if parts[0] == "auth" and len(parts) > 1 else None
        if aliases is not None and parts[1] not in aliases:
            message = f"the `auth` of `{name}` has no alias `{parts[1]}`, which `{name}` expects"
            yield _finding(expected, message, aliases)
        word = _below(parts, known - {"args"})
        if word not in known and word != "auth":
            help = f"give it where `{name}` starts: `args: {{{word}: …}}`"
            yield RULE.finding(f"nothing brings `{word}`, which `{name}` expects", expected.span, help=help)


def _below(parts: list[str], known: frozenset[str]) -> str:
    """The name that a path asks for: its first part, or the one below a word that stands for all names."""
    return parts[1] if len(parts) > 1 and parts[0] in _WHOLE and parts[0] not in known else parts[0]


def _aliases(tasks: tuple[Task, ...]) -> frozenset[str] | None:
    """The aliases that `auth` has; None where it is no mapping that is written out."""
    found: set[str] = set()
    for task in tasks:
        auth = dict(task.fields).get("auth")
        if auth is None:
            continue
        keys = _keys(auth.template)
        if keys is None:
            return None
        found |= keys
    return frozenset(found) if found else None


def _ungiven(declared: Declared, name: str, playbook: Playbook, tasks: tuple[Task, ...]) -> Iterator[Diagnostic]:
    # With several tasks the result is that of whichever ends the step.
    keys = _result(tasks[0], dict(playbook.workbook)) if len(tasks) == 1 else None
    if keys is None:
        return
    for returned in declared.returns:
        parts = returned.name.split(".")
        word = _below(parts, keys)
        if word not in keys:
            yield _finding(returned, f"the result of `{name}` has no `{word}`, which `{name}` returns", keys)


def _finding(declared: DeclaredName, message: str, known: frozenset[str]) -> Diagnostic:
    near = nearest(declared.name.rpartition(".")[2], sorted(known))
    listed = ", ".join(f"`{key}`" for key in sorted(known)[:_TOLD])
    help = f"did you mean `{near}`?" if near else f"there is {listed}: give it, or take the name out of `assert`"
    return RULE.finding(message, declared.span, help=help if known else "give it, or take the name out of `assert`")


_TOLD = 8


def _result(task: Task, entries: dict[str, Task]) -> frozenset[str] | None:
    """The keys that the result of a task may have; None where they are known at run time only."""
    called = entries.get(workbook_name(task) or "")
    task = called if called is not None else task
    if task.kind == "noop":
        value = dict(task.fields).get("result")
        return _keys(value.template) if value is not None else None
    code = code_of(task) if task.kind == "python" else None
    return result_keys(code) if code is not None else None


def _keys(template: Template) -> frozenset[str] | None:
    if isinstance(template, Literal) and isinstance(template.value, dict):
        return frozenset(map(str, template.value))
    return frozenset(key for key, _ in template.items) if isinstance(template, MapTemplate) else None


RULE = LintRule("NL413", Severity.WARNING, "ast", check, whole=True, about=("sugar",))


if TYPE_CHECKING:
    import ast

_MANY = 1 << 10


@lru_cache(_MANY)
def result_keys(text: str) -> frozenset[str] | None:
    """All keys that the result of the program may have; None where they are not known from the text. Never raises."""
    import ast

    try:
        with catch_warnings():
            simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    mains = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    main = next((node for node in mains if node.name == "main"), None)
    if main is not None:
        named = any(isinstance(node, ast.Name) and node.id == "result" for node in _own(tree.body))
        # A program with both `main` and `result` gives what the run decides.
        return None if named else _keys_of(_returned(main.body))
    if any(isinstance(node, ast.Return) for node in _own(tree.body)):
        return None if _stores(tree.body, "result") else _keys_of(_returned(tree.body))
    return _assigned(tree.body)


def _returned(body: "list[ast.stmt]") -> "list[ast.expr | None]":
    """The values that the `return`s of a body give; with one that is no mapping written out where the end may be
    reached.
    """
    import ast

    found: list[ast.expr | None] = [node.value for node in _own(body) if isinstance(node, ast.Return)]
    ends = isinstance(body[-1], ast.Return | ast.Raise) if body else False
    # A body that may be left at its end gives null there, which has no keys.
    return found if ends or _ends_inside(body) else [*found, None]


def _ends_inside(body: "list[ast.stmt]") -> bool:
    """Whether the last statement returns or raises on all its ways, as far as it is quick to see."""
    import ast

    match body[-1] if body else None:
        case ast.If(body=yes, orelse=no):
            return _ends_inside(yes) and _ends_inside(no)
        case ast.Try(body=tried, handlers=handlers, orelse=[]):
            return _ends_inside(tried) and all(_ends_inside(handler.body) for handler in handlers)
        case ast.With(body=inner):
            return _ends_inside(inner)
        case ast.Return() | ast.Raise():
            return True
    return False


def _assigned(body: "list[ast.stmt]") -> frozenset[str] | None:
    """The keys of `result`, which is assigned mappings and never touched otherwise."""
    import ast

    values: list[ast.expr | None] = []
    seen = 0
    for node in _own(body):
        match node:
            case ast.Assign(targets=[ast.Name(id="result")], value=value):
                values.append(value)
            case ast.Name(id="result"):
                seen += 1
    # Each assignment holds the name once; any further use may add keys.
    return _keys_of(values) if values and seen == len(values) else None


def _stores(body: "list[ast.stmt]", name: str) -> bool:
    import ast

    return any(isinstance(node, ast.Name) and node.id == name for node in _own(body))


def _keys_of(values: "list[ast.expr | None]") -> frozenset[str] | None:
    """The keys of all mappings that are given; None where one is not written out with keys that are texts."""
    import ast

    found: set[str] = set()
    for value in values:
        if not isinstance(value, ast.Dict):
            return None
        for key in value.keys:
            if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
                return None
            found.add(key.value)
    return frozenset(found) if values else None


def _own(body: "list[ast.stmt]") -> "list[ast.AST]":
    """The nodes of statements without those inside of functions and classes, which give a value elsewhere; a function
    that names `result` as its own stays out too.
    """
    import ast

    found: list[ast.AST] = []
    waiting: list[ast.AST] = [*body]
    while waiting:
        node = waiting.pop()
        found.append(node)
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            waiting += ast.iter_child_nodes(node)
    return found
