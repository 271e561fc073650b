"""Which servers a worker asks: those it was told of, and else only what is on this machine."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from noetl.app.worker_cache import WorkerCache
from noetl.needs import HERE
from noetl.ports import StoreFailure
from noetl_ir.commands import Serving

HOSTILE = [
    "http://noetl.example:8080",
    "https://127.0.0.1.example",
    "http://[",
    "http://",
    "",
    "http://169.254.169.254",
]


@contextmanager
def listening() -> Iterator[tuple[str, list[str]]]:
    """A server that knows nothing: its URL, and the paths that it was asked for, each with the token that came."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(f"{self.path} {self.headers.get('authorization')}")
            self.send_error(404)

        def log_message(self, *words: object) -> None:
            """Nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()
        thread.join()


def answer_of(cache: WorkerCache) -> str:
    """What a worker is told when it asks for a plan that nobody has."""
    with pytest.raises(StoreFailure) as refused:
        cache.program("d" * 64, HERE)
    return str(refused.value)


@pytest.mark.parametrize("url", HOSTILE)
def test_an_announcement_of_another_machine_is_told_and_not_followed(url: str) -> None:
    with closing(WorkerCache(())) as cache:
        cache.hear(Serving(url))
        said = answer_of(cache)
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
        said = answer_of(cache)
    assert f"{named} does not have the plan" in said and f"says that it is at {other}" in said
    assert asked == [f"/plans/{'d' * 64} Bearer canary"] and by_other == []


def test_the_next_of_those_named_is_asked_where_the_first_is_away() -> None:
    with (
        listening() as (there, asked),
        closing(WorkerCache(("http://127.0.0.1:9", there))) as cache,
    ):
        assert there in answer_of(cache)
    assert len(asked) == 1
