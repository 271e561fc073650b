"""The list of executions, in a browser."""

import contextlib
import re
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import httpx

from harness.browsing import Listener, listening, page_of
from harness.running import HEAD
from harness.serving import until
from noetl.api.bearer_tokens import ROLES, BearerToken, digest_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

WAITS = "workflow: [{step: start, tool: {name: w, kind: wait, events: [go]}}]\n"
EVIL = '<img src=x onerror="document.title=1">"\'`${1}&amp;'
TOKENS = [BearerToken(role, role, digest_of(f"secret-{role}")) for role in ROLES]


def rows(page: "Page") -> list[str]:
    return page.locator("tbody tr:not(.space)").all_inner_texts()


def test_executions_come_go_and_are_found_without_a_reload(server: Listener, page: "Page") -> None:
    server.register(HEAD + WAITS)
    page.goto(server.url)
    page.get_by_text("Nothing has run yet").wait_for()
    name = server.start("t/t")
    page.get_by_role("link", name="t/t").wait_for()
    page.get_by_text("waits for signal go").wait_for()
    server.api.post(f"/executions/{name}/signal", json={"name": "go"})
    page.locator("td .badge.completed").wait_for()
    page.get_by_role("button", name="failed").click()
    page.get_by_text("No execution is like that.").wait_for()
    assert page.url.endswith("#/executions?status=failed")
    page.reload()
    page.get_by_text("No execution is like that.").wait_for()
    assert page.get_by_role("button", name="failed").get_attribute("aria-pressed") == "true"
    page.go_back()
    page.get_by_role("link", name="t/t").wait_for()
    page.keyboard.press("/")
    page.keyboard.type("nothing")
    page.get_by_text("No execution is like that.").wait_for()
    page.get_by_role("searchbox").fill(name[:12])
    page.get_by_role("link", name="t/t").wait_for()


def test_many_are_signalled_and_cancelled_at_once(server: Listener, page: "Page") -> None:
    server.register(HEAD + WAITS)
    for _ in range(5):
        server.start("t/t")
    page.goto(server.url)
    page.get_by_role("checkbox", name="Select t/t").nth(4).wait_for()
    for number in range(2):
        page.get_by_role("checkbox", name="Select t/t").nth(number).check()
    page.get_by_role("button", name="Signal…").click()
    page.get_by_label("Name").fill("go")
    page.get_by_label("Data (JSON)").fill("{x")
    page.get_by_role("button", name="Send").click()
    page.get_by_role("alert").get_by_text("The data is no JSON").wait_for()
    page.get_by_label("Data (JSON)").fill('{"x": 1}')
    page.get_by_role("button", name="Send").click()
    page.locator("td .badge.completed").nth(1).wait_for()
    page.get_by_role("checkbox", name="Select all").check()
    page.get_by_text("5 executions selected").wait_for()
    page.get_by_role("button", name="Cancel…").click()
    page.get_by_text("Cancel 3 executions?").wait_for()
    page.get_by_role("button", name="Cancel them").click()
    page.locator("td .badge.cancelled").nth(2).wait_for()


def ended(folder: Path, count: int) -> None:
    """Have so many executions that are over in the store of a folder."""
    with closing(sqlite3.connect(folder / "noetl.db")) as there, there:
        there.executemany(
            "INSERT INTO executions (execution_id, playbook, plan_digest, status, started, ended)"
            " VALUES (?, ?, 'd', 'completed', ?, ?)",
            [(f"{n:019}", f"shop/{n}", n * 1_000_000, n * 1_000_000 + 5) for n in range(count)],
        )


