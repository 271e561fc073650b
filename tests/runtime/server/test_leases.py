"""How long a claim is good, by a clock that the test moves; and who is said to be there."""

from noetl.ports.bus import SAY_EVERY, Bus
from noetl.server.workers.leases import LEASE, LONGEST_GAP, Leases
from noetl.server.workers.registry import GONE_AFTER, WorkerRegistry
from noetl.server.workers.tracker import LostClaim
from noetl.worker.scripted import VirtualClock
from noetl_ir.orders import Answer, Broadcast, DrainWorker, Order, Said, Serving, TakenUp, WorkerHeartbeat


def moved(clock: VirtualClock, leases: Leases, time: int) -> None:
    """Let time pass for a server that listens all along, as rounds do."""
    for now in range(clock.now(), time, LONGEST_GAP):
        clock.move_to(now)
        leases.listen()
    clock.move_to(time)
    leases.listen()


def test_a_claim_is_good_for_a_lease_after_the_last_word() -> None:
    clock = VirtualClock()
    leases = Leases(clock)
    leases.grant("e", "1", 1)
    leases.grant("e", "2", 1)
    moved(clock, leases, LEASE - 1)
    leases.renew("e", "2", 1, "w")
    leases.renew("e", "1", 2, "late")  # under another claim, which says nothing
    assert leases.pop_expired() == [] and leases.until_next_expiry() == 1
    moved(clock, leases, LEASE)
    assert leases.pop_expired() == [LostClaim("e", "1", 1, "")]
    assert leases.until_next_expiry() == LEASE - 1
    moved(clock, leases, 2 * LEASE)
    assert leases.pop_expired() == [LostClaim("e", "2", 1, "w")]
    assert leases.pop_expired() == [] and leases.until_next_expiry() is None


def test_what_is_over_or_given_up_has_no_lease() -> None:
    clock = VirtualClock()
    leases = Leases(clock)
    for name in ("e", "f"):
        for run in ("1", "2"):
            leases.grant(name, run, 1)
    leases.end_lease("e", "1")
    leases.forget("f")
    leases.grant("e", "2", 2)  # ordered again and claimed anew
    moved(clock, leases, LEASE)
    assert leases.pop_expired() == [LostClaim("e", "2", 2, "")]


def test_no_claim_is_lost_by_time_in_which_nobody_listened() -> None:
    """A store that is away holds up the server: what workers said meanwhile waits, and is heard before a lease ends."""
    clock = VirtualClock()
    leases = Leases(clock)
    leases.grant("e", "1", 1)
    leases.grant("e", "2", 1)
    moved(clock, leases, LEASE - 1)
    clock.move_to(LEASE + 1)
    assert leases.pop_expired() == [], "nobody has listened since"
    clock.move_to(10 * LEASE)
    leases.listen()
    leases.renew("e", "1", 1, "w")
    assert leases.pop_expired() == [LostClaim("e", "2", 1, "")]
    clock.move_to(20 * LEASE)
    leases.listen()
    assert leases.pop_expired() == [] and leases.until_next_expiry() == LEASE - LONGEST_GAP


class Broadcasts:
    """Broadcasts that keep what was said and what was ordered."""

    def __init__(self) -> None:
        self.waiting: list[Broadcast] = []
        self.said: list[Broadcast] = []
        self.sent: list[object] = []
        self.asked: list[str] = []

    def say(self, broadcast: Broadcast) -> None:
        """`Broadcasts.say`."""
        self.said.append(broadcast)

    def received(self) -> list[Broadcast]:
        """`Broadcasts.received`."""
        found, self.waiting = self.waiting, []
        return found

    def send(self, pool: str, key: str, order: object) -> None:
        """`Bus.send`."""
        self.sent.append(order)

    def room(self, pool: str) -> int:
        """`Bus.room`."""
        self.asked.append(pool)
        return 1


def test_a_worker_is_there_as_long_as_it_says_so() -> None:
    clock, broadcasts = VirtualClock(), Broadcasts()
    bus: Bus[Order, Said, Answer] = broadcasts  # type: ignore[assignment]
    registry = WorkerRegistry(bus, broadcasts, clock, "s")
    registry.url = "http://x"
    there = WorkerHeartbeat("w", "default", 4, 1, False)
    broadcasts.waiting = [there, Serving("http://another"), there._replace(worker="v")]
    assert registry.take_heard().leaving == [] and broadcasts.said == [Serving("http://x")]
    clock.move_to(GONE_AFTER)
    broadcasts.waiting = [there._replace(worker="v", draining=True)]
    assert registry.take_heard().leaving == ["v"]
    assert [heartbeat.worker for heartbeat, _ in registry.workers()] == ["v", "w"]
    assert broadcasts.asked == ["default", "default"]  # that there is a queue, once for each of them
    broadcasts.waiting = [WorkerHeartbeat("v", "other", 4, 1, True)]
    assert registry.take_heard().leaving == []
    assert [heartbeat.pool for heartbeat, _ in registry.workers()] == [
        "default",
        "default",
    ]
    clock.move_to(GONE_AFTER + 3_000_001)
    assert registry.take_heard().leaving == ["w"]
    assert registry.drain("v") and not registry.drain("w")
    assert broadcasts.sent == [DrainWorker("v")]


def test_a_worker_that_cannot_begin_is_there_and_leaves_its_loops() -> None:
    clock, broadcasts = VirtualClock(), Broadcasts()
    bus: Bus[Order, Said, Answer] = broadcasts  # type: ignore[assignment]
    registry = WorkerRegistry(bus, broadcasts, clock, "s")
    broadcasts.waiting = [WorkerHeartbeat("w", "default", 4, 1, False, "no server is known")]
    assert registry.take_heard().leaving == ["w"]
    assert registry.take_heard().leaving == []
    assert [heartbeat.state for heartbeat, _ in registry.workers()] == ["unready"]


def test_who_takes_up_an_execution_says_so_until_what_is_said_of_it_comes_there() -> None:
    clock, broadcasts = VirtualClock(), Broadcasts()
    bus: Bus[Order, Said, Answer] = broadcasts  # type: ignore[assignment]
    registry = WorkerRegistry(bus, broadcasts, clock, "s")
    registry.take_heard()
    registry.take_up("e")
    assert broadcasts.said == [TakenUp("e", "s")]
    clock.move_to(SAY_EVERY)
    broadcasts.waiting = [TakenUp("e", "s"), TakenUp("f", "another")]
    assert registry.take_heard().taken == ["f"] and broadcasts.said == [TakenUp("e", "s")] * 2
    registry.heard_of("e")
    clock.move_to(2 * SAY_EVERY)
    registry.take_heard()
    assert broadcasts.said == [TakenUp("e", "s")] * 2
