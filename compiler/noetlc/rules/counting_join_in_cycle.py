"""counting-join-in-cycle: a join on a cycle counts tokens, and one of its sources delivers only from outside.

Why it matters
    A join takes tokens in waves, and the next wave begins only when every source has delivered. With `join: first` the
    token that comes back belongs to the wave that the outer one began: it is swallowed, and the step runs once. With
    `join: all` the join waits for a token that only the step itself could send.
Example
    - {step: start, next: {arcs: [{step: work}]}}
    - step: work
      spec: {policy: {join: first}}                       # sources: start, once, and work
      next: {arcs: [{step: work, when: "{{ ctx.more }}"}, {step: end}]}
Instead
    - step: work                                          # `join: any`: each token starts a run
      next: {arcs: [{step: work, when: "{{ ctx.more }}"}, {step: end}]}
When to ignore
    Where the cycle is there to start the step once, whichever token comes first.
"""

from collections.abc import Iterator

from noetlc.ast.components import components_of
from noetlc.ast.playbook import Merge
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import LintRule, Unit, listed_steps


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Joins of `first` or `n` on a cycle at which tokens stay, or that no source on the cycle can start again."""
    graph, entries = unit.graph, frozenset(unit.graph.entries)
    part = {at: number for number, steps in enumerate(components_of(graph.successors)) for at in steps}
    stuck = {each.step: each for each in unit.starved if each.cause == "cycle"}
    for at, step in enumerate(unit.playbook.steps):
        if (
            step.spec.join in ("any", "all", "taken", "settled")
            or isinstance(step.spec.join, Merge)
            or not unit.written.has_join(step)
        ):
            continue
        # A source that the step leads to is on a cycle with it, and so is a step that is its own source.
        inner = [source for source in graph.sources[at] if part[source] == part[at]]
        outer = [source for source in graph.sources[at] if part[source] != part[at]]
        if at in stuck or (inner and (outer or at in entries)):
            starved = stuck.get(at)
            source = listed_steps([unit.playbook.steps[each].name for each in outer]) or "the entry"
            yield RULE.story(
                f"a token that comes back to `{step.name}` does not start it again: {source} delivers once",
                step.spec.join_span or step.name_span,
                help="write `join: any`, or let the fork and all sources be on the cycle",
                story=starved.story if starved is not None else None,
                sure=starved is None or starved.sure,
            )


RULE = LintRule("NL705", Severity.WARNING, "net", check, about=("join",))
