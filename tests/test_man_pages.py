"""The man pages: every command and option is on them, and `man` shows them without a complaint."""

import os
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import noetl.cli
import noetlc.cli
from noetl_cli import CommandLine

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = (noetl.cli.LINE, noetlc.cli.LINE)


def page_file(line: CommandLine) -> Path:
    """The page of a program; that it is up to date, `tests/test_tidy.py` finds."""
    return ROOT / "docs" / "man" / f"{line.group().name}.1"


def shown(line: CommandLine, width: int) -> str:
    """The page as `man` shows it."""
    if shutil.which("man") is None:
        pytest.skip("there is no `man` here")
    done = subprocess.run(
        ["man", "--warnings", "-l", str(page_file(line))],
        capture_output=True, text=True, env={**os.environ, "MANWIDTH": str(width), "LC_ALL": "C.UTF-8"},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def commands(group: click.Group, words: str) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield f"{words} {name}", command
        if isinstance(command, click.Group):
            yield from commands(command, f"{words} {name}")


@pytest.mark.parametrize("line", PROGRAMS, ids=lambda line: str(line.group().name))
def test_every_command_and_option_is_on_the_page(line: CommandLine) -> None:
    text = shown(line, 200)
    group = line.group()
    heads = {row.strip() for row in text.splitlines() if row.startswith("   ") and not row.startswith("    ")}
    found = dict(commands(group, str(group.name)))
    assert len(found) > 10 and heads == set(found)
    for name, command in found.items():
        part = text.partition(f"\n   {name}\n")[2].partition("\n   noetl")[0]
        options = [each.opts[-1] for each in command.params if isinstance(each, click.Option) and not each.hidden]
        assert [option for option in options if f" {option}" not in part] == [], name


@pytest.mark.parametrize("line", PROGRAMS, ids=lambda line: str(line.group().name))
def test_no_line_is_wider_than_the_terminal(line: CommandLine) -> None:
    assert [row for row in shown(line, 80).splitlines() if len(row) > 80] == []


def test_texts_of_help_are_shown_as_they_are() -> None:
    """Hyphens, quotes, dots at the beginning of a line and characters beyond ASCII: roff has its own idea of each."""
    text = " ".join(shown(noetl.cli.LINE, 200).split())
    assert "Quotes make a text of anything: --set 'who=\"123\"'." in text
    assert "[{step: NAME, attempt: 1, takes: 2s, outcome: {result: VALUE}}]" in text
    assert "What it is for: postgres, bearer, …; generic when not given." in text


def test_the_wheel_brings_them_where_man_looks() -> None:
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]["targets"]["wheel"]
    names = [f"{line.group().name}.1" for line in PROGRAMS]
    assert wheel["shared-data"] == {f"docs/man/{name}": f"share/man/man1/{name}" for name in names}
