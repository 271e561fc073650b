"""The decisions that follow from one event share a budget of work: guards that fit alone may be too much together."""

from pathlib import Path

from harness.running import HEAD, run
from harness.serving import served, until

# 4,500,000 units: a quarter for each character made, half in upper case. The fifth is over the 20,000,000 shared.
HALF = "('x' * 6000000) | upper | length"
EXIT = """
workflow:
  - step: start
    next: {arcs: [%s]}
  - {step: last, tool: {kind: noop, result: 7}}
"""


def exits(count: int) -> str:
    no = ", ".join(f'{{step: last, when: "{{{{ {HALF} == {number} }}}}"}}' for number in range(count))
    return EXIT % f"{no}, {{step: last}}"


def test_a_few_slow_guards_are_asked() -> None:
    assert run(exits(3)).status == "completed"


def test_many_are_an_error_and_a_replay_comes_to_the_same() -> None:
    ran = run(exits(8))  # checks a replay too
    error = ran.of("workflow.finished")[-1].data["error"]
    assert isinstance(error, dict)
    assert (ran.status, error["code"], error["arc"]) == ("failed", "guard.error", 4)
    assert str(error["message"]).startswith("what follows from one event")


def test_a_slow_execution_delays_no_other_on_a_server(tmp_path: Path) -> None:
    rounds = """
workflow:
  - step: start
    next: {arcs: [{step: again, when: "{{ ('a b ' * 400000) | title | length == 0 }}"}, {step: again}]}
  - {step: again, next: {arcs: [{step: start}]}}
"""
    quick = "workflow: [{step: start, tool: {kind: noop, result: 7}}]"
    with served(tmp_path) as server:
        for name, text in (("slow", rounds), ("quick", quick)):
            source = HEAD.replace("t/t", f"t/{name}") + text
            server.client.post(f"/playbooks?name={name}.yaml", content=source.encode()).raise_for_status()
        slow = server.client.post("/executions", json={"path": "t/slow"}).json()["execution_id"]
        other = server.client.post("/executions", json={"path": "t/quick"}).json()["execution_id"]
        until(lambda: server.client.get(f"/executions/{other}").json()["status"] == "completed", 5)
        assert server.client.get(f"/executions/{slow}").json()["status"] == "running"
        assert server.client.post(f"/executions/{slow}/cancel").status_code == 202
