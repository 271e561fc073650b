"""`wait` (LANGUAGE §7): signals before, during and after it, timers, limits, pause, crash, and when it is blocked."""

import signal
import time
from pathlib import Path
from typing import Any

import pytest

from harness.killing import finish, left_in, process
from harness.running import HEAD, Ran, compiled, resume_prefix, run
from noetl.app.composition import driver_of
from noetl.app.picture import rows_of
from noetl.app.runtime import Settings, open_runtime
from noetl.engine.starting import Request
from noetl_ir.kinds.wait import moment_of
from noetl_ir.plan_format import read_plan, write_plan

GO = "{name: w, kind: wait, events: [go]}"
SLEEP = '{name: a, kind: http, url: "http://x"}'
FIVE = "outcomes: [{task: a, takes: 5}]\n"


def tasks(*rows: str) -> str:
    """A playbook of one step with these tasks."""
    return f"workflow:\n  - step: start\n    tool: [{', '.join(rows)}]\n"


def sent(*at: tuple[float, str, int]) -> str:
    """The signals of a script."""
    return "signals: [" + ", ".join(f"{{at: {time}, name: {name}, data: {data}}}" for time, name, data in at) + "]"


def woken(ran: Ran) -> list[tuple[int, Any, Any]]:
    """(seconds, name, data) of each wait that ended well, in the order in which they did."""
    numbers = [number for number, task in enumerate(ran.program.plan.tasks) if task.kind == "wait"]
    ends = [event for event in ran.of("task.done") if event.task in numbers and event.data["status"] == "ok"]
    results: list[Any] = [event.data["result"] for event in ends]
    return [(event.ts // 1_000_000, row["name"], row["data"]) for event, row in zip(ends, results, strict=True)]


@pytest.mark.parametrize(
    ("text", "script", "expected"),
    [
        (tasks(SLEEP, GO), FIVE + sent((1, "go", 1)), [(5, "go", 1)]),
        (tasks(GO), sent((3, "go", 1)), [(3, "go", 1)]),
        (tasks(GO, SLEEP), FIVE + sent((3, "go", 1), (4, "go", 2)), [(3, "go", 1)]),
        (tasks(GO), sent((3, "other", 1), (4, "go", 2)), [(4, "go", 2)]),
        (tasks(GO, GO.replace("name: w", "name: v")), sent((3, "go", 1), (3, "go", 2)), [(3, "go", 1), (3, "go", 2)]),
        (tasks("{name: w, kind: wait, events: go}"), sent((3, "go", 1)), [(3, "go", 1)]),
        (tasks("{name: w, kind: wait, events: ['go-{{ execution_id }}']}"), sent((3, "go-e1", 1)), [(3, "go-e1", 1)]),
        (tasks("{name: w, kind: wait, events: [a, go]}"), sent((3, "go", 1), (4, "a", 2)), [(3, "go", 1)]),
    ],
    ids=["before", "during", "after", "another", "in order", "text", "template", "several"],
)
def test_a_signal_wakes_the_wait_that_listens(text: str, script: str, expected: list[Any]) -> None:
    ran = run(text, script)
    assert ran.status == "completed" and woken(ran) == expected


def test_of_two_waits_for_one_name_the_older_one_wakes() -> None:
    ran = run(
        """
workflow:
  - {step: start, next: {spec: {mode: inclusive}, arcs: [{step: old, spec: {delay: 1}}, {step: new, spec: {delay: 2}}]}}
  - {step: new, tool: {name: w, kind: wait, events: [go]}}
  - {step: old, tool: {name: w, kind: wait, events: [x, go]}}
""",
        sent((3, "go", 1), (4, "go", 2)),
    )
    assert [(event.data["result"], event.ts) for event in ran.of("task.done", "old")] == [
        ({"name": "go", "data": 1}, 3_000_000)
    ]
    assert woken(ran) == [(3, "go", 1), (4, "go", 2)]


def test_iterations_wait_each_for_its_own() -> None:
    ran = run(
        """
workflow:
  - step: start
    loop: {in: "{{ [1, 2, 3] }}", iterator: i, spec: {mode: parallel}}
    tool: {name: w, kind: wait, events: ["go{{ i % 2 }}"]}
""",
        sent((3, "go1", 1), (4, "go0", 2), (5, "go1", 3)),
    )
    assert [entry["data"] for entry in ran.execution.last_result.entries] == [1, 2, 3]  # type: ignore[attr-defined]


TIMER = "{name: w, kind: wait, events: [go], timers: {late: 9, soon: '{{ 1 + 1 }}', last: 5m}}"


def test_the_first_timer_ends_a_wait_and_the_others_are_gone() -> None:
    ran = run(tasks(TIMER, SLEEP), "outcomes: [{task: a, takes: 20}]")
    assert woken(ran) == [(2, "soon", {"timer_id": "soon"})]
    old = write_plan(read_plan(compiled(tasks(TIMER, SLEEP)))._replace(edition=1))
    assert woken(run(old, "outcomes: [{task: a, takes: 20}]")) == [(2, "timer.fired", {"timer_id": "soon"})]
    assert len(ran.of("timer.fired")) == 1 and ran.log[-1].ts == 22_000_000


def test_a_signal_at_the_time_of_a_timer_ends_the_wait_once() -> None:
    ran = run(tasks(TIMER), sent((2, "go", 1)))
    assert ran.status == "completed" and len(woken(ran)) == 1
    assert not ran.execution.timers and not ran.execution.waits


RULE = "policy: {rules: [{when: \"{{ outcome.error.code == 'timeout' }}\", then: {do: retry, attempts: 3, delay: 1}}]}"


def test_the_limit_of_a_task_is_an_error_that_the_rules_see() -> None:
    """3 s, a second's delay, 3 s, a second's delay: the third attempt waits from 8 s on."""
    text = tasks("{name: w, kind: wait, events: [go], spec: {timeout: 3, " + RULE + "}}")
    ran = run(text, sent((8.5, "go", 1)))
    assert [event.ts for event in ran.of("retry.started")] == [3_000_000, 7_000_000]
    assert woken(ran) == [(8, "go", 1)] and ran.of("task.done")[0].attempt == 3
    failed = run(tasks("{name: w, kind: wait, events: [go], spec: {timeout: 3}}"))
    assert failed.execution.failure is not None and failed.execution.failure["code"] == "timeout"


def test_the_limit_of_a_step_ends_its_wait() -> None:
    text = f"workflow:\n  - {{step: start, spec: {{policy: {{lifecycle: {{timeout_s: 4}}}}}}, tool: {GO}}}\n"
    ran = run(text)
    assert ran.status == "failed" and ran.log[-1].ts == 4_000_000
    assert not ran.execution.waits and not ran.execution.parked


@pytest.mark.parametrize("best_effort", [False, True])
def test_a_failure_elsewhere_drops_a_wait(best_effort: bool) -> None:
    spec = "executor: {spec: {policy: {failure: {mode: best_effort}}}}\n" if best_effort else ""
    ran = run(
        spec
        + """
workflow:
  - {step: start, next: {spec: {mode: inclusive}, arcs: [{step: w}, {step: b}]}}
  - {step: w, tool: {name: w, kind: wait, events: [go], timers: {t: 50}}}
  - {step: b, tool: {name: a, kind: http, url: "http://x"}}
""",
        "outcomes: [{task: a, takes: 5, outcome: {status: error}}]",
    )
    assert ran.status == "failed" and ran.log[-1].ts == (50_000_000 if best_effort else 5_000_000)


@pytest.mark.parametrize(
    ("task", "script", "end"), [(GO, sent((3, "go", 1)), 10), (TIMER, "", 10), (GO, sent((20, "go", 1)), 20)]
)
def test_a_pause_keeps_signals_and_lets_timers_fire_after_it(task: str, script: str, end: int) -> None:
    ran = run(tasks(task), script, at={1: "pause", 10: "resume"})
    assert ran.status == "completed" and woken(ran)[0][0] == end


@pytest.mark.parametrize(
    ("text", "signals"),
    [
        (tasks(GO), [(9, "go", 1)]),
        (tasks(TIMER), []),
        (tasks(SLEEP, GO), [(1, "go", 1)]),
        (tasks(GO, SLEEP, GO.replace("name: w", "name: v")), [(1, "go", 1), (3, "go", 2)]),
    ],
    ids=["signal", "timer", "before", "kept"],
)
def test_a_wait_goes_on_after_a_crash_at_any_commit(text: str, signals: list[tuple[float, str, int]]) -> None:
    whole = run(text, FIVE + sent(*signals))
    for length in whole.commits[:-1]:
        resumed = resume_prefix(whole, length, FIVE + sent(*signals))
        assert resumed.status == "completed" and resumed.execution.last_result == whole.execution.last_result
        assert [data for _, _, data in woken(resumed)] == [data for _, _, data in woken(whole)]


def test_a_killed_process_keeps_the_times_of_its_timers(tmp_path: Path) -> None:
    plan = compiled(HEAD + tasks("{name: w, kind: wait, timers: {t: 1}}"))
    with process(tmp_path, plan) as child:
        time.sleep(0.6)
        child.send_signal(signal.SIGKILL)
    assert finish(tmp_path, plan) == "completed"
    log = left_in(tmp_path).log
    started = next(event for event in log if event.event_type == "task.started")
    fired = next(event for event in log if event.event_type == "timer.fired")
    assert started.data["timers"] == {"t": started.ts + 1_000_000} and fired.ts >= started.ts + 1_000_000
    assert sum(event.event_type == "task.started" for event in log) == 1, "a parked task is not started again"


def test_a_signal_that_comes_while_nobody_drives_the_run_is_kept(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'x.db'}"
    with open_runtime(url, Settings(), lambda path: (b"", {})) as runtime:
        program = runtime.programs.add_plan(compiled(tasks(GO)))

        def observe(execution: object, plan: object, event: Any) -> None:
            if event.event_type == "task.started":
                runtime.store.post("e1", "pause", None)

        with driver_of(runtime, "e1", observe) as driver:
            assert driver.embedded.start(program, "e1", Request({})) == "paused"
        runtime.store.post("e1", "signal", {"name": "go", "data": [1]})
        runtime.store.post("e1", "signal", {"name": "go", "data": [2]})
        with driver_of(runtime, "e1", lambda *_: None) as driver:
            assert driver.embedded.resume(program, "e1") == "completed"
            assert driver.execution.last_result == {"name": "go", "data": [1]}
            assert [(kept.name, kept.data) for kept in driver.execution.signals] == [("go", [2])]


@pytest.mark.parametrize("fields", ["", ", events: []", ", timers: {}", ", events: [], timers: {}"])
def test_a_wait_for_nothing_is_blocked_with_the_reason(fields: str) -> None:
    ran = run(tasks(f"{{name: w, kind: wait{fields}}}"))
    assert ran.status == "blocked" and "`wait` of step `start`" in str(ran.of("workflow.finished")[0].data["reason"])


def test_a_run_is_not_blocked_while_a_signal_may_come_and_is_after_the_last_one() -> None:
    text = """
workflow:
  - {step: start, next: {spec: {mode: inclusive}, arcs: [{step: w}, {step: j}]}}
  - {step: w, tool: {name: w, kind: wait, events: [go]}, next: {arcs: [{step: j, when: "{{ false }}"}]}}
  - {step: j, spec: {policy: {join: all}}}
"""
    assert run(text).status == "interrupted", "the script sends none, and somebody else might"
    blocked = run(text, sent((3, "go", 1)))
    assert blocked.status == "blocked" and blocked.log[-1].ts == 3_000_000


def test_a_signal_opens_a_gate_through_ctx() -> None:
    rule = 'policy: {rules: [{else: {then: {do: continue, set_ctx: {k: "{{ outcome.result.data }}"}}}}]}'
    ran = run(
        f"""
workflow:
  - {{step: start, next: {{spec: {{mode: inclusive}}, arcs: [{{step: w}}, {{step: j}}]}}}}
  - {{step: w, tool: {{name: w, kind: wait, events: [go], spec: {{{rule}}}}}}}
  - step: j
    spec: {{policy: {{admit: {{on_deny: wait, rules: [{{when: "{{{{ ctx.k }}}}", then: {{allow: true}}}}]}}}}}}
    tool: {{kind: noop, args: {{k: "{{{{ ctx.k }}}}"}}}}
""",
        sent((3, "go", 9)),
    )
    assert ran.status == "completed" and ran.result("j") == {"k": 9}


@pytest.mark.parametrize("events", ["17", "[go, 3]", "true", "{a: 1}"])
def test_names_that_are_none_are_a_fault_of_the_task(events: str) -> None:
    ran = run(
        f"workload: {{e: {events}}}\n"
        "workflow:\n"
        '- {step: start, tool: {kind: wait, events: "{{ workload.e }}", timers: {late: 1}}, next: {arcs: [\n'
        """    {step: told, when: "{{ event.error.code == 'task.fields' }}"}]}}\n"""
        "- {step: told}\n"
    )
    assert (ran.status, ran.ran("told")) == ("completed", 1)
    message = str(ran.of("step.failed", "start")[0].data["error"]["message"])  # type: ignore[index,call-overload]
    assert message.startswith("task `start_task`: field 'events' must be name or list of names, not ")


LIVE = "{name: w, kind: wait, events: [go], transient: true}"
EACH = f"""
workflow:
  - step: start
    loop: {{in: "{{{{ [1, 2] }}}}", iterator: i, spec: {{mode: parallel}}}}
    tool: {LIVE}
"""


@pytest.mark.parametrize(
    ("text", "signals", "expected", "missed"),
    [
        (tasks(LIVE), [(3, "go", 1)], [(3, "go", 1)], []),
        # Its token comes at 5: what was there before is nothing to it, and nobody else is there for it.
        (tasks(SLEEP, LIVE), [(4, "go", 1), (6, "go", 2)], [(6, "go", 2)], [(4, "go")]),
        # What it does not hear is kept for the plain wait behind it.
        (
            tasks(SLEEP, LIVE, GO.replace("name: w", "name: v")),
            [(4, "go", 1), (6, "go", 2)],
            [(6, "go", 2), (6, "go", 1)],
            [],
        ),
        # Both are there for both signals, and each takes one.
        (EACH, [(3, "go", 1), (3, "go", 2)], [(3, "go", 1), (3, "go", 2)], []),
        # A name that is computed may be any: nothing is missed that a plain wait might still ask for.
        (tasks(LIVE, "{name: v, kind: wait, events: ['s{{ _prev.data }}']}"), [(1, "s1", 9), (3, "go", 1)],
         [(3, "go", 1), (3, "s1", 9)], []),
        (tasks(LIVE), [(1, "other", 1), (3, "go", 1)], [(3, "go", 1)], [(1, "other")]),
    ],
    ids=["heard", "early", "kept for another", "each", "computed", "unknown"],
)  # fmt: skip
def test_a_transient_wait_hears_what_comes_while_it_is_next(
    text: str, signals: list[tuple[float, str, int]], expected: list[Any], missed: list[Any]
) -> None:
    whole = run(text, FIVE + sent(*signals))
    assert whole.status == "completed" and woken(whole) == expected
    assert [(event.ts // 1_000_000, event.data["name"]) for event in whole.of("signal.missed")] == missed
    # A call that was cut off takes its five seconds again, and more signals come before its wait.
    for length in whole.commits[:-1] if SLEEP not in text else ():
        resumed = resume_prefix(whole, length, FIVE + sent(*signals))
        assert [data for _, _, data in woken(resumed)] == [data for _, _, data in woken(whole)]


def test_a_transient_wait_hears_from_when_its_token_is_there_and_not_from_when_a_worker_begins_it() -> None:
    ran = run(tasks(SLEEP, LIVE), FIVE + sent((6, "go", 1)), at={1: "pause", 10: "resume"})
    assert ran.status == "completed" and woken(ran) == [(10, "go", 1)]


def test_a_transient_wait_hears_nothing_in_the_delay_before_it_is_tried_again() -> None:
    """3 s, a second's delay until 4: what comes at 3.5 is missed."""
    text = tasks("{name: w, kind: wait, events: [go], transient: true, spec: {timeout: 3, " + RULE + "}}")
    ran = run(text, sent((3.5, "go", 1), (4.5, "go", 2)))
    assert woken(ran) == [(4, "go", 2)] and len(ran.of("signal.missed")) == 1


def test_what_nothing_hears_any_more_is_missed_when_the_last_wait_for_it_has_ended() -> None:
    text = tasks("{name: w, kind: wait, events: [go, stop], transient: true}", SLEEP)
    ran = run(text, FIVE + sent((3, "go", 1), (3, "stop", 2)))
    assert woken(ran) == [(3, "go", 1)] and [event.data["name"] for event in ran.of("signal.missed")] == ["stop"]
    # Without a transient wait every signal is kept, as it always was.
    plain = run(tasks(GO, SLEEP), FIVE + sent((3, "go", 1), (3, "stop", 2)))
    assert not plain.of("signal.missed") and [kept.name for kept in plain.execution.signals] == ["stop"]


# Seconds since the epoch by `date -u -d TIME +%s`.
@pytest.mark.parametrize(
    ("text", "seconds", "named"),
    [
        ("2026-03-01T09:00:00+01:00", 1772352000, True),
        ("2026-03-01 09:00:00.25-05:30", 1772375400.25, True),
        ("2026-03-01t09:00:00z", 1772355600, True),
        ("2026-03-01T09:00", 1772355600, False),
        (" 2026-03-01 ", 1772323200, False),
        ("20260301T090000Z", 1772355600, True),
        ("1969-12-31T23:59:59Z", 0, True),
        ("9999-12-31T23:59:59-12:00", 253402343999, True),
    ],
)
def test_a_time_of_day_is_a_moment(text: str, seconds: float, named: bool) -> None:
    assert moment_of(text) == (round(seconds * 1_000_000), named)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "soon",
        "12:00",
        "2026-02-30T00:00:00Z",
        "2026-03-01T09:00:00+24:00",
        "2026-03-01T09:00:00Z01",
        "2026-03-01T09:00+",
        "2026-03-01T09:00:60Z",
        "0000-01-01T00:00Z",
        "2026-13-01",
        "1" * 100,
        5,
        None,
        True,
        ["2026-03-01"],
    ],
)
def test_what_is_no_time_is_no_moment(value: Any) -> None:
    assert moment_of(value) is None


def test_the_timer_of_a_time_of_day_follows_the_wall_clock_and_a_length_of_time_does_not() -> None:
    text = tasks("{name: w, kind: wait, timers: {day: {at: '1970-01-01T00:00:30Z'}, length: 40}}")
    ran = run(text, "outcomes: []", at={1: "pause", 50: "resume"})
    assert woken(ran) == [(50, "day", {"timer_id": "day"})]
    timers = "{day: {at: '2999-01-01T00:00:00Z'}, length: 1000000000}"
    parked = run(tasks(f"{{name: w, kind: wait, events: [go], timers: {timers}}}"), "", at={1: "cancel"})
    started = parked.of("task.started")[0]
    assert started.data["timers"] == {"day": 32472144000_000_000, "length": 1_000_000_000_000_000}


def test_status_lists_the_signals_that_are_kept() -> None:
    ran = run(
        tasks("{name: w, kind: wait, events: [go], timers: {t: 9}}"),
        sent((1, "other", 1), (2, "more", 2), (2, "other", 3)),
        at={4: "pause"},
    )
    rows = [row.as_json() for row in rows_of(ran.program, ran.execution) if row.what == "signal"]
    assert rows == [{"what": "signal", "signal": "other", "count": 2}, {"what": "signal", "signal": "more", "count": 1}]
