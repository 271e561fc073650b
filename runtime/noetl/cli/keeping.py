"""How long a server keeps executions that are over: its options, and what they come to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noetl.app.clock import WallClock
from noetl.app.retention import Purger, Retention, RetentionRule, age_of, rule_of
from noetl_cli import lazy_click as click
from noetl_ir.records import NamedTuple

if TYPE_CHECKING:
    from noetl.app.runtime import Runtime

_ARCHIVE = "noetl.archive"
_AUDIT = "noetl.audit"


class Keeping(NamedTuple):
    """The rules of retention, the folder for bundles of what is purged, None for none, and the age at which rows of the
    audit go (microseconds), 0 for never.
    """

    rules: tuple[RetentionRule, ...]
    archive: str | None
    audit_age: int = 0

    def retention_of(self, runtime: Runtime) -> Retention:
        """The retention of a store."""
        from noetl.app.bundles import Archive

        purger = Purger(runtime) if self.archive is None else Purger(runtime, Archive(runtime, self.archive))
        return Retention(purger, self.rules, WallClock(), self.audit_age)


def _remember(context: click.Context, _: click.Parameter, folder: str | None) -> None:
    context.meta[_ARCHIVE] = folder


def _remember_age(context: click.Context, _: click.Parameter, text: str | None) -> None:
    age = age_of(text) if text is not None else 0
    if age is None:
        raise click.UsageError(f"--retain-audit `{text}` is no age: write it as 400d")
    context.meta[_AUDIT] = age


def _keeping(context: click.Context, _: click.Parameter, texts: tuple[str, ...]) -> Keeping:
    """The rules that are written so. Raises UsageError, also for an archive without one."""
    try:
        keeping = Keeping(tuple([rule_of(text) for text in texts]), context.meta[_ARCHIVE], context.meta[_AUDIT])
    except ValueError as problem:
        raise click.UsageError(f"--retain {problem}") from None
    if keeping.archive is not None and not texts:
        raise click.UsageError("--archive keeps what --retain purges: give both")
    return keeping


retain_option = click.option(
    "--retain", "keeping", multiple=True, metavar="RULE", callback=_keeping,
    help="Purge executions so long after their end: [PATTERN:]STATUS=AGE.",
)  # fmt: skip
archive_option = click.option(
    # Eager: the rules are looked at together with it.
    "--archive", metavar="FOLDER|URL", callback=_remember, expose_value=False, is_eager=True,
    help="Keep what is purged in bundles there, ID.noetl.",
)  # fmt: skip
retain_audit_option = click.option(
    "--retain-audit", metavar="AGE", callback=_remember_age, expose_value=False, is_eager=True,
    help="Keep the rows of the audit for so long: 400d; for ever by default.",
)  # fmt: skip
