"""Reruns of random playbooks: each is a legal run that repeats nothing of what it keeps, and ends as it would have.

An outcome that was mended is compared with a run in which it was good from the start, wherever timing decides nothing:
where that run ends the same with other times of its tasks.
"""

import json
from collections import Counter
from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from harness.invariants import TERMINAL, plain
from harness.playbooks import playbooks, scripts
from harness.reruns import Again, driven, planned, rerun
from harness.running import Endless, Ran, run
from mixed_playbooks import playbook_of
from noetl_ir.plan_format import write_plan
from noetlc.diag.diagnostic import Severity
from noetlc.pipeline import compile_source

BOUNDED = settings(
    max_examples=40, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
GOOD = {"takes": 1, "outcome": {"result": {"v": 1}}}


def plan_of(playbook: Any) -> bytes:
    """The plan of a playbook given as data, if it compiles."""
    done = compile_source("t.yaml", json.dumps(playbook).encode())
    assume(not done.count_of(Severity.ERROR))
    return write_plan(done.plans[0])


def failed_run(plan: bytes, script: Any) -> Ran:
    """A run that did not complete."""
    try:
        ran = run(plan, script, endless=1500)
    except Endless:
        assume(False)
        raise
    assume(ran.status != "completed" and not ran.faults)
    return ran


def mended(ran: Ran, script: Any) -> Any:
    """The script in which the steps that the run failed of come to something good."""
    plan = ran.program.plan
    failed = {event.step for event in ran.log if event.event_type == "token.ended" and event.data.get("unhandled")}
    good = [{"step": plan.steps[step].name, **GOOD} for step in sorted(failed)]
    return {**script, "outcomes": [*good, *script["outcomes"]], "signals": []}


def end_of(ran: Ran) -> Any:
    """How a run ended: what its steps came to, what it knows, and its result."""
    steps = ran.program.plan.steps
    ends = Counter(
        (steps[event.step].name, event.event_type, event.run.partition("/")[2])
        for event in ran.log
        if event.event_type in TERMINAL
    )
    execution = ran.execution
    return ran.status, ends, dict(sorted(execution.ctx.items())), plain(execution.last_result)


def only_end_of(plan: bytes, script: Any) -> Any:
    """The end of a run from the start, where it has only one, whatever times its tasks take."""
    ends = []
    for takes in (None, 0, 3):
        rows = [row if takes is None else {**row, "takes": takes} for row in script["outcomes"]]
        try:
            ends.append(end_of(run(plan, {**script, "outcomes": rows}, endless=1500)))
        except Endless:
            assume(False)
    assume(ends[0] == ends[1] == ends[2])
    return ends[0]


def tasks_of(ran: Ran) -> Counter[Any]:
    """How often each attempt at a task started, past those that were lost."""
    lost = Counter((e.run, e.task, e.visit, e.attempt) for e in ran.log if e.event_type == "task.lost")
    return Counter((e.run, e.task, e.visit, e.attempt) for e in ran.log if e.event_type == "task.started") - lost


def check_again(old: Ran, again: Again) -> None:
    """Nothing that is kept ran a second time, and what is kept came to what it came to."""
    ran = again.done()
    assert not ran.faults
    at = next(n for n, event in enumerate(ran.log) if event.event_type == "playbook.rerun")
    over = {(e.run, e.task, e.visit) for e in ran.log[:at] if e.event_type == "task.done"}
    assert not [e for e in ran.log[at:] if e.event_type == "task.started" and (e.run, e.task, e.visit) in over]
    assert set(tasks_of(ran).values()) <= {1}
    kept = Counter(str((e.step, e.data)) for e in ran.log[:at] if e.event_type == "task.done")
    assert not kept - Counter(str((e.step, e.data)) for e in old.log if e.event_type == "task.done")


@BOUNDED
@given(playbooks(), scripts(), st.booleans())
def test_a_rerun_repeats_nothing_that_it_keeps(playbook: Any, script: Any, linear: bool) -> None:
    old = failed_run(plan_of(playbook), script)
    again = rerun(old, mended(old, script), linear=linear, accepted=["phases"])
    assume(again.ran is not None)
    check_again(old, again)


@BOUNDED
@given(playbooks(), scripts())
def test_a_rerun_that_was_mended_ends_as_one_that_was_good_from_the_start(playbook: Any, script: Any) -> None:
    plan = plan_of(playbook)
    script = {**script, "signals": []}
    old = failed_run(plan, script)
    good = mended(old, script)
    again = rerun(old, good, accepted=["phases"])
    assume(again.ran is not None)
    whole = run(plan, good)
    others = [
        run(plan, {**good, "outcomes": [{**row, "takes": takes} for row in good["outcomes"]]}) for takes in (0, 3)
    ]
    assume(all(end_of(other) == end_of(whole) for other in others))
    assert end_of(again.done()) == end_of(whole)


def changed(playbook: Any, number: int) -> Any:
    """The playbook with one change, which the number decides: of a step, an arc, or a value of the workload."""
    other = json.loads(json.dumps(playbook))
    step = other["workflow"][number % len(other["workflow"])]
    arcs = step.get("next", {}).get("arcs", [])
    tools = step["tool"] if isinstance(step.get("tool"), list) else [step["tool"]] if "tool" in step else []
    match number % 5:
        case 0 if arcs:
            arcs.pop(number % len(arcs))
        case 1 if arcs:
            arcs[number % len(arcs)]["args"] = {"changed": number}
        case 2 if tools:
            tools[number % len(tools)].setdefault("args", {})["changed"] = number
        case 3 if tools:
            tools.append({"name": "more", "kind": "noop"})
        case _:
            other["workload"] |= {"zero": 1, "list": [3], "text": "y"} if number % 2 else {"map": {"a": 2}}
    return other


@settings(BOUNDED, max_examples=30)
@given(playbooks(), scripts(), st.integers(0, 1_000), st.booleans())
def test_a_rerun_on_a_changed_plan_ends_as_that_plan_does(
    playbook: Any, script: Any, number: int, linear: bool
) -> None:
    script, other = {**script, "signals": []}, changed(playbook, number)
    old, plan = failed_run(plan_of(playbook), script), plan_of(other)
    good = mended(old, script)
    again = rerun(old, good, accepted=["phases"], text=json.dumps(other), linear=linear)
    assume(again.ran is not None)
    whole = run(plan, good)
    others = [
        run(plan, {**good, "outcomes": [{**row, "takes": takes} for row in good["outcomes"]]}) for takes in (0, 3)
    ]
    assume(all(end_of(one) == end_of(whole) for one in others))
    assert end_of(again.done()) == end_of(whole)


@BOUNDED
@given(playbooks(), scripts(), st.floats(0, 1, exclude_max=True))
def test_a_rerun_goes_on_after_a_crash(playbook: Any, script: Any, where: float) -> None:
    old = failed_run(plan_of(playbook), script)
    good = mended(old, script)
    made, program = planned(old, accepted=["phases"])
    assume(not made.hindrances)
    whole = driven(program, made.events, good)
    places = [len(made.events), *whole.commits[:-1]]
    ran = driven(program, whole.log[: places[int(where * len(places))]], good)
    check_again(old, Again(made, ran))
    assert ran.execution.is_over == whole.execution.is_over


@settings(BOUNDED, max_examples=50)
@given(st.integers(0, 5_000), scripts(), st.booleans())
def test_reruns_of_every_construct_beside_every_other(seed: int, script: Any, linear: bool) -> None:
    head = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: t, path: t/t}\n"
    compiled = compile_source("t.yaml", (head + playbook_of(seed)).encode())
    assume(not compiled.count_of(Severity.ERROR))
    script = {**script, "outcomes": [*script["outcomes"][:-1], GOOD]}
    try:
        old = run(write_plan(compiled.plans[0]), script, {"must": "x"}, endless=1500)
    except Endless:
        assume(False)
        raise
    assume(old.status != "completed" and not old.faults)
    again = rerun(old, mended(old, script), linear=linear, accepted=["phases", "execution_id"])
    assume(again.ran is not None)
    check_again(old, again)
