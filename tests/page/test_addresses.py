"""Addresses of the page: one leads to an event, a step and a tab, and links back to a list keep its filters."""

from typing import TYPE_CHECKING

from harness.browsing import Listener
from harness.running import HEAD
from harness.serving import until

if TYPE_CHECKING:
    from playwright.sync_api import Page

WORK = """
workflow:
  - {step: start, tool: {kind: noop}, next: {arcs: [{step: last}]}}
  - {step: last, tool: {kind: shell, command: sleep 0.2}}
"""


def ended(server: Listener) -> str:
    server.register(HEAD + WORK)
    name = server.start("t/t")
    until(lambda: server.api.get(f"/executions/{name}/row").json()["ended"] is not None)
    return name


def test_the_address_leads_to_the_event_that_is_shown(server: Listener, page: "Page") -> None:
    name = ended(server)
    address = f"{server.url}/#/executions/{name}"
    page.goto(address)
    page.get_by_role("button", name="Step last: done").wait_for()
    total = int(str(page.get_by_role("slider").get_attribute("max")))
    assert page.url == address
    before = page.evaluate("history.length")
    page.get_by_role("slider").fill("5")
    page.wait_for_url(f"{address}?at=5")
    page.get_by_role("button", name="Next event").click()
    page.wait_for_url(f"{address}?at=6")
    assert page.evaluate("history.length") == before, "no way back leads through each event"
    page.get_by_role("button", name="Step start").click()
    page.wait_for_url(f"{address}?at=6&step=start")
    page.get_by_role("tab", name="Marking").click()
    page.wait_for_url(f"{address}?at=6&step=start&tab=marking")
    page.reload()
    page.get_by_text(f"6 of {total}").wait_for()
    assert page.get_by_role("tab", name="Marking").get_attribute("aria-selected") == "true"
    page.get_by_role("button", name="Last event").click()
    page.wait_for_url(f"{address}?step=start&tab=marking")
    page.get_by_role("button", name="Zoom in").click()
    page.wait_for_url("**&zoom=*")
    assert "step=start" in page.url


def test_a_link_back_to_a_list_keeps_its_filters(server: Listener, page: "Page") -> None:
    ended(server)
    for place, query, link in (
        ("executions", "status=completed&text=t%2Ft", "t/t"), ("playbooks", "text=t%2F", "t/t"),
    ):  # fmt: skip
        page.goto(f"{server.url}/#/{place}?{query}")
        page.get_by_role("link", name=link, exact=True).click()
        crumb = page.locator(".crumb a").first
        crumb.wait_for()
        page.reload()
        crumb.click()
        page.wait_for_url(f"{server.url}/#/{place}?{query}")
        page.get_by_role("link", name=link, exact=True).wait_for()


def test_what_is_searched_stands_in_the_address_of_every_list(server: Listener, page: "Page") -> None:
    ended(server)
    for place, name in (("executions", "query"), ("playbooks", "text"), ("signals", "prefix")):
        page.goto(f"{server.url}/#/{place}")
        page.get_by_role("searchbox").fill("abc")
        page.wait_for_url(f"{server.url}/#/{place}?{name}=abc")
        page.reload()
        page.wait_for_function("() => document.querySelector('input[type=search]')?.value === 'abc'")
