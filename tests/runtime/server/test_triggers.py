"""Each end that a trigger waits for has one start, whatever dies."""

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from noetl.clients.compiler import mapping_of
from noetl.ports import ExecutionRow, Taken
from noetl.ports.idempotency import StartKey
from noetl.ports.triggers import TriggerRow
from noetl.server.schedules.starter import StartRefused
from noetl.server.triggers import starter as starting
from noetl.server.triggers.document import NAMES, trigger_of
from noetl.server.triggers.mapping import NotMapped, TriggerMapping
from noetl.server.triggers.starter import ChainPlace, TriggeredStart, TriggerStarter
from noetl.store.memory import MemoryStore
from noetl_ir.expr import Json

POINTS = tuple(
    f"{operation}.{where}"
    for operation in ("create", "trigger")
    for where in ("before_write", "before_commit", "after_commit")
)


class Clock:
    def now(self) -> int:
        return 1


class Killed(BaseException):
    """The server died."""


def document(name: str, **spec: Json) -> dict[str, Json]:
    told: dict[str, Json] = {"playbook": "t/next", "after": {"playbook": "t/*"}, **spec}
    return {"apiVersion": "noetl.io/v2", "kind": "Trigger", "metadata": {"name": name}, "spec": told}


def row_of(name: str, **spec: Json) -> TriggerRow:
    trigger = trigger_of(document(name, **spec))
    templates, problems = mapping_of(trigger.values, dict.fromkeys(trigger.values, NAMES[trigger.kind]))
    assert problems == []
    return TriggerRow(name, trigger.kind, document(name, **spec), templates)


class Cluster:
    """A store, and what was started in it behind which end."""

    def __init__(self) -> None:
        self.store = MemoryStore(hook=self._reach)
        self.die_at = Counter[str]()
        self.number = 0

    def _reach(self, point: str) -> None:
        self.die_at[point] -= 1
        if self.die_at[point] == 0:
            raise Killed(point)

    def starter(self) -> TriggerStarter:
        """A server's."""

        def begin(start: TriggeredStart) -> str:
            self.number += 1
            name = f"s{self.number}"
            row = ExecutionRow(name, "other", str(start.started_by), "running", None, 1, None)
            try:
                self.store.create(row, [("a", b"")], key=StartKey(start.key, ""))
            except Taken as taken:
                return taken.execution_id
            return name

        def scope(row: ExecutionRow, names: frozenset[str]) -> tuple[dict[str, object], ChainPlace]:
            return {"execution_id": row.execution_id}, ChainPlace()

        return TriggerStarter(self.store, self.store.triggering, Clock(), begin, scope)

    def end(self, name: str, ended: int) -> None:
        """An execution begins and comes to its end."""
        self.store.create(ExecutionRow(name, "t/t", "d", "running", None, 1, None), [("a", b"")])
        self.store.append(name, 1, [("b", b"")], status="completed", ended=ended)

    def starts(self) -> Counter[str]:
        """How many executions were started behind each end, by trigger and execution."""
        return Counter(row.plan_digest for row in self.store.executions() if row.playbook == "other")


def lived(seed: int) -> tuple[Cluster, int, int]:
    """A cluster after many ends and deaths, with how many those were."""
    chance, cluster, ends, deaths = random.Random(seed), Cluster(), 0, 0
    for name in ("a", "b"):
        cluster.store.triggering.put(row_of(name))
    starters = [cluster.starter() for _ in range(3)]
    for _ in range(400):
        if chance.random() < 0.4:
            ends += 1
            cluster.end(f"e{ends}", chance.randrange(9))
        number = chance.randrange(3)
        if chance.random() < 0.5:
            cluster.die_at[chance.choice(POINTS)] = chance.randrange(1, 4)
        try:
            starters[number].look()
        except Killed:
            deaths += 1
            starters[number] = cluster.starter()
        cluster.die_at.clear()
    for starter in starters:
        starter.look()
    return cluster, ends, deaths


@pytest.mark.parametrize("seed", range(12))
def test_each_end_has_one_start_for_each_trigger_whichever_servers_live_and_die(seed: int) -> None:
    cluster, ends, deaths = lived(seed)
    assert deaths > 20
    starts = cluster.starts()
    assert len(starts) == 2 * ends and set(starts.values()) == {1}
    assert cluster.store.triggering.awaited_ends(9) == ()


def test_a_start_without_its_key_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = iter(range(10**6))
    monkeypatch.setattr(starting, "key_of_end", lambda *_: f"{next(numbers)}")
    cluster, _, _ = lived(0)
    assert max(cluster.starts().values()) > 1


def test_an_end_that_is_settled_before_its_start_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    old = TriggerStarter._deal_with

    def deal_with(self: TriggerStarter, known: Any, end: Any) -> None:
        self._triggers.settle_end(end.number)
        old(self, known, end)

    monkeypatch.setattr(TriggerStarter, "_deal_with", deal_with)
    cluster, ends, _ = lived(0)
    assert len(cluster.starts()) < 2 * ends


def made(cluster: Cluster, begin: Callable[[TriggeredStart], str], said: list[str]) -> TriggerStarter:
    return TriggerStarter(
        cluster.store, cluster.store.triggering, Clock(), begin, lambda *_: ({}, ChainPlace()), said.append
    )


