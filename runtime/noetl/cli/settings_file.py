"""A file of settings for the commands that stay: TOML, with a table for each command and its options as keys."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any

import click

from noetl.cli.text import escaped
from noetl.host.process_secrets import learn_words
from noetl_ir.nearest import nearest

COMMANDS = ("server", "worker")
"""The tables that a file may have."""

_OWN = ("settings", "check-config", "help")
"""Options that say what to do, and are no settings."""


def _settings(context: click.Context, _: click.Parameter, name: str | None) -> None:
    """Have options that the command line and the environment leave out come from a file. Raises UsageError."""
    if name is None:
        return
    try:
        with open(name, "rb") as file:
            document = tomllib.load(file)
    except (OSError, ValueError) as problem:
        why = problem.strerror if isinstance(problem, OSError) else str(problem)
        raise click.UsageError(f"--settings {escaped(name)}: it cannot be read: {escaped(str(why))}") from None
    try:
        context.default_map = _defaults(context.command, document)
    except ValueError as problem:
        raise click.UsageError(f"--settings {escaped(name)}: {escaped(str(problem))}") from None


def _defaults(command: click.Command, document: Mapping[str, Any]) -> dict[str, Any]:
    """The values of options by the names of their parameters. Raises ValueError."""
    for table in document:
        if table not in COMMANDS or not isinstance(document[table], dict):
            raise ValueError(f"`{table}` is no table of a command: write [server] or [worker]")
    options = {
        word.removeprefix("--"): parameter
        for parameter in command.params
        for word in parameter.opts
        if word.startswith("--") and word.removeprefix("--") not in _OWN
    }
    found = {}
    for key, value in document.get(command.name or "", {}).items():
        parameter = options.get(key)
        if parameter is None:
            near = nearest(key, options)
            raise ValueError(f"[{command.name}] has no `{key}`" + (f"; did you mean `{near}`?" if near else ""))
        found[parameter.name or ""] = _value(key, value, parameter)
    return found


def _value(key: str, value: object, parameter: click.Parameter) -> object:
    """A value as click reads it. Raises ValueError."""
    if isinstance(parameter, click.Option) and parameter.is_flag:
        if not isinstance(value, bool):
            raise ValueError(f"`{key}` is true or false")
        return value
    many = value if isinstance(value, list) and parameter.multiple else [value]
    if not all(isinstance(each, str | int) and not isinstance(each, bool) for each in many):
        raise ValueError(f"`{key}` is {'a list of texts' if parameter.multiple else 'a text or a number'}")
    texts = [str(each) for each in many]
    learn_words(f"the setting {key}", texts)
    for text in texts:
        try:  # here, as later nobody would know that it stands in the file
            parameter.type.convert(text, parameter, None)
        except click.BadParameter as problem:
            raise ValueError(f"`{key}`: {problem.message}") from None
    return texts if parameter.multiple else texts[0]


settings_option = click.option(
    # Eager: all other options are looked up in what it reads.
    "--settings", metavar="FILE", callback=_settings, expose_value=False, is_eager=True, envvar="NOETL_SETTINGS",
    help="Options that are not given here: TOML, [server] and [worker].",
)  # fmt: skip
