"""The picture on the page, however large it is: what can be read, what is in sight, what it costs to look around."""

from typing import TYPE_CHECKING, NamedTuple

import pytest

from harness.browsing import COUNT, Costs, Listener, page_of
from harness.running import HEAD
from harness.serving import until

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

STEPS = 2_000
CHAIN = "".join(
    f"  - {{step: s{n}, tool: {{kind: noop}}, next: {{arcs: [{{step: s{n + 1}}}]}}}}\n" for n in range(STEPS - 2)
)
LONG = (
    f"workflow:\n  - {{step: start, next: {{arcs: [{{step: s0}}]}}}}\n{CHAIN}"
    f"  - {{step: s{STEPS - 2}, tool: {{name: w, kind: wait, events: [go], timers: {{late: 1h}}}}}}\n"
)
ON_FAILURE = """next: {arcs: [{step: told, when: "{{ event.name == 'step.failed' }}"}]}"""
FAILED = f"""workflow:
  - {{step: start, next: {{spec: {{mode: inclusive}}, arcs: [{{step: left}}, {{step: right}}]}}}}
  - {{step: left, tool: {{kind: fail, code: no.luck, message: none}}, {ON_FAILURE}}}
  - {{step: right, tool: {{kind: fail, code: no.luck, message: none}}, {ON_FAILURE}}}
  - {{step: told, tool: {{name: w, kind: wait, events: [go]}}}}
"""

LOOK = """() => {
  const stage = document.querySelector('.stage');
  const room = stage.getBoundingClientRect();
  const svg = stage.shadowRoot.querySelector('svg');
  const inside = (one) => {
    const at = one.querySelector('.b').getBoundingClientRect();
    return at.left >= room.left && at.right <= room.right && at.top >= room.top && at.bottom <= room.bottom;
  };
  const nodes = [...stage.shadowRoot.querySelectorAll('.node[role=button]')];
  const sizes = [...svg.querySelectorAll('text')].map((one) => parseFloat(getComputedStyle(one).fontSize));
  return {
    scale: svg.getScreenCTM().a,
    letters: Math.min(...sizes) * svg.getScreenCTM().a,
    seen: nodes.filter(inside).map((one) => one.getAttribute('data-id')),
    focused: stage.shadowRoot.activeElement?.getAttribute('data-id') ?? null,
    stops: nodes.filter((one) => one.getAttribute('tabindex') === '0').length,
  };
}"""


class Look(NamedTuple):
    """A look at the picture: pixels of a unit and of the smallest letters, the steps in sight, the one that
    has the keyboard, and how many of them Tab leads to.
    """

    scale: float
    letters: float
    seen: list[str]
    focused: str | None
    stops: int


def look(page: "Page") -> Look:
    return Look(**page.evaluate(LOOK))


def opened(server: Listener, page: "Page", source: str) -> str:
    """Open an execution that waits; its address."""
    server.register(HEAD + source)
    name = server.start("t/t")
    until(lambda: any(row.get("signals") for row in server.api.get(f"/executions/{name}").json()["now"]), 120)
    page.set_default_timeout(120_000)
    page.goto(f"{server.url}/#/executions/{name}")
    return f"{server.url}/#/executions/{name}"


def test_of_two_thousand_steps_the_one_that_waits_can_be_read_at_once(server: Listener, page: "Page") -> None:
    opened(server, page, LONG)
    last = f"step s{STEPS - 2}"
    page.get_by_role("button", name=f"Step s{STEPS - 2}: waiting").wait_for()
    page.wait_for_function("() => document.querySelector('.zoom .jump:not([hidden])')")
    seen = look(page)
    assert last in seen.seen and seen.letters >= 11 and seen.stops == 1
    controls = page.get_by_role("group", name="View of the picture")
    controls.get_by_role("button", name="Fit").click()
    seen = look(page)
    assert {"step start", last} <= {*seen.seen} and len(seen.seen) == STEPS
    controls.get_by_role("button", name="1:1, readable").click()
    seen = look(page)
    assert last in seen.seen and seen.letters >= 11
    controls.get_by_role("button", name="Fit").click()
    presses = 0
    while look(page).letters < 11:  # by steps it comes there, too
        controls.get_by_role("button", name="Larger").click()
        presses += 1
        assert presses < 15
    for _ in range(20):
        controls.get_by_role("button", name="Larger").click()
    assert look(page).scale == pytest.approx(4)
    controls.get_by_role("button", name="Waiting").click()
    assert last in look(page).seen
    page.get_by_role("heading", name=f"s{STEPS - 2}").wait_for()


def test_the_keyboard_goes_from_step_to_step_and_the_view_follows(server: Listener, page: "Page") -> None:
    opened(server, page, LONG)
    page.get_by_role("button", name=f"Step s{STEPS - 2}: waiting").press("Home")
    assert look(page).focused == "step start" and "step start" in look(page).seen
    for _ in range(12):
        page.keyboard.press("ArrowDown")
    seen = look(page)
    assert seen.focused == "step s11" and "step s11" in seen.seen and seen.stops == 1
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="s10").wait_for()
    page.keyboard.press("0")
    assert len(look(page).seen) == STEPS
    page.keyboard.press("1")
    assert look(page).letters >= 11 and "step s10" in look(page).seen
    for sign, larger in (("+", True), ("-", False)):
        before = look(page).scale
        page.keyboard.press(sign)
        assert (look(page).scale > before) is larger
    page.keyboard.press("End")
    assert f"step s{STEPS - 2}" in look(page).seen
    page.keyboard.press("Tab")  # and out of it
    assert look(page).focused is None


