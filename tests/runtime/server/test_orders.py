"""Orders on their way to the bus, of several namespaces."""

from collections import Counter
from collections.abc import Callable
from random import Random

from noetl.bus.memory import MemoryBus
from noetl.messages.fair_queue import FairQueue
from noetl.ports import StoreFailure
from noetl.ports.bus import Delivery
from noetl.ports.namespaces import NamespaceRow
from noetl.server.namespaces.document import namespace_of
from noetl.server.namespaces.shares import LOOK_EVERY, NamespaceShares, divided
from noetl.server.namespaces.windows import QueueWindow
from noetl.server.orders import Orders
from noetl.store.memory import MemoryBlobs
from noetl_ir.expr import Json
from noetl_ir.orders import Answer, Order, RunPipeline, Said

ROWS = (
    NamespaceRow("flood", {}, "flood/"),
    NamespaceRow("quiet", {}, "quiet/"),
    NamespaceRow("heavy", {}, "quiet/ml/", weight=3),
)


class Clock:
    """A clock that is set."""

    time = 0

    def now(self) -> int:
        return self.time


class Handing:
    """Orders, the bus, and a worker that takes them; an execution's id is its path with a number."""

    def __init__(self, *rows: NamespaceRow, capacity: int = 8, slots: int | None = None, **limits: int) -> None:
        self.rows, self.clock = [*rows], Clock()
        self.bus: MemoryBus[Order, Said, Answer] = MemoryBus(capacity=capacity)
        for pool, most in limits.items():
            self.bus.limit(pool, most)
        self.shares = NamespaceShares(lambda: self.rows, self.clock, limits)
        self.orders = Orders(
            self.bus, MemoryBlobs(), shares=self.shares, path_of=lambda name: name.partition("#")[0],
            slots_of=lambda pool: slots,
        )  # fmt: skip

    def add(self, path: str, count: int = 1, pool: str = "default") -> None:
        """So many executions order something."""
        for number in range(count):
            self.orders.add_order(order_of(f"{path}#{number}"), pool, 0, pool)

    def send(self, wanted: Callable[[RunPipeline], bool] = lambda order: True) -> None:
        """Hand over what there is room for."""
        self.orders.send(wanted)

    def taken(self, count: int) -> list[str]:
        """The paths of so many orders that a worker takes and is done with, one after the other."""
        found = []
        for _ in range(count):
            self.send()
            delivery = self.bus.take("default")
            assert delivery is not None and isinstance(delivery.body, RunPipeline)
            delivery.ack()
            found.append(delivery.body.execution_id.partition("#")[0])
        return found


def order_of(name: str) -> RunPipeline:
    """An order of an execution."""
    return RunPipeline(name, 0, "0", 0, 1, 1, 1, {}, {}, {}, {}, {}, {}, None, 0, {}, 0)


def test_ten_thousand_orders_of_one_namespace_keep_none_of_another_waiting() -> None:
    handing = Handing(*ROWS)
    handing.add("flood/x", 10_000)
    handing.taken(100)
    handing.add("quiet/x")
    # What lies on the bus goes first: eight. Then it is the turn of the other one.
    assert "quiet/x" in handing.taken(10)
    assert handing.orders.waiting_by_namespace()["flood"] > 9_000


def test_shares_are_by_weight_and_what_has_no_namespace_is_one_of_weight_1() -> None:
    handing = Handing(*ROWS, capacity=1)
    for path in ("flood/x", "quiet/x", "quiet/ml/x", "other/x", "quiet"):
        handing.add(path, 100)
    counts = Counter(handing.taken(60))
    assert (counts["flood/x"], counts["quiet/x"], counts["quiet/ml/x"]) == (10, 10, 30)
    assert counts["other/x"] + counts["quiet"] == 10


def test_without_namespaces_executions_take_turns_as_before() -> None:
    handing = Handing(capacity=2)
    handing.add("flood/x", 3)
    handing.add("quiet/x", 1)
    assert all(isinstance(queue, FairQueue) for queue in handing.orders._waiting.values())
    assert handing.taken(4) == ["flood/x"] * 3 + ["quiet/x"]
    assert not handing.orders.are_shared and len(handing.orders) == 0


