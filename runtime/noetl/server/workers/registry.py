"""The worker registry: the workers that a server has heard of lately, by their heartbeats.

It is kept in memory alone: after a restart the next heartbeats fill it within seconds. Servers announce themselves in
the same way: where their API is, and which executions they took up from another server.
"""

from noetl.ports import Clock
from noetl.ports.bus import SAY_EVERY, STOPS, Broadcasts, Bus, namespace_in, pool_in
from noetl.server.workers.preflight import Preflight
from noetl_ir.orders import Answer, Checked, DrainWorker, OpenLane, Order, Said, Serving, TakenUp, WorkerHeartbeat
from noetl_ir.records import NamedTuple

GONE_AFTER = 15_000_000
"""Microseconds without a word after which a worker is not there any more."""


class Seen(NamedTuple):
    """The last heartbeat of a worker, and when it came (microseconds of the registry's clock)."""

    heartbeat: WorkerHeartbeat
    at: int


class RegistryNews(NamedTuple):
    """The names of workers that begin nothing from now on, and the executions that other servers took up."""

    leaving: list[str]
    taken: list[str]


class WorkerRegistry:
    """Keeps the workers by name. `clock` is monotonic; `server` tells this server from all others, and `url` is where
    its API is, once it is known.
    """

    def __init__(self, bus: Bus[Order, Said, Answer], broadcasts: Broadcasts, clock: Clock, server: str) -> None:
        self.url = ""
        self._server = server
        self._taken_up: set[str] = set()
        self._lanes: dict[str, OpenLane] = {}
        self._bus = bus
        self._broadcasts = broadcasts
        self._clock = clock
        self._seen: dict[str, Seen] = {}
        self._expected: dict[str, int] = {}
        self._due = 0
        self.preflight = Preflight(broadcasts, lambda: [heartbeat for heartbeat, _ in self.workers()])
        """What the workers are asked before a start."""

    def take_up(self, execution_id: str) -> None:
        """Say that an execution is driven here from now on, and again until `heard_of`."""
        self._taken_up.add(execution_id)
        self._broadcasts.say(TakenUp(execution_id, self._server))

    def open_lane(self, lane: str) -> None:
        """Have the workers of a pool take from a lane of it, from now on, and whoever comes later."""
        self._lanes[lane] = OpenLane(pool_in(lane), namespace_in(lane))
        self._broadcasts.say(self._lanes[lane])

    def heard_of(self, execution_id: str) -> None:
        """Reports about an execution come here, or it is over: nobody else has to be told any more."""
        self._taken_up.discard(execution_id)

    def expect(self, worker: str) -> None:
        """A worker has spoken of its work, so it soon says that it is there; or it is gone, and that came late."""
        if worker not in self._seen:
            self._expected.setdefault(worker, self._clock.now())

    def take_heard(self) -> RegistryNews:
        """Take in what was said."""
        now, leaving, taken = self._clock.now(), list[str](), list[str]()
        for broadcast in self._broadcasts.received():
            if isinstance(broadcast, TakenUp) and broadcast.server != self._server:
                taken.append(broadcast.execution_id)
            elif isinstance(broadcast, Checked):
                self.preflight.hear_checked(broadcast)
            elif isinstance(broadcast, WorkerHeartbeat):
                before = self._seen.get(broadcast.worker)
                if before is None:
                    self._bus.room(broadcast.pool)  # whose queue is made by that: workers cannot, and wait for it
                elif before.heartbeat.pool != broadcast.pool:
                    continue  # a worker of another pool under a name that is taken
                self._seen[broadcast.worker] = Seen(broadcast, now)
                if broadcast.state != "ready" and (before is None or before.heartbeat.state == "ready"):
                    leaving.append(broadcast.worker)
        if now >= self._due:
            self._due = now + SAY_EVERY
            if self.url:
                self._broadcasts.say(Serving(self.url))
            for said in self._lanes.values():
                self._broadcasts.say(said)
            for name in self._taken_up:
                self._broadcasts.say(TakenUp(name, self._server))
            for name in [name for name, seen in self._seen.items() if now - seen.at > GONE_AFTER]:
                del self._seen[name]
                leaving.append(name)
            for name in [name for name, at in self._expected.items() if name in self._seen or now - at > GONE_AFTER]:
                del self._expected[name]
                if name not in self._seen:
                    leaving.append(name)
        return RegistryNews(leaving, taken)

    def workers(self) -> list[tuple[WorkerHeartbeat, int]]:
        """The workers by name, each with the microseconds since it was heard; from any thread."""
        now = self._clock.now()
        return [(seen.heartbeat, max(now - seen.at, 0)) for _, seen in sorted([*self._seen.items()])]

    def slots_of(self, pool: str) -> int:
        """The slots of the workers of a pool that take orders."""
        found = [seen.heartbeat for seen in [*self._seen.values()]]
        return sum(each.slots for each in found if each.pool == pool and each.state == "ready")

    def drain(self, name: str) -> bool:
        """Have a worker finish what it has and end; whether there is one of that name. For the thread that drives."""
        if name not in self._seen:
            return False
        self._bus.send(STOPS, f"drain:{name}", DrainWorker(name))
        return True
