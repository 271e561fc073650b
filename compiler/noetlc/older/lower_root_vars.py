"""lower_root_vars: root `vars`, `ctx` and `spec` become `workload`, or are set once in an entry step (LANGUAGE §1).

vars: {url: u, n: 0}, and some step sets `n`
    →  workload: {url: u}, reads of `vars.url` follow; the step __start__vars sets ctx.n = 0 and leads to `start`
spec: {url: u}   →  workload: {url: u}, reads of `spec.url` follow: it is another name for `workload`
"""

from noetl_ir.expr import Expr
from noetlc.ast.bodies import HasBodies, Tasks
from noetlc.ast.playbook import Playbook, Rule, Task
from noetlc.diag.change import Change, Note
from noetlc.expr.generated import noop
from noetlc.expr.rewrite import Replace
from noetlc.expr.shorthand import path, static_path
from noetlc.expr.templates import value_with
from noetlc.older.following import entered, followed
from noetlc.older.state_nodes import Pairs, RootVars

BY = "lower_root_vars"
SPEC = "`spec`"


def lower_root_vars(playbook: Playbook, note: Note) -> Playbook:
    """The playbook without root variables."""
    found = [extra for extra in playbook.extras if isinstance(extra, RootVars)]
    if not found:
        return playbook
    playbook = playbook._replace(extras=tuple(extra for extra in playbook.extras if not isinstance(extra, RootVars)))
    rules = (rule for step in playbook.steps for task in _all(step.tasks) for rule in task.rules)
    written = {key for rule in rules for key, _ in rule.set_ctx}
    pairs: Pairs = tuple(pair for extra in found for pair in extra.pairs)
    given = {key for key, _ in playbook.workload}
    alias = {key for extra in found if extra.word == SPEC for key, _ in extra.pairs}
    for key, value in pairs:
        if key in alias & given:
            note(Change(BY, value.span, f"`{key}` of root `spec`", "exact", "nothing: `workload` has that key"))
    pairs = tuple(pair for pair in pairs if pair[0] not in alias & given)
    written -= alias
    kept = tuple((key, value) for key, value in pairs if key in written or key in given)
    moved = tuple((key, value) for key, value in pairs if key not in written and key not in given)
    for extra in found:
        note(Change(BY, extra.span, f"root {extra.word}", "exact", _said(moved, kept)))
    follow = _follow({key for key, _ in moved}, alias)
    playbook = followed(playbook, follow)
    workload = (*playbook.workload, *((key, value_with(value, follow)) for key, value in moved))
    spans = (*playbook.workload_spans, *((key, value.span) for key, value in moved))
    playbook = playbook._replace(workload=workload, workload_spans=spans)
    return _entered(playbook, kept) if kept else playbook


def _said(moved: Pairs, kept: Pairs) -> str:
    parts = ["keys of `workload`"] if moved else []
    parts += ["set once by a generated entry step"] if kept else []
    return ", others ".join(parts)


def _all(tasks: Tasks) -> list[Task]:
    found = list(tasks)
    for task in found:
        for extra in task.extras:
            found += [inner for body in extra.bodies() for inner in body] if isinstance(extra, HasBodies) else []
    return found


def _follow(keys: set[str], alias: set[str]) -> Replace:
    """Reads of moved variables."""

    def replace(expr: Expr) -> Expr | None:
        here = static_path(expr)
        if len(here) == 2 and ((here[0] in ("vars", "ctx") and here[1] in keys) or (here[0] == "spec" and alias)):
            return path("workload", here[1])
        return None

    return replace


def _entered(playbook: Playbook, kept: Pairs) -> Playbook:
    span = kept[0][1].span
    patch = Rule(None, "continue", span, set_ctx=kept)
    return entered(playbook, "vars", noop("", span, (patch,)), span)
