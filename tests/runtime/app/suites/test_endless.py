"""Scripted runs that go round and round are stopped soon, by what does not begin any more for the first time."""

import time
from pathlib import Path

import pytest

from harness.suites import case, failing, told

POLL = """
workflow:
  - step: start
    tool: {name: look, kind: http, url: "https://example.org"}
    next: {arcs: [{step: rest, when: "{{ not start.data }}"}]}
  - step: rest
    tool: {kind: noop}
    next: {arcs: [{step: start, spec: {delay: 10}}]}
"""
JUMP = """
workflow:
  - step: start
    tool:
      - name: look
        kind: http
        url: "https://example.org"
        spec:
          policy:
            rules:
              - when: "{{ outcome.result.data }}"
                then: {do: break}
              - else: {then: {do: jump, to: look}}
"""


@pytest.mark.parametrize("playbook", [POLL, JUMP], ids=["cycle", "jump"])
def test_an_endless_loop_is_stopped_in_a_moment_with_its_cause(tmp_path: Path, playbook: str) -> None:
    begun = time.process_time()
    outcomes = [{"step": "start", "outcome": {"result": False}}]
    done = told(tmp_path, case({"steps": []}, outcomes=outcomes), playbook=playbook)
    took = time.process_time() - begun
    message = failing(done)[0]
    assert message.startswith("it goes round and round, and was stopped after 3000 events in which nothing new began")
    assert "`start / look` was done" in message and "give it `times`" in message
    assert took < 5, took


def test_a_long_run_in_which_new_tasks_begin_goes_on(tmp_path: Path) -> None:
    playbook = """
workflow:
  - step: start
    loop: {in: "{{ range(1200) }}", iterator: n}
    tool: {kind: noop, result: "{{ n }}"}
"""
    assert told(tmp_path, case({"status": "completed"}), playbook=playbook).returncode == 0


def test_the_limit_is_the_authors(tmp_path: Path) -> None:
    outcomes = [
        {"step": "start", "times": 40, "outcome": {"result": False}},
        {"step": "start", "outcome": {"result": 1}},
    ]
    text = case({"status": "completed"}, outcomes=outcomes)
    assert told(tmp_path, text, playbook=POLL).returncode == 0
    text = case({"status": "completed"}, outcomes=outcomes, limits={"repeated": 100})
    assert "100 events in which nothing new began" in failing(told(tmp_path, text, playbook=POLL))[0]
