"""Compensation (EXTENSIONS §1): which runs are undone, in which order, what they are told, and what becomes of it."""

from typing import Any

import pytest

from harness.running import Ran, resume_prefix, run

SAGA = """
executor: {spec: {finally: last EXECUTOR}}
workflow:
  - {step: start, next: {arcs: [{step: flight}]}}
  - step: flight
    spec: {policy: {compensate: undo}}
    tool: {kind: http, url: "http://x/flight"}
    next: {arcs: [{step: rooms, args: {nights: 2}}]}
  - step: rooms
    spec: {policy: {compensate: HOW}}
    loop: {in: "{{ [7, 8, 9] }}", iterator: room}
    tool: {kind: http, url: "http://x/{{ iter.room }}"}
    next: {arcs: [{step: car}]}
  - {step: car, tool: {kind: http, url: "http://x/car"}}
  - step: undo
    tool: {name: u, kind: http, url: "http://x/undo"}
    next: {arcs: [{step: noted, args: {told: "{{ args }}"}}]}
  - {step: noted, tool: {name: n, kind: noop, result: "{{ args.told }}"}}
  - {step: last, tool: {name: l, kind: http, url: "http://x/last"}}
"""
FAILS = "{step: car, takes: 1, outcome: {status: error}}"
UNDONE = (
    "{step: flight, outcome: {result: F}}, {step: rooms, index: 0, outcome: {result: 70}}, {step: rooms, takes: 1}, "
    "{step: undo, takes: 1}, {step: last}"
)


def saga(how: str = "undo", more: str = "") -> str:
    """The playbook, with how the rooms are undone and what else its executor says."""
    return SAGA.replace("HOW", how).replace(" EXECUTOR", more)


def script(*first: str) -> str:
    """The outcomes, those that are named first before the others."""
    return f"outcomes: [{', '.join([*first, UNDONE])}]"


def told(ran: Ran) -> list[Any]:
    """The args of each compensation that came to its end, in order."""
    tasks = ran.program.plan.tasks
    return [event.data["result"] for event in ran.of("task.done") if tasks[event.task].name == "n"]


def undone(ran: Ran) -> list[tuple[Any, Any]]:
    """The step and the index of each run that was undone, in order."""
    return [(event.data["step"], event.data["run"].partition("/")[2]) for event in ran.of("compensation.started")]


ALL = [("rooms", "2"), ("rooms", "1"), ("rooms", "0"), ("flight", "")]


def test_what_is_done_is_undone_from_the_newest_to_the_oldest() -> None:
    ran = run(saga(), script(FAILS))
    assert (ran.status, undone(ran)) == ("failed", ALL)
    names = [ran.program.plan.steps[event.step].name for event in ran.of("step.started")]
    assert names == ["start", "flight", "rooms", "car", *["undo", "noted"] * 4, "last"]
    assert [row["phase"] for row in ran.execution.after] == ["compensation", "finally"]
    rooms, flight = told(ran)[2], told(ran)[3]
    for args in (rooms, flight):
        args["result"] = args["result"]["data"]
    assert rooms == {"status": "done", "result": 70, "args": {"nights": 2}, "iter": {"room": 7, "index": 0}, "index": 0}
    assert flight == {"status": "done", "result": "F", "args": {}, "iter": {}, "index": None}


def test_a_main_that_completes_is_not_undone() -> None:
    ran = run(saga(), script("{step: car}"))
    assert (ran.status, undone(ran), ran.ran("last")) == ("completed", [], 1)


@pytest.mark.parametrize(
    ("more", "count"),
    [
        ("", 4),
        (", compensate_on: [failed]", 4),
        (", compensate_on: cancelled", 0),
        (", compensate_on: []", 0),
        (", compensate_on: null", 4),
    ],
)
def test_the_ends_that_are_undone_are_named(more: str, count: int) -> None:
    ran = run(saga(more=more), script(FAILS))
    assert (ran.status, len(undone(ran)), ran.ran("last")) == ("failed", count, 1)


