"""Notifications, dead letters and the audit in a browser: how they stand, and what may be asked of them."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from harness.browsing import Listener, listening, page_of
from harness.running import HEAD
from harness.serving import until
from noetl.api.bearer_tokens import BearerToken, digest_of
from noetl.ports.outbox import OutboxRow, Telling
from page.test_accessibility import AXE, LOOKS, violations
from page.test_phone import CUT

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SPEC = {"on": ["failed", "recovered"], "playbooks": ["etl/*"], "to": {"slack": {"credential": "slack"}}}
DONE = HEAD + "workflow:\n  - {step: start, tool: {kind: noop}}\n"
PLACES = ["Executions", "Playbooks", "Schedules", "Signals", "Workers", "Notifications"]


def filled(server: Listener, letters: int = 2) -> None:
    """A notification, and dead letters to somebody whom no server knows."""
    document = {"apiVersion": "noetl.io/v2", "kind": "Notification", "metadata": {"name": "ops/oncall"}, "spec": SPEC}
    response = server.api.put("/notifications/ops%2Foncall", json=document)
    assert response.status_code == 200, response.text
    assert isinstance(server.runtime.store, Telling)
    outbox = server.runtime.store.outbox
    rows = [OutboxRow(0, "nobody:somebody", f"s{number}", None, 1_772_323_200_000_000, 1) for number in range(letters)]
    outbox.put_outbox(rows)
    for number in range(1, letters + 1):
        outbox.put_off_outbox(number, 1, "`hooks.example` does not answer", dead=True)


def dead(server: Listener) -> list[int]:
    return [row["number"] for row in server.api.get("/dead-letters").json()["dead_letters"]]


def test_a_notification_is_shown_paused_and_tested(server: Listener, page: "Page") -> None:
    filled(server)
    page.goto(server.url)
    page.get_by_role("link", name="Notifications").click()
    page.locator("li", has_text="ops/oncall").get_by_text("failed, recovered").wait_for()
    page.get_by_role("link", name="ops/oncall").click()
    page.get_by_role("heading", name="ops/oncall").wait_for()
    page.get_by_text("tells of: failed, recovered").wait_for()
    page.get_by_text("has told nothing yet").wait_for()
    page.get_by_role("button", name="Pause").click()
    page.locator(".badge.paused").wait_for()
    assert server.api.get("/notifications/ops%2Foncall").json()["paused"] is True
    page.get_by_role("button", name="Resume").click()
    page.locator(".badge.paused").wait_for(state="detached")
    page.get_by_role("button", name="Test…").click()
    page.get_by_role("button", name="Send", exact=True).click()
    # There is no credential of that name: what is wrong is shown where somebody looks for it.
    page.locator(".problem", has_text="slack").wait_for()
    deeds = [row["deed"] for row in server.api.get("/audit").json()["audit"]]
    assert deeds[:4] == ["notification-test", "notification-resume", "notification-pause", "notification-put"]
    page.get_by_role("link", name="Notifications").first.click()
    page.locator("li", has_text="ops/oncall").get_by_text("1 message to be sent").wait_for()


def test_dead_letters_are_tried_again_and_dropped_by_the_keyboard(server: Listener, page: "Page") -> None:
    filled(server, 3)
    page.goto(f"{server.url}/#/notifications")
    letters = page.locator(".card", has=page.get_by_role("heading", name="Dead letters")).locator("li")
    letters.nth(2).wait_for()
    assert "hooks.example does not answer" in letters.nth(0).inner_text()
    page.get_by_role("button", name="Try again: somebody: s0").focus()
    page.keyboard.press("Enter")
    until(lambda: dead(server) == [2, 3])
    letters.nth(2).wait_for(state="detached")
    page.get_by_role("button", name="Drop: somebody: s1").focus()
    server.api.post("/notifications/ops%2Foncall/pause")
    page.locator(".badge.paused").wait_for()  # all is drawn anew, and the keyboard is where it was
    page.keyboard.press("Enter")
    page.get_by_role("dialog").get_by_text("Nobody is told of it any more.").wait_for()
    page.keyboard.press("Enter")  # what harms is not one key away
    page.get_by_role("dialog").wait_for(state="detached")
    assert dead(server) == [2, 3]
    page.get_by_role("button", name="Drop: somebody: s1").click()
    page.get_by_role("button", name="Drop", exact=True).click()
    until(lambda: dead(server) == [3])
    letters.nth(1).wait_for(state="detached")
    assert letters.count() == 1


def test_the_audit_is_filtered_and_goes_back_page_by_page(server: Listener, page: "Page") -> None:
    server.register(DONE)
    name = server.start("t/t")
    for number in range(120):
        server.api.put(f"/schedules/s{number}", json={})
    deeds = page.get_by_role("list", name="Deeds").locator("li")
    page.goto(server.url)
    page.get_by_role("link", name="Audit").click()
    deeds.nth(99).wait_for()
    assert deeds.count() == 100 and "schedule-put" in deeds.nth(0).inner_text()
    page.get_by_role("button", name="Older").focus()
    page.keyboard.press("Enter")
    deeds.nth(100).wait_for()
    page.get_by_role("button", name="Older").wait_for(state="hidden")
    total = len(server.api.get("/audit?limit=1000").json()["audit"])
    assert deeds.count() == total > 100
    page.get_by_label("Deed", exact=True).fill("start")
    deeds.nth(1).wait_for(state="detached")
    page.locator("li", has_text="start").get_by_role("link", name=name).wait_for()
    assert page.url.endswith("#/audit?deed=start")
    page.reload()
    page.locator("li", has_text="start").get_by_role("link", name=name).wait_for()
    assert deeds.count() == 1
    page.get_by_label("Outcome").select_option("refused")
    page.get_by_text("No deed fits.").wait_for()
    page.get_by_label("Outcome").select_option("")
    page.get_by_label("Since").fill("2090-01-01T00:00:00")
    page.get_by_text("No deed fits.").wait_for()
    page.get_by_label("Since").fill("2020-01-01T00:00:00")
    page.get_by_role("link", name=name).click()
    page.get_by_role("heading", name="t/t").wait_for()


def test_who_may_not_is_offered_nothing(browser: "Browser", tmp_path: Path) -> None:
    tokens = [BearerToken(role, role, digest_of(f"secret-{role}")) for role in ("viewer", "admin")]
    with listening(tmp_path, *tokens, secret="secret-admin") as server, page_of(browser) as page:
        filled(server)
        page.goto(f"{server.url}/")
        page.get_by_label("Token").fill("secret-viewer")
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("link", name="Notifications").click()
        page.get_by_text("hooks.example").first.wait_for()
        assert page.get_by_role("navigation").get_by_role("link").all_inner_texts() == PLACES
        assert page.locator(".acts button").count() == 0
        page.goto(f"{server.url}/#/notifications/ops%2Foncall")
        page.get_by_text("tells of:").wait_for()
        assert page.locator(".acts button").count() == 0
        page.goto(f"{server.url}/#/audit")
        page.locator("li .empty", has_text="role").wait_for()


@pytest.mark.parametrize("width", [320, 375, 721, 1000])
def test_every_place_of_an_admin_is_in_the_head(server: Listener, browser: "Browser", width: int) -> None:
    filled(server)
    with page_of(browser, viewport={"width": width, "height": 740}) as page:
        page.goto(f"{server.url}/#/notifications")
        page.get_by_text("hooks.example").first.wait_for()
        assert page.get_by_role("navigation").get_by_role("link").all_inner_texts() == [*PLACES, "Audit"]
        assert page.evaluate(CUT, "#top nav a, #top button, #main li *, #main button") == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        head = page.get_by_role("banner").bounding_box()
        first = page.get_by_role("heading", name="Notifications", exact=True).first.bounding_box()
        assert head is not None and first is not None and first["y"] >= head["y"] + head["height"]
        for link in page.get_by_role("navigation").get_by_role("link").all():
            box = link.bounding_box()
            assert box is not None and box["y"] + box["height"] <= head["y"] + head["height"] + 1
        page.get_by_role("link", name="Audit").click()
        page.get_by_text("notification-put").wait_for()
        assert page.evaluate(CUT, "#main li *, #main input, #main select") == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("look", LOOKS)
def test_nothing_of_it_hinders_who_cannot_see_or_point(server: Listener, browser: "Browser", look: str) -> None:
    filled(server)
    with page_of(browser, **LOOKS[look]) as page:
        page.add_init_script(AXE)
        page.goto(f"{server.url}/#/notifications")
        page.get_by_text("hooks.example").first.wait_for()
        assert violations(page) == []
        page.get_by_role("button", name="Drop: somebody: s0").click()
        assert violations(page) == []
        page.keyboard.press("Escape")
        page.get_by_role("link", name="ops/oncall").click()
        page.get_by_text("tells of:").wait_for()
        assert violations(page) == []
        page.goto(f"{server.url}/#/audit")
        page.get_by_text("notification-put").wait_for()
        assert violations(page) == []
