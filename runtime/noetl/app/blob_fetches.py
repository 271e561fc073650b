"""Where a worker elsewhere fetches a blob, and leaves one: at any server that it knows, beside its loop.

A process with a store of its own reads them there: `noetl.store.files`, `noetl.store.postgres.blobs`.
"""

from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Protocol, TypeVar

from noetl.ports import StoreFailure, StoreRefused
from noetl.ports.needs import Needs
from noetl.store.http import Connection, RemoteBlobs, ServerUnreachable
from noetl_ir.expr import Json

_T = TypeVar("_T")


class AskServers(Protocol):
    """Asks the servers that are known, one after the other, until one answers. Raises StoreFailure."""

    def __call__(self, question: Callable[[Connection], _T]) -> _T: ...


class BlobFetches:
    """`Blobs` for one asker, at the servers that `ask` knows: whatever is asked for may raise Absent."""

    __slots__ = ("_ask", "_needs")

    def __init__(self, ask: AskServers, needs: Needs) -> None:
        self._ask = ask
        self._needs = needs

    def put(self, execution_id: str, data: bytes) -> dict[str, Json]:
        def put(connection: Connection) -> dict[str, Json]:
            try:
                return RemoteBlobs(connection).put(execution_id, data)
            except ServerUnreachable:
                raise
            except StoreFailure as problem:
                raise StoreRefused(str(problem)) from None

        return self._needs.get(("put", execution_id, sha256(data).digest()), lambda: self._ask(put))

    def get(self, reference: Mapping[str, Json]) -> bytes:
        key = ("get", str(reference.get("key")), str(reference.get("checksum")))
        return self._needs.get(key, lambda: self._ask(lambda connection: RemoteBlobs(connection).get(reference)))

    def check_room(self, *, suspected: bool) -> None:
        """`Blobs.check_room`. The servers know."""

    def close(self) -> None:
        """`Blobs.close`. The cache closes its connections."""
