"""The server that commands speak to which only a server can answer."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from time import sleep

from noetl.cli.stores import SERVER_VARIABLE, problem_of, server_url
from noetl.cli.text import Problem
from noetl.ports import StoreFailure
from noetl.store.http import Connection, NoResponse, NotThere, RemoteStore
from noetl.store.http.sent_plans import sent_plan
from noetl_cli import lazy_click as click
from noetl_ir.expr import Json

PAUSES = (0.5, 1.0, 2.0, 4.0)
"""Seconds before a request whose answer was lost is made again."""

DEFAULT_SERVER = "http://127.0.0.1:8082"


def _checked(_: click.Context, __: click.Parameter, url: str) -> str:
    return server_url(url)


connected = click.option(
    "--server", default=DEFAULT_SERVER, show_default=True, metavar="URL", envvar=SERVER_VARIABLE, callback=_checked,
    help=f"The server; {SERVER_VARIABLE} says it for all commands.",
)  # fmt: skip


class UnknownToServer(Problem):
    """The server does not know what was named."""


def ask_server(server: str, method: str, path: str, data: Json = None, *, key: str = "") -> dict[str, Json]:
    """The JSON object that a server answers; what it refuses is a Problem, what it does not know is Unknown.

    With a `key` the request happens once, and is made again as long as its answer is lost.
    """
    try:
        with closing(Connection(server)) as connection:
            # Without a key a request that was lost may have been done, and a second one would be a second start.
            for pause in PAUSES if key else ():
                try:
                    return connection.json(method, path, data=data, key=key)
                except NoResponse:
                    sleep(pause)
            return connection.json(method, path, data=data, key=key)
    except NotThere as problem:
        raise UnknownToServer(str(problem)) from None
    except StoreFailure as problem:
        raise problem_of(problem) from None


def plan_from(server: str, named: dict[str, Json]) -> bytes:
    """The bytes of a plan that a server knows by `playbook_id`, or by `path` and `version`; none where it does not."""
    version = named.get("version")
    try:
        with closing(Connection(server)) as connection:
            store = RemoteStore(connection)
            if "playbook_id" in named:
                return store.plan_bytes(str(named["playbook_id"])) or b""
            found = store.plan_at(str(named["path"]), version if isinstance(version, int) else None)
            return b"" if found is None else found[1]
    except StoreFailure as problem:
        raise problem_of(problem) from None


def all_pages(server: str, path: str) -> list[dict[str, Json]]:
    """All rows of a list that a server answers by pages; what it refuses is a Problem."""
    try:
        with closing(Connection(server)) as connection:
            return [*connection.walk(path)]
    except StoreFailure as problem:
        raise problem_of(problem) from None


def register_at(server: str, plan: bytes, sources: Mapping[str, bytes]) -> dict[str, Json]:
    """Give a plan to the catalogue of a server, and the sources that it and what it embeds were compiled from, by the
    digests of their plans; the row that it got.
    """
    return _sent_plan(server, "/playbooks", plan, sources)


def keep_at(server: str, plan: bytes, sources: Mapping[str, bytes]) -> str:
    """Have a server keep a plan, as no version of its path, and the sources that it was compiled from; its digest."""
    return str(_sent_plan(server, "/plans", plan, sources)["playbook_id"])


def _sent_plan(server: str, path: str, plan: bytes, sources: Mapping[str, bytes]) -> dict[str, Json]:
    try:
        with closing(Connection(server)) as connection:
            return sent_plan(connection, path, plan, sources)
    except StoreFailure as problem:
        raise problem_of(problem) from None
