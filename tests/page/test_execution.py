"""The page of one execution, in a browser."""

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from harness.browsing import Listener, listening, page_of
from harness.running import HEAD
from harness.serving import until

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

ORDER = """
workload: {n: 3}
workflow:
  - {step: start, tool: {kind: noop}, next: {arcs: [{step: approve, args: {amount: "{{ workload.n }}"}}]}}
  - step: approve
    tool: {name: w, kind: wait, events: [go, stop]}
    next:
      spec: {mode: exclusive}
      arcs: [{step: ship, when: "{{ approve.name == 'go' }}"}, {step: refuse}]
  - step: ship
    tool:
      name: s
      kind: noop
      result: {sent: true}
      spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {van: 7}}}}]}}
"""
REFUSE = '  - {step: refuse, tool: {name: f, kind: fail, code: no.truck, message: "<b onclick=x>none</b>"}}'
ORDER += f"{REFUSE}\n"


def box(page: "Page", step: str) -> str:
    """The words that a screen reader has for a step of the picture."""
    return str(page.get_by_role("button", name=f"Step {step}").get_attribute("aria-label"))


def test_a_run_is_watched_signalled_and_gone_through_again(server: Listener, page: "Page") -> None:
    server.register(HEAD + ORDER)
    name = server.start("t/t", n=5)
    page.goto(f"{server.url}/#/executions/{name}")
    page.get_by_role("button", name="Step approve: waiting").wait_for()
    page.locator(".panel").get_by_text("waits for signals go, stop").wait_for()
    page.get_by_role("heading", name="Can still run").wait_for()
    page.get_by_role("button", name="Signal…").click()
    page.get_by_label("Name", exact=True).fill("go")
    page.get_by_role("button", name="Send").click()
    page.get_by_role("button", name="Step ship: done").wait_for()  # without a reload
    page.locator(".title .badge.completed").first.wait_for()
    assert box(page, "refuse") == "Step refuse: did not run"
    page.get_by_role("tab", name="Context").click()
    page.locator(".panel dt", has_text="van").wait_for()
    slider = page.get_by_role("slider")
    last = int(str(slider.get_attribute("max")))
    slider.focus()
    page.keyboard.press("Home")
    page.get_by_role("button", name="First event").click()
    page.get_by_text(f"1 of {last}").wait_for()
    page.get_by_text("Nothing is in ctx here.").wait_for()
    assert "did not run" in box(page, "ship")
    page.get_by_role("button", name="Next event").click()
    page.get_by_text(f"2 of {last}").wait_for()
    page.get_by_role("button", name="Play", exact=True).click()
    page.get_by_text(f"{last} of {last}").wait_for()
    page.get_by_role("button", name="Step ship: done").press("Enter")
    page.get_by_text('"sent": true').first.wait_for()
    page.get_by_role("button", name="Step approve: done").click()
    page.locator(".panel dt", has_text="amount").wait_for()
    page.get_by_role("button", name="Its events in the log").click()
    page.locator(".log tbody td", has_text="step.scheduled").wait_for()
    assert {*page.locator(".log tbody tr td:nth-child(4)").all_inner_texts()} <= {"approve", "approve / w"}


def test_a_failure_shows_its_place_and_is_started_again_with_other_values(server: Listener, page: "Page") -> None:
    server.register(HEAD + ORDER)
    name = server.start("t/t")
    page.goto(f"{server.url}/#/executions/{name}")
    page.locator(".panel").get_by_text("waits for signals").wait_for()
    server.api.post(f"/executions/{name}/signal", json={"name": "stop"})
    failure = page.locator(".failure")
    failure.get_by_text("no.truck", exact=True).wait_for()
    failure.get_by_text("<b onclick=x>none</b>", exact=True).wait_for()
    failure.get_by_text(f"t.yaml:{(HEAD + ORDER).splitlines().index(REFUSE) + 1}:").wait_for()
    failure.get_by_label("here, column").wait_for()
    assert "no.truck" in failure.locator(".line.here").inner_text()
    page.get_by_role("button", name="Step refuse: failed").wait_for()
    page.get_by_role("button", name="Start again…").click()
    page.get_by_label("n", exact=True).fill("8")
    page.get_by_role("button", name="Start", exact=True).click()
    page.get_by_role("button", name="Step approve: waiting").wait_for()
    page.get_by_role("tab", name="In and out").click()
    page.locator(".panel dd", has_text="8").wait_for()
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("button", name="Resume").wait_for()
    page.get_by_role("button", name="Cancel…").click()
    page.get_by_role("button", name="Cancel it").click()
    page.locator(".head .badge.cancelled").wait_for()


