"""Rows of what goes on: the round of what comes again, and the next attempt of what is tried again."""

from harness.running import run
from noetl.app.picture import rows_of
from noetl.engine.evolve import evolve
from noetl.engine.execution import Execution

POLL = """
workflow:
  - step: start
    tool:
      - until:
          when: "{{ iter.done }}"
          delay: 3
          max_iterations: 5
          then:
            - name: ask
              kind: http
              url: "http://x/"
              spec:
                policy:
                  rules:
                    - when: "{{ outcome.status == 'error' }}"
                      then: {do: retry, attempts: 3, delay: 2}
                    - else: {then: {do: continue, set_iter: {done: "{{ outcome.result.data.done }}"}}}
"""


WAIT = """
workflow:
  - {step: start, tool: {name: w, kind: wait, events: [go]}}
"""


def test_a_wait_whose_signal_has_come_says_so_until_a_worker_has_it() -> None:
    ran = run(WAIT, {"signals": [{"at": 5, "name": "go"}]})
    folded = Execution("e1", ran.program)
    told: list[str] = []
    for event in ran.log[:-2]:
        evolve(ran.program, folded, event)
        told += [row.text for row in rows_of(ran.program, folded) if row.what == "wait"]
    assert [*dict.fromkeys(told)] == [
        "waits for signal go", "what it waited for has come; a worker is to take it up"
    ]  # fmt: skip


def test_a_poll_says_its_round_and_a_retry_its_attempt() -> None:
    bad, wait, done = {"status": "error"}, {"result": {"done": False}}, {"result": {"done": True}}
    outcomes = [(1, 1, wait), (2, 1, bad), (2, 2, wait), (3, 1, done)]
    script = [{"step": "start", "visit": v, "attempt": a, "outcome": outcome} for v, a, outcome in outcomes]
    ran = run(POLL, {"outcomes": script})
    assert ran.status == "completed"
    folded = Execution("e1", ran.program)
    told: list[str] = []
    for event in ran.log[:-2]:
        evolve(ran.program, folded, event)
        told += [f"{row.place}: {row.text}" for row in rows_of(ran.program, folded) if "__" not in row.place]
    assert [line for line in dict.fromkeys(told) if line.startswith("start / ask") or "running" in line] == [
        "start: running ask",
        "start / ask: round 2",
        "start: running ask, round 2",
        "start / ask: round 2, attempt 2",
        "start: running ask, round 2, attempt 2",
        "start / ask: round 3",
        "start: running ask, round 3",
    ]
    # What stands for sugar is named nowhere.
    assert not any("__" in line for line in told)
