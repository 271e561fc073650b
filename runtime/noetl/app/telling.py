"""The tellers of a server: who tells what lies in the outbox, as far as there is something to tell."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from noetl.app.clock import WallClock
from noetl.app.notifying import ENDS, MESSAGES, EndTeller, LateLooks, MessageSender
from noetl.app.outbox_delivery import OutboxDelivery, Teller
from noetl.app.runtime import Runtime
from noetl.ports import Clock, StoreFailure
from noetl.ports.notifications import Notifying
from noetl.ports.outbox import Outbox, Telling

TRACES = "trace"
"""The topic of ends whose traces are told to a collector."""

WATCH_EVERY = 60_000_000
"""Microseconds after which it is said again that ends are watched: a server without a collector says otherwise."""


class TraceWatch:
    """Has ends watched for traces, or no more: where nobody tells them, they would grow without end."""

    def __init__(self, outbox: Outbox, clock: Clock, *, tells: bool) -> None:
        self._outbox = outbox
        self._clock = clock
        self._tells = tells
        self._due = 0

    def __call__(self) -> None:
        """Say it, if it is time. Raises StoreFailure."""
        now = self._clock.now()
        if now < self._due:
            return
        is_watched = TRACES in self._outbox.watched_ends()
        if self._tells and not is_watched:
            self._outbox.watch_ends(TRACES, top=False)
        elif is_watched and not self._tells:
            self._outbox.unwatch_ends(TRACES)
        # A server without a collector says so once, when it begins: another one may have one.
        self._due = now + WATCH_EVERY if self._tells else _NEVER


_NEVER = 1 << 62


def deliveries_of(runtime: Runtime, say: Callable[[str], None]) -> list[OutboxDelivery]:
    """The threads that tell what lies in the outbox of a store, traces apart from messages: a collector that does not
    answer keeps nobody from hearing of a failure. Raises ImportError where the extra `otel` is lacking.
    """
    store, tracing, clock = runtime.store, runtime.settings.tracing, WallClock()
    found: list[OutboxDelivery] = []
    if not isinstance(store, Telling):
        return found
    watch = TraceWatch(store.outbox, clock, tells=tracing is not None)
    with suppress(StoreFailure):  # it is said again
        watch()  # before anything ends
    if tracing is not None:
        from noetl.app.tracing.exporting import SpanExporter
        from noetl.app.tracing.telling import TraceTeller

        teller = TraceTeller(runtime, tracing, SpanExporter())
        found.append(OutboxDelivery(store.outbox, {TRACES: teller}, clock, say, looks=(watch,)))
    if isinstance(store, Notifying):
        tellers: dict[str, Teller] = {
            ENDS: EndTeller(runtime, store.notifying, clock),
            MESSAGES: MessageSender(runtime, store.notifying),
        }
        looks: list[Callable[[], None]] = [LateLooks(runtime, store.notifying, clock), *([] if found else [watch])]
        found.append(OutboxDelivery(store.outbox, tellers, clock, say, looks=looks))
    return found
