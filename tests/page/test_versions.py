"""Versions of a playbook in a browser: findings at the lines of the source, and what changed from one to another."""

from typing import TYPE_CHECKING

from harness.browsing import Listener, page_of
from harness.running import HEAD
from noetl.clients.compiler import compile_source

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

FIRST = """workflow:
  - step: start
    tool: {kind: noop}
    next: {arcs: [{step: reject}]}
  - step: reject  # 𝄞 two units of UTF-16, one column
    tool: {kind: fail, code: order.rejected}
    next: {arcs: [{step: tell}]}
  - {step: tell, tool: {kind: noop}}
  - {step: old, tool: {kind: noop}}
"""
SECOND = FIRST.replace("order.rejected", "order.no_truck").replace("  - {step: old, tool: {kind: noop}}\n", "")
ADDRESS = "#/playbooks/t%2Ft"


def test_findings_stand_at_their_lines_and_are_explained(server: Listener, page: "Page") -> None:
    server.register(HEAD + FIRST)
    page.goto(f"{server.url}/{ADDRESS}")
    page.get_by_text("2 warnings").wait_for()
    line = (HEAD + FIRST).splitlines().index("    next: {arcs: [{step: tell}]}") + 1
    told = page.locator(f"[data-line='{line}'] + .told.warning")
    told.get_by_text("reject never succeeds").wait_for()
    assert page.locator(f"[data-line='{line}'] u.warning").inner_text() == "{step: tell}"
    page.get_by_role("button", name=f"line {line}", exact=True).click()
    assert page.locator(".listing .shown").get_attribute("data-line") == str(line)
    assert page.locator(".listing .shown").evaluate("one => one.getBoundingClientRect().top < innerHeight")
    told.get_by_role("link", name="NL615").click()
    page.get_by_role("heading", name="NL615 arc-after-failure").wait_for()
    page.get_by_role("heading", name="Why it matters").wait_for()
    page.goto(f"{server.url}/#/findings/NL000x")
    page.get_by_text("there is no finding NL000x").wait_for()


def test_each_place_that_a_finding_leads_through_has_a_line_of_its_own(server: Listener, page: "Page") -> None:
    server.register(
        HEAD
        + """x-assert: [reachable(pay)]
workflow:
  - step: start
    tool: {kind: wait, events: [go]}
    next: {arcs: [{step: pay, when: "{{ start.data.go }}"}, {step: "no"}]}
  - {step: pay, tool: {kind: noop}}
  - {step: "no", tool: {kind: noop}}
"""
    )
    page.goto(f"{server.url}/{ADDRESS}")
    way = page.locator(".told.warning .way").first
    way.wait_for()
    assert way.inner_text().startswith("line ")
    bounds, above = way.bounding_box(), page.locator(".told.warning a").first.bounding_box()
    assert bounds and above and bounds["y"] >= above["y"] + above["height"]


def test_where_lint_finds_nothing_and_where_there_is_no_source(server: Listener, page: "Page") -> None:
    server.register(HEAD + "workflow: [{step: start, tool: {kind: noop}}]\n")
    page.goto(f"{server.url}/{ADDRESS}")
    page.get_by_text("Lint finds nothing in it.").wait_for()
    # As bytes it is the same plan, and the source is kept with that: one that never had a source is another plan.
    plan = compile_source(
        (HEAD + "workflow: [{step: start, tool: {kind: fail, code: a.b}}]\n").encode(), "t.yaml", ()
    ).plan
    assert server.api.post("/playbooks", content=plan).status_code == 201
    page.reload()
    page.get_by_text("It came as a plan, without its source.").wait_for()
    assert page.get_by_text("Lint finds nothing").count() == 0


def test_two_versions_are_compared_and_stand_in_the_address(server: Listener, page: "Page") -> None:
    server.register(HEAD + FIRST)
    server.register(HEAD + SECOND)
    page.goto(f"{server.url}/{ADDRESS}")
    page.get_by_label("Compare with").select_option("version 1")
    page.wait_for_url(f"**/{ADDRESS}?version=2&with=1")
    page.get_by_text("From version 1 to version 2").wait_for()
    changes = page.locator(".changes li")
    data = changes.filter(has_text='"order.rejected" → "order.no_truck"')
    data.get_by_text("changed", exact=True).wait_for()
    gone = changes.filter(has_text="step old").filter(has_text="gone").first
    gone.get_by_role("button", name="of version 1").click()
    gone.locator(".line.here", has_text="step: old").wait_for()
    page.reload()
    page.get_by_text("From version 1 to version 2").wait_for()
    page.get_by_label("Version", exact=True).select_option("version 1")
    page.wait_for_url(f"**/{ADDRESS}?version=1")
    page.get_by_label("Compare with").select_option("version 2")
    page.get_by_text("From version 2 to version 1").wait_for()
    page.locator(".changes li").filter(has_text="step old").filter(has_text="new").first.wait_for()
    page.go_back()
    page.locator(".changes").wait_for(state="detached")
    page.get_by_label("Compare with").select_option("version 2")
    page.get_by_label("Compare with").select_option("no other version")
    page.wait_for_url(f"**/{ADDRESS}?version=1")


def test_findings_and_changes_fit_a_phone(server: Listener, browser: "Browser") -> None:
    server.register(HEAD + FIRST)
    server.register(HEAD + SECOND.replace("order.no_truck", "order." + "no_truck" * 30))
    with page_of(browser, viewport={"width": 390, "height": 844}) as page:
        page.goto(f"{server.url}/{ADDRESS}?version=2&with=1")
        page.locator(".changes li").first.wait_for()
        page.locator(".told").first.wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        page.goto(f"{server.url}/#/findings/NL701")
        page.get_by_role("heading", name="Example").wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_one_bad_promise_leaves_the_others_on_the_page(server: Listener, page: "Page") -> None:
    server.register(HEAD + "x-assert: [reachable(tell), reachable(old), always(a)]\n" + FIRST)
    page.goto(f"{server.url}/{ADDRESS}")
    verdicts = page.locator(".verdicts li")
    verdicts.filter(has_text="reachable(tell)").get_by_text("refuted").wait_for()
    verdicts.filter(has_text="reachable(old)").first.wait_for()
    bad = verdicts.filter(has_text="always(a)")
    bad.get_by_text("this promise cannot be asked").wait_for()
    page.locator(".findings").get_by_role("link", name="NL711").wait_for()
