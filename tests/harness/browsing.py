"""A real Chromium, and a real server beside it that listens on a port."""

import contextlib
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

import httpx

from noetl.api.bearer_tokens import BearerToken
from noetl.api.compiling import compiled_source
from noetl.api.listening import Listening
from noetl.api.people import People
from noetl.api.serving import ServingCallbacks, serve
from noetl.app.runtime import Runtime, Settings, open_runtime
from noetl.app.sessions import sessions_beside
from noetl.clients.compiler import compile_source
from noetl_ir.plan_sources import write_sources

if TYPE_CHECKING:
    import uvicorn
    from playwright.sync_api import Browser, Page


CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
WORDS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip

COUNT = "() => { let sum = 0; for (let at = 0; at < 2e7; at += 1) sum = (sum * 31 + at) % 1000003; return sum; }"
"""Counts to twenty million."""


class Listener(NamedTuple):
    """A server that listens: its URL, its API, and what is behind it."""

    url: str
    api: httpx.Client
    runtime: Runtime

    def register(self, source: str) -> dict[str, str]:
        """Register a playbook; its row in the catalogue."""
        response = self.api.post("/playbooks?name=t.yaml", content=source.encode())
        assert response.status_code == 201, response.text
        return dict(response.json())

    def register_family(self, source: str, *children: str) -> dict[str, str]:
        """Register a playbook that was compiled elsewhere, with these children in it, and the sources of all."""
        with TemporaryDirectory() as folder:
            for number, child in enumerate(children):
                Path(folder, f"child{number}.yaml").write_text(child)
            made = compile_source(source.encode(), "t.yaml", [Path(folder)])
        response = self.api.post("/playbooks", content=write_sources(made.sources, made.plan))
        assert response.status_code == 201, response.text
        return dict(response.json())

    def start(self, path: str, **payload: object) -> str:
        """Start one; its execution."""
        response = self.api.post("/executions", json={"path": path, "payload": payload})
        assert response.status_code == 201, response.text
        return str(response.json()["execution_id"])


@contextlib.contextmanager
def listening(
    folder: Path, *tokens: BearerToken, secret: str = "", port: int = 0, people: People | None = None
) -> Iterator[Listener]:
    """A server over the store in a folder, on a port of its own or on one that it had."""
    ready, said = threading.Event(), list[str]()

    def heard(url: str) -> None:
        said.append(url)
        ready.set()

    with open_runtime(f"sqlite:///{folder}/noetl.db", Settings(root=folder), _no_catalogue) as runtime:
        lines = ServingCallbacks(lambda text: None, heard)
        where = Listening("127.0.0.1", port, lambda: tokens, people=people)
        thread = threading.Thread(
            target=serve,
            args=(runtime, where, lambda data, name: compiled_source(data, name, ()), lines),
            kwargs={"sessions": sessions_beside(runtime.secrets_path)},
        )
        # Signals are for the main thread. Nor is its end asked for by the API: who asks there may be no admin.
        with _no_signals() as stop:
            thread.start()
            assert ready.wait(60)
        head = {"authorization": f"Bearer {secret}"} if secret else {}
        with httpx.Client(base_url=said[0], headers=head, timeout=60) as api:
            try:
                yield Listener(said[0], api, runtime)
            finally:
                stop()
                thread.join(60)
                assert not thread.is_alive(), "its thread would keep this process from its end"


@contextlib.contextmanager
def _no_signals() -> "Iterator[Callable[[], None]]":
    """Has the next server know of no signals; what is given stops it as they would."""
    from noetl.api import serving

    known: list[tuple[uvicorn.Server, Callable[[bool], None]]] = []

    @contextlib.contextmanager
    def none(server: "uvicorn.Server", ended: Callable[[bool], None]) -> Iterator[None]:
        known.append((server, ended))
        yield

    def stop() -> None:
        for server, ended in known:
            ended(True)  # as the second signal: at once
            server.should_exit = True

    before, serving.stopped_by_signals = serving.stopped_by_signals, none
    try:
        yield stop
    finally:
        serving.stopped_by_signals = before


@contextlib.contextmanager
def chromium() -> Iterator["Browser"]:
    """The browser of the machine."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=[*WORDS])
        try:
            yield browser
        finally:
            browser.close()


@contextlib.contextmanager
def page_of(browser: "Browser", **options: object) -> Iterator["Page"]:
    """A new page without cookies. Errors of its scripts, and what its policy refused, fail the test."""
    context = browser.new_context(**options)  # type: ignore[arg-type]
    page = context.new_page()
    wrong: list[str] = []
    page.set_default_timeout(60_000)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    # What the browser says of responses such as 401 is no error of the page.
    page.on(
        "console",
        lambda said: (
            wrong.append(said.text) if said.type == "error" and "Failed to load resource" not in said.text else None
        ),
    )
    try:
        yield page
        assert not wrong, wrong
    finally:
        context.close()


class Costs:
    """Processor time and layouts of the page."""

    def __init__(self, page: "Page") -> None:
        self._page = page
        self._session = page.context.new_cdp_session(page)
        self._session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def of(self, script: str, *words: int) -> tuple[float, float]:
        """Seconds of its processor, whatever else the machine does, and layouts that a script takes."""
        before = self._used()
        self._page.evaluate(script, [*words])
        after = self._used()
        return after["TaskDuration"] - before["TaskDuration"], after["LayoutCount"] - before["LayoutCount"]

    def _used(self) -> dict[str, float]:
        found = self._session.send("Performance.getMetrics")["metrics"]
        return {str(one["name"]): float(one["value"]) for one in found}


def _no_catalogue(path: Path) -> bytes:
    raise AssertionError(f"{path} is compiled")
