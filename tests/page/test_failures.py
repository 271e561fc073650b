"""Failures on the page of an execution: the words of the command line, and the line that went wrong."""

from typing import TYPE_CHECKING

import pytest

from harness.bodies import DIVIDES
from harness.browsing import Listener
from harness.running import HEAD
from harness.serving import until
from noetl.cli.failures import failure_text
from tool_doubles import JsonHandler, http_server

if TYPE_CHECKING:
    from playwright.sync_api import Page

BLOCK = """
workflow:
  - step: start
    tool:
      kind: python
      args: {rows: [1]}
      code: |
        a = 1

        b = rows[7]
        result = b
  - {step: other, tool: {kind: python, code: "result = 1"}}
"""
LISTED = """
workflow:
  - step: start
    tool:
      - {name: before, kind: noop}
      - code: |  # of the second
          raise OSError("none")
        name: second
        kind: python
"""
REPEATED = """
workflow:
  - step: start
    tool:
      kind: python
      code: |
        raise OSError("none")
      spec: {policy: {rules: [{when: "{{ outcome.status == 'error' }}", then: {do: retry, attempts: 2, delay: 0}}]}}
"""
INLINE = """
workflow:
  - {step: start, tool: {kind: python, code: "raise OSError('none')"}}
  - step: other
    tool:
      kind: python
      code: |
        result = 1
"""


@pytest.mark.parametrize(
    ("playbook", "shown"),
    [
        (BLOCK, "b = rows[7]"),
        (LISTED, 'raise OSError("none")'),
        (INLINE, "- {step: start"),
        (REPEATED, "spec: "),  # the rule gave up, for the reason that is told
    ],
)
def test_a_failure_is_told_as_the_command_line_tells_it(
    server: Listener, page: "Page", playbook: str, shown: str
) -> None:
    server.register(HEAD + playbook)
    name = server.start("t/t")
    until(lambda: server.api.get(f"/executions/{name}").json()["status"] == "failed")
    error = server.api.get(f"/executions/{name}").json()["error"]
    page.goto(f"{server.url}/#/executions/{name}")
    failure = page.locator(".failure")
    failure.locator(".line.here").wait_for()
    words = f"{failure.locator('strong').inner_text()}: {failure.locator('pre').first.inner_text()}"
    assert words == failure_text(error)
    assert "OSError: none (line 1 of its code)" in words or "IndexError: list index out of range (line 3 of" in words
    line = 1 + next(n for n, text in enumerate((HEAD + playbook).splitlines()) if text.strip().startswith(shown))
    assert failure.locator(".line.here").get_attribute("data-line") == str(line)


DEEP = """
workflow:
  - step: start
    tool:
      kind: noop
      args:
        rows: [1, 2]
        total: "{{ 1 + workload.missing }}"
"""


def test_a_template_that_failed_is_marked_where_it_stands(server: Listener, page: "Page") -> None:
    text = HEAD + DEEP
    server.register(text)
    name = server.start("t/t")
    until(lambda: bool(server.api.get(f"/executions/{name}").json()["status"] == "failed"))
    page.goto(f"{server.url}/#/executions/{name}")
    failure = page.locator(".failure .problem")
    failure.locator(".line.here u.error").wait_for()
    assert failure.locator(".line.here u.error").inner_text() == "workload.missing"
    line = next(number for number, each in enumerate(text.splitlines(), 1) if "missing" in each)
    assert failure.locator(".line.here").get_attribute("data-line") == str(line)


CALLS = """
workflow:
  - {step: start, tool: {kind: playbook, path: t/%s}}
"""


def test_a_failure_in_a_child_is_shown_at_its_line(server: Listener, page: "Page") -> None:
    """Neither child was ever registered: they are in the plan of their caller, and so are their sources beside it."""
    bottom = HEAD.replace("t/t", "t/bottom") + DIVIDES
    server.register_family(HEAD + CALLS % "middle", HEAD.replace("t/t", "t/middle") + CALLS % "bottom", bottom)
    name = server.start("t/t")
    until(lambda: bool(server.api.get(f"/executions/{name}").json()["status"] == "failed"))
    page.goto(f"{server.url}/#/executions/{name}")
    children = page.locator(".failure .child")
    children.locator(".line.here u.error").last.wait_for()
    assert [each.partition(",")[0] for each in children.locator("> p").all_inner_texts()] == [
        "in t/middle",
        "in t/bottom",
    ]
    last = children.last
    assert last.locator(".line.here u.error").inner_text() == "result = total / 0"
    line = next(number for number, each in enumerate(bottom.splitlines(), 1) if "/ 0" in each)
    assert last.locator(".line.here").get_attribute("data-line") == str(line)
    last.get_by_role("button", name="divide").click()
    page.get_by_role("heading", name="t/bottom").wait_for()
    page.locator(".failure .line.here u.error", has_text="result = total / 0").wait_for()


