"""The report of a migration, as text, JSON or Markdown: files, constructs, classes of changes, and what is in the
way.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple
from noetlc.cli.files import shown_name
from noetlc.diag.change import Change
from noetlc.diag.diagnostic import Diagnostic
from noetlc.emit.findings.json import diagnostic_json
from noetlc.rules import slug_of

CLASSES = ("exact", "safe", "review")


class MigratedFile(NamedTuple):
    """A file: the dialect it is mostly written in, "" where it is no playbook; its changes, the problems and how they
    are shown, its content before and after (None: not made).
    """

    name: str
    dialect: str
    changes: tuple[Change, ...]
    problems: tuple[Diagnostic, ...]
    texts: tuple[str, ...]
    before: bytes
    after: bytes | None
    broken: bool

    @property
    def status(self) -> str:
        """The result of a migration in one word."""
        return "refused" if self.problems else "migrated" if self.changes else "unchanged"


def text_report(rows: Sequence[MigratedFile]) -> str:
    """A paragraph for each file that changes or cannot, and a line about all."""
    told = "".join(text_of_row(row) for row in rows if row.changes or row.problems)
    statuses = Counter(row.status for row in rows)
    words = [f"{statuses[status]} {status}" for status in ("migrated", "unchanged", "refused") if statuses[status]]
    dialects = f"dialects: {', '.join(f'{count} {name}' for name, count in _dialects(rows))}\n" if len(rows) > 1 else ""
    return f"{told}{dialects}{_files(len(rows))}: {', '.join(words)}; {_counted(_changes(rows))}\n"


def text_of_row(row: MigratedFile) -> str:
    """The changes of one file, or what is in the way."""
    name = shown_name(row.name)
    if row.problems:
        return "".join([f"{name}: cannot be migrated\n", *row.texts])
    written = f" ({row.dialect})" if row.dialect else ""
    lines = [f"{name}{written}: {_counted(row.changes)}"]
    lines += [f"  {_line(change)}" for change in row.changes]
    return "\n".join(lines) + "\n"


def _line(change: Change) -> str:
    place = f"{change.span.line}:{change.span.column}"
    return f"{place} {change.klass} {change.by}: {change.construct} → {change.message}"


def review_of_row(row: MigratedFile) -> str:
    """The changes of one file that somebody is to look at; "" where there is none."""
    found = _reviewed(row)
    if not found:
        return ""
    head = f"{shown_name(row.name)}: {len(found)} of {len(row.changes)} changes to review\n"
    return head + "".join(f"  {_line(change)}\n" for change in found)


def json_report(rows: Sequence[MigratedFile]) -> str:
    """The report for programs."""
    import json

    files: list[Json] = [_file_json(row) for row in rows]
    dialects = dict(_dialects(rows))
    report = {
        "files": files,
        "dialects": dialects,
        "constructs": dict(_constructs(rows)),
        "classes": _classes(_changes(rows)),
    }
    return json.dumps(report, indent=1, ensure_ascii=False) + "\n"


def _file_json(row: MigratedFile) -> dict[str, Json]:
    name = shown_name(row.name)
    changes: list[Json] = [
        {
            "pass": change.by,
            "class": change.klass,
            "construct": change.construct,
            "became": change.message,
            "span": list(change.span),
        }
        for change in row.changes
    ]
    problems: list[Json] = [diagnostic_json(problem, name, slug_of(problem.code)) for problem in row.problems]
    return {
        "file": name,
        "dialect": row.dialect,
        "status": row.status,
        "changes": changes,
        "problems": problems,
    }


def markdown_report(rows: Sequence[MigratedFile]) -> str:
    """The report to be read in a review."""
    lines = ["# Migration", "", f"{_files(len(rows))}; {_counted(_changes(rows))}."]
    lines += ["", "| file | dialect | | exact | safe | review |", "|---|---|---|---|---|---|"]
    for row in rows:
        counts = _classes(row.changes)
        numbers = " | ".join(str(counts[klass]) for klass in CLASSES)
        lines.append(f"| {shown_name(row.name)} | {row.dialect} | {row.status} | {numbers} |")
    lines += _section("Constructs", (f"{name}: {count}" for name, count in _constructs(rows)))
    lines += _section("To review", (_place(row, change) for row in rows for change in _reviewed(row)))
    problems = [(row, problem) for row in rows for problem in row.problems]
    lines += _section("Not migrated", (f"{_at(row, problem)}: {problem.message}" for row, problem in problems))
    return "\n".join(lines) + "\n"


def _section(title: str, items: Iterable[str]) -> list[str]:
    found = [f"- {item}" for item in items]
    return ["", f"## {title}", "", *found] if found else []


def _place(row: MigratedFile, change: Change) -> str:
    return f"{shown_name(row.name)}:{change.span.line}: {change.construct} → {change.message}"


def _at(row: MigratedFile, problem: Diagnostic) -> str:
    return f"{shown_name(row.name)}:{problem.span.line}"


def _reviewed(row: MigratedFile) -> list[Change]:
    return [change for change in row.changes if change.klass == "review"]


def _changes(rows: Iterable[MigratedFile]) -> list[Change]:
    return [change for row in rows for change in row.changes]


def _constructs(rows: Iterable[MigratedFile]) -> list[tuple[str, int]]:
    """The legacy constructs met, the most frequent first."""
    counts = Counter(change.construct for change in _changes(rows))
    return sorted(counts.items(), key=lambda row: (-row[1], row[0]))


def _dialects(rows: Iterable[MigratedFile]) -> list[tuple[str, int]]:
    """How many files are written in each dialect, the most frequent first."""
    counts = Counter(row.dialect or "no playbook" for row in rows)
    return sorted(counts.items(), key=lambda row: (-row[1], row[0]))


def _classes(changes: Iterable[Change]) -> dict[str, int]:
    counts = Counter(change.klass for change in changes)
    return {klass: counts[klass] for klass in CLASSES}  # type: ignore[index]


def _counted(changes: Sequence[Change]) -> str:
    parts = [f"{count} {klass}" for klass, count in _classes(changes).items() if count]
    return f"{len(changes)} change{'' if len(changes) == 1 else 's'}{': ' if parts else ''}{', '.join(parts)}"


def _files(count: int) -> str:
    return f"{count} file{'' if count == 1 else 's'}"
