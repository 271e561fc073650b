"""Reruns on the page of an execution, in a browser."""

from typing import TYPE_CHECKING

from harness.browsing import Listener
from harness.running import HEAD

if TYPE_CHECKING:
    from playwright.sync_api import Page

ORDER = """
workload: {n: 3}
workflow:
  - step: start
    tool: {kind: python, args: {n: "{{ workload.n }}"}, code: result = n}
    next: {arcs: [{step: charge}]}
  - step: charge
    tool: {kind: fail, code: no.money, message: none}
"""


def test_what_a_rerun_keeps_is_shown_before_it_starts(server: Listener, page: "Page") -> None:
    server.register(HEAD + ORDER)
    name = server.start("t/t")
    page.goto(f"{server.url}/#/executions/{name}")
    page.get_by_role("button", name="Go on from there…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("heading", name="Go on from where it failed").wait_for()
    assert dialog.locator("li").all_inner_texts() == ["start with effects", "charge"]
    dialog.get_by_label("Other values (JSON)").fill('{"n": 4}')
    dialog.get_by_role("button", name="Start").click()
    dialog.get_by_text("step `start` ran, and reads `workload.n`").wait_for()
    dialog.get_by_label("Other values (JSON)").fill("")
    dialog.get_by_role("button", name="Start").click()
    page.get_by_role("link", name=name).wait_for()  # it is a rerun of that
    page.get_by_text("a rerun of").wait_for()
    assert name not in page.url


def test_a_step_begins_again(server: Listener, page: "Page") -> None:
    server.register(HEAD + ORDER)
    name = server.start("t/t")
    page.goto(f"{server.url}/#/executions/{name}?step=start")
    page.get_by_role("button", name="Start again from this step…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("heading", name="Start again from start").wait_for()
    dialog.get_by_label("Other values (JSON)").fill('{"n": 4}')
    dialog.get_by_role("button", name="Start").click()
    page.get_by_text("a rerun of").wait_for()
