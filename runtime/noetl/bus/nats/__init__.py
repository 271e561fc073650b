"""The bus over NATS: orders through JetStream work queues, reports and answers directly.

Every promise of a run rests on the log, none on the bus; so each kind of message has just what it needs. An order
is stored by JetStream, one work queue a pool, until a worker acknowledges it: it outlives a restart of NATS, and a
worker that dies is replaced after `ack_wait`. A report goes straight to the server that sent the order, over
plain NATS, because its worker repeats it until it is answered. An order to stop goes to every worker at once.

JetStream acknowledges before it forces to disk. That is enough here: an order that a power failure takes away follows
from the log, and the server orders it again.
"""

from collections.abc import Callable, Mapping
from typing import Any

from noetl.bus import BusFailure
from noetl.ports import Fence
from noetl.ports.bus import Bus
from noetl.ports.messages import Messages

EXTRA = "a bus over NATS needs the extra: pip install 'noetlc[nats]'"


def reach(url: str) -> None:
    """Connect to the bus at a URL, ask whether JetStream is on, and hang up: nothing is made. Raises BusFailure."""
    try:
        from noetl.bus.nats.reaching import reach_streams
    except ImportError as missing:
        raise BusFailure(f"{EXTRA} ({missing})") from None
    reach_streams(url)


def open_bus(
    url: str, limits: Mapping[str, int], pool: str | None = None, say: Callable[[str], None] = lambda _: None
) -> Bus[Any, Any, Any]:
    """The bus at `nats://[USER:PASSWORD@]HOST[:PORT][,…][/PREFIX][?creds=FILE]`. Raises BusFailure.

    `limits` are how many orders of a pool may be at work at once, over all workers; `pool` is that of the worker who
    opens it, None of a server; `say` hears what NATS does not allow.
    """
    try:
        from noetl.bus.nats.bus import NatsBus
    except ImportError as missing:
        raise BusFailure(f"{EXTRA} ({missing})") from None
    bus = NatsBus(url, pool=pool, say=say)
    for pool, most in limits.items():
        bus.limit(pool, most)
    return bus


def open_messages(url: str, fence: Fence | None = None) -> Messages:
    """The streams of others at the URL of a bus, inside a fence if there is one. Raises BusFailure."""
    try:
        from noetl.bus.nats.messages import NatsMessages
    except ImportError as missing:
        raise BusFailure(f"{EXTRA} ({missing})") from None
    return NatsMessages(url, fence)
