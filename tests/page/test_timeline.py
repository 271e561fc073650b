"""The timeline of an execution in a browser: ranges of it, shown larger, with idle time squeezed."""

import re
from typing import TYPE_CHECKING

import pytest

from harness.browsing import Listener
from harness.running import HEAD
from harness.serving import until

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

WORK = """workflow:
  - {step: start, tool: {kind: shell, command: sleep 0.3}, next: {arcs: [{step: rest}]}}
  - {step: rest, tool: {name: w, kind: wait, timers: {over: 3s}}, next: {arcs: [{step: last}]}}
  - {step: last, tool: {kind: shell, command: sleep 0.3}}
"""


def opened(server: Listener, page: "Page", query: str = "") -> str:
    """Open a run that worked, waited and worked again; its address."""
    server.register(HEAD + WORK)
    name = server.start("t/t")
    until(lambda: server.api.get(f"/executions/{name}/row").json()["status"] == "completed", 60)
    address = f"{server.url}/#/executions/{name}"
    page.goto(address + query)
    page.locator(".lane").first.wait_for()
    return address


def lanes(page: "Page") -> list[str]:
    return [text.strip() for text in page.locator(".lane").all_inner_texts()]


def zoomed(page: "Page") -> tuple[int, int] | None:
    """The range in the address, in ms."""
    found = re.search(r"[?&]zoom=(\d+)-(\d+)$", page.url)
    return (int(found[1]), int(found[2])) if found else None


def drag(page: "Page", start: float, end: float) -> None:
    """Drag over the lanes, from one share of their width to another."""
    page.locator(".timeline").scroll_into_view_if_needed()
    track = page.locator(".track").first.bounding_box()
    assert track is not None
    page.mouse.move(track["x"] + track["width"] * start, track["y"] + 8)
    page.mouse.down()
    page.mouse.move(track["x"] + track["width"] * end, track["y"] + 12, steps=4)
    page.mouse.up()


def test_a_range_is_dragged_and_stands_in_the_address(server: Listener, page: "Page") -> None:
    address = opened(server, page)
    assert lanes(page) == ["start", "rest", "last"]
    squeezed = page.locator(".squeezed")
    assert squeezed.count() == 1
    drag(page, 0.02, 0.2)
    page.wait_for_url(f"{address}?zoom=*")
    first = zoomed(page)
    assert first is not None and first[0] < first[1] < 1_000
    page.locator(".lane", has_text="last").wait_for(state="detached")
    assert lanes(page) == ["start"] and squeezed.count() == 0
    page.reload()
    page.locator(".lane").first.wait_for()
    assert lanes(page) == ["start"] and zoomed(page) == first
    drag(page, 0.5, 0.9)  # within the range
    page.wait_for_function("old => !location.href.endsWith(old)", arg=f"{first[0]}-{first[1]}")
    second = zoomed(page)
    assert second is not None and first[0] <= second[0] < second[1] <= first[1]
    page.go_back()
    page.wait_for_url(f"**zoom={first[0]}-{first[1]}")
    page.get_by_role("button", name="All of it").click()
    page.wait_for_url(address)
    page.locator(".lane", has_text="last").wait_for()
    assert lanes(page) == ["start", "rest", "last"]


def test_a_click_is_no_range(server: Listener, page: "Page") -> None:
    address = opened(server, page)
    drag(page, 0.3, 0.301)
    page.get_by_role("button", name="last", exact=True).click()
    page.get_by_role("heading", name="last").wait_for()
    assert page.url == f"{address}?step=last" and zoomed(page) is None


def test_a_range_is_chosen_by_the_keyboard_and_idle_time_stays_squeezed(server: Listener, page: "Page") -> None:
    opened(server, page)
    buttons = page.get_by_role("group", name="Range of the timeline")
    assert buttons.get_by_role("button", name="Later").is_disabled()
    buttons.get_by_role("button", name="Zoom in").press("Enter")  # around the middle, where it waited
    buttons.get_by_role("button", name="All of it").and_(page.locator(":enabled")).wait_for()
    assert page.locator(".squeezed").count() == 1
    before = zoomed(page)
    buttons.get_by_role("button", name="Later").press("Enter")
    page.wait_for_function("old => !location.href.endsWith(old)", arg=f"{before[0]}-{before[1]}" if before else "")
    after = zoomed(page)
    assert before is not None and after is not None
    assert after[0] > before[0] and abs((after[1] - after[0]) - (before[1] - before[0])) <= 2
    for _ in range(4):  # out of all of it nobody gets
        if buttons.get_by_role("button", name="Zoom out").is_enabled():
            buttons.get_by_role("button", name="Zoom out").press("Enter")
            page.wait_for_timeout(100)
    assert zoomed(page) is None
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Zoom in", "the keyboard has its place"


def test_an_address_of_a_range_that_is_none_shows_all(server: Listener, page: "Page") -> None:
    address = opened(server, page, "?zoom=9999999-99999999")
    for words in ("5-1", "x", "-1-5", "3-3", "0-999999999999999", "9" * 400 + "-1"):
        page.goto(f"{address}?zoom={words}")
        page.get_by_role("heading", name="Timeline").wait_for()
        assert lanes(page) == ["start", "rest", "last"], words


def test_the_cursor_stands_where_the_bars_end(server: Listener, page: "Page") -> None:
    opened(server, page)
    total = int(str(page.get_by_role("slider").get_attribute("max")))
    page.get_by_role("slider").fill(str(total - 1))
    page.locator(".cursor").wait_for()
    ends = page.evaluate("[...document.querySelectorAll('.tick')].map((one) => one.getBoundingClientRect().right)")
    at = page.locator(".cursor").bounding_box()
    assert at is not None and abs(at["x"] + 1 - max(ends)) < 4


def test_an_address_of_the_same_execution_moves_there(server: Listener, page: "Page") -> None:
    address = opened(server, page, "?zoom=0-200&step=start")
    page.get_by_role("heading", name="start").wait_for()
    page.goto(f"{address}?step=last&at=3")
    page.get_by_role("heading", name="last").wait_for()
    page.get_by_text(re.compile(r"^3 of ")).wait_for()
    assert lanes(page) == ["start", "rest", "last"]


@pytest.mark.parametrize(("took", "closer"), [(2, None), (3, (0, 2)), (4, (1, 3))])
def test_of_a_run_of_a_few_ms_half_is_half(
    server: Listener, page: "Page", took: int, closer: tuple[int, int] | None
) -> None:
    def short(route: "Route") -> None:
        found = route.fetch().json()
        bar = next(bar for bar in found["bars"] if bar["step"] == "start" and bar["kind"] == "task")
        route.fulfill(json={**found, "bars": [{**bar, "to": bar["from"] + took}]})

    page.route("**/timeline?*", short)
    opened(server, page)
    button = page.get_by_role("button", name="Zoom in")
    assert button.is_enabled() == (closer is not None)
    if closer:
        button.click()
        page.wait_for_url("**zoom=*")
        assert zoomed(page) == closer