def test_ten_thousand_are_scrolled_through(server: Listener, page: "Page", tmp_path: Path) -> None:
    ended(tmp_path, 10_000)
    page.goto(server.url)
    page.get_by_role("link", name="shop/9999").wait_for()
    began = time.monotonic()
    while not page.get_by_role("link", name="shop/9800", exact=True).count():
        page.mouse.wheel(0, 1_000)  # less than is drawn at once
        page.wait_for_timeout(30)
        assert time.monotonic() - began < 120
        assert len(rows(page)) < 80, "only what can be seen is drawn"
    page.get_by_role("checkbox", name="Select all").check()
    page.get_by_role("button", name="Select all that match").click()
    page.get_by_text("10,000 executions selected").wait_for()
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    page.get_by_role("link", name="shop/0", exact=True).wait_for()
    middle = page.evaluate(  # the median: the machine may have other things to do
        """async () => {
          const took = [];
          for (let at = 0; at < 40; at += 1) {
            scrollTo(0, at * 9000);
            const began = performance.now();
            document.dispatchEvent(new Event('scroll'));
            await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
            took.push(performance.now() - began);
          }
          return took.sort((a, b) => a - b)[20];
        }"""
    )
    assert middle < 200


PLACES = {
    "executions": "tbody tr a", "executions?status=completed": "tbody tr a", "executions?text=shop/77": "tbody tr a",
    "executions/ID": ".lane", "playbooks": ".catalogue a", "playbooks/t%2Ft": ".listing", "workers": ".pool li",
}  # fmt: skip
"""Views, and what is there once somebody can read them."""

OPEN = """async ([place, what]) => {
  const began = performance.now();
  location.hash = `#/${place}`;
  for (;;) {
    await new Promise((done) => requestAnimationFrame(done));
    if (document.querySelector(`#main ${what}`)?.getClientRects().length) return performance.now() - began;
  }
}"""


def test_every_view_is_there_in_200_ms_beside_ten_thousand(server: Listener, page: "Page", tmp_path: Path) -> None:
    server.register(HEAD + WAITS)
    name = server.start("t/t")
    ended(tmp_path, 10_000)
    page.goto(server.url)
    page.locator("tbody tr a").first.wait_for()
    for place, what in PLACES.items():
        took = []
        for _ in range(6):
            page.goto(f"{server.url}/#/nowhere")
            page.get_by_text("There is nothing at this address.").wait_for()
            took.append(page.evaluate(OPEN, [place.replace("ID", name), what]))
        assert min(took) < 200, place  # the least: the machine may have other things to do


def test_all_are_selected_also_while_rows_are_on_their_way(server: Listener, page: "Page", tmp_path: Path) -> None:
    ended(tmp_path, 500)
    page.add_init_script(
        """
        const asked = window.fetch;
        window.fetch = async (url, given) => {
          if (url.includes('before=')) await new Promise((done) => setTimeout(done, 500));
          return asked(url, given);
        };
        """
    )
    page.goto(server.url)
    page.get_by_role("link", name="shop/499", exact=True).wait_for()
    page.get_by_role("checkbox", name="Select all").check()
    page.evaluate(
        """async () => {
          scrollTo(0, document.body.scrollHeight);
          document.dispatchEvent(new Event('scroll'));
          await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
          const buttons = [...document.querySelectorAll('.bar button')];
          buttons.find((one) => one.textContent === 'Select all that match').click();
        }"""
    )
    page.get_by_text("500 executions selected").wait_for()


def test_a_list_that_does_not_come_is_not_said_to_be_empty(server: Listener, page: "Page") -> None:
    page.add_init_script(
        """
        const look = () => { if (document.body?.innerText.includes('Nothing has run')) window.wrong = true; };
        new MutationObserver(look).observe(document, { subtree: true, childList: true, characterData: true });
        """
    )
    page.route("**/executions?*", lambda route: route.abort())
    page.goto(server.url)
    page.get_by_text("the server cannot be reached").wait_for()
    assert page.evaluate("window.wrong") is None


