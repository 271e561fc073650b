"""The contract of documents beside playbooks, whatever their kind."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest

from noetl.ports import Store
from noetl.ports.namespaces import NamespaceRow
from noetl.ports.notifications import NotificationRow
from noetl.ports.schedules import ScheduleRow
from noetl.ports.triggers import TriggerRow

KINDS: dict[str, Any] = {
    "scheduling": ScheduleRow("a", {}, 1),
    "triggering": TriggerRow("a", "after", {}, {}),
    "notifying": NotificationRow("a", {}),
    "namespaces": NamespaceRow("a", {}, "a/"),
}
SERVERS, ROUNDS = 4, 10
Open = Callable[..., Store]


@pytest.mark.parametrize("kind", KINDS)
def test_of_several_that_move_one_at_the_same_time_one_does(open_store: Open, kind: str) -> None:
    stores: list[Any] = [open_store() for _ in range(SERVERS)]
    before, barrier = KINDS[kind], Barrier(SERVERS)

    def move(number: int, rounds: int) -> bool:
        barrier.wait()
        after = before._replace(document={"by": number, "round": rounds})
        return bool(getattr(stores[number], kind).move(before, after))

    with ThreadPoolExecutor(SERVERS) as threads:
        for rounds in range(ROUNDS):
            getattr(stores[0], kind).put(before)
            moved = [*threads.map(move, range(SERVERS), [rounds] * SERVERS)]
            (row,) = getattr(stores[0], kind).rows()
            assert moved == [number == row.document["by"] for number in range(SERVERS)]
