"""The schedules of the stores that speak SQL."""

import json
from typing import Any

from noetl.clients.standing_rows import StandingRows
from noetl.ports.schedules import ScheduleRow, UnstartedTime


class SqlSchedules(StandingRows[ScheduleRow]):
    """The `Schedules` of a store that speaks SQL."""

    noun = "schedule"
    columns = ScheduleRow._fields

    def values_of(self, row: ScheduleRow) -> dict[str, Any]:
        """`StandingRows.values_of`."""
        return {
            **row._asdict(),
            "document": json.dumps(row.document, sort_keys=True),
            "paused": int(row.paused),
            "unstarted": json.dumps(row.unstarted),
        }

    def row_of(self, values: tuple[Any, ...]) -> ScheduleRow:
        """`StandingRows.row_of`."""
        name, document, cursor, paused, last, trouble, began, unstarted = values
        times = tuple(
            [UnstartedTime(int(time), str(why), str(running)) for time, why, running in json.loads(unstarted)]
        )
        return ScheduleRow(name, json.loads(document), int(cursor), bool(paused), last, trouble, int(began), times)
