"""Schedules: documents, what is done with times that have come, and that each has one start whatever dies."""

import random
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

from noetl.ports import ExecutionRow, Taken
from noetl.ports.idempotency import StartKey
from noetl.ports.schedules import ScheduleRow, UnstartedTime
from noetl.server.checked_documents import BadDocument
from noetl.server.schedules.document import Schedule, schedule_of
from noetl.server.schedules.due import ON_TIME, due, jitter_of
from noetl.server.schedules.starter import ScheduledStart, ScheduleStarter, StartRefused
from noetl.store.memory import MemoryStore
from noetl_ir.expr import Json

MINUTE, HOUR = 60_000_000, 3_600_000_000
BEGIN = 1_772_323_200_000_000  # 2026-03-01T00:00:00Z


def document(**spec: Json) -> dict[str, Json]:
    told: dict[str, Json] = {"playbook": "etl/nightly", "every": "1h", **spec}
    if "cron" in spec and "every" not in spec:
        told.pop("every")
    return {"apiVersion": "noetl.io/v2", "kind": "Schedule", "metadata": {"name": "nightly"}, "spec": told}


def row_of(cursor: int = BEGIN, **spec: Json) -> ScheduleRow:
    return ScheduleRow("nightly", document(**spec), cursor)


def hours_due(now: int, *, since: int | None = None, cursor: int = BEGIN, **spec: Json) -> tuple[float | None, float]:
    """The hour that is to be started, and the one up to which the schedule is dealt with."""
    row = row_of(cursor, **spec)
    found = due(schedule_of(row.document), row, now, since=since)
    return None if found.time is None else (found.time - BEGIN) / HOUR, (found.cursor - BEGIN) / HOUR


class Clock:
    def __init__(self, now: int) -> None:
        self.time = now

    def now(self) -> int:
        return self.time


def test_all_that_a_document_may_say() -> None:
    found = schedule_of(
        document(
            version=3, cron="0 2 * * *", timezone="Europe/Berlin", payload={"region": "eu"}, time_input="day",
            jitter="5m", overlap="wait", catch_up=2, until="2026-12-31T00:00:00Z", **{"from": "2026-01-01T00:00:00Z"},
        )
    )  # fmt: skip
    assert (found.name, found.playbook, found.version, found.jitter) == ("nightly", "etl/nightly", 3, 5 * MINUTE)
    assert (found.overlap, found.catch_up) == ("wait", 2)
    assert found.payload_at(BEGIN) == {"region": "eu", "day": "2026-03-01T01:00:00+01:00"}


def test_the_example_of_the_manual_is_one() -> None:
    page = (Path(__file__).parents[3] / "runtime" / "README.md").read_text()
    (example,) = [block for block in page.split("```") if "kind: Schedule" in block]
    found = schedule_of(yaml.safe_load(example.removeprefix("yaml\n")))
    assert (found.name, found.time_input, found.overlap, found.catch_up) == ("etl/nightly", "day", "skip", 1)


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"cron": "0 2 * * *", "every": "1h"}, "either `cron: 0 2 * * *` or `every: 15m`"),
        ({"every": None}, "`spec.every` is a duration"),
        ({"every": "1000000d"}, "`spec.every` is longer than 317 years"),
        ({"every": 1e12}, "`spec.every` is longer than 317 years"),
        ({"every": "0.5s"}, "of a second at least"),
        ({"cron": "0 2 * *"}, "`spec.cron`: a cron expression has five fields"),
        ({"timezone": "Mars/Olympus"}, "`spec.timezone`: there is no time zone `Mars/Olympus`"),
        ({"from": "yesterday"}, "`spec.from`: `yesterday` is no time"),
        ({"from": "9999-12-31T23:59:00Z"}, "`spec.from`: `9999-12-31T23:59:00Z` is before 1970 or behind 2999"),
        ({"until": "0001-01-01T00:00:00+14:00"}, "is before 1970 or behind 2999"),
        ({"playbook": "\ud800x"}, "a text in it has half of a character"),
        ({"overlap": "queue"}, "`spec.overlap` is one of skip, wait, allow, cancel"),
        ({"overlap": "wait", "catch_up": 0}, "`spec.overlap: wait` needs `spec.catch_up`"),
        ({"catch_up": -1}, "`spec.catch_up` is a whole number from 0"),
        ({"catch_up": True}, "`spec.catch_up` is a whole number from 0"),
        ({"payload": []}, "`spec.payload` is a mapping"),
        ({"payload": {"day": 1}, "time_input": "day"}, "`spec.payload.day` is what `spec.time_input` names"),
        ({"playbook": ""}, "`spec.playbook` is the path"),
        ({"playbok": "x"}, "`spec` has no key `playbok`; did you mean `playbook`?"),
        ({"jitter": "soon"}, "`spec.jitter` is a duration"),
        ({"payload": {"x": "y" * 70_000}}, "it is larger than 65,536 bytes"),
    ],
)
def test_what_is_wrong_is_told_with_its_key(spec: dict[str, Json], text: str) -> None:
    with pytest.raises(BadDocument) as raised:
        schedule_of(document(**spec))
    assert text in str(raised.value)


