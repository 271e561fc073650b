"""One process that has server and worker in one, as `noetl run` does, and is killed: nothing was shown or done outside
that is not in the log.

It is killed at the n-th point, for every n: before and after each commit, as a line is shown, as a tool begins, and
whenever time passes. Another process goes on then. All of it follows from the play and n.
"""

import random
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from typing import Any

from harness.invariants import state_of
from noetl.app.embedded import Embedded, Parts
from noetl.app.task_environment import TaskEnvironments
from noetl.bus.memory import MemoryBus
from noetl.engine.execution import Execution
from noetl.engine.program import Program
from noetl.engine.starting import Request
from noetl.ports import Over, ToolCall
from noetl.server.control import ControlPlane
from noetl.server.execution import OwnedExecution
from noetl.server.journal import BEFORE_EFFECTS, Batching
from noetl.server.store_retry import StoreRetry
from noetl.server.stored_events import hydrate
from noetl.server.workers.tracker import DEFAULT_POOL, LocalWorkers
from noetl.store.memory import MemoryBlobs, MemoryStore
from noetl.worker.launcher import AsyncLauncher
from noetl.worker.worker import Worker
from noetl_ir.events import Event
from noetl_ir.orders import Answer, Order, Said
from simulator.disk import Disk, DiskOdds, Holders, Killed
from simulator.effects import Deed, Tools
from simulator.laws import check_deeds, check_execution, check_found_by, check_letters, end_of, fold
from simulator.plays import PLAYS, Ready, ready
from simulator.timeline import EPOCH, SECOND, SkewedClock, Timeline

ID = "e0"
LONGEST_SLEEP = 200_000
AT_MOST = 3600 * SECOND
TAKES = 300_000
"""Microseconds that a tool takes."""


