"""The children of an execution on its page: who called each, and how they stood at a moment."""

from typing import TYPE_CHECKING

from harness.browsing import Listener
from harness.running import HEAD
from harness.serving import until

if TYPE_CHECKING:
    from playwright.sync_api import Page

CHILD = """
workflow:
  - {step: start, tool: {kind: wait, events: [end]}}
"""
PARENT = """
workflow:
  - step: each
    loop: {in: [1, 2], iterator: n, spec: {mode: parallel}}
    tool: {name: call, kind: playbook, path: t/child}
    next: {arcs: [{step: last}]}
  - {step: last, tool: {kind: fail, code: no.truck, message: none}}
"""
MANY = """
workload: {n: 230}
workflow:
  - step: each
    loop: {in: "{{ range(workload.n) | list }}", iterator: n, spec: {mode: parallel}}
    tool: {name: call, kind: playbook, path: t/child, wait: false}
"""
SHORT = """
workflow:
  - {step: start, tool: {kind: noop}}
"""


def called(server: Listener, name: str) -> dict[int, str]:
    """The children of an execution by the item that called them, as the first event of each says."""
    found = {}
    for row in server.api.get("/executions", params={"parent": name}).json()["executions"]:
        first = server.api.get(f"/executions/{row['execution_id']}/events?limit=1").json()["events"][0]
        found[int(first["payload"]["call"].partition("/")[2].partition(":")[0])] = row["execution_id"]
    return found


def positions(server: Listener, name: str, event: str) -> list[int]:
    """Where events of a name are in a log."""
    events = server.api.get(f"/executions/{name}/events?limit=500").json()["events"]
    return [int(each["position"]) for each in events if each["event_type"] == event]


def end(server: Listener, child: str) -> None:
    """Send a child what it waits for."""
    until(lambda: bool(server.api.get(f"/executions/{child}").json()["now"]))
    server.api.post(f"/executions/{child}/signal", json={"name": "end"}).raise_for_status()


def test_children_are_those_of_the_moment_with_their_items(server: Listener, page: "Page") -> None:
    server.register(HEAD.replace("t/t", "t/child") + CHILD)
    server.register(HEAD + PARENT)
    name = server.start("t/t")
    until(lambda: len(called(server, name)) == 2)
    mine = called(server, name)
    for number in (1, 0):  # one after the other
        end(server, mine[number])
        until(lambda: len(positions(server, name, "loop.iteration.done")) > 1 - number)  # noqa: B023
    until(lambda: server.api.get(f"/executions/{name}").json()["status"] == "failed")
    began, ended = positions(server, name, "task.started"), positions(server, name, "loop.iteration.done")
    rows = page.locator(".children li .child")
    page.goto(f"{server.url}/#/executions/{name}")
    rows.nth(1).wait_for()
    for number in (0, 1):
        row = rows.filter(has=page.get_by_text(f"each[{number}]", exact=True))
        row.get_by_text(mine[number], exact=True).wait_for()
        assert row.locator(".badge").inner_text() == "completed"
    page.locator(".failure").get_by_text("no.truck", exact=True).wait_for()
    page.goto(f"{server.url}/#/executions/{name}?at={began[0] - 1}")
    page.get_by_text("None of them had begun here.").wait_for()
    assert rows.count() == 0 and page.locator(".failure").is_hidden()
    page.goto(f"{server.url}/#/executions/{name}?at={began[1]}")
    rows.nth(1).wait_for()
    assert rows.locator(".badge").all_inner_texts() == ["running", "running"]
    page.goto(f"{server.url}/#/executions/{name}?at={ended[0]}")
    rows.locator(".badge.completed").wait_for()
    assert sorted(rows.locator(".badge").all_inner_texts()) == ["completed", "running"]
    assert page.locator(".failure").is_hidden()
    page.goto(f"{server.url}/#/executions/{name}?at={positions(server, name, 'workflow.finished')[0]}")
    page.locator(".failure").get_by_text("no.truck", exact=True).wait_for()
    page.goto(f"{server.url}/#/executions/{name}?step=each&at={began[1]}")
    waits = page.locator(".attempts li.open", has_text="[1]")
    waits.get_by_role("link", name=mine[1]).click()
    page.get_by_role("heading", name="t/child").wait_for()


def test_more_than_are_listed_are_a_click_away(server: Listener, page: "Page") -> None:
    server.register(HEAD.replace("t/t", "t/child") + SHORT)
    server.register(HEAD + MANY)
    name = server.start("t/t")
    until(lambda: bool(server.api.get(f"/executions/{name}").json()["status"] == "completed"))
    until(lambda: bool(server.api.get(f"/counts/status?query=parent:{name} is:over").json()["counts"]))
    page.goto(f"{server.url}/#/executions/{name}?step=each")
    page.get_by_role("heading", name="Children (230)").wait_for()
    assert page.locator(".children li").count() == 200
    page.get_by_text("The last 100 of 230.").wait_for()
    assert page.locator(".attempts li").count() == 100
    page.get_by_role("button", name="100 earlier ones").click()
    page.get_by_text("The last 200 of 230.").wait_for()
    page.get_by_role("button", name="30 earlier ones").click()
    page.get_by_text("[0] call", exact=False).first.wait_for()
    assert page.locator(".attempts li").count() == 230
    page.locator(".children").get_by_role("link", name="All 230").click()
    page.get_by_role("heading", name="Executions", exact=True).wait_for()
    page.locator("tbody").get_by_role("link", name="t/child").first.wait_for()
    assert page.get_by_role("searchbox").input_value() == f"parent:{name}"
