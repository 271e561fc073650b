"""The network between simulated processes: the promises of the bus over NATS, and none that it does not make.

Work queues keep an order until it is acknowledged, and hand it out again when that takes too long or a word got lost.
Reports, answers, orders to an address and received go straight, and may be lost, come twice, late, or in another order.
Everything goes as bytes, so no two processes share an object.
"""

import random
from collections import Counter, deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from noetl.ports.bus import DeadLetter
from simulator.timeline import SECOND, Timeline

if TYPE_CHECKING:
    from simulator.endpoint import Endpoint

ACK_WAIT = 30 * SECOND
"""How long an order may be at work without a sign of life of its process."""

CONFIRM_WITHIN = 5 * SECOND
"""When a sender publishes again an order that was not confirmed."""

REMEMBERED = 10 * SECOND
"""How long a queue knows the key of an order that it took."""

LOOK_AGAIN = SECOND // 50
"""How long it takes at most until a server knows of room in a queue that was full for it."""

MOST_DELIVERIES = 50
"""An order that is handed out so often is given up; more than any fault here costs."""


class Odds(NamedTuple):
    """How likely each fault of a message is, and how late one is at most that is late (microseconds)."""

    dropped: float = 0.0
    doubled: float = 0.0
    late: float = 0.0
    latest: int = SECOND


class Network:
    """Carries bytes between endpoints, by chance of the seed. `largest` bounds a message in bytes; `is_older` says by
    name which processes read no batches.
    """

    def __init__(
        self,
        timeline: Timeline,
        chance: random.Random,
        odds: Odds,
        largest: int,
        is_older: Callable[[str], bool] = lambda name: False,
    ) -> None:
        self.timeline = timeline
        self.is_older = is_older
        self.largest = largest
        self.dead_letters: list[DeadLetter] = []
        self._chance = chance
        self._odds = odds
        self._queues: dict[str, WorkQueue] = {}
        self._on_its_way = Counter[str]()
        self._endpoints: dict[str, Endpoint] = {}

    def join(self, endpoint: "Endpoint") -> None:
        """A process is there."""
        self._endpoints[endpoint.address] = endpoint

    def leave(self, endpoint: "Endpoint") -> None:
        """A process is gone; messages to it find nobody."""
        self._endpoints.pop(endpoint.address, None)

    def heal(self) -> None:
        """No more faults."""
        self._odds = Odds()

    def wipe(self) -> None:
        """The disk of the queues is lost."""
        for queue in self._queues.values():
            queue.wipe()

    def left_over(self) -> int:
        """How many orders lie in the queues."""
        return sum(queue.size for queue in self._queues.values())

    def queue(self, pool: str) -> "WorkQueue":
        """The work queue of a pool."""
        queue = self._queues.get(pool)
        if queue is None:
            queue = self._queues[pool] = WorkQueue(self, pool)
        return queue

    def publish(self, pool: str, key: str, data: bytes, sender: "Endpoint") -> None:
        """Put an order into a queue. It is repeated until it is there, unless its sender dies before."""
        for _ in range(2 if self.hits(self._odds.doubled) else 1):
            delay = self._delay()
            while self.hits(self._odds.dropped):
                delay += CONFIRM_WITHIN
            self._on_its_way[pool] += 1
            self.timeline.after(delay, lambda: self._published(pool, key, data, sender))

    def room_came(self, pool: str) -> None:
        """Servers that have a queue narrow look now and then how much lies there, each at a time of its own."""
        for endpoint in self._endpoints.values():
            if endpoint.has_narrowed(pool):
                self.timeline.after(self._chance.randint(0, LOOK_AGAIN), partial(endpoint.look_at, pool))

    def load(self, pool: str) -> int:
        """How many orders lie in a queue, or are on their way there."""
        return self.queue(pool).size + self._on_its_way[pool]

    def _published(self, pool: str, key: str, data: bytes, sender: "Endpoint") -> None:
        self._on_its_way[pool] -= 1
        if sender.is_alive:
            self.queue(pool).add(key, data, sender.address)
            self.wake_takers(pool)

    def wake_takers(self, pool: str) -> None:
        """Wake the processes that take from a queue."""
        takers = [each for each in self._endpoints.values() if pool in each.pools]
        self._chance.shuffle(takers)
        for taker in takers:
            taker.wake()

    def tell(self, address: str, arrive: Callable[["Endpoint"], None], lost: Callable[[], None] | None = None) -> None:
        """Send something to one process, perhaps; `lost` is called where nobody is there."""
        for _ in range(self._copies()):
            self.timeline.after(self._delay(), lambda: self._arrived(address, arrive, lost))

    def tell_all(self, arrive: Callable[["Endpoint"], None]) -> None:
        """Send something to every process, to each perhaps."""
        for address in [*self._endpoints]:
            self.tell(address, arrive)

    def tell_any_server(self, arrive: Callable[["Endpoint"], None]) -> None:
        """Send something to any one server."""
        servers = [address for address, each in self._endpoints.items() if each.is_listening]
        if servers:
            self.tell(self._chance.choice(servers), arrive)

    def _arrived(self, address: str, arrive: Callable[["Endpoint"], None], lost: Callable[[], None] | None) -> None:
        endpoint = self._endpoints.get(address)
        if endpoint is None:
            if lost is not None:
                lost()
        elif endpoint.is_linked:
            arrive(endpoint)
            endpoint.wake()

    def _copies(self) -> int:
        if self.hits(self._odds.dropped):
            return 0
        return 2 if self.hits(self._odds.doubled) else 1

    def _delay(self) -> int:
        latest = self._odds.latest if self.hits(self._odds.late) else 2_000
        return self._chance.randint(100, latest)

    def hits(self, odds: float) -> bool:
        """Whether something of these odds happens now."""
        return odds > 0 and self._chance.random() < odds

    def is_word_lost(self) -> bool:
        """Whether a word to a queue gets lost."""
        return self.hits(self._odds.dropped)

    def is_doubled(self) -> bool:
        """Whether a queue hands an order to two."""
        return self.hits(self._odds.doubled / 2)


