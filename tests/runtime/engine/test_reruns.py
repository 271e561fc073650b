"""Reruns: what is kept, what runs again, and what hinders."""

from typing import Any

import pytest

from harness.reruns import LATER, Again, driven, planned, rerun
from harness.running import Ran, run
from noetl.engine import reports
from noetl.engine.decide import decide
from noetl.engine.effects import effects, recover
from noetl.engine.evolve import evolve
from noetl.engine.execution import Execution
from noetl.engine.places import record_decision
from noetl.engine.replay import replay
from noetl.engine.rerun_prefix import is_same
from noetl.engine.turn import Turn
from noetl_ir.events import Event
from noetl_ir.orders import RunPipeline

CHAIN = """
workload: {x: 1, y: 2}
workflow:
  - step: start
    tool: {kind: python, code: "result = 0  # x", args: {u: "{{ workload.x }}"}}
    next: {arcs: [{step: middle, args: {v: "{{ start }}"}}]}
  - step: middle
    tool: {kind: python, code: "result = 0  # x", args: {u: "{{ args.v }}"}}
    next: {arcs: [{step: late, args: {w: "{{ middle }}"}}]}
  - step: late
    tool: {kind: python, code: "result = 0  # x", args: {u: "{{ workload.y }}"}}
    next: {arcs: [{step: last, args: {z: "{{ late }}"}}]}
  - step: last
    tool: {kind: noop, result: ["{{ args.z }}", "{{ middle }}", "{{ workload.y }}"]}
"""
BROKEN = {"error": {"code": "broken"}}
POISON = {"result": "never"}


def script(**outcomes: Any) -> dict[str, Any]:
    """A script of outcomes by step, each after a second; a pair is an outcome and its seconds."""
    rows = []
    for step, outcome in outcomes.items():
        outcome, takes = outcome if isinstance(outcome, tuple) else (outcome, 1)
        rows.append({"step": step, "takes": takes, "outcome": outcome})
    return {"outcomes": rows}


def started(ran: Ran) -> list[str]:
    """The steps whose tasks a rerun started after it began, in order."""
    at = next(n for n, event in enumerate(ran.log) if event.event_type == "playbook.rerun")
    steps = ran.program.plan.steps
    return [steps[event.step].name for event in ran.log[at:] if event.event_type == "task.started"]


def chain(**more: Any) -> Ran:
    return run(CHAIN, script(start={"result": 10}, middle={"result": 20}, late=BROKEN), **more)


def test_results_are_kept_and_effects_are_not_repeated() -> None:
    again = rerun(chain(), script(start=POISON, middle=POISON, late={"result": 30}))
    ran = again.done()
    assert ran.status == "completed" and ran.execution.last_result == [30, 20, 2]
    assert again.kept() == {"start": 1, "middle": 1} and started(ran) == ["late", "last"]


def test_a_rerun_names_the_old_execution() -> None:
    ran = rerun(chain(), script(late={"result": 30})).done()
    assert ran.log[0].data["rerun_of"] == "e1" == ran.execution.rerun_of
    assert "rerun_of" not in chain().log[0].data


def test_it_begins_before_a_step_that_is_named() -> None:
    again = rerun(chain(), script(start=POISON, middle={"result": 21}, late={"result": 30}), step="middle")
    assert again.done().execution.last_result == [30, 21, 2]
    assert again.kept() == {"start": 1} and again.again() == {"middle", "late"}


def test_without_a_change_of_the_outcome_it_fails_as_before() -> None:
    ran = rerun(chain(), script(late=BROKEN)).done()
    assert ran.status == "failed" and ran.execution.failure == chain().execution.failure


def test_a_completed_one_says_from_where() -> None:
    whole = run(CHAIN, script(start={"result": 10}, middle={"result": 20}, late={"result": 30}))
    refused = rerun(whole)
    assert refused.codes() == ["cut"] and "`--from STEP`" in refused.rerun.hindrances[0].instead
    again = rerun(whole, script(late={"result": 31}), step="late")
    assert again.done().execution.last_result == [31, 20, 2] and again.kept() == {"start": 1, "middle": 1}


