"""A simulated cluster: servers, workers, a network, a store, one playbook run once or twice, and what goes wrong.

All of it follows from the seed. Faults end after a while; then everything has to come to its end by itself.
"""

import hashlib
import random
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from typing import Any, NamedTuple

from harness.invariants import state_of
from noetl.app.picture import rows_of
from noetl.engine.execution import WHOLE, Execution
from noetl.engine.program import Program
from noetl.engine.starting import Request
from noetl.ports import Over, Wanted
from noetl.server.journal import EVERY_EVENT, EVERY_ROUND, Batching
from noetl.server.service import Busy
from noetl.server.stored_events import hydrate
from noetl.store.memory import MemoryBlobs
from noetl_ir.events import Event
from simulator.disk import Disk, DiskOdds, Holders
from simulator.effects import waiting_times
from simulator.fetches import SimulatedFetches
from simulator.laws import TOLD, check_deeds, check_execution, check_found_by, check_letters, check_told, end_of, fold
from simulator.network import Network, Odds
from simulator.place_law import WatchedStore
from simulator.plays import PLAYS, Ready, number_of, ready
from simulator.processes import ServerProcess, Shared, WorkerProcess
from simulator.timeline import EPOCH, SECOND, STEP, Timeline

AT_MOST = 3600 * SECOND + 2 * STEP
"""A run that is not over after so long, and nothing goes wrong any more, never is. Who takes it up from its log waits
for due times by a clock that may be as far off as that of who wrote them, the other way."""

FETCHING = 5
"""In one of so many simulations workers fetch plans and values, which takes time, and fails at first now and then."""

QUIET = 75 * SECOND
"""Microseconds without faults in which processes that were left behind have to notice that all is over."""


class Setting(NamedTuple):
    """The settings of a simulation; `seed` decides the rest. Faults come in the first `troubled` microseconds."""

    seed: int
    servers: int = 1
    workers: int = 1
    executions: int = 1
    odds: Odds = Odds()
    disk: DiskOdds = DiskOdds()
    mishaps: int = 0
    troubled: int = 0
    skew: int = 0
    largest: int = 1 << 20
    asks: tuple[tuple[int, str], ...] = ()
    batching: Batching = EVERY_ROUND
    is_mixed: bool = False
    """Whether about half of the processes are of an older version, which reads no batches."""


class Simulated(NamedTuple):
    """The result of a simulation: the ends of the executions by id, and a digest of all logs."""

    ends: dict[str, Any]
    digest: str
    seconds: float


class _Written(NamedTuple):
    """A timer as a server wrote it, having it in mind at that true time."""

    due: int
    since: int
    at: int


def setting_of(seed: int) -> Setting:
    """The simulation of a seed."""
    chance = random.Random(f"{seed} setting")
    pick = chance.choice
    calm = chance.random() < 0.15
    odds = Odds(pick((0, 0.02, 0.1, 0.3)), pick((0, 0.05, 0.3)), pick((0, 0.2, 0.6)), pick((1, 5, 20)) * SECOND)
    disk = DiskOdds(pick((0, 0, 0.03, 0.1)), pick((0, 0, 0.05)), hung=pick((0, 0, 0.02)))
    asks: tuple[tuple[int, str], ...] = ()
    if chance.random() < 0.15:
        asks = ((chance.randint(0, 15 * SECOND), "cancel"),)
    elif chance.random() < 0.2:
        begin = chance.randint(0, 10 * SECOND)
        asks = ((begin, "pause"), (begin + chance.randint(1, 40 * SECOND), "resume"))
    return Setting(
        seed,
        servers=pick((1, 2, 2, 3)),
        workers=pick((1, 2, 3)),
        executions=pick((1, 1, 2)),
        odds=Odds() if calm else odds,
        disk=DiskOdds() if calm else disk,
        mishaps=0 if calm else pick((0, 2, 4, 8)),
        troubled=pick((15, 40, 90)) * SECOND,
        skew=pick((0, 0, SECOND, 20 * SECOND)),
        largest=pick((1 << 20, 1 << 20, 1 << 20, 1_500)),
        asks=asks,
        batching=EVERY_EVENT if random.Random(f"{seed} batching").random() < 0.25 else EVERY_ROUND,
        is_mixed=random.Random(f"{seed} mixed").random() < 0.25,
    )


@cache
def ready_at(number: int) -> Ready:
    """A play, compiled once."""
    return ready(PLAYS[number])