class Item:
    """An order in a queue: who has it, if anybody; `tries` counts the times it was handed out."""

    __slots__ = ("data", "holder", "key", "sender", "tries")

    def __init__(self, key: str, data: bytes, sender: str) -> None:
        self.key = key
        self.data = data
        self.sender = sender
        self.holder: Endpoint | None = None
        self.tries = 0


class WorkQueue:
    """The orders of a pool, each kept until it is acknowledged."""

    def __init__(self, network: Network, pool: str) -> None:
        self._network = network
        self._pool = pool
        self._waiting: deque[Item] = deque()
        self._items: dict[str, Item] = {}
        self._known: dict[str, int] = {}
        self.most = 0

    @property
    def size(self) -> int:
        """How many messages wait or are at work."""
        return len(self._items)

    def add(self, key: str, data: bytes, sender: str) -> None:
        """Take in an order, unless it is there, or was a moment ago."""
        now = self._network.timeline.now
        if key in self._items or now - self._known.get(key, -REMEMBERED) < REMEMBERED:
            return
        self._known[key] = now
        item = self._items[key] = Item(key, data, sender)
        self._waiting.append(item)

    def take(self, taker: "Endpoint") -> Item | None:
        """Hand out the next one."""
        if not self._waiting or (self.most and self.size - len(self._waiting) >= self.most):
            return None
        item = self._waiting.popleft()
        item.tries += 1
        item.holder = taker
        tries = item.tries
        self._network.timeline.after(ACK_WAIT, lambda: self._look(item, tries))
        if self._network.is_doubled():
            self._waiting.append(item)
        return item

    def drop(self, item: Item) -> None:
        """Remove a message that was dealt with, if the word of it arrives."""
        if not self._network.is_word_lost():
            self._forget(item)

    def back(self, item: Item, delay: int) -> None:
        """Have a message come again."""
        item.holder = None
        self._network.timeline.after(delay, lambda: self._again(item))

    def dead_letter(self, item: Item, reason: str) -> None:
        """Keep a message as a dead letter."""
        self._forget(item)
        self._network.dead_letters.append(DeadLetter(self._pool, item.key, item.tries, reason))

    def wipe(self) -> None:
        """Lose everything."""
        self._waiting.clear()
        self._items.clear()
        self._known.clear()
        self._network.room_came(self._pool)

    def _forget(self, item: Item) -> None:
        if self._items.get(item.key) is item:
            del self._items[item.key]
            self._network.room_came(self._pool)
            if self.most and self._waiting:
                self._network.wake_takers(self._pool)
        if item in self._waiting:
            self._waiting.remove(item)

    def _look(self, item: Item, tries: int) -> None:
        """An order that was handed out: prolonged while its process shows itself, else it comes again."""
        if self._items.get(item.key) is not item or item.tries != tries or item.holder is None:
            return
        if item.holder.keeps(item):
            self._network.timeline.after(ACK_WAIT, lambda: self._look(item, tries))
        else:
            self._again(item)

    def _again(self, item: Item) -> None:
        if self._items.get(item.key) is not item or item in self._waiting:
            return
        if item.tries >= MOST_DELIVERIES:
            self.dead_letter(item, "it was not acknowledged in time")
            return
        item.holder = None
        self._waiting.append(item)
        self._network.wake_takers(self._pool)