INTERRUPTED = """
workflow:
  - step: start
    spec: {policy: {interrupt: {events: [halt], timers: {window: 1h}}}}
    tool: {name: w, kind: wait, events: [go]}
    next: {arcs: [{step: after, when: "{{ event.name == 'step.failed' }}"}]}
  - {step: after, tool: {name: w, kind: wait, events: [end], correlation: "order 7"}}
"""


WORKS = """
workflow:
  - {step: start, tool: {kind: noop}, next: {arcs: [{step: work}]}}
  - {step: work, tool: {kind: shell, command: sleep 60}}
"""


ITEMS = """
workflow:
  - {step: each, loop: {in: [1, 2], iterator: n}, tool: {name: t, kind: noop}, next: {arcs: [{step: other}]}}
  - {step: other, tool: {kind: noop}}
"""


def test_only_what_runs_now_beats(server: Listener, page: "Page") -> None:
    server.register(HEAD + WORKS)
    name = server.start("t/t")
    beats = "document.querySelector('.stage').shadowRoot.getAnimations().length"
    # Also where the picture comes when all else is drawn.
    page.route("**/picture", lambda route: (page.wait_for_timeout(1_000), route.continue_()))
    page.goto(f"{server.url}/#/executions/{name}")
    page.get_by_role("button", name="Step work: running").wait_for()
    assert page.evaluate(beats) == 1
    page.get_by_role("button", name="Event before").click()
    page.wait_for_function(f"{beats} === 0")
    page.get_by_role("button", name="live").click()
    page.wait_for_function(f"{beats} === 1")
    server.api.post(f"/executions/{name}/cancel")


def test_without_a_connection_nothing_is_said_to_be_live(server: Listener, page: "Page") -> None:
    server.register(HEAD + WORKS)
    name = server.start("t/t")
    page.goto(f"{server.url}/#/executions/{name}")
    live = page.get_by_role("button", name="live", exact=True)
    page.get_by_role("button", name="Step work: running").wait_for()
    live.wait_for()
    page.context.set_offline(True)
    page.get_by_text("The connection was lost.").wait_for()
    assert live.is_hidden()
    assert page.evaluate("document.querySelector('.stage.live')") is None
    page.context.set_offline(False)
    live.wait_for()
    page.get_by_text("The connection was lost.").wait_for(state="hidden")
    server.api.post(f"/executions/{name}/cancel")


@pytest.mark.parametrize(
    ("written", "wanted"),
    [("each[1]", "each[1]"), ("each[1] / t", "each[1] / t"), ("each/t", "each[0] / t"), ("each", "each")],
)
def test_the_log_is_filtered_by_what_its_column_says(server: Listener, page: "Page", written: str, wanted: str) -> None:
    server.register(HEAD + ITEMS)
    name = server.start("t/t")
    until(lambda: bool(server.api.get(f"/executions/{name}").json()["status"] == "completed"))
    page.goto(f"{server.url}/#/executions/{name}")
    places = page.locator(".log tbody tr td:nth-child(4)")
    places.get_by_text("other", exact=True).first.wait_for()
    page.get_by_label("Only events of a step").fill(written)
    places.get_by_text("other", exact=True).first.wait_for(state="detached")
    places.get_by_text(wanted, exact=True).first.wait_for()
    found = set(places.all_inner_texts())
    # What is written is a part of each place: a step, an item of it, or a task.
    assert found and all(written.split("/")[0].strip() in each for each in found)
    assert written != "each[1]" or found == {"each[1]", "each[1] / t"}
    page.get_by_label("Only events of a step").fill("each[7]")
    page.locator(".log").get_by_text("No event is like that so far.").wait_for()


