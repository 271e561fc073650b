"""Values that task fields, rules and later steps see under the names that a worker gives (LANGUAGE §2, §4, §5)."""

from typing import Any

import pytest

from harness.running import HEAD, Ran, run

Script = str


def result(tasks: str, script: Script = "", more: str = "") -> Any:
    """The result of a step with these tasks."""
    return ran_with(tasks, script, more).execution.last_result


def ran_with(tasks: str, script: Script = "", more: str = "") -> Ran:
    """A run of a step with these tasks, which completes."""
    ran = run(f"{more}workflow:\n  - step: start\n    tool:\n{tasks}", script)
    assert ran.status == "completed", ran.execution.failure
    return ran


def rules(*rows: str) -> str:
    """The policy of a task."""
    return "spec: {policy: {rules: [" + ", ".join(rows) + "]}}"


ELSE = "{else: {then: {do: continue}}}"
SHOW = '      - {name: show, kind: noop, args: {prev: "{{ _prev }}", none: "{{ _prev is none }}"}}\n'
TOOL = '      - {name: t, kind: python, code: "result = 1"}\n'


@pytest.mark.parametrize(
    ("tasks", "script", "prev"),
    [
        (SHOW, "", None),
        (TOOL + SHOW, "outcomes: [{task: t, outcome: {result: 5}}]", 5),
        (TOOL + SHOW, "outcomes: [{task: t}]", None),
        (TOOL + "      - {name: n, kind: noop}\n" + SHOW, "outcomes: [{task: t, outcome: {result: 5}}]", 5),
        ("      - {name: n, kind: noop, result: 3}\n" + TOOL + SHOW, "outcomes: [{task: t}]", None),
        ("      - {name: n, kind: noop, args: {a: 1}}\n      - {name: m, kind: noop}\n" + SHOW, "", {"a": 1}),
        (TOOL + "      - {name: __skip, kind: noop, args: {a: 1}}\n" + SHOW,
         "outcomes: [{task: t, outcome: {result: 5}}]", 5),
    ],
    ids=["first", "after a result", "after none", "through a noop", "no older one", "args of a noop", "generated"],
)  # fmt: skip
def test_prev_is_the_result_of_the_task_before(tasks: str, script: str, prev: object) -> None:
    assert result(tasks, script) == {"prev": prev, "none": prev is None}


def test_prev_is_null_after_an_error_without_result_that_went_on() -> None:
    task = TOOL.replace("}\n", ", " + rules(ELSE) + "}\n")
    failed = "outcomes: [{task: t, outcome: {status: error}}]"
    assert result("      - {name: n, kind: noop, result: 3}\n" + task + SHOW, failed)["none"] is True


def test_prev_begins_anew_with_each_iteration() -> None:
    ran = run(f"""
workflow:
  - step: start
    loop: {{in: "{{{{ [1, 2] }}}}", iterator: i}}
    tool:
{SHOW}      - {{name: n, kind: noop, args: {{i: "{{{{ i }}}}", seen: "{{{{ _prev.none }}}}"}}}}
""")
    assert [event.data["result"]["seen"] for event in ran.of("task.done")[1::2]] == [True, True]  # type: ignore[index, call-overload]


def test_prev_after_a_jump_is_of_the_task_that_jumped() -> None:
    again = (
        '{when: "{{ iter.n | default(0) < 2 }}", then: {do: jump, to: a, set_iter: {n: "{{ iter.n|default(0) + 1 }}"}}}'
    )
    task = '      - {name: a, kind: noop, args: {n: "{{ iter.n | default(0) }}", prev: "{{ _prev.n }}"}, %s}\n'
    first = task.replace('"{{ _prev.n }}"', '"{{ _prev.n | default(none) }}"') % rules(again)
    ran = ran_with(first)
    assert [event.data["result"] for event in ran.of("task.done")] == [
        {"n": 0, "prev": None}, {"n": 1, "prev": 0}, {"n": 2, "prev": 1}
    ]  # fmt: skip


