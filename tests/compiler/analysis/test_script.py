"""The scripts of refuted verdicts replay: `noetl run --script` goes where the story says."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from nets import HEAD, plan_of, steps
from noetlc.analysis.report import report_of
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
    """The exit code of the run, and the names of the steps that started."""
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
        "--quiet",
        "--store",
        "sqlite:///s.db",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "noetl.cli", *args], cwd=folder, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout


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
    assert [row["takes"] for row in outcomes if isinstance(row, dict)] == [1] * len(outcomes)


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
