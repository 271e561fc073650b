"""Schedules whose namespace has no place: few are tried, none twice, and who waited longest comes first."""

from collections import Counter

import pytest

from noetl.ports import ExecutionRow, Taken
from noetl.ports.idempotency import StartKey
from noetl.ports.namespaces import NamespaceRow, QuotaExceeded
from noetl.ports.schedules import ScheduleRow, UnstartedTime
from noetl.server.schedules.starter import ScheduledStart, ScheduleStarter, StartRefused
from noetl.store.memory import MemoryStore
from noetl_ir.expr import Json

BEGIN, SECOND = 1_772_323_200_000_000, 1_000_000
COUNT, PLACES = 40, 4


class Clock:
    """A clock that is set."""

    time = BEGIN

    def now(self) -> int:
        return self.time


class Due:
    """A store whose schedules were all due at one time, and what was tried."""

    def __init__(self, namespace: NamespaceRow) -> None:
        self.clock, self.store = Clock(), MemoryStore()
        self.store.namespaces.put(namespace)
        self.tried: list[str] = []
        self.started: list[str] = []
        for number in range(COUNT):
            spec: dict[str, Json] = {"playbook": f"{'b' if number == COUNT - 1 else 'a'}/x", "cron": "0 0 1 3 *"}
            name = f"s{number:02}"
            document: dict[str, Json] = {
                "apiVersion": "noetl.io/v2", "kind": "Schedule", "metadata": {"name": name}, "spec": spec,
            }  # fmt: skip
            self.store.scheduling.put(ScheduleRow(name, document, BEGIN - SECOND))
        self.starter = ScheduleStarter(self.store, self.store.scheduling, self.clock, self.begin, lambda name: None)

    def begin(self, start: ScheduledStart) -> str:
        """Start it in the store."""
        name = start.schedule.name
        self.tried.append(name)
        row = ExecutionRow(name, start.schedule.playbook, "d", "running", None, self.clock.now(), None)
        try:
            self.store.create(row, [("a", b"")], key=StartKey(start.key, ""))
        except Taken as taken:
            return taken.execution_id
        except QuotaExceeded as problem:
            raise StartRefused(str(problem), problem) from None
        self.started.append(name)
        return name

    def look(self, seconds: int = 1) -> list[str]:
        """Look once, so many seconds later; what was tried."""
        self.clock.time += seconds * SECOND
        self.tried.clear()
        self.starter.look()
        return [*self.tried]


def test_a_full_namespace_is_tried_by_one_that_waits_and_holds_up_no_other() -> None:
    due = Due(NamespaceRow("a", {}, "a/", open_executions=PLACES))
    assert len(due.look()) == COUNT, "at first nobody knows whose namespace each is"
    assert due.started == [*(f"s{number:02}" for number in range(PLACES)), f"s{COUNT - 1:02}"]
    assert [due.look() for _ in range(4)] == [[]] * 4, "five seconds, as the quota said"
    assert due.look() == ["s04"]
    for name in ("s00", "s02"):
        due.store.append(name, 1, [("b", b"")], status="completed", ended=due.clock.now())
    assert due.look(5) == ["s04", "s05", "s06"]
    assert due.started[-2:] == ["s04", "s05"]
    (row,) = due.store.scheduling.rows("s06")
    assert row.trouble.endswith("namespace `a` has its 4 open executions (`quotas.open_executions`)")


def test_all_are_started_once_at_the_rate_of_their_namespace() -> None:
    due = Due(NamespaceRow("a", {}, "a/", starts_per_minute=60, burst=2))
    tried = [len(due.look()) for _ in range(COUNT)]
    assert sorted(due.started) == [f"s{number:02}" for number in range(COUNT)]
    assert tried[0] == COUNT and max(tried[1:]) <= 3, "each second one, and one that is refused"


def test_a_schedule_that_is_deleted_waits_no_more() -> None:
    due = Due(NamespaceRow("a", {}, "a/", open_executions=PLACES))
    due.look()
    due.store.scheduling.remove("s04")
    due.store.append("s00", 1, [("b", b"")], status="completed", ended=due.clock.now())
    assert due.look(5) == ["s05", "s06"]
    assert due.started[-1] == "s05"


