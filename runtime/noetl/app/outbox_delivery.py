"""The thread of a server that tells what lies in the outbox of its store, until it was told."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence

from noetl.host.log_lines import log_line
from noetl.ports import Clock, Damaged, StoreFailure
from noetl.ports.outbox import Outbox, OutboxRow, WantedOutbox

EVERY = 1.0
"""Seconds between two looks."""

LEASE = 120_000_000
"""Microseconds in which whoever has taken a row tells it, before another one may."""

WITHIN = 15.0
"""Seconds that the telling of one row may take in all; far less than the lease, which is that of one row."""

AT_ONCE = 20
"""The rows that are told between two looks."""

MOST_APART = 8
"""The tellings at once of topics that end in `:`."""

FIRST_PAUSE, LONGEST_PAUSE = 2_000_000, 600_000_000
"""Microseconds before what failed is tried again: the first time, doubled each time, at most."""

LONGEST_WAIT = 3_600_000_000
"""Microseconds that whoever is told may ask for until the next try."""

TRIES = 20
"""How often a row is tried: for two and a half hours, with these pauses. After that it is dead."""


class NotTold(Exception):
    """A row could not be told now; the text says why, without secrets. With `for_good` it is not tried again, with
    `wait` not before so many seconds have passed, as whoever is told asks.
    """

    def __init__(self, text: str, *, for_good: bool = False, wait: float = 0) -> None:
        super().__init__(text)
        self.for_good = for_good
        self.wait = wait


Teller = Callable[[OutboxRow], None]
"""Tells a row, or puts what follows from it; raises NotTold, StoreFailure."""


class OutboxDelivery(threading.Thread):
    """Tells the rows of topics, each by its teller: a topic that ends in `:` stands for all that begin so. `say` hears
    of rows that are dead. `looks` are looked at before each look at what is due, and put what they find.

    While the thread runs, each topic that begins with one that ends in `:` is told apart from all others, one row of it
    at a time: one of them that hangs holds up itself alone. Its next row is looked for as soon as one was told.
    """

    def __init__(
        self,
        outbox: Outbox,
        tellers: Mapping[str, Teller],
        clock: Clock,
        say: Callable[[str], None],
        every: float = EVERY,
        looks: Sequence[Callable[[], None]] = (),
    ) -> None:
        self._looks = looks
        super().__init__(name="noetl-outbox", daemon=True)
        self._outbox = outbox
        self._tellers = tellers
        self._clock = clock
        self._say = say
        self._every = every
        self._ended = threading.Event()
        self._rung = threading.Event()
        self._lock = threading.Lock()
        self._apart: set[str] = set()  # the topics of which a row is being told in a thread of its own

    def run(self) -> None:
        """Until it is ended. A store that fails is asked again; the service says what is wrong with it."""
        while True:
            self._rung.wait(self._every)
            if self._ended.is_set():
                return
            # Cleared before the look: a telling that ends while it is looked makes its topic free once more.
            self._rung.clear()
            try:
                while self._look(self._tell_apart) and not self._ended.is_set():
                    pass
            except StoreFailure:
                continue
            except Exception as error:
                text = f"internal error in the outbox: {type(error).__name__}: {error} (please report)"
                self._say(log_line("error", text))

    def end_soon(self) -> None:
        """Tell nothing more."""
        self._ended.set()
        self._rung.set()

    def look_soon(self) -> None:
        """Look now, and not only when it is time."""
        self._rung.set()

    def look(self) -> bool:
        """Tell what is due, one after another; whether there was anything. Raises StoreFailure."""
        return self._look(self._tell)

    def _look(self, tell: Callable[[OutboxRow], None]) -> bool:
        for look in self._looks:
            look()
        for count in range(AT_ONCE):
            if self._ended.is_set() or (row := self._taken()) is None:
                return count > 0
            tell(row)
        return True

    def _taken(self) -> OutboxRow | None:
        """The next row. Only one: the lease of others would run out while this one is told."""
        with self._lock:
            busy = sorted(self._apart)
        topics = [topic for topic in self._tellers if len(busy) < MOST_APART or not topic.endswith(":")]
        now = self._clock.now()
        rows = self._outbox.take_outbox(topics, now, now + LEASE, 1, without=busy)
        return rows[0] if rows else None

    def _tell_apart(self, row: OutboxRow) -> None:
        """Tell a row, in a thread of its own where it is of a topic that is told apart."""
        if ":" not in row.topic:
            self._tell(row)
            return
        with self._lock:
            self._apart.add(row.topic)
        threading.Thread(target=self._told_apart, args=(row,), name="noetl-telling", daemon=True).start()

    def _told_apart(self, row: OutboxRow) -> None:
        is_store_there = True
        try:
            self._tell(row)
        except StoreFailure:
            is_store_there = False  # it is due again when its lease ends
        finally:
            with self._lock:
                self._apart.discard(row.topic)
            if is_store_there:  # else it is looked when it is time: it need not hear of this at once
                self.look_soon()

    def _tell(self, row: OutboxRow) -> None:
        topic, colon, _ = row.topic.partition(":")
        try:
            if row.tries >= TRIES:  # a try that failed would have said so
                raise NotTold(row.trouble or "each server that tried it died", for_good=True)
            self._tell_by(self._tellers[topic + colon], row)
        except NotTold as problem:
            is_dead = problem.for_good or row.tries + 1 >= TRIES
            asked = min(round(problem.wait * 1_000_000), LONGEST_WAIT)
            pause = max(min(FIRST_PAUSE << min(row.tries, 20), LONGEST_PAUSE), asked)
            self._outbox.put_off_outbox(row.number, self._clock.now() + pause, str(problem), dead=is_dead)
            if is_dead:
                about = f"{row.topic} is not told of {row.subject}: {problem}; `noetl dead-letters` lists it"
                self._say(log_line("error", about))
        else:
            self._outbox.settle_outbox(row.number)

    def _tell_by(self, teller: Teller, row: OutboxRow) -> None:
        """Tell a row. What is wrong with it alone keeps no other one from being told. Raises NotTold, StoreFailure."""
        try:
            teller(row)
        except (NotTold, StoreFailure) as problem:
            if isinstance(problem, Damaged):
                raise NotTold(problem.what, for_good=True) from None
            raise
        except Exception as error:
            text = f"internal error: {type(error).__name__}: {error} (please report)"
            self._say(log_line("error", f"{row.topic}, {row.subject}: {text}"))
            raise NotTold(f"internal error: {type(error).__name__}") from error


def drop_dead(outbox: Outbox, number: int) -> bool:
    """Forget a dead row; whether there was one. Raises StoreFailure."""
    found = outbox.outbox_rows(WantedOutbox(dead=True, after=number - 1, limit=1))
    if not found or found[0].number != number:
        return False
    outbox.settle_outbox(number)
    return True
