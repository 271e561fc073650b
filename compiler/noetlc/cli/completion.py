"""Completion of `noetlc` by shells."""

from noetl_cli.completion import completion_command
from noetlc.cli import group

COMMAND = completion_command("noetlc", group)
