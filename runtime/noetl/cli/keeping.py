"""How long a server keeps executions that are over: its options, and what they come to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noetl.app.clock import WallClock
from noetl.app.retention import Purger, Retention, RetentionRule, rule_of
from noetl_cli import lazy_click as click
from noetl_ir.records import NamedTuple

if TYPE_CHECKING:
    from noetl.app.runtime import Runtime

_ARCHIVE = "noetl.archive"


class Keeping(NamedTuple):
    """The rules of retention, and the folder for bundles of what is purged, None for none."""

    rules: tuple[RetentionRule, ...]
    archive: str | None

    def retention_of(self, runtime: Runtime) -> Retention:
        """The retention of a store."""
        from noetl.app.bundles import Archive

        purger = Purger(runtime) if self.archive is None else Purger(runtime, Archive(runtime, self.archive))
        return Retention(purger, self.rules, WallClock())


def _remember(context: click.Context, _: click.Parameter, folder: str | None) -> None:
    context.meta[_ARCHIVE] = folder


def _keeping(context: click.Context, _: click.Parameter, texts: tuple[str, ...]) -> Keeping:
    """The rules that are written so. Raises UsageError, also for an archive without one."""
    try:
        keeping = Keeping(tuple([rule_of(text) for text in texts]), context.meta[_ARCHIVE])
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
    "--archive", metavar="FOLDER", callback=_remember, expose_value=False, is_eager=True,
    help="Keep what is purged in bundles there, ID.noetl.",
)  # fmt: skip
