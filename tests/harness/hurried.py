"""`noetl` with leases of 3 seconds: `python -m harness.hurried WORDS…`; what a lease does is the same at any length."""

import sys

from noetl.cli import main
from noetl.server import leases
from noetl.worker import pulse

SECOND = 1_000_000

if __name__ == "__main__":
    leases.Leases.__init__.__defaults__ = (3 * SECOND,)  # type: ignore[attr-defined]
    pulse.BEAT_EVERY = SECOND  # type: ignore[misc]
    sys.exit(main())