@pytest.mark.parametrize(
    "what", [None, [], "x", {}, {"kind": "Playbook"}, {"apiVersion": "noetl.io/v2", "kind": "Schedule"}]
)
def test_no_documents(what: Any) -> None:
    with pytest.raises(BadDocument):
        schedule_of(what)


def test_a_time_is_started_when_it_comes_and_not_before() -> None:
    assert hours_due(BEGIN + HOUR - 1) == (None, 0)
    assert hours_due(BEGIN + HOUR) == (1, 1)
    assert hours_due(BEGIN + HOUR, cursor=BEGIN + HOUR) == (None, 1)


@pytest.mark.parametrize(("catch_up", "found"), [(0, (None, 9)), (1, (9, 9)), (3, (7, 7)), (99, (1, 1))])
def test_of_those_that_nobody_dealt_with_the_newest_are_caught_up(
    catch_up: int, found: tuple[float | None, float]
) -> None:
    assert hours_due(BEGIN + 9 * HOUR + 2 * ON_TIME, catch_up=catch_up) == found


def test_one_that_is_on_time_is_started_whatever_is_caught_up() -> None:
    assert hours_due(BEGIN + 9 * HOUR + ON_TIME, catch_up=0) == (9, 9)


def test_jitter_delays_a_start_and_makes_it_no_later() -> None:
    schedule = schedule_of(document(jitter="30m", catch_up=0))
    delay = jitter_of(schedule, BEGIN + HOUR)
    assert MINUTE < delay < 30 * MINUTE  # far enough that it would be late
    at = BEGIN + HOUR + delay
    assert hours_due(at - 1, jitter="30m", catch_up=0) == (None, 0)
    assert hours_due(at, jitter="30m", catch_up=0) == (1, 1)
    assert hours_due(at + ON_TIME + 1, jitter="30m", catch_up=0) == (None, 1)
    assert len({jitter_of(schedule, BEGIN + number * HOUR) for number in range(50)}) == 50


@pytest.mark.parametrize(
    ("overlap", "found"), [("skip", (None, 1)), ("allow", (1, 1)), ("cancel", (1, 1)), ("wait", (None, 0))]
)
def test_while_the_one_before_runs(overlap: str, found: tuple[float | None, float]) -> None:
    assert hours_due(BEGIN + HOUR, since=BEGIN, overlap=overlap) == found
    row = row_of(overlap=overlap)
    assert due(schedule_of(row.document), row, BEGIN + HOUR, since=BEGIN).cancels is (overlap == "cancel")
    assert not due(schedule_of(row.document), row, BEGIN + HOUR, since=None).cancels


