"""Whatever order messages take and however often they come, a run keeps its invariants and ends as it should.

`run` checks the invariants of every run; the seeds make the same faults again.
"""

import re
from collections import Counter

import pytest
import yaml

import goldens
from faulty_bus import Odds
from goldens import Case
from harness.running import compiled, run
from harness.samples import some
from noetl_ir.events import step_run_of

CASES = [case for case in goldens.cases() if case.stage == "run" and "# at " not in case.path.read_text("utf-8")]
ODDS = Odds(doubled=0.3, reordered=0.6, delayed=0.3)


@pytest.mark.parametrize("case", some(CASES, 4), ids=lambda case: case.name)
def test_a_golden_run_ends_the_same_way_on_a_bus_with_faults(case: Case) -> None:
    text, script = case.path.read_text("utf-8"), case.beside("script")
    head = re.search(r"^# payload: (.*)$", text, re.MULTILINE)
    payload = yaml.safe_load(head.group(1)) if head else None
    outcomes = script.read_text("utf-8") if script.exists() else ""
    plan = compiled(text)
    whole = run(plan, outcomes, payload)
    for seed in range(3):
        shaken = run(plan, outcomes, payload, odds=ODDS, seed=seed)
        # A message that comes late may cost the time that was left, or be there only behind a signal that stops a run.
        if re.search("timeout|interrupt", case.name):
            assert shaken.execution.is_over, seed
        else:
            assert shaken.status == whole.status, seed


def test_each_attempt_is_started_once_though_its_order_and_its_report_come_twice() -> None:
    plan = compiled("""
workflow:
  - step: start
    loop: {in: "{{ range(8) | list }}", iterator: n, spec: {mode: parallel, max_in_flight: 3}}
    tool: [{name: t, kind: http, url: "http://x"}, {name: u, kind: http, url: "http://x"}, {name: v, kind: noop}]
    next: {arcs: [{step: two}]}
  - {step: two, tool: {name: t, kind: http, url: "http://x"}}
""")
    for seed in range(10):
        ran = run(plan, "outcomes: [{takes: 1}]", odds=Odds(doubled=0.8, reordered=0.5, delayed=0.5), seed=seed)
        assert ran.status == "completed"
        starts = Counter((event.run, event.task) for event in ran.of("task.started"))
        assert len(starts) == 8 * 3 + 1 and set(starts.values()) == {1}
        assert {step_run_of(event.run) for event in ran.of("task.started", "start")} == {"1"}
