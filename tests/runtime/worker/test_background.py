"""What takes long is done beside the worker: nobody else waits, and what was fetched is kept until it was used."""

import gc
import threading
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from harness.running import run
from noetl.background import BackgroundFetches, Held, Pending
from noetl.ports import StoreFailure, StoreRefused
from services import waited_for
from tool_doubles import http_server


def asked(fetches: BackgroundFetches, held: Held, *keys: str, **work: Any) -> list[object] | None:
    """What one who needs several things gets; None as long as something is on its way."""
    fetches.serve(held)
    try:
        return [fetches.brought(key, work[key]) for key in keys]
    except Pending:
        return None


def test_each_asking_gets_further_than_the_one_before() -> None:
    fetches, held, calls = BackgroundFetches(2), Held(), list[str]()
    work = {key: (lambda key=key: calls.append(key) or key.upper()) for key in "abc"}  # type: ignore[func-returns-value, misc]
    found: list[list[object]] = []

    def is_through() -> bool:
        got = asked(fetches, held, "a", "b", "c", **work)
        found.extend([got] if got is not None else [])
        return got is not None

    waited_for(is_through, "it never gets through")
    assert found == [["A", "B", "C"]] and calls == ["a", "b", "c"]


def test_who_asks_for_the_same_meanwhile_has_the_same() -> None:
    fetches, calls, gate = BackgroundFetches(4), SimpleQueue[int](), threading.Event()

    def work() -> int:
        calls.put(1)
        gate.wait(30)
        return 7

    holders = [Held() for _ in range(5)]
    assert [asked(fetches, held, "k", k=work) for held in holders] == [None] * 5
    gate.set()
    for held in holders:
        waited_for(lambda held=held: asked(fetches, held, "k", k=work) == [7], "it never comes")
    assert calls.qsize() == 1


def test_a_store_that_fails_is_tried_again_and_one_that_refuses_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noetl.background.FIRST_PAUSE", 0.001)
    fetches, held, failures = BackgroundFetches(1), Held(), [StoreFailure("away"), StoreFailure("still away")]

    def work() -> str:
        if failures:
            raise failures.pop()
        return "here"

    def is_here() -> bool:
        fetches.look()
        return asked(fetches, held, "k", k=work) == ["here"]

    waited_for(is_here, "it is never tried again")
    assert held["k"].problem == "away"

    def refused() -> str:
        raise StoreRefused("never")

    with pytest.raises(StoreRefused, match="never"):
        waited_for(lambda: asked(fetches, held, "r", r=refused), "it is never refused")


def test_what_nobody_waits_for_any_more_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noetl.background.FIRST_PAUSE", 0.001)
    fetches, calls = BackgroundFetches(1), list[int]()

    def fails() -> None:
        calls.append(1)
        raise StoreFailure("away")

    held = Held()
    asked(fetches, held, "k", k=fails)
    waited_for(lambda: held["k"].problem, "it is never tried")
    held.clear()
    fetches.serve({})
    gc.collect()
    known = len(calls)
    fetches.look()
    other = Held()
    waited_for(lambda: asked(fetches, other, "next", next=lambda: 1), "nothing else is done")
    assert len(calls) == known


SLOW = """
workflow:
- step: start
  next: {spec: {mode: inclusive}, arcs: [{step: secret}, {step: other}]}
- {step: secret, tool: {kind: playbook, path: t/secret, args: {url: "{{ workload.url }}"}}}
- step: other
  tool: [{name: one, kind: shell, command: "touch one"}, {name: two, kind: shell, command: "touch two"}]
---
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: secret, path: t/secret}
keychain:
- {name: slow, kind: oauth2, token_url: "{{ workload.url }}", client_id: me, client_secret_env: SLOW_SECRET}
workflow:
- {step: start, tool: %s}
"""


@pytest.mark.parametrize(
    "tool",
    [
        '{kind: shell, command: printenv S, env: {S: "{{ keychain.slow.token }}"}}',
        "{kind: python, auth: slow, code: 'result = auth[\"token\"]'}",
    ],
)
def test_others_go_on_while_a_token_is_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: str) -> None:
    """The server gives the token once what runs beside is done: whoever waited for it there would wait for ever."""
    monkeypatch.setenv("SLOW_SECRET", "a long enough secret")

    class Slow(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            waited_for(lambda: (tmp_path / "two").exists(), "nothing goes on meanwhile", seconds=9)
            body = b'{"access_token": "the token that was slow", "expires_in": 0}'
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with http_server(Slow) as url:
        ran = run(
            SLOW % tool, payload={"url": url}, url=f"sqlite:///{tmp_path}/x.db", real=True, root=tmp_path, slots=4
        )
    assert ran.status == "completed", ran.execution.failure
    assert "[[secret:slow:" in str(ran.result("secret"))
