"""Migrations: which executions may go on under another plan, and that they do what that one says."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import reading_playbooks
from harness.playbooks import playbooks, scripts
from harness.reruns import driven
from harness.running import Endless, Ran, compiled, run
from harness.samples import some
from noetl.engine.migrations import migration_hindrances
from noetl.engine.program import Program
from noetl.engine.replay import replay
from noetl.engine.reports import migration
from noetl_ir.events import Event
from noetl_ir.plan_format import digest_of, read_plan, write_plan
from noetlc.diag.diagnostic import Severity
from noetlc.pipeline import compile_source

BODY = """
workload: {n: 2, region: eu}
workflow:
  - step: start
    tool: {kind: python, code: "result = {'a': 1, 'b': 2}", args: {n: "{{ workload.n }}"}, spec: {inline_max_bytes: 0}}
    next: {arcs: [{step: hold, when: "{{ start.a == 1 }}"}, {step: other}]}
  - step: other
    tool: {kind: noop}
  - step: hold
    tool: {kind: wait, events: [go]}
    next: {arcs: [{step: late, args: {v: "{{ workload.region }}"}}]}
  - step: late
    tool: {kind: python, code: "result = 'old'"}
    next: {arcs: [{step: last}]}
  - step: last
    tool: {kind: python, code: "result = 'end'"}
"""
SCRIPT = {
    "outcomes": [{"step": "start", "outcome": {"result": {"a": 1, "b": 2}}}],
    "signals": [{"at": 5, "name": "go"}],
}


def program_of(text: str | bytes) -> Program:
    data = text if isinstance(text, bytes) else compiled(text)
    return Program(read_plan(data), digest_of(data), data)


def waiting(text: str = BODY) -> tuple[Ran, list[Event]]:
    """A run, and its log up to where it waits."""
    ran = run(text, SCRIPT)
    at = next(n for n, event in enumerate(ran.log) if event.event_type == "signal.received")
    return ran, ran.log[:at]


def codes(text: str, old: str = BODY) -> list[str]:
    """The codes of what hinders a run that waits, to go on under another playbook."""
    ran, log = waiting(old)
    return [one.code for one in migration_hindrances(ran.program, program_of(text), "e1", log)]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("result = 'old'", "result = 'new'"),
        ('args: {v: "{{ workload.region }}"}', 'args: {v: "{{ workload.n }}"}'),
        ("arcs: [{step: last}]", "arcs: [{step: last, when: \"{{ late == 'x' }}\"}]"),
        ("  - step: last\n", "  - step: more\n    tool: {kind: noop}\n  - step: last\n"),
        ("kind: noop", "kind: http, url: 'http://127.0.0.1:1'"),  # it has not run
        (
            "result = 'end'\"}",
            "result = 'end'\"}\n    next: {arcs: [{step: more}]}\n  - {step: more, tool: {kind: noop}}",
        ),
    ],
)
def test_what_has_not_run_may_be_another(old: str, new: str) -> None:
    assert old in BODY
    assert codes(BODY.replace(old, new)) == []


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("{'a': 1, 'b': 2}", "{'a': 1, 'b': 3}", "task"),
        ("events: [go]", "events: [go, stop]", "task"),
        ("start.a == 1", "start.a == 2", "log"),
        ("start.a == 1", "start.b == 2", "data"),  # of the result the log has only what the old guard reads
        ("workload: {n: 2", "workload: {n: 3", "inputs"),
        ("step: hold", "step: held", "step"),
        ("arcs: [{step: last}]", "arcs: [{step: last}, {step: other}]", "net"),  # of a step that stands before
        ("  - step: other\n", "  - step: more\n    tool: {kind: noop}\n  - step: other\n", "step"),
    ],
)
def test_what_ran_hinders_where_it_is_another(old: str, new: str, code: str) -> None:
    assert old in BODY
    found = codes(BODY.replace(old, new))
    assert found[:1] == [code]


REDUCED = """
executor: {spec: {ctx: {total: {reduce: sum}}}}
workflow:
  - step: start
    tool:
      kind: python
      code: "result = 1"
      spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {total: 1}}}}]}}
    next: {arcs: [{step: more}]}
  - step: more
    tool:
      kind: python
      code: "result = 2"
      spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {total: 2}}}}]}}
    next: {arcs: [{step: seen}]}
  - step: seen
    tool: {kind: python, args: {total: "{{ ctx.total }}"}, code: "result = total"}
    next: {arcs: [{step: hold}]}
  - step: hold
    tool: {kind: wait, events: [go]}
