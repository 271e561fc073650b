"""Options of the commands that stay, `server` and `worker`: whom tools may reach, and how they speak."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from noetl.host.log_lines import LEVELS, LogLevel, log_line
from noetl.ports import Fence, ToolCall
from noetl_cli import lazy_click as click

if TYPE_CHECKING:
    from noetl.cli.log_writer import LogWriter


def _fence(context: click.Context, _: click.Parameter, allowed: tuple[str, ...]) -> Fence:
    """The fence that keeps tools from addresses that are not public, but for those. Raises UsageError."""
    from noetl.clients.egress import BadNetwork, Egress, networks_of

    try:
        return Egress(networks_of(allowed), context.command.name or "server").refusal
    except BadNetwork as problem:
        raise click.UsageError(f"--allow-address {problem}") from None


fence_option = click.option(
    "--allow-address", "fence", multiple=True, metavar="NETWORK", callback=_fence, help="Let the http tool reach it."
)


requirements_option = click.option(
    "--allow-requirements", "requirements", is_flag=True, help="Install packages that python tasks ask for."
)


@cache
def _writer() -> LogWriter:
    """The log of the process."""
    from noetl.cli.log_writer import LogWriter  # commands that end have none

    return LogWriter()


def _formatted(_: click.Context, __: click.Parameter, name: str) -> None:
    from noetl.cli.library_lines import hear_libraries  # commands that end have no use for `logging`

    _writer().format = name
    hear_libraries(say)


def _levelled(_: click.Context, __: click.Parameter, name: LogLevel) -> None:
    _writer().level = name


_log_format = click.option(
    "--log-format", type=click.Choice(("text", "json")), default="text", show_default=True, envvar="NOETL_LOG_FORMAT",
    callback=_formatted, expose_value=False, help="How its log is written: for people, or JSON, an object a line.",
)  # fmt: skip
_log_level = click.option(
    "--log-level", type=click.Choice(LEVELS), default="info", show_default=True, envvar="NOETL_LOG_LEVEL",
    callback=_levelled, expose_value=False, help="The least level that is written.",
)  # fmt: skip


def log_options(command: Callable[..., int]) -> Callable[..., int]:
    """The options that say how the log is written."""
    return _log_format(_log_level(command))


def is_verbose() -> bool:
    """Whether lines of the level `debug` are written."""
    return _writer().level == "debug"


def say(text: str) -> None:
    """A line about the process itself."""
    _writer().write(text)


def log(call: ToolCall, text: str) -> None:
    """A line that a task wrote."""
    _writer().write(log_line("info", text, call.execution_id, call.step, call.task))
