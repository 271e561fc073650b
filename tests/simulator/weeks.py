"""A week of schedules on virtual time: servers that die at any point, skewed clocks, an upgrade, purges and restores.

Calendar, decision, starter, stores, purge, archive and backup are the real ones; executions are a log that was made
once and is written at the start and at the end of each. All of it follows from the seed.
"""

import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, partial
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from harness.running import compiled, run
from noetl.app.adapters import open_blobs, open_outputs
from noetl.app.bundles import Archive, read_bundle
from noetl.app.documents import replay_document, verdict_of
from noetl.app.ended_runs import ended_scope
from noetl.app.retention import ANY, Purger, RetentionRule
from noetl.app.runtime import Runtime, Settings
from noetl.app.schedule_book import ScheduleBook
from noetl.app.trigger_book import TriggerBook
from noetl.ports import ExecutionRow, Owned, Taken, Wanted
from noetl.ports.idempotency import StartKey
from noetl.ports.schedules import ScheduleRow
from noetl.server.schedules.document import Schedule, schedule_of
from noetl.server.schedules.due import ON_TIME, jitter_of
from noetl.server.schedules.starter import ScheduledStart, ScheduleStarter
from noetl.server.schedules.times import time_of
from noetl.server.triggers.starter import TriggeredStart, TriggerStarter
from noetl.store.sqlite import FAULT_POINTS, SqliteStore, schema
from noetl_ir.events import Event, write_event
from noetl_ir.expr import Json
from noetl_ir.plan_format import digest_of

SECOND, MINUTE, HOUR, DAY = 1_000_000, 60_000_000, 3_600_000_000, 86_400_000_000
PLAYBOOK = "workload: {at: never}\nworkflow:\n  - {step: start, tool: {kind: noop}}\n"
POINTS = tuple(
    point for point in FAULT_POINTS if point.startswith(("create", "schedule", "trigger", "purge", "append"))
)

MONDAYS = ("2026-03-23T00:00:00Z", "2026-10-19T00:00:00Z", "2026-10-26T00:00:00Z", "2026-06-01T00:00:00Z")
"""Weeks in which clocks are set: in Europe forward and back, in New York back; and one in which none is."""

SPECS: tuple[dict[str, Json], ...] = (
    {"cron": "30 2 * * *", "timezone": "Europe/Berlin", "overlap": "allow", "catch_up": 1_000},
    {"cron": "15 1,2 * * *", "timezone": "America/New_York", "overlap": "wait", "catch_up": 1_000},
    {"cron": "*/45 * * * *", "timezone": "Europe/Berlin", "overlap": "allow", "catch_up": 1_000},
    {"every": "50m", "overlap": "cancel", "catch_up": 1_000},
    {"every": "2h", "overlap": "skip", "catch_up": 1_000, "jitter": "20m"},
    {"cron": "0 */3 * * *", "overlap": "allow", "catch_up": 0},
    {"every": "70m", "overlap": "allow", "catch_up": 2, "jitter": "3m"},
    {"every": "90m", "overlap": "wait", "catch_up": 1},
)
TRIGGER: dict[str, Json] = {
    "apiVersion": "noetl.io/v2",
    "kind": "Trigger",
    "metadata": {"name": "behind"},
    "spec": {"playbook": "t/behind", "after": {"playbook": "t/t"}, "inputs": {"at": "{{ workload.at }}"}},
}
"""It starts one more behind each end of what schedules start."""

LATEST_OLD = 15
"""The schema of the version before."""

# The statements of the version before, which knew no `began`: its servers go on beside new ones during an upgrade.
OLD_PLANS = (
    "INSERT INTO plans VALUES (:digest, :data)",
    "INSERT INTO catalogue SELECT 't/t', 1, digest FROM plans WHERE digest = :digest",
)
OLD_COLUMNS = "name, document, cursor, paused, last, trouble"
OLD_PUT = f"""
INSERT INTO schedules ({OLD_COLUMNS}) VALUES (:name, :document, :cursor, :paused, :last, :trouble)
ON CONFLICT (name) DO UPDATE SET document = :document, cursor = :cursor, paused = :paused, last = :last,
  trouble = :trouble
"""


class Killed(BaseException):
    """The process died."""


class VirtualClock:
    """A clock that is ahead of the true time by some microseconds."""

    def __init__(self, week: "Week", ahead: int) -> None:
        self._week = week
        self._ahead = ahead

    def now(self) -> int:
        """`Clock.now`."""
        return self._week.now + self._ahead


