"""missing-distribution: `libs` names a distribution that is not installed.

Why it matters
    Its modules cannot be imported: the task fails with `python.import` on every worker that lacks them.
Example
    - {kind: python, libs: [psycopg2-binary], code: "result = psycopg2.__version__"}
Instead
    Install it where workers run, or name a module that is there.
    - {kind: python, libs: [psycopg], code: "result = psycopg.__version__"}
When to ignore
    Where workers run in another environment than the check, one that has it.
"""

from collections.abc import Iterator

from noetl_ir.expr import Json, Literal
from noetl_ir.registry import distribution_of, is_module, modules_of
from noetl_ir.requirements import normalized, package_of
from noetlc.ast.requirements import requirements_of
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import LintRule, Unit


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Entries of `libs` that can be no module, and are no distribution that is installed here."""
    for step in unit.playbook.steps:
        for task in step.tasks:
            value = dict(task.fields).get("libs") if task.kind == "python" else None
            if value is None or not isinstance(value.template, Literal):
                continue
            installed = {normalized(package_of(text)) for text, _ in requirements_of(task)}
            for name in _named(value.template.value):
                # A name that may be a module is left to the run, on the worker.
                if not is_module(name) and not modules_of(name):
                    known = distribution_of(name)
                    if known and normalized(known) in installed:
                        continue
                    what = (
                        f"the distribution `{known}`, which is not installed here" if known else f"no module: {name!r}"
                    )
                    yield RULE.finding(
                        f"`libs` of `{task.name}` names {what}",
                        value.span,
                        help=_ADVICE.format(known) if known else "name a module",
                    )


def _named(libs: Json) -> Iterator[str]:
    """The texts in `libs` that name what is imported."""
    entries = [*libs.values()] if isinstance(libs, dict) else libs
    for lib in entries if isinstance(entries, list) else ():
        wanted = (lib.get("from") or lib.get("import")) if isinstance(lib, dict) else lib
        if isinstance(wanted, str):
            yield wanted


_ADVICE = "name it in `requirements`, or install `{}` where workers run, or name a module"

RULE = LintRule("NL812", Severity.WARNING, "ast", check, about=("python",), words=("libs",))
