"""A developer's script, never shipped: the man pages of both programs, made from the help of their commands.

`tools/gen` writes them to `docs/man`, and the wheel brings them to `share/man/man1`. They are in the form of man(7).
"""

import re
from collections.abc import Iterator
from textwrap import dedent

import click

import noetl.cli
import noetlc.cli
from noetl_cli import CommandLine

_OTHER = {"noetl": "noetlc", "noetlc": "noetl"}
_EXIT = {
    "noetlc": (
        ("0", "there are no errors, and nothing that --strict or --fail-on counts"),
        ("1", "there are errors"),
        ("2", "wrong usage"),
        ("3", "an error of the program itself"),
    ),
    "noetl": (
        ("0", "completed; of a command that runs nothing: it did what was asked"),
        ("1", "failed"),
        ("2", "wrong usage"),
        ("3", "an error of the program itself"),
        ("4", "blocked or cancelled"),
        ("5", "stopped, and can be resumed"),
    ),
}
"""What the exit codes mean where a command says nothing else."""


def noetl_page() -> str:
    """The page of `noetl`."""
    return page_of(noetl.cli.LINE)


def noetlc_page() -> str:
    """The page of `noetlc`."""
    return page_of(noetlc.cli.LINE)


def page_of(line: CommandLine) -> str:
    """The page of a program with all its commands; ends in a line break."""
    group = line.group()
    name = str(group.name)
    context = _context(group, name, None)
    lines = [
        # Without a date: the same help gives the same page.
        f'.TH {name.upper()} 1 "" "noetlc" "NoETL"',
        # Text in paragraphs is ragged: names of options are not to be torn, nor words spread.
        ".nh",
        ".ad l",
        ".SH NAME",
        f"{name} \\- {_plain(_summary(group))}",
        ".SH SYNOPSIS",
        *_usage(context),
        ".SH DESCRIPTION",
        *_description(group),
        *_options(group, context),
        ".SH COMMANDS",
    ]
    for command, inner in _commands(group, context):
        lines += [f".SS {_plain(inner.command_path)}", *_usage(inner), ".PP", *_description(command)]
        lines += _options(command, inner)
    lines += [".SH EXIT STATUS"]
    for code, meaning in _EXIT[name]:
        lines += [".TP", f".B {code}", _plain(meaning)]
    lines += [".SH SEE ALSO", f".BR {_OTHER[name]} (1)"]
    return "\n".join(lines) + "\n"


def _context(command: click.Command, name: str, parent: click.Context | None) -> click.Context:
    return click.Context(command, info_name=name, parent=parent)


def _commands(group: click.Group, context: click.Context) -> Iterator[tuple[click.Command, click.Context]]:
    """The commands of a group and theirs, in the order of the help."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        inner = _context(command, name, context)
        yield command, inner
        if isinstance(command, click.Group):
            yield from _commands(command, inner)


def _summary(command: click.Command) -> str:
    return command.get_short_help_str(limit=200).rstrip(".")


def _usage(context: click.Context) -> Iterator[str]:
    yield f".B {_plain(context.command_path)}"
    yield _plain(" ".join(context.command.collect_usage_pieces(context)))


def _description(command: click.Command) -> Iterator[str]:
    """The paragraphs of a help text; those behind `\\b` keep their lines."""
    for number, paragraph in enumerate((command.help or "").strip().split("\n\n")):
        if number:
            yield ".PP"
        lines = [line.strip() for line in paragraph.split("\n")]
        if lines[0] == "\b":
            kept = dedent("\n".join(paragraph.split("\n")[1:])).split("\n")
            yield from (".nf", *map(_plain, kept), ".fi")
        else:
            yield _plain(" ".join(filter(None, lines)))


def _options(command: click.Command, context: click.Context) -> Iterator[str]:
    for option in command.get_params(context):
        # Every command has --help, which the program's own says.
        is_told = isinstance(option, click.Option) and ("--help" not in option.opts or context.parent is None)
        record = option.get_help_record(context) if is_told else None
        if record is not None:
            yield from (".TP", f".B {_plain(record[0])}", _plain(" ".join(record[1].split())))


def _plain(text: str) -> str:
    """A text as roff shows it: nothing of it is a request, a hyphen is one that can be copied."""
    # A choice of many words may be broken behind each.
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("|", "|\\:")
    text = "".join(char if char.isascii() else f"\\[u{ord(char):04X}]" for char in text)
    return re.sub(r"^([.'])", r"\\&\1", text)
