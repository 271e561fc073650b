"""no-default-arc: an exclusive router in which perhaps no arc matches.

Why it matters
    When no guard is true the token ends there, which looks like the end of the work.
Example
    arcs:
      - {step: yes_path, when: "{{ workload.answer == 'APPROVED' }}"}
      - {step: no_path, when: "{{ workload.answer == 'REJECTED' }}"}
Instead
    arcs:
      - {step: yes_path, when: "{{ workload.answer == 'APPROVED' }}"}
      - {step: no_path}
When to ignore
    Where ending there is the meaning; an arc to `end` says the same aloud. Of a single arc nothing is said: its guard
    says that the step goes on there or ends.
"""

from collections.abc import Iterator

from noetl_ir.expr import Expr
from noetlc.ast.once import Once
from noetlc.ast.playbook import Arc, Step
from noetlc.ast.reducers import keys_in
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.expr.paths import accesses
from noetlc.rules import LintRule, Unit

_ROUTE = "__route"
"""Where migration has a run record which rule of a `case` routes (LANGUAGE §6)."""


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Exclusive routers with arcs for success, where all of them can be false at once."""
    written = keys_in(unit.playbook)
    unset = {key for step in unit.playbook.steps for arc in _arcs(step) for key in _reads(arc)} - written
    for step in unit.playbook.steps:
        if step.router is None or step.router.mode != "exclusive" or _has_default(step):
            continue
        if not unit.written.has_router(step):
            continue
        if any(_reads(arc) & unset for arc in step.router.arcs):
            continue  # that a key is never set is the fault, and told
        if len(step.router.arcs) == 1:
            continue  # one arc with a guard says that the step goes on there or ends: nothing was to be chosen
        if any(_asks_for_route(arc) for arc in step.router.arcs):
            continue  # a `case` of older playbooks, whose author wrote no arcs
        choice = unit.choices.on_success(step)
        # A router with arcs for failures only ends well after a success: nothing is missing there.
        if any(choice.may(number) for number in range(len(choice.guards))) and not choice.covers:
            yield RULE.finding(
                f"perhaps no arc of `{step.name}` matches, and its token ends there",
                step.router.span,
                help="let the last arc have no guard, or add `- step: end`",
            )


def _arcs(step: Step) -> tuple[Arc, ...]:
    return step.router.arcs if step.router is not None else ()


def _reads(arc: Arc) -> frozenset[str]:
    """The keys of `ctx` that a guard reads."""
    return frozenset() if arc.when is None else _keys_read(arc.when.expr)


def _asks_for_route(arc: Arc) -> bool:
    """Whether a guard asks which rule of a `case` was taken, as migration writes it."""
    return arc.when is not None and _route_read(arc.when.expr)


_keys_read: Once[Expr, frozenset[str]] = Once(
    lambda expr: frozenset(
        str(access.keys[0]) for access in accesses(expr) if access.root.name == "ctx" and access.keys
    )
)
_route_read: Once[Expr, bool] = Once(
    lambda expr: any(access.root.name == "iter" and access.keys[:1] == (_ROUTE,) for access in accesses(expr))
)


def _has_default(step: Step) -> bool:
    return step.router is not None and any(arc.when is None for arc in step.router.arcs)


RULE = LintRule("NL605", Severity.WARNING, "ast", check, whole=True)
