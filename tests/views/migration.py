"""Views of a migration: the new source, and what changed in it."""

from unittest.mock import patch

from goldens import Case
from noetlc.cli.migration_report import MigratedFile, text_of_row
from noetlc.diag.text import rendered
from noetlc.migrate import migration
from noetlc.migrate.migration import Migration, migrated


def source(case: Case) -> str:
    """The new source; empty where nothing may be written."""
    return (_migrated(case).after or b"").decode("utf-8")


def problems(case: Case) -> str:
    """Why nothing may be written."""
    made = _migrated(case)
    return "\n".join(rendered(problem, made.source) for problem in made.problems)


def changes(case: Case) -> str:
    """Each change with its place, class and pass."""
    made = _migrated(case)
    return text_of_row(MigratedFile(case.path.name, "", made.changes, (), (), b"", made.after, False))


def _migrated(case: Case) -> Migration:
    data = case.path.read_bytes()
    if case.name != "wrong":
        return migrated(case.path.name, data)
    with patch.object(
        migration, "rewritten_document", lambda text, *_: text.replace("next: b", "next: {arcs: [{step: c}]}")
    ):
        return migrated(case.path.name, data)
