"""Where a worker gets plans and large values, and leaves them: the API of any server that it knows.

A server that cannot be reached is no reason to fail a run: the next one is tried, and all of them again for a while.
The worker can do nothing else meanwhile, since nobody would hear its reports either.
"""

import time
from collections.abc import Callable, Mapping
from typing import TypeVar

from noetl.app.programs import program_of
from noetl.engine.program import Program
from noetl.ports import Board, Refused, StoreFailure
from noetl.server.children import NotFound
from noetl.store.http import Connection, RemoteBlobs, RemoteStore, Unreachable
from noetl_ir.commands import Serving
from noetl_ir.expr import Json
from noetl_ir.plan_format import PlanError

PATIENCE = 15.0
"""Seconds that servers are tried; less than a lease, so that a worker that waited still has its claims."""

AGAIN_AFTER = 0.25
PROGRAMS_KEPT = 200
_T = TypeVar("_T")


class Depot:
    """Programs by digest, and `Blobs`. Servers are the one that was named, or those that announce themselves."""

    def __init__(self, url: str, board: Board) -> None:
        self._named = bool(url)
        self._board = board
        self._servers: dict[str, Connection] = {url: Connection(url)} if url else {}
        self._programs: dict[str, Program] = {}

    def look(self) -> None:
        """Hear which servers there are; of more than one the last that was heard is asked first."""
        if self._named:
            return
        for notice in self._board.notices():
            if isinstance(notice, Serving):
                known = self._servers.pop(notice.url, None)
                self._servers = {notice.url: known or Connection(notice.url), **self._servers}

    def check(self) -> None:
        """Raises StoreFailure where the server that was named refuses what a worker needs."""
        for connection in self._servers.values():
            connection.ask("PUT", "/blobs/-", raw=b"")

    def program(self, digest: str) -> Program:
        """The program of a plan. Raises NotFound, StoreFailure."""
        known = self._programs.pop(digest, None)
        if known is None:
            data = self._ask(lambda connection: RemoteStore(connection).plan(digest))
            if data is None:
                raise NotFound(f"no server has a plan with digest {digest}")
            try:
                known = program_of(data)
            except PlanError as problem:
                raise NotFound(f"not a plan that this version runs: {problem}") from problem
        self._programs[digest] = known
        if len(self._programs) > PROGRAMS_KEPT:
            del self._programs[next(iter(self._programs))]
        return known

    def put(self, execution_id: str, data: bytes) -> dict[str, Json]:
        """`Blobs.put`."""
        return self._ask(lambda connection: RemoteBlobs(connection).put(execution_id, data))

    def get(self, reference: Mapping[str, Json]) -> bytes:
        """`Blobs.get`."""
        return self._ask(lambda connection: RemoteBlobs(connection).get(reference))

    def close(self) -> None:
        """`Blobs.close`."""
        for connection in self._servers.values():
            connection.close()

    def _ask(self, question: Callable[[Connection], _T]) -> _T:
        until, last = time.monotonic() + PATIENCE, StoreFailure("no server is known")
        while True:
            self.look()
            for connection in [*self._servers.values()]:
                try:
                    return question(connection)
                except Unreachable as problem:
                    last = problem
                except StoreFailure as problem:
                    raise Refused(str(problem)) from None
            if time.monotonic() >= until:
                raise last
            time.sleep(AGAIN_AFTER)
