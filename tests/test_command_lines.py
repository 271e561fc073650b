"""Both command lines: the lazy group, exit codes, and what a user sees when we are wrong."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import click
import pytest

import noetl.cli
import noetlc.cli
from noetl_cli import OWN_COMMANDS
from noetl_cli.lazy_click import real_command
from noetl_ir.registry import load

Program = ModuleType


@pytest.fixture(params=[noetlc.cli, noetl.cli], ids=["noetlc", "noetl"])
def program(request: pytest.FixtureRequest) -> Program:
    """The package of one of the two command lines."""
    package: Program = request.param
    return package


def name_of(program: Program) -> str:
    """The name by which users call a program."""
    return program.__name__.partition(".")[0]


@pytest.fixture
def one_command(program: Program, monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Makes a function the only command, `try-it`."""

    def install(body: Callable[[], object]) -> None:
        command = click.Command("try-it", callback=body, short_help="Try.")
        monkeypatch.setattr(program.LINE, "commands", {"try-it": "Try."})
        monkeypatch.setattr(program.LINE, "command", lambda name: command)

    return install


def test_every_command_has_its_row_and_says_the_same(program: Program) -> None:
    assert program.__file__ is not None
    modules = {
        path.stem.replace("_", "-")
        for path in Path(program.__file__).parent.glob("[a-z]*.py")
        if any(line.startswith(("COMMAND =", "COMMAND:")) for line in path.read_text("utf-8").splitlines())
    }
    assert set(program.COMMANDS) == modules
    for name, line in program.COMMANDS.items():
        command = real_command(load(program.__name__, name.replace("-", "_"), "COMMAND", object))
        assert (command.name, command.get_short_help_str(limit=200)) == (name, line)