def test_what_happens_does_not_draw_who_has_the_keyboard_away(server: Listener, page: "Page") -> None:
    opened(server, page, LONG)
    page.get_by_role("button", name=f"Step s{STEPS - 2}: waiting").press("Home")
    for name in ("Event before", "Last event"):  # each paints a state in which something is looked for
        page.get_by_role("button", name=name).click()
        page.wait_for_function("() => new Promise((done) => requestAnimationFrame(() => done(true)))")
    page.get_by_role("button", name=f"Step s{STEPS - 2}: waiting").wait_for()
    assert "step start" in look(page).seen


TURN = """async ([keys, frames]) => {
  const svg = document.querySelector('.stage').shadowRoot.querySelector('svg');
  const began = performance.now();
  for (let at = 0; at < frames; at += 1) {
    if (keys) svg.dispatchEvent(new KeyboardEvent('keydown', { key: at % 16 < 8 ? '+' : '-' }));
    else {
      const given = (x, y) => ({ pointerId: 1, clientX: x, clientY: y, bubbles: true });
      const to = (type, x, y) => svg.dispatchEvent(new PointerEvent(type, given(x, y)));
      if (at === 0) to('pointerdown', 300, 300);
      to('pointermove', 300 + (at % 7) * 9, 300 + (at % 11) * 17);
      if (at === frames - 1) to('pointerup', 300, 300);
    }
    await new Promise((done) => requestAnimationFrame(done));
  }
  return (performance.now() - began) / frames;
}"""


def test_looking_around_in_two_thousand_steps_costs_little(server: Listener, page: "Page") -> None:
    opened(server, page, LONG)
    page.get_by_role("button", name=f"Step s{STEPS - 2}: waiting").wait_for()
    page.evaluate("Element.prototype.setPointerCapture = () => {}")
    costs = Costs(page)
    million = costs.of(COUNT)[0] / 20
    # To count to a million takes some 4 ms, of the 33 that a frame has.
    for where in ("1:1, readable", "Fit"):
        page.get_by_role("button", name=where, exact=True).click()
        for keys in (0, 1):
            assert costs.of(TURN, keys, 48)[0] / 48 < 10 * million, (where, keys)


def test_what_failed_is_jumped_to_one_after_the_other(server: Listener, page: "Page") -> None:
    opened(server, page, FAILED)
    jump = page.get_by_role("group", name="View of the picture").get_by_role("button", name="Failed (2)")
    for step in ("left", "right", "left"):
        jump.click()
        page.locator(".panel h2", has_text=step).wait_for()


def test_the_controls_lie_over_no_box_and_a_drag_moves_the_picture(server: Listener, page: "Page") -> None:
    opened(server, page, FAILED)
    page.get_by_role("button", name="Step told: waiting").wait_for()
    stage, controls = (page.locator(one).bounding_box() for one in (".stage", ".zoom"))
    assert stage is not None and controls is not None
    assert controls["y"] + controls["height"] <= stage["y"] + 1
    assert [*look(page).seen] == ["step start", "step left", "step right", "step told"]
    box = page.get_by_role("button", name="Step left").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 5, box["y"] + 5)  # a drag may begin on a box, and then chooses none
    page.mouse.down()
    page.mouse.move(box["x"] + 65, box["y"] + 45, steps=5)
    page.mouse.up()
    moved = page.get_by_role("button", name="Step left").bounding_box()
    assert moved is not None
    assert (round(moved["x"] - box["x"]), round(moved["y"] - box["y"])) == (60, 40)
    assert page.get_by_role("tab", name="Step").get_attribute("aria-selected") == "false"


def failed(server: Listener, page: "Page", source: str) -> Look:
    """A look at an execution of which the step `s7` has failed, as it opens."""
    server.register(HEAD + source)
    name = server.start("t/t")
    page.goto(f"{server.url}/#/executions/{name}")
    page.get_by_role("button", name="Step s7: failed").wait_for()
    return look(page)


def test_a_picture_opens_so_that_it_can_be_read(server: Listener, browser: "Browser") -> None:
    chain = "".join(
        f"  - {{step: s{n}, tool: {{kind: noop}}, next: {{arcs: [{{step: s{n + 1}}}]}}}}\n" for n in range(7)
    )
    failing = "  - {step: s7, tool: {kind: fail, code: no.luck, message: none}}\n"
    nine = f"workflow:\n  - {{step: start, next: {{arcs: [{{step: s0}}]}}}}\n{chain}{failing}"
    with page_of(browser, viewport={"width": 1280, "height": 900}) as page:
        seen = failed(server, page, nine)
        assert seen.letters >= 9 and "step s7" in seen.seen and len(seen.seen) < 9
        seen = failed(server, page, f"workflow:\n  - {{step: start, next: {{arcs: [{{step: s7}}]}}}}\n{failing}")
        assert seen.letters >= 9 and len(seen.seen) == 2, "all of it, where that can be read"
