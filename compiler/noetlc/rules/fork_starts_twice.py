"""fork-starts-twice: the branches of a fork meet in a step that does not wait for them.

Why it matters
    Without a join every token starts a run of its own: the step, and all after it, run once per branch.
Example
    - step: start
      next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}
    - {step: a, next: {arcs: [{step: report}]}}
    - {step: b, next: {arcs: [{step: report}]}}
    - {step: report, tool: {kind: python, code: "result = 1"}}
Instead
    - step: report
      spec: {policy: {join: all}}
When to ignore
    Where the step is meant to run once for each branch; write `join: any` to say so. A last step that does nothing
    (a `noop` without arcs) is not told: that it runs twice changes nothing.
"""

from collections.abc import Iterator

from noetlc.ast.playbook import Arc, Step
from noetlc.ast.truth import done_facts, truth_of
from noetlc.diag.diagnostic import Diagnostic, Related, Severity
from noetlc.rules import LintRule, Unit

_BUDGET = 500_000
"""How many steps are looked at over all forks of a file, so that thousands of open forks stay cheap."""


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Steps without a written join at which branches of one fork meet; each step once."""
    told: set[int] = set()
    left = _BUDGET
    for fork, step in enumerate(unit.playbook.steps):
        # Only arcs that are surely taken together: two guards that exclude each other send one token.
        arcs = _surely_together(step)
        if len(arcs) < 2 or left <= 0:
            continue
        meetings, seen = _meetings(unit, fork, arcs)
        left -= seen
        for at in sorted(meetings - told):
            target = unit.playbook.steps[at]
            # A `join: any` that is written says that it is meant.
            if target.spec.join == "any" and target.spec.join_span is None and not _is_bare_end(target):
                told.add(at)
                yield RULE.finding(
                    f"`{target.name}` starts once for each branch of `{step.name}` that reaches it",
                    target.name_span,
                    help="write `spec: {policy: {join: all}}` to start it once; `join: any` says that it is meant",
                    related=(Related(step.name_span, "the fork"),),
                )


def _surely_together(step: Step) -> tuple[Arc, ...]:
    if step.router is None or step.router.mode != "inclusive":
        return ()
    facts = done_facts(step)
    return tuple(arc for arc in step.router.arcs if truth_of(arc.when, facts) is True)


def _meetings(unit: Unit, fork: int, arcs: tuple[Arc, ...]) -> tuple[set[int], int]:
    """Where two branches first meet, and how many steps were looked at. Nothing is followed past a
    meeting.
    """
    graph = unit.graph
    # The fork belongs to no branch: a way back to it is a cycle and no meeting.
    branch_of: dict[int, int] = {fork: -1}
    waiting: list[int] = []
    found: set[int] = set()
    for branch, arc in enumerate(arcs):
        at = graph.positions.get(arc.target)
        if at is None:
            continue
        if at in branch_of:
            found.update({at} - {fork})
            continue
        branch_of[at] = branch
        waiting.append(at)
    while waiting:
        here = waiting.pop()
        # Behind a meeting all is met, and would be told again step by step.
        if here in found:
            continue
        for after in graph.successors[here]:
            if after not in branch_of:
                branch_of[after] = branch_of[here]
                waiting.append(after)
            elif branch_of[after] not in (-1, branch_of[here]):
                found.add(after)
    return found, len(branch_of)


def _is_bare_end(step: Step) -> bool:
    """A leaf that does nothing may run as often as it likes."""
    leaf = step.router is None or not step.router.arcs
    return leaf and step.loop is None and all(task.kind == "noop" and not task.rules for task in step.tasks)


RULE = LintRule("NL606", Severity.WARNING, "ast", check, about=("fork",))
