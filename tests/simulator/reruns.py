"""Reruns in simulations: a run is cancelled somewhere, and what it did goes into a new one, which is killed, too.

Cancelled runs may be cut off anywhere, so a rerun of one begins with whatever a run can have done.
"""

import random
from collections.abc import Sequence
from typing import Any

from noetl.engine.rerun_source import RerunCut, RerunSource
from noetl.engine.reruns import Rerun, RerunRequest, payload_of, rerun_of
from noetl.ports import ExecutionRow
from noetl.server.stored_events import hydrate
from noetl_ir.events import Event, write_event
from simulator.alone import ID, Alone, ready_at
from simulator.plays import PLAYS, Ready
from simulator.timeline import EPOCH, SECOND
from simulator.world import Setting, World, setting_of

BETWEEN = 20 * SECOND
"""Microseconds between the end of a run and its rerun."""


def rerun_in(play: Ready, log: Sequence[Event], name: str, now: int, step: str = "") -> Rerun:
    """The rerun of a log as an execution of that name: from where it was cancelled, or from a step."""
    source = RerunSource(play.program, ID, log)
    cut: RerunCut | None = source.failed_cut()
    if step:
        cut = source.cut_before(play.program.step_numbers[step], 1)
    assert cut is not None
    asked = RerunRequest(play.program, name, payload_of(source), cut, accepted=("phases", "execution_id"))
    return rerun_of(source, asked, now)


def row_of(play: Ready, name: str, now: int) -> ExecutionRow:
    """The row of a rerun."""
    return ExecutionRow(name, "t/t", play.program.digest, "running", None, now, None, ID)


class CancelledAlone(Alone):
    """A run that somebody cancels at a time, in microseconds."""

    def __init__(self, play: Ready, at: int) -> None:
        super().__init__(play, 0)
        self.timeline.at(at, self._cancel)

    def _cancel(self) -> None:
        row = self._store.execution(ID)
        if row is None:
            self.timeline.after(SECOND, self._cancel)
        elif row.ended is None:
            self._store.post(ID, "cancel", None)

    def log(self) -> list[Event]:
        """Its log once it has run."""
        return [hydrate(record, self._blobs) for record in self._store.read(ID)]


class RerunAlone(Alone):
    """The lives of a rerun, the first of which is killed at the point `at`."""

    def __init__(self, play: Ready, made: Rerun, at: int) -> None:
        super().__init__(play, at)
        now = made.events[-1].ts
        self.timeline.at(now - EPOCH, lambda: None)
        self.timeline.advance()
        records = [(event.event_id, write_event(event)) for event in made.events]
        self._store.create(row_of(play, ID, now), records)


def cancelled(number: int, share: float) -> tuple[Ready, list[Event]]:
    """A play that was cancelled when a share of its time was over, and its log."""
    play = ready_at(number)
    whole = Alone(play, 0)
    whole.run()
    alone = CancelledAlone(play, round(whole.timeline.now * share))
    alone.run()
    return play, alone.log()


def signalled(number: int) -> bool:
    """Whether somebody sends signals to a play: a rerun would have those that it kept, and others again."""
    return bool(PLAYS[number].signals) or "signal" in PLAYS[number].text


class Rerunning(World):
    """A cluster in which a run is cancelled, and rerun while things go wrong once more. `rerun` is None where it was
    over before, or where something hindered.
    """

    rerun: Rerun | None = None

    def run(self) -> Any:
        """Run both to their end and check everything."""
        self._plan()
        self._pass_until_over()
        store, now = self._shared.store, EPOCH + self.timeline.now
        log = [hydrate(record, self._shared.blobs) for record in store.read(ID)]
        if log[-2].data.get("status") == "cancelled":
            made = rerun_in(self._play, log, "e1", max(now, log[-1].ts))
            self.rerun = made if not made.hindrances else None
        if self.rerun is not None:
            self.roots.append("e1")
            for _ in range(self._setting.mishaps):
                self.timeline.after(self._chance.randint(0, self._setting.troubled), self._mishap)
            records = [(event.event_id, write_event(event)) for event in self.rerun.events]
            store.create(row_of(self._play, "e1", now), records)
            self._pass_until_over()
        over_at = self.timeline.now
        while self.timeline.now < over_at + BETWEEN * 4:
            self.timeline.advance()
        return self._checked()

    def _pass_until_over(self) -> None:
        until = self.timeline.now + 3600 * SECOND
        while not self._is_over():
            moved = self.timeline.advance()
            assert moved and self.timeline.now < until, f"it never ends: {self._statuses()}"


def rerun_world(number: int, seed: int) -> Rerunning:
    """The cluster of a seed, with one run of a play that is cancelled."""
    chance = random.Random(f"{seed} rerun")
    setting: Setting = setting_of(seed)._replace(executions=1, asks=((chance.randint(0, 12 * SECOND), "cancel"),))
    return Rerunning(ready_at(number), setting)
