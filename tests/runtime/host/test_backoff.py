"""Pauses that double."""

import pytest

from noetl.host.backoff import Backoff


@pytest.mark.parametrize(
    ("first", "longest", "pauses"),
    [
        # Reports of a worker, in microseconds: whole numbers stay whole.
        (1_000_000, 4_000_000, [1_000_000, 2_000_000, 4_000_000, 4_000_000]),
        # A longest pause that is no power of two times the first one.
        (250_000, 900_000, [250_000, 500_000, 900_000, 900_000]),
        (0.25, 1.0, [0.25, 0.5, 1.0, 1.0]),
        (2, 2, [2, 2, 2, 2]),
    ],
)
def test_a_pause_doubles_up_to_the_longest(first: float, longest: float, pauses: list[float]) -> None:
    backoff = Backoff(first, longest)
    came = []
    for _ in pauses:
        came.append(backoff.pause)
        backoff.double()
    assert came == pauses and list(map(type, came)) == list(map(type, pauses))


def test_it_begins_anew() -> None:
    backoff = Backoff(1, 8)
    backoff.double()
    backoff.double()
    assert (backoff.pause, backoff.tries) == (4, 2)
    backoff.reset()
    assert (backoff.pause, backoff.tries) == (1, 0)
