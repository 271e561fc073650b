"""Choose how progress is shown."""

from __future__ import annotations

import os
import sys

from noetl.cli.progress import Lines, Progress, Silent


def progress_for(*, quiet: bool) -> Progress:
    """What to show on standard error: nothing, an area on a terminal that has one, or lines."""
    if quiet:
        return Silent()
    if sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb":
        from noetl.cli.live import Live

        return Live(sys.stderr)
    return Lines(sys.stderr)