def test_a_value_that_nothing_kept_has_read_may_be_another() -> None:
    again = rerun(chain(), script(late={"result": 30}), payload={"y": 7})
    assert again.done().execution.last_result == [30, 20, 7] and again.kept() == {"start": 1, "middle": 1}


@pytest.mark.parametrize("value", [5, True, 1.0, "1", None])
def test_a_value_that_something_kept_has_read_hinders(value: Any) -> None:
    again = rerun(chain(), payload={"x": value})
    assert again.codes() == ["workload"]
    told = again.rerun.hindrances[0].as_text()
    assert "step `start` ran, and reads `workload.x`" in told and "--from start" in told
    assert not again.rerun.events


def test_the_same_value_anew_changes_nothing() -> None:
    assert rerun(chain(), script(late={"result": 30}), payload={"x": 1}).kept() == {"start": 1, "middle": 1}


def test_a_mended_step_of_another_plan_runs() -> None:
    text = CHAIN.replace('u: "{{ workload.y }}"', 'u: "mended"')
    assert rerun(chain(), script(late={"result": 30}), text=text).done().execution.last_result == [30, 20, 2]


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('u: "{{ args.v }}"', 'u: "y{{ args.v }}"', "task"),
        ("args: {v: \"{{ start }}\"}", "args: {v: \"{{ start + 1 }}\"}", "data"),
        ("workload: {x: 1", "workload: {x: 3", "workload"),
        ("step: middle", "step: other", "place"),
    ],
)  # fmt: skip
def test_a_plan_by_which_something_kept_would_be_another_hinders(old: str, new: str, why: str) -> None:
    text = CHAIN.replace(old, new).replace("{{ middle }}", "{{ other }}" if "other" in new else "{{ middle }}")
    again = rerun(chain(), text=text)
    assert again.codes() == [why], again.rerun.hindrances


def test_a_step_that_was_put_in_runs_before_what_failed() -> None:
    text = CHAIN.replace('arcs: [{step: late, args: {w: "{{ middle }}"}}]', "arcs: [{step: between}]").replace(
        "  - step: late",
        "  - step: between\n    tool: {kind: python, code: result = 0}\n"
        '    next: {arcs: [{step: late, args: {w: "{{ between }}"}}]}\n  - step: late',
    )
    again = rerun(chain(), script(between={"result": 5}, late={"result": 30}), text=text)
    assert started(again.done()) == ["between", "late", "last"] and again.kept() == {"start": 1, "middle": 1}


FORK = """
workflow:
  - step: start
    next: {spec: {mode: inclusive}, arcs: [{step: left}, {step: right}]}
  - step: left
    tool: {kind: python, code: "result = 0  # x", args: {u: ""}}
    next: {arcs: [{step: both, args: {l: "{{ left }}"}}]}
  - step: right
    tool: {kind: python, code: "result = 0  # x", args: {u: ""}}
    next: {arcs: [{step: more}]}
  - step: more
    tool: {kind: python, code: "result = 0  # x", args: {u: ""}}
    next: {arcs: [{step: both, args: {r: "{{ more }}"}}]}
  - step: both
    spec: {policy: {join: all}}
    tool: {kind: noop, result: ["{{ args.l }}", "{{ args.r }}"]}
"""


def test_another_branch_is_kept_that_ended_after_the_failed_one_began() -> None:
    old = run(FORK, script(left=(BROKEN, 2), right=({"result": 1}, 3), more={"result": 2}))
    assert old.status == "failed" and old.ran("right") == 1 and old.ran("more") == 0
    again = rerun(old, script(left={"result": 5}, right=POISON, more={"result": 6}))
    ran = again.done()
    assert ran.execution.last_result == [5, 6] and again.kept() == {"right": 1}
    assert sorted(started(ran)[:2]) == ["left", "more"]


def test_a_linear_one_keeps_only_what_was_over_before() -> None:
    old = run(FORK, script(left=(BROKEN, 2), right=({"result": 1}, 3), more={"result": 2}))
    again = rerun(old, script(left={"result": 5}, right={"result": 8}, more={"result": 6}), linear=True)
    assert again.done().execution.last_result == [5, 6]
    assert again.kept() == {} and again.again() == {"left", "right"}


