"""Over a server and workers in processes of their own, PostgreSQL and NATS, a run is what it is in one process.

All golden runs go through one cluster at the same time. Its clock is moved from one time at which the goldens have
events to the next, each time once every run has got as far as its golden has.
"""

from collections.abc import Iterator
from contextlib import closing, suppress
from typing import NamedTuple

import pytest
import yaml

import goldens
from faulty_bus import FaultyBus, Odds
from harness.clusters import Cluster
from harness.running import Ran, bus_made, compiled
from harness.samples import some
from harness.stepped import Stage
from harness.tokens import Histories, histories
from noetl.app.runtime import Runtime
from noetl.engine.program import Program
from noetl.ports import Wanted
from noetl.ports.bus import Delivery
from noetl.store.http import Connection
from noetl.worker.scripted import ScriptedLauncher, read_script
from noetl_ir.events import Event
from noetl_ir.expr import Json
from services import waited_for
from views.events import Input, input_of, ran

REFUSED = frozenset({"workload_input_missing"})
"""Runs that no server starts: it says before the first event what is missing."""

CASES = {
    case.name: case
    for case in goldens.cases()
    # Places under keys are of a whole store: all at the same time, these would wait for each other.
    if case.stage == "run" and case.name not in REFUSED and not case.name.startswith("places_")
}
SECOND = 1_000_000
Logs = dict[str, tuple[Program, list[Event]]]
Ask = tuple[int, str, Json]
"""When, the verb, and the body."""


class Running(NamedTuple):
    """A golden run on its way: its execution, what was asked for at which time, and what happens in one process."""

    execution_id: str
    asks: list[Ask]
    alone: Ran


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, tuple[Running, Logs]]]:
    """Every golden run and the logs that it left in the cluster."""
    cluster = Cluster(tmp_path_factory.mktemp("cluster"), "harness.stepped")
    try:
        stage = Stage(cluster.folder)
        server = cluster.server()
        with closing(Connection(cluster.urls[server.pid])) as api, cluster.looking() as runtime:
            running = {name: _begun(api, stage, case) for name, case in CASES.items()}
            for _ in range(2):
                cluster.worker("--slots", "256")  # whatever waits for its time holds one
            _played(api, stage, runtime, [*running.values()])
            yield {name: (each, _logs(runtime, each.execution_id)) for name, each in running.items()}
    finally:
        cluster.stop()


@pytest.mark.parametrize("name", CASES)
def test_a_golden_run_over_processes_is_what_it_is_in_one(name: str, there: dict[str, tuple[Running, Logs]]) -> None:
    running, logs = there[name]
    assert _told(histories(running.execution_id, logs)) == _told(histories("e1", _seen(running.alone)))


class _LatestFirst(FaultyBus[object, object, object]):
    """A bus that hands out the last order first."""

    def take(self, pool: str) -> Delivery[object] | None:
        """`Bus.take`."""
        waiting = self._delayed.setdefault(pool, [])
        while (delivery := self._inner.take(pool)) is not None:
            waiting.append((0, delivery))
        return waiting.pop()[1] if waiting else None


@pytest.mark.parametrize("name", some(CASES, 4))
def test_a_golden_run_hangs_on_no_order_of_what_ends_at_one_time(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes race: a golden that one order of two outcomes makes would differ there now and then, for no fault."""
    first = ran(CASES[name])
    forward = ScriptedLauncher.finished
    monkeypatch.setattr(ScriptedLauncher, "finished", lambda self: forward(self)[::-1])
    with bus_made(lambda bus: _LatestFirst(bus, Odds(), 0)):
        turned = ran(CASES[name])
    assert _told(histories("e1", _seen(turned))) == _told(histories("e1", _seen(first)))


def _begun(api: Connection, stage: Stage, case: goldens.Case) -> Running:
    source = input_of(case)
    row = api.object_of(api.ask("POST", "/playbooks", raw=compiled(source.text)))
    start = {"playbook_id": row["playbook_id"], "payload": source.payload}
    execution_id = str(api.json("POST", "/executions", data=start)["execution_id"])
    stage.play(execution_id, source.script)
    return Running(execution_id, _asks(source), ran(case))


def _asks(source: Input) -> list[Ask]:
    """The requests that people make, in the order of time."""
    asked: list[Ask] = [(round(seconds * SECOND), verb, {}) for seconds, verb in source.asked.items()]
    signals: list[Ask] = [
        (each.at, "signal", {"name": each.name, "data": each.data})
        for each in read_script(yaml.safe_load(source.script) or {}).signals
    ]
    return sorted([*asked, *signals], key=lambda ask: ask[0])


def _played(api: Connection, stage: Stage, runtime: Runtime, running: list[Running]) -> None:
    """Move the clock from time to time until all is over, or one is behind: the comparison says how far it got."""
    times = {event.ts for each in running for _, _, event in each.alone.seen}
    for now in sorted(times | {at for each in running for at, _, _ in each.asks}):
        stage.move_to(now)
        for each in running:
            for _, verb, body in (ask for ask in each.asks if ask[0] == now):
                api.ask("POST", f"/executions/{each.execution_id}/{verb}", data=body)
        lengths = {each.execution_id: sum(event.ts <= now for _, _, event in each.alone.seen) for each in running}
        if not _all_reach(runtime, lengths):
            return


def _all_reach(runtime: Runtime, lengths: dict[str, int]) -> bool:
    """Wait until executions, with those that they called, have that many events."""

    def reach() -> bool:
        while lengths:
            root, wanted = next(iter(lengths.items()))
            if sum(len(log) for _, log in _logs(runtime, root).values()) < wanted:
                return False
            del lengths[root]
        return True

    with suppress(AssertionError):
        waited_for(reach, "some are behind")
    return not lengths


def _logs(runtime: Runtime, root: str) -> Logs:
    """The logs of an execution and of those that it called."""
    logs = {root: (runtime.program_of(root), [event for _, event in runtime.events(root)])}
    for row in runtime.store.executions(Wanted(parent=root)):
        logs |= _logs(runtime, row.execution_id)
    return logs


def _seen(alone: Ran) -> Logs:
    logs: Logs = {}
    for execution_id, program, event in alone.seen:
        logs.setdefault(execution_id, (program, []))[1].append(event)
    return logs


def _told(found: Histories) -> list[str]:
    """Histories as lines, so that a difference is easy to see."""
    return [f"{execution}: {token}: {row}" for (execution, token), rows in sorted(found.items()) for row in rows]
