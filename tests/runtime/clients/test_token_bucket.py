"""The bucket of starts against a plain model of it, and by hand."""

from fractions import Fraction

import hypothesis.strategies as st
from hypothesis import given

from noetl.clients.token_bucket import SET_BACK, START, Bucket, filled, full, taken

MINUTE = 60_000_000


@given(
    st.integers(1, 10_000),
    st.integers(1, 500),
    st.lists(st.one_of(st.integers(0, 1_000), st.integers(0, 3 * MINUTE)), max_size=60),
)
def test_it_lets_through_what_a_bucket_of_fractions_does(rate: int, burst: int, pauses: list[int]) -> None:
    bucket, level, now = full(burst, 0), Fraction(burst), 0
    for pause in pauses:
        now += pause
        level = min(Fraction(burst), level + Fraction(pause * rate, MINUTE))
        after, wait = taken(bucket, rate, burst, now)
        assert (after is not None) == (level >= 1)
        if after is not None:
            bucket, level = after, level - 1
        else:
            # The first microsecond in which there is one.
            assert level + Fraction(wait * rate, MINUTE) >= 1 > level + Fraction((wait - 1) * rate, MINUTE)


@given(st.integers(1, 600), st.integers(1, 50), st.lists(st.integers(0, MINUTE), min_size=1, max_size=80))
def test_in_any_time_at_most_a_burst_and_what_came_in(rate: int, burst: int, pauses: list[int]) -> None:
    bucket, now, let = full(burst, 0), 0, list[int]()
    for pause in pauses:
        now += pause
        after, _ = taken(bucket, rate, burst, now)
        if after is not None:
            bucket = after
            let.append(now)
    for first, since in enumerate(let):
        for last, until in enumerate(let[first:], first):
            assert last - first + 1 <= burst + Fraction((until - since) * rate, MINUTE)


def test_by_hand() -> None:
    # 6 starts a minute, 2 at once: one comes in each ten seconds.
    bucket = full(2, 0)
    for _ in range(2):
        after, _ = taken(bucket, 6, 2, 0)
        assert after is not None
        bucket = after
    assert taken(bucket, 6, 2, 0) == (None, 10_000_000)
    assert taken(bucket, 6, 2, 9_999_999) == (None, 1)
    assert taken(bucket, 6, 2, 10_000_000) == (Bucket(0, 10_000_000), 0)
    assert filled(bucket, 6, 2, 3_600_000_000).parts == 2 * START


def test_a_clock_that_is_slow_fills_nothing_twice() -> None:
    bucket = Bucket(0, 100 * MINUTE)
    assert filled(bucket, 60, 60, 99 * MINUTE) == bucket
    assert filled(bucket, 60, 60, 100 * MINUTE + 1_000_000) == Bucket(START, 100 * MINUTE + 1_000_000)


def test_a_clock_that_was_set_back_counts_from_then_on() -> None:
    bucket = Bucket(7, 2 * SET_BACK)
    assert filled(bucket, 60, 60, 10) == Bucket(7, 10)