def test_help_shows_every_command_and_imports_none(program: Program) -> None:
    code = (
        f"import sys; from {program.__name__} import main; code = main(['--help'])\n"
        f"print('imported', [name for name in sys.modules if name.startswith('{program.__name__}.')])\n"
        "sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "imported []" in done.stdout
    assert [name for name in program.COMMANDS if f"\n  {name} " not in done.stdout] == []


def test_help_shows_the_table(
    program: Program, one_command: Callable[[Callable[[], object]], None], capsys: pytest.CaptureFixture[str]
) -> None:
    one_command(lambda: None)
    assert program.main(["--help"]) == 0
    assert "  try-it  Try.\n" in capsys.readouterr().out


def test_version_names_the_program_and_the_version(program: Program) -> None:
    command = [sys.executable, "-m", program.__name__, "--version"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert done.stdout.startswith(f"{name_of(program)}, version 0.")


@pytest.mark.parametrize("argv", [["no-such-command"], ["--no-such-option"], []])
def test_wrong_usage_is_2(program: Program, argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert program.main(argv) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert f"Usage: {name_of(program)}" in said.err


@pytest.mark.parametrize(("returned", "code"), [(None, 0), (0, 0), (1, 1), (5, 5)])
def test_a_command_returns_its_exit_code(
    program: Program, one_command: Callable[[Callable[[], object]], None], returned: int | None, code: int
) -> None:
    one_command(lambda: returned)
    assert program.main(["try-it"]) == code


def test_an_exit_through_click_counts_too(
    program: Program, one_command: Callable[[Callable[[], object]], None]
) -> None:
    one_command(lambda: click.get_current_context().exit(4))
    assert program.main(["try-it"]) == 4


@pytest.mark.parametrize("traceback", ["", "1"])
def test_an_unexpected_exception_is_3_and_one_line(
    program: Program,
    one_command: Callable[[Callable[[], object]], None],
    traceback: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail() -> None:
        raise KeyError("two\nlines")

    monkeypatch.setenv("NOETL_TRACEBACK", traceback)
    one_command(fail)
    assert program.main(["try-it"]) == 3
    said = capsys.readouterr().err
    assert said.endswith("internal error: KeyError: 'two\\nlines' (please report)\n")
    assert ("Traceback" in said) == bool(traceback)
    assert traceback or said.count("\n") == 1


def test_ctrl_c_is_130(program: Program, one_command: Callable[[Callable[[], object]], None]) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    one_command(interrupt)
    assert program.main(["try-it"]) == 130


@pytest.mark.skipif(os.name == "nt", reason="closes a POSIX pipe")
def test_a_closed_pipe_is_141_and_silent(program: Program) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", program.__name__, "--help"]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=60)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")


def test_text_that_the_terminal_cannot_show_is_escaped(program: Program) -> None:
    code = f"import sys; from {program.__name__} import main; main(['--help']); print('\\u00e9 \\ud800')"
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.stdout.splitlines()[-1] == "\\xe9 \\ud800"


def test_a_misspelt_command_is_told_with_the_one_that_was_meant(
    program: Program, capsys: pytest.CaptureFixture[str]
) -> None:
    first = next(iter(program.COMMANDS))
    assert program.main([first[1] + first[0] + first[2:]]) == 2
    assert f"Did you mean '{first}'?" in capsys.readouterr().err
    assert program.main(["xyzzy"]) == 2
    assert "Did you mean" not in capsys.readouterr().err


def test_a_command_of_the_other_program_is_told_with_that_program(
    program: Program, capsys: pytest.CaptureFixture[str]
) -> None:
    other, name = (noetl.cli, "noetl") if name_of(program) == "noetlc" else (noetlc.cli, "noetlc")
    foreign = [command for command in other.COMMANDS if command not in program.COMMANDS]
    assert [*OWN_COMMANDS[name]] == foreign
    for command in foreign:
        assert program.main([command, "x.yaml"]) == 2
        assert f"Did you mean '{name} {command}'?" in capsys.readouterr().err


def _completed(program: Program, *words: str) -> list[str]:
    """The words that bash offers for the last one, by the script that the program prints."""
    name = name_of(program)
    code = (
        f'eval "$({name} completion bash)"; compopt() {{ echo "files"; }}\n'
        f'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _{name}_completion {name}; printf "%s\\n" "${{COMPREPLY[@]}}"'
    )
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", code, "bash", name, *words], capture_output=True, text=True, env={**os.environ, "PATH": path}
    )
    assert done.stderr == ""
    return done.stdout.split()


def test_bash_completes_commands_options_and_values(program: Program) -> None:
    assert _completed(program, "compl") == ["completion"]
    assert _completed(program, "completion", "z") == ["zsh"]
    offered = _completed(program, next(iter(program.COMMANDS)), "--he")
    assert offered == ["--help"]


def test_bash_completes_names_of_signals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert _completed(noetl.cli, "signal", "last", "--name", "") == [], "there is no store, and none is made"
    assert [*tmp_path.iterdir()] == []
    steps = "workflow:\n  - {step: start, tool: {kind: wait, events: [approve, refuse], spec: {timeout: 0.1}}}\n"
    (tmp_path / "w.yaml").write_text(f"apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {{name: w}}\n{steps}")
    subprocess.run(
        [f"{Path(sys.executable).parent}/noetl", "run", "w.yaml", "--quiet"], capture_output=True, check=False
    )
    assert sorted(_completed(noetl.cli, "signal", "last", "--name", "")) == ["approve", "refuse"]
    assert _completed(noetl.cli, "signal", "last", "--name", "re") == ["refuse"]
    assert _completed(noetl.cli, "signal", "nobody", "--name", "re") == []


def test_bash_completes_files_where_a_command_takes_one() -> None:
    assert "files" in _completed(noetlc.cli, "lint", "play")
    assert "files" in _completed(noetl.cli, "run", "play")
    assert "files" not in _completed(noetl.cli, "status", "last")


@pytest.mark.parametrize(("shell", "said"), [("zsh", "#compdef"), ("fish", "complete --no-files")])
def test_other_shells_get_their_own_script(
    program: Program, shell: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert program.main(["completion", shell]) == 0
    assert said in capsys.readouterr().out


def _asked(shell: str, *words: str) -> str:
    """The output of another shell, with the programs in its path; skipped where there is none."""
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run([shell, *words], capture_output=True, text=True, env={**os.environ, "PATH": path})
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_fish_completes_and_tells_the_whole_sentence(program: Program) -> None:
    name = name_of(program)

    def offered(line: str) -> list[str]:
        return _asked("fish", "-c", f'{name} completion fish | source; complete -C "{line}"').splitlines()

    assert offered(f"{name} compl") == [f"completion\t{program.COMMANDS['completion']}"]
    assert offered(f"{name} completion z") == ["zsh"]


def test_zsh_takes_the_script(program: Program) -> None:
    name = name_of(program)
    said = _asked(
        "zsh", "-f", "-c",
        f'autoload -Uz compinit; compinit -u -D; eval "$({name} completion zsh)"; print $_comps[{name}]',
    )  # fmt: skip
    assert said.strip() == f"_{name}_completion"


def test_nothing_runs_beside_the_other_package_of_our_name(tmp_path: Path) -> None:
    folder = tmp_path / "site-packages"
    (folder / "noetl-2.8.3.dist-info").mkdir(parents=True)
    (folder / "noetl_else-1.0.dist-info").mkdir()
    command = [sys.executable, "-m", "noetl.cli", "list"]
    env = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=tmp_path)
    assert done.returncode == 2 and done.stderr.startswith(
        f"error: the package noetl 2.8.3 of PyPI is installed in {folder}"
    )
    assert done.stderr.count("\n") == 1
    (folder / "noetl-2.8.3.dist-info").rmdir()
    again = subprocess.run(command, capture_output=True, text=True, env=env, cwd=tmp_path)
    assert "PyPI" not in again.stderr