def test_counts_that_did_not_come_are_not_said_to_be_none(server: Listener, page: "Page") -> None:
    server.register(HEAD + WAITS)
    server.start("t/t")
    page.route(re.compile(r"/(executions\?|counts$)"), lambda route: route.abort())
    page.goto(server.url)
    page.get_by_text("the server cannot be reached").wait_for()
    chips = page.get_by_role("group", name="Status").get_by_role("button")
    assert [each.strip() for each in chips.all_inner_texts()] == [
        "all", "running", "paused", "blocked", "failed", "cancelled", "completed",
    ]  # fmt: skip
    page.unroute_all()
    chips.get_by_text("1", exact=True).first.wait_for()


def test_an_address_that_leads_nowhere_is_told(server: Listener, page: "Page") -> None:
    for place in ("nowhere", "executions/%E0%A4", "playbooks/%"):  # the last two are no UTF-8
        page.goto(f"{server.url}/#/workers")
        page.get_by_role("heading", name="Workers").wait_for()
        page.goto(f"{server.url}/#/{place}")
        page.get_by_text("There is nothing at this address.").wait_for()


def test_names_are_text_and_never_markup(server: Listener, page: "Page", tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "noetl.db")) as there, there:
        there.execute(
            "INSERT INTO executions (execution_id, playbook, plan_digest, status, started, ended, parent_execution_id)"
            " VALUES (?, ?, 'd', 'completed', 1, 2, ?)",
            (EVIL, EVIL, EVIL),
        )
    page.goto(server.url)
    page.get_by_role("link", name=EVIL).wait_for()
    assert page.title() == "Executions · noetl" and page.locator("main img").count() == 0


def test_a_token_signs_in_and_its_role_holds(browser: "Browser", tmp_path: Path) -> None:
    with listening(tmp_path, *TOKENS, secret="secret-admin") as server, page_of(browser) as page:
        server.register(HEAD + WAITS)
        server.start("t/t")
        page.goto(f"{server.url}/#/executions?status=running")
        page.get_by_label("Token").fill("wrong")
        page.keyboard.press("Enter")
        page.get_by_text("no such token is known here").wait_for()
        page.get_by_label("Token").fill("secret-viewer")
        page.keyboard.press("Enter")
        page.get_by_role("link", name="t/t").wait_for()
        assert page.get_by_role("checkbox", name="Select all").count() == 0, "a viewer changes nothing"
        assert "noetl" not in str(page.evaluate("document.cookie"))
        page.get_by_role("button", name="Sign out").click()
        page.get_by_label("Token").fill("secret-operator")
        page.keyboard.press("Enter")
        page.get_by_role("checkbox", name="Select all").wait_for()


def test_a_server_that_is_away_is_told_and_comes_back(browser: "Browser", tmp_path: Path) -> None:
    with page_of(browser) as page:
        with listening(tmp_path) as server:
            server.register(HEAD + WAITS)
            server.start("t/t")
            page.goto(server.url)
            page.get_by_role("link", name="t/t").wait_for()
            port = int(server.url.rpartition(":")[2])
        page.get_by_text("the server cannot be reached").wait_for()
        with listening(tmp_path, port=port):
            page.get_by_role("link", name="t/t").wait_for()
            page.get_by_text("the server cannot be reached").wait_for(state="hidden")


@contextlib.contextmanager
def behind_a_prefix(server: Listener, prefix: str) -> Iterator[str]:
    """A proxy that takes a prefix off; its URL. What is asked for outside of the prefix is not there."""

    class Proxy(BaseHTTPRequestHandler):
        def pass_on(self) -> None:
            if not self.path.startswith(prefix):
                self.send_error(404)
                return
            size = int(self.headers.get("content-length", 0))
            url = server.url + self.path.removeprefix(prefix.rstrip("/"))
            head = {name: text for name, text in self.headers.items() if name.lower() != "connection"}
            with httpx.stream(self.command, url, headers=head, content=self.rfile.read(size), timeout=60) as response:
                self.send_response(response.status_code)
                for name, text in response.headers.items():
                    if name not in ("transfer-encoding", "connection", "date", "server", "content-length"):
                        self.send_header(name, text)
                self.send_header("connection", "close")
                self.end_headers()
                for part in response.iter_raw():
                    self.wfile.write(part)
                    self.wfile.flush()

        do_GET = do_POST = pass_on

        def log_message(self, *_: object) -> None:
            pass

        def handle(self) -> None:
            with contextlib.suppress(OSError, httpx.HTTPError):  # the browser, or the server, went away
                super().handle()

    with ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as proxy:
        proxy.daemon_threads = True
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{proxy.server_port}{prefix}"
        finally:
            proxy.shutdown()


