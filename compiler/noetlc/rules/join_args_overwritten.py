"""join-args-overwritten: two sources of a join bring one argument.

Why it matters
    The args of a joined run are put together in the order of the file: what the later step brings is what is seen.
Example
    - {step: a, next: {arcs: [{step: sum, args: {total: "{{ a.total }}"}}]}}
    - {step: b, next: {arcs: [{step: sum, args: {total: "{{ b.total }}"}}]}}
    - {step: sum, spec: {policy: {join: all}}}
Instead
    - {step: a, next: {arcs: [{step: sum, args: {total_a: "{{ a.total }}"}}]}}
    - {step: b, next: {arcs: [{step: sum, args: {total_b: "{{ b.total }}"}}]}}
When to ignore
    Where both bring the same value.
"""

from collections.abc import Iterator

from noetlc.ast.playbook import Arc, Merge, Value
from noetlc.ast.workbook import pairs_of
from noetlc.diag.diagnostic import Diagnostic, Related, Severity
from noetlc.rules import LintRule, Unit


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Keys of args that arcs of two different steps give to one join of more than one token."""
    joins = {step.name for step in unit.playbook.steps if _merges_args(step.spec.join)}
    # A join that lowering made stands for nothing that its author could change.
    joins = {step.name for step in unit.playbook.steps if step.name in joins and unit.written.has_join(step)}
    seen: dict[tuple[str, str], tuple[str, Arc, Value]] = {}
    for step in unit.playbook.steps if joins else ():
        for arc in step.router.arcs if step.router is not None else ():
            pairs = pairs_of(arc.args.template) if arc.target in joins and arc.args is not None else None
            for key, value in (pairs or {}).items():
                assert arc.args is not None
                # Two arcs of one step are alternatives; only those of different steps come together.
                source, before, other = seen.setdefault((arc.target, key), (step.name, arc, arc.args))
                if source != step.name and (pairs_of(other.template) or {}).get(key) != value:
                    yield RULE.finding(
                        f"`{key}` comes to `{arc.target}` from `{source}` and `{step.name}`, and the later is seen",
                        arc.args.span,
                        help="give the argument two names",
                        related=(Related(before.span, "the other one"),),
                    )


def _merges_args(join: str | int | Merge) -> bool:
    return not isinstance(join, Merge) and join not in ("any", "first", 1)


RULE = LintRule("NL612", Severity.WARNING, "ast", check, about=("join",))
