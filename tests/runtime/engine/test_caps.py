"""An execution that goes round without end, or that makes more and more tokens, ends with the bound that it came to."""

from pathlib import Path

import pytest

from harness.running import HEAD, Ran, run
from harness.serving import served, until
from noetlc.analysis.bounds import bounds_of

ROUND = """
executor: {spec: {policy: {limits: {max_step_runs: 50}}}}
workflow:
  - {step: start, next: {arcs: [{step: again}]}}
  - {step: again, next: {arcs: [{step: start}]}}
"""
FLOOD = """
executor: {spec: {policy: {limits: {max_tokens: 20}}}}
workflow:
  - step: start
    tool: {kind: noop}
    next: {spec: {mode: inclusive}, arcs: [{step: start}, {step: sink}, {step: sink}]}
  - {step: sink, tool: {kind: wait, events: [never]}}
"""


def failure(ran: Ran) -> tuple[str, object, object]:
    error = ran.of("workflow.finished")[-1].data["error"]
    assert isinstance(error, dict)
    return ran.status, error["code"], error["message"]


def test_step_runs_are_bounded() -> None:
    ran = run(ROUND)
    message = "51 step runs in this execution; `limits.max_step_runs` is 50"
    assert failure(ran) == ("failed", "limit.step_runs", message)
    assert ran.ran("start") + ran.ran("again") == 50


def test_tokens_on_their_way_are_bounded() -> None:
    ran = run(FLOOD)
    status, code, message = failure(ran)
    assert (status, code) == ("failed", "limit.tokens")
    assert str(message).endswith(" tokens in flight at once; `limits.max_tokens` is 20")
    assert 10 < ran.ran("sink") <= 20


BESIDE = """
executor: {spec: {policy: {limits: {max_tokens: MOST}}}}
workflow:
- step: start
  next: {spec: {mode: inclusive}, arcs: [{step: many}, {step: other}]}
- {step: many, LOOP tool: {kind: http, url: "http://x"}}
- {step: other, tool: {kind: http, url: "http://x"}, next: {arcs: [{step: last}]}}
- {step: last, tool: {kind: noop}}
"""
BESIDE_SCRIPT = """
outcomes:
- {task: other_task, takes: 1, outcome: {result: 1}}
- {task: many_task, takes: 5, outcome: {result: 1}}
"""
INNER = "iterator: a, spec: {mode: parallel}, loop: {in: '{{ range(5) | list }}', iterator: b, spec: {mode: MODE}}"
LOOPS = {
    "no loop": ("", 2),
    "one after the other": ("loop: {in: '{{ range(40) | list }}', iterator: n},", 2),
    "some": ("loop: {in: '{{ range(40) | list }}', iterator: n, spec: {mode: parallel, max_in_flight: 6}},", 7),
    "all": ("loop: {in: '{{ range(40) | list }}', iterator: n, spec: {mode: parallel}},", 41),
    "loops in a loop": ("loop: {in: '{{ range(3) | list }}', " + INNER.replace("MODE", "sequential") + "},", 4),
    "all of loops in a loop": ("loop: {in: '{{ range(3) | list }}', " + INNER.replace("MODE", "parallel") + "},", 16),
}  # fmt: skip
"""A loop, and how many steps and iterations are in flight while another step of the fork goes on."""


@pytest.mark.parametrize("name", LOOPS)
def test_the_limit_of_tokens_counts_what_analyze_counts(name: str) -> None:
    loop, count = LOOPS[name]
    text = BESIDE.replace("LOOP", loop)
    assert run(text.replace("MOST", str(count)), BESIDE_SCRIPT).status == "completed"
    ran = run(text.replace("MOST", str(count - 1)), BESIDE_SCRIPT)
    assert failure(ran)[1:] == (
        "limit.tokens", f"{count} tokens in flight at once; `limits.max_tokens` is {count - 1}",
    )  # fmt: skip
    assert str(bounds_of(ran.program.plan).tokens) == str(count)


def test_without_limits_there_are_those_of_the_pages() -> None:
    limits = run("workflow: [{step: start}]").program.plan.limits
    assert (limits.max_step_runs, limits.max_tokens) == (1_000_000, 100_000)


@pytest.mark.parametrize(("text", "code"), [(ROUND, "limit.step_runs"), (FLOOD, "limit.tokens")])
def test_a_server_has_the_same_bounds(tmp_path: Path, text: str, code: str) -> None:
    with served(tmp_path) as server:
        server.client.post("/playbooks?name=t.yaml", content=(HEAD + text).encode()).raise_for_status()
        name = server.client.post("/executions", json={"path": "t/t"}).json()["execution_id"]
        until(lambda: server.client.get(f"/executions/{name}").json()["status"] == "failed")
        assert server.client.get(f"/executions/{name}").json()["error"]["code"] == code