class Points:
    """The points that are reached, in order; the process dies at the one with the number `at`, 0 for none."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.reached = 0
        self.die: Callable[[], None] = lambda: None

    def reach(self) -> None:
        """Count one more point, and die there if it is the one."""
        self.reached += 1
        if self.reached == self.at:
            self.die()
            raise Killed


class CountedDisk(Disk):
    """A store that can be killed before and after each commit."""

    points: Points
    commits = 0

    def _commit(self, commit: Callable[[], Any]) -> Any:
        self.points.reach()
        self.commits += 1
        done = super()._commit(commit)
        self.points.reach()
        return done


class Hands:
    """The tools of one process, and the passing of time. A tool begins only when its start is on disk."""

    def __init__(self, alone: "Alone", tools: Tools) -> None:
        self._alone = alone
        self._tools = tools
        self.immediate = tools.immediate
        self.finished = tools.finished
        self.stop = tools.stop

    def launch(self, ticket: object, call: ToolCall) -> None:
        """`Launcher.launch`."""
        slot: Any = ticket
        order = slot.session.order
        name = f"{order.run}:{slot.session.task}:{call.visit}:{call.attempt}:{order.claim}:s"
        assert name in self._alone.stored(order.execution_id), f"{name} runs and its start is not on disk"
        self._alone.points.reach()
        self._tools.launch(ticket, call)

    def pass_time(self, due: int | None) -> bool:
        """`Waiter.pass_time`. What happens by itself meanwhile happens."""
        self._alone.points.reach()
        self._alone.check_all_stored()
        timeline = self._alone.timeline
        assert timeline.now < AT_MOST, "it never ends"
        latest = timeline.now + LONGEST_SLEEP
        timeline.at(latest if due is None else min(due, latest), lambda: None)
        timeline.advance()
        return True

    def poll(self) -> None:
        """`Waiter.poll`."""

    def close(self) -> None:
        """`Waiter.close`."""


class Alone:
    """The lives of one execution, the first of which is killed at the point `at`."""

    def __init__(self, play: Ready, at: int, batching: Batching = BEFORE_EFFECTS) -> None:
        self.points = Points(at)
        self.timeline = Timeline()
        self.commits = 0
        self._play = play
        self._batching = batching
        self._store = MemoryStore(now=lambda: self.timeline.now)
        self._blobs = MemoryBlobs()
        self._holders = Holders(self.timeline)
        self._deeds: Counter[Deed] = Counter()
        self._shown: list[tuple[str, str, bytes]] = []
        self._live: Any = None
        self._driven_here: Mapping[str, OwnedExecution] = {}
        for seconds, signal in play.play.signals:
            self.timeline.at(round(seconds * SECOND), lambda signal=signal: self._post(signal))

    def stored(self, execution_id: str) -> dict[str, bytes]:
        """The events of an execution that are on disk, by their ids."""
        return {record.event_id: record.body for record in self._store.read(execution_id)}

    def check_all_stored(self) -> None:
        """Nothing that was decided is not on disk."""
        for name, owned in self._driven_here.items():
            assert owned.execution.position == len(self.stored(name)), f"time passes, and {name} is not all on disk"

    def run(self) -> Any:
        """Live until the execution is over and check everything; its end. `points.reached` counts the points."""
        for _ in range(2):
            if self._lives():
                break
        else:
            raise AssertionError("it was killed once and does not come to its end")
        return self._checked()

    def _post(self, signal: str) -> None:
        if self._store.execution(ID) is None:
            self.timeline.after(SECOND, lambda: self._post(signal))
        else:
            with suppress(Over):  # who sends a signal to what has ended is told so
                self._store.post(ID, "signal", {"name": signal, "data": 1})

    def _lives(self) -> bool:
        """One process, to the end of the execution or to its own; whether it was the former."""
        chance = random.Random("alone")
        disk = CountedDisk(self._store, self._holders, chance, DiskOdds(), lambda: None)
        disk.points = self.points
        self.points.die = disk.crash
        try:
            status = self._driven(disk, chance)
        except Killed:
            return False
        finally:
            self.commits += disk.commits
            disk.crash()
        assert status != "interrupted", "it stops by itself"
        return True

    def _driven(self, disk: Disk, chance: random.Random) -> str:
        by_path, program = self._play.by_path, self._play.program
        programs = {each.digest: each for each in by_path.values()}
        clock, steady = SkewedClock(self.timeline, EPOCH), SkewedClock(self.timeline, 0)
        bus: MemoryBus[Order, Said, Answer] = MemoryBus(clock=steady)
        control = ControlPlane(
            bus, store=disk, blobs=self._blobs, clock=clock, steady=steady, tracker=LocalWorkers(DEFAULT_POOL),
            find=lambda caller, path: by_path[path], load=programs.__getitem__, observe=self._observe,
            batching=self._batching,
        )  # fmt: skip
        self._driven_here = control.executions
        environments = TaskEnvironments(
            lambda digest, needs: programs[digest],
            lambda needs: self._blobs,
            root=".",
            secrets_path="/nonexistent/secrets",
            chance=chance.random,
            log=lambda call, text: None,
        )
        pure = AsyncLauncher(environments.env_of, steady)
        tools = Tools(self.timeline, self._deeds, waits=lambda: TAKES, pure=pure, wake=lambda: None)
        hands = Hands(self, tools)
        worker = Worker(
            bus, pool=DEFAULT_POOL, slots=4, launcher=hands, program_of=environments.program_of,
            context_of=environments.context_of, clock=clock, steady=steady,
        )  # fmt: skip
        embedded = Embedded(Parts(disk, self._blobs, bus, clock, hands, control, worker, StoreRetry()))
        with disk.own(ID):
            if self._store.execution(ID) is None:
                return embedded.start(program, ID, Request({}))
            return embedded.resume(program, ID)

    def _observe(self, execution: Execution, program: Program, event: Event) -> None:
        """A line is shown: what it tells is on disk, and stays there."""
        self.points.reach()
        name = execution.execution_id
        body = self.stored(name).get(event.event_id)
        if body is None:
            raise NotStored(f"{event.event_type} {event.event_id} of {name} is shown and is not on disk")
        self._shown.append((name, event.event_id, body))
        if event.event_type == "playbook.processed" and name == ID:
            self._live = state_of(execution)

    def _checked(self) -> Any:
        logs, programs = {}, {}
        by_digest = {each.digest: each for each in self._play.by_path.values()}
        for row in self._store.executions():
            name, program = row.execution_id, by_digest[row.plan_digest]
            logs[name] = [hydrate(record, self._blobs) for record in self._store.read(name)]
            programs[name] = program
            folded = fold(program, name, logs[name])
            check_execution(program, folded, logs[name], self._live if name == ID else None)
            check_found_by(program, folded, row, self._store)
            if name == ID:
                end = end_of(folded, self._play.play.same)
        check_deeds(programs, logs, self._deeds)
        check_letters(logs, self._store.mailbox.letters())
        for name, event_id, body in self._shown:
            assert self.stored(name).get(event_id) == body, f"{event_id} of {name} was shown and is not in the log"
        return end


class NotStored(BaseException):
    """Raised where something is shown before it is stored. It is no `Exception`, so no turn takes it for its own."""


@cache
def ready_at(number: int) -> Ready:
    """A play, compiled once."""
    return ready(PLAYS[number])


def lives(number: int, at: int, batching: Batching = BEFORE_EFFECTS) -> tuple[Any, int, int]:
    """The end of a play whose process is killed at a point, how many points there were, and how many commits."""
    alone = Alone(ready_at(number), at, batching)
    try:
        return alone.run(), alone.points.reached, alone.commits
    except (AssertionError, NotStored) as problem:
        raise AssertionError(f"{PLAYS[number].name}, killed at point {at}: {problem}") from problem
