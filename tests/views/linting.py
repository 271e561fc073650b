"""The view of what lint says besides the rules: about comments that ignore, and about a baseline."""

from collections.abc import Iterator
from errno import ENOENT
from unittest.mock import patch

from goldens import Case
from noetl_cli.excerpts import PLAIN
from noetlc import rules
from noetlc.cli.baseline import read_baseline, unknown
from noetlc.cli.cache import CachedFile
from noetlc.cli.checking import text_of, unusable
from noetlc.cli.files import Unusable
from noetlc.cli.inspection import found_in
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import LintRule, Unit
from noetlc.source.decoding import decode
from noetlc.source.text import Source


def findings(case: Case) -> str:
    """The findings of a file; with a baseline beside it, those that it does not know, and its entries without one."""
    data = case.path.read_bytes()
    if case.name == "unusable-file":
        gone = Unusable(case.path.name, FileNotFoundError(ENOENT, "No such file or directory"))
        return unusable(case.path.name, "full", PLAIN, gone).text
    found = list((_failing if case.name == "internal-error" else found_in)(case.path.name, data).findings)
    told = ""
    if case.beside("baseline").exists():
        name = str(case.beside("baseline"))
        baseline = read_baseline(name)
        found, left = unknown(found, baseline.entries_of(str(case.path)))
        told = text_of(baseline.stale(left), Source(case.beside("baseline").name, baseline.text), "full", PLAIN)
    shown = text_of(found, decode(case.path.name, data)[0], "full", PLAIN)
    return "\n".join(filter(None, [shown, told])) or "no findings\n"


def _failing(name: str, data: bytes) -> CachedFile:
    """The findings of a file where one rule is replaced by one that raises."""

    def fails(unit: Unit) -> Iterator[Diagnostic]:
        raise KeyError(unit.playbook.name)

    def rules_for(unit: Unit, level: str, at_least: Severity, *, partial: bool) -> Iterator[tuple[str, LintRule]]:
        for slug, rule in asked(unit, level, at_least, partial=partial):
            yield slug, rule._replace(check=fails) if slug == "unreachable-step" else rule

    asked = rules.rules_for
    with patch.object(rules, "rules_for", rules_for):
        return found_in(name, data)