def test_generated_tasks_are_invisible() -> None:
    """In `_prev`, as results and as the step's result; one with `result` replaces that, and only that."""
    tasks = "      - {name: a, kind: noop, args: {v: 1}}\n      - {name: __g, kind: noop, args: {v: 2}}\n"
    assert result(tasks) == {"v": 1}
    assert result(tasks + '      - {name: b, kind: noop, args: {v: "{{ _prev.v }}"}}\n') == {"v": 1}
    replaced = tasks + "      - {name: __r, kind: noop, result: {v: 9}}\n"
    assert result(replaced) == {"v": 9}
    assert result(replaced + '      - {name: b, kind: noop, args: {v: "{{ _prev.v }}"}}\n') == {"v": 1}


def test_task_and_attempt_in_fields_and_rules() -> None:
    seen = 'set_ctx: {seen: "{{ (ctx.seen | default([])) + [[_task, _attempt]] }}"}'
    retry = f'{{when: "{{{{ _attempt < 3 }}}}", then: {{do: retry, attempts: 9, delay: 1, {seen}}}}}'
    policy = rules(retry, f"{{else: {{then: {{do: continue, {seen}}}}}}}")
    tasks = '      - {name: a, kind: noop, args: {t: "{{ _task }}", n: "{{ _attempt }}"}, ' + policy + "}\n"
    ran = ran_with(tasks + tasks.replace("name: a", "name: b"))
    assert [event.data["result"] for event in ran.of("task.done")] == [{"t": "a", "n": 3}, {"t": "b", "n": 3}]
    assert ran.execution.ctx["seen"] == [[name, n] for name in "ab" for n in (1, 2, 3)]


def test_elapsed_is_the_time_since_the_run_or_iteration_began() -> None:
    again = '{when: "{{ _elapsed < 5 }}", then: {do: jump, to: t, delay: 1}}'
    keep = '{else: {then: {do: continue, set_ctx: {e: "{{ (ctx.e | default([])) + [_elapsed] }}"}}}}'
    ran = run(
        f"""
workflow:
  - step: start
    tool: {{name: t, kind: http, url: "http://x", {rules(again, keep)}}}
    next: {{arcs: [{{step: each}}]}}
  - step: each
    loop: {{in: "{{{{ [1, 2] }}}}", iterator: i}}
    tool: {{name: t, kind: http, url: "http://x", {rules(keep)}}}
""",
        "outcomes: [{step: start, takes: 2}, {index: 0, takes: 2}, {index: 1, takes: 3}]",
    )
    assert ran.execution.ctx == {"e": [5.0, 2.0, 3.0]}, "2 s, a second's delay, 2 s; then two iterations"


def test_the_trace_id_is_that_of_the_outermost_caller() -> None:
    keep = '{else: {then: {do: continue, set_ctx: {t: "{{ outcome.meta.trace_id }}"}}}}'
    ran = run(f"""
workflow:
  - step: start
    tool:
      - {{name: n, kind: noop, {rules(keep)}}}
      - {{name: c, kind: playbook, path: t/c}}
---
{HEAD.replace("t/t", "t/c")}workflow:
  - {{step: start, tool: {{name: n, kind: noop, {rules(keep)}}}}}
""")
    assert ran.execution.ctx == {"t": "e1"}
    patches = [(name, event.data["patch"]) for name, _, event in ran.seen if event.event_type == "ctx.patched"]
    assert len({name for name, _ in patches}) == 2 and {patch["t"] for _, patch in patches} == {"e1"}  # type: ignore[index, call-overload]


SET = '{when: "{{ %s }}", then: {do: continue, set_iter: {__r: "{{ i ~ j }}", mine: 1}}}'
KEPT = """
workflow:
  - step: start
    loop: {in: "{{ [1, 2, 3] }}", iterator: i, spec: {mode: %s}%s}
    tool: {name: t, kind: http, url: "http://x", %s}
    next: {arcs: [{step: two, args: {r: "{{ iter.__r }}", mine: "{{ iter.mine is defined }}"}}]}
  - {step: two, tool: {kind: noop, args: {r: "{{ args.r }}", mine: "{{ args.mine }}"}}}
"""


