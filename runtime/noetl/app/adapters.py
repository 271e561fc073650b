"""URLs to adapters: which store, values beside it, secrets and bus a URL stands for. Nothing else names an adapter."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FunctionType
from typing import Protocol

from noetl.host import engine_files
from noetl.host.process_secrets import learn_file
from noetl.ports import Blobs, Fence, Store, StoreFailure
from noetl.ports.bus import Broadcasts, Bus
from noetl.ports.maintenance import StoreSchema
from noetl.ports.messages import Messages, MessagesFailure
from noetl.ports.output import Outputs
from noetl_ir import registry
from noetl_ir.orders import Answer, Order, Said

DEFAULT_STORE = "sqlite:///.noetl/noetl.db"
_MODULES = {"https": "http", "postgresql": "postgres"}
"""Schemes whose adapter has another name."""


class ClusterBus(Bus[Order, Said, Answer], Broadcasts, Protocol):
    """A bus between processes."""


def open_store(url: str) -> Store:
    """The store at a URL, made if need be; raises StoreFailure."""
    scheme = url.partition("://")[0]
    try:
        opener = registry.load("noetl.store", _MODULES.get(scheme, scheme), "open_store", FunctionType)
    except LookupError:
        raise StoreFailure(f"there is no store for `{scheme}`; write sqlite:///PATH or postgresql://…") from None
    store: Store = opener(url)
    return store


def schema_of(url: str) -> StoreSchema:
    """The schema of the store at a URL, which is neither made nor changed. Raises StoreFailure."""
    scheme = url.partition("://")[0]
    look = registry.load("noetl.store", _MODULES.get(scheme, scheme), "schema_of", FunctionType)
    found: StoreSchema = look(url)
    return found


def reach_bus(url: str) -> None:
    """Reach the bus at a URL, and let it go. Raises BusFailure."""
    from noetl.bus import BusFailure

    scheme = url.partition("://")[0]
    if scheme not in ("nats", "tls"):
        raise BusFailure("a bus between processes is written nats://HOST:PORT")
    registry.load("noetl.bus", "nats", "reach", FunctionType)(url)


def open_blobs(url: str) -> Blobs:
    """The values outside of the log of a store, beside it."""
    name, place = _beside(url, "files", "blobs")
    blobs: Blobs = registry.load("noetl.store", name, "open_blobs", FunctionType)(place)
    return blobs


def open_outputs(url: str) -> Outputs:
    """The task output of the executions of a store, beside it."""
    name, place = _beside(url, "output_files", "output")
    outputs: Outputs = registry.load("noetl.store", name, "open_outputs", FunctionType)(place)
    return outputs


def _beside(url: str, in_files: str, ending: str) -> tuple[str, str]:
    """The adapter of what lies beside the store at a URL, and its own URL; beside a file, files of another ending."""
    scheme, _, path = url.partition("://")
    if scheme == "sqlite":
        return in_files, f"files:///{path[1:]}.{ending}"
    if scheme in ("http", "https", "postgresql", "postgres"):
        return _MODULES.get(scheme, scheme), url
    return "memory", "memory:"


def open_bus(
    url: str,
    limits: Mapping[str, int] | None = None,
    pool: str | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> ClusterBus:
    """The bus at a URL, for a worker of a pool, or for a server (None); `limits` are how many orders of a pool may be
    at work at once, and `say` hears what the bus does not allow. Raises BusFailure.
    """
    from noetl.bus import BusFailure

    scheme = url.partition("://")[0]
    name = "nats" if scheme in ("nats", "tls") else scheme
    # The bus in memory is none between processes: a server and a worker would each have one of their own, and wait.
    if name not in registry.names("noetl.bus") or name == "memory":
        raise BusFailure("a bus between processes is written nats://HOST:PORT")
    opener = registry.load("noetl.bus", name, "open_bus", FunctionType)
    bus: ClusterBus = opener(url, limits or {}, pool, say)
    return bus


def open_messages(url: str, fence: Fence | None = None) -> Messages:
    """The streams at a URL, inside a fence if there is one. Raises MessagesFailure."""
    from noetl.bus import BusFailure

    if url.partition("://")[0] not in ("nats", "tls"):
        raise MessagesFailure("streams are at nats://HOST:PORT")
    try:
        found: Messages = registry.load("noetl.bus", "nats", "open_messages", FunctionType)(url, fence)
    except BusFailure as problem:
        raise MessagesFailure(str(problem)) from None
    return found


@contextmanager
def secrets_beside(url: str) -> Iterator[str]:
    """The file of the credential store of a store; of a server's, which leaves nothing here, one that goes with it."""
    if url.partition("://")[0] not in ("http", "https"):
        yield secrets_path_of(url)
        return
    from tempfile import TemporaryDirectory

    # The store is on another machine, and so are its credentials: nothing of them is to be left here.
    with TemporaryDirectory(prefix="noetl-") as folder:
        yield os.path.join(folder, "credentials")


def secrets_path_of(url: str) -> str:
    """The file of the credential store that belongs to a store; of one that is no file, what belongs to the default."""
    scheme, _, path = url.partition("://")
    if scheme != "sqlite":
        return secrets_path_of(DEFAULT_STORE)
    return f"{path[1:] or 'noetl'}.credentials"


def protect_files(url: str) -> None:
    """Keep tools from the files of a store and of its secrets."""
    store = secrets_path_of(url).removesuffix(".credentials")
    engine_files.keep_from_tools(store)
    learn_file(f"{store}.credentials.key")


def narrowed(url: str) -> tuple[str, ...]:
    """Keep others from the files of a store that was opened; those that they could use until now."""
    return engine_files.narrow(secrets_path_of(url).removesuffix(".credentials"))
