"""--check-config of server and worker: whether one could do its work as it is told to, without beginning anything."""

from __future__ import annotations

import os
import socket
import ssl
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import partial
from typing import TypeAlias

import click

from noetl.api.bearer_tokens import TokenProblem, read_tokens
from noetl.app.adapters import reach_bus, schema_of
from noetl.bus import BusFailure
from noetl.cli.listening_options import ListeningOptions
from noetl.cli.oidc_options import OidcOptions, OidcTrouble
from noetl.cli.stores import path_of, without_secrets
from noetl.cli.text import amount, escaped
from noetl.clients import object_storage
from noetl.host.process_secrets import masked
from noetl.ports import StoreFailure
from noetl_ir.records import NamedTuple


class CheckedServer(NamedTuple):
    """How a server is told to serve."""

    place: ListeningOptions
    oidc: OidcOptions
    tokens: str
    store: str
    bus: str | None
    archive: str | None


_NO_OIDC = OidcOptions(None, None, None, None, (), None)


class NotServing(Exception):
    """A server could not serve so, or a worker not work; the text says why."""


Checks: TypeAlias = Iterable[tuple[str, Callable[[], str]]]
"""The parts that are looked at, and how: the look says how one is, or raises NotServing and the like."""


def tell_checks(checks: Checks) -> int:
    """Tell of each part whether it is as it must be; returns the exit code: 0 where all are."""
    good = True
    for part, look in checks:
        try:
            said, is_good = look(), True
        except (NotServing, OidcTrouble, TokenProblem, StoreFailure, BusFailure) as problem:
            said, is_good = str(problem), False
        good = good and is_good
        click.echo(f"{'ok' if is_good else 'wrong':5}  {part}: {escaped(masked(said))}")
    return 0 if good else 1


def server_checks(server: CheckedServer) -> Iterator[tuple[str, Callable[[], str]]]:
    """The parts of a server."""
    yield "address", lambda: _address(server)
    if server.place.tls_cert is not None:
        yield "certificate", lambda: _certificate(server)
    yield "tokens", lambda: _tokens(server)
    if server.oidc != _NO_OIDC:
        yield "oidc", lambda: _oidc(server)
    yield "store", lambda: _store(server)
    if server.bus is not None:
        yield "bus", lambda: _bus(server.bus or "")
    if server.archive is not None:
        yield "archive", lambda: _archive(server)


def worker_checks(
    bus: str, servers: Iterable[str], metrics: tuple[str, int] | None
) -> Iterator[tuple[str, Callable[[], str]]]:
    """The parts of a worker."""
    yield "bus", lambda: _bus(bus)
    for url in servers:
        yield "server", partial(_server, url)
    if metrics is not None:
        yield "metrics", lambda: _free(*metrics)


def _server(url: str) -> str:
    """A server that is away may come; one that refuses the token does not change its mind."""
    from noetl.app.worker_cache import WorkerCache

    with closing(WorkerCache((url,))) as cache:
        away = cache.check()
    return f"{url} cannot be reached now" if away else f"{url} takes the token"


def _free(host: str, port: int) -> str:
    """An address that can be listened on. Raises NotServing."""
    where = f"{host}:{port}"
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family) as bound:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(address)
    except OSError as problem:
        raise NotServing(f"{where} cannot be listened on: {problem.strerror or problem}") from None
    return where


def _address(server: CheckedServer) -> str:
    place = server.place
    if wrong := place.wrong(has_tokens=bool(read_tokens(server.tokens)) or server.oidc.issuer is not None):
        raise NotServing(wrong)
    return _free(place.host, place.port)


def _certificate(server: CheckedServer) -> str:
    certificate = server.place.tls_cert
    key = server.place.tls_key or certificate
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(str(certificate), str(key))
    except OSError as problem:  # ssl.SSLError is one
        raise NotServing(f"{certificate} and {key} cannot be used for TLS: {problem.strerror or problem}") from None
    return str(certificate)


def _tokens(server: CheckedServer) -> str:
    found = read_tokens(server.tokens)
    if server.oidc.issuer is not None and not found:
        return "none: commands cannot ask it, only who signs in to the page"
    over = sum(token.has_expired(time.time()) for token in found)
    told = f"{amount(len(found), 'token')} in {server.tokens}" + (f", of which {over} expired" if over else "")
    return told if found else "none: who reaches it may do all"


def _oidc(server: CheckedServer) -> str:
    place, oidc = server.place, server.oidc
    if wrong := oidc.wrong(place.host, behind_proxy=place.behind_proxy):
        raise NotServing("; ".join([wrong, *oidc.faulty_files()]))
    people = oidc.people(lambda said: None)
    if people is None:
        return f"none; the page is at {oidc.public_url}"
    from noetl.clients.http import waited
    from noetl.clients.oidc_provider import OidcProvider, ProviderProblem

    try:
        waited(OidcProvider(people.party).check_keys)
    except ProviderProblem as problem:
        raise NotServing(str(problem)) from None
    page = oidc.public_url or f"http{'s' if place.tls_cert is not None else ''}://{place.where}"
    return f"{people.party.issuer}, which is to send browsers back to {page.rstrip('/')}/sign-in/return"


def _store(server: CheckedServer) -> str:
    schema, shown = schema_of(server.store), without_secrets(server.store)
    if not schema.found:
        folder = os.path.dirname(os.path.abspath(path_of(server.store)))
        if server.store.startswith("sqlite:") and not _may_write(folder):
            raise NotServing(f"{shown}: it is not there, and {folder} cannot be written to")
        return f"{shown}, which is not there yet and would be made"
    if schema.found < schema.known:
        return f"{shown}, whose schema {schema.found} would be brought to {schema.known}"
    return f"{shown}, schema {schema.found}"


def _bus(url: str) -> str:
    reach_bus(url)
    return without_secrets(url)


def _archive(server: CheckedServer) -> str:
    archive = server.archive or ""
    if object_storage.is_object(archive):
        object_storage.reach(archive)
    elif not _may_write(archive):
        raise NotServing(f"{archive} cannot be written to")
    return archive


def _may_write(folder: str) -> bool:
    """Whether a folder, or the first one above it that is there, may be written to."""
    folder = os.path.abspath(folder)
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    return os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK)