def test_both_branches_that_failed_run_again() -> None:
    old = run("executor: {spec: {policy: {failure: {mode: best_effort}}}}\n" + FORK.lstrip(),
              script(left=BROKEN, right=({"result": 1}, 3), more=BROKEN))  # fmt: skip
    again = rerun(old, script(left={"result": 5}, right=POISON, more={"result": 6}))
    assert again.done().execution.last_result == [5, 6] and again.kept() == {"right": 1}


def test_what_was_at_work_when_it_was_cancelled_runs_again() -> None:
    old = run(FORK, script(left=({"result": 5}, 1), right=({"result": 1}, 9), more={"result": 2}), at={4: "cancel"})
    assert old.status == "cancelled"
    again = rerun(old, script(left=POISON, right={"result": 1}, more={"result": 2}))
    ran = again.done()
    assert ran.execution.last_result == [5, 2] and again.kept() == {"left": 1}
    assert len(ran.of("task.lost")) == 1


CTX = """
workflow:
  - step: start
    next: {spec: {mode: inclusive}, arcs: [{step: left}, {step: right}]}
  - step: left
    tool: {kind: python, code: "result = 0  # x", args: {u: ""}, spec: {policy: {rules: [{when: "{{ outcome.status == 'ok' }}", then: {do: continue, set_ctx: {a: "{{ outcome.result }}"}}}, {else: {then: {do: fail}}}]}}}
    next: {arcs: [{step: both}]}
  - step: right
    tool: {kind: python, code: "result = 0  # x", args: {u: ""}, spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {KEY: "{{ outcome.result }}"}}}}]}}}
    next: {arcs: [{step: both}]}
  - step: both
    spec: {policy: {join: all}}
    tool: {kind: noop, result: ["{{ ctx.a }}", "{{ ctx.b | default(0) }}"]}
"""  # noqa: E501


def test_a_key_of_ctx_that_both_write_hinders() -> None:
    outcomes = script(left=(BROKEN, 1), right=({"result": 2}, 2))
    again = rerun(run(CTX.replace("KEY", "a"), outcomes))
    assert again.codes() == ["ctx"] and "--linear" in again.rerun.hindrances[0].as_text()
    mended = script(left=({"result": 1}, 1), right=({"result": 2}, 2))
    ran = rerun(run(CTX.replace("KEY", "a"), outcomes), mended, linear=True).done()
    assert ran.execution.last_result == run(CTX.replace("KEY", "a"), mended).execution.last_result == [2, 0]


def test_keys_of_ctx_of_their_own_do_not_hinder() -> None:
    again = rerun(
        run(CTX.replace("KEY", "b"), script(left=(BROKEN, 1), right=({"result": 2}, 2))), script(left={"result": 1})
    )
    assert again.done().execution.last_result == [1, 2] and again.kept() == {"right": 1}


@pytest.mark.parametrize(("reducer", "codes"), [("sum", []), ("append", ["ctx"])])
def test_contributions_whose_order_counts_hinder(reducer: str, codes: list[str]) -> None:
    text = f"executor: {{spec: {{ctx: {{a: {{reduce: {reducer}}}}}}}}}\n" + CTX.replace("KEY", "a").lstrip()
    again = rerun(run(text, script(left=(BROKEN, 1), right=({"result": 2}, 2))), script(left={"result": 5}))
    assert again.codes() == codes
    if not codes:
        assert again.done().execution.ctx["a"] == 7


def test_the_id_of_the_execution_hinders_where_something_kept_reads_it() -> None:
    text = CHAIN.replace("{{ args.v }}", "{{ execution_id }}")
    old = run(text, script(start={"result": 10}, middle={"result": 20}, late=BROKEN))
    assert rerun(old).codes() == ["execution_id"]
    assert rerun(old, script(middle={"result": 21}, late={"result": 30}), step="middle").kept() == {"start": 1}
    assert rerun(old, script(late={"result": 30}), accepted=["execution_id"]).kept() == {"start": 1, "middle": 1}


