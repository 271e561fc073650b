"""error-of-a-good-run: `finally` reads into an arg that is null after some runs.

Why it matters
    `finally` runs after every end. `args.error` is null where main completed, and `args.result` where it did not: what
    is read inside of them is undefined then, and the phase fails.
Example
    executor: {spec: {finally: tidy}}
    - {step: tidy, tool: {kind: noop, result: "{{ args.error.code }}"}}
Instead
    - {step: tidy, tool: {kind: noop, result: "{{ args.error.code | default('none') }}"}}
When to ignore
    Never: the phase fails after such a run. `executor.spec.on_failure` runs after a failure alone.
"""

from collections.abc import Iterator

from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.expr.needed_args import needed_args
from noetlc.rules import LintRule, Unit

_WHEN = {"error": "that completed", "result": "that did not complete"}
"""Arg → after which runs it is null."""


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Reads inside of `args.error` and `args.result` in the first step of `finally`, guards aside."""
    for phase in unit.playbook.executor.phases:
        at = unit.graph.positions.get(phase.step, -1)
        if phase.name != "finally" or at < 0:
            continue
        told: set[str] = set()
        for access, scalar in needed_args(unit.playbook.steps[at]):
            key = str(access.keys[0])
            if key not in _WHEN or len(access.keys) < 2 or key in told:
                continue
            told.add(key)
            path = ".".join(["args", *map(str, access.keys)])
            yield RULE.finding(
                f"`args.{key}` is null after a run {_WHEN[key]}, and `finally` fails there",
                unit.source.inner_span(scalar, access.root.start, access.nodes[1].end),
                help=f"write `{path} | default(…)`, or ask `args.status` first",
            )


RULE = LintRule("NL423", Severity.WARNING, "ast", check, whole=True, about=("phases",))
