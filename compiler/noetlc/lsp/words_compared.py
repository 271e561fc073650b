"""The words with which an expression may compare what has few values: names of events, statuses, codes of errors."""

import re
from collections.abc import Sequence

from noetl_ir.error_codes import OF_ANY_KIND, OF_STEPS
from noetl_ir.expr import Literal
from noetl_ir.scopes import Site
from noetlc.ast.playbook import Step
from noetlc.expr.closed import EVENTS, STATUS_PATHS, STATUSES
from noetlc.generated.error_codes import CODES_OF_KIND

_COMPARED = re.compile(
    r"([A-Za-z_][\w.]*)\s*(?:[=!]=|in\s*[\[(](?:\s*(?:'[^']*'|\"[^\"]*\")\s*,)*)\s*(?:'([^'\"]*)|\"([^'\"]*))$"
)
CODE_PATHS = (("outcome", "error", "code"), ("event", "error", "code"), ("event", "outcome", "error", "code"))


def words_at(inside: str, site: Site, step: Step | None, kinds: Sequence[str]) -> tuple[str, list[str]]:
    """The typed part of the text that is open at the end of an expression, and the words that it may become;
    `kinds` are those of the tasks whose errors may come.
    """
    found = _COMPARED.search(inside)
    if found is None:
        return "", []
    typed, path = found[2] or found[3] or "", tuple(found[1].split("."))
    if path == ("event", "name"):
        return typed, _events(site, step)
    if path in STATUS_PATHS:
        return typed, [*STATUSES]
    return typed, _codes(site, step, kinds) if path in CODE_PATHS else []


def _events(site: Site, step: Step | None) -> list[str]:
    if site is not Site.ARC or step is None:
        return [*EVENTS]
    # A step ends in one of two ways, and a loop says of itself when it is done.
    return ["step.done" if step.loop is None else "loop.done", "step.failed"]


def _codes(site: Site, step: Step | None, kinds: Sequence[str]) -> list[str]:
    """The codes of errors of some kinds, those that the step itself gives, and those that any may have."""
    own = sorted({code for kind in kinds for code in CODES_OF_KIND.get(kind, ())})
    of_steps = OF_STEPS if site is Site.ARC else ()
    return list(dict.fromkeys([*own, *_written(step), *OF_ANY_KIND, *of_steps]))


def _written(step: Step | None) -> list[str]:
    """The codes that tasks of the kind `fail` and rules of a step write out."""
    found: list[str] = []
    for task in step.tasks if step is not None else ():
        values = [rule.code for rule in task.rules]
        values += [value for name, value in task.fields if (task.kind, name) == ("fail", "code")]
        templates = [value.template for value in values if value is not None]
        found += [str(each.value) for each in templates if isinstance(each, Literal) and isinstance(each.value, str)]
    return found
