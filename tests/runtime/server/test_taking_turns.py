"""Tasks of executions take turns: many slow ones of one keep none of another waiting for more than a few of them."""

from pathlib import Path

import pytest

from harness.running import HEAD
from harness.serving import Served, served, until

SLOW = """
workflow:
  - step: start
    loop: {in: "{{ range(300) | list }}", iterator: n, spec: {mode: parallel, max_in_flight: 300}}
    tool: {kind: noop, result: "{{ range(60000) | map('string') | join(',') | length }}"}
"""
QUICK = """
workflow:
  - {step: start, tool: {kind: noop, result: 1}}
"""


def at(server: Served, execution_id: str, event: int) -> int:
    """When an event of a log was decided: who looks from outside may look late."""
    return [event for _, event in server.runtime.events(execution_id)][event].ts


def test_three_hundred_slow_tasks_beside_a_quick_one(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        for name, body in (("slow", SLOW), ("quick", QUICK)):
            text = HEAD.replace("t/t", f"t/{name}") + body
            server.client.post(f"/playbooks?name={name}.yaml", content=text.encode()).raise_for_status()
        names = [server.client.post("/executions", json={"path": "t/slow"}).json()["execution_id"]]
        place = f"/executions/{names[0]}"
        until(lambda: server.client.get(place).json()["counts"]["tasks"] > 2)
        quick = server.client.post("/executions", json={"path": "t/quick"}).json()["execution_id"]
        until(lambda: server.client.get(f"/executions/{quick}").json()["status"] == "completed")
        first, last = (at(server, quick, end) for end in (0, -1))
        done = [event for _, event in server.runtime.events(names[0]) if event.event_type == "task.done"]
        # In line behind all of the slow ones it would be 290.
        assert sum(first < event.ts < last for event in done) < 150
        server.client.post(f"{place}/cancel")
        until(lambda: server.client.get(place).json()["status"] == "cancelled")


HOG = """
executor: {spec: {policy: {limits: {max_step_runs: 400}}}}
workload: {size: 60000}
workflow:
  - step: start
    tool: {kind: python, code: "result = [str(n) for n in range(60000)]"}
    next: {spec: {mode: inclusive}, arcs: [{step: b}, {step: b}, {step: b}, {step: b}]}
  - step: b
    next: {arcs: [{step: b, when: "{{ (start | sort | first) == '0' }}"}]}
"""
WAITING = """
workflow:
  - {step: start, tool: {kind: wait, timers: {soon: 0.2}}}
"""


@pytest.mark.parametrize(("body", "of"), [(QUICK, 1), (QUICK, 2), (WAITING, 1)])
def test_slow_guards_of_executions_beside_a_quick_one(tmp_path: Path, body: str, of: int) -> None:
    """Their turns are cut, and whoever was made to wait comes first: reports and timers alike."""
    with served(tmp_path) as server:
        for name, text in (("hog", HOG), ("quick", body)):
            source = HEAD.replace("t/t", f"t/{name}") + text
            server.client.post(f"/playbooks?name={name}.yaml", content=source.encode()).raise_for_status()
        hogs = [server.client.post("/executions", json={"path": "t/hog"}).json()["execution_id"] for _ in range(of)]
        # The step that goes round has no task of its author's, which are those that are counted.
        until(lambda: all(server.client.get(f"/executions/{hog}").json()["events"] > 40 for hog in hogs))
        quick = server.client.post("/executions", json={"path": "t/quick"}).json()["execution_id"]
        until(lambda: server.client.get(f"/executions/{quick}").json()["status"] == "completed")
        ended = at(server, quick, -1)
        for hog in hogs:
            assert server.client.get(f"/executions/{hog}").json()["status"] == "running" or at(server, hog, -1) > ended