def test_of_times_that_come_late_together_the_newest_is_not_skipped() -> None:
    """After an outage: the one that runs began behind these times, and did not overlap with them."""
    back = BEGIN + 5 * HOUR
    assert hours_due(back, since=back, cursor=BEGIN + 3 * HOUR, catch_up=9) == (None, 4)
    assert hours_due(back, since=back, cursor=BEGIN + 4 * HOUR, catch_up=9) == (None, 5)  # that one began at the time
    assert hours_due(back + 1, since=back + 1, cursor=BEGIN + 4 * HOUR) == (None, 4)
    assert hours_due(back + 1, cursor=BEGIN + 4 * HOUR) == (5, 5)


def test_of_those_that_wait_the_newest_stays() -> None:
    assert hours_due(BEGIN + 5 * HOUR, since=BEGIN, overlap="wait") == (None, 4)
    assert hours_due(BEGIN + 5 * HOUR + 2 * ON_TIME, since=BEGIN, overlap="wait", cursor=BEGIN + 4 * HOUR) == (None, 4)
    assert hours_due(BEGIN + 5 * HOUR + 2 * ON_TIME, overlap="wait", cursor=BEGIN + 4 * HOUR) == (5, 5)


def test_nothing_is_started_while_it_is_paused() -> None:
    row = row_of()._replace(paused=True)
    assert due(schedule_of(row.document), row, BEGIN + 9 * HOUR, since=None) == (None, BEGIN, False, (), ())


@pytest.mark.parametrize(
    ("now", "running", "spec", "passed"),
    [
        (1, False, {}, (0, 0)),
        (9, False, {"catch_up": 0}, (0, 9)),
        (9, False, {"catch_up": 3}, (0, 6)),
        (9, True, {"catch_up": 3}, (1, 6)),
        (9, True, {"catch_up": 3, "overlap": "wait"}, (2, 6)),
        (9, True, {"catch_up": 1, "overlap": "wait"}, (0, 0)),
        (9, True, {"catch_up": 2, "overlap": "cancel"}, (0, 7)),
    ],
)
def test_what_is_passed_is_counted(now: int, running: bool, spec: dict[str, Json], passed: tuple[int, int]) -> None:
    """Nine hours passed of which nobody knew: those that are skipped, and those that were missed."""
    row = row_of(**spec)
    late = 2 * ON_TIME if now > 1 else 0
    found = due(schedule_of(row.document), row, BEGIN + now * HOUR + late, since=BEGIN if running else None)
    assert (len(found.skipped), len(found.missed)) == passed
    times = [each.time for each in found.unstarted("x")]
    assert times == sorted(times) and {*times} == {*found.skipped, *found.missed}
    assert all(BEGIN < time <= found.cursor and time != found.time for time in times)


