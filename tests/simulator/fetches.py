"""Fetches on virtual time: plans and values that a worker elsewhere asks a server for, which takes a while."""

import random
from collections.abc import Callable, Hashable, Mapping

from noetl.engine.program import Program
from noetl.ports import Blobs
from noetl.ports.needs import Needs
from noetl_ir.expr import Json
from simulator.timeline import SECOND, Timeline


class SimulatedFetch:
    """A fetch that is over at a time of the timeline."""

    def __init__(self, work: Callable[[], object]) -> None:
        self._work = work
        self._value: object = None
        self._error: Exception | None = None
        self.is_over = False
        self.problem = ""

    def end(self) -> None:
        """Do it now."""
        try:
            self._value = self._work()
        except Exception as error:
            self._error = error
        self.is_over = True

    def outcome(self) -> object:
        """`Awaited.outcome`."""
        if self._error is not None:
            raise self._error
        return self._value


class SimulatedFetches:
    """`BackgroundFetches`, as far as a worker sees it: `wake` has it look once one is over, or did not work."""

    def __init__(self, timeline: Timeline, chance: random.Random) -> None:
        self._timeline = timeline
        self._chance = chance
        self.wake: Callable[[], None] = lambda: None
        self.count = 0

    def needs(self) -> Needs:
        """`BackgroundFetches.needs`."""
        return Needs(self._begin)

    def retry_failed(self) -> None:
        """`BackgroundFetches.retry_failed`: the timeline does it."""

    def _begin(self, key: Hashable, work: Callable[[], object]) -> SimulatedFetch:
        fetch = SimulatedFetch(work)
        self.count += 1
        due = self._timeline.now + self._chance.randint(1_000, SECOND)
        if self._chance.random() < 0.1:
            self._timeline.at(due, lambda: self._fail(fetch))
            due += self._chance.randint(SECOND, 10 * SECOND)
        self._timeline.at(due, lambda: self._end(fetch))
        return fetch

    def _fail(self, fetch: SimulatedFetch) -> None:
        fetch.problem = "no server is there"
        self.wake()

    def _end(self, fetch: SimulatedFetch) -> None:
        fetch.end()
        self.wake()


class FetchedBlobs:
    """`Blobs` for one asker, each of which is fetched."""

    def __init__(self, blobs: Blobs, needs: Needs) -> None:
        self._blobs = blobs
        self._needs = needs
        self.check_room, self.close = blobs.check_room, blobs.close

    def put(self, execution_id: str, data: bytes) -> dict[str, Json]:
        """`Blobs.put`."""
        return self._needs.get(("put", execution_id, data), lambda: self._blobs.put(execution_id, data))

    def get(self, reference: Mapping[str, Json]) -> bytes:
        """`Blobs.get`."""
        return self._needs.get(("get", str(reference.get("key"))), lambda: self._blobs.get(reference))


class FetchedPrograms:
    """The programs of a worker by digest, each fetched once."""

    def __init__(self, load: Callable[[str], Program]) -> None:
        self._load = load
        self._known: dict[str, Program] = {}

    def load(self, digest: str, needs: Needs) -> Program:
        """The program of a plan; raises Absent until it is here."""
        known = self._known.get(digest)
        if known is None:
            known = self._known[digest] = needs.get(("plan", digest), lambda: self._load(digest))
        return known
