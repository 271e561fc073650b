"""Signing in to the page at a provider of another site, and out of both."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from harness.browsing import Listener, listening, page_of
from harness.oidc import CLIENT, SECRET, Provider, providing
from harness.running import HEAD
from noetl.api.bearer_tokens import BearerToken, digest_of
from noetl.api.people import People
from noetl.api.role_rules import RulesFile
from noetl.clients.oidc_provider import RelyingParty

if TYPE_CHECKING:
    from playwright.sync_api import Browser

TOKEN = BearerToken("root", "admin", digest_of("secret"))
RULES = '[[roles]]\nclaim = "email"\nvalue = "ann@example.org"\nrole = "viewer"\n'
STEPS = "workflow: [{step: start, tool: {kind: noop}}]\n"


@pytest.fixture
def provider() -> Iterator[Provider]:
    with providing("localhost") as up:  # the page is at 127.0.0.1, so that this is another site
        up.asks_first = True
        yield up


@pytest.fixture
def server(browser: "Browser", tmp_path: Path, provider: Provider) -> Iterator[Listener]:
    (tmp_path / "roles.toml").write_text(RULES)
    rules = RulesFile(str(tmp_path / "roles.toml"), lambda said: None)
    people = People(RelyingParty(provider.url, CLIENT, SECRET), rules)
    with listening(tmp_path, TOKEN, secret="secret", people=people) as up:
        yield up


def test_somebody_signs_in_at_the_provider_and_out_of_it(
    browser: "Browser", server: Listener, provider: Provider
) -> None:
    server.register(HEAD + STEPS)
    execution = server.start("t/t")
    with page_of(browser) as page:
        page.goto(f"{server.url}/#/executions/{execution}")
        page.get_by_role("link", name=f"Sign in with {provider.url.removeprefix('http://')}").click()
        page.get_by_role("heading", name="Who are you?").wait_for()
        page.get_by_role("link", name="I am Ann").click()
        page.get_by_role("heading", name="t/t").wait_for()
        assert page.url == f"{server.url}/#/executions/{execution}", "it goes on where it was"
        who = page.locator(".who")
        who.get_by_text("ann@example.org").wait_for()
        assert who.get_by_text("viewer").count() == 1
        assert "noetl" not in str(page.evaluate("document.cookie"))
        page.reload()
        who.get_by_text("ann@example.org").wait_for()
        page.get_by_role("button", name="Sign out").click()
        page.get_by_label("Token").wait_for()
        assert page.url == f"{server.url}/"
        assert provider.left == [{"client_id": CLIENT, "post_logout_redirect_uri": f"{server.url}/"}]
        assert page.evaluate("fetch('me').then((found) => found.status)") == 401
        page.get_by_label("Token").fill("secret")
        page.keyboard.press("Enter")
        who.get_by_text("root").wait_for()


def test_the_page_says_why_no_sign_in_came_of_it(browser: "Browser", server: Listener, provider: Provider) -> None:
    provider.person = {"sub": "7", "email": "bob@example.org", "email_verified": True}
    with page_of(browser) as page:
        page.goto(server.url)
        page.get_by_role("link", name="Sign in with").click()
        page.get_by_role("link", name="I am Ann").click()
        page.get_by_role("alert").get_by_text("no rule of this server gives you a role").wait_for()
        assert page.url == f"{server.url}/#/sign-in?failed=role"
        provider.person = {"sub": "8", "email": "ann@example.org", "email_verified": True}
        page.get_by_role("link", name="Sign in with").click()
        assert "prompt=login" in page.url, "as somebody else"
        page.get_by_role("link", name="I am Ann").click()
        page.locator(".who").get_by_text("ann@example.org").wait_for()
        assert page.url == f"{server.url}/#/executions"
        # A response that this browser did not ask for, as another site would send it.
        page.goto(f"{server.url}/sign-in/return?state=x&code=y")
        page.get_by_role("alert").get_by_text("was not begun in this browser").wait_for()
        page.goto(f"{server.url}/?a#/sign-in?failed=<b>You are hacked</b>")
        page.get_by_label("Token").wait_for()
        assert page.get_by_text(re.compile("hacked")).count() == 0 and page.get_by_role("alert").count() == 0
        page.get_by_label("Token").fill("secret")
        page.keyboard.press("Enter")
        page.locator(".who").get_by_text("root").wait_for()
        assert page.url.endswith("#/executions")


def test_a_long_name_has_room(browser: "Browser", server: Listener, provider: Provider, tmp_path: Path) -> None:
    (tmp_path / "roles.toml").write_text('[[roles]]\neverybody = true\nrole = "operator"\n')
    provider.person, provider.asks_first = {"sub": "0123456789" * 25}, False
    with page_of(browser, viewport={"width": 360, "height": 740}) as page:
        page.goto(server.url)
        page.get_by_role("link", name="Sign in with").click()
        page.locator(".who").get_by_text("operator").wait_for()
        for width in (360, 800, 1280):
            page.set_viewport_size({"width": width, "height": 740})
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), width
            assert page.get_by_role("button", name="Sign out").is_visible()
