"""The order in which findings are told, which of them are told as one, and the report of several files."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from noetl_ir.records import NamedTuple
from noetlc.diag.diagnostic import Diagnostic, Severity


def sorted_findings(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """By place, then code, then message; what is told twice is told once."""
    found: dict[tuple[int, int, str, str], Diagnostic] = {}
    for diagnostic in diagnostics:
        # The first of two stays: callers put the one that knows more in front.
        found.setdefault(diagnostic.order, diagnostic)
    return tuple(found[order] for order in sorted(found))


def without_consequences(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The findings less those that another one is the cause of: an iterator is not known behind a loop that could not
    be read.
    """
    found = list(diagnostics)
    # A construct that could not be lowered takes the names that it would have declared with it.
    if not any(one.code == "NL903" for one in found):
        return found
    return [one for one in found if one.code not in ("NL303", "NL304")]


def hides(diagnostic: Diagnostic) -> bool:
    """Whether a finding says that a part of the playbook could not be read, so that rules do not see that part."""
    return diagnostic.severity is Severity.ERROR and diagnostic.code.startswith(_UNREAD)


# Rules would find what such a fault only hides: a name is not set, if the task that sets it could not be read.
_UNREAD = ("NL0", "NL101", "NL102", "NL104", "NL114", "NL117", "NL118", "NL201", "NL301", "NL302", "NL90")


# Findings of one code come in crowds in files of older dialects: a construct that is written in an older form is
# written so all through a file. Told one by one, a hundred notes hide the one warning beside them; told as one, with
# a count, they do not.
MIGRATED = frozenset({"NL111", "NL112", "NL910", "NL911", "NL912"})
"""The notes that a migration of the file does away with."""

OLD = MIGRATED | {"NL901", "NL903"}
"""Codes that say that a file is of an older dialect."""

MOST = 5
"""As many findings of a code in a file are told one by one, and as many notes that one migration does away with."""

LINES = 12
"""Lines that are named of a crowd."""

FORMS = 4
"""Older forms that are named of a crowd of them."""

OLDER_FORM, IS_READ = "an older form, ", ", is read as "
"""Around the form in a note of what was read."""


def gathered(found: Sequence[Diagnostic]) -> Iterator[tuple[int, Diagnostic]]:
    """The findings of a file, each with its index; in a file of an older dialect a crowd is told by its first finding,
    which counts the others.
    """
    crowds: dict[tuple[str, Severity, str], list[int]] = {}
    for number, one in enumerate(found):
        crowds.setdefault(_crowd_of(one), []).append(number)
    # In a canonical file ten findings of one code are ten faults, and each is told.
    is_old = any(one.code in OLD for one in found)
    forms = sum(one.code in MIGRATED for one in found)
    for number, one in enumerate(found):
        crowd = crowds[_crowd_of(one)]
        # One migration mends all of these, so that they are counted together, whatever their codes.
        size = forms if one.code in MIGRATED else len(crowd)
        if not is_old or size <= MOST or len(crowd) == 1:
            yield number, one
        elif crowd[0] == number:
            yield number, one._replace(message=f"{one.message} — {_others([found[each] for each in crowd[1:]])}")


def _crowd_of(one: Diagnostic) -> tuple[str, Severity, str]:
    """The key of the crowd that a finding belongs to: code and severity; for an error that no migration mends, its help
    text as well.
    """
    is_own = one.severity is Severity.ERROR and one.code not in OLD
    return one.code, one.severity, one.help if is_own else ""


def _others(found: Sequence[Diagnostic]) -> str:
    lines = list(dict.fromkeys(one.span.line for one in found))
    shown = ", ".join(str(line) for line in lines[:LINES]) + (", …" if len(lines) > LINES else "")
    where = f"in line{'s' if len(lines) > 1 else ''} {shown}"
    return f"and {len(found)} more of {found[0].code} in this file, {where}{_by_form(found)}"


def _by_form(found: Sequence[Diagnostic]) -> str:
    """Words for how often each older form is among some findings, the most frequent first; empty where
    there is none.
    """
    forms = Counter(
        one.message.removeprefix(OLDER_FORM).partition(IS_READ)[0] for one in found if IS_READ in one.message
    )
    told = ", ".join(f"{form} {count} time{'s' if count > 1 else ''}" for form, count in forms.most_common(FORMS))
    rest = len(forms) - FORMS
    return f" ({told}{f', and {rest} other form' + 's' * (rest > 1) if rest > 0 else ''})" if forms else ""


class Reported(NamedTuple):
    """A finding with its file, the name of its code, and its address: the names that lead to it in the document."""

    file: str
    slug: str
    address: str
    diagnostic: Diagnostic


class FindingsReport(NamedTuple):
    """All files that were looked at, in order, and what is reported of them. `thresholds` say for each file how severe
    what fails the run is at least.
    """

    files: tuple[str, ...]
    findings: tuple[Reported, ...]
    thresholds: Mapping[str, Severity]

    def fails(self, one: Reported) -> bool:
        """Whether a finding fails the run."""
        return one.diagnostic.severity >= self.thresholds.get(one.file, Severity.NOTE)


def fingerprints(report: FindingsReport) -> list[str]:
    """For each finding a text that stays when lines move: file, code, address, and which of several alike it is."""
    from hashlib import sha256

    seen: dict[tuple[str, str, str], int] = {}
    out = []
    for one in report.findings:
        # No line and no message: both change by an edit elsewhere in the file, and whoever compares two runs would see
        # everything as new.
        key = one.file, one.diagnostic.code, one.address
        # Several alike at one address are told apart by their order, the one thing that stays when lines move.
        seen[key] = number = seen.get(key, -1) + 1
        # File names may hold bytes that are no UTF-8, which Python keeps as surrogates.
        out.append(sha256("\0".join((*key, str(number))).encode("utf-8", "surrogatepass")).hexdigest())
    return out
