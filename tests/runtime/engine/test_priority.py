"""`arc.spec.priority` orders work in the queue and selects nothing (LANGUAGE §3); with one slot the order is seen."""

import pytest

from harness.running import Ran, run

FORK = """
workflow:
  - step: start
    next:
      spec: {mode: %s}
      arcs:
        - {step: low, spec: {priority: -1}}
        - {step: first}
        - {step: high, spec: {priority: 5}}
        - {step: second}
        - {step: higher, spec: {priority: 7}}
  - {step: low, tool: {name: t, kind: http, url: "http://x"}}
  - {step: first, tool: {name: t, kind: http, url: "http://x"}}
  - {step: high, tool: [{name: t, kind: http, url: "http://x"}, {name: u, kind: http, url: "http://x"}]}
  - {step: second, tool: {name: t, kind: http, url: "http://x"}}
  - {step: higher, tool: {name: t, kind: http, url: "http://x"}}
"""
TAKES = "outcomes: [{takes: 1}]"


def order(ran: Ran) -> list[str]:
    """The steps in the order in which their first task was started."""
    names = [ran.program.plan.steps[event.step].name for event in ran.of("task.started")]
    return [name for name in dict.fromkeys(names) if name != "start"]


def test_higher_priorities_start_first_and_equal_ones_in_yaml_order() -> None:
    ran = run(FORK % "inclusive", TAKES, slots=1)
    assert order(ran) == ["higher", "high", "first", "second", "low"]


def test_priority_selects_nothing() -> None:
    assert order(run(FORK % "exclusive", TAKES, slots=1)) == ["low"]


def test_iterations_have_the_priority_of_their_run() -> None:
    text = """
workflow:
  - step: start
    next: {spec: {mode: inclusive}, arcs: [{step: plain}, {step: urgent, spec: {priority: 1}}]}
  - step: plain
    loop: {in: "{{ [1, 2] }}", iterator: i, spec: {mode: parallel}}
    tool: {name: t, kind: http, url: "http://x"}
  - step: urgent
    loop: {in: "{{ [1, 2] }}", iterator: i, spec: {mode: parallel}}
    tool: {name: t, kind: http, url: "http://x"}
"""
    ran = run(text, TAKES, slots=1)
    names = [ran.program.plan.steps[event.step].name for event in ran.of("task.started")]
    assert names[1:] == ["urgent", "urgent", "plain", "plain"]


@pytest.mark.parametrize("resume", [3, 8])
def test_after_a_pause_the_order_is_the_same(resume: int) -> None:
    ran = run(FORK % "inclusive", TAKES, slots=1, at={1: "pause", resume: "resume"})
    assert ran.status == "completed" and order(ran) == ["higher", "high", "first", "second", "low"]


def test_what_comes_later_and_is_urgent_overtakes_what_waits() -> None:
    """One slot, ten iterations of a second; after two seconds there is an urgent one, and one that is not."""
    ran = run(
        """
workflow:
  - step: start
    next:
      spec: {mode: inclusive}
      arcs: [{step: many}, {step: idle, spec: {delay: 2}}, {step: urgent, spec: {delay: 2, priority: 1}}]
  - step: many
    loop: {in: "{{ range(10) | list }}", iterator: i, spec: {mode: parallel}}
    tool: {name: t, kind: http, url: "http://x"}
  - {step: urgent, tool: {name: t, kind: http, url: "http://x"}}
  - {step: idle, tool: {name: t, kind: http, url: "http://x"}}
""",
        "outcomes: [{step: start}, {takes: 1}]",
        slots=1,
    )
    names = [ran.program.plan.steps[event.step].name for event in ran.of("task.started")][1:]
    assert 2 <= names.index("urgent") <= 4 and names[-1] == "idle" and len(names) == 12
