"""over-budget: a run may do more than the playbook's `x-budget` allows, or the budget cannot be read.

Why it matters
    A budget is a promise to whoever pays for tools, workers and the log; it holds only where it is proved.
Example
    x-budget: {attempts: 100, sizes: {items: 50}}
    workflow:
      - step: start
        loop: {in: "{{ workload.items }}", iterator: item}
        tool:
          kind: http
          url: "http://x/{{ iter.item }}"
          spec: {policy: {rules: [{when: "{{ outcome.status == 'error' }}", then: {do: retry, attempts: 3}}]}}
Instead
    x-budget: {attempts: 150, sizes: {items: 50}}
When to ignore
    Where what the guards look at keeps every run below the bound, which does not look at them.
"""

from collections.abc import Iterator

from noetlc.analysis.verdict import Status
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import LintRule, Unit
from noetlc.source.nodes import Mapping, Node, value_of


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Each limit that is not proved, at its number."""
    for key, node in unit.playbook.extensions:
        if key == "x-budget":
            yield from _broken(unit, node)


def _broken(unit: Unit, node: Node) -> Iterator[Diagnostic]:
    from noetlc.analysis.bounds import bounds_of  # most playbooks have no budget, and lint starts sooner
    from noetlc.analysis.budget import BudgetError, budget_of, check_budget

    try:
        budget = budget_of(value_of(node))
    except BudgetError as error:
        yield RULE.finding(str(error), node.span, help="its keys are `attempts`, `tokens`, `events` and `sizes`")
        return
    verdicts = check_budget(bounds_of(unit.proofs.plan), budget)
    for name, verdict in zip(budget.limits, verdicts, strict=True):
        if verdict.status is not Status.PROVED:
            # The limit's own number is the place, where it is written as a mapping.
            written = node.get(name) if isinstance(node, Mapping) else None
            yield RULE.finding(
                f"{verdict.question} is not proved: {verdict.detail}",
                node.span if written is None else written.span,
                help="`noetlc analyze` shows the bounds; `sizes` says how large loops are at most",
            )


RULE = LintRule("NL712", Severity.ERROR, "net", check, about=("x-budget",))