def test_a_task_that_was_not_over_has_the_new_id_and_the_new_values() -> None:
    text = """
workload: {x: 1}
workflow:
  - step: start
    tool: {kind: wait, events: [go], timers: {t: 60}, correlation: "to {{ execution_id }} {{ workload.x }}"}
    next: {arcs: [{step: last}]}
  - step: last
    tool: {kind: noop, result: "{{ execution_id }}"}
"""
    old = run(text, {}, at={4: "cancel"})
    again = rerun(old, payload={"x": 2})
    [call] = [event.data["call"] for event in again.done().of("task.started", "start")]
    assert isinstance(call, dict) and call["correlation"] == "to e2 2"
    assert again.done().execution.last_result == "e2"


LIMIT = """
executor: {spec: {policy: {lifecycle: {timeout_s: 10}}}}
workflow:
  - step: start
    tool: {kind: python, code: "result = 0  # x", args: {u: ""}}
    next: {arcs: [{step: late}]}
  - step: late
    tool: {kind: python, code: "result = 0  # x", args: {u: ""}}
"""


@pytest.mark.parametrize(("takes", "status"), [(6, "completed"), (8, "failed")])
def test_the_time_between_counts_for_no_limit(takes: int, status: str) -> None:
    """Three seconds of ten are over with what is kept: seven are left, an hour later."""
    old = run(LIMIT, script(start=({"result": 1}, 3), late=BROKEN))
    ran = rerun(old, script(late=({"result": 2}, takes))).done()
    assert ran.status == status
    begun = ran.of("playbook.rerun")[0]
    assert begun.ts == old.log[-1].ts + LATER and 0 < int(str(begun.data["shift"])) <= LATER + 1_000_000


def test_one_that_ran_out_of_time_goes_on_where_it_stood() -> None:
    old = run(LIMIT, script(start=({"result": 1}, 3), late=({"result": 2}, 60)))
    assert old.status == "failed" and old.execution.failure is not None
    again = rerun(old, script(start=POISON, late={"result": 2}), text=LIMIT.replace("timeout_s: 10", "timeout_s: 90"))
    assert again.done().status == "completed" and again.kept() == {"start": 1}


WAITING = """
workflow:
  - step: start
    tool: {kind: wait, events: [go]}
    next: {arcs: [{step: check, args: {v: "{{ start.data }}"}}]}
  - step: check
    tool: {kind: python, code: "result = 0  # x", args: {u: ""}}
    next: {arcs: [{step: agree}]}
  - step: agree
    tool: {kind: wait, events: [agreed]}
    next: {arcs: [{step: pay}]}
  - step: pay
    tool: {kind: python, code: "result = 0  # x", args: {u: ""}}
    next: {arcs: [{step: last}]}
  - step: last
    tool: {kind: noop, result: "{{ start.data }}"}
"""


def signalled(*signals: tuple[float, str, Any], **outcomes: Any) -> dict[str, Any]:
    sent = [{"at": at, "name": name, "data": data} for at, name, data in signals]
    return {**script(**outcomes), "signals": sent}


def test_a_signal_that_a_kept_wait_took_is_kept() -> None:
    old = run(WAITING, signalled((1, "go", 4), (5, "agreed", 1), check={"result": 1}, pay=BROKEN))
    again = rerun(old, script(pay={"result": 1}))
    assert again.done().execution.last_result == 4
    assert again.kept() == {"start": 1, "check": 1, "agree": 1} and not again.rerun.signals


def test_an_agreement_to_what_is_made_again_is_to_be_had_again() -> None:
    old = run(WAITING, signalled((1, "go", 4), (5, "agreed", 1), check={"result": 1}, pay=BROKEN))
    again = rerun(old, script(check={"result": 2}, pay={"result": 1}), step="check")
    assert again.kept() == {"start": 1} and again.rerun.signals == ("agreed",)
    ran = again.done()
    assert ran.status == "interrupted" and [*ran.execution.waits.values()] == [frozenset({"agreed"})]


