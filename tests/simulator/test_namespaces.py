"""Two teams on one simulated cluster: the one that floods it has its quota and its share, and the other is served."""

import random
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress

import pytest

from harness.running import HEAD
from noetl.engine.starting import Request
from noetl.ports import Busy, ExecutionRow, Wanted
from noetl.ports.namespaces import NamespaceRow
from noetl.server.journal import EVERY_ROUND
from noetl.server.namespaces.document import namespace_of
from noetl.store.memory import MemoryBlobs, MemoryStore
from noetl_ir.expr import Json
from simulator.disk import DiskOdds, Holders
from simulator.network import Network, Odds
from simulator.plays import Play, ready
from simulator.processes import ServerProcess, Shared, WorkerProcess
from simulator.timeline import SECOND, Timeline

STEP = 'workflow: [{step: start, tool: {name: a, kind: http, url: "http://x/a"}}]\n'
PROGRAMS = {
    path: ready(Play(path, HEAD.replace("t/t", path) + STEP)).program for path in ("flood/x", "quiet/x", "quiet/ml/x")
}
SLOTS, TAKES = 2, SECOND
"""Slots of each of two workers, and how long a task takes."""

NAMESPACES = (NamespaceRow("flood", {}, "flood/"), NamespaceRow("quiet", {}, "quiet/"))
ALWAYS_OPEN = 30


class CountedStore(MemoryStore):
    """A store that knows the most executions of a path that were open at one commit."""

    def __init__(self, timeline: Timeline) -> None:
        super().__init__(now=lambda: timeline.now)
        self.most = Counter[str]()

    def create(self, row: ExecutionRow, *rest: object, **more: object) -> None:
        """`Store.create`."""
        super().create(row, *rest, **more)  # type: ignore[arg-type]
        count = sum(each.playbook == row.playbook for each in self.executions(Wanted(open=True)))
        self.most[row.playbook] = max(self.most[row.playbook], count)


class Teams:
    """A cluster, with clients that ask for a start until they have it."""

    def __init__(self, seed: int, namespaces: Sequence[NamespaceRow], odds: Odds | None = None) -> None:
        self.chance = random.Random(seed)
        self.timeline = Timeline()
        self.store = CountedStore(self.timeline)
        for row in namespaces:
            self.store.namespaces.put(row)
        self.network = Network(self.timeline, random.Random(f"{seed} network"), odds or Odds(), 1 << 20)
        self.shared = Shared(
            self.timeline, self.network, self.store, Holders(self.timeline), MemoryBlobs(),
            {each.digest: each for each in PROGRAMS.values()}, {}, Counter(),
        )  # fmt: skip
        self.count = 0
        self.servers = [self.new_server() for _ in range(2)]
        self.hired = 0
        self.most_at_work = Counter[str]()
        self.workers = [self.new_worker() for _ in range(2)]
        self.asked: dict[str, int] = {}
        self.ended: dict[str, int] = {}

    def new_server(self) -> ServerProcess:
        """A server, which another one follows when it dies."""
        self.count += 1
        server = ServerProcess(
            self.shared, random.Random(self.chance.random()), f"server{self.count}", odds=DiskOdds(), skew=0,
            observe=lambda execution, program, event: self.observe(execution.execution_id, event.event_type),
            batching=EVERY_ROUND,
        )  # fmt: skip
        server.died = lambda: self.timeline.after(3 * SECOND, lambda: self.replace(server))
        return server

    def replace(self, server: ServerProcess) -> None:
        """Another server comes for one that died."""
        self.servers[self.servers.index(server)] = self.new_server()

    def observe(self, name: str, kind: str) -> None:
        """An event is on disk."""
        if kind == "playbook.processed":
            self.ended.setdefault(name, self.timeline.now)

    def ask_at(self, time: int, name: str, path: str) -> None:
        """A client asks at a time, and again until it is there."""
        self.timeline.at(time, lambda: self.ask(name, path))

    def ask(self, name: str, path: str) -> None:
        """Ask any server for a start."""
        self.asked.setdefault(name, self.timeline.now)
        if self.store.execution(name) is not None:
            return
        server = self.chance.choice(self.servers)
        if server.life.is_alive:
            with suppress(Busy):
                server.service.do(lambda control: control.own_and_start(PROGRAMS[path], name, Request({})))
        self.timeline.after(2 * SECOND, lambda: self.ask(name, path))

    def run(self, until: int) -> None:
        """Let time pass until all that was asked for is over."""
        while len(self.ended) < len(self.asked) or self.timeline.now < until:
            assert self.timeline.advance() and self.timeline.now < 2_000 * SECOND, "it never ends"
            for path, count in self.at_work().items():
                self.most_at_work[path] = max(self.most_at_work[path], count)

    def at_work(self) -> Counter[str]:
        """How many tools run now of each playbook."""
        tools = [row[2] for each in self.workers if each.life.is_alive for row in each.tools._running]
        names = [ticket.session.order.execution_id for ticket in tools]  # type: ignore[attr-defined]
        return Counter(row.playbook for name in names if (row := self.store.execution(name)) is not None)

    def new_worker(self) -> WorkerProcess:
        """A worker, which another one follows when it dies."""
        self.hired += 1
        return WorkerProcess(
            self.shared, random.Random(self.chance.random()), f"worker{self.hired}", pool="default", slots=SLOTS,
            skew=0, waits=lambda: TAKES,
        )  # fmt: skip

    def kill_worker(self) -> None:
        """One dies, and another one comes."""
        number = self.chance.randrange(len(self.workers))
        self.workers[number].die()
        self.workers[number] = self.new_worker()

    def took(self, path: str) -> list[float]:
        """How many seconds each took, from its being asked for to its end."""
        rows = [row for row in self.store.executions() if row.playbook == path]
        return sorted((self.ended[row.execution_id] - self.asked[row.execution_id]) / SECOND for row in rows)


