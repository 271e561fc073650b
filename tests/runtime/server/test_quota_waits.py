"""Schedules whose namespace has no place: few are tried, none twice, and who waited longest comes first."""

from noetl.ports import ExecutionRow, Taken
from noetl.ports.idempotency import StartKey
from noetl.ports.namespaces import NamespaceRow, QuotaExceeded
from noetl.ports.schedules import ScheduleRow
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
