"""names-differ-in-case: two names that differ in case only.

Why it matters
    A slip of one key, `Load` for `load`, names the other one, and nothing finds it.
Example
    - {step: load, next: {arcs: [{step: Load}]}}
    - {step: Load}
Instead
    - {step: load, next: {arcs: [{step: load_again}]}}
    - {step: load_again}
When to ignore
    Where the names are given by another system that tells them apart.
"""

from collections.abc import Iterable, Iterator

from noetl_ir.span import Span
from noetlc.diag.diagnostic import Diagnostic, Related, Severity
from noetlc.rules import LintRule, Unit


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Steps, tasks of one step, and workload keys, each kind among itself."""
    yield from _alike("step", [(step.name, step.name_span) for step in unit.playbook.steps])
    yield from _alike("workload key", unit.playbook.workload_spans)
    for step in unit.playbook.steps:
        yield from _alike("task", [(task.name, task.name_span) for task in step.tasks])


def _alike(what: str, names: Iterable[tuple[str, Span]]) -> Iterator[Diagnostic]:
    first: dict[str, tuple[str, Span]] = {}
    for name, span in names:
        # Nobody wrote a generated name.
        if name.startswith("__"):
            continue
        other, at = first.setdefault(name.casefold(), (name, span))
        if other != name:
            yield RULE.finding(
                f"the {what} `{name}` differs from `{other}` in case only", span,
                help="rename one of them", related=(Related(at, "the other one"),),
            )  # fmt: skip


RULE = LintRule("NL215", Severity.WARNING, "ast", check)
