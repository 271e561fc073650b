"""The cyclic collector kept off what holds no cycles: trees, plans, the lists they are written as, and modules."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Switch the collector off and give it back as it was.

    Freezing and thawing puts what was made among the oldest objects without a look at it. Left among the
    youngest it would be walked as soon as the collector is back, for as long as building a net takes.
    """
    # Nested uses leave the collector off until the outermost ends.
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.freeze()
            gc.unfreeze()
            gc.enable()


def begin_command() -> None:
    """For a process that runs one command: look for cycles seldom.

    What it imports and reads is no garbage, and at Python's own threshold of 700 objects it is walked again and again.
    """
    gc.set_threshold(_SELDOM)


def end_command() -> None:
    """For a process that is about to end: leave what there is to the system, instead of walking it once more."""
    gc.freeze()


_SELDOM = 50_000
"""New objects between two looks; what they hold is a few MB."""