def test_a_namespace_that_comes_counts_from_the_next_look_on() -> None:
    handing = Handing(capacity=1)
    handing.add("flood/x", 50)
    handing.rows += ROWS
    handing.add("quiet/x", 1)
    handing.clock.time += LOOK_EVERY
    handing.send()
    handing.add("quiet/ml/x", 5)
    # The first ones wait as those of nobody: one lies on the bus, and then it is one of three to one.
    assert handing.taken(7).count("quiet/ml/x") >= 4
    handing.rows.clear()
    handing.clock.time += LOOK_EVERY
    handing.send()
    handing.add("quiet/ml/x", 5)
    assert len(handing.taken(54)) == 54 and len(handing.orders) == 0


def test_a_store_that_fails_leaves_shares_as_they_were() -> None:
    def rows() -> tuple[NamespaceRow, ...]:
        if clock.time:
            raise StoreFailure("away")
        return ROWS

    clock = Clock()
    shares = NamespaceShares(rows, clock)
    assert shares.look()
    clock.time = LOOK_EVERY
    assert shares.look() and shares.share_of("quiet/ml/x/y").name == "heavy"
    assert (shares.share_of("quiet/mlx/y").name, shares.share_of("quiet").name, shares.share_of("").name) == (
        "quiet",
        "",
        "",
    )


def test_no_more_lies_on_the_bus_than_its_workers_soon_begin() -> None:
    handing = Handing(*ROWS, capacity=10_000, slots=20)
    handing.add("flood/x", 1_000)
    handing.send()
    assert (handing.bus.room("default"), len(handing.orders)) == (0, 960)
    handing.add("quiet/x")
    assert handing.taken(42).index("quiet/x") in (40, 41)
    handing.rows.clear()
    handing.clock.time += LOOK_EVERY
    handing.send()
    handing.taken(959)
    handing.add("flood/x", 500)
    handing.send()
    assert len(handing.orders) == 0, "without namespaces it is as long as it was"


def test_what_nobody_wants_any_more_is_forgotten_in_all_shares() -> None:
    handing = Handing(*ROWS, capacity=1)
    handing.add("flood/x", 10)
    handing.add("quiet/x", 10)
    handing.orders.forget(lambda order: not order.execution_id.startswith("flood"))
    assert handing.orders.executions() == {f"quiet/x#{number}" for number in range(10)}
    assert handing.taken(10) == ["quiet/x"] * 10


def test_where_tasks_are_short_more_lies_on_the_bus_for_as_long_as_they_are() -> None:
    clock = Clock()
    window = QueueWindow(clock)
    window.add_handed(1_000)
    assert window.most(4) == 16, "it is not known yet how fast they go"
    clock.time += 500_000
    # 1,000 in half a second are 500 in a quarter.
    assert (window.most(4), window.most(300)) == (500, 600)
    window.add_handed(40)
    clock.time += 1_000_000
    assert (window.most(4), window.most(30)) == (16, 60)


def with_pools(**pools: int) -> NamespaceRow:
    """A namespace with limits of its own in some pools."""
    document: dict[str, Json] = {
        "apiVersion": "noetl.io/v2", "kind": "Namespace", "metadata": {"name": "team"},
        "spec": {"prefix": "team/", "pools": {**pools}},
    }  # fmt: skip
    return namespace_of(document)


class Lanes:
    """A worker of a pool, which takes from the lanes that it hears of."""

    def __init__(self, handing: Handing, pool: str = "gpu") -> None:
        self.handing, self.pools = handing, [pool]
        handing.orders.open_lane = self.pools.append

    def work(self) -> list[tuple[str, Delivery[Order]]]:
        """All that it can begin now: the paths, and what it is done with by `ack`."""
        found = []
        self.handing.send()
        for pool in self.pools:
            while (delivery := self.handing.bus.take(pool)) is not None:
                assert isinstance(delivery.body, RunPipeline)
                found.append((delivery.body.execution_id.partition("#")[0], delivery))
                self.handing.send()
        return found


def test_of_a_namespace_no_more_is_at_work_in_a_pool_than_it_says() -> None:
    handing = Handing(with_pools(gpu=2), NamespaceRow("quiet", {}, "quiet/"), capacity=100)
    lanes = Lanes(handing)
    handing.add("team/x", 6, "gpu")
    handing.add("team/x", 3, "cpu")
    handing.add("quiet/x", 4, "gpu")
    assert handing.orders.waiting_by_namespace() == {"": 0, "team": 9, "quiet": 4}
    first = lanes.work()
    assert Counter(path for path, _ in first) == {"team/x": 2, "quiet/x": 4}, "others are not in its way"
    assert lanes.work() == []
    ended = 2
    while ended < 6:
        next(delivery for path, delivery in first if path == "team/x" and delivery.is_out).ack()
        more = lanes.work()
        assert [path for path, _ in more] == ["team/x"] * (1 if ended < 6 else 0)
        first, ended = first + more, ended + 1
    handing.send()
    assert sum(handing.bus.take("cpu") is not None for _ in range(4)) == 3, "in other pools it has no limit"


