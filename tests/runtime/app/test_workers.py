"""Why nothing of a pool is begun, from what its workers say of themselves."""

import pytest

from noetl.app.workers import EVERY_POOL, hindrance
from noetl_ir.orders import WorkerHeartbeat

READY = WorkerHeartbeat("w", "p", 2, 1, False)
FULL = READY._replace(worker="full", busy=2)
LEAVING = READY._replace(worker="leaving", draining=True)
LOST = READY._replace(worker="lost", trouble="no server can be reached")


@pytest.mark.parametrize(
    ("workers", "reason"),
    [
        ([], "no worker of pool `p` is there"),
        ([READY._replace(pool="other")], "no worker of pool `p` is there"),
        ([LEAVING, LEAVING], "all workers of pool `p` are leaving"),
        ([LEAVING, LOST], "no worker of pool `p` can begin it; lost: no server can be reached"),
        ([LOST, FULL], "all slots of pool `p` are taken"),
        ([LOST, LEAVING, FULL, READY], ""),
        ([READY._replace(pool=EVERY_POOL)], ""),
    ],
)
def test_the_reason_is_what_is_true_of_all_that_are_left(workers: list[WorkerHeartbeat], reason: str) -> None:
    assert hindrance("p", workers, {}) == reason
    assert hindrance("p", workers, {"p": 2, "q": 1}) == (reason or "at most 2 of pool `p` run at once")


def test_the_pool_without_a_name_is_the_one_by_default() -> None:
    assert hindrance("", [READY._replace(pool="default")], {}) == ""
    assert hindrance("", [READY._replace(pool="default")], {"default": 1}) == "at most 1 of pool `default` run at once"
    assert hindrance("", [], {"default": 1}) == "no worker of pool `default` is there"
