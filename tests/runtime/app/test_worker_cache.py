"""Which servers a worker asks: those it was told of, and else only what is on this machine."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from harness.running import compiled
from noetl.app.verifier import verifier
from noetl.app.worker_cache import WorkerCache
from noetl.ports import StoreFailure, StoreRefused
from noetl.ports.needs import HERE
from noetl.ports.output import OutputChunk
from noetl.server.children import NotFound
from noetl_ir import plan_format
from noetl_ir.orders import Serving
from noetl_ir.plan_format import digest_of

HOSTILE = [
    "http://noetl.example:8080",
    "https://127.0.0.1.example",
    "http://[",
    "http://",
    "",
    "http://169.254.169.254",
]


@contextmanager
def listening(plan: bytes = b"", verified: str = "") -> Iterator[tuple[str, list[str]]]:
    """A server that knows nothing but a plan, of which it says `verified`: its URL, and the paths that it was asked,
    each with the token that came.
    """
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(f"{self.path} {self.headers.get('authorization')}")
            if not plan:
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(plan)))
            self.send_header("X-Verified", verified)
            self.end_headers()
            self.wfile.write(plan)

        do_POST = do_GET

        def log_message(self, *words: object) -> None:
            """Nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()
        thread.join()


def first_reply(cache: WorkerCache) -> str:
    """The message to a worker that asks for a plan which nobody has."""
    with pytest.raises(StoreFailure) as refused:
        cache.program("d" * 64, HERE)
    return str(refused.value)


@pytest.mark.parametrize("url", HOSTILE)
def test_an_announcement_of_another_machine_is_told_and_not_followed(url: str) -> None:
    with closing(WorkerCache(())) as cache:
        cache.hear(Serving(url))
        said = first_reply(cache)
    assert said.startswith("no server is known: none of this machine announces itself on the bus")
    assert not url or f"name it with --server {url}" in said


def test_what_was_named_is_asked_and_no_announcement_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOETL_TOKEN", "canary")
    with (
        listening() as (named, asked),
        listening() as (other, by_other),
        closing(WorkerCache((named,))) as cache,
    ):
        cache.hear(Serving(other))
        said = first_reply(cache)
    assert f"{named} does not have the plan" in said and f"says that it is at {other}" in said
    assert asked == [f"/plans/{'d' * 64} Bearer canary"] and by_other == []


def test_the_next_of_those_named_is_asked_where_the_first_is_away() -> None:
    with (
        listening() as (there, asked),
        closing(WorkerCache(("http://127.0.0.1:9", there))) as cache,
    ):
        assert there in first_reply(cache)
    assert len(asked) == 1


PRINTED = [OutputChunk("e1", "s", 1, (), "t", 1, 1, 1, "stdout", 0, 0, "hello")]


def test_output_is_dropped_where_a_server_keeps_none_and_waits_for_one_that_is_away() -> None:
    with (
        listening() as (older, asked),
        closing(WorkerCache(("http://127.0.0.1:9", older))) as cache,
        pytest.raises(StoreRefused),
    ):
        cache.add_output(PRINTED)
    assert asked == ["/logs None"]
    with closing(WorkerCache(("http://127.0.0.1:9",))) as cache, pytest.raises(StoreFailure) as away:
        cache.add_output(PRINTED)
    assert not isinstance(away.value, StoreRefused)


PLAN = compiled("workflow: [{step: start, tool: {kind: noop}}]")


@pytest.mark.parametrize(
    ("said", "named", "times"), [("own", True, 0), ("own", False, 1), ("other", True, 1), ("", True, 1)]
)
def test_the_word_of_a_server_that_was_named_is_taken_for_the_same_checks(
    said: str, named: bool, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[object] = []
    monkeypatch.setattr(plan_format, "verify", lambda plan: seen.append(plan) or ())  # type: ignore[func-returns-value]
    with (
        listening(PLAN, verifier() if said == "own" else said) as (url, _),
        closing(WorkerCache((url,) if named else ())) as cache,
    ):
        cache.hear(Serving(url))
        assert cache.program(digest_of(PLAN), HERE).plan.steps[0].name == "start"
    assert len(seen) == times


def test_whatever_a_server_says_the_plan_is_the_one_that_was_ordered() -> None:
    altered = PLAN[:-1] + bytes([PLAN[-1] ^ 1])
    with listening(altered, verifier()) as (url, _), closing(WorkerCache((url,))) as cache:
        with pytest.raises(NotFound, match="altered"):
            cache.program(digest_of(PLAN), HERE)
        with pytest.raises(StoreFailure, match="another plan"):
            cache.program("d" * 64, HERE)
