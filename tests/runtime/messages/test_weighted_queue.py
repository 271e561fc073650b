"""Turns of shares in a queue: by weight, and soon for whoever comes new."""

from collections import Counter
from fractions import Fraction

import hypothesis.strategies as st
import pytest
from hypothesis import given

from harness.pace import allowed
from noetl.messages.fair_queue import FairQueue
from noetl.messages.weighted_queue import Share, WeightedQueue

A, B, C = Share("a", 1), Share("b", 2), Share("c", 3)


def filled(counts: dict[Share, int]) -> WeightedQueue[str]:
    """A queue with so many of each share, each of an execution of its own."""
    queue: WeightedQueue[str] = WeightedQueue()
    for share, count in counts.items():
        for number in range(count):
            queue.enqueue(f"{share.name}{number}", share.name, share=share)
    return queue


def test_shares_take_turns_by_weight() -> None:
    queue = filled({A: 10, B: 10, C: 10})
    assert Counter(queue.next() for _ in range(12)) == {"a": 2, "b": 4, "c": 6}
    assert queue.waiting() == {"a": 8, "b": 6, "c": 4} and len(queue) == 18


def test_by_hand() -> None:
    # Due at 0 as they came; then a at 1, b at 1/2 and 1 (behind a, which was put off first), and so on.
    queue = filled({A: 3, B: 6})
    assert "".join(queue.next() for _ in range(9)) == "abbabbabb"


def test_whoever_comes_new_is_served_behind_one_of_each_other_share() -> None:
    queue = filled({A: 10_000, C: 10_000})
    for _ in range(4_000):
        queue.next()
    queue.enqueue("x", "b", share=B)
    assert "b" in [queue.next() for _ in range(3)]


def test_nobody_saves_turns_while_nothing_waits() -> None:
    queue = filled({A: 1_000, B: 1})
    for _ in range(500):
        queue.next()
    for number in range(100):
        queue.enqueue(f"b{number}", "b", share=B)
    assert Counter(queue.next() for _ in range(30)) == {"a": 10, "b": 20}


def test_one_at_a_time_has_no_more_than_its_share() -> None:
    queue = filled({A: 1_000})
    served = Counter[str]()
    queue.enqueue("b", "b", share=B._replace(weight=1))
    for _ in range(100):
        name = queue.next()
        served[name] += 1
        if name == "b":
            queue.enqueue("b", "b", share=B._replace(weight=1))
    assert served == {"a": 50, "b": 50}


@given(st.lists(st.integers(1, 50), min_size=2, max_size=6), st.integers(1, 400))
def test_what_waits_all_the_time_has_its_share_give_or_take_one(weights: list[int], turns: int) -> None:
    shares = [Share(str(number), weight) for number, weight in enumerate(weights)]
    queue = filled(dict.fromkeys(shares, turns))
    served = Counter[str]()
    for _ in range(turns):
        served[queue.next()] += 1
        normal = [Fraction(served[share.name], share.weight) for share in shares]
        strides = [Fraction(1, share.weight) for share in shares]
        # Strides are whole numbers of 2^-40: a little short of one part.
        assert max(normal) - min(normal) <= max(strides) + Fraction(turns, 1 << 39)


@given(st.lists(st.tuples(st.sampled_from((A, B, C)), st.integers(0, 3), st.booleans())), st.integers(0, 3))
def test_nothing_is_lost_and_each_execution_keeps_its_order(rows: list[tuple[Share, int, bool]], kept: int) -> None:
    queue: WeightedQueue[tuple[str, int]] = WeightedQueue()
    waiting: dict[str, list[int]] = {}
    for number, (share, execution, takes) in enumerate(rows):
        name = f"{share.name}{execution}"
        queue.enqueue(name, (name, number), share=share)
        waiting.setdefault(name, []).append(number)
        if takes:
            assert (first := queue.first()) == queue.next()
            assert waiting[first[0]].pop(0) == first[1]
    queue.keep(lambda item: item[0][1:] != str(kept))
    left = {name: numbers for name, numbers in waiting.items() if numbers and name[1:] != str(kept)}
    assert len(queue) == sum(map(len, left.values())) and queue.names() == {*left}
    while queue:
        name, number = queue.next()
        assert left[name].pop(0) == number
    assert not any(left.values())
    with pytest.raises(IndexError):
        queue.next()


def test_what_waited_before_there_were_shares_is_that_of_nobody() -> None:
    before: FairQueue[str] = FairQueue()
    for number in range(100):
        before.enqueue(f"x{number}", "x")
    queue = WeightedQueue(before)
    queue.enqueue("y", "y")
    queue.enqueue("b", "b", share=B)
    assert [queue.next() for _ in range(2)] == ["x", "b"] and len(queue) == 100
    assert queue.waiting() == {"": 100, "b": 0}


def test_a_turn_costs_the_same_with_many_shares_and_many_messages() -> None:
    import time

    queue: WeightedQueue[int] = WeightedQueue()
    shares = [Share(f"n{number}", number % 7 + 1) for number in range(500)]
    began = time.process_time()
    for number in range(50_000):
        queue.enqueue(f"x{number}", number, share=shares[number % 500])
    for _ in range(50_000):
        queue.first()
        queue.next()
    # 100,000 steps of two to three microseconds; going over all shares for each would take a hundred times as long.
    assert time.process_time() - began < allowed(0.6)
