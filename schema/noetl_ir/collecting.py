"""The cyclic collector kept off what holds no cycles: trees, plans, and the lists they are written as."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Switch the collector off and give it back as it was.

    Freezing and thawing puts what was made among the oldest objects without a look at it. Left among the
    youngest it would be walked as soon as the collector is back, for as long as building a net takes.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.freeze()
            gc.unfreeze()
            gc.enable()