EACH = """
workflow:
  - {step: start, loop: {in: [1], iterator: n}, tool: {kind: playbook, path: t/bottom}}
"""


def test_the_child_of_an_item_is_a_click_away(server: Listener, page: "Page") -> None:
    server.register_family(HEAD + EACH, HEAD.replace("t/t", "t/bottom") + DIVIDES)
    name = server.start("t/t")
    until(lambda: bool(server.api.get(f"/executions/{name}").json()["status"] == "failed"))
    [child] = server.api.get("/executions", params={"parent": name}).json()["executions"]
    page.goto(f"{server.url}/#/executions/{name}?step=start")
    page.locator(".items .problem").get_by_role("link", name=child["execution_id"]).click()
    page.locator(".failure .line.here u.error", has_text="result = total / 0").wait_for()


class Orders(JsonHandler):
    """Has no orders of the south."""

    def do_GET(self) -> None:
        self.respond({"error": "database is down"}, 500 if "south" in self.path else 200)


REGIONS = """
workflow:
  - step: fetch
    loop: {in: [north, south], iterator: region}
    tool: {name: fetch_task, kind: http, url: URL, params: {region: "{{ iter.region }}"}}
"""


def test_a_request_that_failed_is_told_with_its_query_and_what_came(server: Listener, page: "Page") -> None:
    with http_server(Orders) as url:
        server.register(HEAD + REGIONS.replace("URL", f"{url}/orders"))
        name = server.start("t/t")
        until(lambda: bool(server.api.get(f"/executions/{name}").json()["status"] == "failed"))
    page.goto(f"{server.url}/#/executions/{name}")
    failure = page.locator(".failure .problem")
    failure.get_by_role("button", name="fetch[1] / fetch_task").wait_for()
    assert failure.locator("dd").all_inner_texts() == [
        "500", f"{url}/orders?region=south", '{"error": "database is down"}',
    ]  # fmt: skip
    page.goto(f"{server.url}/#/executions/{name}?step=fetch")
    page.locator(".items .problem dd", has_text="database is down").wait_for()


UNSENT = """
workflow:
  - step: start
    tool: {kind: wait, events: [approve]}
    next: {arcs: [{step: tell, args: {who: "{{ start.data.who }}"}}]}
  - {step: tell, tool: {kind: noop}}
"""


def test_an_arc_that_could_not_be_evaluated_is_painted(server: Listener, page: "Page") -> None:
    server.register(HEAD + UNSENT)
    name = server.start("t/t")
    until(lambda: bool(server.api.get(f"/executions/{name}").json()["now"]))
    server.api.post(f"/executions/{name}/signal", json={"name": "approve"}).raise_for_status()
    until(lambda: bool(server.api.get(f"/executions/{name}").json()["status"] == "failed"))
    page.goto(f"{server.url}/#/executions/{name}")
    page.get_by_role("button", name="Step start: failed").wait_for()
    page.locator(".stage [data-e].failed[data-id='arc start 0']").wait_for()
    assert page.locator(".lane .tick.arc.failed").count() == 1
    page.get_by_role("button", name="Failed", exact=True).click()
    row = page.locator(".attempts li.failed", has_text="arc to tell")
    row.get_by_text("`start.data.who` is undefined: signal `approve` came without data").wait_for()


def test_a_source_that_did_not_come_is_asked_for_again(server: Listener, page: "Page") -> None:
    server.register(HEAD + DEEP)
    name = server.start("t/t")
    until(lambda: bool(server.api.get(f"/executions/{name}").json()["status"] == "failed"))
    with page.expect_event("requestfailed"):
        page.route("**/plans/*/source", lambda route: route.abort())
        page.goto(f"{server.url}/#/executions/{name}")
    page.unroute("**/plans/*/source")
    page.get_by_role("navigation").get_by_role("link", name="Executions").click()
    page.get_by_role("heading", name="Executions", exact=True).wait_for()
    page.go_back()
    page.locator(".failure .problem .line.here u.error").wait_for()
