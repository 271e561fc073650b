"""Migrations in simulations: runs move to another plan and back again, at any time and more than once, while things go
wrong. The plans differ in nothing that a run can tell, so nothing hinders and each ends as without.
"""

import random
from typing import Any

from noetl.engine.program import Program
from noetl.server.migrations import MIGRATE, asks_to_migrate
from noetl_ir.plan_format import digest_of, read_plan, write_plan
from simulator.plays import Ready
from simulator.timeline import SECOND
from simulator.world import Setting, World, ready_at, setting_of

ASKS = (2, 3, 5)


def twin_of(program: Program) -> Program:
    """The program of a plan that is another one and means the same: its file has another name."""
    data = write_plan(read_plan(program.bytes)._replace(source="moved.yaml"))
    return Program(read_plan(data), digest_of(data), data)


class Migrating(World):
    """A cluster in which each execution is asked to move, some times. `moved` counts what came of it."""

    def __init__(self, play: Ready, setting: Setting) -> None:
        super().__init__(play, setting)
        self.twin = twin_of(play.program)
        self._shared.programs[self.twin.digest] = self.twin
        self.moved: dict[str, int] = {"playbook.migrated": 0, "migration.refused": 0}
        chance = self._stream("migrations")
        for name in self.roots:
            for number in range(chance.choice(ASKS)):
                digest = (self.twin, play.program)[number % 2].digest
                time = chance.randint(0, 25 * SECOND)
                self.timeline.at(time, lambda name=name, to=digest: self._post(name, MIGRATE, asks_to_migrate(to)))

    def run(self) -> Any:
        """Run to the end, check everything, and look at what came of the asks."""
        ran = super().run()
        for log in self.logs.values():
            for event in log:
                if event.event_type in self.moved:
                    self.moved[event.event_type] += 1
                    # Asked twice for the same, it is there already.
                    why = event.data.get("why", [])
                    assert why in ([], ["it runs this plan already"]), why
        return ran


def migrating_world(number: int, seed: int) -> Migrating:
    """The cluster of a seed with a play, of which nobody asks anything else."""
    return Migrating(
        ready_at(number), setting_of(random.Random(f"{seed} migrating").randint(0, 1 << 30))._replace(asks=())
    )