def test_a_signal_that_may_come_again_hinders() -> None:
    text = """
workflow:
  - step: start
    next: {spec: {mode: inclusive}, arcs: [{step: left}, {step: right}]}
  - step: left
    tool: {kind: python, code: "result = 1"}
  - step: right
    tool: {kind: wait, events: [go]}
"""
    late = run(text, signalled((2, "go", 1), left=(BROKEN, 4)))
    assert rerun(late).codes() == ["signals"]
    assert "`go` came while step `left` was at work" in rerun(late).rerun.hindrances[0].message
    assert rerun(late, script(left={"result": 1}), accepted=["signals"]).kept() == {"right": 1}
    linear = rerun(late, script(left={"result": 1}), linear=True)
    assert linear.kept() == {} and linear.rerun.signals == ("go",) and linear.done().status == "interrupted"
    early = run(text.replace("{step: left}", "{step: pause}").replace(
        "  - step: left", "  - step: pause\n    tool: {kind: wait, timers: {t: 3}}\n    next: {arcs: [{step: left}]}\n"
        "  - step: left"), signalled((2, "go", 1), left=(BROKEN, 4)))  # fmt: skip
    assert rerun(early, script(left={"result": 1})).kept() == {"pause": 1, "right": 1}


PHASES = """
executor: {spec: {finally: tidy}}
workflow:
  - step: start
    spec: {policy: {compensate: undo}}
    tool: {kind: python, code: "result = 0  # x", args: {u: ""}}
    next: {arcs: [{step: late}]}
  - step: late
    tool: {kind: python, code: "result = 0  # x", args: {u: ""}}
  - step: tidy
    tool: {kind: python, code: "result = 0  # x", args: {u: ""}}
  - step: undo
    tool: {kind: python, code: "result = 0  # x", args: {u: ""}}
"""


def test_what_follows_main_hinders_until_somebody_says_that_it_does_no_harm() -> None:
    text = PHASES.replace("    spec: {policy: {compensate: undo}}\n", "").replace(
        '  - step: undo\n    tool: {kind: python, code: "result = 0  # x", args: {u: ""}}\n', ""
    )
    old = run(text, script(start={"result": 1}, late=BROKEN, tidy={"result": 1}))
    assert rerun(old).codes() == ["phases"] and "`tidy`" in rerun(old).rerun.hindrances[0].message
    again = rerun(old, script(late={"result": 1}, tidy={"result": 1}), accepted=["phases"])
    assert again.done().status == "completed" and again.done().ran("tidy") == 1


def test_a_run_that_was_undone_is_not_kept() -> None:
    old = run(PHASES, script(start={"result": 1}, late=BROKEN, tidy={"result": 1}, undo={"result": 1}))
    assert rerun(old, accepted=["phases"]).codes() == ["undone"]
    assert rerun(old).codes() == ["phases", "undone"], "who accepts the one need not ask again for the other"
    again = rerun(
        old, script(start={"result": 2}, late={"result": 2}, tidy={"result": 1}), step="start", accepted=["phases"]
    )
    assert again.done().status == "completed" and again.kept() == {}


LOOP = """
workload: {items: [1, 2, 3]}
workflow:
  - step: start
    loop: {in: "{{ workload.items }}", iterator: i}
    tool: {kind: python, code: "result = 0  # x", args: {u: "{{ iter.i }}"}}
    next: {arcs: [{step: late}]}
  - step: late
    tool: {kind: python, code: "result = 0  # x", args: {u: ""}}
    next: {arcs: [{step: last}]}
  - step: last
    tool: {kind: noop, result: "{{ start }}"}
"""


def test_iterations_are_kept() -> None:
    old = run(LOOP, script(start={"result": 7}, late=BROKEN))
    again = rerun(old, script(start=POISON, late={"result": 1}))
    assert again.done().execution.last_result == [7, 7, 7] and again.kept() == {"start": 3}
    assert rerun(old, payload={"items": [1, 2]}).codes() == ["place"]


