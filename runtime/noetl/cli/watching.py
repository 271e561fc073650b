"""Choose how progress is shown."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from noetl.cli.progress import PlainProgress, Progress, Silent
from noetl.cli.text import escaped, warn


def progress_for(*, quiet: bool) -> Progress:
    """The progress to show on standard error: nothing, an area on a terminal that has one, or lines."""
    if quiet:
        return Silent()
    if sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb":
        from noetl.cli.live import Live

        return Live(sys.stderr)
    return PlainProgress(sys.stderr)


def trouble_for(shown: Progress, *, quiet: bool) -> Callable[[str], None]:
    """Where it is said that a run cannot go on for now: among its progress, and also where that is not wanted."""
    return (lambda text: warn([text])) if quiet else (lambda text: shown.say(escaped(text)))