@pytest.mark.parametrize(
    ("spec", "last"),
    [
        ({"catch_up": 0}, {9: ("missed", "")}),
        ({"catch_up": 2}, {7: ("missed", ""), 8: None, 9: None}),
        ({"catch_up": 9}, {1: None, 2: ("skipped", "x0"), 8: ("skipped", "x0"), 9: None}),
    ],
)
def test_the_last_times_that_were_not_started_are_kept_with_the_reason(
    spec: dict[str, Json], last: dict[int, tuple[str, str] | None]
) -> None:
    cluster, clock = Cluster(), Clock(BEGIN + 9 * HOUR + 2 * ON_TIME)
    cluster.store.scheduling.put(row_of(**spec))
    starter = cluster.starter(clock)
    for _ in range(10):
        starter.look()
        for _, name in cluster.started:
            cluster.end(name, clock.now())
    (row,) = cluster.store.scheduling.rows()
    found = {(each.time - BEGIN) // HOUR: (each.why, each.running) for each in row.unstarted}
    assert {hour: found.get(hour) for hour in last} == last


def test_a_time_is_skipped_for_the_execution_that_ran() -> None:
    cluster, clock = Cluster(), Clock(BEGIN + HOUR)
    cluster.store.scheduling.put(row_of())
    starter = cluster.starter(clock)
    for clock.time in (BEGIN + HOUR, BEGIN + 2 * HOUR, BEGIN + 3 * HOUR):
        starter.look()
    (row,) = cluster.store.scheduling.rows()
    assert row.unstarted == (
        UnstartedTime(BEGIN + 2 * HOUR, "skipped", "x0"), UnstartedTime(BEGIN + 3 * HOUR, "skipped", "x0")
    )  # fmt: skip
    for clock.time in range(BEGIN + 4 * HOUR, BEGIN + 30 * HOUR, HOUR):
        starter.look()
    (row,) = cluster.store.scheduling.rows()
    assert [(each.time - BEGIN) // HOUR for each in row.unstarted] == [*range(20, 30)], "the last ten"


class Killed(Exception):
    """The server died."""


class Cluster:
    """A store, and what was started in it."""

    def __init__(self) -> None:
        self.points: list[str] = []
        self.store = MemoryStore(hook=self._reach)
        self.started: list[tuple[str, str]] = []
        self.die_at: Counter[str] = Counter()

    def _reach(self, point: str) -> None:
        self.die_at[point] -= 1
        if self.die_at[point] == 0:
            raise Killed(point)

    def starter(self, clock: Clock) -> ScheduleStarter:
        """A server's."""

        def begin(start: ScheduledStart) -> str:
            name = f"x{len(self.started)}"
            row = ExecutionRow(name, start.schedule.playbook, "d", "running", None, clock.now(), None)
            try:
                self.store.create(row, [("a", b"")], key=StartKey(start.key, ""))
            except Taken as taken:
                return taken.execution_id
            finally:
                if self.store.execution(name) is not None:
                    self.started.append((str(start.started_by["time"]), name))
            return name

        def cancel(name: str) -> None:
            self.end(name, clock.now(), "cancelled")

        return ScheduleStarter(self.store, self.store.scheduling, clock, begin, cancel)

    def end(self, name: str, now: int, status: str = "completed") -> None:
        found = self.store.execution(name)
        if found is not None and found.ended is None:
            self.store.append(name, len([*self.store.read(name)]), [(f"end{now}", b"")], status=status, ended=now)


@pytest.mark.parametrize("overlap", ["skip", "allow", "wait", "cancel"])
@pytest.mark.parametrize("seed", range(25))
def test_each_time_has_one_start_whichever_servers_live_and_die(seed: int, overlap: str) -> None:
    """Three servers whose clocks differ by some seconds look at a schedule of every minute, for six hours; each may die
    at every point of a transaction, and comes back. Under `allow` each minute is started, in any case none twice.
    """
    chance, cluster = random.Random(f"{seed} {overlap}"), Cluster()
    cluster.store.scheduling.put(row_of(every="1m", overlap=overlap, catch_up=1_000))
    clocks = [Clock(BEGIN) for _ in range(3)]
    starters = [cluster.starter(clock) for clock in clocks]
    points = [
        f"{operation}.{where}"
        for operation in ("create", "schedule")
        for where in ("before_write", "before_commit", "after_commit")
    ]
    now, deaths = BEGIN, 0
    while now < BEGIN + 6 * HOUR:
        now += chance.randrange(1, 90_000_000)
        number = chance.randrange(3)
        clocks[number].time = now + chance.randrange(5_000_000)
        if chance.random() < 0.4:
            cluster.die_at[chance.choice(points)] = chance.randrange(1, 4)
        try:
            starters[number].look()
        except Killed:
            deaths += 1
            starters[number] = cluster.starter(clocks[number])
        cluster.die_at.clear()
        if chance.random() < 0.5 and cluster.started:
            cluster.end(cluster.started[-1][1], now)
    for name in [name for _, name in cluster.started]:
        cluster.end(name, now)
    for clock, starter in zip(clocks, starters, strict=True):
        clock.time = now + 10_000_000
        starter.look()
    (row,) = cluster.store.scheduling.rows()
    times = Counter(time for time, _ in cluster.started)
    assert max(times.values()) == 1
    assert deaths > 5
    if overlap == "allow":
        assert len(times) == (row.cursor - BEGIN) // MINUTE
    assert row.last == cluster.started[-1][1]
    rows = sorted(cluster.store.executions(), key=lambda each: int(each.execution_id[1:]))
    if overlap in ("skip", "wait"):
        # Never two at once: each began when the one before was over.
        for one, other in pairwise(rows):
            assert one.ended is not None and one.ended <= other.started + 5_000_000


def test_a_start_that_is_refused_is_tried_again_and_told() -> None:
    store, clock, said, lacking = MemoryStore(), Clock(BEGIN + HOUR), list[str](), ["no playbook"]

    def begin(start: ScheduledStart) -> str:
        if lacking:
            raise StartRefused(lacking[0])
        return "x"

    starter = ScheduleStarter(store, store.scheduling, clock, begin, lambda name: None, said.append)
    store.scheduling.put(row_of())
    for _ in range(3):
        starter.look()
    assert said == ["schedule nightly: 2026-03-01T01:00:00+00:00: no playbook"]
    (row,) = store.scheduling.rows()
    assert (row.trouble, row.cursor) == ("2026-03-01T01:00:00+00:00: no playbook", BEGIN)
    lacking.clear()
    clock.time += 10 * MINUTE
    starter.look()
    (row,) = store.scheduling.rows()
    assert (row.trouble, row.cursor, row.last) == ("", BEGIN + HOUR, "x")


def test_a_schedule_is_read_when_its_time_comes_or_its_row_is_another(monkeypatch: pytest.MonkeyPatch) -> None:
    store, clock, read = MemoryStore(), Clock(BEGIN), list[int]()

    def reading(found: Json) -> Schedule:
        read.append(clock.now())
        return schedule_of(found)

    monkeypatch.setattr("noetl.server.schedules.starter.schedule_of", reading)
    starter = ScheduleStarter(store, store.scheduling, clock, lambda start: "x", lambda name: None)
    store.scheduling.put(row_of())
    for _ in range(200):
        starter.look()
        clock.time += MINUTE
    assert [(at - BEGIN) // HOUR for at in read] == [0, 1, 2, 3]
    store.scheduling.put(row_of(every="1m", cursor=clock.time - MINUTE))
    starter.look()
    assert store.scheduling.rows()[0].cursor == clock.time


def test_one_that_cannot_be_carried_out_stops_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    store, clock, said = MemoryStore(), Clock(BEGIN + HOUR), list[str]()

    def reading(found: dict[str, Json]) -> Schedule:
        if found["metadata"] == {"name": "a"}:
            raise OverflowError("the calendar ends")
        return schedule_of(found)

    monkeypatch.setattr("noetl.server.schedules.starter.schedule_of", reading)
    starter = ScheduleStarter(store, store.scheduling, clock, lambda start: "x", lambda name: None, said.append)
    bad = row_of()._replace(name="a", document={**document(), "metadata": {"name": "a"}})
    store.scheduling.put(bad)
    store.scheduling.put(row_of())
    for _ in range(3):
        starter.look()
    first, second = store.scheduling.rows()
    assert first.trouble == "it cannot be carried out: OverflowError: the calendar ends"
    assert (second.last, second.cursor) == ("x", BEGIN + HOUR)
    assert said == [f"schedule a: {first.trouble}"]


def test_what_hinders_each_time_is_said_once() -> None:
    store, clock, said = MemoryStore(), Clock(BEGIN), list[str]()

    def begin(start: ScheduledStart) -> str:
        raise StartRefused("no playbook")

    starter = ScheduleStarter(store, store.scheduling, clock, begin, lambda name: None, said.append)
    store.scheduling.put(row_of(every="1s"))
    for _ in range(200):
        clock.time += 1_000_000
        starter.look()
    assert said == ["schedule nightly: 2026-03-01T00:00:01+00:00: no playbook"]
