"""The bars of a timeline, and the attempts of spans and figures, against what the log says of each attempt."""

from random import Random
from typing import Any

import pytest

from harness.running import HEAD, Ran, run
from noetl.app.measuring import EventMeasures
from noetl.app.timeline import Bars
from noetl.app.tracing.spans import TraceReader
from noetl.host.measures import Measures
from noetl_ir.events import Event, index_of, step_run_of

LOOP = f"""{HEAD}
workflow:
  - step: start
    loop: {{in: "{{{{ range(9) | list }}}}", iterator: n, spec: {{mode: parallel, max_in_flight: 3}}}}
    tool:
      - {{name: slow, kind: python, code: "result = 1"}}
      - {{name: second, kind: noop, result: "{{{{ slow }}}}"}}
"""
ONE_FAILS = """outcomes:
  - {step: start, task: slow, index: [3], takes: 2, outcome: {error: {code: bad}}}
  - {step: start, task: slow, takes: 3}
"""


def bars_of(ran: Ran) -> list[dict[str, Any]]:
    bars = Bars(ran.program, "e1")
    for position, event in enumerate(ran.log, 1):
        bars.read(position, event)
    return [dict(bar) for bar in bars.bars]


def expected(log: list[Event], began: int) -> tuple[int, bool | None]:
    """Where in the log an attempt ended, and how: the first event behind its beginning that ends it."""
    first = log[began]
    for at, event in enumerate(log[began + 1 :], began + 1):
        kind = event.event_type
        if kind == "workflow.finished":
            return at, None
        if (event.run, event.task) == (first.run, first.task):
            if kind == "task.done":
                return at, event.data["status"] == "ok"
            if kind in ("retry.started", "task.lost", "task.started"):
                return at, False
        # One with an index is about an item that never began.
        is_item = kind in ("loop.iteration.failed", "loop.iteration.skipped") and "index" not in event.data
        if event.run == first.run and is_item:
            return at, None
        if event.run == step_run_of(first.run) and kind in ("step.failed", "step.cancelled"):
            return at, None
    raise AssertionError(f"{first} has no end")


def hold(ran: Ran) -> int:
    """Hold the tasks of a timeline against its log; how many there were."""
    log, plan = ran.log, ran.program.plan
    began = [
        at
        for at, event in enumerate(log)
        if event.event_type == "task.started" and not plan.tasks[event.task].generated
    ]
    wanted = []
    for at in began:
        end, ok = expected(log, at)
        name = plan.tasks[log[at].task].name
        wanted.append((at + 1, end + 1, name, [*index_of(log[at].run)], log[at].ts // 1000, log[end].ts // 1000, ok))
    found = [
        (bar["since"], bar["until"], bar["task"], bar["iteration"], bar["from"], bar["to"], bar["ok"])
        for bar in bars_of(ran)
        if bar["kind"] == "task" and bar["task"] is not None
    ]
    assert found == wanted
    return len(wanted)


def test_items_that_run_on_beside_one_that_failed_have_one_attempt_each() -> None:
    ran = run(LOOP, ONE_FAILS)
    assert ran.status == "failed"
    # Items 0 to 2 take from 0 to 3 s, 3 to 5 begin then, 3 fails at 5 s, and 6 to 8 never begin.
    begin = ran.log[0].ts // 1000
    slow = {
        bar["iteration"][0]: ((bar["from"] - begin) / 1000, (bar["to"] - begin) / 1000, bar["ok"])
        for bar in bars_of(ran)
        if bar["task"] == "slow"
    }
    assert slow == dict.fromkeys(range(3), (0, 3, True)) | {3: (3, 5, False), 4: (3, 6, True), 5: (3, 6, True)}
    assert hold(ran) == 6 + 3, "six of slow and three of second"
    spans = [*TraceReader(ran.program, "e1", lambda name: None).read(ran.log)]
    attempts = {
        str(span.attributes["noetl.iteration"]): (span.ended - span.started, span.status)
        for span in spans
        if span.name == "slow"
    }
    second = 1_000_000
    assert attempts == {str(n): (3 * second, 1) for n in (0, 1, 2, 4, 5)} | {"3": (2 * second, 2)}


def test_figures_time_the_attempts_of_items_that_run_on() -> None:
    ran = run(LOOP, ONE_FAILS)
    measures = Measures()
    watcher = EventMeasures(measures)
    for event in ran.log:
        watcher.observe(ran.execution, ran.program, event)
    assert 'noetl_task_seconds_count{kind="python"} 6' in measures.text()


NESTED = f"""{HEAD}
workflow:
  - step: start
    loop:
      in: [0, 1, 2]
      iterator: o
      spec: {{mode: parallel, max_in_flight: 2}}
      loop: {{in: "{{{{ range(4) | list }}}}", iterator: n, spec: {{mode: parallel, max_in_flight: 2}}}}
    tool:
      name: slow
      kind: python
      code: "result = 1"
      spec:
        policy:
          rules:
            - {{when: "{{{{ _attempt < 2 }}}}", then: {{do: retry, delay: 0.5}}}}
            - {{else: {{then: {{do: fail}}}}}}
"""


@pytest.mark.parametrize("text", [LOOP, NESTED])
@pytest.mark.parametrize("seed", range(12))
def test_random_loops_are_shown_as_their_log_has_them(text: str, seed: int) -> None:
    by = Random(seed)
    outcomes: list[dict[str, Any]] = []
    for index in [[n] for n in range(9)] if text == LOOP else [[o, n] for o in range(3) for n in range(4)]:
        entry = {"step": "start", "task": "slow", "index": index, "takes": by.randrange(1, 40) / 10}
        if by.random() < 0.2:
            entry["outcome"] = {"error": {"code": "bad"}}
        outcomes.append(entry)
    at = {by.randrange(1, 60) / 10: "cancel"} if by.random() < 0.3 else None
    assert hold(run(text, {"outcomes": outcomes}, at=at))


CALLS = f"""{HEAD}
workflow:
  - step: start
    loop: {{in: [1, 2, 3], iterator: n, spec: {{mode: parallel}}}}
    tool: {{name: call, kind: playbook, path: t/child}}
---
{HEAD.replace("t/t", "t/child")}
workflow:
  - {{step: start, tool: {{kind: noop}}}}
"""


def test_a_call_names_the_child_that_it_started() -> None:
    ran = run(CALLS)
    # The first event of a child says which call it is the child of: the item is in its name.
    wanted = {
        int(str(event.data["call"]).partition("/")[2].partition(":")[0]): name
        for name, _, event in ran.seen
        if event.event_type == "playbook.execution.requested" and name != "e1"
    }
    found = {bar["iteration"][0]: bar["child"] for bar in bars_of(ran) if "child" in bar}
    assert len(wanted) == 3 and found == wanted
