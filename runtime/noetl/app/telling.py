"""The tellers of a server: who tells what lies in the outbox, as far as there is something to tell."""

from __future__ import annotations

from collections.abc import Callable

from noetl.app.clock import WallClock
from noetl.app.notifying import ENDS, MESSAGES, EndTeller, LateLooks, MessageSender
from noetl.app.outbox_delivery import OutboxDelivery, Teller
from noetl.app.runtime import Runtime
from noetl.ports.notifications import Notifying
from noetl.ports.outbox import Telling


def delivery_of(runtime: Runtime, say: Callable[[str], None]) -> OutboxDelivery | None:
    """The thread that tells what lies in the outbox of a store; None for a store without one. Ends are
    watched for traces from here on, or no more. Raises StoreFailure, and ImportError where the extra `otel` is lacking.
    """
    store, tracing, clock = runtime.store, runtime.settings.tracing, WallClock()
    if not isinstance(store, Telling):
        return None
    tellers: dict[str, Teller] = {}
    looks: list[Callable[[], None]] = []
    if tracing is not None:
        from noetl.app.tracing.exporting import SpanExporter
        from noetl.app.tracing.telling import TOPIC, TraceTeller

        tellers[TOPIC] = TraceTeller(runtime, tracing, SpanExporter())
        store.outbox.watch_ends(TOPIC, top=False)
    elif "trace" in store.outbox.watched_ends():
        store.outbox.unwatch_ends("trace")  # nobody tells it any more, and it would grow without end
    if isinstance(store, Notifying):
        tellers[ENDS] = EndTeller(runtime, store.notifying, clock)
        tellers[MESSAGES] = MessageSender(runtime, store.notifying)
        looks.append(LateLooks(runtime, store.notifying, clock))
    return OutboxDelivery(store.outbox, tellers, clock, say, looks=looks)