def test_what_a_cancel_cuts_short_is_undone_where_it_only_started() -> None:
    for how, first in (("undo", []), ("{step: undo, on: started}", [("rooms", "1")])):
        ran = run(saga(how), script("{step: rooms, index: 1, takes: 9}"), at={2.0: "cancel"})
        assert (ran.status, undone(ran)) == ("cancelled", [*first, ("rooms", "0"), ("flight", "")])
        if first:
            assert (told(ran)[0]["status"], told(ran)[0]["result"], told(ran)[0]["iter"]["room"]) == (
                "stopped",
                None,
                8,
            )


def test_what_failed_is_undone_where_it_only_started() -> None:
    bad = "{step: rooms, index: 1, takes: 1, outcome: {status: error}}"
    for how, first in (("undo", []), ("{step: undo, on: started}", [("rooms", "1")])):
        ran = run(saga(how), script(bad))
        assert (ran.status, undone(ran)) == ("failed", [*first, ("rooms", "0"), ("flight", "")])
        if first:
            assert told(ran)[0]["status"] == "failed"


def test_a_compensation_that_fails_is_told_and_the_others_still_run() -> None:
    ran = run(saga(), script(FAILS, "{step: undo, run: 2, outcome: {status: error}}"))
    assert (undone(ran), len(told(ran))) == (ALL, 3)
    assert [event.data["status"] for event in ran.of("compensation.done")] == [
        "completed",
        "failed",
        *["completed"] * 2,
    ]
    row = ran.execution.after[0]
    assert isinstance(row, dict) and (row["status"], row["error"]["step"]) == ("failed", "undo")  # type: ignore[index, call-overload]
    assert (ran.execution.failure or {})["step"] == "car" and ran.ran("last") == 1


def test_one_time_limit_bounds_all_compensations() -> None:
    ran = run(saga(more=", policy: {lifecycle: {after_s: 2.5}}"), script(FAILS))
    row = ran.execution.after[0]
    assert isinstance(row, dict) and (row["status"], row["left"]) == ("failed", 1)
    assert (undone(ran), ran.ran("last")) == (ALL[:3], 1)


def test_a_cancel_by_hand_ends_compensation_and_skips_the_rest() -> None:
    ran = run(saga(), script(FAILS), at={5.5: "cancel"})
    row = ran.execution.after[0]
    assert isinstance(row, dict) and (row["status"], row["left"], ran.ran("last")) == ("cancelled", 1, 0)
    assert (ran.status, len(ran.execution.after)) == ("failed", 1)


def test_a_pause_holds_the_next_one_back() -> None:
    ran = run(saga(), script(FAILS), at={4.5: "pause", 50.0: "resume"})
    assert (ran.status, undone(ran), ran.of("compensation.started")[2].ts) == ("failed", ALL, 50_000_000)


def test_a_blocked_main_is_undone() -> None:
    ran = run(saga().replace('kind: http, url: "http://x/car"', "kind: wait"), script())
    assert (ran.status, undone(ran)) == ("blocked", ALL)


@pytest.mark.parametrize("how", ["undo", "{step: undo, on: started}"])
def test_it_goes_on_after_a_crash_at_any_commit(how: str) -> None:
    outcomes = script(FAILS)
    whole = run(saga(how), outcomes)
    for length in whole.commits[:-1]:
        resumed = resume_prefix(whole, length, outcomes)
        assert (resumed.status, undone(resumed)) == ("failed", ALL), length


def test_a_cycle_is_undone_round_by_round() -> None:
    text = """
workflow:
  - step: start
    spec: {policy: {compensate: undo}}
    tool:
      - {name: t, kind: noop, result: "{{ ctx.n | default(0) }}"}
      - name: u
        kind: noop
        spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {n: "{{ ctx.n | default(0) + 1 }}"}}}}]}}
    next: {arcs: [{step: start, when: "{{ ctx.n < 3 }}"}, {step: bad}]}
  - {step: bad, tool: {kind: fail, code: bad}}
  - {step: undo, tool: {kind: noop, args: {run: "{{ ctx.n }}"}}}
"""
    ran = run(text, "outcomes: [{step: bad}]")
    assert (ran.status, undone(ran), [row["status"] for row in ran.execution.after if isinstance(row, dict)]) == (
        "failed", [("start", "")] * 3, ["completed"],
    )  # fmt: skip


