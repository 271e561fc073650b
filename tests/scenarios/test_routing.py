"""Scenarios of group B: routing, joins and how runs end."""

import pytest

from faulty_bus import Odds
from harness.running import compiled, run

SET = "spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {%s}}}}]}}"


@pytest.mark.parametrize(("join", "runs"), [("any", 4), ("all", 2), ("first", 2)])
def test_scenario_20_a_second_pass_waits_for_its_own_tokens(join: str, runs: int) -> None:
    """`r` is slow in pass 1 and `l` in pass 2; under `any` each token starts a run, so only the first one goes back."""
    plan = compiled(f"""
workflow:
  - {{step: start, next: {{spec: {{mode: inclusive}}, arcs: [{{step: l}}, {{step: r}}]}}}}
  - {{step: l, tool: {{name: t, kind: http, url: "http://x"}}, next: {{arcs: [{{step: j}}]}}}}
  - {{step: r, tool: {{name: t, kind: http, url: "http://x"}}, next: {{arcs: [{{step: j}}]}}}}
  - step: j
    spec: {{policy: {{join: {join}}}}}
    tool: {{name: t, kind: noop, {SET % 'n: "{{ ctx.n | default(0) + 1 }}"'}}}
    next: {{arcs: [{{step: start, when: "{{{{ ctx.n == 1 }}}}"}}]}}
""")
    script = "outcomes: [{step: r, run: 1, takes: 5}, {step: l, run: 2, takes: 9}, {takes: 1}]"
    for seed in range(4):
        ran = run(plan, script, odds=Odds(reordered=0.5), seed=seed)
        assert (ran.status, ran.ran("start"), ran.ran("j")) == ("completed", 2, runs)
    if join == "all":
        meets = [event.ts // 1_000_000 for event in ran.of("token.joined", "j")]
        assert meets == [1 + 5, 6 + 1 + 1 + 9]


@pytest.mark.parametrize(("v", "taken"), [(10, "high"), (1, "low")])
def test_scenario_22_the_merge_behind_a_choice_runs_once(v: int, taken: str) -> None:
    ran = run(
        """
workflow:
  - {step: start, next: {arcs: [{step: high, when: "{{ workload.v > 9 }}"}, {step: low}]}}
  - {step: high, next: {arcs: [{step: sum}]}}
  - {step: low, next: {arcs: [{step: sum}]}}
  - {step: sum}
""",
        payload={"v": v},
    )
    assert ran.status == "completed"
    assert {step: ran.ran(step) for step in ("high", "low", "sum")} == {"high": 0, "low": 0, "sum": 1, taken: 1}


def test_scenario_24_a_token_that_no_arc_takes_ends_with_its_reason() -> None:
    ran = run("""
workload: {answer: maybe}
workflow:
  - step: start
    next:
      arcs:
        - {step: yes_path, when: "{{ workload.answer == 'APPROVED' }}"}
        - {step: no_path, when: "{{ workload.answer == 'REJECTED' }}"}
  - {step: yes_path}
  - {step: no_path}
""")
    assert ran.status == "completed"
    data = ran.of("token.ended")[0].data
    assert data["reason"] == "no arc matched"
    assert data["asked"] == [
        {"target": "yes_path", "when": "workload.answer == 'APPROVED'"},
        {"target": "no_path", "when": "workload.answer == 'REJECTED'"},
    ]


def test_scenario_28_ctx_counts_on_through_a_cycle() -> None:
    """Killed after any event and resumed, too: `tests/runtime/app/test_killed.py`."""
    ran = run(f"""
workflow:
  - step: start
    tool: {{name: t, kind: noop, {SET % 'off: "{{ (ctx.off | default(-1)) + 1 }}"'}}}
    next: {{arcs: [{{step: check}}]}}
  - {{step: check, next: {{arcs: [{{step: start, when: "{{{{ ctx.off < 4 }}}}"}}, {{step: end}}]}}}}
""")
    assert [event.data["patch"] for event in ran.of("ctx.patched")] == [{"off": n} for n in range(5)]


def test_scenario_30_a_step_called_end_is_an_ordinary_step() -> None:
    ran = run("""
workflow:
  - {step: start, next: {arcs: [{step: end}]}}
  - {step: end, next: {arcs: [{step: wrap_up}]}}
  - {step: wrap_up}
""")
    assert (ran.status, ran.ran("wrap_up")) == ("completed", 1)


@pytest.mark.parametrize("outcome", ["{status: error}", "{status: ok}"])
def test_scenario_34_a_failure_without_an_arc_ends_the_run_within_one_turn(outcome: str) -> None:
    """A tool's failure, and a template that fails in the step's body."""
    ran = run(
        """
workflow:
  - step: start
    tool: [{name: t, kind: http, url: "http://x"}, {name: u, kind: http, url: "{{ ctx.nowhere }}"}]
    next: {arcs: [{step: done, when: "{{ event.name == 'step.done' }}"}]}
  - {step: done}
""",
        f"outcomes: [{{task: t, takes: 1, outcome: {outcome}}}]",
    )
    finished = ran.of("workflow.finished")
    assert [event.data["status"] for event in finished] == ["failed"]
    assert finished[0].ts == 1_000_000
    error = finished[0].data["error"]
    assert isinstance(error, dict) and error["step"] == "start" and error["message"]


def test_scenario_36_no_arcs_is_the_end_of_a_token() -> None:
    """Empty admission rules and joins without sources are refused by the compiler."""
    ran = run("workflow:\n  - {step: start, next: {spec: {mode: inclusive}, arcs: []}}\n")
    assert (ran.status, ran.of("token.ended")[0].data["reason"]) == ("completed", "the step is a leaf")


def test_scenario_116_the_head_of_a_loop_runs_on_its_first_token() -> None:
    ran = run(f"""
workflow:
  - {{step: start, next: {{arcs: [{{step: head}}]}}}}
  - {{step: head, next: {{arcs: [{{step: body}}]}}}}
  - step: body
    tool: {{name: t, kind: noop, {SET % 'more: "{{ ctx.more is not defined }}"'}}}
    next: {{arcs: [{{step: head, when: "{{{{ ctx.more }}}}"}}, {{step: end}}]}}
""")
    assert (ran.status, ran.ran("head")) == ("completed", 2)


@pytest.mark.parametrize("word", ["False", "false", "FALSE", "no", ""])
def test_exactly_one_of_a_guard_and_its_negation_is_taken(word: str) -> None:
    ran = run(
        """
workload: {dry: x}
workflow:
  - step: start
    tool: {kind: noop}
    next:
      spec: {mode: inclusive}
      arcs:
        - {step: dry, when: "{{ workload.dry }}"}
        - {step: real, when: "{{ not workload.dry }}"}
        - {step: both, when: "{{ workload.dry and true }}"}
  - step: dry
    spec:
      policy:
        admit: {rules: [{when: "{{ not workload.dry }}", then: {allow: false}}, {else: {then: {allow: true}}}]}
    tool: {kind: noop}
  - {step: real, tool: {kind: noop}}
  - {step: both, tool: {kind: noop}}
""",
        payload={"dry": word},
    )
    done = {ran.program.plan.steps[event.step].name for event in ran.of("step.done")} - {"start"}
    assert done == ({"dry", "both"} if word == "no" else {"real"})


@pytest.mark.parametrize("rows", [[], [{"ok": True}], [{"ok": False}], [{"ok": True}, {"ok": False}]])
@pytest.mark.parametrize(
    "chosen", ["rejectattr('ok')", "rejectattr('ok') | map(attribute='ok')", "rejectattr('ok') | batch(2)"]
)
def test_a_guard_on_a_filter_that_leaves_nothing_is_false(rows: list[dict[str, bool]], chosen: str) -> None:
    ran = run(
        f"""
workload: {{rows: []}}
workflow:
  - step: start
    tool: {{kind: noop}}
    next: {{arcs: [{{step: alarm, when: "{{{{ workload.rows | {chosen} }}}}"}}, {{step: fine}}]}}
  - {{step: alarm, tool: {{kind: noop}}}}
  - {{step: fine, tool: {{kind: noop}}}}
""",
        payload={"rows": rows},
    )
    done = {ran.program.plan.steps[event.step].name for event in ran.of("step.done")} - {"start"}
    assert done == ({"alarm"} if {"ok": False} in rows else {"fine"})
