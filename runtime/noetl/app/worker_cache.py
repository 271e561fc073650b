"""The plans of a worker on a bus, and the servers that it asks for plans and blobs, over their API.

A server that cannot be reached is no reason to fail a run: the next one is tried, and all of them again until one
answers. Asking is a fetch, so the worker goes on with what it has meanwhile.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar
from urllib.parse import urlsplit

from noetl.app.blob_fetches import BlobFetches
from noetl.app.programs import program_of
from noetl.app.verifier import verifier
from noetl.bounded_table import BoundedTable
from noetl.clients.egress import is_loopback
from noetl.engine.program import Program
from noetl.ports import StoreFailure, StoreRefused
from noetl.ports.needs import Needs
from noetl.ports.output import OutputChunk
from noetl.server.children import NotFound
from noetl.store.http import Connection, RemoteOutputs, RemoteStore, ServerUnreachable
from noetl_ir.orders import Broadcast, Serving
from noetl_ir.plan_format import PlanError

PROGRAMS_KEPT = 200
_T = TypeVar("_T")


class WorkerCache:
    """Programs by digest, and `Blobs`, from servers: the named ones, in this order; where none was named, those on this
    machine that announce themselves on the bus. Anybody who can speak on the bus can announce a server, so a token or a
    value never goes to another machine that was only announced.
    """

    def __init__(self, urls: Sequence[str]) -> None:
        self._named = frozenset(urls)
        self._announced = ""
        self._servers: dict[str, Connection] = {url: Connection(url) for url in urls}
        self._programs: BoundedTable[str, Program] = BoundedTable(PROGRAMS_KEPT)

    def hear(self, broadcast: Broadcast) -> None:
        """Take in which servers there are; of more than one the last that was heard is asked first."""
        if not isinstance(broadcast, Serving):
            return
        # The address is noted for the hint in an error, and nothing is ever sent there.
        if self._named or not is_loopback(_host_of(broadcast.url)):
            self._announced = broadcast.url
        else:
            known = self._servers.pop(broadcast.url, None)
            # The connection that is open is kept; only its place changes.
            self._servers = {broadcast.url: known or Connection(broadcast.url), **self._servers}

    def check(self) -> list[str]:
        """The servers that were named and cannot be reached now: they may come. Raises StoreFailure where one refuses
        what a worker needs, as it does not change its mind.
        """
        away = []
        for url, connection in self._servers.items():
            try:
                connection.ask("PUT", "/blobs/-", raw=b"")
            except ServerUnreachable:
                away.append(url)
        return away

    def program(self, digest: str, needs: Needs) -> Program:
        """The program of a plan. Raises NotFound where it cannot be run here, Absent."""
        known = self._programs.get(digest)
        if known is None:
            data, verified = needs.get(("plan", digest), lambda: self._plan(digest))
            try:
                known = program_of(data, verified=verified)
            except PlanError as problem:
                raise NotFound(f"not a plan that this version runs: {problem}") from problem
        self._programs[digest] = known
        return known

    def blobs(self, needs: Needs) -> BlobFetches:
        """The values outside of logs, for one asker."""
        return BlobFetches(self.ask, needs)

    def add_output(self, chunks: Sequence[OutputChunk]) -> None:
        """Have a server keep what tasks print; for one thread, which may wait. Raises StoreFailure, StoreRefused."""

        def add(connection: Connection) -> None:
            try:
                RemoteOutputs(connection).add_chunks(chunks)
            except ServerUnreachable:
                raise
            except StoreFailure as problem:  # an older server keeps none
                raise StoreRefused(str(problem)) from None

        self.ask(add)

    def close(self) -> None:
        for connection in self._servers.values():
            connection.close()

    def _plan(self, digest: str) -> tuple[bytes, bool]:
        """The bytes of a plan, and whether the server has verified it as this worker would: the word of one that was
        named. A server that does not have it is not one of those that order it."""

        def bring(connection: Connection) -> tuple[bytes | None, bool]:
            store = RemoteStore(connection)
            # A server that only announced itself may be anybody on this machine. Its plan is checked by its digest,
            # but its word that the plan was verified is not taken.
            return store.plan_bytes(digest), bool(self._named) and store.vouches(digest, verifier())

        data, verified = self.ask(bring)
        if data is None:
            raise ServerUnreachable(f"{', '.join(self._servers)} does not have the plan {digest}{self._hint()}")
        return data, verified

    def _hint(self) -> str:
        """Which server there is that was not named: nothing is sent to that one, the token least of all."""
        other = "" if self._announced in self._named else self._announced
        told = "" if self._named or not other else f": name it with --server {other}"
        return f"; the server of this bus says that it is at {other}{told}" if other else ""

    def ask(self, question: Callable[[Connection], _T]) -> _T:
        """The answer of the first server that can be reached; for the threads of fetches."""
        last = StoreFailure("no server is known: none of this machine announces itself on the bus")
        for connection in [*self._servers.values()]:
            try:
                return question(connection)
            except ServerUnreachable as problem:
                last = problem
        raise StoreFailure(f"{last}{self._hint()}") from None


def _host_of(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
