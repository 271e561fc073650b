"""Orders on their way to the bus: they wait here, by pool, until there is room. Executions take turns, and of one of
them the highest priority goes first. Where there are namespaces these take turns, by their weights, and the executions
of each within it; and no more lie on the bus than its workers soon begin, as nobody sorts them there.

An order that is larger than the bus takes goes outside, and a note of where it lies goes instead.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Protocol

from noetl.messages.encoding import write_order
from noetl.messages.fair_queue import FairQueue
from noetl.ports import Blobs
from noetl.ports.bus import STOPS, Bus, Full, MessageTooLarge, lane_of, namespace_in, pool_in
from noetl.server.journal import Keep, at_once
from noetl_ir.orders import Answer, ClaimCheck, Order, RunPipeline, Said, StopPipeline

if TYPE_CHECKING:
    from noetl.messages.weighted_queue import Share, WeightedQueue
    from noetl.server.namespaces.windows import QueueWindow


class Shares(Protocol):
    """The shares of namespaces."""

    @property
    def lanes(self) -> Mapping[str, int]:
        """The queues that namespaces have of their own, with how much of each may be at work at once."""
        ...

    @property
    def rests(self) -> Mapping[str, int]:
        """How much may be at work at once of all others, by pool, where a limit is set for all together."""
        ...

    def look(self) -> bool:
        """Whether there are any."""
        ...

    def share_of(self, path: str) -> "Share":
        """The share of a path."""
        ...

    def new_window(self) -> "QueueWindow":
        """Says how much of a pool lies on the bus."""
        ...


class Orders:
    """The orders that wait for room. Priorities are those of `noetl_ir.plan.Arc`. `keep` has what goes outside
    stored. `shares` are those of namespaces, None where nobody looks for any; `path_of` gives the path by which an
    execution has its share, and `slots_of` the slots of a pool's workers, None where the bus sees to it by itself.
    """

    def __init__(
        self,
        bus: Bus[Order, Said, Answer],
        blobs: Blobs,
        keep: Keep = at_once,
        shares: Shares | None = None,
        path_of: Callable[[str], str] = lambda execution_id: "",
        slots_of: Callable[[str], int | None] = lambda pool: None,
    ) -> None:
        self._shares = shares
        # Looked at once in a round, and not for each order; None before the first one.
        self._has_shares: bool | None = None if shares is not None else False
        self._path_of = path_of
        self._slots_of = slots_of
        self._windows: dict[str, QueueWindow] = {}
        self._narrowed: dict[str, int] = {}
        self._keep = keep
        self._bus = bus
        self._blobs = blobs
        self._lanes: Mapping[str, int] = {}
        self._rests: Mapping[str, int] = {} if shares is None else shares.rests
        self.open_lane: Callable[[str], None] = lambda lane: None
        """Has the workers of its pool take from a lane, too."""
        self._waiting: dict[str, FairQueue[RunPipeline] | WeightedQueue[RunPipeline]] = {}
        self._stops: deque[StopPipeline] = deque()

    def __len__(self) -> int:
        """How many orders to run something wait."""
        return sum(map(len, self._waiting.values()))

    def add_order(self, order: RunPipeline, pool: str, priority: int, named: str = "") -> None:
        """Keep an order for the queue of a pool; `named` is the pool as its step names it."""
        if self._has_shares is None or not self._waiting:  # where nothing waited nobody has looked for long
            self._look_for_shares()
        if self._has_shares and self._shares is not None:
            share = self._shares.share_of(self._path_of(order.execution_id))
            # What goes to the address of one worker is a loop that is there already.
            if share.pools and not pool.startswith("@") and (lane := lane_of(named, share.name)) in self._lanes:
                self._waiting.setdefault(lane, FairQueue()).enqueue(order.execution_id, order, priority)
                return
            self._shared(pool).enqueue(order.execution_id, order, priority, share)
        else:
            self._waiting.setdefault(pool, FairQueue()).enqueue(order.execution_id, order, priority)

    @property
    def are_shared(self) -> bool:
        """Whether namespaces share the workers: then some may wait here for as long as there are others."""
        return any(pool in self._lanes or not isinstance(row, FairQueue) for pool, row in self._waiting.items())

    def executions(self) -> set[str]:
        """The executions of which some wait here."""
        return {name for waiting in self._waiting.values() for name in waiting.names()}

    def waiting_by_namespace(self) -> dict[str, int]:
        """How many orders to run something wait of each namespace, empty for none; from any thread."""
        found = {"": 0}
        for pool, waiting in [*self._waiting.items()]:
            name = "" if pool.startswith("@") else namespace_in(pool)
            counts = {name: len(waiting)} if isinstance(waiting, FairQueue) else waiting.waiting()
            for name, number in counts.items():
                found[name] = found.get(name, 0) + number
        return found

    def add_stop(self, order: StopPipeline) -> None:
        """Keep an order to stop."""
        self._stops.append(order)

    def send(self, is_wanted: Callable[[RunPipeline], bool]) -> bool:
        """Hand over what there is room for, but for what nobody wants any more; whether anything went."""
        did = False
        # Stops go first: they free slots, and a tool that was called off has effects for as long as it runs.
        while self._stops and self._bus.room(STOPS) > 0:
            stop = self._stops.popleft()
            self._bus.send(STOPS, key_of(stop), stop)
            did = True
        if self._waiting:
            self._look_for_shares()
            for pool in [*self._waiting]:
                did = self._send_to(pool, is_wanted) or did
        return did

    def withdraw(self, orders: Iterable[tuple[str, RunPipeline]]) -> None:
        """Take orders back that were handed over and that nobody wants any more, each with its pool."""
        keys: dict[str, set[str]] = {}
        for pool, order in orders:
            for queue in (pool, *self._lanes_of(order)):
                keys.setdefault(queue, set()).add(key_of(order))
        for pool, mine in keys.items():
            self._bus.withdraw(pool, mine)

    def forget(self, is_wanted: Callable[[RunPipeline], bool]) -> None:
        """Forget what waits here and nobody wants any more, where there is no room for long."""
        for waiting in self._waiting.values():
            waiting.keep(is_wanted)

    def clear(self) -> None:
        """Forget all of them."""
        self._waiting.clear()
        self._stops.clear()

    def _look_for_shares(self) -> None:
        if self._shares is not None:
            self._has_shares = self._shares.look()
            if self._shares.lanes is not self._lanes:
                before, self._lanes = self._lanes, self._shares.lanes
                for lane in before.keys() - self._lanes.keys():
                    self._bus.limit(lane, 0)  # what lies there is taken all the same
                for lane, most in self._lanes.items():
                    if before.get(lane) != most:
                        self._bus.limit(lane, most)
                    if lane not in before:
                        self.open_lane(lane)
            if self._shares.rests is not self._rests:
                rested, self._rests = self._rests, self._shares.rests
                for pool, most in self._rests.items():
                    if rested.get(pool) != most:
                        self._bus.limit(pool, most)

    def _lanes_of(self, order: RunPipeline) -> list[str]:
        """The lanes in which an order may lie."""
        if not self._lanes or self._shares is None:
            return []
        share = self._shares.share_of(self._path_of(order.execution_id))
        return [lane_of(pool, share.name) for pool in share.pools]

    def _shared(self, pool: str) -> "WeightedQueue[RunPipeline]":
        """The queue of a pool, shared from now on."""
        waiting = self._waiting.get(pool)
        if waiting is None or isinstance(waiting, FairQueue):
            from noetl.messages.weighted_queue import WeightedQueue  # most stores have no namespaces

            waiting = self._waiting[pool] = WeightedQueue(waiting)
        return waiting

    def _narrow(self, pool: str, shares: Shares, *, is_shared: bool) -> None:
        """Have no more of a shared pool on the bus than its workers soon begin."""
        slots, most = self._slots_of(pool_in(pool)) if is_shared else None, 0
        if slots is not None:
            slots = min(slots, self._lanes.get(pool, slots))
            if pool not in self._windows:
                self._windows[pool] = shares.new_window()
            most = self._windows[pool].most(slots)
        if self._narrowed.get(pool, 0) != most:
            self._narrowed[pool] = most
            self._bus.narrow(pool, most)

    def _send_to(self, pool: str, is_wanted: Callable[[RunPipeline], bool]) -> bool:
        handed, waiting = 0, self._waiting[pool]
        if self._shares is not None:
            self._narrow(pool, self._shares, is_shared=pool in self._lanes or not isinstance(waiting, FairQueue))
        while waiting and self._bus.room(pool) > 0:
            order = waiting.first()
            # An order may have waited long for room. One whose run was cancelled or timed out meanwhile would cost a
            # worker a slot, only to be refused.
            if is_wanted(order):
                try:
                    self._hand_over(pool, order)
                # The room may be gone since it was asked for. The order stays at the head, and is tried again in the
                # next round.
                except Full:
                    break
                handed += 1
            waiting.next()
        if pool in self._windows:
            self._windows[pool].add_handed(handed)
        if not waiting:
            del self._waiting[pool]
        return handed > 0

    def _hand_over(self, pool: str, order: RunPipeline) -> None:
        try:
            self._bus.send(pool, key_of(order), order)
        # The size is found out by trying. Packing each order once more beforehand would cost every small one what
        # only a few large ones need.
        except MessageTooLarge:
            reference = self._keep(lambda: self._blobs.put(order.execution_id, write_order(order)))
            self._bus.send(pool, key_of(order), ClaimCheck(order.execution_id, reference))


def key_of(order: RunPipeline | StopPipeline) -> str:
    """The key that names an order on the bus: the same order has the same key."""
    if isinstance(order, StopPipeline):
        return f"{order.execution_id}:{order.run}:{order.claim}:stop"
    # A bus drops a second message with a known key. The order to run a parked task and that to judge its outcome
    # differ in nothing else.
    kind = "run" if order.outcome is None else "outcome"
    return f"{order.execution_id}:{order.run}:{order.task}:{order.visit}:{order.attempt}:{order.claim}:{kind}"