def test_what_cannot_be_started_now_stays_and_stops_no_other() -> None:
    cluster, said, lacking = Cluster(), list[str](), {"a"}

    def begin(start: TriggeredStart) -> str:
        if start.trigger.name in lacking:
            raise StartRefused("no playbook")
        return "x"

    starter = made(cluster, begin, said)
    for name in ("a", "b"):
        cluster.store.triggering.put(row_of(name))
    cluster.end("e1", 1)
    for _ in range(3):
        starter.look()
    first, second = cluster.store.triggering.rows()
    assert (first.trouble, second.last) == ("no playbook", "x")
    assert [end.trigger for end in cluster.store.triggering.awaited_ends(9)] == ["a"]
    assert said == ["trigger a: no playbook"]
    lacking.clear()
    starter.look()
    assert cluster.store.triggering.awaited_ends(9) == ()
    assert cluster.store.triggering.rows("a")[0].trouble == ""


def test_ends_that_cannot_be_started_now_hide_none_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many there are of them."""
    monkeypatch.setattr(starting, "MOST_ENDS", 5)
    cluster, started = Cluster(), list[str]()

    def begin(start: TriggeredStart) -> str:
        if start.trigger.name == "a":
            raise StartRefused("no playbook")
        started.append(start.trigger.name)
        return "x"

    starter = made(cluster, begin, [])
    cluster.store.triggering.put(row_of("a"))
    for number in range(9):
        cluster.end(f"e{number}", 1)
    cluster.store.triggering.put(row_of("b"))
    cluster.end("last", 1)
    starter.look()
    assert started == ["b"]


def test_a_slow_trigger_has_its_turn_and_then_others_have(monkeypatch: pytest.MonkeyPatch) -> None:
    """A start of `a` takes 0.6 s: behind its second one it is the turn of `b`."""
    cluster, started, times = Cluster(), list[str](), [0]
    monkeypatch.setattr(Clock, "now", lambda clock: times[0])

    def begin(start: TriggeredStart) -> str:
        started.append(start.trigger.name)
        times[0] += 600_000 if start.trigger.name == "a" else 0
        return "x"

    starter = made(cluster, begin, [])
    for name in ("a", "b"):
        cluster.store.triggering.put(row_of(name))
    for number in range(9):
        cluster.end(f"e{number}", 1)
    starter.look()
    assert "".join(started) == "aa" + 9 * "b" + "aa"
    starter.look()
    assert "".join(started[13:]) == "aaaa", "what came meanwhile is looked for, too"


def test_triggers_that_start_each_other_start_so_many_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two for each end would double with each turn: 510 in eight."""
    cluster, said, places = Cluster(), list[str](), dict[str, ChainPlace]()

    def begin(start: TriggeredStart) -> str:
        cluster.number += 1
        name, by = f"s{cluster.number}", start.started_by
        depth, root, starts = by["depth"], by["root"], by["starts"]
        assert isinstance(depth, int) and isinstance(root, str) and isinstance(starts, int)
        places[name] = ChainPlace(depth, root, starts)
        cluster.end(name, 1)
        return name

    def starter() -> TriggerStarter:
        def scope(row: ExecutionRow, _: frozenset[str]) -> tuple[dict[str, object], ChainPlace]:
            return {}, places.get(row.execution_id, ChainPlace())

        return TriggerStarter(cluster.store, cluster.store.triggering, Clock(), begin, scope, said.append)

    for name in ("a", "b"):
        cluster.store.triggering.put(row_of(name))
    for root, most in (("e1", 100), ("e2", 200)):
        cluster.end(root, 1)
        one = starter()
        while cluster.store.triggering.awaited_ends(1):
            one.look()
        assert cluster.number == most, root
    assert {place.root for place in places.values()} == {"e1", "e2"}
    letters = cluster.store.triggering.dead_letters("a", 0, 500)
    assert "100 executions were started behind e1" in letters[0].reason
    known = starter().known("a")
    ended = cluster.store.execution(letters[0].reason.partition(":")[0])
    assert known is not None and ended is not None
    name = one.start_behind(known, ended, asked=True)
    assert places[name].root == ended.execution_id and places[name].starts == 1, "who asks for it begins anew"
    last = next(name for name, place in places.items() if place.starts == 100)
    for each, start in ((starter(), last), (one, "e2")):
        with pytest.raises(NotMapped, match="100 executions"):
            each.start_behind(known, cluster.store.execution(start) or ended)


def test_one_that_cannot_be_carried_out_stops_no_other() -> None:
    cluster, said = Cluster(), list[str]()

    def begin(start: TriggeredStart) -> str:
        if start.trigger.name == "a":
            raise KeyError("strange")
        return "x"

    starter = made(cluster, begin, said)
    for row in (row_of("a"), row_of("b"), row_of("c")._replace(document={"spec": {}})):
        cluster.store.triggering.put(row)
    cluster.end("e1", 1)
    starter.look()
    _, second, third = cluster.store.triggering.rows()
    assert second.last == "x" and third.trouble.startswith("it is no trigger")
    assert said[0] == "trigger a: it cannot be carried out: KeyError: 'strange'"


def test_templates_that_this_version_does_not_know_are_told() -> None:
    with pytest.raises(NotMapped, match="damaged"):
        TriggerMapping({"expressions": [["nonsense"]], "templates": {}})