def test_a_cycle_begins_at_the_run_that_is_named() -> None:
    text = """
workflow:
  - step: start
    tool: {kind: python, code: "result = 0  # x", args: {u: ""}, spec: {policy: {rules: [{when: "{{ outcome.status == 'ok' }}", then: {do: continue, set_ctx: {n: "{{ (ctx.n | default(0)) + 1 }}"}}}, {else: {then: {do: fail}}}]}}}
    next: {spec: {mode: exclusive}, arcs: [{step: start, when: "{{ ctx.n < 3 }}"}, {step: last}]}
  - step: last
    tool: {kind: noop, result: "{{ ctx.n }}"}
"""  # noqa: E501
    outcomes = [
        {"step": "start", "run": 3, "takes": 1, "outcome": BROKEN},
        {"step": "start", "takes": 1, "outcome": {"result": 1}},
    ]
    old = run(text, {"outcomes": outcomes})
    mended = script(start={"result": 1})
    assert rerun(old, mended).kept() == {"start": 2} and rerun(old, mended).done().execution.last_result == 3
    assert rerun(old, mended, step="start").kept() == {}
    assert rerun(old, mended, step="start", number=2).kept() == {"start": 1}
    assert rerun(old, mended, step="start", number=2).done().execution.last_result == 3


PLACED = """
executor: {spec: {concurrency: {key: k, limit: 1, on_conflict: queue}}}
workflow:
  - step: start
    next: {spec: {mode: inclusive}, arcs: [{step: left}, {step: right}]}
  - step: left
    tool: {kind: python, code: "result = 1"}
  - step: right
    tool: {kind: wait, timers: {t: 5}}
"""


def test_one_that_asks_for_a_place_asks_anew() -> None:
    old = run(PLACED, script(left=BROKEN))
    again = rerun(old, script(left={"result": 1}))
    assert again.done().status == "completed"
    names = again.done().names()
    assert names.count("playbook.placed") == 2
    assert names.index("playbook.rerun") < len(names) - 1 - names[::-1].index("playbook.placed")
    assert rerun(again.done(), script(left={"result": 1}), of="e2", step="left").done().status == "completed"


def test_nothing_starts_before_it_has_a_place() -> None:
    made, program = planned(run(PLACED, script(left=BROKEN)))
    execution = Execution("e2", program)
    for event in made.events:
        evolve(program, execution, event)
    recover(program, execution)
    assert execution.stands_still and execution.ready and not effects(program, execution)
    turn = Turn(program, execution, made.events[-1].ts + LATER)
    start = Event("2:1:1:1:1:s", "task.started", turn.now, program.step_numbers["left"], "2", 1, 1, 1, 1)
    assert execution.regions["2"].step == start.step and not reports.accept(turn, start)
    record_decision(turn, {"verdict": "queued", "holders": ["e9"]})
    assert not effects(program, execution)
    record_decision(turn, {"verdict": "placed"})
    decide(turn)
    assert [order.run for order in effects(program, execution) if isinstance(order, RunPipeline)] == ["2"]
    log = [*made.events, *turn.events]
    assert replay(program, "e2", log).wrong is None


def test_one_that_gets_no_place_ends_without_phases() -> None:
    made, program = planned(run(PLACED.replace("queue", "fail"), script(left=BROKEN)))
    execution = Execution("e2", program)
    for event in made.events:
        evolve(program, execution, event)
    turn = Turn(program, execution, made.events[-1].ts + LATER)
    record_decision(turn, {"verdict": "refused", "why": "fail", "holders": ["e9"]})
    decide(turn)
    assert execution.is_over and execution.status == "failed"
    assert replay(program, "e2", [*made.events, *turn.events]).wrong is None


CHILD = """
workflow:
  - step: start
    tool: {kind: playbook, path: c/c, args: {n: 2}}
    next: {arcs: [{step: late, args: {v: "{{ start }}"}}]}
  - step: late
    tool: {kind: python, code: "result = 0  # x", args: {u: ""}}
    next: {arcs: [{step: last, args: {v: "{{ args.v }}"}}]}
  - step: last
    tool: {kind: noop, result: "{{ args.v }}"}
---
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: c, path: c/c}
workload: {n: 1}
workflow:
  - step: start
    tool: {kind: noop, result: "{{ workload.n * 10 }}"}
"""


