"""The scripts of refuted verdicts replay: `noetl run --script` goes where the story says."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from nets import HEAD, plan_of, steps
from noetlc.analysis.report import report_of
from noetlc.analysis.script import script_of
from noetlc.analysis.verdict import Status, Verdict

STARVED = steps(
    "step: start, next: {arcs: [{step: a, when: \"{{ workload.kind in ['x', 'y'] }}\"}, {step: b}]}",
    'step: a, tool: {kind: http, url: "http://x"}, '
    'next: {arcs: [{step: j, when: "{{ event.result.count > 3 }}"}, {step: c}]}',
    "step: b, next: {arcs: [{step: j}]}",
    'step: c, next: {arcs: [{step: j, when: "{{ a.count == 2 and ctx.seen }}"}]}',
    "step: j, spec: {policy: {join: all}}",
)
POLICY = steps(
    "step: start, tool: [{name: get, kind: http, url: 'http://x', spec: {policy: {rules: ["
    '{when: "{{ outcome.http.status == 429 }}", then: {do: retry, attempts: 4}},'
    '{when: "{{ outcome.http.status == 404 }}", then: {do: break, set_ctx: {missing: true}}},'
    "{else: {then: {do: continue}}}]}}}, {name: put, kind: noop}],"
    'next: {spec: {mode: inclusive}, arcs: [{step: a, when: "{{ ctx.missing }}"}, '
    '{step: b, when: "{{ not ctx.missing }}"}]}',
    "step: a, next: {arcs: [{step: j}]}",
    "step: b, next: {arcs: [{step: j}]}",
    "step: j, spec: {policy: {join: all}}",
)

SET = "spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {k: %d}}}}]}}"
WRITTEN_BETWEEN = "workload: {k: 1}\n" + steps(
    f"step: start, tool: {{kind: noop, {SET % 1}}}, "
    "next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}, {step: z}]}",
    f"step: z, tool: {{kind: noop, {SET % 2}}}",
    'step: a, next: {arcs: [{step: j, when: "{{ ctx.k == 1 }}"}]}',
    'step: b, next: {arcs: [{step: j, when: "{{ ctx.k == 1 }}"}]}',
    "step: j, spec: {policy: {join: all}}",
)

ERROR_READ = steps(
    "step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}",
    'step: a, tool: {kind: shell, command: "exit 3"}, next: {arcs: [{step: j}, '
    "{step: c, when: \"{{ event.name == 'step.failed' }}\", args: {why: '{{ event.error.message }}'}}]}",
    "step: b, next: {arcs: [{step: j}]}",
    "step: j, spec: {policy: {join: all}}",
    "step: c",
)

NEVER_WITHOUT_ERROR = steps(
    "step: start, tool: {kind: http, url: 'http://x', spec: {policy: {rules: ["
    "{when: \"{{ outcome.status == 'error' }}\", then: {do: fail}}, "
    '{when: "{{ outcome.error.retryable }}", then: {do: break, set_ctx: {bad: true}}}, '
    "{else: {then: {do: continue, set_ctx: {bad: false}}}}]}}}, "
    'next: {arcs: [{step: a, when: "{{ ctx.bad }}"}, {step: b}]}',
    "step: a, next: {arcs: [{step: j}]}",
    "step: b",
    "step: c, next: {arcs: [{step: j}]}",
    "step: j, spec: {policy: {join: all}}",
)
"""Of a success `error` is null, so that `a` never runs."""


def stories(body: str, *queries: str) -> list[Verdict]:
    return [each for each in report_of(plan_of(body), queries).verdicts if each.script is not None]


def replayed(body: str, verdict: Verdict, folder: Path) -> tuple[int, str]:
    """The exit code of the run, and its output."""
    done = run_of(body, verdict, folder)
    return done.returncode, done.stdout


def told(body: str, verdict: Verdict, folder: Path) -> list[str]:
    """The lines that the run tells of its steps."""
    return run_of(body, verdict, folder).stderr.splitlines()


def run_of(body: str, verdict: Verdict, folder: Path) -> subprocess.CompletedProcess[str]:
    assert verdict.script is not None
    (folder / "t.yaml").write_text(HEAD + body, encoding="utf-8")
    (folder / "script.json").write_text(json.dumps(verdict.script.document), encoding="utf-8")
    (folder / "payload.json").write_text(json.dumps(verdict.script.payload), encoding="utf-8")
    args = [
        "run",
        "t.yaml",
        "--script",
        "script.json",
        "--payload",
        "@payload.json",
        "--store",
        "sqlite:///s.db",
    ]
    return subprocess.run(
        [sys.executable, "-m", "noetl.cli", *args], cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    "body", [STARVED, POLICY, WRITTEN_BETWEEN, ERROR_READ], ids=["arcs", "policy", "written", "error"]
)
def test_each_way_to_get_stuck_is_replayed_and_blocks(body: str, tmp_path: Path) -> None:
    found = [each for each in stories(body) if each.question == "nothing can get stuck"]
    assert found and all(each.status is Status.REFUTED for each in found)
    for number, verdict in enumerate(found):
        folder = tmp_path / str(number)
        folder.mkdir()
        code, text = replayed(body, verdict, folder)
        assert code == 4 and "the join of step `j`" in text, text


def test_choices_that_no_data_can_make_leave_the_question_open() -> None:
    body = steps(
        'step: start, next: {arcs: [{step: a, when: "{{ workload.x > 3 and workload.x < 2 }}"}, {step: b}]}',
        "step: a, next: {arcs: [{step: j}]}",
        "step: b",
        "step: c, next: {arcs: [{step: j}]}",
        "step: j, spec: {policy: {join: all}}",
    )
    [stuck] = [each for each in report_of(plan_of(body)).verdicts if each.question == "nothing can get stuck"]
    assert stuck.status is Status.UNKNOWN and "guards may exclude it" in stuck.detail


def test_a_success_is_given_no_error() -> None:
    found = report_of(plan_of(NEVER_WITHOUT_ERROR), ("reachable(a)",)).verdicts
    assert [each.script for each in found] == [None] * len(found)


def test_outcomes_come_in_the_order_of_the_run() -> None:
    body = steps(
        "step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}",
        "step: a, next: {arcs: [{step: c}]}",
        "step: b",
        "step: c",
    )
    [found] = stories(body, "always(c before b)")
    assert found.script is not None
    outcomes = found.script.document["outcomes"]
    assert isinstance(outcomes, list)
    told = [(row["step"], row["takes"]) for row in outcomes if isinstance(row, dict)]
    # Second by second: `start` and `a` at 1 and 2, then `b` at 3 and `c` at 4, of which the run does not say an end.
    assert told == [("start", 1), ("a", 1), ("b", 2), ("c", 2)]


@pytest.mark.parametrize(
    "guard",
    [
        "event.ok == 0", "event.total == 0", "event.failed == 0", "event.skipped == 0", "event.errors == []",
        "event.result == []", "l == []", "not l", "event.name == 'loop.done' and not event.outcome",
    ],
)  # fmt: skip
def test_a_loop_without_items_says_so_to_the_arcs_behind_it(guard: str) -> None:
    """Each of these is true there, so that `z` runs after an item at most."""
    arcs = f'[{{step: y, when: "{{{{ {guard} }}}}"}}, {{step: z}}]'
    body = steps(
        "step: start, next: {arcs: [{step: l}]}",
        "step: l, loop: {in: [], iterator: x}, tool: {kind: http, url: 'http://x'}, "
        f"next: {{spec: {{mode: exclusive}}, arcs: {arcs}}}",
        "step: y",
        "step: z",
    )
    asked = {each.question: each for each in report_of(plan_of(body), ("reachable(y)", "reachable(z)")).verdicts}
    assert asked["reachable(y)"].status is Status.PROVED
    assert asked["reachable(z)"].script is None


def behind(guard: str, items: str = "[1]", mode: str = "parallel", policy: str = "") -> str:
    """A loop with an arc to (y), else to (z)."""
    return "workload: {xs: []}\n" + steps(
        f"step: start, spec: {{policy: {{{policy}}}}}, loop: {{in: {items}, iterator: x, spec: {{mode: {mode}}}}}, "
        "tool: {kind: http, url: 'http://x'}, "
        f'next: {{spec: {{mode: exclusive}}, arcs: [{{step: y, when: "{{{{ {guard} }}}}"}}, {{step: z}}]}}',
        "step: y, next: {arcs: [{step: after}]}",
        "step: z, next: {arcs: [{step: after}]}",
        "step: after, next: {spec: {mode: inclusive}, arcs: [{step: one}, {step: other}]}",
        "step: one",
        "step: other",
    )


FAILED, DONE, BEST = "event.name == 'step.failed'", "event.name == 'loop.done'", "failure: {mode: best_effort}"


ENTER = ("enter start @entry", "admit start")
OK, ERROR = ("ok start start_task continue", "out start 0"), ("error start start_task fail", "bad start 0")
CLOSE, FAIL = "close start 0", "close failed start 0"


def loop_run(*ends: tuple[str, str], over: str = CLOSE) -> list[str]:
    """A run through (start), whose iterations end so one after the other, to (y)."""
    inner = [id for end in ends for id in ("begin start 0", "start start start_task", *end)]
    chain = "ko" if over == FAIL else "ok"
    return [*ENTER, "expand start 0", *inner, over, f"take start {chain} 0", "enter y start", "admit y", "begin y"]


def hand_made(body: str, run: list[str]) -> Verdict | None:
    """The verdict that a run would be told with."""
    script = script_of(plan_of(body), run)
    return None if script is None else Verdict("", Status.PROVED, "", (), script=script)


@pytest.mark.parametrize(
    ("guard", "policy", "end", "over"),
    [
        ("event.ok == 1 and event.total == 1 and event.failed == 0 and event.skipped == 0", "", OK, CLOSE),
        ("event.result | length == 1 and start | length == 1 and event.errors == []", "", OK, CLOSE),
        (f"{DONE} and not event.outcome", "", OK, CLOSE),
        (f"{FAILED} and event.failed == 1 and event.ok == 0 and event.total == 1", "", ERROR, FAIL),
        (f"{FAILED} and event.errors[0].index == 0 and not event.outcome and not event.result", "", ERROR, FAIL),
        (f"{DONE} and event.failed == 1 and event.errors[0].index == 0 and start == [none]", BEST, ERROR, CLOSE),
    ],
)
@pytest.mark.parametrize("items", ["[1]", '"{{ workload.xs }}"'])
def test_a_loop_says_to_the_arcs_behind_it_what_the_engine_does(
    guard: str, policy: str, end: tuple[str, str], over: str, items: str, tmp_path: Path
) -> None:
    body = behind(guard, items, policy=policy)
    found = hand_made(body, loop_run(end, over=over))
    assert found is not None and "y: started" in told(body, found, tmp_path)


@pytest.mark.parametrize(
    ("guard", "policy", "end", "over"),
    [
        ("event.total == 2", "", OK, CLOSE),
        ("event.ok == 0 and event.total == 1", "", OK, CLOSE),
        ("event.result.x == 1", "", OK, CLOSE),
        ("event.outcome.x == 1", "", OK, CLOSE),
        ("start.x == 1", "", OK, CLOSE),
        ("true", "", ERROR, CLOSE),  # the failure ends the loop
        (FAILED, BEST, ERROR, FAIL),  # it does not end this one
        (FAILED, "", OK, FAIL),
    ],
)
def test_a_loop_that_does_not_end_so_gives_no_script(guard: str, policy: str, end: tuple[str, str], over: str) -> None:
    assert hand_made(behind(guard, policy=policy), loop_run(end, over=over)) is None


def test_keys_that_an_iteration_sets_end_with_it() -> None:
    rules = "tool: {kind: noop, spec: {policy: {rules: [{else: {then: {do: continue, set_iter: {k: 1}}}}]}}}"
    body = behind("iter.k == 1").replace("tool: {kind: http, url: 'http://x'}", rules)
    assert hand_made(body, loop_run(OK)) is None


def test_a_run_has_as_many_items_as_its_script(tmp_path: Path) -> None:
    body = behind("event.ok == 1 and event.failed == 1", '"{{ workload.xs }}"', policy=BEST)
    found = hand_made(body, loop_run(ERROR, OK))
    assert found is not None and found.script is not None
    assert found.script.payload == {"xs": [1, 2]}
    lines = told(body, found, tmp_path)
    assert any(line.startswith("start[0]: failed") for line in lines) and "y: started" in lines
    assert hand_made(behind("true", "[1, 2, 3]"), loop_run(OK, OK)) is None


@pytest.mark.parametrize("items", ["[1, 2]", '"{{ range(2) }}"'])
@pytest.mark.parametrize("mode", ["parallel", "parallel, max_in_flight: 2", "sequential"])
def test_each_item_of_a_run_has_its_own_outcomes(items: str, mode: str, tmp_path: Path) -> None:
    body = behind("event.ok == 2", items, mode)
    [found] = stories(body, "never(one and other)")
    assert found.status is Status.REFUTED and found.script is not None
    outcomes = found.script.document["outcomes"]
    assert isinstance(outcomes, list)
    indexes = [row.get("index") for row in outcomes if isinstance(row, dict) and row["step"] == "start"]
    assert indexes == [[0], [1]]
    lines = told(body, found, tmp_path)
    assert "start: done, 2 of 2 ok" in lines and {"one: started", "other: started"} <= {*lines}


def test_more_items_than_run_at_once_do_not_run_at_once() -> None:
    body = steps(
        "step: start, loop: {in: [1, 2], iterator: x, spec: {mode: parallel, max_in_flight: 1}}, "
        "tool: [{name: a, kind: http, url: 'http://x'}, {name: b, kind: http, url: 'http://x'}]",
    )
    assert stories(body, "never(start.a and start.b)") == []
    [found] = stories(body.replace("max_in_flight: 1", "max_in_flight: 2"), "never(start.a and start.b)")
    assert found.status is Status.REFUTED


def test_a_loop_of_no_items_is_a_run_of_its_step_too(tmp_path: Path) -> None:
    body = "executor: {spec: {ctx: {xs: {reduce: append, initial: []}}}}\n" + steps(
        'step: start, loop: {in: "{{ ctx.xs }}", iterator: x}, tool: {kind: http, url: "http://x"}, '
        'next: {spec: {mode: exclusive}, arcs: [{step: more, when: "{{ event.total == 0 }}"}, {step: z}]}',
        "step: more, tool: {kind: noop, spec: {policy: {rules: "
        "[{else: {then: {do: continue, set_ctx: {xs: 1}}}}]}}}, next: {arcs: [{step: start}]}",
        "step: z",
    )
    to_more = ["empty start 0", "take start ok 0", "enter more start", "admit more", "begin more"]
    back = ["start more more_task", "ok more more_task continue", "out more", "take more ok 0", "enter start more"]
    item = ["admit start", "expand start 0", "begin start 0", "start start start_task", *OK, CLOSE]
    on = ["pass start ok 0", "take start ok 1", "enter z start", "admit z", "begin z"]
    found = hand_made(body, [*ENTER, *to_more, *back, *item, *on])
    assert found is not None and "z: started" in told(body, found, tmp_path)


def test_loops_in_loops_have_no_script() -> None:
    body = steps(
        "step: start, loop: {in: [[1]], iterator: row, loop: {in: [], iterator: x}}, "
        "tool: {kind: http, url: 'http://x'}, next: {arcs: [{step: z}]}",
        "step: z",
    )
    assert [each for each in stories(body, "reachable(z)") if each.question == "reachable(z)"] == []


def chosen(kind: str, guard: str) -> str:
    return steps(
        f"step: start, tool: {{{kind}}}, "
        f'next: {{spec: {{mode: exclusive}}, arcs: [{{step: y, when: "{{{{ {guard} }}}}"}}, {{step: z}}]}}',
        "step: y",
        "step: z",
    )


HTTP, SQL, SHELL = "kind: http, url: 'http://x'", "kind: sqlite, command: select 1", "kind: shell, command: 'true'"
PYTHON = "kind: python, code: result = 1"


@pytest.mark.parametrize(
    ("kind", "guard"),
    [
        (HTTP, "not start"),
        (HTTP, "start is none"),
        (HTTP, "start == 7"),
        (HTTP, "start.status_code == 404"),
        (HTTP, "event.outcome.http.status == 404 and event.status == 'ok'"),
        (HTTP, "start.data.x == 1 and start.body.x == 2"),
        (HTTP, "event.outcome.pg.sqlstate == '23505'"),
        (SQL, "not start"),
        (SQL, "start.stdout"),
        (SHELL, "start.exit_code == 1"),
        (SHELL, "start is none"),
        (PYTHON, "event.outcome.result.x"),
        (PYTHON, "event.status == 'error' and start"),
    ],
)
def test_what_no_tool_gives_proves_nothing(kind: str, guard: str) -> None:
    asked = report_of(plan_of(chosen(kind, guard)), ("reachable(y)",)).verdicts[-1]
    assert (asked.question, asked.status, asked.script) == ("reachable(y)", Status.UNKNOWN, None)


BY_RULE = "spec: {policy: {rules: [{when: \"{{ outcome.status == 'ok' }}\", then: {do: fail}}]}}"
BY_CODE = "spec: {policy: {rules: [{when: \"{{ outcome.status == 'error' }}\", then: {do: fail, code: mine}}]}}"


@pytest.mark.parametrize(
    ("kind", "guard"),
    [
        (HTTP, "start.status_code == 204 and start.headers == {}"),
        (HTTP, "start.body.x == 2 and event.outcome.http.status == 200"),
        (HTTP, "event.error.code == 'http.status' and event.outcome.http.status == 404"),
        (SQL, "start.row_count == 0 and start.rows == [] and start.columns == []"),
        (SHELL, "start.stdout == 'x' and start.exit_code == 0"),
        (PYTHON, "event.error.code == 'a' and event.error.kind == 'a' and event.error.task == 'start_task'"),
        (f"{PYTHON}, {BY_RULE}", "event.error.code == 'task.failed' and event.outcome.status == 'ok'"),
        (f"{PYTHON}, {BY_CODE}", "event.error.code == 'mine' and event.outcome.error.code == 'a'"),
    ],
)
def test_what_a_tool_gives_is_what_guards_read_in_a_script(kind: str, guard: str, tmp_path: Path) -> None:
    body = chosen(kind, guard)
    asked = report_of(plan_of(body), ("reachable(y)",)).verdicts[-1]
    assert asked.script is not None
    assert "y: started" in told(body, asked, tmp_path)


@pytest.mark.parametrize("second", ["event.name == 'loop.done'", "event.status == 'ok'"])
def test_nothing_gets_stuck_with_an_event_that_there_is_not(second: str) -> None:
    body = "workload: {xs: []}\n" + steps(
        'step: start, loop: {in: "{{ workload.xs }}", iterator: x}, tool: {kind: http, url: "http://x"}, '
        "next: {spec: {mode: exclusive}, arcs: [{step: y, when: \"{{ event.name == 'step.failed' }}\"}, "
        f'{{step: z, when: "{{{{ {second} }}}}"}}]}}',
        "step: y",
        "step: z",
    )
    assert not any("stuck, and" in each.detail for each in report_of(plan_of(body), ("every run reaches z",)).verdicts)


RULES = "spec: {policy: {rules: [%s]}}"
FAILING = "{when: \"{{ outcome.status == 'error' }}\", then: {do: %s}}"


def two_ways(start: str, arcs: str, *more: str) -> str:
    return steps(f"step: start, {start}, next: {{spec: {{mode: exclusive}}, arcs: [{arcs}]}}", *more)


FREE_URL = "kind: http, url: '{{ workload.u }}/x'"
READ_ARGS = steps(
    "step: start, next: {arcs: [{step: a, args: {n: 1}}]}",
    'step: a, next: {spec: {mode: exclusive}, arcs: [{step: y, when: "{{ args.n is not defined }}"}, {step: z}]}',
    "step: y",
    "step: z",
)
READ_ITEM = steps(
    "step: start, loop: {in: [1], iterator: x}, tool: {kind: noop, "
    + RULES % "{when: '{{ iter.x is defined }}', then: {do: fail}}, {else: {then: {do: continue}}}"
    + "}, next: {arcs: [{step: y}]}",
    "step: y",
)
READ_TASK = steps(
    "step: start, tool: [{name: t, kind: http, url: 'http://x'}, {name: u, kind: noop, "
    + RULES % "{when: '{{ t is defined and _prev is defined }}', then: {do: fail}}, {else: {then: {do: continue}}}"
    + "}], next: {arcs: [{step: y}]}",
    "step: y",
)
READ_ATTEMPT = steps(
    "step: start, tool: {kind: http, url: 'http://x', "
    + RULES
    % (
        "{when: \"{{ outcome.status == 'error' and _attempt == 1 }}\", then: {do: retry, attempts: 5}}, "
        "{when: '{{ _attempt == 2 }}', then: {do: fail}}, "
        "{else: {then: {do: continue, set_ctx: {n: '{{ _attempt }}'}}}}"
    )
    + '}, next: {arcs: [{step: y, when: "{{ ctx.n > 1 }}"}]}',
    "step: y",
)
READ_COMPUTED = "workload: {k: 1, m: '{{ workload.k + 1 }}'}\n" + two_ways(
    "tool: {kind: noop}",
    '{step: y, when: "{{ workload.k == 5 and workload.m == 2 }}"}, {step: z}',
    "step: y",
    "step: z",
)
READ_FAULT = two_ways(
    "tool: {kind: http, url: 'http://x', "
    + RULES
    % "{when: \"{{ outcome.error.code == 'fields.invalid' }}\", then: {do: continue, set_ctx: {f: 1}}}, "
    "{else: {then: {do: continue}}}" + "}",
    '{step: y, when: "{{ ctx.f is defined }}"}, {step: z}',
    "step: y",
    "step: z",
)
READ_AT_GATE = steps(
    "step: start, next: {arcs: [{step: y}]}",
    "step: y, spec: {policy: {admit: {rules: [{when: \"{{ event.step == 'y' }}\", then: {allow: true}}, "
    "{else: {then: {allow: false}}}]}}}",
)


@pytest.mark.parametrize(
    "body",
    [
        chosen(FREE_URL, "not start.url"),
        chosen(FREE_URL, "event.error.message == 'GET None: the server answered with status 500'"),
        chosen(f"{HTTP}, {BY_CODE}", "event.error.code == 'mine' and event.error.cause is not defined"),
        chosen(HTTP, "event.ts is not defined"),
        chosen(HTTP, "event.outcome.meta is not defined"),
        READ_ARGS,
        READ_ITEM,
        READ_TASK,
        READ_ATTEMPT,
        READ_COMPUTED,
        READ_FAULT,
        READ_AT_GATE,
    ],
)
def test_what_a_run_knows_and_its_net_does_not_is_not_missing(body: str, tmp_path: Path) -> None:
    """Each was proved with a script that did not go there; a value that a script says is another matter."""
    asked = report_of(plan_of(body), ("reachable(y)",)).verdicts[-1]
    assert asked.question == "reachable(y)"
    assert asked.script is None or "y: started" in told(body, asked, tmp_path)


def test_a_task_is_tried_as_often_as_its_rule_says() -> None:
    rules = RULES % (FAILING % "retry, attempts: 3")
    body = steps(f"step: start, tool: {{name: t, kind: http, url: 'http://x', {rules}}}")
    *_, once, thrice = report_of(plan_of(body), ("at most 1 of start.t", "at most 3 of start.t")).verdicts
    assert (once.status, thrice.script) == (Status.REFUTED, None)


@pytest.mark.parametrize("url", ["http://x/{{ start.data.id }}", "{{ workload.u }}"])
def test_a_script_has_what_fields_read(url: str, tmp_path: Path) -> None:
    body = steps(
        "step: start, tool: {kind: http, url: 'http://x'}, next: {arcs: [{step: a}]}",
        f"step: a, tool: {{kind: http, url: '{url}'}}, next: {{arcs: [{{step: y}}]}}",
        "step: y",
    )
    found = next(each for each in stories(body, "reachable(y)") if each.question == "reachable(y)")
    assert "y: started" in told(body, found, tmp_path)


def test_a_code_that_is_no_text_shows_nothing() -> None:
    # No tool gives one, though a script may say it.
    body = chosen(PYTHON, "event.error.code == []")
    assert [each for each in stories(body, "reachable(y)") if each.question == "reachable(y)"] == []


def test_a_script_says_what_a_task_before_gives(tmp_path: Path) -> None:
    body = READ_TASK.replace("t is defined and _prev is defined", "t.data.n != 3 or _prev.data.n != 3")
    found = next(each for each in stories(body, "reachable(y)") if each.question == "reachable(y)")
    assert "y: started" in told(body, found, tmp_path)


def test_a_script_starts_with_inputs_that_must_be_brought(tmp_path: Path) -> None:
    body = (
        "workload: {m: 1}\nexecutor: {spec: {inputs: {n: {type: integer, required: true}, m: {type: integer}}}}\n"
        + two_ways("tool: {kind: noop}", '{step: y, when: "{{ workload.m > 2 and workload.m }}"}', "step: y")
    )
    found = next(each for each in stories(body, "reachable(y)") if each.question == "reachable(y)")
    assert found.script is not None and type(found.script.payload["n"]) is int
    assert "y: started" in told(body, found, tmp_path)


SHELLS = ", ".join(f"{{name: {name}, kind: shell, command: x}}" for name in "abc")
THREE = f"tool: [{SHELLS}], next: {{arcs: [{{step: y}}]}}"
TIMER = "step: start, spec: {policy: {interrupt: {timers: {late: %s}}}}, "
OF_THE_EXECUTION = "executor: {spec: {policy: {lifecycle: {timeout_s: %s}}}}\n"
LATER = "next: {arcs: [{step: y, spec: {delay: %s}}]}"
LIMITED = {
    "step": steps("step: start, spec: {policy: {lifecycle: {timeout_s: 2}}}, " + THREE, "step: y"),
    "execution": OF_THE_EXECUTION % "2s" + steps("step: start, " + THREE, "step: y"),
    "timer": steps(TIMER % "20ms" + THREE, "step: y"),
    "computed": "workload: {most: 1}\n" + steps(TIMER % "'{{ workload.most }}'" + THREE, "step: y"),
    "a delay": OF_THE_EXECUTION % "3s" + steps(f"step: start, tool: [{SHELLS}], {LATER % '2s'}", "step: y"),
}


@pytest.mark.parametrize("body", LIMITED.values(), ids=LIMITED)
def test_a_script_is_over_before_what_limits_its_run(body: str, tmp_path: Path) -> None:
    found = next(each for each in stories(body, "reachable(y)") if each.question == "reachable(y)")
    assert "y: started" in told(body, found, tmp_path)


@pytest.mark.parametrize("delay", ["5s", '"{{ workload.most }}"'])
def test_a_run_that_waits_longer_than_it_may_has_no_script(delay: str) -> None:
    body = "workload: {most: 1}\n" + OF_THE_EXECUTION % "4s" + steps(f"step: start, {LATER % delay}", "step: y")
    assert not [each for each in stories(body, "reachable(y)") if each.question == "reachable(y)"]
