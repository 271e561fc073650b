"""Scenarios about what older dialects and authoring sugar are lowered to: nothing is lost and nothing falls through."""

import pytest

from harness.running import HEAD, run
from noetlc.ast.printing import as_tree, plain_tree
from noetlc.diag.diagnostic import Severity
from noetlc.migrate.migration import migrated
from noetlc.pipeline import Compiled, compile_source


def _compiled(text: str) -> Compiled:
    return compile_source("t.yaml", (HEAD + text).encode())


def test_scenario_26_a_list_of_next_steps_is_a_fork_and_each_target_is_looked_for() -> None:
    text = """workflow:
  - {step: a, tool: {kind: noop}, next: [{step: b}, {step: nosuch}]}
  - {step: b}
executor: {spec: {entry_step: a}}
"""
    found = {finding.code: finding for finding in _compiled(text).diagnostics}
    assert "`nosuch`" in found["NL203"].message
    assert (found["NL910"].message, found["NL910"].span.line) == (
        "an older form, `next`, is read as inclusive arcs", HEAD.count("\n") + 2,
    )  # fmt: skip
    [document] = _compiled(text + "  # nothing else\n").documents
    assert document.playbook is not None
    router = document.playbook.steps[0].router
    assert router is not None
    assert (router.mode, [arc.target for arc in router.arcs]) == ("inclusive", ["b", "nosuch"])


def test_scenario_42_cap_and_jitter_of_an_old_retry_are_kept_and_no_wait_is_above_the_cap() -> None:
    text = """workflow:
  - step: start
    tool:
      kind: http
      url: http://x
      retry:
        max_attempts: 6
        backoff: {type: exponential, delay_seconds: 4, max_delay_seconds: 10, jitter: true}
"""
    made = migrated("t.yaml", (HEAD + text).encode())
    assert made.after is not None
    for kept in (b"attempts: 6", b"backoff: exponential", b"delay: 4", b"max_delay: 10", b"jitter: true"):
        assert kept in made.after
    ran = run(text, "outcomes: [{task: start_task, outcome: {status: error, error: {code: x, message: m}}}]")
    waits = [(int(str(event.data["due"])) - event.ts) / 1e6 for event in ran.of("retry.started")]
    assert len(waits) == 5
    assert all(0 <= wait <= 10 for wait in waits), waits
    assert any(wait > 4 for wait in waits), "the back-off goes on under jitter"


@pytest.mark.parametrize(("k", "branch"), [(1, "one"), (2, "two"), (3, "other")])
def test_scenario_50_a_branch_goes_to_the_merge_point_and_nothing_falls_through(k: int, branch: str) -> None:
    text = """workflow:
  - step: start
    tool:
      - choose:
          - {when: "{{ workload.k == 1 }}", then: [{name: one, kind: noop}]}
          - {when: "{{ workload.k == 2 }}", then: [{name: two, kind: noop}]}
          - {else: [{name: other, kind: noop}]}
      - {name: after, kind: noop}
"""
    ran = run(text, payload={"k": k})
    tasks = ran.program.plan.tasks
    done = [tasks[event.task].name for event in ran.of("task.done")]
    assert [name for name in done if not name.startswith("__")] == [branch, "after"]
    labels = [[task.name for task in _compiled(text).plans[0].tasks] for _ in range(2)]
    assert labels[0] == labels[1]
    assert all(name.startswith("__") or name in ("one", "two", "other", "after") for name in labels[0])


def test_scenario_64_values_that_read_each_other_are_told_with_their_circle() -> None:
    text = """workload: {a: "{{ workload.b }}", b: "{{ workload.a }}", c: "{{ workload.c }}x"}
workflow: [{step: start}]
"""
    circles = [finding.message for finding in _compiled(text).diagnostics if finding.code == "NL308"]
    assert circles == ["workload values read each other in a circle: a → b → a"]  # what reads itself is an input


def test_scenario_66_code_that_looks_like_a_template_reaches_the_tool_as_it_is() -> None:
    text = """workflow:
  - step: start
    tool:
      - {name: sh, kind: shell, command: "n=${#list[@]}; echo $n"}
      - {name: py, kind: python, code: "result = '{%d}' % 3"}
"""
    compiled = _compiled(text)
    assert compiled.diagnostics == (), "neither is a template, so there is nothing to say"
    [document] = compiled.documents
    assert document.playbook is not None
    fields = [dict(task.fields) for task in document.playbook.steps[0].tasks]
    assert plain_tree(as_tree(fields[0]["command"])) == "n=${#list[@]}; echo $n"
    assert plain_tree(as_tree(fields[1]["code"])) == "result = '{%d}' % 3"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("workload: {a: 1}\nworkflow: [{step: start}]\nworkload: {b: 2}\n", (0, 2)),
        ("workload:\n  deep:\n    a: 1\n    a: 2\nworkflow: [{step: start}]\n", (2, 3)),
        ("workflow:\n  - step: start\n    next: {arcs: []}\n    next: {arcs: []}\n", (2, 3)),
    ],
)
def test_scenario_98_a_key_that_is_written_twice_is_an_error_with_both_lines(text: str, lines: tuple[int, int]) -> None:
    head = HEAD.count("\n") + 1
    messages = [finding.message for finding in _compiled(text).diagnostics if finding.code == "NL004"]
    assert [message.partition(", in ")[2] for message in messages] == [f"lines {head + lines[0]} and {head + lines[1]}"]


def test_scenario_98_an_override_of_a_merge_key_is_no_duplicate() -> None:
    text = "x-base: &base {kind: noop, desc: a}\nworkflow: [{step: start, tool: {<<: *base, desc: b}}]\n"
    assert [finding.code for finding in _compiled(text).diagnostics] == []


def test_scenario_96_dates_stay_text_and_other_tags_are_refused() -> None:
    text = "workload: {since: 2026-01-02, at: 2026-01-02T03:04:05Z}\nworkflow: [{step: start}]\n"
    [document] = _compiled(text).documents
    assert document.playbook is not None
    values = {key: plain_tree(as_tree(value)) for key, value in document.playbook.workload}
    assert values == {"since": "2026-01-02", "at": "2026-01-02T03:04:05Z"}
    for tag in ("!!binary aGk=", "!!set {a, b}", "!mine x", "!!python/object:os.system x"):
        found = _compiled(f"workload: {{v: {tag}}}\nworkflow: [{{step: start}}]\n").diagnostics
        assert "NL011" in [finding.code for finding in found], tag


def test_scenario_102_an_alias_bomb_and_deep_nesting_are_findings() -> None:
    lines, before = ["  a: &a [x, x, x, x, x, x, x, x, x]"], "a"
    for name in "bcdefghi":
        lines.append(f"  {name}: &{name} [{', '.join([f'*{before}'] * 9)}]")
        before = name
    bomb = "workload:\n" + "\n".join(lines) + "\nworkflow: [{step: start}]\n"
    deep = f"workload: {{a: {'[' * 3000}{']' * 3000}}}\nworkflow: [{{step: start}}]\n"
    for text in (bomb, deep):
        errors = [finding for finding in _compiled(text).diagnostics if finding.severity >= Severity.ERROR]
        assert errors and all(finding.code.startswith("NL0") and finding.code != "NL000" for finding in errors)
