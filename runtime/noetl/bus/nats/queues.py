"""The work queue of a pool: a stream of JetStream that keeps each order until it is acknowledged.

One subject an order, and one message a subject: as long as an order lies there, waiting or taken, a second one of
its key is refused. The stream takes no more messages than the queue has room for.
"""

from nats.js import JetStreamContext
from nats.js.api import AckPolicy, ConsumerConfig, DiscardPolicy, RetentionPolicy, StreamConfig
from nats.js.errors import BadRequestError

from noetl.bus.nats.names import token_of
from noetl_ir.records import NamedTuple

CONSUMER = "workers"
"""The name of what all workers of a pool take from."""

WINDOW = 10.0
"""Seconds in which JetStream knows a repeated publication by its id, also when the order was dealt with meanwhile.
Less than the server waits before it orders something again on purpose."""


class QueueLimits(NamedTuple):
    """`capacity` bounds each queue; `ack_wait` is in seconds; a message is handed out `deliveries` times. A server that
    answers no report for `silence_seconds` seconds, much less than a lease, is passed by.
    """

    capacity: int = 10_000
    deliveries: int = 10
    ack_wait: float = 30.0
    silence_seconds: float = 5.0


def stream_of(prefix: str, pool: str) -> str:
    """The name of a pool's stream."""
    return f"{prefix}_run_{token_of(pool)}"


def subject_of(prefix: str, pool: str, key: str) -> str:
    """The subject of an order, or of all orders of a pool with `*` for the key."""
    return f"{prefix}.run.{token_of(pool)}.{key if key == '*' else token_of(key)}"


async def make_stream(streams: JetStreamContext, prefix: str, pool: str, limits: QueueLimits) -> None:
    """Have the stream of a pool; one that is there is brought to these limits."""
    config = StreamConfig(
        name=stream_of(prefix, pool), subjects=[subject_of(prefix, pool, "*")], retention=RetentionPolicy.WORK_QUEUE,
        # A full queue refuses the newest: the other policy would drop the oldest order, which has waited longest,
        # without telling anybody.
        discard=DiscardPolicy.NEW, max_msgs=limits.capacity, max_msgs_per_subject=1, discard_new_per_subject=True,
        duplicate_window=WINDOW,
    )  # fmt: skip
    try:
        await streams.add_stream(config)
    except BadRequestError:  # it is there, with other limits
        await streams.update_stream(config)


async def make_consumer(streams: JetStreamContext, prefix: str, pool: str, limits: QueueLimits, most: int) -> None:
    """Have what the workers of a pool take from, with at most so many orders at work at once. Deliveries are counted
    and ended by the workers.
    """
    config = ConsumerConfig(
        # No limit of deliveries here, since JetStream says nothing when one is reached: the message would lie there,
        # in nobody's hands.
        durable_name=CONSUMER, ack_policy=AckPolicy.EXPLICIT, ack_wait=limits.ack_wait, max_deliver=-1,
        max_ack_pending=most,
    )  # fmt: skip
    await streams.add_consumer(stream_of(prefix, pool), config)
