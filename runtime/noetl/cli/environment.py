"""The option that says which variables of the environment playbooks may read."""

from __future__ import annotations

import os
import re

from noetl.cli.text import escaped
from noetl.host.environment import Environment
from noetl_cli import lazy_click as click

_PATTERN = re.compile(r"[\w*?]+", re.ASCII)
_VARIABLE = "NOETL_ENV"


def _environment(_: click.Context, __: click.Parameter, allowed: tuple[str, ...]) -> Environment:
    """The variables of the environment that may be read. Raises UsageError."""
    for pattern in allowed:
        # Who writes `NAME=value` thinks that it sets the variable. The value would be on the command line for all to
        # see, and do nothing.
        if not _PATTERN.fullmatch(pattern):
            raise click.UsageError(f"--env {escaped(pattern)}: write a name, or a pattern as 'APP_*'; never a value")
    return Environment(allowed, os.environ)


env_option = click.option(
    "--env", "environment", multiple=True, metavar="NAME", callback=_environment, envvar=_VARIABLE,
    help=f"A variable that playbooks may read as env.NAME, or a pattern: 'APP_*'; {_VARIABLE} says it for all.",
)  # fmt: skip
