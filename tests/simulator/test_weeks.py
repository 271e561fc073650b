"""Each time of a week's schedules has one start, whatever dies, is upgraded, purged or restored."""

import os
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from noetl.app import retention
from noetl.server.schedules import due, starter
from noetl.server.schedules.times import Calendar
from simulator.weeks import Week

SEEDS = int(os.environ.get("SIMULATOR_WEEKS", "2"))


@pytest.mark.parametrize("seed", range(SEEDS))
def test_each_time_of_a_week_has_one_start(seed: int, tmp_path: Path) -> None:
    week = Week(seed, tmp_path, is_upgraded=seed % 2 == 1)
    week.run()
    found = week.check()
    assert len(found) == 5 and week.deaths > 1
    assert sum(map(len, found.values())) > 200


def _keys_of_each_server(patch: pytest.MonkeyPatch) -> None:
    numbers = count()
    patch.setattr(starter, "key_of", lambda name, time: f"{name} {time} {next(numbers)}")


def _what_comes_late_is_passed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(due, "islice", lambda times, number: iter([*times][: min(number, 1)]))


def _the_repeated_hour_has_the_first_one_s_name(patch: pytest.MonkeyPatch) -> None:
    def text_of(calendar: Calendar, moment: int) -> str:
        found = datetime.fromtimestamp(moment // 1_000_000, ZoneInfo(calendar.zone))
        return (found + timedelta(microseconds=moment % 1_000_000)).isoformat()

    patch.setattr(Calendar, "text_of", text_of)


def _a_row_moves_on_before_its_start(patch: pytest.MonkeyPatch) -> None:
    old = starter.ScheduleStarter._deal_with

    def deal_with(self: starter.ScheduleStarter, row: object) -> None:
        begin, pending = self._begin, list[starter.ScheduledStart]()

        def later(start: starter.ScheduledStart) -> str:
            pending.append(start)
            return ""

        self._begin = later
        try:
            old(self, row)  # type: ignore[arg-type]
        finally:
            self._begin = begin
        for start in pending:
            begin(start)

    patch.setattr(starter.ScheduleStarter, "_deal_with", deal_with)


@pytest.mark.parametrize(
    ("fault", "seed"),
    [
        (_keys_of_each_server, 0),
        (_what_comes_late_is_passed, 0),
        (_the_repeated_hour_has_the_first_one_s_name, 1),
        (_a_row_moves_on_before_its_start, 0),
    ],
)
def test_a_fault_is_noticed(
    fault: Callable[[pytest.MonkeyPatch], None], seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    week = Week(seed, tmp_path)
    fault(monkeypatch)
    with pytest.raises((AssertionError, KeyError)):
        week.run()
        week.check()


@pytest.mark.parametrize("is_broken", [False, True])
def test_what_a_dead_server_started_is_not_purged_before_its_schedule_moves_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_broken: bool
) -> None:
    """Without the execution nothing would say that its time was started."""
    week = Week(0, tmp_path)
    if is_broken:
        monkeypatch.setattr(retention, "pending_start", lambda runtime, row: "")
    assert week.starts_behind_a_purge() == (2 if is_broken else 1)
