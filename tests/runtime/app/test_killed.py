"""Killed at every named point and at any moment, and resumed, a run ends as it would have (LANGUAGE §8, issue §3).

Scenarios 16, 28 and 84: nothing lost, nothing doubled; only the attempt that was in flight runs again, under the next
claim, with the same action id.
"""

import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from harness.invariants import TERMINAL
from harness.killing import ID, Left, attempts, calls_in, finish, left_in, process, run_killed
from harness.running import compiled
from noetl.store.files import FAULT_POINTS as BLOB_POINTS
from noetl.store.sqlite import FAULT_POINTS
from noetl_ir.events import action_id_of

PLAYBOOK = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: t, path: t/t, labels: {team: data}}
executor:
  spec: {policy: {limits: {max_payload_bytes: 50000}}, search: {n: {value: "{{ ctx.n }}", type: number}}}
workflow:
  - {step: start, next: {spec: {mode: inclusive}, arcs: [{step: each}, {step: flaky}, {step: big}]}}
  - step: each
    loop: {in: "{{ range(4) | list }}", iterator: n, spec: {mode: parallel, max_in_flight: 2}}
    tool: [{name: a, kind: http, url: "http://x/a{{ n }}"}, {name: b, kind: http, url: "http://x/b{{ n }}"}]
    next: {arcs: [{step: join}]}
  - step: flaky
    tool:
      name: t
      kind: http
      url: "http://x/flaky"
      spec: {policy: {rules: [{when: "{{ outcome.status == 'error' }}", then: {do: retry, delay: 0.01}}]}}
    next: {arcs: [{step: count}]}
  - step: count
    tool:
      name: t
      kind: http
      url: "http://x/count"
      spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {n: "{{ ctx.n | default(-1) + 1 }}"}}}}]}}
    next: {arcs: [{step: count, when: "{{ ctx.n < 4 }}"}, {step: join}]}
  - step: big
    tool: [{name: b, kind: http, url: "http://x/big"}, {name: l, kind: noop, args: {length: "{{ b | length }}"}}]
    next: {arcs: [{step: join}]}
  - {step: join, spec: {policy: {join: all}}, next: {arcs: [{step: child}]}}
  - {step: child, tool: {name: c, kind: playbook, path: t/c}, next: {arcs: [{step: last}]}}
  - {step: last, tool: {kind: noop, args: {each: "{{ each }}", n: "{{ ctx.n }}", big: "{{ big }}", c: "{{ child }}"}}}
---
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: c, path: t/c}
workflow:
  - {step: start, tool: [{name: a, kind: http, url: "http://x/c"}, {name: b, kind: http, url: "http://x/d"}]}
"""
RESULT = {
    "each": ["b0", "b1", "b2", "b3"], "n": 4, "big": {"length": 200_000}, "c": "d"
}  # fmt: skip
CALLS = 4 * 2 + 2 + 5 + 1 + 2


@pytest.fixture(scope="module")
def plan() -> bytes:
    """The plan's bytes."""
    return compiled(PLAYBOOK)


@pytest.fixture(scope="module")
def whole(plan: bytes, tmp_path_factory: pytest.TempPathFactory) -> Left:
    """The database that an uninterrupted run leaves."""
    folder = tmp_path_factory.mktemp("whole")
    assert finish(folder, plan) == "completed"
    assert len(calls_in(folder)) == CALLS
    return left_in(folder)


def ends_of(left: Left) -> Counter[Any]:
    """How often each step and each iteration of it ended how."""
    return Counter(
        (event.step, event.event_type, event.run.partition("/")[2])
        for event in left.log
        if event.event_type in TERMINAL or event.event_type.startswith("loop.iteration")
    )


def check_as_whole(folder: Path, whole: Left, kills: int) -> None:
    """Check that a killed and resumed run left what an uninterrupted one leaves."""
    left = left_in(folder)
    assert left.execution.status == "completed"
    assert left.execution.last_result == whole.execution.last_result == RESULT
    assert left.execution.ctx == whole.execution.ctx == {"n": 4}
    assert ends_of(left) == ends_of(whole)
    assert left.execution.counts == whole.execution.counts
    patches = [event.data["patch"] for event in left.log if event.event_type == "ctx.patched"]
    assert patches == [{"n": number} for number in range(5)], "scenario 28"
    check_calls(folder, left, kills)


def check_calls(folder: Path, left: Left, kills: int) -> None:
    """Only what was in flight was called again: as often as a claim was lost."""
    lost = Counter((e.run, e.task, e.visit, e.attempt) for e in left.log if e.event_type == "task.lost")
    starts = attempts(left.log)
    assert all(count == 1 + lost[place] for place, count in starts.items())
    assert all(count <= kills for count in lost.values())
    calls = Counter(calls_in(folder))
    assert all(count <= 1 + kills for count in calls.values())
    for (run, task, visit, attempt), count in starts.items():
        if left.program.plan.tasks[task].kind == "http":
            assert 1 <= calls[action_id_of(ID, run, task, visit), attempt] <= count


POINTS = [
    *((point, turn) for point in FAULT_POINTS if point.startswith("append") for turn in (2, 9)),
    *((point, 1) for point in FAULT_POINTS if point.startswith(("create", "put_plan"))),
    *((point, 1) for point in BLOB_POINTS),
]


@pytest.mark.parametrize(("point", "turn"), POINTS)
def test_killed_at_a_named_point(plan: bytes, whole: Left, tmp_path: Path, point: str, turn: int) -> None:
    assert run_killed(tmp_path, plan, point, turn)
    assert finish(tmp_path, plan) == "completed"
    check_as_whole(tmp_path, whole, kills=1)


@pytest.mark.parametrize("seed", range(4))
def test_killed_again_and_again_at_any_moment(plan: bytes, whole: Left, tmp_path: Path, seed: int) -> None:
    for kill in range(2):
        with process(tmp_path, plan) as child:
            while child.poll() is None and len(calls_in(tmp_path)) < 1 + 2 * seed + 5 * kill:
                time.sleep(0.002)
            time.sleep(0.001 * (seed * 2 + kill))
            child.send_signal(signal.SIGKILL)
    assert finish(tmp_path, plan) == "completed"
    check_as_whole(tmp_path, whole, kills=2)


def test_an_attempt_that_was_lost_too_often_is_an_error_outcome(tmp_path: Path) -> None:
    """`limits.max_lost` (3): the fourth claim does not run the tool again, the rules are asked (LANGUAGE §8)."""
    plan = compiled(
        "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: t, path: t/t}\nworkflow:\n"
        '  - {step: start, tool: {name: t, kind: http, url: "http://x/slow"}}\n'
    )
    for kill in range(3):
        with process(tmp_path, plan) as child:
            while len(calls_in(tmp_path)) < 1 + kill:
                time.sleep(0.002)
            child.send_signal(signal.SIGKILL)
    assert finish(tmp_path, plan) == "failed"
    left = left_in(tmp_path)
    assert left.execution.failure is not None and left.execution.failure["code"] == "worker.lost"
    assert len(calls_in(tmp_path)) == 3 and len(set(calls_in(tmp_path))) == 1
