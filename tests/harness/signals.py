"""Signals to programs that tests start."""

import signal


def heeded() -> None:
    """Called in a program before it begins, Ctrl-C is heeded there: a shell has what it runs in the background ignore
    it, and these tests and what they start with it.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