def test_what_is_known_without_the_log_is_there_while_it_is_read(server: Listener, page: "Page") -> None:
    server.register(HEAD + ORDER)
    name = server.start("t/t")
    waiting: list[Route] = []
    page.route(f"**/executions/{name}", lambda route: waiting.append(route))
    page.goto(f"{server.url}/#/executions/{name}")
    page.get_by_text("Reading its log…").wait_for()
    page.get_by_role("heading", name="t/t").wait_for()
    page.get_by_role("button", name="Step approve").click()
    waiting[0].continue_()
    page.get_by_role("button", name="Step approve: waiting").wait_for()
    page.get_by_role("heading", name="approve").wait_for()
    page.get_by_text("Reading its log…").wait_for(state="detached")


def test_what_may_interrupt_and_what_has_is_shown(server: Listener, page: "Page") -> None:
    server.register(HEAD + INTERRUPTED)
    name = server.start("t/t")
    page.goto(f"{server.url}/#/executions/{name}")
    page.get_by_text("may be interrupted by signal halt or timer window until").wait_for()
    assert page.get_by_role("heading", name="Interrupted").count() == 0
    server.api.post(f"/executions/{name}/signal", json={"name": "halt"})
    page.get_by_role("heading", name="Interrupted").wait_for()
    page.get_by_text("by signal halt at").wait_for()
    page.locator(".panel").get_by_text("waits for signal end, also under the key order 7").wait_for()
    assert page.get_by_text("may be interrupted").count() == 0


def test_a_connection_that_is_lost_is_made_again(browser: "Browser", tmp_path: Path) -> None:
    with page_of(browser) as page:
        with listening(tmp_path) as server:
            server.register(HEAD + ORDER)
            name = server.start("t/t")
            page.goto(f"{server.url}/#/executions/{name}")
            page.locator(".panel").get_by_text("waits for signals").wait_for()
            port = int(server.url.rpartition(":")[2])
        page.get_by_text("The connection was lost").wait_for()
        with listening(tmp_path, port=port) as server:
            page.get_by_text("The connection was lost").wait_for(state="hidden")
            server.api.post(f"/executions/{name}/signal", json={"name": "go"})
            page.get_by_role("button", name="Step ship: done").wait_for()


def test_names_of_a_playbook_are_text_in_its_picture(server: Listener, page: "Page") -> None:
    evil = "<img src=x onerror=document.title=1>"
    steps = f'- {{step: start, desc: "{evil}", tool: {{kind: noop, result: "{evil}"}}}}'
    server.register(HEAD.replace("name: t,", f'name: "{evil}",') + f"workflow:\n  {steps}\n")
    name = server.start("t/t")
    until(lambda: server.api.get(f"/executions/{name}/row").json()["status"] == "completed")
    page.goto(f"{server.url}/#/executions/{name}?step=start")
    page.get_by_role("button", name="Step start: done").wait_for()
    page.locator("pre.value", has_text=evil).first.wait_for()
    assert page.title().startswith(name) and page.locator("main img").count() == 0


PLAYED = """
workflow:
  - {step: start, tool: {kind: noop}, next: {arcs: [{step: middle}]}}
  - {step: middle, tool: {kind: python, code: "result = 1"}, next: {arcs: [{step: refuse}]}}
  - {step: refuse, tool: {name: f, kind: fail, code: no.truck, message: none}}
"""


def test_numbers_are_shown_as_the_server_wrote_them(server: Listener, page: "Page") -> None:
    steps = "- {step: start, tool: {kind: noop, result: {sum: 1220.0, id: 12345678901234567, n: 3, rate: 0.1}}}"
    server.register(f"{HEAD}workflow:\n  {steps}\n")
    name = server.start("t/t")
    until(lambda: server.api.get(f"/executions/{name}/row").json()["ended"] is not None)
    written = server.api.get(f"/executions/{name}/result").text
    assert "1220.0" in written and "12345678901234567" in written
    page.goto(f"{server.url}/#/executions/{name}?step=start")
    shown = page.locator(".panel pre.value", has_text="1220")
    shown.wait_for()
    # JavaScript would write 1220 and 12345678901234568.
    assert sorted(re.findall(r"[\d.]+", shown.inner_text())) == ["0.1", "1220.0", "12345678901234567", "3"]


