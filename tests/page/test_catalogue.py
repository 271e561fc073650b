"""Playbooks and workers, in a browser; how the page looks to who does not see it, on a phone and in the dark."""

from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from harness.browsing import Listener, listening, page_of
from harness.running import HEAD
from harness.serving import until
from noetl.api.bearer_tokens import ROLES, BearerToken, digest_of
from noetl.secrets.credentials import Credentials

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

TYPED = """
workload: {quantity: 3, express: false, size: small, extra: {gift: true}}
executor:
  spec:
    inputs:
      quantity: {type: integer, minimum: 1, description: How many to send.}
      express: {type: boolean}
      size: {enum: [small, large]}
      extra: {type: object}
      customer: {type: string, required: true}
keychain: [{name: api, kind: static, token: "{{ workload.customer }}-12345678"}]
workflow:
  - {step: start, spec: {pool: fast}, tool: {kind: noop, result: "{{ workload }}"}}
"""

WRONG = f"""
workflow:
  - step: start
    loop: {{in: [1], iterator: n, spec: {{mode: parallel}}}}
    tool:
      name: f
      kind: python
      args: {{words: "{"a word and " * 20}"}}
      code: |
        print("printed " * 100)
        raise ValueError("{"wrong" * 50} " + words)
"""


def test_a_playbook_is_started_by_a_form_of_its_inputs(server: Listener, page: "Page") -> None:
    server.register(HEAD + TYPED)
    server.register(HEAD + TYPED.replace("quantity: 3", "quantity: 4"))
    page.goto(f"{server.url}/#/playbooks")
    page.get_by_role("link", name="t/t").click()
    page.get_by_label("Version").select_option("version 1")
    page.get_by_text("api (static)").wait_for()
    page.get_by_text("fast", exact=True).wait_for()
    page.locator(".verdicts").get_by_text("nothing can get stuck").wait_for()
    page.get_by_role("button", name="Start…").click()
    page.get_by_role("button", name="Start", exact=True).click()
    assert page.get_by_role("dialog").is_visible(), "what must be brought is asked for"
    page.get_by_label("customer *").fill("Ada")
    page.get_by_label("quantity").fill("7")
    page.get_by_label("size").select_option("large")
    page.get_by_role("button", name="Start", exact=True).click()
    page.locator(".head .badge.completed").wait_for()
    found = server.api.get("/executions").json()["executions"][0]["execution_id"]
    first = server.api.get(f"/executions/{found}/events?limit=1").json()["events"][0]["payload"]
    assert first["payload"] == {"customer": "Ada", "quantity": 7, "size": "large"}, "what was left is as it was"
    assert server.api.get(f"/executions/{found}/result").json()["result"]["express"] is False


def test_signals_under_keys_are_shown(server: Listener, page: "Page") -> None:
    waits = 'workflow: [{step: start, tool: {name: w, kind: wait, events: [paid], correlation: "order 7"}}]'
    server.register(HEAD + waits)
    name = server.start("t/t")
    for key in ("<b>order 8", "<b>order 8", "bill 1"):
        server.api.post("/signals", json={"key": key, "name": "paid", "data": "secret"})
    page.goto(f"{server.url}/#/signals")
    page.get_by_text("2 signals kept").wait_for()
    page.get_by_text("<b>order 8", exact=True).wait_for()
    page.get_by_role("link", name=name).wait_for()
    assert "secret" not in page.locator("main").inner_text()
    page.get_by_label("Search by the beginning of a key").fill("bill")
    page.get_by_text("2 signals kept").wait_for(state="detached")
    page.get_by_text("1 signal kept").wait_for()
    page.get_by_label("Search by the beginning of a key").fill("")
    page.get_by_role("link", name=name).click()
    page.locator(".head").get_by_text("running").wait_for()


def test_workers_are_shown(server: Listener, page: "Page") -> None:
    page.goto(f"{server.url}/#/workers")
    page.get_by_text("this server", exact=True).wait_for()
    page.get_by_text("0 of 64 slots at work").wait_for()


