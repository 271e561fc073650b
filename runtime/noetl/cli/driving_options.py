"""The options of every command that drives an execution from its own process: `run`, `resume` and `rerun`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

from noetl.app.runtime import DEFAULT_SLOTS, Settings
from noetl.cli.buses import pool_limit_option
from noetl.cli.durability import durability_option
from noetl.cli.environment import env_option
from noetl.cli.inputs import script_of
from noetl.cli.stores import path_option
from noetl.cli.tracing import tracing_here
from noetl.cli.watching import progress_for, trouble_for
from noetl.host.environment import Environment
from noetl_cli import lazy_click as click
from noetl_ir.records import NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

    from noetl.cli.progress import Progress

SCRIPT = "Replace tools by the outcomes listed there, on a virtual clock."


class DrivingOptions(NamedTuple):
    """How somebody wants an execution driven; `script` is the name of a file, None for real tools."""

    folders: tuple[Path, ...]
    script: str | None
    slots: int
    every_event: bool
    limits: dict[str, int]
    environment: Environment
    quiet: bool

    @property
    def is_scripted(self) -> bool:
        """Whether a script stands in for its tools."""
        return self.script is not None

    def progress(self) -> Progress:
        """Where its progress is shown."""
        return progress_for(quiet=self.quiet)

    def settings(self, shown: Progress) -> Settings:
        """The settings of the runtime. Raises UsageError for a script that cannot be read."""
        return Settings(
            self.folders, slots=self.slots, limits=self.limits, log=shown.log, environment=self.environment,
            script=None if self.script is None else script_of(self.script), tick=shown.tick,
            every_event=self.every_event, say=trouble_for(shown, quiet=self.quiet), waits=True,
            tracing=tracing_here(),
        )  # fmt: skip


def driving_options(script: str = SCRIPT) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Options that a command gets as one argument, `options`; `script` is the help of --script."""

    def with_options(function: Callable[..., int]) -> Callable[..., int]:
        @wraps(function)
        def command(**values: Any) -> int:
            return function(options=DrivingOptions(*[values.pop(name) for name in DrivingOptions._fields]), **values)

        declared = (
            path_option,
            click.option("--script", metavar="FILE", help=script),
            click.option(
                "--slots", type=click.IntRange(1), default=DEFAULT_SLOTS, show_default=True, help="Tasks at once."
            ),
            durability_option,
            pool_limit_option,
            env_option,
            click.option("--quiet", is_flag=True, help="Show no progress."),
        )
        for option in reversed(declared):
            option(command)
        return command

    return with_options
