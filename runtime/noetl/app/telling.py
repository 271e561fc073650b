"""The tellers of a server: who tells what lies in the outbox, as far as there is something to tell."""

from __future__ import annotations

from collections.abc import Callable

from noetl.app.clock import WallClock
from noetl.app.outbox_delivery import OutboxDelivery, Teller
from noetl.app.runtime import Runtime
from noetl.ports.outbox import Telling


def delivery_of(runtime: Runtime, say: Callable[[str], None]) -> OutboxDelivery | None:
    """The thread that tells what lies in the outbox of a store; None where there is nothing that could. Ends are
    watched from here on, or no more. Raises StoreFailure, and ImportError where the extra `otel` is lacking.
    """
    store, tracing = runtime.store, runtime.settings.tracing
    if not isinstance(store, Telling):
        return None
    tellers: dict[str, Teller] = {}
    if tracing is not None:
        from noetl.app.tracing.exporting import SpanExporter
        from noetl.app.tracing.telling import TOPIC, TraceTeller

        tellers[TOPIC] = TraceTeller(runtime, tracing, SpanExporter())
        store.outbox.watch_ends(TOPIC, top=False)
    elif "trace" in store.outbox.watched_ends():
        store.outbox.unwatch_ends("trace")  # nobody tells it any more, and it would grow without end
    return OutboxDelivery(store.outbox, tellers, WallClock(), say) if tellers else None
