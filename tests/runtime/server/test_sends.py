"""Signals that playbooks send to others: to whom, once, no target, and at the very end (EXTENSIONS §6)."""

from typing import Any

import pytest

from harness.invariants import check
from harness.running import MEMORY, Ran, compiled, resume_prefix, run
from noetl.app.composition import driver_of
from noetl.app.runtime import Settings, open_runtime
from noetl.engine.starting import Request
from noetl.worker.scripted import read_script

CHILD = """
---
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: c, path: t/c}
workflow:
  - step: start
    tool:
      - {name: w, kind: wait, events: [go]}
      - {name: up, kind: signal, to: parent, signal: back, data: {got: "{{ w.data }}"}}
"""
CALLER = (
    """
workflow:
  - step: start
    next: {spec: {mode: inclusive}, arcs: [{step: call}, {step: send, spec: {delay: 1}}, {step: hear}]}
  - {step: call, tool: {name: c, kind: playbook, path: t/c}}
  - {step: send, tool: {name: s, kind: signal, to: children, signal: go, data: 7}}
  - {step: hear, tool: {name: h, kind: wait, events: [back]}}
"""
    + CHILD
)


def outcome(ran: Ran, step: str) -> Any:
    """The outcome that the last signal of a step was recorded with."""
    return ran.of("signal.sent", step)[-1].data["outcome"]


def test_signals_go_down_to_children_and_up_to_the_caller() -> None:
    ran = run(CALLER)
    assert ran.status == "completed" and ran.result("send") == {"delivered": 1}
    assert ran.result("hear") == {"name": "back", "data": {"got": 7}}


def test_after_a_crash_at_any_commit_each_has_it_once() -> None:
    """The caller alone is taken up again, so its children are started anew, and have the signal once too."""
    whole = run(CALLER)
    assert len(whole.commits) > 2
    for length in whole.commits[:-1]:
        # What a child had said before is in no store here: only its caller's log is.
        resumed = resume_prefix(whole, length)
        assert resumed.status == "completed", length
        assert [event.data["name"] for event in resumed.of("signal.received")] == ["back"], length


@pytest.mark.parametrize(
    ("to", "delivered", "code"),
    [("children", 0, ""), ("parent", None, "signal.no_target"), ("e2", None, "signal.no_target"), ("e1", 1, "")],
)
def test_a_signal_to_nobody_is_an_error_but_to_no_children(to: str, delivered: int | None, code: str) -> None:
    ran = run(f"workflow:\n  - {{step: start, tool: {{name: s, kind: signal, to: {to}, signal: go}}}}\n")
    found = outcome(ran, "start")
    assert (found["result"] or {}).get("delivered") == delivered
    assert (found["error"] or {}).get("code", "") == code
    assert ran.status == ("failed" if code else "completed")


def test_a_signal_to_what_has_ended_has_no_target() -> None:
    text = (
        """
workflow:
  - step: start
    tool: {name: c, kind: playbook, path: t/c, wait: false}
    next: {arcs: [{step: send, args: {id: "{{ event.result.execution_id }}"}, spec: {delay: 5}}]}
  - {step: send, tool: {name: s, kind: signal, to: "{{ args.id }}", signal: go}}
"""
        + CHILD.split("    tool:")[0]
        + "    tool: {kind: noop}\n"
    )
    ran = run(text)
    assert outcome(ran, "send")["error"]["code"] == "signal.no_target" and "is over" in str(outcome(ran, "send"))


def test_a_task_that_is_tried_again_sends_once() -> None:
    text = """
workflow:
  - step: start
    tool:
      - name: s
        kind: signal
        to: "{{ execution_id }}"
        signal: go
        spec: {policy: {rules: [{when: "{{ _attempt < 3 }}", then: {do: retry, attempts: 3}}]}}
      - {name: w, kind: wait, events: [go]}
"""
    ran = run(text)
    assert ran.status == "completed" and len(ran.of("signal.sent")) == 3 and len(ran.of("signal.received")) == 1


LIVE = """
workflow:
  - {step: start, tool: {name: w, kind: wait, transient: true, events: [go], timers: {t: 1}}}
"""


@pytest.mark.parametrize("name", ["go", "other"])
def test_a_signal_that_comes_at_the_very_end_is_read_before_it(name: str) -> None:
    """The store has it after the last turn was decided and before that was stored."""
    with open_runtime(MEMORY, Settings(script=read_script({})), lambda path: (b"", {})) as runtime:
        program = runtime.programs.add_plan(compiled(LIVE))
        store: Any = runtime.store
        append, seen = store._append, []

        def late(appends: Any) -> None:
            if appends[-1].ended is not None and not seen:
                seen.append(store.post("e1", "signal", {"name": name, "data": 1}))
            append(appends)

        store._append = late
        told: list[str] = []
        with driver_of(runtime, "e1", lambda execution, plan, event: told.append(event.event_type)) as driver:
            assert driver.embedded.start(program, "e1", Request({})) == "completed"
        log = [event for _, event in runtime.events("e1")]
        check(program, log, driver.execution)
        names = [event.event_type for event in log]
        assert names[-4:] == ["signal.received", "signal.missed", "workflow.finished", "playbook.processed"]
        assert told == names and seen
