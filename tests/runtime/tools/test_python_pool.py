"""How many subprocesses python code is given: few for short code, one each for code that waits, and none kept for long.

Subprocesses are doubles here and time passes only when a test says so.
"""

import asyncio
import heapq
from collections.abc import Awaitable, Callable
from itertools import pairwise

import pytest

from noetl.tools.python.interpreter import Died, Interpreter
from noetl.tools.python.pool import KEPT, WINDOW, Pool
from noetl_ir.expr import Json

START = 0.02  # seconds until a double has started
REQUEST: dict[str, Json] = {"code": ""}


class Time:
    """A clock and its timers; `pass_` lets time go by, and what is due run in its order."""

    def __init__(self) -> None:
        self.now = 0.0
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0

    def later(self, seconds: float, work: Callable[[], None]) -> None:
        self._count += 1
        heapq.heappush(self._timers, (self.now + seconds, self._count, work))

    async def pass_(self, seconds: float) -> None:
        end = self.now + seconds
        await settled()
        while self._timers and self._timers[0][0] <= end:
            due, _, work = heapq.heappop(self._timers)
            self.now = max(self.now, due)
            work()
            await settled()
        self.now = max(self.now, end)


async def settled() -> None:
    """Let everything run that waits for no time."""
    for _ in range(20):
        await asyncio.sleep(0)


class Double(Interpreter):
    """A subprocess that starts in `START` seconds and runs each request for as long as the house says."""

    def __init__(self, house: "House") -> None:
        self.ready = False
        self.alive = True
        self.ran = 0
        self._house = house
        self._up = house.time.now + START

    def is_alive(self) -> bool:
        return self.alive

    async def ask(self, frame: bytes, log: Callable[[str], None], at_ready: Callable[[], None]) -> dict[str, Json]:
        if not self.ready:
            await self._house.sleep(self._up - self._house.time.now)
            self.ready = True
            at_ready()
        self.ran += 1
        return await self._house.reply()

    def kill(self) -> None:
        self.alive = False

    def death(self) -> Died:
        return Died("it is gone", by_signal=True)


class House:
    """A pool of doubles on two cores. `takes` is how many seconds a request runs; None for ever."""

    def __init__(self, takes: float | None = 0.001) -> None:
        self.time = Time()
        self.takes = takes
        self.started: list[Double] = []
        self.refused = 0
        self.after_end: list[Callable[[], object]] = []
        self.outcome: dict[str, Json] | Exception = {"result": 1}
        self.pool = Pool(self._start, cores=2, clock=lambda: self.time.now, later=self.time.later)

    def _start(self) -> Double:
        if self.refused:
            self.refused -= 1
            raise OSError("no more processes")
        self.started.append(Double(self))
        return self.started[-1]

    async def sleep(self, seconds: float | None) -> None:
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def end() -> None:
            if not done.done():
                done.set_result(None)
            for work in self.after_end:
                asyncio.get_running_loop().call_soon(work)

        if seconds is not None:
            self.time.later(seconds, end)
        await done

    async def reply(self) -> dict[str, Json]:
        await self.sleep(self.takes)
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return dict(self.outcome)

    def ask(self) -> "asyncio.Task[dict[str, Json]]":
        return asyncio.ensure_future(self.pool.ask(REQUEST, lambda text: None, None))

    def alive(self) -> int:
        return sum(double.alive for double in self.started)


