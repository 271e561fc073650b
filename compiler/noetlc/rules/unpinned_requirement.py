"""unpinned-requirement: what a python task asks to have installed may be another version tomorrow.

Why it matters
    Packages are installed once for each list on each worker, with the versions that the index has that day: two workers
    may run the same code with other packages, and a run may end differently from the one that was tried.
Example
    - {kind: python, requirements: [pandas], code: "import pandas"}
Instead
    - {kind: python, requirements: ["pandas==2.2.3"], code: "import pandas"}
When to ignore
    While the playbook is tried, or where any version will do.
"""

from collections.abc import Iterator

from noetl_ir.requirements import is_pinned, is_requirement
from noetlc.ast.requirements import requirements_of
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import LintRule, Unit


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Requirements that allow more than one version."""
    for task in (task for step in unit.playbook.steps for task in step.tasks):
        for text, span in requirements_of(task):
            if is_requirement(text) and not is_pinned(text):
                yield RULE.finding(
                    f"`{text}` may be another version on another worker", span, help="name one version, with `==`"
                )


RULE = LintRule("NL841", Severity.NOTE, "ast", check, about=("python",), words=("requirements",))
