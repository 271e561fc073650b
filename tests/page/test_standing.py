"""How an execution and its steps are said to stand: cancelled and no failure, waiting and what for, paused no longer
than it is.
"""

from typing import TYPE_CHECKING

from harness.browsing import Listener
from harness.running import HEAD
from harness.serving import until

if TYPE_CHECKING:
    from playwright.sync_api import Page

WAITS = """
workflow:
  - {step: start, next: {spec: {mode: inclusive}, arcs: [{step: approve}, {step: sleep}, {step: call}, {step: again}]}}
  - {step: approve, tool: {name: w, kind: wait, events: [go, stop], timers: {late: 1h}, correlation: order 7}}
  - {step: sleep, tool: {name: w, kind: wait, timers: {morning: 1h}}}
  - {step: call, tool: {kind: playbook, path: t/child}}
  - step: again
    tool:
      {name: f, kind: fail, code: x, message: y, spec: {policy: {rules: [{else: {then: {do: retry, delay: 3600}}}]}}}
"""
CHILD = "workflow: [{step: start, tool: {name: w, kind: wait, events: [go]}}]"


def opened(server: Listener, page: "Page") -> str:
    server.register(HEAD.replace("t/t", "t/child") + CHILD)
    server.register(HEAD + WAITS)
    name = server.start("t/t")
    page.goto(f"{server.url}/#/executions/{name}")
    page.get_by_role("button", name="Step again: waiting").wait_for()
    return name


def test_what_waits_says_for_what(server: Listener, page: "Page") -> None:
    opened(server, page)
    for step, awaited in {
        "approve": "waits for signals go, stop or timer late, also under the key `order 7`",
        "sleep": "waits for timer morning", "call": "waits for its child", "again": "waits for its next attempt",
    }.items():  # fmt: skip
        page.get_by_role("button", name=f"Step {step}: waiting").wait_for()
        assert awaited in str(page.get_by_role("button", name=f"Step {step}: waiting").get_attribute("aria-label"))
    words = "[...document.querySelector('.stage').shadowRoot.querySelectorAll('.waiting .note text')]"
    assert page.evaluate(f"{words}.map((one) => one.textContent.slice(0, 8))") == [
        "signals ", "timer mo", "its chil", "its next",
    ]  # fmt: skip
    assert beyond_their_boxes(page) == []
    now = page.locator(".now-list")
    now.get_by_text("waits for signals go, stop or timer late, also under the key order 7 until").wait_for()
    now.get_by_text("waits for timer morning until").wait_for()
    page.get_by_role("button", name="Step approve: waiting").click()
    page.locator(".panel .badge.waiting").wait_for()
    page.locator(".attempts", has_text="w waits for signals go, stop").wait_for()


LONG = """
workflow:
  - {step: s, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: a_step_whose_name_is_long_enough}]}}
  - step: a
    loop: {in: [1, 2, 3], iterator: n}
    tool:
      kind: python
      args: {n: "{{ iter.n }}", attempt: "{{ _attempt }}"}
      code: "result = 1 / (attempt - 1) + 1 / (3 - n)"
      spec: {policy: {rules: [{when: "{{ outcome.status == 'error' }}", then: {do: retry, attempts: 2, delay: 0}}]}}
  - {step: a_step_whose_name_is_long_enough, tool: {kind: noop}}
"""


def beyond_their_boxes(page: "Page") -> list[str]:
    """The texts of what is painted under boxes that is wider than its box, or than the pill around it."""
    return list(
        page.evaluate("""() => {
      const root = document.querySelector('.stage').shadowRoot;
      const shown = [...root.querySelectorAll('.note')].filter((note) => note.style.display !== 'none');
      const inside = (inner, outer) => inner.left >= outer.left - 0.5 && inner.right <= outer.right + 0.5;
      return shown.filter((note) => {
        const [pill, text] = [...note.children].map((one) => one.getBoundingClientRect());
        const box = note.parentElement.querySelector(':scope > .b').getBoundingClientRect();
        return !inside(pill, box) || !inside(text, pill) || !note.textContent;
      }).map((note) => note.textContent);
    }""")
    )


def test_what_is_painted_under_a_box_is_no_wider_than_it(server: Listener, page: "Page") -> None:
    server.register(HEAD + LONG)
    name = server.start("t/t")
    until(lambda: bool(server.api.get(f"/executions/{name}").json()["status"] == "failed"))
    page.goto(f"{server.url}/#/executions/{name}")
    step = page.get_by_role("button", name="Step a: failed")
    step.wait_for()
    assert beyond_their_boxes(page) == []
    # All of it is told in the hint, and to screen readers.
    assert "of 3 items" in str(step.get_attribute("aria-label")) and "retries" in str(step.get_attribute("aria-label"))
    words = "[...document.querySelector('.stage').shadowRoot.querySelectorAll('.failed .note text')]"
    [told] = page.evaluate(f"{words}.map((one) => one.textContent)")
    assert told.endswith(" …") and "retries" not in told


def test_a_cancelled_run_has_no_step_that_failed(server: Listener, page: "Page") -> None:
    name = opened(server, page)
    server.api.post(f"/executions/{name}/cancel")
    page.locator(".head .badge.cancelled").wait_for()
    for step in ("approve", "sleep", "call"):
        page.get_by_role("button", name=f"Step {step}: cancelled, begun · cut off").wait_for()
    assert page.locator(".tick.failed").count() == 1, "the attempt that failed, and nothing else"
    assert page.locator(".tick.cut").count() >= 3
    page.get_by_role("button", name="Step approve: cancelled").click()
    page.locator(".attempts li.cut", has_text="cut off").wait_for()


SINCE = """(wanted) => new Promise((done) => {
  const began = performance.now();
  const look = () => {
    const there = [...document.querySelectorAll('.head .title .badge, .slider .badge')];
    if (there.length === 2 && there.every((one) => one.textContent === wanted)) done(performance.now() - began);
    else requestAnimationFrame(look);
  };
  const verb = { paused: 'Pause', running: 'Resume' }[wanted];
  [...document.querySelectorAll('.acts button')].find((one) => one.textContent === verb).click();
  look();
})"""


def test_a_pause_is_told_as_soon_as_it_begins_and_ends(server: Listener, page: "Page") -> None:
    name = opened(server, page)
    took = {"paused": list[float](), "running": list[float]()}
    for _ in range(3):
        for wanted, found in took.items():
            found.append(page.evaluate(SINCE, wanted))
            until(lambda wanted=wanted: server.api.get(f"/executions/{name}").json()["status"] == wanted)
    # The least: the machine may have other things to do. It was a second and more, whatever that had.
    assert {wanted: min(found) < 900 for wanted, found in took.items()} == {"paused": True, "running": True}, took
