"""Command lines that are read without click mean what click reads in them; all others are left to it."""

import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import click
import pytest

import noetl.cli
import noetlc.cli
from noetl_cli import lazy_click
from noetl_cli.lazy_click import DeclaredCommand, real_command
from noetl_ir.registry import load

PROGRAMS = {"noetlc": noetlc.cli, "noetl": noetl.cli}
VARIABLES = ("NOETL_STORE", "NOETL_SERVER", "NOETL_ENV", "NOETL_BUS")
VALUES = (
    "a",
    "x=1",
    "7",
    "0",
    "-1",
    "65536",
    "2.5",
    "",
    "-",
    "--",
    "-x",
    "full",
    "json",
    "error",
    "note",
    "p=2",
    "APP_*",
)
ODD = ("--help", "-h", "--", "-o", "-ofile", "--no-such", "--quiet=1", "--set", "-", "", "--jso", "-qx")


def declared() -> Iterator[tuple[str, str, DeclaredCommand]]:
    """The commands that may be read without click: program, name, command."""
    for program, package in PROGRAMS.items():
        for name in package.COMMANDS:
            command = load(package.__name__, name.replace("-", "_"), "COMMAND", object)
            if isinstance(command, DeclaredCommand):
                yield program, name, command


COMMANDS = {f"{program} {name}": command for program, name, command in declared()}


def lines_for(command: click.Command, chance: random.Random) -> list[str]:
    """A command line of words that its options take, and of some that they do not."""
    words: list[str] = []
    for _ in range(chance.randrange(6)):
        parameter = chance.choice(command.params)
        if isinstance(parameter, click.Option):
            word = chance.choice([*parameter.opts, *parameter.secondary_opts])
            value = chance.choice((*VALUES, "sqlite:///a.sqlite", os.curdir, "http://127.0.0.1:1"))
            if parameter.is_flag:
                words.append(word)
            elif chance.random() < 0.3:
                words.append(f"{word}={value}")
            else:
                words += [word, value]
        else:
            # A few choices among many other values would be lines that hardly ever are plain.
            words.append(chance.choice((*VALUES, *getattr(parameter.type, "choices", ()) * 5)))
    if chance.random() < 0.2:
        words.insert(chance.randrange(len(words) + 1), chance.choice(ODD))
    return words


def by_click(command: click.Command, words: list[str]) -> dict[str, object] | None:
    """The arguments that click gives the function, None where it has something to say."""
    try:
        return command.make_context("it", [*words]).params
    except (click.ClickException, click.exceptions.Exit):
        return None


def shown(values: dict[str, object]) -> dict[str, object]:
    """Values that can be compared: of an object without equality its attributes."""
    plain = (str, int, bool, tuple, dict, type(None))
    return {
        name: value if isinstance(value, plain) else (type(value), str(getattr(value, "__dict__", value)))
        for name, value in values.items()
    }


@pytest.mark.parametrize("name", COMMANDS)
def test_what_is_read_without_click_is_what_click_reads(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    command = COMMANDS[name]
    real, chance, read = real_command(command), random.Random(13), 0
    for _ in range(1000):
        words = lines_for(real, chance)
        calls: list[dict[str, object]] = []
        monkeypatch.setattr(command, "_function", lambda calls=calls, **values: calls.append(values))
        work = command.plain(words, {})
        expected = by_click(real, words)
        if work is not None:
            work()
            assert expected is not None and shown(calls[0]) == shown(expected), words
            read += 1
    assert read >= 20, "lines that are plain are read"
    capsys.readouterr()


def test_an_option_of_click_itself_is_refused_where_the_command_is_made() -> None:
    """Where the line is read without click, such an option would be lost."""
    with pytest.raises(TypeError, match="shown is an option of click itself"):

        @lazy_click.command("it", short_help="It.")
        @lazy_click.option("--quiet", is_flag=True)
        @click.option("--shown", is_flag=True)
        def it(quiet: bool, shown: bool) -> None: ...


@pytest.mark.parametrize("variable", VARIABLES)
def test_a_variable_of_the_environment_is_left_to_click(variable: str) -> None:
    run = COMMANDS["noetl run"]
    assert run.plain(["a.yaml", "--quiet"], {}) is not None
    options = {each.envvar for each in real_command(run).params if isinstance(each, click.Option)}
    assert (run.plain(["a.yaml", "--quiet"], {variable: "sqlite:///b.sqlite"}) is None) == (variable in options)


@pytest.mark.parametrize(
    "words", [["--help"], ["lint"], ["lint", "--help"], ["lint", "x", "--format", "no"], ["lint", "x", "--nothing"]]
)
def test_the_rest_is_told_by_click(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    code = noetlc.cli.main(words)
    said = capsys.readouterr()
    assert "Usage: noetlc" in said.out + said.err and code == (0 if "--help" in words else 2)


def told(program: ModuleType, words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert program.main(words) == 2
    return capsys.readouterr().err


def test_a_refusal_of_the_command_itself_has_its_usage(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """As click prints it where it has read the line."""
    usage = "Usage: {} [OPTIONS] {}\nTry '{} --help' for help.\n\nError: {}\n"
    twice = "standard input can be read only once"
    assert told(noetl.cli, ["run", "-", "--payload", "@-"], capsys) == usage.format(
        "noetl run", "PLAN|PLAYBOOK", "noetl run", twice
    )
    missing = f"there is no file '{tmp_path}/none.yaml'"
    assert told(noetlc.cli, ["lint", f"{tmp_path}/none.yaml"], capsys) == usage.format(
        "noetlc lint", "PATH...", "noetlc lint", missing
    )
    (tmp_path / "a.yaml").write_text("a: 1")
    unusable = told(noetlc.cli, ["lint", f"{tmp_path}/a.yaml", "--config", str(tmp_path)], capsys)
    assert unusable == usage.format("noetlc lint", "PATH...", "noetlc lint", f"{tmp_path}: Is a directory")


@pytest.mark.parametrize(
    ("program", "words"),
    [("noetlc", ["lint", "--no-cache", "a.yaml"]), ("noetl", ["run", "a.ir", "--quiet", "--store", "sqlite:///s"])],
)
def test_what_runs_often_starts_without_click(program: str, words: list[str], tmp_path: Path) -> None:
    source = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: a, path: a}\nworkflow:\n"
    (tmp_path / "a.yaml").write_text(f"{source}  - {{step: start, tool: {{kind: noop}}}}\n")
    assert noetlc.cli.main(["compile", str(tmp_path / "a.yaml"), "-o", str(tmp_path / "a.ir")]) == 0
    code = (
        f"import sys\nfrom {program}.cli import main\n"
        "code = main(sys.argv[1:])\nsys.exit(code or 'click' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done


@pytest.mark.parametrize(
    "say",
    [
        lambda echo: echo("a"),
        lambda echo: echo("a\nb", nl=False),
        lambda echo: echo(),
        lambda echo: echo(""),
        lambda echo: echo(7, err=True),
        lambda echo: echo("é ✓", err=True),
        lambda echo: echo("\x1b[31mred\x1b[0m"),
        lambda echo: echo(b"bytes"),
    ],
)
def test_a_line_is_printed_as_click_prints_it(
    say: Callable[[Callable[..., None]], None], capfd: pytest.CaptureFixture[str]
) -> None:
    say(click.echo)
    expected = capfd.readouterr()
    say(lazy_click.echo)
    assert capfd.readouterr() == expected
