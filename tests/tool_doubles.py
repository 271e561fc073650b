"""Stand-ins for tests of tools: an environment, a call with defaults, HTTP servers, and the processes."""

import asyncio
import json
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, TypeVar

from noetl.ports import ToolCall
from noetl_ir.expr import Json
from noetl_ir.outcome import Outcome

_T = TypeVar("_T")


class FakeEnv:
    """An `Env` with a folder, credentials from a mapping, and the lines that were logged."""

    def __init__(self, root: Path, credentials: Mapping[str, dict[str, Json]] | None = None) -> None:
        self._root = root
        self.credentials = dict(credentials or {})
        self.lines: list[str] = []
        self.output_bytes: defaultdict[str, bytes] = defaultdict(bytes)
        self._line: defaultdict[str, bytes] = defaultdict(bytes)
        self.kept: dict[str, Json] = {}
        self.fenced: Callable[[str], str | None] | None = None
        self.installs = True
        self.traced = ""

    async def credential(self, name: str) -> dict[str, Json]:
        if name not in self.credentials:
            raise KeyError(f"there is no credential {name!r}")
        return self.credentials[name]

    async def met(self, compute: Callable[[], _T]) -> _T:
        return compute()

    def traceparent(self) -> str:
        return self.traced

    def root(self) -> str:
        return str(self._root)

    def fence(self) -> Callable[[str], str | None] | None:
        return self.fenced

    def may_install(self) -> bool:
        return self.installs

    def holds_secret(self, text: str) -> bool:
        values = (value for fields in self.credentials.values() for value in fields.values())
        return any(isinstance(value, str) and len(value) >= 8 and value in text for value in values)

    def stored(self, reference: Mapping[str, Json]) -> Json:
        return self.kept[str(reference.get("key"))]

    def log(self, text: str) -> None:
        self.lines.append(text)

    def output(self, stream: str, data: bytes, *, told: bool = False) -> None:
        self.output_bytes[stream] += data
        if told:
            *lines, self._line[stream] = (self._line[stream] + data).split(b"\n")
            if not data and self._line[stream]:
                lines.append(self._line.pop(stream))
            self.lines += [line.decode("utf-8", "replace") for line in lines]


def call_of(
    kind: str,
    fields: dict[str, Json],
    *,
    args: dict[str, Json] | None = None,
    knobs: dict[str, Json] | None = None,
    timeout: Json = None,
    scope: dict[str, Json] | None = None,
) -> ToolCall:
    """A call of a kind, its first attempt."""
    return ToolCall("e1", "step", "task", kind, fields, args or {}, knobs or {}, timeout, "act-1", 1, scope or {})


def waited(coroutine: Coroutine[Any, Any, _T]) -> _T:
    """The result of a coroutine in a loop of its own."""
    return asyncio.run(coroutine)


def failed(outcome: Outcome) -> dict[str, Json]:
    """The error of an outcome that must be one."""
    assert outcome.status == "error" and outcome.error is not None, outcome
    return outcome.error


async def cancelled(coroutine: Coroutine[Any, Any, Outcome], begun: Callable[[], bool]) -> None:
    """Start a tool, wait until it has `begun`, cancel it and wait until it has let go."""
    task = asyncio.ensure_future(coroutine)
    async with asyncio.timeout(20):
        while not begun():
            assert not task.done(), task.result()
            await asyncio.sleep(0.005)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        return
    raise AssertionError("the tool swallowed its cancellation")


def processes() -> dict[int, tuple[int, str]]:
    """All live processes: parent and command line by number."""
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
                words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:  # it ended meanwhile
                continue
            if state != "Z":
                found[int(folder.name)] = (int(parent), words)
    return found


def running(mark: str) -> list[int]:
    """The live processes that have a mark in their command line."""
    return [number for number, (_, words) in processes().items() if mark in words]


def gone(mark: str) -> bool:
    """Whether within some seconds no process with the mark is left."""
    for _ in range(500):
        if not running(mark):
            return True
        time.sleep(0.01)
    return False


def ended(number: int) -> bool:
    """Whether within some seconds a process is gone."""
    for _ in range(500):
        if number not in processes():
            return True
        time.sleep(0.01)
    return False


class JsonHandler(BaseHTTPRequestHandler):
    """Answers in JSON, and says nothing about requests."""

    def log_message(self, *words: object) -> None:
        """Nothing is said."""

    def respond(self, value: object, status: int = 200, **headers: str) -> None:
        """Send a value, with further headers."""
        data = json.dumps(value).encode()
        self.send_response(status)
        for name, text in {**headers, "content-type": "application/json", "content-length": str(len(data))}.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(data)


@contextmanager
def http_server(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """The address of a server that answers with a handler."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # clients that hang up are the point
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
