"""Reruns with another plan or other values: what of it hinders, and where they go on."""

from harness.reruns import rerun
from harness.running import run
from runtime.engine.test_reruns import BROKEN, script, started

PARTS = """
workflow:
  - {step: start, tool: {kind: python, code: "result = 1", spec: {inline_max_bytes: 0}}, next: {arcs: [{step: charge}]}}
  - {step: charge, tool: {kind: shell, cmd: x}, next: {arcs: [{step: last}]}}
  - {step: last, tool: {kind: noop}}
"""


def test_without_the_values_nothing_is_kept_of_which_another_plan_reads_more() -> None:
    """Of a result outside of the log stands there what the old plan reads: more of it would be missing."""
    ran = run(PARTS, script(start={"result": {"a": 1, "b": 2}}, charge=BROKEN))
    assert "__ref__" in str(ran.of("task.done", "start")[0].data["result"])
    reads = PARTS.replace("arcs: [{step: last}]", 'arcs: [{step: last, when: "{{ start.b == 2 }}"}]')
    again = rerun(ran, text=reads)
    assert again.codes() == ["data"]
    assert "value outside of the log, of which the other plan reads more" in again.rerun.hindrances[0].message
    assert rerun(ran, script(charge={"result": 1}), text=PARTS.replace("cmd: x", "cmd: y")).codes() == []


WAYS = """
workload: {amount: 1}
workflow:
  - step: start
    tool: {kind: noop}
    next: {arcs: [{step: big, when: "{{ workload.amount > 100 }}"}, {step: hold}]}
  - {step: big, tool: {kind: shell, cmd: x}}
  - {step: hold, tool: {kind: shell, cmd: x}, next: {arcs: [{step: charge}]}}
  - {step: charge, tool: {kind: shell, cmd: x}}
"""


def test_a_step_that_is_not_come_to_any_more_is_told() -> None:
    ran = run(WAYS, script(hold={"result": 1}, charge=BROKEN))
    asked = rerun(ran, step="hold", payload={"amount": 200})
    assert asked.codes() == ["way"]
    assert asked.rerun.hindrances[0].message == "step `hold` is not come to any more: it would go on at `big`"
    again = rerun(ran, script(hold={"result": 1}, charge={"result": 1}), step="hold")
    assert (again.rerun.at, again.again()) == (("hold",), {"hold", "charge"})


def test_what_is_not_come_to_any_more_does_not_run_again() -> None:
    """Without a step that was asked for, a mended guard may lead elsewhere: it is said where."""
    guard = WAYS.replace("workload.amount > 100", "workload.amount > 0")
    ran = run(WAYS, script(hold=BROKEN))
    again = rerun(ran, script(big={"result": 1}), text=guard)
    assert (again.codes(), again.rerun.at, again.again()) == ([], ("big",), set())
    assert started(again.done()) == ["big"]


TIDIED = """
executor: {spec: {finally: tidy}}
workload: {amount: 1}
workflow:
  - {step: start, tool: {kind: shell, cmd: x}, next: {arcs: [{step: middle}]}}
  - step: middle
    tool: {kind: shell, cmd: x}
    next: {arcs: [{step: big, when: "{{ workload.amount > 100 }}"}, {step: charge}]}
  - {step: big, tool: {kind: shell, cmd: x}}
  - {step: charge, tool: {kind: shell, cmd: x}}
  - {step: tidy, tool: {kind: shell, cmd: x}}
"""
MARKED = {"result": "the token is [[secret:abc]]"}


def test_all_that_hinders_comes_at_once() -> None:
    """One look, and not four: at phases behind main, secrets of two steps, and a step that nothing leads to."""
    ran = run(TIDIED, script(start=MARKED, middle=MARKED, charge=BROKEN, tidy={"result": 1}))
    asked = rerun(ran, step="charge", payload={"amount": 200})
    assert asked.codes() == ["phases", "secret", "secret", "way"]
    messages = [one.message for one in asked.rerun.hindrances]
    assert "`tidy`" in messages[0] and "`start`" in messages[1] and "`middle`" in messages[2]
    assert messages[3] == "step `charge` is not come to any more: it would go on at `big`"
    assert asked.rerun.events == () and asked.rerun.at == ("big",)
    assert rerun(ran, step="charge").codes() == ["phases", "secret", "secret"]
    assert rerun(ran, step="charge", accepted=["phases"]).codes() == ["secret", "secret"]
    # A task that reads a changed value is told beside them.
    reads = TIDIED.replace(
        "start, tool: {kind: shell, cmd: x}", 'start, tool: {kind: shell, cmd: "x {{ workload.amount }}"}'
    )
    ran = run(reads, script(start={"result": 1}, middle=MARKED, charge=BROKEN, tidy={"result": 1}))
    assert rerun(ran, step="charge", payload={"amount": 2}).codes() == ["phases", "workload"]


def test_without_an_input_its_consequences_are_not_told() -> None:
    text = TIDIED.replace("executor: {spec: {finally: tidy}}", "executor: {spec: {inputs: {amount: {type: integer}}}}")
    text = text.replace("  - {step: tidy, tool: {kind: shell, cmd: x}}\n", "")
    ran = run(text, script(start={"result": 1}, middle={"result": 1}, charge=BROKEN))
    needs = text.replace("{amount: {type: integer}}", "{amount: {type: integer}, who: {required: true}}")
    assert rerun(ran, text=needs).codes() == ["inputs"]
