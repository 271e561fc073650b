"""Every view of the page, asked by axe: in light, in dark and on a phone, with its dialogs open."""

from pathlib import Path
from typing import TYPE_CHECKING

import axe_playwright_python
import pytest

from harness.browsing import Listener, listening, page_of
from harness.running import HEAD
from harness.serving import until
from noetl.api.bearer_tokens import BearerToken, digest_of
from noetl.api.people import People
from noetl.clients.oidc_provider import RelyingParty

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text("utf-8")
"""axe-core, from the wheel that has it."""

LOOKS: dict[str, dict[str, object]] = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": {"viewport": {"width": 375, "height": 740}, "color_scheme": "light"},
}
WORK = """
workload: {n: 3}
executor: {spec: {inputs: {n: {type: integer, description: How many.}, fast: {type: boolean}}}}
workflow:
  - {step: start, tool: {kind: shell, command: "echo printed"}, next: {arcs: [{step: approve}]}}
  - step: approve
    tool: {name: w, kind: wait, events: [go, stop]}
    next:
      spec: {mode: exclusive}
      arcs: [{step: ship, when: "{{ approve.name == 'go' }}"}, {step: refuse}]
  - {step: ship, loop: {in: [1, 2], iterator: x}, tool: {kind: noop}}
  - {step: refuse, tool: {name: f, kind: fail, code: no.truck, message: none}}
"""


OTHER = """
workflow:
  - {step: start, tool: {kind: noop}, next: {arcs: [{step: reject}]}}
  - {step: reject, tool: {kind: fail, code: order.rejected}, next: {arcs: [{step: tell}]}}
  - {step: tell, tool: {kind: noop}}
"""
CHILD = """
workflow:
  - {step: start, tool: {kind: wait, events: [end], correlation: order 8}}
"""
FAILS = """
workflow:
  - {step: start, tool: {kind: fail, code: no.truck, message: none}}
"""
PARENT = """
workflow:
  - {step: start, tool: {kind: playbook, path: t/child}}
"""


REFUSED = {
    "executions": [{"execution_id": "1", "playbook": "t/t", "outcome": "refused", "why": "it is over (failed)"}],
    "next": None,
}


def violations(page: "Page") -> list[str]:
    """The violations that axe finds, a line for each place. The page has `AXE` as an init script."""
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{rule['id']}: {node['target']} {node['failureSummary']}"
        for rule in found["violations"]
        for node in rule["nodes"]
    ]


@pytest.mark.parametrize("look", LOOKS)
def test_no_view_hinders_who_cannot_see_or_point(server: Listener, browser: "Browser", look: str) -> None:
    wrong: dict[str, list[str]] = {}
    with page_of(browser, **LOOKS[look]) as page:
        page.add_init_script(AXE)

        def ask(view: str) -> None:
            if found := violations(page):
                wrong[view] = found

        page.goto(server.url)
        page.get_by_text("Nothing has run yet").wait_for()
        ask("an empty list")
        server.register(HEAD + WORK)
        waiting, shipped, refused = (server.start("t/t") for _ in range(3))
        for name, signal in ((shipped, "go"), (refused, "stop")):
            server.api.post(f"/executions/{name}/signal", json={"name": signal})
        until(lambda: server.api.get(f"/executions/{refused}").json()["status"] == "failed")
        page.locator("tbody .badge.failed").wait_for()
        ask("a list")
        page.get_by_role("checkbox", name="Select t/t").first.check()
        ask("a list of which some are chosen")
        for name in (waiting, shipped, refused):
            page.goto(f"{server.url}/#/executions/{name}")
            page.get_by_role("slider").wait_for()
            page.locator(".title .badge").first.wait_for()
            ask(f"execution {name}")
        for tab in page.get_by_role("tab").all():
            tab.click()
            ask(f"a failed execution, {tab.inner_text()}")
        page.goto(f"{server.url}/#/executions/{waiting}")
        page.get_by_role("button", name="Step start: done").click()
        page.locator(".printed", has_text="printed").wait_for()
        ask("a step that printed something")
        page.get_by_role("button", name="Step approve: waiting").click()
        ask("a step")
        page.get_by_role("button", name="Signal…").click()
        ask("a signal to one")
        page.keyboard.press("Escape")
        page.goto(f"{server.url}/#/playbooks")
        page.get_by_role("link", name="t/t").wait_for()
        ask("playbooks")
        page.get_by_role("link", name="t/t").click()
        page.locator(".verdicts").get_by_text("nothing can get stuck").wait_for()
        ask("a playbook")
        page.get_by_role("button", name="Start…").click()
        ask("a form")
        page.keyboard.press("Escape")
        server.api.post("/signals", json={"key": "order 7", "name": "paid"})
        page.goto(f"{server.url}/#/signals")
        page.get_by_text("order 7").wait_for()
        ask("signals")
        page.goto(f"{server.url}/#/workers")
        page.get_by_role("heading").first.wait_for()
        ask("workers")
    assert wrong == {}, "\n".join(f"{view}: {line}" for view, lines in wrong.items() for line in lines)


