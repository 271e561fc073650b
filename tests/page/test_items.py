"""The items of a step's loops on the page: a page at a time, by state, live, and one of them whole."""

from typing import TYPE_CHECKING

from harness.browsing import Listener
from harness.running import HEAD
from harness.serving import until

if TYPE_CHECKING:
    from playwright.sync_api import Page

MANY = """
workflow:
  - step: start
    loop: {in: "{{ range(120) | list }}", iterator: n, spec: {mode: sequential}}
    tool:
      name: f
      kind: fail
      code: no.luck
      message: "<b>none</b>"
      spec: {policy: {rules: [{when: "{{ iter.n < 117 }}", then: {do: continue}}, {else: {then: {do: fail}}}]}}
"""
WAITS = """
workflow:
  - step: start
    loop: {in: [1, 2, 3], iterator: n, spec: {mode: parallel}}
    tool: {name: w, kind: wait, events: ["{{ 'go%d' % iter.n }}"]}
"""


def opened(server: Listener, page: "Page", source: str, state: str) -> str:
    server.register(HEAD + source)
    name = server.start("t/t")
    until(lambda: server.api.get(f"/executions/{name}/row").json()["status"] == state)
    page.goto(f"{server.url}/#/executions/{name}?step=start")
    page.get_by_role("heading", name="Items (").wait_for()
    return name


def test_items_come_by_pages_and_by_state(server: Listener, page: "Page") -> None:
    opened(server, page, MANY, "failed")
    rows = page.locator(".items > li")
    # What went wrong is shown first.
    chips = page.get_by_role("group", name="Items by state")
    page.locator(".items strong", has_text="no.luck").wait_for()
    assert rows.count() == 1
    chips.get_by_role("button", name="all").click()
    page.locator(".items > li", has_text="[49]").wait_for()
    assert page.get_by_role("heading", name="Items (120)").count() == 1
    assert rows.count() == 50 and rows.first.locator("code").first.inner_text() == "[0]"
    page.get_by_role("button", name="Further items").click()
    page.locator(".items > li", has_text="[50]").wait_for()
    assert rows.count() == 50
    page.get_by_role("button", name="Items before").click()
    page.locator(".items > li", has_text="[49]").wait_for()
    chips.get_by_role("button", name="failed").click()
    page.locator(".items strong", has_text="no.luck").wait_for()
    assert rows.count() == 1 and "[117]" in rows.first.inner_text()
    assert page.locator(".items b").count() == 0, "a message is text"
    assert rows.first.get_by_text("t.yaml:").count() >= 1
    chips.get_by_role("button", name="skipped").click()
    page.locator(".items > li", has_text="[119]").wait_for()
    assert rows.count() == 2
    chips.get_by_role("button", name="all").click()
    page.get_by_role("button", name="Item 0, all of it").click()
    page.locator(".items .whole h3", has_text="Item").wait_for()


def test_items_are_followed_while_they_run(server: Listener, page: "Page") -> None:
    name = opened(server, page, WAITS, "running")
    page.get_by_role("group", name="Items by state").get_by_role("button", name="waiting 3").wait_for()
    server.api.post(f"/executions/{name}/signal", json={"name": "go2", "data": {"by": "ada"}})
    page.locator(".items > li", has_text="[1]").get_by_text("done", exact=True).wait_for()
    page.get_by_role("button", name="Item 1, all of it").click()
    page.locator(".items .whole pre", has_text='"by": "ada"').wait_for()
    server.api.post(f"/executions/{name}/signal", json={"name": "go1"})
    page.locator(".items > li", has_text="[0]").get_by_text("done", exact=True).wait_for()
    assert page.locator(".items .whole pre", has_text='"by": "ada"').is_visible(), "what is open stays open"