class World:
    """One simulation. Its tools take `takes` microseconds, or as long as the seed says."""

    def __init__(self, play: Ready, setting: Setting, takes: int | None = None) -> None:
        self._takes = takes
        self._play = play
        self._setting = setting
        self._chance = random.Random(f"{setting.seed} faults")
        self.timeline = Timeline()
        network = Network(self.timeline, self._stream("network"), setting.odds, setting.largest, self._is_older)
        by_path = play.by_path
        self._shared = Shared(
            self.timeline, network, WatchedStore(now=lambda: self.timeline.now), Holders(self.timeline), MemoryBlobs(),
            {each.digest: each for each in by_path.values()},
            {path: each.digest for path, each in by_path.items()}, Counter(),
        )  # fmt: skip
        self._shared.store.outbox.watch_ends(TOLD, top=False)
        self._live: dict[str, Any] = {}
        self._timers: dict[tuple[str, str], tuple[Execution, dict[str, _Written]]] = {}
        self._disks: dict[str, Disk] = {}
        self._wrong: list[str] = []
        self._over_at: dict[str, int] = {}
        self.logs: dict[str, list[Event]] = {}
        self._numbers = Counter[str]()
        self._is_troubled = True
        self._wrong: list[Exception] = []
        self._calm_at = setting.troubled
        self.servers = [self._new_server() for _ in range(setting.servers)]
        pools = ["default", "blue"] if play.play.name == "pools" else ["default"]
        self.workers = [self._new_worker(pool) for pool in pools for _ in range(setting.workers)]
        self.roots = [f"e{number}" for number in range(setting.executions)]

    def run(self) -> Simulated:
        """Run to the end and check everything."""
        self._plan()
        while not self._is_over():
            moved = self.timeline.advance()
            assert moved and self.timeline.now < AT_MOST, f"it never ends: {self._statuses()}"
        over_at = self.timeline.now
        while self.timeline.now < over_at + QUIET:
            self.timeline.advance()
        if self._wrong:
            raise AssertionError(f"a watcher saw what must not be: {self._wrong[0]!r}") from self._wrong[0]
        return self._checked()

    def _plan(self) -> None:
        setting, chance = self._setting, self._chance
        for name in self.roots:
            self.timeline.after(chance.randint(0, 2 * SECOND), lambda name=name: self._start(name))
        for seconds, signal in self._play.play.signals:
            time = round(seconds * SECOND)
            self.timeline.at(time, lambda signal=signal: self._post_all("signal", {"name": signal, "data": 1}))
        for name in self.roots:
            self._ask(name, setting.asks)
        for _ in range(setting.mishaps):
            self.timeline.at(chance.randint(0, setting.troubled), self._mishap)
        self.timeline.at(setting.troubled, self._heal)

    def _start(self, name: str) -> None:
        """A client asks a server to start an execution, and asks again until it is there."""
        if self._shared.store.execution(name) is not None:
            return
        server = self._chance.choice(self.servers)
        request = Request({})
        if server.life.is_alive:
            with suppress(Busy):
                server.service.do(lambda control: control.own_and_start(self._play.program, name, request))
        self.timeline.after(3 * SECOND, lambda: self._start(name))

    def _ask(self, name: str, asks: tuple[tuple[int, str], ...]) -> None:
        """Ask one thing after the other, each once the execution is there."""
        if not asks:
            return
        time, verb = asks[0]
        if self.timeline.now < time or self._shared.store.execution(name) is None:
            self.timeline.at(max(time, self.timeline.now + SECOND), lambda: self._ask(name, asks))
            return
        self._post(name, verb, None)
        self._ask(name, asks[1:])

    def _post_all(self, verb: str, body: Any) -> None:
        for name in self.roots:
            self._post(name, verb, body)

    def _post(self, name: str, verb: str, body: Any) -> None:
        if self._shared.store.execution(name) is None:
            self.timeline.after(SECOND, lambda: self._post(name, verb, body))
            return
        with suppress(Over):  # who sends a signal to what has ended is told so
            self._shared.store.post(name, verb, body)
        for server in self.servers:
            self.timeline.after(200_000, server.life.wake)

    def _mishap(self) -> None:
        """Something happens to a process, or to the disk of the network."""
        chance = self._chance
        server, worker = chance.choice(self.servers), chance.choice(self.workers)
        length = chance.choice((2, 12, 35, 80)) * SECOND
        self._calm_at = max(self._calm_at, self.timeline.now + length)
        match chance.choice(MISHAPS):
            case "server dies":
                server.die()
            case "worker dies":
                self.kill(worker)
            case "server stands":
                self._stand(server, length)
            case "server is taken for dead":
                self._stand(server, length)
                server.disk.lose_ownership()
            case "worker stands":
                self._stand(worker, length)
            case "server is cut off":
                self._cut(server, length)
            case "worker is cut off":
                self._cut(worker, length)
            case "worker leaves":
                worker.worker.take_no_more()
                worker.life.wake()
                self.timeline.after(length, lambda: self.kill(worker))
            case "clock is set":
                chance.choice((server, worker)).wall.ahead = EPOCH + chance.choice((STEP, -STEP))
            case "queues are lost":
                self._shared.network.wipe()

    def _stand(self, process: ServerProcess | WorkerProcess, length: int) -> None:
        process.stop()
        self.timeline.after(length, process.go_on)

    def _hang(self, server: ServerProcess) -> None:
        """A server stands still just before a commit: all others go on, and then it commits what it had in mind."""
        until = self.timeline.now + self._chance.choice((2, 12, 35)) * SECOND
        self._calm_at = max(self._calm_at, until)
        self.timeline.at(until, lambda: None)
        server.stop()
        while self.timeline.now < until:
            self.timeline.advance()
        server.go_on()
        while server.disk.stopped is not None and server.life.is_alive:  # it was stopped once more meanwhile
            self.timeline.advance()

    def _cut(self, process: ServerProcess | WorkerProcess, length: int) -> None:
        process.endpoint.is_linked = False

        def link() -> None:
            process.endpoint.is_linked = True
            process.life.wake()

        self.timeline.after(length, link)

    def kill(self, worker: WorkerProcess) -> None:
        """End a worker as by SIGKILL; another one comes."""
        if worker.life.is_alive:
            worker.die()
            self._again(lambda: self._replace_worker(worker))

    def _replace_worker(self, worker: WorkerProcess) -> None:
        self.workers[self.workers.index(worker)] = self._new_worker(worker.pool)

    def _again(self, start: Callable[[], None]) -> None:
        self.timeline.after(self._chance.randint(0, 15 * SECOND), start)

    def _new_server(self) -> ServerProcess:
        self._numbers["server"] += 1
        name = f"server{self._numbers['server']}"
        odds = self._setting.disk if self._is_troubled else DiskOdds()
        server = ServerProcess(
            self._shared,
            self._stream(name),
            name,
            odds=odds,
            skew=self._skew(),
            observe=partial(self._observe, name),
            batching=self._setting.batching,
        )
        self._disks[name] = server.disk
        server.disk.hang = lambda: self._hang(server)
        server.died = lambda: self._again(lambda: self._replace_server(server))
        return server

    def _replace_server(self, server: ServerProcess) -> None:
        self.servers[self.servers.index(server)] = self._new_server()

    def _new_worker(self, pool: str) -> WorkerProcess:
        self._numbers["worker"] += 1
        name = f"worker{self._numbers['worker']}"
        chance = self._stream(name)
        slots = chance.choice((1, 2, 4))
        takes = self._takes
        waits = waiting_times(chance) if takes is None else lambda: takes
        fetches = None
        if self._setting.seed % FETCHING == FETCHING - 1:
            fetches = SimulatedFetches(self._shared.timeline, self._stream(f"{name} fetches"))
        return WorkerProcess(
            self._shared, chance, name, pool=pool, slots=slots, skew=self._skew(), waits=waits, fetches=fetches
        )

    def _skew(self) -> int:
        return self._chance.randint(-self._setting.skew, self._setting.skew)

    def _is_older(self, name: str) -> bool:
        return self._setting.is_mixed and self._stream(f"{name} older").random() < 0.5

    def _stream(self, name: str) -> random.Random:
        return random.Random(f"{self._setting.seed} {name}")

    def _heal(self) -> None:
        self._is_troubled = False
        self._shared.network.heal()
        for server in self.servers:
            server.disk.heal()

    def _observe(self, server: str, execution: Execution, program: Program, event: Event) -> None:
        try:
            self._check_timers(server, execution, event)
            # Whatever stands can be shown.
            for _ in rows_of(program, execution):
                pass
        except Exception as problem:  # a server goes on whatever a watcher raises
            self._wrong.append(problem)
        if event.event_type == "playbook.processed":
            self._live[execution.execution_id] = state_of(execution)
            self._over_at.setdefault(execution.execution_id, self.timeline.now)

    def _check_timers(self, server: str, execution: Execution, event: Event) -> None:
        """Check that a timer has lasted its time when the server that set it fires it, whatever its wall clock did."""
        driven, mine = self._timers.get((server, execution.execution_id), (None, {}))
        if driven is not execution:  # taken up from its log: from there on the due times in it hold
            mine = {}
            self._timers[server, execution.execution_id] = execution, mine
        if event.event_type == "timer.fired" and (timer := mine.pop(str(event.data["timer"]), None)) is not None:
            early = timer.due - timer.since - (self.timeline.now - timer.at)
            if early >= SECOND:  # raised here it would be a mistake of the engine, which ends the execution
                self._wrong.append(f"a timer of {execution.execution_id} fired {early / SECOND} s before its time")
        for name, timer in execution.timers.items():
            there = mine.get(name)
            is_its = timer.since == event.ts and (timer.kind in ("land", WHOLE) or name.split()[1] == event.run)
            if is_its and (there is None or there[:2] != (timer.due, timer.since)):
                mine[name] = _Written(timer.due, timer.since, self._disks[server].decided)

    def _is_over(self) -> bool:
        store = self._shared.store
        if self.timeline.now < self._calm_at:
            return False
        return all(store.execution(name) for name in self.roots) and not store.executions(Wanted(open=True, limit=1))

    def _statuses(self) -> dict[str, str]:
        rows = {row.execution_id: row.status for row in self._shared.store.executions()}
        return {name: rows.get(name, "not started") for name in {*self.roots, *rows}}

    def _checked(self) -> Simulated:
        store, blobs = self._shared.store, self._shared.blobs
        logs, programs, ends = self.logs, {}, {}
        hashed = hashlib.sha256()
        for row in sorted(store.executions(), key=lambda row: row.execution_id):
            name, program = row.execution_id, self._shared.programs[row.plan_digest]
            records = [*store.read(name)]
            log = logs[name] = [hydrate(record, blobs) for record in records]
            programs[name] = program
            for record in records:
                hashed.update(record.body)
            folded = fold(program, name, log)
            check_execution(program, folded, log, self._live.get(name))
            check_found_by(program, folded, row, store)
            ends[name] = end_of(folded, self._play.play.same)
            if folded.parent is not None and folded.status != "cancelled":
                late = self._over_at.get(name, 0) > self._over_at.get(folded.parent[0], AT_MOST)
                assert not late, f"{name} went on to be {folded.status} after its caller was over"
        assert not self._wrong, self._wrong[0]
        assert not store.wrong, store.wrong
        check_deeds(programs, logs, self._shared.deeds)
        check_letters(logs, store.mailbox.letters())
        check_told(store)
        self._check_nothing_left()
        return Simulated(ends, hashed.hexdigest(), self.timeline.now / SECOND)

    def _check_nothing_left(self) -> None:
        """No process has anything left of what is over, nor have the queues."""
        for worker in self.workers:
            assert not worker.worker.busy and not worker.tools.running, f"a slot of {worker.name} is left busy"
        for server in self.servers:
            control = server.control
            assert not control.executions, f"{server.name} still drives {[*control.executions]}"
            assert not control._owned.owned() and not server.leases._of, f"{server.name} keeps what is over"
        assert not self._shared.network.left_over(), "orders are left in the queues"
        assert not self._shared.network.dead_letters, f"given up: {self._shared.network.dead_letters}"


MISHAPS = (
    "server dies", "server dies", "worker dies", "worker dies", "server stands", "server is taken for dead",
    "worker stands", "server is cut off", "worker is cut off", "worker leaves", "queues are lost",
    "clock is set", "clock is set",
)  # fmt: skip


@cache
def undisturbed(number: int) -> Any:
    """The end of a play without faults."""
    return World(ready_at(number), Setting(seed=0)).run().ends["e0"]


def simulate(seed: int) -> Simulated:
    """Run the simulation of a seed; raises AssertionError that says how to run it again."""
    number = number_of(seed)
    play, setting = ready_at(number), setting_of(seed)
    if play.program.plan.concurrency is not None:  # two alone never pass each other in a queue
        setting = setting._replace(executions=2 * setting.executions)
    try:
        world = World(play, setting)
        ran = world.run()
        if "cancel" not in {verb for _, verb in setting.asks}:
            for name in world.roots:
                wanted = undisturbed(number)
                assert ran.ends[name] == wanted, f"{name} came to {ran.ends[name]} instead of {wanted}"
        return ran
    except Exception as problem:
        text = f"seed {seed} ({play.play.name}, SIMULATOR_SEED={seed}): {type(problem).__name__}: {problem}"
        raise AssertionError(text) from problem
