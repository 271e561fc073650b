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
from itertools import chain

from noetl_ir.nearest import nearest
from noetlc.ast.bodies import all_tasks
from noetlc.ast.code_names import CodeNames, arriving_args, code_names
from noetlc.ast.playbook import Playbook, Step, Task
from noetlc.ast.result_keys import keys_of, result_keys_of
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
    known |= {
        name for task in tasks for field in task.fields for name in (field[0], *(keys_of(field[1].template) or ()))
    }
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
        keys = keys_of(auth.template)
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
    return result_keys_of(called if called is not None else task)


RULE = LintRule("NL413", Severity.WARNING, "ast", check, whole=True, about=("sugar",))
