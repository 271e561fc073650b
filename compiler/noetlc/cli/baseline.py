"""Baselines: findings that were there already, and are not told again.

A baseline is JSON, one entry a line: `{"file", "code", "address", "message"}`. An entry stands for one finding with its
file, code and address, wherever its lines moved; the message is for people. Files are named from the baseline's folder.
"""

import os
from collections.abc import Iterable, Sequence

from noetl_cli import lazy_click as click
from noetl_ir.records import NamedTuple
from noetl_ir.span import Span
from noetlc.cli.files import read, write
from noetlc.diag.codes import finding
from noetlc.diag.findings import Reported

FORMAT = "noetlc-baseline/1"
STALE = "NL025"


class BaselineEntry(NamedTuple):
    """A finding that is known, and the line of the baseline that knows it."""

    file: str
    code: str
    address: str
    line: int


class Baseline(NamedTuple):
    """A baseline that was read: its `text`, and its entries by file."""

    name: str
    text: str
    entries: dict[str, tuple[BaselineEntry, ...]]

    def entries_of(self, file: str) -> tuple[BaselineEntry, ...]:
        """The entries of a file."""
        return self.entries.get(_from(self.name, file), ())

    def missing(self) -> Iterable[BaselineEntry]:
        """The entries of files that are not there any more."""
        home = os.path.dirname(self.name)
        for file, entries in self.entries.items():
            if not os.path.exists(os.path.join(home, file)):
                yield from entries

    def stale(self, entries: Iterable[BaselineEntry]) -> list[Reported]:
        """The findings about entries that nothing matches."""
        lines = self.text.split("\n")
        out = []
        for entry in sorted(entries, key=lambda entry: entry.line):
            span = Span(entry.line, 1, entry.line, len(lines[entry.line - 1].rstrip("\r")) + 1)
            where = f" at {entry.address}" if entry.address else ""
            message = f"{entry.file} has no {entry.code}{where} any more"
            help = "write the baseline anew with --write-baseline"
            out.append(Reported(self.name, "stale-baseline", "", finding(STALE, message, span, help=help)))
        return out


def unknown(found: Sequence[Reported], entries: Iterable[BaselineEntry]) -> tuple[list[Reported], list[BaselineEntry]]:
    """The findings that no entry knows, and the entries that nothing matched; an entry knows one finding."""
    left: dict[tuple[str, str], list[BaselineEntry]] = {}
    for entry in entries:
        left.setdefault((entry.code, entry.address), []).append(entry)
    new = []
    for one in found:
        fitting = left.get((one.diagnostic.code, one.address))
        if fitting:
            # One entry for one finding: where a fault was known once and is there twice, the second is new.
            fitting.pop(0)
        else:
            new.append(one)
    return new, [entry for rest in left.values() for entry in rest]


def read_baseline(name: str) -> Baseline:
    """The baseline in a file. What is none is wrong usage."""
    import json

    data = read(name)
    try:
        text = data.decode("utf-8")
        content = json.loads(text)
        if content["format"] != FORMAT:
            raise ValueError(f"its format is not {FORMAT!r}")
        rows = [(row["file"], row["code"], row["address"]) for row in content["findings"]]
        if not all(isinstance(part, str) for row in rows for part in row):
            raise ValueError("an entry has a part that is no text")
    # A baseline is a file that anybody may have edited.
    except (ValueError, KeyError, TypeError, RecursionError) as problem:
        reason = f"it lacks {problem}" if isinstance(problem, KeyError) else problem
        raise click.UsageError(f"{name} is no baseline of noetlc: {reason}") from None
    lines = [number for number, line in enumerate(text.split("\n"), 1) if line.lstrip().startswith('{"file"')]
    if len(lines) != len(rows):  # written by somebody else: then all of it is the place
        lines = [1] * len(rows)
    entries: dict[str, list[BaselineEntry]] = {}
    for (file, code, address), line in zip(rows, lines, strict=True):
        entries.setdefault(file, []).append(BaselineEntry(file, code, address, line))
    return Baseline(name, text, {file: tuple(found) for file, found in entries.items()})


def write_baseline(name: str, found: Iterable[Reported]) -> None:
    """Write a baseline that knows these findings."""
    import json

    # One entry a line, so that a merge of two branches' baselines conflicts only where both changed the same one.
    rows = [
        json.dumps(
            {
                "file": _from(name, one.file),
                "code": one.diagnostic.code,
                "address": one.address,
                "message": one.diagnostic.message,
            }
        )
        for one in found
    ]
    listed = "".join(f"\n  {row}," for row in rows).rstrip(",")
    text = f'{{\n "format": "{FORMAT}",\n "findings": [{listed}{chr(10) + " " if rows else ""}]\n}}\n'
    write(name, text.encode())


def _from(baseline: str, file: str) -> str:
    """A file's name from the folder of the baseline."""
    # Standard input has no place of its own.
    if file.startswith("<"):
        return file
    return os.path.relpath(file, os.path.dirname(os.path.abspath(baseline))).replace(os.sep, "/")
