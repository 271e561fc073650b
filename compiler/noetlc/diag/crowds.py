"""Findings of one code that come in crowds, as they do in files of older dialects: told as one, with a count.

A construct that is written in an older form is written so all through a file. Told one by one, a hundred notes hide the
one warning beside them.
"""

from collections.abc import Iterator, Sequence

from noetlc.diag.diagnostic import Diagnostic, Severity

MIGRATED = frozenset({"NL111", "NL112", "NL910", "NL911", "NL912"})
"""The notes that a migration of the file does away with."""

OLD = MIGRATED | {"NL901", "NL903"}
"""Codes that say that a file is of an older dialect."""

MOST = 5
"""As many findings of a code in a file are told one by one, and as many notes that one migration does away with."""

LINES = 12
"""Lines that are named of a crowd."""


def gathered(found: Sequence[Diagnostic]) -> Iterator[tuple[int, Diagnostic]]:
    """The findings of a file, each with its number; of a crowd in a file of an older dialect the first for all."""
    crowds: dict[tuple[str, Severity], list[int]] = {}
    for number, one in enumerate(found):
        crowds.setdefault((one.code, one.severity), []).append(number)
    is_old = any(code in OLD for code, _ in crowds)
    forms = sum(len(crowd) for (code, _), crowd in crowds.items() if code in MIGRATED)
    for number, one in enumerate(found):
        crowd = crowds[one.code, one.severity]
        size = forms if one.code in MIGRATED else len(crowd)
        if not is_old or size <= MOST or len(crowd) == 1:
            yield number, one
        elif crowd[0] == number:
            yield number, one._replace(message=f"{one.message} — {_others([found[each] for each in crowd[1:]])}")


def _others(found: Sequence[Diagnostic]) -> str:
    lines = list(dict.fromkeys(one.span.line for one in found))
    shown = ", ".join(str(line) for line in lines[:LINES]) + (", …" if len(lines) > LINES else "")
    return f"and {len(found)} more of {found[0].code} in this file, in line{'s' if len(lines) > 1 else ''} {shown}"