@pytest.mark.parametrize("what", ["step", "iteration", "execution"])
def test_what_runs_out_of_time_is_undone_where_it_only_started(what: str) -> None:
    spec = {"step": "lifecycle: {timeout_s: 3}, "}.get(what, "")
    each = "spec: {policy: {lifecycle: {timeout_s: 3}}}, " if what == "iteration" else ""
    above = "executor: {spec: {policy: {lifecycle: {timeout_s: 3}}}}" if what == "execution" else ""
    text = f"""
{above}
workflow:
  - step: start
    spec: {{policy: {{{spec}compensate: {{step: undo, on: started}}}}}}
    loop: {{in: [1, 2], iterator: i, {each}}}
    tool: {{name: t, kind: http, url: "http://x/"}}
  - {{step: undo, tool: {{kind: http, url: "http://x/undo"}}}}
"""
    ran = run(text, "outcomes: [{step: start, takes: 9}, {step: undo, takes: 1}]")
    # The second one waited for the first, and never began.
    assert (ran.status, undone(ran), ran.log[-1].ts) == ("failed", [("start", "0")], 4_000_000)


CALLED_OFF = """
executor: {spec: {finally: fi, policy: {lifecycle: {after_s: AFTER}}}}
workflow:
  - step: start
    spec: {policy: {compensate: undo}}
    loop: {in: ITEMS, iterator: i}
    next: {arcs: [{step: bad}]}
  - {step: bad, tool: {kind: fail, code: q}}
  - {step: undo, tool: {kind: playbook, path: t/c, spec: {timeout: LIMIT}}}
  - {step: fi}
---
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: c, path: t/c}
executor: {spec: {entry_step: c0, finally: c2}}
workflow:
  - {step: c0, tool: {kind: http, url: "http://x"}}
  - {step: c2, tool: {kind: http, url: "http://x"}}
"""
LONG: dict[str, Any] = {
    "outcomes": [
        {"step": "c0", "takes": 50, "outcome": {"result": 1}},
        {"step": "c2", "takes": 3, "outcome": {"result": 1}},
    ]
}


@pytest.mark.parametrize(
    ("items", "limit", "after", "at", "phases", "over"),
    [
        # Each child is called off after 2 s, and has a phase of its own of 3 s, for which the next one waits.
        ("[1]", "2", "60", {}, [("compensation", "failed"), ("finally", "completed")], 5),
        ("[1, 2]", "2", "60", {}, [("compensation", "failed"), ("finally", "completed")], 10),
        # The time of all compensations is over while the first child runs: nobody undoes what is left.
        ("[1, 2]", "40", "4", {}, [("compensation", "failed"), ("finally", "completed")], 7),
        # A cancel by hand skips the rest, and a pause holds the next phase back.
        ("[1]", "2", "60", {3.5: "cancel"}, [("compensation", "cancelled")], 5),
        ("[1]", "2", "60", {3.5: "pause", 9: "resume"}, [("compensation", "failed"), ("finally", "completed")], 9),
    ],
)
def test_the_last_one_waits_for_the_phases_of_children_that_it_called_off(
    items: str, limit: str, after: str, at: dict[float, str], phases: list[tuple[str, str]], over: int
) -> None:
    text = CALLED_OFF.replace("ITEMS", items).replace("LIMIT", limit).replace("AFTER", after)
    ran = run(text, LONG, at=at)
    assert not ran.faults
    [end] = ran.of("workflow.finished")
    told: Any = end.data["after"]
    assert [(row["phase"], row["status"]) for row in told] == phases
    assert end.ts == over * 1_000_000
