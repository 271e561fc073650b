"""Compiles and lints a corpus: which playbooks compile, why the others are refused, and what lint finds."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from statistics import median
from typing import NamedTuple

from corpora.files import Corpus, File
from corpora.limits import Done, limited
from noetlc.diag.diagnostic import Severity
from noetlc.pipeline import check_source, compile_source

LIMIT = 30.0
"""Seconds for one file."""
SLOW = 5.0
"""A file that takes more seconds is named."""

_WORDS = 9
_QUOTED = re.compile(r"`[^`]*`|'[^']*'|\"[^\"]*\"")


class Seen(NamedTuple):
    """Findings in a file: its errors when compiled as (code, line, message), lint's findings by code, and
    whether a traceback is among the findings.
    """

    errors: tuple[tuple[str, int, str], ...]
    codes: tuple[tuple[str, str], ...]
    """(code, severity) of each finding of lint."""


def compiled(file: File) -> Seen:
    """Compile and lint a file, without a catalogue: a child that is nowhere is no finding."""
    made = compile_source(file.name, file.data)
    errors = [found for found in made.diagnostics if found.severity is Severity.ERROR]
    checked = check_source(file.name, file.data)
    return Seen(
        tuple((found.code, found.span.line, found.message) for found in errors),
        tuple((found.code, str(found.severity)) for found in checked.diagnostics),
    )


def cause_of(code: str, message: str) -> str:
    """A code and the first words of a message, without what it quotes: what alike refusals have in common."""
    words = _QUOTED.sub("…", message).split()
    return " ".join([code, *words[:_WORDS]])


def compile_corpus(corpus: Corpus) -> list[Done[File, Seen]]:
    """Compile and lint every playbook."""
    return list(limited(compiled, corpus.playbooks, LIMIT))


def told(corpus: Corpus, done: list[Done[File, Seen]], examples: int) -> Iterator[str]:
    """The report; of each cause so many example files."""
    seen = [one.found for one in done if one.found is not None]
    good = sum(not found.errors for found in seen)
    yield f"{len(done)} distinct playbooks, {corpus.others} other files left out"
    yield f"compile: {good} of {len(done)} ({good / max(len(done), 1):.1%})"
    yield from _named("broken", ((one.what.name, one.broken) for one in done if one.broken))
    yield from _named("internal error", ((one.what.name, "NL9") for one in done if one.found and _is_broken(one.found)))
    yield from _named("slow", ((one.what.name, f"{one.seconds:.1f} s") for one in done if one.seconds > SLOW))
    causes: dict[str, list[str]] = {}
    for one in done:
        for cause, where in _causes(one):
            causes.setdefault(cause, []).append(where)
    yield "refusals by the first error of a file:"
    # What stops most files comes first; equal ones by name, so that the report is the same each time.
    for cause, places in sorted(causes.items(), key=lambda item: (-len(item[1]), item[0])):
        yield f"  {len(places):4} {cause}"
        yield from (f"         {place}" for place in places[:examples])
    yield from _counts(seen)


def _causes(one: Done[File, Seen]) -> Iterator[tuple[str, str]]:
    if one.found is not None and one.found.errors:
        # Further errors of a file often follow from the first, and would be counted as causes of their own.
        code, line, message = one.found.errors[0]
        yield cause_of(code, message), f"{one.what.name}:{line}: {message}"


def _is_broken(found: Seen) -> bool:
    from noetlc.diag.selection import INTERNAL

    return any(code == INTERNAL for code, *_ in (*found.errors, *found.codes))


def _named(what: str, pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    yield from (f"{what}: {name}: {text.strip()}" for name, text in pairs)


def _counts(seen: list[Seen]) -> Iterator[str]:
    good = [found for found in seen if not found.errors]
    if not good:
        return
    warnings = [sum(severity == "warning" for _, severity in found.codes) for found in good]
    yield (
        f"findings in what compiles: median {median(len(found.codes) for found in good):g} a file,"
        f" of warnings {median(warnings):g}"
    )
    codes = Counter(pair for found in seen for pair in found.codes)
    files = Counter(pair for found in seen for pair in set(found.codes))
    yield "findings by code (in so many files):"
    for (code, severity), count in codes.most_common():
        yield f"  {count:5} {code} {severity} ({files[code, severity]})"
