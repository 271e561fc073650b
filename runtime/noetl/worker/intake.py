"""The intake of a worker: takes orders from the bus, gets the plan and values that they need, and opens sessions.

An order waits here while something that it needs is fetched. Where that cannot be had, since no server can be reached
or none has it, the order goes back at once, so that another worker can take it. Until the missing thing is here, the
worker takes no further orders: it is in `trouble`, and would only give them back one after the other.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from noetl.messages.encoding import UnreadableMessage, read_order
from noetl.ports import Blobs, StoreFailure
from noetl.ports.bus import Bus, Delivery
from noetl.ports.needs import Awaited, Needs, Waiting
from noetl.worker.session import Misfit, Session
from noetl_ir.orders import Answer, ClaimCheck, Order, RunPipeline, Said
from noetl_ir.records import NamedTuple

ASK_AGAIN = 1_000_000
"""Microseconds before an order that cannot be begun may come again."""


MOST_LANES = 1_000
"""The most queues that one worker takes from."""


class BegunOrder(NamedTuple):
    """An order that can be begun: its session, its delivery, and the needs of the session."""

    session: Session
    delivery: Delivery[Order]
    needs: Needs


class _Arrival(NamedTuple):
    """An order that waits for what it needs."""

    delivery: Delivery[Order]
    opening: Waiting[BegunOrder | None]


class Intake:
    """Takes the orders of one worker from its pools. `session_of` raises KeyError for an order that can never run here.

    `is_past` tells whether the session at work is as far as an order, or further. `say` is called with the reason why
    an order is not begun; of equal reasons in a row, once.
    """

    def __init__(
        self,
        bus: Bus[Order, Said, Answer],
        pools: Sequence[str],
        *,
        session_of: Callable[[RunPipeline, Needs], Session],
        is_past: Callable[[RunPipeline], bool],
        blobs: Callable[[Needs], Blobs] | None,
        needs: Callable[[], Needs],
        say: Callable[[str], None],
    ) -> None:
        self._bus = bus
        self._pools = [*pools]
        self._session_of = session_of
        self._is_past = is_past
        self._blobs = blobs
        self._needs = needs
        self._say = say
        self._has_lanes = False
        self._said = ""
        self._arrivals: list[_Arrival] = []
        self._missing: Awaited | None = None

    def __len__(self) -> int:
        """How many orders wait here; each has a slot."""
        return len(self._arrivals)

    def add_lane(self, lane: str) -> None:
        """Take from a lane of the pool, too."""
        # Whoever speaks as a server could name any number of them.
        if lane not in self._pools and len(self._pools) < MOST_LANES:
            self._pools.append(lane)
            self._has_lanes = True

    @property
    def trouble(self) -> str:
        """Why nothing is taken, empty where nothing is in the way."""
        return self._missing.problem if self._missing is not None else ""

    def open_orders(self, has_room: Callable[[], bool]) -> Iterator[BegunOrder]:
        """The orders that can be begun now, of what waited and, as long as there is room, of what is on the bus."""
        if self._arrivals or self._missing is not None:
            # What waits here came before what is on the bus.
            yield from self._arrived()
        if self._missing is not None:
            return
        pools = [*self._pools]  # one of each in turn: a flood of one leaves room for the others
        while pools and has_room():
            pool = pools.pop(0)
            if (delivery := self._bus.take(pool)) is not None:
                pools.append(pool)
                if self._has_lanes:  # in the next round, too, where there is room for one alone in each
                    self._pools.remove(pool)
                    self._pools.append(pool)
                if (begun := self._went_on(_Arrival(delivery, Waiting(self._open(delivery))))) is not None:
                    yield begun

    def miss(self, fetch: Awaited) -> None:
        """A fetch does not come to its end: take nothing until it does."""
        # The first one that is missing is watched. Most often the server is away, and then all fetches miss for the
        # same reason.
        if fetch.problem and not fetch.is_over and self._missing is None:
            self._missing = fetch
            self._tell(f"nothing is begun for now: {fetch.problem}")

    def give_back(self) -> None:
        """Leave to others what has not begun."""
        arrivals, self._arrivals = self._arrivals, []
        for arrival in arrivals:
            # A refusal is quicker than silence: the bus would wait until the time for an acknowledgement is over.
            arrival.delivery.nak("its worker leaves")

    def _arrived(self) -> Iterator[BegunOrder]:
        arrivals, self._arrivals = self._arrivals, []
        for arrival in arrivals:
            awaited = arrival.opening.awaited
            assert awaited is not None
            if awaited.is_over:
                if (begun := self._went_on(arrival)) is not None:
                    yield begun
            elif awaited.problem:
                arrival.delivery.nak(awaited.problem)
                self.miss(awaited)
            else:
                self._arrivals.append(arrival)
        if self._missing is not None and self._missing.is_over:
            self._missing = None
            self._tell("orders are begun again")

    def _went_on(self, arrival: _Arrival) -> BegunOrder | None:
        """The order of an arrival, where it can be begun now; one that needs more waits here."""
        if not arrival.opening.step():
            self._arrivals.append(arrival)
        return arrival.opening.result

    async def _open(self, delivery: Delivery[Order]) -> BegunOrder | None:
        """The order of a delivery, once all that it needs is here; None where it cannot be begun."""
        needs, order = self._needs(), None
        try:
            order = await needs.met(lambda: self._inside(delivery.body, needs))
            if not isinstance(order, RunPipeline):
                # Another worker of this version would fail in the same way, and one after the other would take it for
                # ever.
                delivery.dead_letter("not an order that this worker knows")
                self._tell("an order came that this worker does not know")
                return None
            session = await needs.met(partial(self._session, order, needs))
            if session is None:
                delivery.ack()
                return None
            self._said = ""
            return BegunOrder(session, delivery, needs)
        except Misfit as problem:
            delivery.dead_letter(str(problem))
            self._tell(f"an order came that does not fit its plan: {problem}")
        except (KeyError, StoreFailure) as problem:
            text = str(problem.args[0])
            if isinstance(order, RunPipeline):
                text = f"{text} (execution {order.execution_id})"
            # A plan that is not here may be at another worker, or the file of it is mended meanwhile: it comes again,
            # but not at once, so that nobody spins on it.
            delivery.nak(text, ASK_AGAIN)
            self._tell(f"an order cannot be begun here: {text}")
        return None

    def _session(self, order: RunPipeline, needs: Needs) -> Session | None:
        """The session of an order; None for one that was overtaken, also while it waited."""
        return None if self._is_past(order) else self._session_of(order, needs)

    def _inside(self, order: Order, needs: Needs) -> Order | None:
        """The order itself, where it was too large for the bus; None where it cannot be read."""
        if not isinstance(order, ClaimCheck) or self._blobs is None:
            return order
        try:
            return read_order(self._blobs(needs).get(order.reference))
        except (KeyError, UnreadableMessage):
            return None

    def _tell(self, text: str) -> None:
        # A pool of orders that cannot be begun would say the same for each of them, each second.
        if text != self._said:
            self._said = text
            self._say(text)