def test_the_result_of_a_child_is_kept() -> None:
    old = run(CHILD, script(late=BROKEN))
    again = rerun(old, script(late={"result": 1}))
    ran = again.done()
    assert ran.execution.last_result == 20 and again.kept() == {"start": 1}
    assert {name for name, _, _ in ran.seen} == {"e2"}  # no child was called
    other = rerun(old, text=CHILD.replace("workload.n * 10", "workload.n * 11"))
    assert other.codes() == ["task"]


def test_a_rerun_of_a_rerun() -> None:
    ran = rerun(chain(), script(late={"result": 30})).done()
    twice = rerun(ran, script(late={"result": 31}), of="e2", step="late")
    assert twice.done().execution.last_result == [31, 20, 2] and twice.kept() == {"start": 1, "middle": 1}
    assert [event.data["of"] for event in twice.done().of("playbook.rerun")] == ["e1", "e2"]


@pytest.mark.parametrize(("takes", "status"), [(6, "completed"), (8, "failed")])
def test_the_time_between_counts_for_no_limit_of_a_rerun_of_a_rerun(takes: int, status: str) -> None:
    """Of ten seconds three are over with what is kept: seven are left, whatever was tried in between."""
    old = run(LIMIT, script(start=({"result": 1}, 3), late=BROKEN))
    first = rerun(old, script(late=(BROKEN, 2))).done()
    assert rerun(first, script(late=({"result": 2}, takes)), of="e2").done().status == status


KEYCHAIN = """
workload: {x: 1, region: eu}
keychain: [{name: login, kind: static, user: "{{ workload.region }}"}]
workflow:
  - step: start
    tool: {kind: http, url: "http://x/", AUTH}
    next: {arcs: [{step: late}]}
  - step: late
    tool: {kind: python, code: "result = 1"}
"""


@pytest.mark.parametrize(
    ("auth", "codes"),
    [
        ("auth: {type: basic, credential: login}", ["workload"]),
        ('headers: {a: "{{ keychain.login.user }}"}', ["workload"]),
        ("headers: {a: b}", []),
    ],
)
def test_a_value_that_a_credential_is_made_of_hinders(auth: str, codes: list[str]) -> None:
    old = run(KEYCHAIN.replace("AUTH", auth), script(start={"result": 1}, late=BROKEN))
    assert not old.of("step.failed", "start")
    assert rerun(old, payload={"region": "us"}).codes() == codes
    assert rerun(old, payload={"x": 2}).codes() == []


def test_a_log_that_begins_again_and_is_no_rerun_is_none() -> None:
    ran = rerun(chain(), script(late={"result": 30})).done()
    at = next(n for n, event in enumerate(ran.log) if event.event_type == "playbook.rerun")
    plain = [ran.log[0]._replace(data={k: v for k, v in ran.log[0].data.items() if k != "rerun_of"}), *ran.log[1:]]
    assert replay(ran.program, "e2", plain).wrong == (at + 1, "a rerun cannot begin here")


def test_a_rerun_goes_on_after_each_of_its_commits() -> None:
    made, program = planned(chain())
    whole = driven(program, made.events, script(late={"result": 30}))
    for length in [len(made.events), *whole.commits[:-1]]:
        ran = driven(program, whole.log[:length], script(start=POISON, middle=POISON, late={"result": 30}))
        assert ran.execution.last_result == [30, 20, 2], length


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [(1, 1, True), (1, True, False), (1, 1.0, False), ({"a": 1, "b": 2}, {"b": 2, "a": 1}, False), ([1], (1,), True)],
)
def test_values_are_compared_as_expressions_see_them(one: Any, other: Any, same: bool) -> None:
    assert is_same(one, other) is same


def test_nothing_is_said_of_what_was_not_looked_at(again: Again | None = None) -> None:
    """One that is over before anything ran again is refused: it would end as it did."""
    text = CHAIN.replace("kind: noop, result: [", "kind: fail, code: mine, message: [").replace(
        'message: ["{{ args.z }}", "{{ middle }}", "{{ workload.y }}"]', "message: m"
    )
    old = run(text, script(start={"result": 10}, middle={"result": 20}, late={"result": 30}))
    assert old.status == "failed"
    assert rerun(old).kept() == {"start": 1, "middle": 1, "late": 1}
