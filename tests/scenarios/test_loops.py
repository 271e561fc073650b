"""Scenarios of group A: loops and fan-in."""

import pytest

from faulty_bus import Odds
from harness.running import compiled, run

SHAKEN = Odds(reordered=0.7, delayed=0.3)
CONTINUE = "spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {%s}}}}]}}"


def test_scenario_2_iterations_that_finish_together_end_the_loop_once() -> None:
    plan = compiled("""
workflow:
  - step: start
    loop: {in: "{{ range(50) | list }}", iterator: n, spec: {mode: parallel, max_in_flight: 50}}
    tool: {name: t, kind: http, url: "http://x"}
    next: {arcs: [{step: once, when: "{{ event.name == 'loop.done' }}"}]}
  - {step: once}
""")
    for seed in range(30):
        ran = run(plan, "outcomes: [{takes: 1}]", odds=SHAKEN, seed=seed)
        assert ran.status == "completed"
        assert (len(ran.of("loop.done")), len(ran.of("next.selected")), ran.ran("once")) == (1, 1, 1)


def test_scenario_4_a_late_report_of_the_first_pass_changes_nothing_of_the_second() -> None:
    """Iteration 1 of pass 1 is cut by the step's time limit; what its worker says later is refused as stale."""
    ran = run(
        """
workflow:
  - step: start
    spec: {policy: {lifecycle: {timeout_s: 2}}}
    loop: {in: "{{ [1, 2] }}", iterator: n, spec: {mode: parallel}}
    tool: {name: t, kind: python, code: "result = 1"}
    next:
      arcs: [{step: start, when: "{{ event.status == 'error' }}"}, {step: done, args: {got: "{{ event.result }}"}}]
  - {step: done, tool: {kind: noop, args: {got: "{{ args.got }}"}}}
""",
        """
outcomes:
  - {step: start, run: 1, index: 1, takes: 9, outcome: {result: stale}}
  - {step: start, run: 1, takes: 1, outcome: {result: old}}
  - {step: start, run: 2, index: 0, takes: 1, outcome: {result: new0}}
  - {step: start, run: 2, index: 1, takes: 1, outcome: {result: new1}}
""",
        odds=SHAKEN,
        seed=4,
    )
    assert ran.status == "completed"
    assert ran.execution.last_result == {"got": ["new0", "new1"]}
    assert [event.run for event in ran.of("loop.done")] == ["2"]


@pytest.mark.parametrize(
    ("payload", "found"), [({"maybe": None}, "null"), ({"maybe": 7}, "a number"), ({}, "undefined")]
)
def test_scenario_6_a_loop_over_no_list_fails_at_once(payload: dict[str, object], found: str) -> None:
    ran = run(
        """
workflow:
  - {step: start, next: {arcs: [{step: bad}]}}
  - {step: bad, loop: {in: "{{ workload.maybe }}", iterator: x}, tool: {kind: noop}}
""",
        payload=payload,
    )
    assert ran.status == "failed" and not ran.of("loop.started")
    error = ran.execution.failure
    assert error is not None and error["step"] == "bad"
    assert found in str(error["message"]) and "workload.maybe" in str(error["message"])


@pytest.mark.parametrize("count", [3, 12])
def test_scenario_8_results_stand_in_index_order_whoever_ends_first(count: int) -> None:
    """More than ten items too: index 10 stands behind 9."""
    outcomes = "".join(f"  - {{index: {n}, takes: {count - n}, outcome: {{result: {n}}}}}\n" for n in range(count))
    ran = run(
        f"""
workflow:
  - step: start
    loop: {{in: "{{{{ range({count}) | list }}}}", iterator: d, spec: {{mode: parallel}}}}
    tool: {{name: t, kind: python, code: "result = 1"}}
    next: {{arcs: [{{step: show, args: {{seen: "{{{{ event.result }}}}"}}}}]}}
  - {{step: show, tool: {{kind: noop, args: {{seen: "{{{{ args.seen }}}}", again: "{{{{ start }}}}"}}}}}}
""",
        f"outcomes:\n{outcomes}",
    )
    ends = [event.run for event in ran.of("loop.iteration.done")]
    assert ends == [f"1/{n}" for n in reversed(range(count))]
    assert ran.execution.last_result == {"seen": list(range(count)), "again": list(range(count))}


