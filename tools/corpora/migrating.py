"""Migrates a corpus: which playbooks reach a fixpoint and keep their comments, and how many lines they become.

That the new text compiles to the same plan is the migration's own promise (NL905 says that it is broken); here it must
compile at all, change no more, and have every comment.
"""

from collections.abc import Iterator
from typing import NamedTuple

import yaml

from corpora.compiling import LIMIT, SLOW, cause_of
from corpora.files import Corpus, File
from corpora.limits import Done, limited
from noetlc.migrate.migration import migrated


class Migrated(NamedTuple):
    """The result for a file: `problems` as (code, line, message); lines that are neither blank nor comments; what is
    wrong with the new text, as sentences.
    """

    problems: tuple[tuple[str, int, str], ...]
    before: int
    after: int
    wrong: tuple[str, ...]


def migrate(file: File) -> Migrated:
    """Migrate a file, and its new text again."""
    made = migrated(file.name, file.data)
    before = line_count(file.data)
    problems = tuple((found.code, found.span.line, found.message) for found in made.problems)
    if made.after is None:
        return Migrated(problems, before, before, ())
    # Migrating is to be done when it was done once: what it writes has to compile and to stay as it is.
    again = migrated(file.name, made.after)
    return Migrated(problems, before, line_count(made.after), tuple(_wrong(file.data, made.after, again.after)))


def _wrong(before: bytes, after: bytes, again: bytes | None) -> Iterator[str]:
    if again is None:
        yield "the new text does not compile"
    elif again != after:
        yield "migrating the new text changes it again"
    text = after.decode("utf-8", "replace")
    # Comments are the author's. No check of meaning would notice that they are gone.
    lost = sorted({comment for comment in comments_of(before.decode("utf-8", "replace")) if comment not in text})
    if lost:
        yield f"{len(lost)} comments are lost, the first is {lost[0]!r}"


def line_count(data: bytes) -> int:
    """Lines that are neither blank nor a comment from their beginning."""
    lines = (line.strip() for line in data.decode("utf-8", "replace").splitlines())
    return sum(bool(line) and not line.startswith("#") for line in lines)


def comments_of(text: str) -> Iterator[str]:
    """The comments of a YAML text, found by what its scanner passes over; nothing of a text that it cannot scan."""
    try:
        # By the scanner of another program, so that a fault of our reader cannot hide what it lost.
        marks = [(token.start_mark.index, token.end_mark.index) for token in yaml.scan(text)]
    except yaml.YAMLError:
        return
    at = 0
    for start, stop in [*marks, (len(text), len(text))]:
        for line in text[at:start].splitlines():
            _, mark, said = line.partition("#")
            if mark and said.strip():
                yield said.strip()
        at = max(at, stop)


def migrate_corpus(corpus: Corpus) -> list[Done[File, Migrated]]:
    """Migrate every playbook."""
    return list(limited(migrate, corpus.playbooks, 2 * LIMIT))


def told(done: list[Done[File, Migrated]], examples: int) -> Iterator[str]:
    """The report; of each cause so many example files."""
    seen = [one.found for one in done if one.found is not None]
    good = [found for found in seen if not found.problems]
    before, after = (sum(count) for count in ([one.before for one in good], [one.after for one in good]))
    yield f"migrate: {len(good)} of {len(done)} files"
    yield f"lines: {before} before, {after} after ({after / max(before, 1) - 1:+.1%})"
    yield from (f"broken: {one.what.name}: {one.broken.strip()}" for one in done if one.broken)
    yield from (f"slow: {one.what.name}: {one.seconds:.1f} s" for one in done if one.seconds > 2 * SLOW)
    for one in done:
        yield from (f"wrong: {one.what.name}: {text}" for text in (one.found.wrong if one.found else ()))
    causes: dict[str, list[str]] = {}
    for one in done:
        if one.found is not None and one.found.problems:
            # The first problem is the cause; those behind it often follow from it.
            code, line, message = one.found.problems[0]
            causes.setdefault(cause_of(code, message), []).append(f"{one.what.name}:{line}: {message}")
    yield "refusals by the first problem of a file:"
    for cause, places in sorted(causes.items(), key=lambda item: (-len(item[1]), item[0])):
        yield f"  {len(places):4} {cause}"
        yield from (f"         {place}" for place in places[:examples])
    longer = sorted(good_growth(done), reverse=True)[: 2 * examples]
    yield from (f"longer by {grown}: {name}" for grown, name in longer)


def good_growth(done: list[Done[File, Migrated]]) -> Iterator[tuple[int, str]]:
    """By how many lines the files grew that did."""
    for one in done:
        if one.found is not None and one.found.after > one.found.before:
            yield one.found.after - one.found.before, one.what.name
