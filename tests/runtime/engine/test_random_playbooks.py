"""Random playbooks run to an end, with all invariants, on a quiet bus and on one with faults, and after a crash.

`run` checks the invariants. A run may fail or be blocked; it may not crash, hang, or stand still while `running`.
"""

import json
from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from faulty_bus import Odds
from harness.playbooks import playbooks, scripts
from harness.running import Endless, Ran, resume_prefix, run
from noetl_ir.plan_format import write_plan
from noetlc.diag.diagnostic import Severity
from noetlc.pipeline import compile_source

BOUNDED = settings(
    max_examples=60, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)


def plan_of(playbook: Any) -> bytes:
    """The plan of a playbook given as data, if it compiles."""
    compiled = compile_source("t.yaml", json.dumps(playbook).encode())
    assume(not compiled.count_of(Severity.ERROR))
    return write_plan(compiled.plans[0])


def ran_of(playbook: Any, script: Any, **more: Any) -> Ran:
    """The run of a playbook given as data; one that goes round for ever is not for us."""
    plan = plan_of(playbook)
    try:
        ran = run(plan, script, endless=1500, **more)
    except Endless:
        assume(False)
        raise
    assert not ran.faults
    return ran


@BOUNDED
@given(playbooks(), scripts())
def test_random_playbooks_run_to_an_end(playbook: Any, script: Any) -> None:
    ran = ran_of(playbook, script)
    assert ran.execution.is_over


@BOUNDED
@given(playbooks(), scripts(), st.integers(0, 1000))
def test_random_playbooks_run_to_an_end_on_a_bus_with_faults(playbook: Any, script: Any, seed: int) -> None:
    ran = ran_of(playbook, script, odds=Odds(doubled=0.3, reordered=0.5, delayed=0.3), seed=seed)
    assert ran.execution.is_over


@BOUNDED
@given(playbooks(), scripts(), st.floats(0, 1, exclude_max=True))
def test_random_playbooks_go_on_after_a_crash(playbook: Any, script: Any, where: float) -> None:
    whole = ran_of(playbook, script)
    crashes = whole.commits[:-1]
    assume(crashes)
    resumed = resume_prefix(whole, crashes[int(where * len(crashes))], script)
    assert resumed.execution.is_over and not resumed.faults


@BOUNDED
@given(playbooks(), scripts(), st.floats(0, 8), st.sampled_from(["cancel", "pause"]))
def test_random_playbooks_can_be_cancelled_and_paused(playbook: Any, script: Any, when: float, verb: str) -> None:
    ran = ran_of(playbook, script, at={when: verb, 100.0: "resume"})
    assert ran.execution.is_over
