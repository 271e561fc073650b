"""The audit of the store in memory."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from itertools import islice

from noetl.ports.actors import deed_of
from noetl.ports.audit import AuditRow, WantedAudit, row_of_values


class MemoryAudit:
    """`Audit` in a list. `changing` and `looking` are what a change and a look are made in."""

    def __init__(
        self, changing: Callable[[], AbstractContextManager[None]], looking: Callable[[], AbstractContextManager[None]]
    ) -> None:
        self._changing = changing
        self._looking = looking
        self._rows: list[AuditRow] = []
        self._once: set[str] = set()
        self._count = 0

    def add_deed(self, row: AuditRow) -> None:
        """`Audit.add_deed`."""
        with self._changing():
            self._add(row)

    def record_deed(self, deed: str, subject: str) -> None:
        """Record a change, within it, where somebody acts."""
        if (values := deed_of(deed, subject)) is not None:
            self._add(row_of_values(values))

    def deeds(self, wanted: WantedAudit) -> list[AuditRow]:
        """`Audit.deeds`."""
        with self._looking():
            rows = (row for row in reversed([*self._rows]) if _is_wanted(row, wanted))
            return [*islice(rows, wanted.limit or None)]

    def forget_deeds(self, before: int) -> int:
        """`Audit.forget_deeds`."""
        with self._changing():
            kept = [row for row in self._rows if row.at >= before]
            count = len(self._rows) - len(kept)
            self._rows = kept
            return count

    def _add(self, row: AuditRow) -> None:
        if row.once in self._once:
            return
        self._once.add(row.once)
        self._count += 1
        self._rows.append(row._replace(row=self._count, once=""))


def _is_wanted(row: AuditRow, wanted: WantedAudit) -> bool:
    texts = (
        (wanted.who, row.who),
        (wanted.subject, row.subject),
        (wanted.outcome, row.outcome),
    )
    if any(text not in ("", there) for text, there in texts) or (wanted.deeds and row.deed not in wanted.deeds):
        return False
    return row.at >= wanted.since and (not wanted.before or row.row < wanted.before)
