"""A slot of a worker: one pipeline at work, and what it waits for."""

from noetl.host.backoff import Backoff
from noetl.ports import Clock, ToolCall
from noetl.ports.bus import Ticket
from noetl.ports.needs import Waiting
from noetl.worker.intake import BegunOrder
from noetl_ir.events import Event
from noetl_ir.orders import Answer, Report

FIRST_RESEND, LONGEST_RESEND = 1_000_000, 4_000_000
"""Microseconds until an unanswered report is sent again. The longest pause is well below a lease (30 s): when a server
is back, the claim is renewed in time.
"""


class Pause:
    """A time to wait for, by a clock (microseconds)."""

    __slots__ = ("_clock", "until")
    problem = ""

    def __init__(self, clock: Clock, length: int) -> None:
        self._clock = clock
        self.until = clock.now() + length

    @property
    def is_over(self) -> bool:
        return self._clock.now() >= self.until

    def outcome(self) -> object:
        return None


class Slot:
    """A pipeline at work: its session, the delivery of its order, the `call` that waits for an answer or runs, its
    needs, and in `work` the coroutine that goes on once what it lacks is here.
    """

    __slots__ = (
        "again",
        "began",
        "call",
        "delivery",
        "events",
        "key",
        "name",
        "needs",
        "report",
        "resend",
        "running",
        "session",
        "tickets",
        "work",
    )  # fmt: skip

    def __init__(self, key: tuple[str, str], name: str, begun: BegunOrder) -> None:
        self.key = key
        self.name = name
        self.session = begun.session
        self.delivery = begun.delivery
        self.needs = begun.needs
        self.call: ToolCall | None = None
        self.began: int | None = None
        self.report: Report | None = None
        self.tickets: list[Ticket[Answer]] = []
        self.resend = Backoff(FIRST_RESEND, LONGEST_RESEND)
        self.again = 0
        self.events: list[Event] = []
        self.running = False
        self.work: Waiting[None] | None = None

    def let_go(self) -> None:
        """Drop the coroutine, and everything that was fetched for it."""
        if self.work is not None:
            self.work.close()
            self.work = None
        self.needs.forget()
