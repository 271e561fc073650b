"""A moment of an execution on the page: all that is said is of the event that the slider is at, and the head of now."""

from typing import TYPE_CHECKING

import pytest

from harness.browsing import Listener
from harness.running import HEAD
from harness.serving import until

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

WORK = """
workload: {n: 3}
workflow:
  - step: start
    loop: {in: [1, 2], iterator: n}
    tool: {name: s, kind: shell, command: "echo printed {{ iter.n }}"}
    next: {arcs: [{step: tell, args: {to: ada}}]}
  - step: tell
    tool: {name: t, kind: python, args: {n: 1}, code: "result = {'told': n}"}
    next: {arcs: [{step: wait}]}
  - step: wait
    tool: {name: w, kind: wait, events: [go]}
    next: {arcs: [{step: stop}]}
  - step: stop
    tool:
      name: f
      kind: fail
      code: no.luck
      message: none
      spec: {policy: {rules: [{when: "{{ outcome.status == 'error' }}", then: {do: retry, attempts: 2, delay: 0}}]}}
"""


def ended(server: Listener) -> str:
    server.register(HEAD + WORK)
    name = server.start("t/t")
    until(lambda: bool(server.api.get(f"/executions/{name}").json()["now"]))
    server.api.post(f"/executions/{name}/signal", json={"name": "go"}).raise_for_status()
    until(lambda: server.api.get(f"/executions/{name}/row").json()["ended"] is not None)
    return name


def position_of(server: Listener, name: str, event: str, step: str) -> int:
    """The position of the first such event of a step."""
    events = server.api.get(f"/executions/{name}/events?limit=500").json()["events"]
    return next(int(each["position"]) for each in events if (each["event_type"], each["step"]) == (event, step))


def side(page: "Page") -> "Locator":
    return page.get_by_role("tabpanel")


def test_a_step_is_shown_as_it_was_behind_the_event(server: Listener, page: "Page") -> None:
    name = ended(server)
    page.goto(f"{server.url}/#/executions/{name}?step=tell&at=0")
    side(page).get_by_text("has not run here").wait_for()
    side(page).get_by_text("It has not succeeded here.").wait_for()
    side(page).get_by_text("It has not begun here.").wait_for()
    assert page.locator(".attempts li").count() == 0 and page.locator(".slider .where").inner_text().startswith("0 of")
    begun = position_of(server, name, "task.started", "tell")
    page.goto(f"{server.url}/#/executions/{name}?step=tell&at={begun}")
    page.locator(".attempts li.open", has_text="running").wait_for()
    side(page).get_by_text("It has not succeeded here.").wait_for()
    side(page).locator("dd", has_text="ada").wait_for()
    done = position_of(server, name, "step.done", "tell")
    page.goto(f"{server.url}/#/executions/{name}?step=tell&at={done}")
    page.locator(".attempts li.ok").wait_for()
    side(page).locator(".value", has_text='"told": 1').wait_for()
    # The failure of a step that has not failed yet is none of its moment.
    page.goto(f"{server.url}/#/executions/{name}?step=stop&at={done}")
    side(page).get_by_text("has not run here").wait_for()
    assert page.locator(".attempts li").count() == 0
    page.goto(f"{server.url}/#/executions/{name}?tab=io&at={done}")
    side(page).get_by_text("It is running, and has no result.").wait_for()


def test_items_and_output_are_those_of_the_moment(server: Listener, page: "Page") -> None:
    name = ended(server)
    first = position_of(server, name, "loop.iteration.done", "start")
    page.goto(f"{server.url}/#/executions/{name}?step=start&at={first}")
    chips = page.get_by_role("group", name="Items by state")
    chips.get_by_role("button", name="idle").or_(chips.get_by_role("button", name="not begun")).wait_for()
    assert page.locator(".items > li.done").count() == 1
    page.locator(".printed", has_text="printed 1").wait_for()
    page.get_by_role("button", name="Last event").click()
    page.locator(".items > li.done").nth(1).wait_for()
    page.locator(".printed", has_text="printed 2").wait_for()
    page.get_by_role("button", name="First event").click()
    page.get_by_text("Its tasks have printed nothing here.").wait_for()
    page.wait_for_function("() => !document.querySelector('.items > li.done')")


@pytest.mark.parametrize("position", [0, 7, 10_000])
def test_the_result_of_a_step_is_asked_for_a_moment(server: Listener, position: int) -> None:
    name = ended(server)
    done = position_of(server, name, "step.done", "tell")
    found = server.api.get(f"/executions/{name}/result?step=tell&position={position}")
    assert (found.status_code == 200) == (position >= done), found.text
    assert server.api.get(f"/executions/{name}/result?step=tell&position=x").status_code == 400


def test_the_source_of_a_failure_is_shown_once(server: Listener, page: "Page") -> None:
    name = ended(server)
    page.goto(f"{server.url}/#/executions/{name}?step=stop")
    page.locator(".attempts .listing").wait_for()
    assert page.locator(".attempts .problem").count() == 2 and page.locator(".attempts .listing").count() == 1


def test_the_head_counts_with_the_slider(server: Listener, page: "Page") -> None:
    server.register(HEAD + WORK)
    name = server.start("t/t")
    until(lambda: bool(server.api.get(f"/executions/{name}").json()["now"]))
    page.goto(f"{server.url}/#/executions/{name}")
    facts = page.locator(".head .facts")
    facts.get_by_text(" tasks").wait_for()
    assert "for " in facts.inner_text() and "took" not in facts.inner_text()
    page.get_by_role("button", name="Pause").focus()
    # The next answer about how it stands comes late.
    page.route(f"**/executions/{name}", lambda route: None)
    page.evaluate("document.querySelector('.acts button').dataset.same = 'yes'")
    server.api.post(f"/executions/{name}/signal", json={"name": "other", "anyway": True})
    page.wait_for_function(
        """() => {
          const total = document.querySelector('.slider .where').textContent.match(/of ([\\d,]+)/)[1];
          return document.querySelector('.head .facts').textContent.includes(`${total} event`);
        }"""
    )
    assert page.locator(".acts button").first.get_attribute("data-same") == "yes"


def test_dialogs_begin_at_their_first_field(server: Listener, page: "Page") -> None:
    server.register(HEAD + WORK)
    name = server.start("t/t")
    until(lambda: bool(server.api.get(f"/executions/{name}").json()["now"]))
    page.goto(f"{server.url}/#/executions/{name}")
    for button, begins in (("Signal…", "INPUT"), ("Cancel…", "Close"), ("Start again…", "SELECT")):
        page.get_by_role("button", name=button).click()
        page.get_by_role("dialog").wait_for()
        focused = "() => ((one) => one.tagName === 'BUTTON' ? one.textContent : one.tagName)(document.activeElement)"
        assert page.evaluate(focused) == begins
        page.keyboard.press("Escape")
    page.goto(f"{server.url}/#/playbooks/t%2Ft")
    page.get_by_role("button", name="Start…").click()
    assert page.evaluate("document.activeElement.tagName") == "INPUT"
    page.keyboard.press("Escape")
    page.get_by_role("region", name="Takes and needs").focus()
    assert page.evaluate("document.activeElement.className") == "panel"


def test_a_lost_connection_leaves_the_slider_its_place(server: Listener, page: "Page") -> None:
    name = ended(server)
    page.goto(f"{server.url}/#/executions/{name}")
    page.locator(".slider .where", has_text="of").wait_for()
    width = "document.querySelector('.slider input').getBoundingClientRect().width"
    before = page.evaluate(width)
    page.evaluate("document.querySelector('.slider .problem').hidden = false")
    assert page.evaluate(width) == before
