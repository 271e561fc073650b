"""Slow work is done beside the worker: nobody else waits, and what was fetched is kept until it was used."""

import threading
import time
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from harness.running import run
from noetl.app.task_environment import TaskEnvironments
from noetl.ports import Blobs, StoreFailure, StoreRefused
from noetl.ports.needs import HERE, Needs, Waiting
from noetl.worker.background_fetches import BackgroundFetches
from noetl.worker.templates import render
from noetl_ir.evaluate import Fault, compile_template
from noetl_ir.outcome import is_reference
from noetl_ir.scopes.play import PlayScope
from noetl_ir.scopes.values import Reference, StepResult
from noetlc.expr.parser import parse_template
from services import waited_for
from tool_doubles import http_server


def loop_of(needs: Needs, *keys: str, **work: Any) -> Waiting[list[object]]:
    """One who needs several things."""

    async def ask() -> list[object]:
        return await needs.met(lambda: [needs.get(key, work[key]) for key in keys])

    return Waiting(ask())


def got(waiting: Waiting[list[object]], fetches: BackgroundFetches | None = None) -> list[object]:
    """The values that it ends with; the coroutine is driven when what it awaits is over, as by a worker."""

    def is_through() -> bool:
        if fetches is not None:
            fetches.retry_failed()
        return (waiting.awaited is None or waiting.awaited.is_over) and waiting.step()

    waited_for(is_through, "it never gets through")
    assert waiting.result is not None
    return waiting.result


def test_each_computation_gets_further_than_the_one_before() -> None:
    fetches, calls = BackgroundFetches(2), list[str]()
    work = {key: (lambda key=key: calls.append(key) or key.upper()) for key in "abc"}  # type: ignore[func-returns-value, misc]
    assert got(loop_of(fetches.needs(), "a", "b", "c", **work)) == ["A", "B", "C"] and calls == ["a", "b", "c"]


def test_who_asks_for_the_same_meanwhile_has_the_same() -> None:
    fetches, calls, gate = BackgroundFetches(4), SimpleQueue[int](), threading.Event()

    def work() -> int:
        calls.put(1)
        gate.wait(60)
        return 7

    waiting = [loop_of(fetches.needs(), "k", k=work) for _ in range(5)]
    assert not any(each.step() for each in waiting)
    gate.set()
    assert [got(each) for each in waiting] == [[7]] * 5
    assert calls.qsize() == 1


def test_a_store_that_fails_is_tried_again_and_one_that_refuses_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noetl.worker.background_fetches.FIRST_PAUSE", 0.001)
    fetches, failures = BackgroundFetches(1), [StoreFailure("away"), StoreFailure("still away")]

    def work() -> str:
        if failures:
            raise failures.pop()
        return "here"

    waiting = loop_of(fetches.needs(), "k", k=work)
    assert not waiting.step() and (fetch := waiting.awaited) is not None
    assert got(waiting, fetches) == ["here"] and fetch.problem == "away"

    def refused() -> str:
        raise StoreRefused("never")

    with pytest.raises(StoreRefused, match="never"):
        got(loop_of(fetches.needs(), "r", r=refused))


def test_what_nobody_waits_for_any_more_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noetl.worker.background_fetches.FIRST_PAUSE", 0.001)
    fetches, calls = BackgroundFetches(1), list[int]()

    def fails() -> None:
        calls.append(1)
        raise StoreFailure("away")

    needs = fetches.needs()
    waiting = loop_of(needs, "k", k=fails)
    assert not waiting.step()
    waited_for(lambda: waiting.awaited is not None and waiting.awaited.problem, "it is never tried")
    waiting.close()
    waiting.awaited = None
    needs.forget()
    known = len(calls)
    fetches.retry_failed()
    got(loop_of(fetches.needs(), "next", next=lambda: 1))
    assert len(calls) == known


SWALLOWING = [
    "{{ big.text | default('nothing') }}", "{{ big.text is defined }}", "{{ [big.text, 1] | length }}",
    "{{ (big.text | upper) ~ '!' }}", "{% if big.text %}{{ big.text }}{% else %}nothing{% endif %}",
    "{% for letter in [big.text] %}{{ letter }}{% endfor %}", "{{ 'yes' if big.text == 'x' * 300 else 'no' }}",
]  # fmt: skip


