"""Reruns on the page of an execution, in a browser."""

import re
import time
from typing import TYPE_CHECKING

import pytest

from harness.browsing import Listener
from harness.running import HEAD
from harness.serving import until

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


PHASES = """
executor: {spec: {on_failure: tidy}}
workflow:
  - {step: start, tool: {kind: noop, result: 1}, next: {arcs: [{step: charge}]}}
  - {step: charge, tool: {kind: fail, code: no.money, message: none}}
  - {step: tidy, tool: {kind: shell, command: echo tidied}}
"""


def test_a_mended_version_is_gone_on_with(server: Listener, page: "Page") -> None:
    server.register(HEAD + PHASES)
    name = server.start("t/t")
    until(lambda: server.api.get(f"/executions/{name}/row").json()["ended"] is not None)
    mended = server.register(HEAD + PHASES.replace("kind: fail, code: no.money, message: none", "kind: noop"))
    page.goto(f"{server.url}/#/executions/{name}")
    page.get_by_role("button", name="Go on from there…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("There is a newer one: version 2.").wait_for()
    hindrance = dialog.locator(".hindrances li")
    hindrance.wait_for()
    assert "--accept" not in dialog.inner_text() and "what follows main has run" in hindrance.inner_text()
    size = "(tag) => parseFloat(getComputedStyle(document.querySelector(`dialog ${tag}`)).fontSize)"
    assert page.evaluate(size, "h3") < page.evaluate(size, "h2")
    dialog.get_by_label("Version").select_option("version 2, the newest")
    dialog.get_by_role("button", name="Start", exact=True).click()
    dialog.get_by_role("alert").wait_for()  # nobody has said that it does no harm
    hindrance.get_by_role("checkbox").check()
    dialog.get_by_role("button", name="Start", exact=True).click()
    page.get_by_text("a rerun of").wait_for()
    page.locator(".head .badge.completed").wait_for()
    again = page.url.rpartition("/")[2]
    assert server.api.get(f"/executions/{again}/row").json()["plan_digest"] == mended["playbook_id"]


def test_what_is_in_the_way_has_a_way_around(server: Listener, page: "Page") -> None:
    server.register(HEAD + ORDER)
    name = server.start("t/t")
    until(lambda: server.api.get(f"/executions/{name}/row").json()["ended"] is not None)
    found = {"kept": [], "again": [], "signals": [], "hindrances": [
        {"code": "undone", "message": "step `start` was undone", "instead": "begin at it: `--from start`"},
        {"code": "log", "message": "no way", "instead": "start it anew"},
    ]}  # fmt: skip
    page.route("**/rerun", lambda route: route.fulfill(json=found))
    page.goto(f"{server.url}/#/executions/{name}")
    page.get_by_role("button", name="Go on from there…").click()
    page.get_by_role("dialog").get_by_text("Start it anew.").wait_for()
    page.unroute("**/rerun")
    page.get_by_role("button", name="Begin at start…").click()
    page.get_by_role("dialog").get_by_role("heading", name="Start again from start").wait_for()
    assert page.get_by_role("dialog").count() == 1


GAP = 2.0
"""Seconds between an execution and its rerun."""

ITEMS = """
workload: {fails: true}
workflow:
  - step: start
    loop: {in: [1, 2, 3], iterator: n, spec: {mode: sequential}}
    tool:
      name: f
      kind: FAIL
      code: no.luck
      message: none
      spec: {policy: {rules: [{when: "{{ iter.n < 3 }}", then: {do: continue}}, {else: {then: {do: fail}}}]}}
"""


def test_the_time_before_a_rerun_is_none_of_its_steps(server: Listener, page: "Page") -> None:
    server.register(HEAD + ITEMS.replace("FAIL", "fail"))
    name = server.start("t/t")
    until(lambda: server.api.get(f"/executions/{name}/row").json()["ended"] is not None)
    mended = server.register(HEAD + ITEMS.replace("iter.n < 3", "iter.n < 4").replace("FAIL", "fail"))
    time.sleep(GAP)
    began = time.monotonic()
    body = {"playbook_id": mended["playbook_id"]}
    again = server.api.post(f"/executions/{name}/rerun", json=body).raise_for_status().json()["execution_id"]
    until(lambda: server.api.get(f"/executions/{again}/row").json()["ended"] is not None)
    if time.monotonic() - began > GAP / 2:
        pytest.skip("the machine is too slow to tell a gap from work")
    page.goto(f"{server.url}/#/executions/{again}?step=start")
    page.get_by_role("button", name="Step start: done").wait_for()
    facts = str(page.get_by_role("button", name="Step start: done").get_attribute("aria-label"))
    assert re.search(r"\d ms", facts) and "3 of 3 items" in facts, facts
    items = server.api.get(f"/executions/{again}/items?step=start").json()["items"]
    assert len(items) == 3 and all(one["ended"] - one["began"] < 1000 * GAP / 2 for one in items), items