@pytest.mark.parametrize("mode", ["parallel", "sequential"])
def test_on_loop_done_the_lowest_index_wins(mode: str) -> None:
    """Iteration 1 ends last and iteration 0 sets nothing; keys without `__` are not seen."""
    text = KEPT % (mode, "", rules(SET.replace("i ~ j", "i") % "i > 1", ELSE))
    ran = run(text, "outcomes: [{index: 1, takes: 5}, {task: t, takes: 1}]")
    assert ran.execution.last_result == {"r": 2, "mine": False}


def test_on_loop_done_inner_loops_hand_up_their_keys() -> None:
    """(1, b) is the lowest index that sets it, and ends last."""
    inner = ", loop: {in: \"{{ ['a', 'b'] }}\", iterator: j, spec: {mode: parallel}}"
    text = KEPT % ("parallel", inner, rules(SET % "i == 2 or j == 'b'", ELSE))
    ran = run(text, "outcomes: [{index: [0, 1], takes: 5}, {task: t, takes: 1}]")
    assert ran.execution.last_result == {"r": "1b", "mine": False}


BLOCKS = [
    ("{% for i in workload.l %}{{ i }},{% endfor %}", "1,2,"),
    ("{% for i in start.items %}<{{ i }}>{% endfor %}", "<1><2>"),
    ("{% for i in steps.start.data['items'] %}<{{ i }}>{% endfor %}", "<1><2>"),
    ("{% if a.x == 5 and _prev.x == 5 %}{{ a.data.x }}{% else %}no{% endif %}", "5"),
    ("{% if workload.none is none %}{{ workload.none }}{% endif %}|{{ _task }}{{ _attempt }}", "|b1"),
    ("{% set total = workload.l | sum %}{{ total }}", "3"),
]


@pytest.mark.parametrize(("template", "text"), BLOCKS)
@pytest.mark.parametrize("where", ["x: '%s'", "deep: {list: ['%s']}"], ids=["alone", "nested"])
def test_block_templates_see_what_expressions_see(template: str, text: str, where: str) -> None:
    place = where % template.replace("'", "''")
    ran = run(f"""
workload: {{l: [1, 2], none: null}}
workflow:
  - {{step: start, tool: {{kind: noop, args: {{items: [1, 2]}}}}, next: {{arcs: [{{step: two}}]}}}}
  - step: two
    tool: [{{name: a, kind: noop, args: {{x: 5}}}}, {{name: b, kind: noop, args: {{{place}}}}}]
""")
    assert ran.execution.last_result == ({"x": text} if where.startswith("x") else {"deep": {"list": [text]}})


def test_an_undefined_value_in_a_block_is_the_fault_that_it_is_elsewhere() -> None:
    text = 'workflow:\n  - {step: start, tool: {kind: noop, args: {x: "{% if true %}{{ ctx.nope.x }}{% endif %}"}}}\n'
    failure = run(text).execution.failure
    assert failure is not None and failure["code"] == "template.undefined" and "`ctx.nope.x`" in str(failure["message"])


@pytest.mark.parametrize("real", [True, False])
def test_a_kind_that_does_not_run_here_is_an_error_that_the_rules_see(real: bool) -> None:
    rule = "{when: \"{{ outcome.error.code == 'kind.unavailable' }}\", then: {do: continue, set_ctx: {c: 1}}}"
    for kind in ("agent", "subscription", "snowflake_transfer"):
        ran = run(f"workflow:\n  - {{step: start, tool: {{name: a, kind: {kind}, {rules(rule)}}}}}\n", real=real)
        assert ran.status == "completed" and ran.execution.ctx == {"c": 1}
        bare = run(f"workflow:\n  - {{step: start, tool: {{name: a, kind: {kind}}}}}\n", real=real)
        assert bare.execution.failure is not None and bare.execution.failure["code"] == "kind.unavailable"
