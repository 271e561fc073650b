"""strange-requirement: a python task asks to have something installed that is no package by name and version.

Why it matters
    Addresses, paths and options are refused: what is installed comes from the index that the operator chose. The task
    would fail when it runs.
Example
    - {kind: python, requirements: ["git+https://example.com/tool"], code: "import tool"}
Instead
    - {kind: python, requirements: ["tool==1.4.2"], code: "import tool"}
When to ignore
    Never: the task cannot run.
"""

from collections.abc import Iterator

from noetl_ir.requirements import MOST, is_requirement
from noetlc.ast.requirements import requirements_of
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import LintRule, Unit


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Requirements that are none, and lists of too many."""
    for task in (task for step in unit.playbook.steps for task in step.tasks):
        found = requirements_of(task)
        for text, span in found:
            if not is_requirement(text):
                yield RULE.finding(
                    f"`{text[:100]}` is no package with a version",
                    span,
                    help="write it as `name==version`, as PEP 508 has it",
                )
        if len(found) > MOST:
            yield RULE.finding(
                f"`{task.name}` asks for more than {MOST} packages", found[MOST][1], help="ask for fewer"
            )


RULE = LintRule("NL840", Severity.ERROR, "ast", check, about=("python",), words=("requirements",))