def test_namespaces_are_shown_with_the_use_of_their_quotas(browser: "Browser", tmp_path: Path) -> None:
    with listening(tmp_path) as server, page_of(browser) as page:
        page.goto(f"{server.url}/#/workers")
        page.get_by_text("0 of 64 slots at work").wait_for()
        assert page.get_by_text("Namespaces").count() == 0
        spec = {"prefix": "<b>/", "weight": 2}
        body = {"apiVersion": "noetl.io/v2", "kind": "Namespace", "metadata": {"name": "team-a"}, "spec": spec}
        assert httpx.put(f"{server.url}/namespaces/team-a", json=body).status_code == 400
        spec |= {"prefix": "team-a/", "quotas": {"open_executions": 7, "starts_per_minute": 60, "burst": 5}}
        assert httpx.put(f"{server.url}/namespaces/team-a", json=body).status_code == 200
        page.get_by_role("heading", name="Namespaces").wait_for()
        row = page.locator("li").filter(has_text="team-a")
        assert " ".join(row.inner_text().split()) == "team-a team-a/ 0 of 7 open 5 of 5 starts left weight 2"
        httpx.post(f"{server.url}/namespaces/team-a/pause")
        row.get_by_text("paused").wait_for()


@pytest.mark.parametrize("role", ROLES)
def test_pools_credentials_and_tokens_stand_by_name_as_far_as_the_role_may(
    browser: "Browser", tmp_path: Path, role: str
) -> None:
    tokens = [BearerToken(f"of the {one}", one, digest_of(f"secret-{one}")) for one in ROLES]
    with listening(tmp_path, *tokens, secret="secret-admin") as server:
        kept = Credentials(server.runtime.secrets_path)
        kept.add_credential("<i>bank", "bearer", {"token": "hidden-12345678"})
        kept.add_credential("a" * 200, "bearer", {"token": "hidden-12345678"})
        with page_of(browser, viewport={"width": 390, "height": 844}) as page:
            page.goto(f"{server.url}/#/workers")
            page.get_by_label("Token").fill(f"secret-{role}")
            page.keyboard.press("Enter")
            page.get_by_role("heading", name="Pool default").wait_for()
            sees = {"viewer": 0, "worker": 0, "operator": 1, "admin": 2}[role]
            if sees:
                page.get_by_text("<i>bank", exact=True).wait_for()
            if sees > 1:
                page.get_by_text("of the viewer", exact=True).wait_for()
            page.wait_for_timeout(300)
            shown = page.locator("main").inner_text()
            assert ("Credentials" in shown, "Tokens" in shown) == (sees > 0, sees > 1)
            everything = page.content()
            assert "hidden-" not in everything and digest_of("secret-viewer")[:12] not in everything
            assert page.evaluate("document.documentElement.scrollWidth") <= 390
            here, nav = (page.locator(one).bounding_box() for one in ("nav [aria-current]", "nav"))
            assert here is not None and nav is not None
            assert nav["x"] <= here["x"] and here["x"] + here["width"] <= nav["x"] + nav["width"] + 1


def test_a_server_without_tokens_and_credentials_says_so(server: Listener, page: "Page") -> None:
    page.goto(f"{server.url}/#/workers")
    page.get_by_text("This server has no tokens").wait_for()
    page.get_by_text("None is kept beside this server.").wait_for()


def test_everything_has_a_name_and_fits_a_phone(server: Listener, browser: "Browser") -> None:
    """By the rules of WCAG 2.2 that a script can ask: names (4.1.2), labels (3.3.2), reflow (1.4.10), and contrast of
    text (1.4.3) in light and dark.
    """
    server.register(HEAD + TYPED)
    name = server.start("t/t", customer="Ada")
    server.register(HEAD.replace("t/t", "t/wrong") + WRONG)
    wrong = server.start("t/wrong")
    until(lambda: server.api.get(f"/executions/{wrong}").json()["status"] == "failed")
    server.api.post("/signals", json={"key": "order " * 20, "name": "paid" * 20})
    for scheme in ("light", "dark"):
        with page_of(browser, viewport={"width": 390, "height": 844}, color_scheme=scheme) as page:
            for place, there in (
                ("executions", "t/t"), (f"executions/{name}", "Timeline"), ("playbooks", "t/t"),
                (f"executions/{wrong}?step=start", "printed printed"),
                ("playbooks/t%2Ft", "Takes and needs"), ("workers", "this server"), ("signals", "1 signal kept"),
            ):  # fmt: skip
                page.goto(f"{server.url}/#/{place}")
                page.get_by_text(there).first.wait_for()
                page.wait_for_timeout(300)
                assert page.evaluate(NAMELESS) == [], place
                assert page.evaluate("document.documentElement.scrollWidth") <= 390, place
                assert page.evaluate(FAINT) == [], f"{place} in {scheme}"


