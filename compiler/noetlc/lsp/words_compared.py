"""The words with which an expression may compare what has few values: names of events, statuses, codes of errors."""

import re
from collections.abc import Sequence

from noetl_ir.outcome import CODES
from noetl_ir.scopes import Site
from noetlc.ast.playbook import Step
from noetlc.expr.closed import EVENTS, STATUS_PATHS, STATUSES
from noetlc.reading.kinds import kind_names

_COMPARED = re.compile(
    r"([A-Za-z_][\w.]*)\s*(?:[=!]=|in\s*[\[(](?:\s*(?:'[^']*'|\"[^\"]*\")\s*,)*)\s*(?:'([^'\"]*)|\"([^'\"]*))$"
)
_CODE_PATHS = (("outcome", "error", "code"), ("event", "error", "code"), ("event", "outcome", "error", "code"))
_PREFIXES = {"postgres": "pg"}
"""The beginning of a kind's codes, where it is not the name of the kind."""


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
    return typed, _codes(kinds) if path in _CODE_PATHS else []


def _events(site: Site, step: Step | None) -> list[str]:
    if site is not Site.ARC or step is None:
        return [*EVENTS]
    # A step ends in one of two ways, and a loop says of itself when it is done.
    return ["step.done" if step.loop is None else "loop.done", "step.failed"]


def _codes(kinds: Sequence[str]) -> list[str]:
    """The codes of errors of some kinds, then those that any kind may have."""
    own = {_PREFIXES.get(kind, kind) for kind in kinds}
    others = {_PREFIXES.get(kind, kind) for kind in kind_names()} - own
    codes = [code for code in CODES if code.partition(".")[0] not in others]
    return sorted(codes, key=lambda code: (code.partition(".")[0] not in own, code))
