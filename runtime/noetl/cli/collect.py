"""collect: remove from a store the values that nothing names."""

from __future__ import annotations

import click

from noetl.app.clock import WallClock
from noetl.app.collecting import Collector
from noetl.cli.stores import json_option, runtime_to_change, store_option
from noetl.cli.text import amount, json_text


@click.command("collect", short_help="Remove values that nothing names.")
@store_option
@json_option
def collect(url: str, as_json: bool) -> int:
    """Remove the values of executions that nothing names, as a server does by itself.

    Values are left without a name where a report was refused, or a process died between a value and its event. Those
    of executions that are over for less than an hour, or not at all, stay. Signals go, too, that runs by a script left
    in the mailbox, as their process died when they had ended.
    """
    from noetl.app.script_letters import drop_left

    with runtime_to_change(url) as runtime:
        found, signals = Collector(runtime, WallClock()).collect(), drop_left(runtime)
    if as_json:
        click.echo(json_text({"values": found.values, "bytes": found.size, "signals": signals}))
    else:
        more = f", {amount(signals, 'signal')}" if signals else ""
        click.echo(f"removed {amount(found.values, 'value')}, {amount(found.size, 'byte')}{more}")
    return 0


COMMAND = collect
