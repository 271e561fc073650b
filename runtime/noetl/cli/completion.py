"""Completion of `noetl` by shells."""

from noetl.cli import group
from noetl_cli.completion import completion_command

COMMAND = completion_command("noetl", group)
