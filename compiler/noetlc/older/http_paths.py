"""Paths into the results of http: keys of the body that older engines found at the top.

complete_http_paths: keys of the body of an http task that are written as keys of its result (REAL.md, LANGUAGE §7).

    tool: {kind: http, …}, next: {arcs: [{step: more, when: "{{ fetch.paging.more }}"}]}
        →  when: "{{ fetch.data.paging.more }}"

The kind of a task is known, so this is decided here and not when it runs. The pass is the first of all: the old names
of a result still stand where they were written, and what later passes make of them is complete. Canonical text is read
so too, and told.

Here is only the question whether there is anything to complete, which every playbook with an http task is asked
(`noetlc.older.http_scope` completes).
"""

from collections.abc import Iterable, Iterator

from noetl_ir.expr import Expr, Item, Literal, Name, Native
from noetl_ir.paths import static_path
from noetlc.ast.bodies import all_tasks
from noetlc.ast.playbook import Playbook, Value
from noetlc.ast.walk import blocks_in, executor_values, expressions_in, loops_of, step_guards, step_values, tasks_in
from noetlc.ast.workbook import kind_called
from noetlc.diag.change import RecordChange
from noetlc.expr.rewrite import rewritten
from noetlc.older.http_keys import KIND, NOTHING, OF_TOOL, RESPONSES, IsEnvelope, Words, completed


def complete_http_paths(playbook: Playbook, record: RecordChange) -> Playbook:
    """The playbook in which every path into an http result begins with a key of it."""
    kinds = {name: task.kind for name, task in playbook.workbook}
    if not any(
        kind_called(task, kinds) == KIND for step in playbook.steps for task in all_tasks(step.tasks, step.extras)
    ):
        return playbook
    # No sugar tells that there is something to do. This question is cheaper than the scopes that the pass builds for
    # each step, and most canonical playbooks end here.
    if not _is_asked(playbook, kinds):
        return playbook
    from noetlc.older.http_scope import completed_playbook

    return completed_playbook(playbook, kinds, record)


def _is_asked(playbook: Playbook, kinds: dict[str, str]) -> bool:
    """Whether any path may have to be completed, whatever hides which name: in few canonical playbooks one does.

    Each expression is looked at once for all steps that have it; files of older dialects are not asked at all.
    """
    tasks = tasks_in(playbook)
    if playbook.workbook or any(step.extras for step in playbook.steps) or any(task.extras for task in tasks):
        return True
    names = frozenset([step.name for step in playbook.steps]).union([task.name for task in tasks])
    for words, exprs, lists in _distinct(playbook, kinds):
        may_be = _may_be_envelope(names, words)
        replace = completed(may_be)
        if any(map(may_be, lists)) or any(rewritten(expr, replace) is not expr for expr in exprs):
            return True
    return False


def _distinct(playbook: Playbook, kinds: dict[str, str]) -> Iterator[tuple[Words, Iterable[Expr], Iterable[Expr]]]:
    """Of the steps with and without an http task: the words for its result, the expressions, and those that loops run
    over, each once.
    """
    # Equal texts are one template and one expression. Their identity is a sound key while the playbook keeps them
    # alive, and costs no hash of a whole tree.
    values: dict[bool, dict[int, Value]] = {True: {}, False: {}}
    exprs: dict[bool, dict[int, Expr]] = {True: {}, False: {}}
    lists: dict[bool, dict[int, Expr]] = {True: {}, False: {}}
    for step in playbook.steps:
        is_http = any(kind_called(task, kinds) == KIND for task in step.tasks)
        own = [(id(value.template), value) for value in step_values(step) if not isinstance(value.template, Literal)]
        values[is_http].update(own)
        exprs[is_http].update([(id(guard.expr), guard.expr) for guard in step_guards(step)])
        natives = [loop.items.template for loop in loops_of(step) if isinstance(loop.items.template, Native)]
        lists[is_http].update([(id(native.expr), native.expr) for native in natives])
    values[False].update([(id(value.template), value) for value in executor_values(playbook.executor)])
    for is_http, found in exprs.items():
        for value in values[is_http].values():
            found.update([(id(expr), expr) for expr, _ in expressions_in(value)])
            for block in blocks_in(value):
                from noetlc.expr.block_names import expressions_inside  # few files have block templates

                found.update([(id(one.expr), one.expr) for one in expressions_inside(block.text)])
    for is_http, words in ((True, OF_TOOL | RESPONSES), (False, NOTHING)):
        yield words, exprs[is_http].values(), lists[is_http].values()


def _may_be_envelope(names: frozenset[str], words: Words) -> IsEnvelope:
    """A name that may stand for a result of http or one of a list of them, of which nothing is known but the names."""

    def may_be(expr: Expr) -> bool:
        if isinstance(expr, Item) and isinstance(expr.of, Name) and expr.of.name in names:
            return True
        here = static_path(expr)
        named = here[-1:] != () and here[-1] in names and (len(here) == 1 or (len(here) == 2 and here[0] == "steps"))
        return named or here in words or here == ("_prev",)

    return may_be
