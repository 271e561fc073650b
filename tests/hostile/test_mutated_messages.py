"""Messages that somebody changed: they cannot be read, or they are proposals like any other.

What a worker says under a claim that it has may end that execution; it may never raise in the server that hears it, nor
get the engine into a state that it does not know (`engine.fault`), nor be believed against the log.
"""

import random
import struct
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest

from harness.mutating import altered
from harness.running import Endless, bus_made, run
from noetl.messages.encoding import (
    UnreadableMessage,
    read_answer,
    read_broadcast,
    read_order,
    read_report,
    write_answer,
    write_broadcast,
    write_order,
    write_report,
)
from noetl.ports.bus import Delivery, ReportDelivery, Ticket
from noetl_ir.orders import (
    Answer,
    Check,
    Checked,
    ClaimCheck,
    LeaseHeartbeat,
    OpenLane,
    Report,
    Serving,
    StopPipeline,
    TakenUp,
    WorkerHeartbeat,
)

BODY = """
workload: {n: 3}
workflow:
- step: start
  tool:
  - {name: a, kind: noop, result: {v: 1}, spec: {policy: {rules: [
      {when: "{{ outcome.result.v == 1 }}", then: {do: continue, set_ctx: {go: 1}, set_iter: {i: 1}}},
      {else: {then: {do: retry, attempts: 2, delay: 1}}}]}}}
  - {name: b, kind: noop, result: "{{ a.v + workload.n }}", spec: {policy: {rules: [
      {when: "{{ ctx.again is defined }}", then: {do: continue}},
      {when: "{{ true }}", then: {do: jump, to: a, set_ctx: {again: 1}}}, {else: {then: {do: fail}}}]}}}
  next: {spec: {mode: inclusive}, arcs: [{step: l, args: {x: "{{ start }}"}}, {step: m, when: "{{ ctx.go == 1 }}"}]}
- step: l
  loop: {in: "{{ [1, 2, 3, 4] }}", iterator: x, spec: {mode: parallel, max_in_flight: 2}}
  tool: {kind: noop, result: "{{ iter.x }}"}
  next: {arcs: [{step: j}]}
- step: m
  tool: [{name: w, kind: wait, timers: {late: 2}}, {name: after, kind: noop, result: "{{ w.name }}"}]
  next: {arcs: [{step: j}]}
- step: j
  spec: {policy: {join: taken}}
  tool: {kind: noop, result: "{{ l }}"}
"""
TIMES = 120
"""Runs; each changes some of its messages, and takes some 15 ms."""


def _parts(data: bytes) -> list[bytes]:
    found = []
    while data:
        (size,) = struct.unpack_from(">I", data)
        found.append(data[4 : 4 + size])
        data = data[4 + size :]
    return found


def mutated(
    report: Report | LeaseHeartbeat | ClaimCheck, chance: random.Random
) -> Report | LeaseHeartbeat | ClaimCheck | None:
    """A message that another worker could send instead, None for one that cannot be read."""
    parts = _parts(write_report(report))
    at = chance.randrange(len(parts))
    parts[at] = altered(parts[at], chance)[0]
    try:
        return read_report(b"".join(struct.pack(">I", len(part)) + part for part in parts))
    except UnreadableMessage:
        return None


class MutatingBus:
    """A `Bus` around another, on which now and then somebody says something before who should."""

    def __init__(self, inner: Any, seed: int, seen: Counter[str]) -> None:
        self._inner = inner
        self._chance = random.Random(seed)
        self._seen = seen
        self._looks = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def send(self, pool: str, key: str, order: Any) -> None:
        """`Bus.send`."""
        if self._chance.random() < 0.2:
            try:
                other = read_order(altered(write_order(order), self._chance)[0])
            except UnreadableMessage:
                self._seen["orders refused"] += 1
            else:
                self._seen["orders taken"] += 1
                self._inner.send(pool, f"{key}'", other)
        self._inner.send(pool, key, order)

    def take(self, pool: str) -> Delivery[Any] | None:
        """`Bus.take`."""
        found: Delivery[Any] | None = self._inner.take(pool)
        return found

    def report(self, key: str, report: Any) -> Ticket[Answer]:
        """`Bus.report`."""
        if self._chance.random() < 0.4:
            other = mutated(report, self._chance)
            self._seen["reports refused" if other is None else "reports heard"] += 1
            if other is not None:
                self._inner.report(f"{key}'", other)
        ticket: Ticket[Answer] = self._inner.report(key, report)
        return ticket

    def reports(self) -> Sequence[ReportDelivery[Any, Answer]]:
        """`Bus.reports`. An attempt that somebody else began is nobody's here: on a cluster its lease would end."""
        self._looks += 1
        if self._looks > 5_000:
            raise Endless
        found: Sequence[ReportDelivery[Any, Answer]] = self._inner.reports()
        return found


def test_no_message_gets_an_execution_further_than_a_worker_may() -> None:
    seen: Counter[str] = Counter()
    for seed in range(TIMES):
        with bus_made(partial(MutatingBus, seed=seed, seen=seen)):
            try:
                ran = run(BODY, endless=3_000)
            except Endless:
                seen["endless"] += 1
                continue
        seen[ran.status] += 1
        faults = [event.data["error"] for event in ran.log if event.event_type == "playbook.faulted"]
        assert not faults, (seed, faults)
    assert min(seen[name] for name in ("reports heard", "reports refused", "orders taken", "completed")) > 20, seen


SAID: list[tuple[Any, Any, Any]] = [
    (write_answer, read_answer, Answer(1)),
    (write_order, read_order, StopPipeline("e", "7", 1, "c0de")),
    (write_order, read_order, ClaimCheck("e", {"key": "k"})),
    (write_report, read_report, LeaseHeartbeat("e", "7", 1, "w:1", "c0de")),
    (write_broadcast, read_broadcast, WorkerHeartbeat("w", "default", 4, 1, False, "")),
    (write_broadcast, read_broadcast, Serving("http://127.0.0.1:1")),
    (write_broadcast, read_broadcast, TakenUp("e", "s")),
    (write_broadcast, read_broadcast, OpenLane("gpu", "team-a")),
    (write_broadcast, read_broadcast, Check("e", ("default",), "d" * 64, {"a": [1, None]})),
    (write_broadcast, read_broadcast, Checked("e", "w", "default", ("no `x`",))),
]


@pytest.mark.parametrize(("write", "read", "said"), SAID, ids=lambda value: type(value).__name__)
def test_what_can_be_read_is_what_it_says(write: Any, read: Any, said: Any) -> None:
    """Cut, doubled, flipped, and with other values: it is refused, or comes back as it would be written."""
    chance, data = random.Random(5), write(said)
    bare = data if write is not write_report else data[4:]
    for _ in range(400):
        match chance.randrange(4):
            case 0:
                changed = bare[: chance.randrange(len(bare))]
            case 1:
                changed = bare + bare[chance.randrange(len(bare)) :]
            case 2:
                at = chance.randrange(len(bare))
                changed = bare[:at] + bytes([bare[at] ^ (1 << chance.randrange(8))]) + bare[at + 1 :]
            case _:
                changed = altered(bare, chance)[0]
        if write is write_report:
            changed = struct.pack(">I", len(changed)) + changed
        try:
            found = read(changed)
        except UnreadableMessage:
            continue
        assert read(write(found)) == found
