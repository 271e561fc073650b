"""Real processes and servers, killed or stopped at random for a while, and a full disk: what was begun ends right.

The choices are those of a seed; when things happen is not, so each run of this test is another one.
"""

import signal
import time
from collections import Counter
from collections.abc import Sequence
from random import Random

import pytest

from harness.blows import KILLS, deal
from harness.clusters import Cluster, Process, full_postgres
from noetl_ir.events import Event
from services import waited_for
from simulator.laws import check_execution, fold

PAUSE = 1.0
"""Seconds between two blows."""

HANGS = {"server hangs": 14 * PAUSE, "worker hangs": 5 * PAUSE}
"""Seconds for which a process stands still: longer than its lease, so that another one has what it had."""

ALL = [*KILLS, "full", *HANGS, *Random(5).choices(["server", "worker", "worker", *HANGS], k=13)]
"""Each of them, and more of those that may happen at any time."""

BODY = """
workflow:
  - step: start
    loop: {in: "{{ range(3) | list }}", iterator: n, spec: {mode: parallel, max_in_flight: 2}}
    tool: {name: each, kind: noop, args: {n: "{{ iter.n }}"}}
    next: {spec: {mode: inclusive}, arcs: [{step: act}, {step: late, spec: {delay: 2}}]}
  - step: act
    tool: {name: act, kind: shell, command: "echo {{ execution_id }} >> calls"}
    next: {arcs: [{step: last}]}
  - {step: late, tool: {kind: noop}, next: {arcs: [{step: last}]}}
  - {step: last, spec: {policy: {join: all}}, tool: {kind: noop, result: "{{ start }}"}}
"""


class Hung:
    """Processes that stand still, and until when; they are nobody else's meanwhile."""

    def __init__(self) -> None:
        self._until: list[tuple[float, Process, list[Process]]] = []

    def stop(self, among: list[Process], number: int, seconds: float) -> None:
        """Have one of some processes stand still."""
        child = among.pop(number)
        child.send_signal(signal.SIGSTOP)
        self._until.append((time.monotonic() + seconds, child, among))

    def wake(self) -> bool:
        """Have those go on whose time has come; whether there are others."""
        now = time.monotonic()
        for until, child, among in self._until:
            if until <= now:
                child.send_signal(signal.SIGCONT)
                among.append(child)
        self._until = [each for each in self._until if each[0] > now]
        return bool(self._until)


@pytest.mark.parametrize(("executions", "dealt"), [(40, KILLS), pytest.param(200, ALL, marks=pytest.mark.long)])
def test_whatever_is_killed_or_hangs_all_executions_end_right(
    executions: int, dealt: Sequence[str], cluster: Cluster
) -> None:
    chance = Random(5)
    servers = [cluster.server(), cluster.server()]
    workers = [cluster.worker("--slots", "8") for _ in range(3)]
    first = cluster.begin(BODY, servers[0])
    names = [first, *cluster.flooded(first, servers[0], executions - 1)]
    blows = chance.sample(dealt, len(dealt))
    hung = Hung()
    for blow in blows:
        time.sleep(PAUSE)
        hung.wake()
        match blow:
            case "server hangs" if len(servers) > 1:
                hung.stop(servers, chance.randrange(len(servers)), HANGS[blow])
            case "worker hangs" if len(workers) > 1:
                hung.stop(workers, chance.randrange(len(workers)), HANGS[blow])
            case "full":
                with full_postgres(cluster):
                    time.sleep(3 * PAUSE)
            case _ if blow in KILLS:
                deal(blow, cluster, servers, workers, chance)
    while hung.wake():
        time.sleep(PAUSE)
    _all_end_right(cluster, names)


def _all_end_right(cluster: Cluster, names: list[str]) -> None:
    with cluster.looking() as runtime:
        waited_for(lambda: not runtime.store.counts().get("running"), "not all come to their end", 150)
        effects, claims = Counter(cluster.lines()), Counter[str]()
        for name in names:
            row = runtime.store.execution(name)
            assert row is not None and row.status == "completed", row
            program = runtime.program_of(name)
            log = [event for _, event in runtime.events(name)]
            folded = fold(program, name, log)
            check_execution(program, folded, log, None)
            assert folded.last_result == [{"n": 0}, {"n": 1}, {"n": 2}], name
            claims[name] = _claims_of(program.step_numbers["act"], log)
    assert set(effects) == set(names), "an effect is missing"
    assert not effects - claims, "an effect happened twice under one claim"


def _claims_of(step: int, log: list[Event]) -> int:
    return sum(event.event_type == "task.started" and event.step == step for event in log)