"""


@pytest.mark.parametrize("reduce", ["max", "append", "count"])
def test_what_ran_hinders_where_it_would_have_been_told_another_value(reduce: str) -> None:
    """`seen` came to 1 + 2 = 3; the new plan had told it 2, or a list: no decision shows it."""
    outcomes = [{"step": step, "outcome": {"result": n}} for step, n in (("start", 1), ("more", 2), ("seen", 3))]
    ran = run(REDUCED, {"outcomes": outcomes, "signals": SCRIPT["signals"]})
    log = ran.log[: next(n for n, event in enumerate(ran.log) if event.event_type == "signal.received")]
    new = program_of(REDUCED.replace("reduce: sum", f"reduce: {reduce}"))
    found = migration_hindrances(ran.program, new, "e1", log)
    assert {one.code for one in found} == {"data"}
    seen = "step `seen` ran, or is at work, with other values of `ctx` than the new plan gives it"
    assert seen in [one.message for one in found]


def test_what_is_over_or_belongs_to_another_is_not_moved() -> None:
    ran, log = waiting()
    new = program_of(BODY.replace("'old'", "'new'"))
    told = lambda program, log: [one.code for one in migration_hindrances(ran.program, program, "e1", log)]  # noqa: E731
    assert told(new, ran.log) == ["over"]
    assert told(new, [log[0]._replace(data={**log[0].data, "scripted": True}), *log[1:]]) == ["scripted"]
    called = log[0]._replace(data={**log[0].data, "parent": ["e0", "1"], "depth": 1, "iter_parent": None})
    assert told(new, [called, *log[1:]]) == ["child"]
    assert told(ran.program, log) == ["same"]
    elsewhere = program_of("apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: t, path: t/other}\n" + BODY)
    assert told(elsewhere, log) == ["path"]
    assert told(new, [*log[:5], *log[6:]]) == ["log"], "a log that is no run of its plan"


def moved(ran: Ran, log: list[Event], program: Program) -> list[Event]:
    data = migration(ran.program.digest, program.digest)
    return [*log, Event(f"s{len(log) + 1}", "playbook.migrated", log[-1].ts, data=data)]


def test_it_goes_on_as_the_new_plan_says_and_its_log_is_one_of_that() -> None:
    ran, log = waiting()
    more = "  - step: more\n    tool: {kind: noop}\n"
    new = program_of(BODY.replace("'old'", "'new'").replace("[{step: last}]", "[{step: more}]") + more)
    assert migration_hindrances(ran.program, new, "e1", log) == []
    outcomes = {"outcomes": [{"step": "late", "outcome": {"result": "new"}}], "signals": SCRIPT["signals"]}
    done = driven(new, moved(ran, log, new), outcomes, "e1")
    assert done.status == "completed"
    steps = [new.plan.steps[event.step].name for event in done.of("task.started")]
    assert steps == ["start", "hold", "late", "more"]
    assert replay(new, "e1", done.log).wrong is None
    told = replay(ran.program, "e1", done.log).wrong
    assert told is not None, "of its old plan it is no run any more"


def test_a_log_is_one_of_the_plan_that_it_names() -> None:
    ran, log = waiting()
    same = program_of(BODY.replace("workload:", "# the same\nworkload:").replace("'old'", "'new'"))
    wrong = replay(same, "e1", log).wrong
    assert wrong is not None and wrong[1] == f"it is the log of a run of another plan, {ran.program.digest}"
    twice = moved(ran, moved(ran, log, same), same)
    assert "it did not run the plan" in str(replay(same, "e1", twice).wrong)


@settings(max_examples=40, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(playbooks(), scripts(), st.data())
def test_a_plan_that_is_the_same_but_for_its_name_takes_any_run(playbook: Any, script: Any, data: Any) -> None:
    """Nothing hinders that means nothing, wherever a run stands; and it goes on to an end that is legal there."""
    plans = []
    for labels in ({}, {"moved": "yes"}):
        metadata = {**playbook["metadata"], "labels": labels} if labels else playbook["metadata"]
        done = compile_source("t.yaml", json.dumps({**playbook, "metadata": metadata}).encode())
        assume(not done.count_of(Severity.ERROR))
        plans.append(write_plan(done.plans[0]))
    try:
        ran = run(plans[0], script, endless=1500)
    except Endless:
        assume(False)
        raise
    new = program_of(plans[1])
    assert new.digest != ran.program.digest
    assume(ran.commits)
    at = data.draw(st.sampled_from([*range(len(ran.commits))]))
    log = ran.log[: ran.commits[at]]
    is_over = log[-1].event_type == "playbook.processed" or any(e.event_type == "workflow.finished" for e in log)
    found = [one.code for one in migration_hindrances(ran.program, new, "e1", log)]
    assert found == (["over"] if is_over else [])
    if not is_over:
        again = driven(new, moved(ran, log, new), script, "e1")
        assert not again.faults and replay(new, "e1", again.log).wrong is None


def went(ran: Ran) -> Any:
    """How a run ended, what it knew then, and all that the server decided of what it read."""
    arcs, steps, rows = ran.program.plan.arcs, ran.program.plan.steps, []
    for event in ran.log:
        if event.event_type in ("next.selected", "loop.started", "step.failed"):
            chosen: Any = event.data.get("arcs", [])
            taken = [(arcs[row["arc"]].target, row.get("args")) for row in chosen]
            rows.append((event.event_type, steps[event.step].name, taken, event.data.get("items")))
    return ran.status, ran.execution.ctx, rows


@pytest.mark.parametrize("first", some(range(0, 300, 30)))
def test_a_run_that_was_moved_goes_on_as_one_of_the_new_plan(first: int) -> None:
    moves = 0
    for seed in range(first, first + 30):
        wait = {"name": "mid", "kind": "wait", "events": ["go"]}
        old, new = map(program_of, reading_playbooks.changed_playbooks(seed, wait))
        ran = run(old.bytes, {"signals": SCRIPT["signals"]})
        at = next((n for n, event in enumerate(ran.log) if event.event_type == "signal.received"), 0)
        if not at:  # it failed before
            continue
        assert migration_hindrances(old, new, "e1", ran.log[:at]) == []
        moves += 1
        again = driven(new, moved(ran, ran.log[:at], new), {"signals": SCRIPT["signals"]}, "e1")
        assert went(again) == went(run(new.bytes, {"signals": SCRIPT["signals"]})), f"seed {seed}"
    assert moves > 20