NAMELESS = """() => [
  ...document.querySelectorAll('button, a, input, select, textarea, [role=button]'),
].filter((one) => {
  const label = one.labels?.length ? [...one.labels].map((each) => each.textContent).join('') : '';
  return one.getClientRects().length && !(one.getAttribute('aria-label') || label || one.textContent).trim();
}).map((one) => one.outerHTML)"""
"""The controls that have no name for a screen reader."""

FAINT = """() => {
  const canvas = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
  const rgb = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return canvas.getImageData(0, 0, 1, 1).data;
  };
  const line = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  const light = (color) => [...color].slice(0, 3).map((c) => line(c / 255))
    .reduce((sum, c, n) => sum + c * [0.2126, 0.7152, 0.0722][n], 0);
  const ground = (one) => {
    for (let at = one; at; at = at.parentElement) {
      const color = rgb(getComputedStyle(at).backgroundColor);
      if (color[3] > 250) return color;
    }
    return rgb('white');
  };
  return [...document.querySelectorAll('main *, header *')].filter((one) => {
    const text = [...one.childNodes].some((each) => each.nodeType === 3 && each.textContent.trim());
    if (!text || !one.getClientRects().length || one.disabled || one.closest('[disabled]')) return false;
    const [a, b] = [light(rgb(getComputedStyle(one).color)), light(ground(one))].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05) < 4.5;
  }).map((one) => `${one.tagName} ${one.className} ${one.textContent.slice(0, 30)}`);
}"""
"""Text whose contrast is below 4.5 to 1 (WCAG 2.2, relative luminance)."""


def test_a_playbook_says_what_it_is_for(server: Listener, page: "Page") -> None:
    evil = "<img src=x onerror=document.title=1> loads orders"
    server.register(
        HEAD.replace("path: t/t", f'path: t/t, description: "{evil}", owner: data team')
        + "workflow:\n  - {step: start, tool: {kind: noop}}\n"
    )
    page.goto(f"{server.url}/#/playbooks/t%2Ft")
    page.get_by_text(evil, exact=True).wait_for()
    page.get_by_text("owner: data team", exact=True).wait_for()
    assert page.locator("main .about img").count() == 0


def test_a_playbook_is_registered_from_a_file(server: Listener, page: "Page") -> None:
    page.goto(server.url)
    page.get_by_text(f"noetl start PATH --server {server.url}").wait_for()
    page.get_by_role("main").get_by_role("link", name="Playbooks").click()
    page.get_by_text(f"noetl register FILE --server {server.url}").wait_for()
    source = f"{HEAD}workflow: [{{step: start, tool: {{kind: fail, code: no.luck, message: none}}}}]\n".encode()
    chooser = page.get_by_label("File of a playbook")
    chooser.set_input_files({"name": "wrong.yaml", "mimeType": "text/yaml", "buffer": b"workflow: 1\n"})
    page.locator(".problem[role=alert]", has_text="workflow").wait_for()
    chooser.set_input_files({"name": "mine.yaml", "mimeType": "text/yaml", "buffer": source})
    page.get_by_role("heading", name="t/t").wait_for()
    page.get_by_text("mine.yaml").wait_for()
    failed = server.start("t/t")
    until(lambda: server.api.get(f"/executions/{failed}/row").json()["ended"] is not None)
    again = server.api.post(f"/executions/{failed}/rerun", json={}).raise_for_status().json()["execution_id"]
    until(lambda: server.api.get(f"/executions/{again}/row").json()["ended"] is not None)
    page.goto(f"{server.url}/#/executions")
    row = page.locator("tbody tr", has=page.locator(f"[title='a rerun of {failed}']"))
    row.locator(".now", has_text="no.luck").wait_for()