def flooded(seed: int, namespaces: Sequence[NamespaceRow]) -> Teams:
    """Two hundred of one team at once, and now and then one of the other."""
    teams = Teams(seed, namespaces)
    for number in range(200):
        teams.ask_at(5 * SECOND, f"flood{number}", "flood/x")
    for number in range(5):
        teams.ask_at((8 + 4 * number) * SECOND, f"quiet{number}", "quiet/x")
    teams.run(30 * SECOND)
    return teams


@pytest.mark.parametrize("seed", range(4))
def test_whoever_has_little_to_do_is_served_beside_a_flood(seed: int) -> None:
    shared, alone = flooded(seed, NAMESPACES), flooded(seed, ())
    # 16 lie on the bus for four slots, each for a second: four seconds, one for the task itself, and the ways there.
    assert shared.took("quiet/x")[-1] < 8
    assert alone.took("quiet/x")[0] > 20, "without namespaces it waits for all that came before"
    # And it costs the others nothing: 205 tasks of a second in four slots.
    assert abs(shared.took("flood/x")[-1] - alone.took("flood/x")[-1]) < 8


@pytest.mark.parametrize("seed", range(3))
def test_an_order_that_the_bus_lost_comes_again_though_others_wait(seed: int) -> None:
    teams = Teams(seed, NAMESPACES)
    for number in range(600):
        teams.ask_at(5 * SECOND, f"flood{number}", "flood/x")
    for number in range(4):
        teams.ask_at(8 * SECOND, f"quiet{number}", "quiet/x")
    teams.timeline.at(10 * SECOND, teams.network.wipe)
    teams.run(20 * SECOND)
    # It is missed at the second look behind the loss, of which there is one each 30 s; the flood takes 150 s.
    assert 30 < teams.took("quiet/x")[-1] < 75
    assert teams.took("flood/x")[-1] > 140


@pytest.mark.parametrize("seed", range(6))
def test_a_quota_holds_while_servers_die_and_no_place_stays_taken(seed: int) -> None:
    quota = NAMESPACES[0]._replace(open_executions=ALWAYS_OPEN, starts_per_minute=600, burst=60)
    teams = Teams(seed, (quota, NAMESPACES[1]), Odds(0.02, 0.05, 0.2, SECOND))
    for number in range(120):
        teams.ask_at(teams.chance.randint(2 * SECOND, 20 * SECOND), f"flood{number}", "flood/x")
    for time in (6, 9, 15, 22, 31):
        teams.timeline.at(time * SECOND, lambda: teams.chance.choice(teams.servers).die())
    teams.run(40 * SECOND)
    assert teams.store.most["flood/x"] == ALWAYS_OPEN
    assert len(teams.ended) == 120
    (use,) = teams.store.namespaces.uses((quota,))
    assert use.open == 0


@pytest.mark.parametrize("seed", range(6))
def test_a_limit_in_a_pool_holds_while_servers_and_workers_die(seed: int) -> None:
    """Of four slots one team has three at most, over both servers; the other one goes on beside it."""
    spec: dict[str, Json] = {"prefix": "flood/", "pools": {"default": 3}}
    document: dict[str, Json] = {
        "apiVersion": "noetl.io/v2", "kind": "Namespace", "metadata": {"name": "flood"}, "spec": spec,
    }  # fmt: skip
    teams = Teams(seed, (namespace_of(document), NAMESPACES[1]))
    for number in range(80):
        teams.ask_at(teams.chance.randint(2 * SECOND, 6 * SECOND), f"flood{number}", "flood/x")
    for number in range(6):
        teams.ask_at((7 + 3 * number) * SECOND, f"quiet{number}", "quiet/x")
    for time in (9, 14, 22):
        teams.timeline.at(time * SECOND, lambda: teams.chance.choice(teams.servers).die())
        teams.timeline.at(time * SECOND + SECOND // 3, teams.kill_worker)
    teams.run(30 * SECOND)
    assert len(teams.ended) == 86
    assert teams.most_at_work["flood/x"] == 3
    # A death costs an order that was at work a lease, of 30 s, and its server some; no flood is waited for.
    assert teams.took("quiet/x")[2] < 8
    teams.run(teams.timeline.now + 90 * SECOND)
    assert teams.network.left_over() == 0, "nothing stays in a lane"
