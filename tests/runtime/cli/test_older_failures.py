"""Failures in older playbooks, with real tools: which arc takes them (REAL.md, flow), as written and as migrated."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING

import pytest

from older_runs import results_of
from tool_doubles import http_server

if TYPE_CHECKING:
    from conftest import Home


class Refusing(BaseHTTPRequestHandler):
    """Answers 404."""

    def log_message(self, *words: object) -> None:
        """Nothing is said about requests."""

    def do_GET(self) -> None:
        self.send_response(404)
        self.send_header("content-length", "0")
        self.end_headers()


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with http_server(Refusing) as here:
        yield here


def _fails(arcs: str, rest: str = "") -> str:
    """A step that fails, with those arcs; `other` is where a success would lead."""
    tool = "tool: {kind: python, code: \"raise ValueError('no room')\"}"
    other = "{step: other, tool: {kind: noop, result: other}}"
    return f"workflow:\n  - step: start\n    {tool}\n{rest}    next: {{arcs: {arcs}}}\n  - {other}\n"


_CAUGHT = """    case:
      - when: "{{ event.name == 'call.error' }}"
        then: [{keep: {tool: {kind: shell, command: echo kept}}}]
"""
CASES = {
    "a status": (_fails("[{step: fin, when: \"{{ output.status == 'error' }}\"}, {step: other}]"), [{}, {}]),
    "not ok, before what is for a success": (
        _fails(
            "[{step: other, when: \"{{ output.status == 'ok' }}\"}, {step: fin, when: \"{{ output.status != 'ok' }}\"}]"
        ),
        [{}, {}],
    ),
    "an error, which the arc gives on and sets": (
        _fails(
            '[{step: fin, when: "{{ output.error != None }}", args: {why: "{{ output.error.message }}"},'
            ' set: {ctx.status: "{{ output.status }}"}}, {step: other}]'
        ),
        [{"why": "no room"}, {"status": "error"}],
    ),
    "a status of http": (
        """
workflow:
  - step: start
    tool: {kind: http, method: GET, url: URL}
    next:
      arcs:
        - {step: fin, when: "{{ output.http.status == 404 }}", args: {kind: "{{ output.error.kind }}"}}
        - step: other
  - {step: other, tool: {kind: noop, result: other}}
""",
        [{"kind": "not_found"}, {}],
    ),
    "an error that a rule lets pass, with a task behind it": (
        _fails("[{step: fin, when: \"{{ output.status == 'error' }}\"}, {step: other}]", _CAUGHT),
        [{}, {}],
    ),
    "an error that an empty rule takes": (
        _fails(
            "[{step: fin, when: \"{{ output.status == 'error' }}\"}, {step: other}]",
            "    case: [{when: \"{{ event.name == 'call.error' }}\", then: []}]\n",
        ),
        [{}, {}],
    ),
    "a status where the step may be skipped": (
        """
workflow:
  - step: start
    when: true
    tool: {kind: noop, result: {ready: false}}
    poll: {until: "{{ result.ready }}", interval: 0.01, max_attempts: 1}
    next:
      arcs:
        - {step: other, when: "{{ output.status == 'ok' }}"}
        - {step: fin, when: "{{ output.status == 'error' }}", args: {code: "{{ output.error.code }}"}}
  - {step: other, tool: {kind: noop, result: other}}
""",
        [{"code": "poll.exhausted"}, {}],
    ),
    "a skipped step leads on by a rule that reads the answer": (
        """
workflow:
  - step: start
    when: false
    retry: {max_attempts: 2, initial_delay: 0.01}
    tool: {kind: http, method: GET, url: URL}
    case: [{else: [{next: [{step: fin, args: {n: "{{ response.n | default(0) }}"}}]}]}]
""",
        [{"n": 0}, {}],
    ),
}


@pytest.mark.parametrize("about", CASES)
def test_an_arc_that_asks_for_a_failure_takes_it(home: "Home", url: str, about: str) -> None:
    text, expected = CASES[about]
    assert results_of(home, text.replace("URL", url)) == [expected, expected]


_SECOND_RUN_FAILS = """
workflow:
  - step: start
    tool:
      kind: python
      args: {seen: "{{ vars.seen | default(0) }}"}
      code: |
        if seen: raise ValueError('no more')
        result = {'k': 41}
    next: {arcs: ARCS}
  - step: again
    tool: {kind: python, code: "result = {'seen': 1}"}
    vars: {seen: "{{ result.seen }}"}
    next: start
"""
_READS = {
    "result": ("", '"{{ result.k | default(0) }}"'),
    "response": ("", '"{{ response.k | default(0) }}"'),
    "output.data": ("", '"{{ output.data.k | default(0) }}"'),
    "this.data, where errors and successes go one way": ("or this.data.k == 42", '"{{ this.data.k | default(0) }}"'),
}


@pytest.mark.parametrize("about", _READS)
@pytest.mark.parametrize("set_by_arc", [False, True])
def test_a_second_run_that_fails_has_no_result_in_its_arcs(home: "Home", about: str, set_by_arc: bool) -> None:
    also, value = _READS[about]
    word = f"set: {{ctx.x: {value}}}" if set_by_arc else f"args: {{x: {value}}}"
    arcs = f"[{{step: fin, when: \"{{{{ output.status == 'error' {also} }}}}\", {word}}}, {{step: again}}]"
    expected = [{}, {"seen": 1, "x": 0}] if set_by_arc else [{"x": 0}, {"seen": 1}]
    assert results_of(home, _SECOND_RUN_FAILS.replace("ARCS", arcs)) == [expected, expected]


def test_the_name_of_a_step_is_its_latest_run_that_went_well(home: "Home") -> None:
    arcs = '[{step: fin, when: "{{ output.status == \'error\' }}", args: {x: "{{ start.k }}"}}, {step: again}]'
    expected = [{"x": 41}, {"seen": 1}]
    assert results_of(home, _SECOND_RUN_FAILS.replace("ARCS", arcs)) == [expected, expected]