def test_a_step_without_a_result_asks_for_none(server: Listener, page: "Page") -> None:
    server.register(HEAD + PLAYED)
    failed = server.start("t/t")
    until(lambda: server.api.get(f"/executions/{failed}/row").json()["ended"] is not None)
    refused: list[str] = []
    page.on("response", lambda response: refused.append(response.url) if response.status >= 400 else None)
    page.goto(f"{server.url}/#/executions/{failed}?step=refuse")
    page.get_by_text("It has not succeeded.").wait_for()
    page.get_by_role("button", name="Step middle: done").click()
    page.locator(".panel .value", has_text="1").wait_for()
    assert refused == []


def test_what_happens_is_told_while_it_plays(server: Listener, page: "Page") -> None:
    server.register(HEAD + PLAYED)
    name = server.start("t/t")
    until(lambda: server.api.get(f"/executions/{name}/row").json()["ended"] is not None)

    def slowly(route: "Route") -> None:
        time.sleep(0.2)  # longer than an event is shown
        route.continue_()

    page.route("**/moment?*", slowly)
    page.goto(f"{server.url}/#/executions/{name}")
    page.locator(".panel", has_text="It failed.").wait_for()
    page.get_by_role("button", name="Play", exact=True).click()
    page.locator(".panel .now-list button", has_text="middle").first.wait_for()
    assert page.get_by_role("button", name="Stop playing").is_visible()
    page.locator(".panel", has_text="It failed.").wait_for()


CUT = """() => [...document.querySelectorAll('input[placeholder]')].filter((input) => {
  const style = getComputedStyle(input);
  const pen = document.createElement('canvas').getContext('2d');
  pen.font = style.font;
  const sign = input.type === 'search' ? 20 : 0;  // room for what empties it
  const room = input.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight) - sign;
  return input.getClientRects().length && pen.measureText(input.placeholder).width > room;
}).map((input) => input.placeholder)"""


def test_the_log_says_what_it_can_be_asked_and_what_events_hold(server: Listener, page: "Page") -> None:
    server.register(HEAD + PLAYED)
    name = server.start("t/t")
    until(lambda: server.api.get(f"/executions/{name}/row").json()["ended"] is not None)
    for place in ("executions", "playbooks", "signals", "workers", f"executions/{name}"):
        page.goto(f"{server.url}/#/{place}")
        page.locator("#main :is(h1, h2)").first.wait_for()
        assert page.evaluate(CUT) == [], place
    page.locator(".log tbody td.brief button", has_text="no.truck").first.wait_for()
    for text in page.locator(".log tbody td.brief button").all_inner_texts():
        assert text == "–" or text.count("{") >= text.count("}"), text


def test_a_signal_that_nothing_waits_for_is_asked_about(server: Listener, page: "Page") -> None:
    server.register(HEAD + ORDER)
    name = server.start("t/t")
    page.goto(f"{server.url}/#/executions/{name}")
    page.locator(".panel").get_by_text("waits for signals go, stop").wait_for()

    def sent() -> list[str]:
        events = server.api.get(f"/executions/{name}/events").json()["events"]
        return [event["payload"]["name"] for event in events if event["event_type"] == "signal.received"]

    page.get_by_role("button", name="Signal…").click()
    for wrong in ("goo", "stopp"):  # another name is asked about again
        page.get_by_label("Name", exact=True).fill(wrong)
        page.get_by_role("button", name="Send").click()
        page.get_by_role("alert").get_by_text(f"nothing in the playbook waits for a signal `{wrong}`").wait_for()
    assert sent() == []
    page.get_by_role("button", name="Send").click()
    page.get_by_role("dialog").wait_for(state="detached")
    until(lambda: sent() == ["stopp"])
