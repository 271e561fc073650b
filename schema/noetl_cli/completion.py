"""Completion of command lines by shells: the script that a shell reads once, and the answer at each Tab.

The script calls the program again with `_NOETL_COMPLETE` (`_NOETLC_COMPLETE`) in its environment, as click has it, and
so knows the commands and options of the version that is installed. `lazy_click` says which words are files.
"""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from noetl_cli import lazy_click as click

if TYPE_CHECKING:
    from click.shell_completion import ShellComplete

SHELLS: Final = ("bash", "zsh", "fish")
SUMMARY: Final = "Let your shell complete commands, options and files."


def completion_command(program: str, group: Callable[[], "click.Group"]) -> "click.Command":
    """The command `completion` of a program whose commands are a group."""

    def show(shell: str) -> None:
        click.echo(_shell_of(program, group(), shell).source())

    show.__doc__ = f"""{SUMMARY}

    \b
    bash  eval "$({program} completion bash)"  in ~/.bashrc
    zsh   eval "$({program} completion zsh)"   in ~/.zshrc
    fish  {program} completion fish | source    in ~/.config/fish/config.fish
    """
    shells = click.argument("shell", metavar="|".join(SHELLS), type=click.Choice(SHELLS))
    return click.command("completion", short_help=SUMMARY)(shells(show))


def complete_for_shell(program: str, group: Callable[[], "click.Group"]) -> int | None:
    """Tell a shell what can come next, where one asks: the exit code; None where none does."""
    asked = os.environ.get(_variable_of(program), "")
    shell, _, question = asked.partition("_")
    if shell not in SHELLS or question != "complete":
        return None
    click.echo(_shell_of(program, group(), shell).complete())
    return 0


def _shell_of(program: str, group: "click.Group", shell: str) -> "ShellComplete":
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None  # click has all of SHELLS
    if shell == "fish":
        # Click's script cuts what it is told at every comma, also in the sentence about a word.
        whole = kind.source_template.replace('string split ","', 'string split -m 1 ","')
        kind = type("WholeFishComplete", (kind,), {"source_template": whole})
    return kind(group, {}, program, _variable_of(program))


def _variable_of(program: str) -> str:
    return f"_{program.upper()}_COMPLETE"