class OldSchedules:
    """The schedules as a server of the version before reads and moves them."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store

    def rows(self, name: str = "") -> tuple[ScheduleRow, ...]:
        """`Schedules.rows`."""
        found = self._store.scheduling.look(f"SELECT {OLD_COLUMNS} FROM schedules ORDER BY name", {})
        return tuple([ScheduleRow(r[0], json.loads(r[1]), r[2], bool(r[3]), r[4], r[5]) for r in found])

    def move(self, before: ScheduleRow, after: ScheduleRow) -> bool:
        """`Schedules.move`."""
        found: list[bool] = []

        def moved(tx: Any) -> None:
            there = next((row for row in self.rows() if row.name == before.name), None)
            found.append(there in (before, after))
            if there == before:
                values = {**after._asdict(), "document": json.dumps(after.document), "paused": int(after.paused)}
                values.pop("began")
                tx.rows(OLD_PUT, values)

        self._store.scheduling.change(moved)
        return found[-1]


class WeekServer(NamedTuple):
    """A server: its own connection to the store, its own clock."""

    runtime: Runtime
    clock: VirtualClock
    starter: ScheduleStarter
    triggers: TriggerStarter | None

    def look(self) -> None:
        """Start all that is due."""
        self.starter.look()
        if self.triggers is not None:
            self.triggers.look()


@cache
def pattern() -> tuple[bytes, tuple[Event, ...]]:
    """The plan, and the log of a run of it that completed."""
    plan = compiled(PLAYBOOK)
    return plan, tuple(run(plan).log)


class Week:
    """The week of a seed, in the store of a folder. An `is_upgraded` one begins in the
    version before."""

    def __init__(self, seed: int, folder: Path, *, is_upgraded: bool = False) -> None:
        self.chance = random.Random(f"{seed} week")
        self._folder = folder
        self.begin = time_of(MONDAYS[seed % len(MONDAYS)])
        self.end = self.begin + 7 * DAY + 3 * HOUR
        self.now = self.begin
        self._die_at = Counter[str]()
        self.deaths = 0
        self.did = Counter[str]()
        self._open: dict[str, int] = {}
        """Executions that are not over, with their end."""
        self.looks: list[int] = []
        """Clock times at which a server had looked at all that was due."""
        self._is_old = is_upgraded
        self._specs = [SPECS[at] for at in sorted(self.chance.sample(range(len(SPECS)), 5))]
        self.servers: list[WeekServer | None] = [None, None]

    # --- processes ------------------------------------------------------------------------------------------------

    def _reach(self, point: str) -> None:
        self._die_at[point] -= 1
        if self._die_at[point] == 0:
            raise Killed(point)

    def opened(self) -> Runtime:
        """The store, as one process opens it."""
        path = self._folder / "week.db"
        store = SqliteStore(str(path), hook=self._reach)
        # A process that is killed loses nothing that it wrote; only a machine would.
        store._connection.execute("PRAGMA synchronous = OFF")
        url = f"sqlite:///{path}"
        return Runtime(store, open_blobs(url), "none", Settings(), lambda source: (b"", {}), partial(open_outputs, url))

    def closed(self, runtime: Runtime) -> None:
        """End what a process has open."""
        runtime.close_outputs()
        runtime.blobs.close()
        runtime.store.close()

    def _new_server(self, number: int) -> None:
        runtime, clock = self.opened(), VirtualClock(self, self.chance.randint(-5 * SECOND, 5 * SECOND))
        # Each that starts anew in the upgrade is a new one, those that run go on as they are.
        kept: Any = OldSchedules(runtime.store) if self._is_old and number == 0 else runtime.store.scheduling  # type: ignore[arg-type,attr-defined]
        begin, cancel = partial(self._begin_scheduled, runtime), partial(self._finish, runtime)
        starter = ScheduleStarter(runtime.store, kept, clock, begin, cancel)
        triggers = None
        if not self._is_old:
            behind, scope = partial(self._begin_behind, runtime), partial(ended_scope, runtime)
            triggers = TriggerStarter(runtime.store, runtime.store.triggering, clock, behind, scope)  # type: ignore[attr-defined]
        self.servers[number] = WeekServer(runtime, clock, starter, triggers)

    def _kill(self, number: int) -> None:
        server = self.servers[number]
        if server is not None:
            self.closed(server.runtime)
        self.servers[number] = None

    def _in_a_process(self, work: Callable[[Runtime], None]) -> None:
        """Something that an operator does with a command, which may be killed as well."""
        runtime = self.opened()
        try:
            work(runtime)
        except Killed:
            self.deaths += 1
        except Owned:
            pass
        finally:
            self._die_at.clear()
            self.closed(runtime)

    # --- executions -----------------------------------------------------------------------------------------------

    def _begin_scheduled(self, runtime: Runtime, start: ScheduledStart) -> str:
        return self._begin(runtime, "t/t", start.payload, start.key, start.started_by)

    def _begin_behind(self, runtime: Runtime, start: TriggeredStart) -> str:
        return self._begin(runtime, "t/behind", start.inputs, start.key, start.started_by)

    def _begin(
        self, runtime: Runtime, path: str, payload: dict[str, Json], key: str, started_by: dict[str, Json]
    ) -> str:
        plan, log = pattern()
        name = f"x{self.now}-{self.chance.randrange(1 << 40):x}"
        data = {**log[0].data, "payload": payload, "started_by": started_by, "trace_id": name}
        first = log[0]._replace(ts=self.now, data=data)
        row = ExecutionRow(name, path, digest_of(plan), "running", None, self.now, None)
        try:
            runtime.store.create(row, [(first.event_id, write_event(first))], key=StartKey(key, ""))
        except Taken as taken:
            return taken.execution_id
        finally:
            # It may be on disk when the server dies of it.
            self._open[name] = self.now + self.chance.choice((SECOND, MINUTE, 10 * MINUTE, 2 * HOUR))
        return name

    def _finish(self, runtime: Runtime, name: str) -> None:
        found = runtime.store.execution(name)
        if found is None or found.ended is not None:
            return
        first = next(event for _, event in runtime.events(name))
        rest = [event._replace(ts=self.now) for event in pattern()[1][1:]]
        rest[0] = rest[0]._replace(data={"workload": first.data["payload"]})
        records = [(event.event_id, write_event(event)) for event in rest]
        runtime.store.append(name, 1, records, status="completed", ended=self.now)

    def _finish_ripe(self) -> None:
        ripe = [name for name, end in self._open.items() if end <= self.now]
        if ripe:
            self._in_a_process(lambda runtime: [self._finish(runtime, name) for name in ripe].clear())
        for name in ripe:
            del self._open[name]

    # --- the week -------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Live through the week."""
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("os.fsync", lambda handle: None)
            self._live()

    def _live(self) -> None:
        with pytest.MonkeyPatch.context() as patched:
            if self._is_old:
                newest = schema.files
                patched.setattr(schema, "VERSION", LATEST_OLD)
                patched.setattr(schema, "files", lambda: [row for row in newest() if row[0] <= LATEST_OLD])
            self._in_a_process(self._prepare)
        plans = sorted(
            (self.begin + self.chance.randrange(7 * DAY), what)
            for what in ("purge", "purge", "purge", "restore", "restore", "outage", "outage", "store", "kill", "kill")
        )
        if self._is_old:
            plans = [(time, what) for time, what in plans if what != "store"]
            plans.append((self.begin + 3 * DAY, "upgrade"))
            plans.sort()
        for number in range(2):
            self._new_server(number)
        down_until = 0
        for moment in self._moments():
            self.now = max(self.now, moment)
            while plans and plans[0][0] <= self.now:
                down_until = max(down_until, self._happen(plans.pop(0)[1]))
            self._finish_ripe()
            if self.now >= down_until:
                self._look()
        self._end()

    def _moments(self) -> Iterator[int]:
        """When servers look: soon after each time that comes, and at other times."""
        times = set[int]()
        for spec in self._specs:
            schedule = schedule_of(self.document("x", spec))
            coming = takewhile(lambda time: time < self.end, schedule.calendar.behind(self.begin))
            for time in coming:
                times.add(time + self.chance.randint(-10 * SECOND, 20 * SECOND))
                times.add(time + jitter_of(schedule, time) + self.chance.randint(0, 50 * SECOND))
        times |= {self.begin + self.chance.randrange(7 * DAY) for _ in range(200)}
        yield from sorted(times)

    def _look(self) -> None:
        for number in self.chance.sample((0, 1), 2):
            if self.servers[number] is None:
                self._new_server(number)
            server = self.servers[number]
            assert server is not None
            if self.chance.random() < 0.1:
                self._die_at[self.chance.choice(POINTS)] = self.chance.randrange(1, 5)
            try:
                at = server.clock.now()
                server.look()
                self.looks.append(at)
            except Killed:
                self.deaths += 1
                self._kill(number)
            finally:
                self._die_at.clear()

    def _happen(self, what: str) -> int:
        """Something that happens; until when nobody looks."""
        self.did[what] += 1
        match what:
            case "kill":
                self._kill(self.chance.randrange(2))
            case "outage":
                for number in range(2):
                    self._kill(number)
                return self.now + self.chance.choice((2 * MINUTE, 2 * HOUR, 20 * HOUR))
            case "purge":
                if self.chance.random() < 0.5:
                    self._die_at[self.chance.choice(POINTS)] = self.chance.randrange(1, 20)
                self._in_a_process(self._purge)
            case "restore":
                self._in_a_process(self._restore)
            case "upgrade":
                # The newer one migrates the store under the hands of the older one, which is replaced an hour later.
                self._kill(1)
                self._new_server(1)
            case "store":
                self._replace_store()
        return 0

    def _purge(self, runtime: Runtime, age: int | None = None) -> None:
        purger = Purger(runtime, Archive(runtime, str(self._folder / "kept")))
        rule = RetentionRule("*", ANY, self.chance.choice((0, 10 * MINUTE, DAY)) if age is None else age)
        purger.purge([*purger.expired([rule], self.now)])

    def _restore(self, runtime: Runtime) -> None:
        bundles = sorted((self._folder / "kept").glob("*.noetl"))
        for bundle in self.chance.sample(bundles, min(8, len(bundles))):
            read_bundle(runtime, str(bundle))

    def _replace_store(self) -> None:
        """The machine is lost, and all goes on from a backup of some hours ago, with the bundles of then."""
        backup = self._folder / "backup.db"

        def copy(runtime: Runtime) -> None:
            runtime.store.maintenance.backup(str(backup))  # type: ignore[attr-defined]

        for number in range(2):
            self._kill(number)
        self._in_a_process(copy)
        there = {path: path.read_bytes() for path in (self._folder / "kept").glob("*.noetl")}
        known = len(self.looks)
        for _ in range(30):  # some hours of which nothing stays
            self.now += self.chance.randrange(10 * MINUTE)
            self._look()
        del self.looks[known:]
        for number in range(2):
            self._kill(number)
        for path in self._folder.glob("week.db*"):
            if path.is_file():
                path.unlink()
        backup.rename(self._folder / "week.db")
        self._in_a_process(self._find_open)
        for path in (self._folder / "kept").glob("*.noetl"):
            if path not in there:
                path.unlink()

    def _find_open(self, runtime: Runtime) -> None:
        """Take what had ended since the backup as running again."""
        self._open = {row.execution_id: self.now + MINUTE for row in runtime.store.executions(Wanted(open=True))}

    # --- documents and the end ------------------------------------------------------------------------------------

    def document(self, name: str, spec: dict[str, Json]) -> dict[str, Json]:
        """The document of a schedule; intervals count from a time of before the week."""
        extra: dict[str, Json] = {} if "cron" in spec else {"from": "2026-01-01T00:00:00Z"}
        return {
            "apiVersion": "noetl.io/v2",
            "kind": "Schedule",
            "metadata": {"name": name},
            "spec": {"playbook": "t/t", "time_input": "at", **extra, **spec},
        }

    def _prepare(self, runtime: Runtime) -> None:
        plan, _ = pattern()
        if self._is_old:
            kept = {"digest": digest_of(plan), "data": plan}
            runtime.store.scheduling.change(lambda tx: [tx.rows(text, kept) for text in OLD_PLANS])  # type: ignore[attr-defined]
        else:
            runtime.store.put_plan(digest_of(plan), "t/t", plan)
            TriggerBook(runtime, VirtualClock(self, 0)).put(TRIGGER)
        for number, spec in enumerate(self._specs):
            document = self.document(f"s{number}", spec)
            if self._is_old:
                row = {"name": f"s{number}", "document": json.dumps(document), "cursor": self.begin, "paused": 0}
                values = {**row, "last": "", "trouble": ""}
                runtime.store.scheduling.change(lambda tx, values=values: tx.rows(OLD_PUT, values))  # type: ignore[attr-defined]
            else:
                ScheduleBook(runtime, VirtualClock(self, 0)).put(document)

    def _end(self) -> None:
        """All that runs ends, and all that is due is started."""
        for _ in range(60):
            self.now += 2 * HOUR if self._open else MINUTE
            self._finish_ripe()
            for number in range(2):
                if self.servers[number] is None:
                    self._new_server(number)
                server = self.servers[number]
                assert server is not None
                server.look()
        self.now += 2 * HOUR
        self._finish_ripe()
        if (server := self.servers[0]) is not None and server.triggers is not None:
            server.triggers.look()
        self.now += 2 * HOUR
        self._finish_ripe()
        for number in range(2):
            self._kill(number)

    def starts_behind_a_purge(self) -> int:
        """How often a time is started whose server dies right behind the start, with a purge before the next look."""
        self._specs = [{"every": "1h"}]
        self._in_a_process(self._prepare)
        self.now += HOUR + MINUTE // 3
        self._new_server(0)
        server = self.servers[0]
        assert server is not None
        self._die_at["schedule.before_write"] = 1
        with suppress(Killed):
            server.starter.look()
        self._kill(0)
        started = [*self._open]
        self._open = dict.fromkeys(started, self.now)
        self._finish_ripe()
        self.now += MINUTE
        self._in_a_process(lambda runtime: self._purge(runtime, 0))
        self._new_server(0)
        server = self.servers[0]
        assert server is not None
        server.starter.look()
        self._in_a_process(lambda runtime: started.extend(self._others(runtime, started)))
        self._kill(0)
        return len(started)

    def _others(self, runtime: Runtime, known: list[str]) -> list[str]:
        return [row.execution_id for row in runtime.store.executions() if row.execution_id not in known]

    def check(self) -> dict[str, Counter[str]]:
        """Check the laws; the times that each schedule started, with how often."""
        runtime = self.opened()
        try:
            for bundle in sorted((self._folder / "kept").glob("*.noetl")):
                read_bundle(runtime, str(bundle))
            found: dict[str, Counter[str]] = defaultdict(Counter)
            behind, ended = Counter[str](), set[str]()
            for row in runtime.store.executions():
                _, first = next(iter(runtime.events(row.execution_id)))
                said = first.data["started_by"]
                assert isinstance(said, dict)
                assert row.ended is not None, f"{row} does not end; now {self.now}; {self._open.get(row.execution_id)}"
                if "trigger" in said:
                    behind[str(said["execution"])] += 1
                    continue
                ended.add(row.execution_id)
                found[str(said["schedule"])][str(said["time"])] += 1
                assert first.data["payload"] == {"at": said["time"]}
                if self.chance.random() < 0.05:
                    document = replay_document(*verdict_of(runtime, row))
                    assert document["legal"] is True, document
            for row in runtime.store.scheduling.rows():  # type: ignore[attr-defined]
                self._check_schedule(schedule_of(row.document), row, found[row.name])
            if not self._is_old:
                twice = {name: count for name, count in behind.items() if count > 1}
                assert (twice, ended - behind.keys(), behind.keys() - ended) == ({}, set(), set()), (
                    "ends have one start"
                )
            return found
        finally:
            self.closed(runtime)

    def _check_schedule(self, schedule: Schedule, row: ScheduleRow, times: Counter[str]) -> None:
        name = schedule.name
        twice = [text for text, count in times.items() if count > 1]
        assert not twice, f"{name} started {twice} more than once"
        assert row.trouble == "", row.trouble
        calendar = {
            schedule.calendar.text_of(time): time
            for time in takewhile(lambda time: time <= row.cursor, schedule.calendar.behind(self.begin))
        }
        strange = times.keys() - calendar.keys()
        assert not strange, f"{name} started {strange}, which are none of its times"
        missing = {text: time for text, time in calendar.items() if text not in times}
        assert row.cursor >= self.end - 3 * HOUR - 1, f"{name} stopped at {schedule.calendar.text_of(row.cursor)}"
        if schedule.catch_up == 1_000 and schedule.overlap in ("allow", "cancel"):
            assert not missing, f"{name} never started {[*missing]}"
        if schedule.overlap == "allow":
            # Whatever is caught up: where somebody looked in time, it was started.
            for text, time in missing.items():
                first = time + jitter_of(schedule, time)
                assert not any(first <= at <= first + ON_TIME for at in self.looks), f"{name} passed {text}"