def test_scenario_10_every_slot_comes_back_after_failures_and_delays() -> None:
    """A third fails; every fourth stands in a retry delay first, which holds its slot of the loop, not of a worker."""
    ran = run(
        """
workflow:
  - step: start
    spec: {policy: {failure: {mode: best_effort}}}
    loop: {in: "{{ range(20) | list }}", iterator: n, spec: {mode: parallel, max_in_flight: 2}}
    tool:
      name: t
      kind: http
      url: "http://x"
      spec:
        policy:
          rules:
            - {when: "{{ iter.n % 4 == 0 and outcome.status == 'ok' }}", then: {do: retry, attempts: 2, delay: 3}}
            - {when: "{{ iter.n % 3 == 0 }}", then: {do: fail}}
            - {else: {then: {do: continue}}}
""",
        "outcomes: [{attempt: 1, takes: 1}, {takes: 1, outcome: {status: error}}]",
    )
    assert ran.status == "completed"
    stats = ran.of("loop.done")[0].data["stats"]
    assert stats == {"total": 20, "ok": 13, "failed": 7, "skipped": 0}
    busy, history = 0, []
    for event in ran.log:
        if event.event_type.startswith("loop.iteration."):
            busy += 1 if event.event_type.endswith("started") else -1
            history.append((event.ts, busy))
    assert max(count for _, count in history) == 2 and history[-1][1] == 0
    by_time = dict(history)
    assert set(list(by_time.values())[:-2]) == {2}, "two run at any time while there is work"


def test_scenario_12_the_items_are_frozen_when_the_loop_starts() -> None:
    ran = run(f"""
workflow:
  - step: start
    loop: {{in: "{{{{ ctx.queue | default([1,2]) }}}}", iterator: n}}
    tool: {{name: push, kind: noop, {CONTINUE % 'queue: "{{ (ctx.queue | default([1,2])) + [99] }}"'}}}
""")
    assert ran.of("loop.started")[0].data["items"] == [1, 2]
    assert len(ran.of("loop.iteration.done")) == 2
    assert ran.execution.ctx == {"queue": [1, 2, 99, 99]}


def test_scenario_14_two_iterations_that_write_one_key_conflict() -> None:
    for seed in range(5):
        ran = run(
            f"""
workflow:
  - step: start
    loop: {{in: "{{{{ [1, 2, 3] }}}}", iterator: n, spec: {{mode: parallel}}}}
    tool: {{name: t, kind: http, url: "http://x", {CONTINUE % 'last: "{{ iter.n }}"'}}}
""",
            "outcomes: [{takes: 1}]",
            odds=SHAKEN,
            seed=seed,
        )
        assert ran.status == "failed" and ran.execution.failure is not None
        patches = [event.data["patch"] for event in ran.of("ctx.patched")]
        assert patches == [ran.execution.ctx], "the first committed value stays"
        error = ran.execution.failure
        assert error["code"] == "ctx.conflict" and error["key"] == "last"
        first = ran.execution.ctx["last"]
        assert isinstance(first, int) and error["iterations"][0] == first - 1  # type: ignore[index,call-overload]


def test_scenario_18_every_item_is_handed_out() -> None:
    plan = compiled("""
workflow:
  - step: start
    loop: {in: "{{ range(300) | list }}", iterator: n, spec: {mode: parallel, max_in_flight: 100}}
    tool: {name: t, kind: http, url: "http://x"}
""")
    for seed in range(3):
        ran = run(plan, "outcomes: [{takes: 1}]", odds=Odds(reordered=0.5, delayed=0.3), seed=seed, slots=64)
        assert ran.status == "completed"
        assert len(ran.of("loop.iteration.started")) == len(ran.of("loop.iteration.done")) == 300
        assert len(ran.of("loop.done")) == 1
