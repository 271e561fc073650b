"""Schedules and triggers in a browser: how they stand, what may be asked of them, and what started an execution."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from harness.browsing import Listener, listening, page_of
from harness.running import HEAD
from harness.serving import until
from noetl.api.bearer_tokens import BearerToken, digest_of
from page.test_accessibility import AXE, LOOKS, violations

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ECHO = HEAD + (
    'workload: {day: none, n: 0}\nworkflow:\n  - {step: start, tool: {kind: noop, result: "{{ workload.day }}"}}\n'
)


def kept(server: Listener, kind: str, name: str, **spec: object) -> None:
    document = {"apiVersion": "noetl.io/v2", "kind": kind, "metadata": {"name": name}, "spec": spec}
    response = server.api.put(f"/{kind.lower()}s/{name}", json=document)
    assert response.status_code == 200, response.text


@pytest.fixture
def filled(server: Listener) -> Listener:
    """A server with a schedule of nights and a trigger."""
    server.register(ECHO)
    server.register(ECHO.replace("t/t", "t/next"))
    kept(server, "Schedule", "nightly", playbook="t/t", cron="0 2 * * *", time_input="day")
    kept(server, "Trigger", "behind", playbook="t/next", after={"playbook": "t/t"}, inputs={"n": "{{ result.no }}"})
    return server


def newest(server: Listener, path: str) -> str:
    rows = server.api.get(f"/executions?text={path}").json()["executions"]
    return str(rows[0]["execution_id"]) if rows else ""


def test_a_schedule_is_shown_started_paused_and_backfilled(filled: Listener, page: "Page") -> None:
    page.goto(f"{filled.url}/#/executions")
    page.get_by_role("link", name="Schedules").click()
    page.get_by_text("at 02:00 every day, UTC").wait_for()
    page.get_by_role("link", name="nightly").click()
    page.get_by_role("heading", name="nightly").wait_for()
    page.locator(".card", has_text="Next times").locator("li").nth(4).wait_for()
    assert page.locator(".card", has_text="Next times").locator("li").count() == 5
    page.get_by_role("button", name="Start now…").click()
    page.get_by_role("button", name="Start", exact=True).click()
    until(lambda: bool(newest(filled, "t/t")))
    name = newest(filled, "t/t")
    assert filled.api.get(f"/executions/{name}").json()["started_by"]["asked"] is True
    page.get_by_role("button", name="Pause").click()
    page.locator(".badge.paused").wait_for()
    assert filled.api.get("/schedules/nightly").json()["paused"] is True
    page.get_by_role("button", name="Resume").click()
    page.locator(".badge.completed").wait_for()
    page.get_by_role("button", name="Backfill…").click()
    page.get_by_label("From").fill("2026-03-01T00:00:00")
    page.get_by_label("Until").fill("2026-03-04T00:00:00")
    page.get_by_label("At most").fill("2")
    page.get_by_role("button", name="Start", exact=True).click()
    page.get_by_text("2 times would be started, 0 had a start.").wait_for()
    assert len(filled.api.get("/executions?text=t/t").json()["executions"]) == 1, "it is only said"
    page.get_by_role("button", name="Start", exact=True).click()
    until(lambda: len(filled.api.get("/executions?text=t/t").json()["executions"]) == 3)
    page.get_by_role("dialog").wait_for(state="detached")


def test_an_execution_says_what_started_it_with_links(filled: Listener, page: "Page") -> None:
    begun = filled.api.post("/schedules/nightly/start").json()["execution_id"]
    page.goto(f"{filled.url}/#/executions/{begun}")
    page.locator(".facts", has_text="started by nightly").get_by_role("link", name="nightly").click()
    page.get_by_role("heading", name="nightly").wait_for()
    # The trigger behind it finds no such key, as the result is a text.
    page.goto(f"{filled.url}/#/schedules")
    page.get_by_role("link", name="behind").click()
    page.locator(".badge.failed", has_text="hindered").wait_for()
    page.get_by_text("What happened").click()
    page.locator("pre", has_text=begun).wait_for()
    kept(filled, "Trigger", "behind", playbook="t/next", after={"playbook": "t/t"}, inputs={"day": "{{ result }}"})
    page.get_by_role("button", name="Try again…").click()
    page.get_by_role("button", name="Try again", exact=True).click()
    page.get_by_text("All that happened was started.").wait_for()
    page.goto(f"{filled.url}/#/executions/{newest(filled, 't/next')}")
    page.locator(".facts", has_text="started by behind").get_by_role("link", name=begun).wait_for()


def test_a_time_that_has_passed_is_late(filled: Listener, page: "Page") -> None:
    kept(filled, "Schedule", "stuck", playbook="t/nowhere", every="1s")
    until(lambda: bool(filled.api.get("/schedules/stuck").json()["trouble"]))
    page.goto(f"{filled.url}/#/schedules")
    row = page.locator("li", has_text="stuck")
    row.get_by_text("no playbook t/nowhere is registered").wait_for()
    row.get_by_text("hindered").wait_for()


def test_who_may_only_look_is_offered_nothing(browser: "Browser", tmp_path: Path) -> None:
    tokens = [BearerToken(role, role, digest_of(f"secret-{role}")) for role in ("viewer", "admin")]
    with listening(tmp_path, *tokens, secret="secret-admin") as server, page_of(browser) as page:
        server.register(ECHO)
        kept(server, "Schedule", "nightly", playbook="t/t", cron="0 2 * * *")
        page.goto(f"{server.url}/")
        page.get_by_label("Token").fill("secret-viewer")
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("link", name="Schedules").click()
        page.get_by_role("link", name="nightly").click()
        page.get_by_text("Next times").wait_for()
        assert page.locator(".acts button").count() == 0


@pytest.mark.parametrize("look", LOOKS)
def test_nothing_of_it_hinders_who_cannot_see_or_point(filled: Listener, browser: "Browser", look: str) -> None:
    kept(filled, "Schedule", "stuck", playbook="t/nowhere", every="1s")
    filled.api.post("/schedules/nightly/start")
    until(lambda: bool(filled.api.get("/triggers/behind").json()["dead_letters"]))
    with page_of(browser, **LOOKS[look]) as page:
        page.add_init_script(AXE)
        page.goto(f"{filled.url}/#/schedules")
        page.get_by_role("link", name="nightly").wait_for()
        assert violations(page) == []
        page.get_by_role("link", name="nightly").click()
        page.get_by_text("Next times").wait_for()
        assert violations(page) == []
        page.get_by_role("button", name="Backfill…").click()
        assert violations(page) == []
        page.keyboard.press("Escape")
        page.goto(f"{filled.url}/#/triggers/behind")
        page.get_by_text("What happened").click()
        assert violations(page) == []
