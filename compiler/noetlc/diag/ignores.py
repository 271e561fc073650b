"""Comments that take findings back: `# noetl: ignore[CODE, …] reason`.

A comment beside something is about the findings that begin in its line, and where a block of text begins there, in the
block too; one on a line of its own is about the next line that has anything. A comment that takes nothing back, names
what is no code, or gives no reason is a finding itself.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from noetl_ir.records import NamedTuple
from noetl_ir.span import Span
from noetlc.diag.codes import finding
from noetlc.diag.diagnostic import Diagnostic, Fix

_FORM = re.compile(r"#\s*noetl:\s*ignore\b(?:\s*\[(?P<codes>[^\]]*)\])?(?P<reason>.*)", re.DOTALL)
_WRITE = "write `# noetl: ignore[NL203] reason`"


class Ignore(NamedTuple):
    """A comment: its `words`, the codes or names it lists; the lines it is about; what to cut to be rid of it."""

    span: Span
    words: tuple[str, ...]
    reason: str
    first: int
    last: int
    cut: Span


class Applied(NamedTuple):
    """The findings that stay, those of the comments themselves among them, and how many were taken back."""

    kept: list[Diagnostic]
    ignored: int


def ignore_of(text: str, span: Span, lines: tuple[int, int], cut: Span) -> Ignore | None:
    """The codes that a comment names, None where it is another one."""
    found = _FORM.match(text)
    if found is None:
        return None
    words = [word.strip() for word in (found["codes"] or "").split(",")]
    # The dash or colon between codes and reason is writing, and no reason by itself.
    return Ignore(span, tuple(word for word in words if word), found["reason"].strip(" \t-—:"), *lines, cut)


def applied(found: Sequence[Diagnostic], ignores: Iterable[Ignore], code_of: Callable[[str], str]) -> Applied:
    """The findings without those taken back. `code_of` gives the code of a number or a name, "" where there is none."""
    taken: set[int] = set()
    told: list[Diagnostic] = []
    for ignore in ignores:
        codes = {word: code_of(word) for word in ignore.words}
        used: set[str] = set()
        for index, one in enumerate(found):
            if ignore.first <= one.span.line <= ignore.last and one.code in codes.values():
                # One finding may be taken back by several comments, each of which is used then; it is counted once.
                taken.add(index)
                used.add(one.code)
        # Findings about comments are added behind the loop over findings, so that no comment can take back what is
        # said of one.
        told += _faults(ignore, codes, used)
    kept = [one for index, one in enumerate(found) if index not in taken]
    return Applied([*kept, *told], len(taken))


def _faults(ignore: Ignore, codes: dict[str, str], used: set[str]) -> Iterator[Diagnostic]:
    """The fault of a comment."""
    span = ignore.span
    if not codes:
        yield finding("NL024", "the comment names no code, and takes nothing back", span, help=_WRITE)
    for word, code in codes.items():
        if not code:
            hint = "`noetlc explain` lists all codes"
            yield finding("NL024", f"the comment names `{word}`, which is no code", span, help=hint)
    idle = [word for word, code in codes.items() if code and code not in used]
    # Told as one: a comment of three codes that is at the wrong line is one mistake.
    if idle:
        # A comment that still takes something back stays; to cut one word out of it is left to its author.
        fix = Fix(ignore.cut, "", "delete the comment") if len(idle) == len(codes) else None
        message = f"nothing here has the code {', '.join(f'`{word}`' for word in idle)}"
        yield finding("NL022", message, span, help="delete it", fix=fix)
    if codes and not ignore.reason:
        yield finding("NL023", "the comment does not say why", span, help=f"{_WRITE}: whoever reads it next will ask")
