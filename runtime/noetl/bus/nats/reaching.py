"""A look at NATS that makes nothing there: whether it can be reached, and has what a bus needs."""

from contextlib import closing

from nats.errors import Error as NatsError
from nats.js.errors import NotFoundError

from noetl.bus import BusFailure
from noetl.bus.nats.connection import NatsConnection
from noetl.bus.nats.names import address_in


def reach_streams(url: str) -> None:
    """Ask JetStream for a stream of a bus, which need not be there. Raises BusFailure."""
    address = address_in(url)
    with closing(NatsConnection(address)) as connection:
        try:
            connection.wait(connection.streams.stream_info(f"{address.prefix}_dead_letters"))
        except NotFoundError:
            return
        # Without JetStream nobody answers.
        except (TimeoutError, NatsError, OSError) as problem:
            why = "JetStream does not answer: it is not on, or not allowed for this user"
            raise BusFailure(f"{address.shown}: {why} ({type(problem).__name__})") from None
