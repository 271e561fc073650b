"""Plans that somebody changed and signed anew: refused with a reason, or plans that run to an end like any other.

What is checked is that no such plan gets the engine into a state that it does not know: nothing is raised, and no run
ends by `engine.fault`. Loops without an end are ended here after some events.
"""

import random
from collections import Counter

import pytest

import goldens
from harness.mutating import mutants
from harness.running import Endless, compiled, run
from noetl_ir.plan_format import PlanError, open_plan, write_plan
from noetlc.pipeline import compile_source

MANY = 40
"""Mutants of a plan; a mutant takes some 8 ms where it runs, and 2 where it is refused."""

EVERYTHING = """
workload: {n: 3, who: "{{ 'a' ~ n }}"}
workflow:
- step: start
  tool:
  - {name: a, kind: noop, result: {v: 1}, spec: {policy: {rules: [
      {when: "{{ outcome.status == 'error' }}", then: {do: retry, attempts: 2, delay: 1}},
      {else: {then: {do: continue}}}]}}}
  - {name: b, kind: noop, result: "{{ workload.n }}", spec: {policy: {rules: [
      {when: "{{ ctx.go is defined }}", then: {do: continue}},
      {when: "{{ true }}", then: {do: jump, to: a, set_ctx: {go: 1}}}, {else: {then: {do: fail}}}]}}}
  next: {spec: {mode: inclusive}, arcs: [{step: l, args: {x: "{{ start }}"}}, {step: m, when: "{{ ctx.go == 1 }}"},
    {step: f, when: "{{ event.name == 'step.failed' }}"}]}
- step: l
  loop: {in: "{{ [1, 2, 3] }}", iterator: x, spec: {mode: parallel, max_in_flight: 2}}
  tool: {kind: noop, result: "{{ iter.x }}"}
  next: {arcs: [{step: j}]}
- step: m
  spec: {policy: {lifecycle: {timeout_s: 30}, admit: {rules: [{when: "{{ workload.n == 3 }}", then: {allow: true}},
    {else: {then: {allow: false}}}]}}}
  tool: {kind: wait, timers: {late: 2}}
  next: {arcs: [{step: j, spec: {delay: 2}}]}
- step: f
  tool: {kind: noop}
- step: j
  spec: {policy: {join: taken}}
  tool: {kind: noop, result: "{{ l }}"}
"""


def plans() -> dict[str, bytes]:
    """Small plans of golden playbooks, a dozen of them, and one that has most of what there is."""
    found = {"everything": compiled(EVERYTHING)}
    sources = [case for case in goldens.cases() if case.path.suffix == ".yaml" and case.stage in ("net", "plan")]
    for case in random.Random(11).sample(sources, 12):
        data = write_plan(compile_source(case.path.name, case.path.read_bytes()).plans[0])
        if len(data) < 20_000:
            found[case.name] = data
    return found


PLANS = plans()


@pytest.mark.parametrize("name", PLANS)
def test_no_mutant_gets_further_than_a_plan(name: str) -> None:
    seen: Counter[str] = Counter()
    for what, data in mutants(PLANS[name], 6 * MANY if name == "everything" else MANY, seed=7):
        try:
            open_plan(data)
        except PlanError:
            seen["refused"] += 1
            continue
        seen["taken"] += 1
        try:
            ran = run(data, endless=1_500)
        except Endless:
            continue
        faults = [event.data["error"] for event in ran.log if event.event_type == "playbook.faulted"]
        assert all("Endless" in str(fault) for fault in faults), (what, faults)
    assert seen["refused"] > seen["taken"] > 0, seen
