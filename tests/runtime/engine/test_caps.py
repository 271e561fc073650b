"""An execution that goes round without end, or that makes more and more tokens, ends with the bound that it came to."""

from pathlib import Path

import pytest

from harness.running import HEAD, Ran, run
from harness.serving import served, until

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
    assert str(message).endswith(" tokens on their way at once; `limits.max_tokens` is 20")
    assert 10 < ran.ran("sink") <= 20


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
