"""Options of the commands that stay, `server` and `worker`: whom tools may reach, and how they speak."""

from __future__ import annotations

from noetl.cli.text import escaped
from noetl.host.process_secrets import masked
from noetl.ports import Fence, ToolCall
from noetl_cli import lazy_click as click


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


def say(text: str) -> None:
    """A line about the process itself."""
    # Masked first: an escape in the middle of a secret would hide it from the mask, and not from a reader.
    click.echo(escaped(masked(text)), err=True)


def log(call: ToolCall, text: str) -> None:
    """A line that a task wrote."""
    click.echo(escaped(f"{call.execution_id} {call.step} / {call.task}: {text}"), err=True)