def test_a_limit_that_is_changed_or_taken_away_counts_from_the_next_look_on() -> None:
    handing = Handing(with_pools(gpu=1), capacity=100)
    lanes = Lanes(handing)
    handing.add("team/x", 9, "gpu")
    assert len(lanes.work()) == 1
    handing.rows[:] = [with_pools(gpu=3)]
    assert lanes.work() == []
    handing.clock.time += LOOK_EVERY
    handing.add("team/y", 1, "gpu")
    assert len(lanes.work()) == 2
    handing.rows[:] = [with_pools()]
    handing.clock.time += LOOK_EVERY
    handing.add("team/z", 1, "gpu")
    assert Counter(path for path, _ in lanes.work()) == {"team/x": 6, "team/y": 1, "team/z": 1}


def test_a_limit_holds_for_the_first_orders_behind_a_time_without_any() -> None:
    handing = Handing(capacity=100)
    handing.add("other/x")
    assert handing.taken(1) == ["other/x"] and len(handing.orders) == 0
    handing.rows[:] = [with_pools(gpu=2)]
    handing.clock.time += LOOK_EVERY
    lanes = Lanes(handing)
    handing.add("team/x", 6, "gpu")
    assert len(lanes.work()) == 2


def test_limits_of_namespaces_are_parts_of_that_of_a_pool() -> None:
    handing = Handing(with_pools(gpu=3), capacity=100, gpu=5)
    lanes = Lanes(handing)
    handing.add("team/x", 9, "gpu")
    handing.add("other/x", 9, "gpu")
    assert Counter(path for path, _ in lanes.work()) == {"team/x": 3, "other/x": 2}
    handing.rows.clear()
    handing.clock.time += LOOK_EVERY
    handing.add("other/y", 1, "gpu")
    # The limit is that of all together again; what lay in the lane is taken all the same.
    assert Counter(path for path, _ in lanes.work())["other/x"] == 3


def test_parts_of_a_limit_are_no_more_than_it() -> None:
    assert divided(5, {"a": 3}) == (2, {"a": 3})
    assert divided(4, {"a": 3}) == (1, {"a": 3})
    assert divided(10, {"a": 20, "b": 20}) == (2, {"a": 4, "b": 4})  # nine for two: four each, and what is left
    assert divided(2, {"a": 9, "b": 9}) == (1, {"a": 1, "b": 1})  # each has one at least
    chance = Random(1)
    for _ in range(2_000):
        parts = {str(number): chance.randrange(1, 30) for number in range(chance.randrange(1, 6))}
        limit = chance.randrange(1, 40)
        rest, fitted = divided(limit, parts)
        assert rest >= 1 and all(1 <= fitted[name] <= most for name, most in parts.items())
        assert rest + sum(fitted.values()) <= max(limit, len(parts) + 1)


def test_what_is_taken_back_is_taken_out_of_its_lane() -> None:
    handing = Handing(with_pools(gpu=1), capacity=100)
    lanes = Lanes(handing)
    handing.add("team/x", 3, "gpu")
    ((_, delivery),) = lanes.work()
    handing.orders.withdraw([("gpu", order_of("team/x#1"))])
    delivery.ack()
    ((_, delivery),) = lanes.work()
    delivery.ack()
    assert isinstance(delivery.body, RunPipeline) and delivery.body.execution_id == "team/x#2"
    assert lanes.work() == []


def test_what_goes_to_one_worker_has_no_lane() -> None:
    handing = Handing(with_pools(gpu=1), capacity=100)
    Lanes(handing)
    handing.orders.add_order(order_of("team/x#1"), "@gpu\0w1", 0, "gpu")
    handing.send()
    assert handing.bus.take("@gpu\0w1") is not None


def test_a_lane_is_short_on_the_bus() -> None:
    handing = Handing(with_pools(gpu=10), capacity=1_000, slots=40)
    handing.add("team/x", 500, "gpu")
    handing.send()
    # Two for each of ten that may be at work, of forty slots.
    assert handing.bus.room("gpu\0team") == 0 and len(handing.orders) == 480