def run(work: Awaitable[None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(20):
            await work

    asyncio.run(bounded())


def test_short_code_is_served_by_as_many_as_there_are_cores() -> None:
    async def work() -> None:
        house = House()
        asked = [house.ask() for _ in range(1000)]
        await house.time.pass_(START + 1000 * 0.001 / 2 + 0.01)
        assert all(task.done() for task in asked)
        assert [double.ran for double in house.started] == [500, 500]

    run(work())


def test_one_by_one_takes_one() -> None:
    async def work() -> None:
        house = House()
        for _ in range(50):
            task = house.ask()
            await house.time.pass_(0.05)
            assert task.done()
        assert len(house.started) == 1

    run(work())


def test_code_that_waits_has_one_each_soon() -> None:
    async def work() -> None:
        house = House(takes=0.5)
        asked = [house.ask() for _ in range(8)]
        await house.time.pass_(0.25)
        assert len(house.started) == 8 and all(double.ran for double in house.started)
        await house.time.pass_(0.5)
        assert all(task.done() for task in asked) and len(house.started) == 8

    run(work())


def test_the_longer_none_comes_free_the_sooner_the_next_are_started() -> None:
    async def work() -> None:
        house = House(takes=None)
        asked = [house.ask() for _ in range(64)]
        await house.time.pass_(31 * 1.5 * START)  # two at once, 31 more times, each half a start after the last
        assert len(house.started) == 64
        for task in asked:
            task.cancel()

    run(work())


def test_no_more_start_at_once_than_there_are_cores() -> None:
    async def work() -> None:
        house = House(takes=None)
        asked = [house.ask() for _ in range(20)]
        for _ in range(400):
            await house.time.pass_(0.001)
            assert sum(not double.ready for double in house.started) <= 2
        assert len(house.started) == 20
        for task in asked:
            task.cancel()

    run(work())


def test_another_is_started_only_when_none_came_free_for_as_long_as_a_start_takes() -> None:
    async def work() -> None:
        house = House(takes=START - 0.003)
        asked = [house.ask() for _ in range(100)]
        await house.time.pass_(1.0)
        assert all(task.done() for task in asked)
        assert len(house.started) == 2, "each came free before"
        house.takes = 10 * START
        asked = [house.ask() for _ in range(3)]
        await house.time.pass_(START / 2)
        assert len(house.started) == 2
        await house.time.pass_(START)
        assert len(house.started) == 3
        await house.time.pass_(1.0)
        assert all(task.done() for task in asked)

    run(work())


def test_a_loop_that_stood_still_has_not_looked() -> None:
    """A turn of the engine may take long; what came free meanwhile is seen before another is started."""

    async def work() -> None:
        house = House(takes=None)
        asked = [house.ask() for _ in range(3)]
        await house.time.pass_(START + 0.001)
        house.time.now += 60  # nothing ran in this minute
        await house.time.pass_(0.006)
        assert len(house.started) == 2
        for task in asked:
            task.cancel()

    run(work())


def test_who_waits_longest_is_next() -> None:
    async def work() -> None:
        house = House()
        done: list[int] = []
        for number in range(10):
            house.ask().add_done_callback(lambda _, number=number: done.append(number))  # type: ignore[misc]
            await settled()
        await house.time.pass_(1)
        assert done == sorted(done) and len(done) == 10

    run(work())


def test_a_cancelled_one_leaves_its_place_and_ends_what_it_had() -> None:
    async def work() -> None:
        house = House(takes=None)
        running, other, waiting, last = (house.ask() for _ in range(4))
        await house.time.pass_(START)
        waiting.cancel()
        running.cancel()
        await settled()
        assert [double.alive for double in house.started] == [False, True, True], "a fresh one for the last"
        house.takes = 0.001
        await house.time.pass_(START + 0.001)
        assert last.done() and not other.done() and house.alive() == 2
        other.cancel()

    run(work())


def test_one_that_was_handed_to_a_cancelled_one_goes_on_to_the_next() -> None:
    async def work() -> None:
        house = House()
        asked = [house.ask() for _ in range(4)]
        await house.time.pass_(START)
        house.after_end = [asked[2].cancel]  # after the first gave its own away, before the third could take it
        await house.time.pass_(0.0011)
        house.after_end = []
        assert asked[2].cancelled() and house.alive() == 2
        await house.time.pass_(1)
        assert asked[3].result() == {"result": 1}
        assert len(house.started) == 2 and house.alive() == 2
        again = [house.ask() for _ in range(2)]
        await house.time.pass_(0.001)
        assert all(task.done() for task in again) and len(house.started) == 2, "neither was lost"

    run(work())


@pytest.mark.parametrize("outcome", [{"result": 1, "spent": True}, EOFError(), ConnectionResetError()])
def test_one_that_is_used_up_or_died_is_not_given_to_the_next(outcome: dict[str, Json] | Exception) -> None:
    async def work() -> None:
        house = House()
        house.outcome = outcome
        asked = [house.ask() for _ in range(6)]
        await house.time.pass_(1)
        assert [double.ran for double in house.started] == [1] * 6 and house.alive() == 0
        for task in asked:
            if isinstance(outcome, Exception):
                assert isinstance(task.exception(), Died)
            else:
                assert task.result() == outcome

    run(work())


def test_an_idle_one_that_died_is_not_asked() -> None:
    async def work() -> None:
        house = House()
        house.ask()
        await house.time.pass_(1)
        house.started[0].alive = False
        task = house.ask()
        await house.time.pass_(1)
        assert task.result() == {"result": 1} and [double.ran for double in house.started] == [1, 1]

    run(work())


def test_where_none_can_be_started_one_that_runs_is_waited_for() -> None:
    async def work() -> None:
        house = House(takes=0.2)
        asked = [house.ask() for _ in range(2)]
        await settled()
        house.refused = 10**6
        asked += [house.ask() for _ in range(4)]
        await house.time.pass_(2)
        assert [task.result() for task in asked] == [{"result": 1}] * 6 and len(house.started) == 2

    run(work())


def test_the_first_that_cannot_be_started_is_an_error() -> None:
    async def work() -> None:
        house = House()
        house.refused = 1
        with pytest.raises(OSError, match="no more processes"):
            await house.pool.ask(REQUEST, lambda text: None, None)

    run(work())


def test_as_many_are_kept_as_ran_at_once_and_the_needless_go_by_halves() -> None:
    async def work() -> None:
        house = House(takes=0.5)
        for _ in range(3):
            asked = [house.ask() for _ in range(20)]
            await house.time.pass_(2)
            assert all(task.done() for task in asked) and len(house.started) == 20 == house.alive()
        kept = []
        for _ in range(7):
            await house.time.pass_(WINDOW)
            kept.append(house.alive())
        assert kept == sorted(kept, reverse=True) and kept[-1] == KEPT
        assert all(before - after <= (before - KEPT + 1) // 2 for before, after in pairwise(kept))

    run(work())


def test_what_is_needed_in_each_window_is_kept() -> None:
    async def work() -> None:
        house = House(takes=0.5)
        for _ in range(30):
            for _ in range(12):
                house.ask()
            await house.time.pass_(WINDOW / 2)
        assert len(house.started) == 12 == house.alive()

    run(work())


def test_each_loop_has_its_own_waiters_and_all_share_what_is_idle() -> None:
    house = House()

    async def work() -> None:
        asked = [house.ask() for _ in range(6)]
        await house.time.pass_(1)
        assert all(task.done() for task in asked)

    run(work())
    run(work())
    assert len(house.started) == 2


def test_closing_ends_what_is_idle() -> None:
    async def work() -> None:
        house = House()
        house.pool.warm(3)
        assert house.alive() == 3
        house.pool.close()
        assert house.alive() == 0

    run(work())
