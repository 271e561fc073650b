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


FORK = """
workflow:
  - {step: start, next: {spec: {mode: inclusive}, arcs: [{step: bad}, {step: slow}, {step: waits}, {step: calls}]}}
  - {step: bad, tool: {name: f, kind: http, url: "http://x/bad"}}
  - {step: slow, tool: {name: s, kind: http, url: "http://x/slow"}}
  - {step: waits, tool: {name: w, kind: wait, events: [go], timers: {t: 3600}}}
  - {step: calls, tool: {name: w, kind: wait, timers: {t: 3600}}}
"""


def test_what_was_called_off_waits_for_nothing_while_others_end() -> None:
    outcomes = [
        {"step": "bad", "visit": 1, "attempt": 1, "takes": 1, "outcome": {"status": "error"}},
        {"step": "slow", "visit": 1, "attempt": 1, "takes": 9, "outcome": {"result": 1}},
    ]
    ran = run(FORK, {"outcomes": outcomes})
    assert ran.status == "failed"
    folded = Execution("e1", ran.program)
    waited, called_off = list[int](), list[int]()
    for position, event in enumerate(ran.log):
        evolve(ran.program, folded, event)
        parked = [key for key, region in folded.regions.items() if region.phase == "parked"]
        rows = [row.what for row in rows_of(ran.program, folded)]
        if parked and not folded.parked:
            called_off.append(position)
            assert "wait" not in rows
        elif parked:
            waited.append(rows.count("wait"))
    assert max(waited) == 2 and called_off, "the step that is at work holds up the end"


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