def test_it_works_behind_a_prefix(browser: "Browser", tmp_path: Path) -> None:
    with (
        listening(tmp_path, *TOKENS, secret="secret-admin") as server,
        behind_a_prefix(server, "/ops/noetl/") as url,
        page_of(browser) as page,
    ):
        server.register(HEAD + WAITS)
        server.start("t/t")
        page.goto(url)
        page.get_by_label("Token").fill("secret-operator")
        page.keyboard.press("Enter")
        page.get_by_role("link", name="t/t").click()
        page.get_by_role("button", name="Step start: waiting").wait_for()  # its picture, its states
        page.get_by_role("button", name="Signal…").click()
        page.get_by_role("button", name="Send").click()
        page.locator(".head .badge.completed").wait_for()  # by the stream of events
        page.get_by_role("button", name="Start again…").click()
        page.get_by_role("button", name="Start", exact=True).click()
        page.get_by_role("button", name="Step start: waiting").wait_for()
        page.reload()
        page.get_by_role("button", name="Step start: waiting").wait_for()
        page.get_by_role("link", name="Playbooks").click()
        page.get_by_role("link", name="t/t").click()
        page.locator(".verdicts li").first.wait_for()
        page.get_by_role("link", name="Workers").click()
        page.get_by_text("this server", exact=True).wait_for()
        assert page.url.startswith(url)


def test_a_query_finds_counts_and_what_it_shows_is_rerun(server: Listener, page: "Page") -> None:
    labelled = HEAD.replace("path: t/t", "path: t/t, labels: {team: data}")
    fails = "workflow: [{step: start, tool: {name: f, kind: fail, code: stock.empty, message: none left}}]\n"
    server.register(labelled + fails)
    for _ in range(2):
        server.start("t/t")
    server.register(HEAD.replace("t/t", "t/waits") + WAITS)
    server.start("t/waits")
    page.goto(f"{server.url}#/executions")
    search = page.get_by_role("searchbox")
    search.fill("error:stock.* label.team:data")
    page.get_by_role("link", name="t/waits").wait_for(state="detached")
    until(lambda: len(rows(page)) == 2)
    assert "query=error" in page.url
    search.fill("stats:failed")
    page.get_by_role("alert").get_by_text("did you mean `status`?").wait_for()
    search.fill("")
    page.get_by_role("link", name="t/waits").wait_for()
    assert page.get_by_role("alert").count() == 0
    page.get_by_role("combobox", name="Count by").select_option("error")
    page.get_by_role("group", name="Counts").get_by_role("button", name="(none) 1").wait_for()
    page.get_by_role("group", name="Counts").get_by_role("button", name="stock.empty 2").click()
    page.get_by_role("link", name="t/waits").wait_for(state="detached")
    assert search.input_value() == "error:stock.empty"
    page.get_by_role("button", name="team=data").first.click()
    until(lambda: search.input_value() == "error:stock.empty label.team:data")
    page.get_by_role("checkbox", name="Select all that are loaded").check()
    page.get_by_role("button", name="Rerun…").click()
    page.get_by_role("dialog").get_by_role("button", name="Rerun").click()
    page.get_by_role("dialog").wait_for(state="detached")
    search.fill("is:rerun")
    until(lambda: len(rows(page)) == 2)
