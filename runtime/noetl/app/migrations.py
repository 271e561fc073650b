"""Migrations of executions in a store: whether one could go on under another plan, as it stands now."""

from __future__ import annotations

from noetl.app.runtime import Runtime
from noetl.app.snapshots import events_of, program_of
from noetl.engine.migrations import migration_hindrances
from noetl.engine.program import Program
from noetl.engine.reruns import Hindrance
from noetl.ports import ExecutionRow
from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple


class PlannedMigration(NamedTuple):
    """A migration that was looked at; its owner looks again, and moves it or says why not."""

    of: ExecutionRow
    program: Program
    hindrances: tuple[Hindrance, ...]

    def as_json(self) -> dict[str, Json]:
        """One document."""
        return {
            "execution_id": self.of.execution_id,
            "from": self.of.plan_digest,
            "to": self.program.digest,
            "hindrances": [one.as_json() for one in self.hindrances],
        }


def planned_migration(runtime: Runtime, row: ExecutionRow, program: Program) -> PlannedMigration:
    """Look at a migration; nothing is changed. Raises UnreadableExecution."""
    before, name = program_of(runtime, row.execution_id), row.execution_id
    log = [event for _, event in events_of(runtime, name)]
    return PlannedMigration(row, program, tuple(migration_hindrances(before, program, name, log)))
