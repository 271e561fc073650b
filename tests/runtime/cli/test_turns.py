"""Executions and tools take turns beside what never waits, and a signal ends a process whatever it evaluates."""

import json
import signal
from typing import TYPE_CHECKING

import pytest

from services import waited_for

if TYPE_CHECKING:
    from conftest import Home

SHELL = """
  - step: sleeps
    tool:
      kind: shell
      command: sleep 0.2; echo done
    next: {arcs: [{step: after}]}
  - {step: after, tool: {kind: shell, command: touch after; sleep 600}}
"""
ROUTERS = """
workflow:
  - step: start
    next: {spec: {mode: inclusive}, arcs: [{step: round}, {step: sleeps}]}
  - {step: round, next: {arcs: [{step: again}]}}
  - {step: again, next: {arcs: [{step: round}]}}
"""
JUMPS = """
workflow:
  - step: start
    next: {spec: {mode: inclusive}, arcs: [{step: round}, {step: sleeps}]}
  - step: round
    tool:
      name: t
      kind: noop
      spec: {policy: {rules: [{when: "{{ ctx.over is not defined }}", then: {do: jump, to: t}}]}}
"""
# Of guards that stay below the budget: each is about a quarter of a second where nothing else runs.
SLOW = """
workflow:
  - step: start
    next: {spec: {mode: inclusive}, arcs: [{step: round}, {step: sleeps}]}
  - step: round
    next: {arcs: [{step: again, when: "{{ ('ab ' * 500000) | title | length == 0 }}"}, {step: again}]}
  - {step: again, next: {arcs: [{step: round}]}}
"""


@pytest.mark.parametrize("text", [ROUTERS, JUMPS, SLOW], ids=["routers", "jumps", "slow guards"])
def test_a_tool_is_served_beside_what_never_waits_and_a_signal_ends_all(home: "Home", text: str) -> None:
    child = home.start("run", home.plan(text + SHELL), until="start: started")
    # Where tools are not served between turns, the task behind this one never starts.
    waited_for((home.folder / "after").exists, "the task behind it never starts")
    child.send_signal(signal.SIGINT)
    output, _ = child.communicate(timeout=60)
    assert child.returncode == 5 and output.startswith("interrupted: ")
    assert home.run("replay", home.only()).returncode == 0


def test_a_signal_ends_the_process_within_its_guards(home: "Home") -> None:
    arcs = ", ".join(
        f"{{step: start, when: \"{{{{ ('ab ' * 500000) | title | length == {n} }}}}\"}}" for n in range(400)
    )
    text = f"workflow: [{{step: start, next: {{arcs: [{arcs}]}}}}]"
    child = home.start("run", home.plan(text), until="start: started")
    child.send_signal(signal.SIGINT)
    # All the guards take a hundred seconds, behind which the execution is over, and not interrupted.
    output, _ = child.communicate(timeout=60)
    assert child.returncode == 5 and output.startswith("interrupted: ")
    events = home.run("events", home.only(), "--json").stdout.splitlines()
    assert json.loads(events[0])["event_type"] == "playbook.execution.requested"