@pytest.mark.parametrize("text", SWALLOWING)
def test_whoever_swallows_that_a_value_is_not_here_yet_changes_nothing(text: str) -> None:
    """The value comes in the end; until then each expression ends in a fault, or goes on without it."""
    value: dict[str, Any] = {"text": "x" * 300}
    asked: list[_Later] = []

    def begin(key: object, work: Any) -> _Later:
        asked.append(_Later(work()))
        return asked[-1]

    def rendered(needs: Needs) -> object:
        scope = PlayScope({"big": StepResult(Reference({}, lambda: needs.get("big", lambda: value)))})
        try:
            return compile_template(parse_template(text).template, render)(scope)
        except Fault as fault:
            return fault

    async def ask(needs: Needs) -> object:
        return await needs.met(lambda: rendered(needs))

    at_once, waiting = Waiting(ask(HERE)), Waiting(ask(Needs(begin)))
    assert at_once.step() and not isinstance(at_once.result, Fault)
    assert [waiting.step() for _ in range(3)] == [False, False, False]
    asked[0].is_over = True
    assert waiting.step() and waiting.result == at_once.result and len(asked) == 1


class _Later:
    """A fetch that is over when a test says so."""

    problem = ""

    def __init__(self, value: object) -> None:
        self.is_over = False
        self._value = value

    def outcome(self) -> object:
        return self._value


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


class LateBlobs:
    """Blobs that take a while, as those of a server do for a worker elsewhere."""

    def __init__(self, blobs: Blobs, needs: Needs) -> None:
        self._blobs = blobs
        self._needs = needs
        self.check_room, self.close = blobs.check_room, blobs.close

    def put(self, execution_id: str, data: bytes) -> Any:
        return self._later(("put", data), lambda: self._blobs.put(execution_id, data))

    def get(self, reference: Mapping[str, Any]) -> bytes:
        return bytes(self._later(("get", reference["key"]), lambda: self._blobs.get(reference)))

    def _later(self, key: object, work: Callable[[], Any]) -> Any:
        def slow() -> object:
            time.sleep(0.02)
            return work()

        return self._needs.get(key, slow)


LATE = """
executor: {spec: {policy: {limits: {max_payload_bytes: 1000}}}}
workflow:
- step: start
  tool: {kind: python, code: "result = {'text': 'x' * 3000, 'n': 3}"}
  next: {arcs: [{step: reads}]}
- step: reads
  tool: %s
"""
READERS = [
    ("{kind: python, code: \"def main(start): return len(start['text'])\"}", 3000),
    ("{kind: python, code: \"def main(context): return context['start']['n']\"}", 3),
    ("{kind: python, args: {text: '{{ start.text }}'}, code: 'result = len(text)'}", 3000),
    ("{kind: noop, result: '{{ start.text | length }}'}", 3000),
    ("{kind: noop, result: '{% if start.text is defined %}{{ start.n }}{% endif %}'}", "3"),
    ("{kind: artifact, action: get, result_ref: '{{ ref(start) }}'}", None),
    (
        "{kind: noop, result: 1, spec: {policy: {rules: ["
        "{when: '{{ start.text | length == 3000 }}', then: {do: continue}}, {else: {then: {do: fail}}}]}}}",
        1,
    ),
]


@pytest.mark.parametrize(("tool", "result"), READERS)
def test_a_value_that_comes_later_is_read_wherever_one_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: str, result: object
) -> None:
    class Late(TaskEnvironments):
        def __init__(self, load: Any, blobs: Callable[[Needs], Blobs], **more: Any) -> None:
            super().__init__(load, lambda needs: LateBlobs(blobs(needs), needs), **more)  # type: ignore[arg-type, return-value]

    monkeypatch.setattr("noetl.app.composition.TaskEnvironments", Late)
    ran = run(LATE % tool, url=f"sqlite:///{tmp_path}/x.db", real=True, root=tmp_path)
    assert ran.status == "completed", ran.execution.failure
    assert [is_reference(event.data["result"]) for event in ran.of("task.done", "start")] == [True]
    assert result is None or ran.result("reads") == result
