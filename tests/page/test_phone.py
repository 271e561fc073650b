"""The page on a phone: what is cut on one is not there for who has no other."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from harness.browsing import Listener, listening, page_of
from harness.running import HEAD
from harness.samples import first
from harness.serving import until
from noetl.api.bearer_tokens import BearerToken, digest_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser

WORK = """
workflow:
  - step: start
    loop: {in: [1, 2], iterator: one}
    tool: {name: a_task_with_quite_a_long_name, kind: noop, result: {words: "several words of a result"}}
    next: {arcs: [{step: a_step_with_a_name_that_is_long}]}
  - {step: a_step_with_a_name_that_is_long, tool: {kind: fail, code: no.luck, message: "no luck at all, today"}}
"""

CUT = """(places) => [...document.querySelectorAll(places)].filter((one) => {
  const at = one.getBoundingClientRect();
  if (!at.width || !one.textContent.trim()) return false;
  let { left, right } = { left: 0, right: innerWidth };
  for (let around = one.parentElement; around; around = around.parentElement) {
    if (getComputedStyle(around).overflowX === 'visible') continue;
    const room = around.getBoundingClientRect();
    [left, right] = [Math.max(left, room.left), Math.min(right, room.right)];
  }
  const scrolls = getComputedStyle(one).overflowX !== 'visible' && one.scrollWidth > one.clientWidth + 1;
  return at.left < left - 1 || at.right > right + 1 || scrolls;
}).map((one) => one.textContent.slice(0, 40))"""
"""The elements of which a part lies outside of what can be seen of the boxes around them."""


def ended(server: Listener) -> str:
    server.register(HEAD + WORK)
    name = server.start("t/t")
    until(lambda: server.api.get(f"/executions/{name}/row").json()["ended"] is not None)
    return name


@pytest.mark.parametrize("width", first(1, [320, 375, 430]))
def test_every_place_is_in_the_head_of_who_has_signed_in(browser: "Browser", tmp_path: Path, width: int) -> None:
    token = BearerToken("somebody with quite a long name", "operator", digest_of("secret-ada"))
    with (
        listening(tmp_path, token, secret="secret-ada") as server,
        page_of(browser, viewport={"width": width, "height": 740}) as page,
    ):
        page.goto(server.url)
        page.get_by_label("Token").fill("secret-ada")
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="Executions").wait_for()
        for place in ("Workers", "Signals", "Playbooks", "Executions"):
            assert page.evaluate(CUT, "#top nav a, #top button") == []
            page.get_by_role("navigation").get_by_role("link", name=place).click()
            page.get_by_role("heading", name=place, exact=True).wait_for()
            head = page.get_by_role("banner").bounding_box()
            first = page.get_by_role("heading", name=place, exact=True).bounding_box()
            assert head is not None and first is not None and first["y"] >= head["y"] + head["height"]


@pytest.mark.parametrize("width", [320, 375])
def test_no_column_of_the_log_is_cut(server: Listener, browser: "Browser", width: int) -> None:
    name = ended(server)
    with page_of(browser, viewport={"width": width, "height": 740}) as page:
        page.goto(f"{server.url}/#/executions/{name}")
        page.locator(".log tbody tr", has_text="no.luck").first.wait_for()
        assert page.evaluate(CUT, ".log tbody td:not(.brief), .log header *") == []
        assert page.locator(".log").evaluate("one => one.querySelector('.scroll').scrollWidth") <= width
        page.locator(".log td.brief button").last.click()
        assert page.evaluate(CUT, ".log .whole pre") == []
        page.get_by_role("button", name="Step start").click()
        page.get_by_role("heading", name="Items (2)").wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(CUT, ".zoom button, .tabs button") == []
