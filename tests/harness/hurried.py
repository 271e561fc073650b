"""`noetl` with leases of 3 seconds, those of orders on the bus too: `python -m harness.hurried WORDS…`.

What a lease does is the same at any length.
"""

import sys

from noetl.bus.nats import bus
from noetl.cli import main
from noetl.server.workers import leases
from noetl.worker import heartbeats

SECOND = 1_000_000

if __name__ == "__main__":
    leases.Leases.__init__.__defaults__ = (3 * SECOND,)  # type: ignore[attr-defined]
    heartbeats.HEARTBEAT_EVERY = SECOND  # type: ignore[misc]
    bus.NatsBus.__init__.__kwdefaults__["limits"] = bus.NO_LIMITS._replace(ack_wait=3.0)  # type: ignore[attr-defined]
    sys.exit(main())