@pytest.mark.parametrize("look", LOOKS)
def test_neither_do_items_refusals_and_forms_that_start_again(server: Listener, browser: "Browser", look: str) -> None:
    server.register(HEAD + WORK)
    shipped, *_ = [server.start("t/t") for _ in range(3)]
    server.api.post(f"/executions/{shipped}/signal", json={"name": "go"})
    until(lambda: server.api.get(f"/executions/{shipped}").json()["status"] == "completed")
    with page_of(browser, **LOOKS[look]) as page:
        page.add_init_script(AXE)
        page.goto(f"{server.url}/#/executions/{shipped}?step=ship")
        page.get_by_role("heading", name="Items (2)").wait_for()
        page.get_by_role("button", name="Item 0, all of it").click()
        page.locator(".items .whole pre").first.wait_for()
        assert violations(page) == []
        page.get_by_role("button", name="Start again…").click()
        page.get_by_label("Version").wait_for()
        assert violations(page) == []
        page.keyboard.press("Escape")
        page.goto(f"{server.url}/#/executions")
        page.get_by_role("checkbox", name="Select t/t").nth(2).wait_for()
        page.get_by_role("checkbox", name="Select all").check()
        # One that is over by then refuses it, which is said before anything is asked.
        page.route("**/executions/cancel", lambda route: route.fulfill(json=REFUSED))
        page.get_by_role("button", name="Cancel…").click()
        page.locator(".refusals li").first.wait_for()
        assert violations(page) == []


@pytest.mark.parametrize("look", LOOKS)
def test_neither_do_executions_with_children(server: Listener, browser: "Browser", look: str) -> None:
    server.register(HEAD.replace("t/t", "t/child") + CHILD)
    server.register(HEAD + PARENT)
    name = server.start("t/t")
    with page_of(browser, **LOOKS[look]) as page:
        page.add_init_script(AXE)
        until(lambda: len(server.api.get(f"/executions?parent={name}").json()["executions"]) == 1)
        page.goto(f"{server.url}/#/executions/{name}")
        page.locator(".children").get_by_role("link", name="t/child").wait_for()
        page.get_by_role("button", name="Step start: waiting").wait_for()
        assert violations(page) == []
        page.locator(".children").get_by_role("button", name="Picture of").click()
        page.locator(".children").get_by_role("button", name="Step start: waiting").wait_for()
        assert violations(page) == []
        page.locator(".children").get_by_role("link", name="t/child").click()
        page.get_by_text("called by").wait_for()
        assert violations(page) == []
        page.goto(f"{server.url}/#/signals")
        page.get_by_text("order 8").wait_for()
        assert violations(page) == []
        server.register(HEAD.replace("t/t", "t/child") + FAILS)
        failed = server.start("t/t")
        until(lambda: server.api.get(f"/executions/{failed}").json()["status"] == "failed")
        page.goto(f"{server.url}/#/executions/{failed}?step=start")
        page.locator(".failure .child a").wait_for()
        page.get_by_role("button", name="Step start: failed").wait_for()
        page.locator(".attempts li.failed").wait_for()
        assert violations(page) == []


@pytest.mark.parametrize("look", LOOKS)
def test_neither_do_findings_and_differences(server: Listener, browser: "Browser", look: str) -> None:
    server.register(HEAD + WORK)
    server.register(HEAD + OTHER)
    with page_of(browser, **LOOKS[look]) as page:
        page.add_init_script(AXE)
        page.goto(f"{server.url}/#/playbooks/t%2Ft?version=2&with=1")
        page.locator(".told").first.wait_for()
        page.locator(".changes button", has_text="of version 1").first.click()
        page.locator(".changes .here").wait_for()
        assert violations(page) == []
        page.goto(f"{server.url}/#/findings/NL701")
        page.get_by_role("heading", name="Example").wait_for()
        assert violations(page) == []


def test_signing_in_hinders_nobody_either(browser: "Browser", tmp_path: Path) -> None:
    token = BearerToken("ada", "admin", digest_of("secret-ada"))
    people = People(RelyingParty("https://login.example.org", "noetl"), lambda: None)
    with listening(tmp_path, token, secret="secret-ada", people=people) as server, page_of(browser) as page:
        page.add_init_script(AXE)
        page.goto(server.url)
        page.get_by_role("textbox").or_(page.locator("input")).first.wait_for()
        page.get_by_role("link", name="Sign in with login.example.org").wait_for()
        assert violations(page) == []
        page.goto(f"{server.url}/#/sign-in?failed=role")
        page.get_by_role("alert").get_by_text("gives you a role").wait_for()
        assert violations(page) == []
