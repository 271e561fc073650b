"""Turns of names in a queue."""

import pytest

from noetl.bus.memory import MemoryBus
from noetl.messages.fair_queue import FairQueue
from noetl_ir.orders import StopPipeline


def test_names_take_turns_and_each_keeps_its_order() -> None:
    queue: FairQueue[str] = FairQueue()
    for text in ("a1", "a2", "a3", "b1", "c1", "c2"):
        queue.enqueue(text[0], text)
    assert [queue.next() for _ in range(2)] == ["a1", "b1"]
    queue.enqueue("b", "b2")  # it had its turn, and comes behind those that wait
    assert [queue.next() for _ in range(5)] == ["c1", "a2", "b2", "c2", "a3"]
    assert len(queue) == 0
    with pytest.raises(IndexError):
        queue.next()


def test_of_one_name_the_highest_priority_goes_first() -> None:
    queue: FairQueue[str] = FairQueue()
    for text, priority in (("a1", 0), ("a2", 5), ("b1", 9), ("a3", 5)):
        queue.enqueue(text[0], text, priority)
    assert queue.first() == "a2"
    assert [queue.next() for _ in range(4)] == ["a2", "b1", "a3", "a1"]


def test_what_is_dropped_leaves_the_turns_as_they_are() -> None:
    queue: FairQueue[str] = FairQueue()
    for text in ("a1", "a2", "b1", "c1"):
        queue.enqueue(text[0], text)
    queue.keep(lambda text: text not in ("a1", "b1"))
    assert len(queue) == 2 and [queue.next(), queue.next()] == ["a2", "c1"]


def test_orders_of_an_execution_wait_for_one_of_another_at_most() -> None:
    bus: MemoryBus[StopPipeline, str, str] = MemoryBus()
    for number in range(1_000):
        bus.send("p", f"a{number}", StopPipeline("a", str(number), 1))
    bus.send("p", "b", StopPipeline("b", "1", 1))
    taken = [bus.take("p") for _ in range(2)]
    assert [delivery.body.execution_id for delivery in taken if delivery is not None] == ["a", "b"]
