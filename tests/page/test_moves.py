"""Moves of an execution to another version of its playbook, on its page, in a browser."""

from typing import TYPE_CHECKING

from harness.bodies import WAITING
from harness.browsing import Listener, listening, page_of
from harness.running import HEAD
from harness.serving import until
from noetl.api.bearer_tokens import BearerToken, digest_of

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Page

MENDED = WAITING.replace("v + 1", "v + 100").replace("step: last", "step: at_last")
"""Another step behind the one that waits: 3 * 2 + 100."""
REWRITTEN = WAITING.replace("n * 2", "n * 3")
BUTTON = "Other version…"


def waiting(server: Listener) -> str:
    """An execution of version 1 that waits."""
    server.register(HEAD + WAITING)
    name = server.start("t/t")
    until(lambda: "hold" in server.api.get(f"/executions/{name}").text)
    return name


def test_an_execution_is_moved_once_nothing_is_in_the_way(server: Listener, page: "Page") -> None:
    name = waiting(server)
    mended = server.register(HEAD + MENDED)["playbook_id"]
    server.register(HEAD + REWRITTEN)
    page.goto(f"{server.url}/#/executions/{name}")
    page.get_by_role("button", name=BUTTON).click()
    dialog = page.get_by_role("dialog")
    # The newest other version is looked at first: its first step does something else.
    dialog.locator(".hindrances li", has_text="step start ran, and does something else in the new plan").wait_for()
    assert "noetl rerun" not in dialog.inner_text() and "“Go on from there…”" in dialog.inner_text()
    go = dialog.get_by_role("button", name="Move it")
    assert go.is_disabled()
    choice = dialog.get_by_label("Version")
    assert choice.locator("option").all_inner_texts() == [
        "version 1, which it runs", "version 3, the newest", "version 2",
    ]  # fmt: skip
    choice.select_option("version 1, which it runs")
    dialog.locator(".hindrances li", has_text="it runs this plan already").wait_for()
    choice.select_option("version 2")
    dialog.get_by_text("It can be moved").wait_for()
    assert server.api.get(f"/executions/{name}/row").json()["plan_digest"] != mended
    go.click()
    page.get_by_text("It goes on under that version.").wait_for()
    dialog.wait_for(state="detached")
    assert server.api.get(f"/executions/{name}/row").json()["plan_digest"] == mended
    # The picture is that of the new plan, without anybody asking for it.
    page.get_by_role("button", name="Step at_last: did not run").wait_for()
    assert name in page.url
    server.api.post(f"/executions/{name}/signal", json={"name": "go"}).raise_for_status()
    page.locator(".head .badge.completed").wait_for()
    assert server.api.get(f"/executions/{name}/result").json()["result"] == 106


def test_why_its_owner_has_left_it_where_it_is_is_told(server: Listener, page: "Page") -> None:
    """A move that was free when it was looked at may be hindered by the time that it is made."""
    name = waiting(server)
    server.register(HEAD + REWRITTEN)
    free = {"execution_id": name, "from": "", "to": "", "hindrances": []}

    def look(route: object, request: object) -> None:
        body = request.post_data_json  # type: ignore[attr-defined]
        if body.get("dry_run"):
            route.fulfill(json=free)  # type: ignore[attr-defined]
        else:  # asked of whoever drives it, without the look that the server takes itself
            server.runtime.store.post(name, "migrate", {"to": body["playbook_id"]})
            route.fulfill(json=free, status=202)  # type: ignore[attr-defined]

    page.route("**/migrate", look)
    page.goto(f"{server.url}/#/executions/{name}")
    page.get_by_role("button", name=BUTTON).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("It can be moved").wait_for()
    dialog.get_by_role("button", name="Move it").click()
    why = dialog.get_by_role("alert").filter(has_text="It stays with its version: ")
    why.wait_for()
    assert "step `start` ran, and does something else in the new plan" in why.inner_text()


def test_without_another_version_there_is_nothing_to_choose(server: Listener, page: "Page") -> None:
    name = waiting(server)
    page.goto(f"{server.url}/#/executions/{name}")
    page.get_by_role("button", name=BUTTON).click()
    page.get_by_text("There is no other version of t/t: register one first.").wait_for()
    assert page.get_by_role("dialog").count() == 0
    server.api.post(f"/executions/{name}/signal", json={"name": "go"}).raise_for_status()
    page.locator(".head .badge.completed").wait_for()
    assert page.get_by_role("button", name=BUTTON).count() == 0, "it is over"


def test_only_who_operates_may_move_one(browser: "Browser", tmp_path: "Path") -> None:
    tokens = [BearerToken("ops", "operator", digest_of("ops")), BearerToken("eye", "viewer", digest_of("eye"))]
    with listening(tmp_path, *tokens, secret="ops") as server:
        name = waiting(server)
        server.register(HEAD + MENDED)
        for token, count in (("ops", 1), ("eye", 0)):
            with page_of(browser, extra_http_headers={"authorization": f"Bearer {token}"}) as page:
                page.goto(f"{server.url}/#/executions/{name}")
                page.get_by_role("button", name="Step hold: waiting").wait_for()
                assert page.get_by_role("button", name=BUTTON).count() == count
