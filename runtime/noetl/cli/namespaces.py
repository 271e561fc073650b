"""namespaces: limit what teams start, and share the workers between them."""

from __future__ import annotations

from collections.abc import Iterator

import click

from noetl.app.namespace_book import NamespaceBook
from noetl.cli.standing import StandingDocuments
from noetl.cli.standing_commands import StandingCommands, StandingTable, spec_lines
from noetl.cli.text import escaped
from noetl.server.namespaces.document import KIND, namespace_of
from noetl_ir.expr import Json


@click.group("namespaces", short_help="Limit what teams start, and share the workers between them.")
def namespaces() -> None:
    """Keep namespaces: playbooks below a prefix of paths, with quotas and a share of the workers.

    Quotas hold for all servers of a store together, and for `noetl run`; limits in pools for all servers and workers.
    """


def _cells(row: dict[str, Json]) -> tuple[str, ...]:
    quotas = row.get("quotas")
    quotas = quotas if isinstance(quotas, dict) else {}
    opened, starts = str(row.get("open", "")), "paused" if row.get("paused") else ""
    if "open_executions" in quotas:
        opened += f" of {quotas['open_executions']}"
    if not starts and "starts_per_minute" in quotas:
        starts = f"{row.get('starts_left')} of {quotas.get('burst')}"
    return str(row.get("name")), opened, starts, str(row.get("weight", "")), str(row.get("prefix", ""))


def _lines(told: dict[str, Json]) -> Iterator[str]:
    quotas = told.get("quotas")
    for name, number in quotas.items() if isinstance(quotas, dict) else ():
        yield f"{escaped(name)}  {number}"
    pools = told.get("pools")
    for name, number in pools.items() if isinstance(pools, dict) else ():
        yield f"at work in pool {escaped(name)}  {number} at most"
    yield from spec_lines(told, without=("prefix", "quotas", "weight", "pools"))


_TEXTS = {
    "put": (
        "Keep the namespaces in files.",
        "Keep the namespace in each FILE under its name; one of that name is replaced.\n\n"
        "What is open stays so, also where it is more than may be from now on.",
    ),
    "list": (
        "List namespaces, with the use of their quotas.",
        "List the namespaces by name: how many executions are open, and how many starts are left now.",
    ),
    "show": ("Show a namespace.", "Show a namespace: its quotas, and how far they are used."),
    "pause": (
        "Start nothing in a namespace.",
        "Start nothing in a namespace until it is resumed; what runs goes on. Schedules and triggers wait.",
    ),
    "resume": ("Start again what belongs to a namespace.", "Start again what belongs to a namespace."),
    "delete": (
        "Keep a namespace no more.",
        "Keep a namespace no more: what is below its prefix has its quotas and its share no more.",
    ),
}
"""The help of the commands, short and whole."""

_SHOWN = StandingTable("namespaces", ("NAMESPACE", "OPEN", "STARTS LEFT", "WEIGHT", "PREFIX"), _cells, _lines)
StandingCommands(StandingDocuments(KIND, "/namespaces", namespace_of, NamespaceBook), _SHOWN).add_to(namespaces, _TEXTS)

COMMAND = namespaces
