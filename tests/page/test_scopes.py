"""A person whose token is for the playbooks of a team, in a browser."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from harness.browsing import listening, page_of
from harness.running import HEAD
from noetl.api.bearer_tokens import BearerToken, digest_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser

END = 4_070_908_800_000_000  # 2099-01-01T00:00:00Z
WAITS = "workflow: [{step: start, tool: {kind: wait, events: [go]}}]\n"


@pytest.mark.parametrize("width", [390, 1280])
def test_whoever_has_a_scope_is_shown_that_and_what_is_in_it(browser: "Browser", tmp_path: Path, width: int) -> None:
    tokens = [
        BearerToken("root", "admin", digest_of("root")),
        BearerToken("ann", "operator", digest_of("ann"), END, ("team-a/",), ("gpu", "default")),
    ]
    with listening(tmp_path, *tokens, secret="root") as server, page_of(browser) as page:
        page.set_viewport_size({"width": width, "height": 844})
        for team in ("team-a", "team-b"):
            server.register(HEAD.replace("t/t", f"{team}/one") + WAITS)
            server.start(f"{team}/one")
        page.goto(f"{server.url}/")
        page.get_by_label("Token").fill("ann")
        page.keyboard.press("Enter")
        page.get_by_text("You see playbooks team-a/ only").wait_for()
        page.get_by_text("team-a/one").first.wait_for()
        page.get_by_text("1", exact=True).first.wait_for()
        assert "team-b" not in page.locator("body").inner_text()
        assert page.get_by_role("navigation", name="Places").get_by_role("link").all_inner_texts() == [
            "Executions", "Playbooks", "Schedules", "Notifications",
        ]  # fmt: skip
        nav, head = page.locator("nav").first.bounding_box(), page.locator("h1").bounding_box()
        assert nav is not None and head is not None and nav["y"] + nav["height"] <= head["y"]
        who = page.locator(".who")
        assert "playbooks team-a/ in pools gpu, default" in who.inner_text() or width < 720
        assert who.locator("span").first.get_attribute("title") == (
            "Signed in with the token ann until Jan 1, 2099, 12:00:00 AM"
        )
        page.get_by_role("link", name="Playbooks").click()
        page.get_by_role("link", name="team-a/one").wait_for()
        page.get_by_text("You see playbooks team-a/ only").wait_for()
        assert "team-b" not in page.locator("main").inner_text()
        page.get_by_role("link", name="Schedules").click()
        page.get_by_text("You see playbooks team-a/ only").wait_for()
        page.get_by_role("link", name="Notifications").click()
        page.get_by_text("noetl notifications put FILE").wait_for()
        assert page.get_by_role("heading", name="Dead letters").count() == 0
        page.goto(f"{server.url}/#/workers")
        page.get_by_text("this is for tokens without limits").first.wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_an_admin_sees_the_ends_and_scopes_of_tokens(browser: "Browser", tmp_path: Path) -> None:
    tokens = [
        BearerToken("root", "admin", digest_of("root")),
        BearerToken("ann", "operator", digest_of("ann"), END, ("team-a/",), ("gpu",)),
    ]
    with listening(tmp_path, *tokens, secret="root") as server, page_of(browser) as page:
        page.goto(f"{server.url}/#/workers")
        page.get_by_label("Token").fill("root")
        page.keyboard.press("Enter")
        page.get_by_text("playbooks team-a/ in pools gpu, until Jan 1, 2099, 12:00:00 AM").wait_for()
        assert page.locator(".hint.scope").count() == 0