class Frequent:
    """A schedule of every ten seconds in a namespace with one place, which is taken; and what servers say and count."""

    def __init__(self, catch_up: int) -> None:
        self.due = Due(NamespaceRow("a", {}, "a/", open_executions=1))
        store = self.due.store
        for row in store.scheduling.rows():
            store.scheduling.remove(row.name)
        store.create(ExecutionRow("other", "a/y", "d", "running", None, BEGIN, None), [("a", b"")])
        spec: dict[str, Json] = {"playbook": "a/x", "every": "10s", "catch_up": catch_up, "overlap": "allow"}
        document: dict[str, Json] = {
            "apiVersion": "noetl.io/v2", "kind": "Schedule", "metadata": {"name": "s"}, "spec": spec,
        }  # fmt: skip
        store.scheduling.put(ScheduleRow("s", document, BEGIN))
        self.said: list[str] = []
        self.passed: Counter[str] = Counter()
        self.began: list[int] = []

    def server(self) -> ScheduleStarter:
        """A server of it, which knows what the store knows."""
        due = self.due

        def begin(start: ScheduledStart) -> str:
            name = f"x{start.due}"
            row = ExecutionRow(name, "a/x", "d", "running", None, due.clock.now(), None)
            try:
                due.store.create(row, [("a", b"")], key=StartKey(start.key, ""))
            except QuotaExceeded as problem:
                raise StartRefused(str(problem), problem) from None
            due.store.append(name, 1, [("b", b"")], status="completed", ended=due.clock.now())
            self.began.append((start.due - BEGIN) // SECOND)
            return name

        def count(why: str, count: int) -> None:
            self.passed[why] += count

        kept = due.store.scheduling
        return ScheduleStarter(due.store, kept, due.clock, begin, lambda name: None, self.said.append, count)

    def free(self) -> None:
        """Give the place back."""
        self.due.store.append("other", 1, [("b", b"")], status="completed", ended=self.due.clock.now())


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize(("catch_up", "lost"), [(0, 13), (1, 12), (5, 8), (1_000, 0)])
def test_times_that_a_quota_has_cost_are_told(catch_up: int, lost: int, restarts: bool) -> None:
    """The quota refuses for 190 s. By hand: at 190 s those of up to 130 s (13 of them) wait for longer than a minute
    each, the others (140 s to 190 s) are on time; of the late ones the newest are caught up.
    """
    it = Frequent(catch_up)
    server = it.server()
    for now in range(10, 191):
        it.due.clock.time = BEGIN + now * SECOND
        if restarts and now in (90, 150):
            server = it.server()
        server.look()
    assert it.began == []
    it.free()
    it.due.clock.time += 5 * SECOND
    server = it.server() if restarts else server
    server.look()
    # At 195 s 130 s is as late as 190 s made it: those up to 130 s are late.
    assert it.began == [*range(10 + 10 * lost, 191, 10)]
    assert it.passed == ({"quota": lost} if lost else {})
    (row,) = it.due.store.scheduling.rows()
    assert row.trouble == "" and row.waiting == ()
    told = {(each.time - BEGIN) // SECOND: each.why for each in row.unstarted if each.time not in it.began}
    shown = range(10, 10 + 10 * lost, 10)[-10:]
    assert {time: told.get(time) for time in shown} == dict.fromkeys(shown, "quota")
    if lost:
        last = f"2026-03-01T00:0{lost // 6}:{lost % 6}0+00:00"
        why = f"refused for too long (`catch_up: {catch_up}`)"
        assert it.said[-1] == f"schedule s: {lost} times up to {last} are not started: {why}"


def test_a_time_that_was_refused_and_started_then_is_none_that_was_not() -> None:
    it = Frequent(1)
    server = it.server()
    for now in (10, 15):
        it.due.clock.time = BEGIN + now * SECOND
        server.look()
    (row,) = it.due.store.scheduling.rows()
    assert row.waiting == (UnstartedTime(BEGIN + 10 * SECOND, "quota"),)
    it.free()
    it.due.clock.time += 5 * SECOND
    server.look()
    (row,) = it.due.store.scheduling.rows()
    assert it.began == [10, 20] and row.waiting == () and not it.passed


def test_what_a_refusal_of_another_kind_has_cost_is_told_too() -> None:
    it, refused = Frequent(0), ["no playbook"]

    def begin(start: ScheduledStart) -> str:
        if refused:
            raise StartRefused(refused[0])
        return "x"

    kept = it.due.store.scheduling
    server = ScheduleStarter(it.due.store, kept, it.due.clock, begin, lambda name: None)
    seen = kept.rows()
    for now in range(10, 85):
        it.due.clock.time = BEGIN + now * SECOND
        server.look()
        seen += kept.rows() if kept.rows()[0] != seen[-1] else ()
    assert len(seen) == 2, "a row is not written again for each time that waits"
    assert seen[-1].waiting == (UnstartedTime(BEGIN + 10 * SECOND, "refused"),)
    refused.clear()
    server.look()
    (row,) = kept.rows()
    assert row.unstarted == tuple([UnstartedTime(BEGIN + time * SECOND, "refused") for time in (10, 20)])
