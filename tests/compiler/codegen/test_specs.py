"""The effective spec of a task (LANGUAGE §1, EXTENSIONS §2): who says it, from the outside in, and whom it reaches."""

import itertools

import pytest

from harness.running import compiled
from noetl_ir.expr import Literal
from noetl_ir.plan import Plan, Task
from noetl_ir.plan_format import read_plan
from playbooks import HEAD, codes, linted

LEVELS = ("executor", "kind", "step", "loop", "task")


def plan_of(said: dict[str, int], task: str) -> Plan:
    """The plan of one looped task for which the named levels say a `timeout` in seconds."""
    own = {level: f"spec: {{timeout: {seconds}}}" for level, seconds in said.items()}
    kind = task.partition("kind: ")[2].partition(",")[0]
    executor = [f"timeout: {said['executor']}"] if "executor" in said else []
    executor += [f"tasks: {{{kind}: {{{own['kind']}}}}}"] if "kind" in own else []
    text = f"""
executor: {{spec: {{{", ".join(executor)}}}}}
workflow:
  - step: start
    {own.get("step", "desc: d")}
    loop: {{in: [1], iterator: n, {own.get("loop", "spec: {mode: parallel}")}}}
    tool: {{{task}, {own.get("task", "desc: d")}}}
"""
    return read_plan(compiled(HEAD + text))


def timeout_in(plan: Plan, task: Task) -> object:
    """The limit of a task as its template has it; None for none."""
    if task.timeout < 0:
        return None
    template = plan.templates[task.timeout]
    assert isinstance(template, Literal)
    return template.value


@pytest.mark.parametrize("levels", [s for n in range(6) for s in itertools.combinations(LEVELS, n)], ids="-".join)
def test_the_innermost_limit_wins(levels: tuple[str, ...]) -> None:
    said = {level: number + 1 for number, level in enumerate(LEVELS) if level in levels}
    plan = plan_of(said, "name: t, kind: http, url: 'http://x/'")
    assert timeout_in(plan, plan.tasks[0]) == (said[levels[-1]] if levels else None)


@pytest.mark.parametrize("levels", [s for n in range(6) for s in itertools.combinations(LEVELS, n)], ids="-".join)
@pytest.mark.parametrize("task", ["name: t, kind: wait, events: [go]", "name: t, kind: playbook, path: t/c"])
def test_a_task_that_parks_has_a_limit_of_its_own_or_of_its_kind(task: str, levels: tuple[str, ...]) -> None:
    said = {level: number + 1 for number, level in enumerate(LEVELS) if level in levels}
    plan = plan_of(said, task)
    assert timeout_in(plan, plan.tasks[0]) == said.get("task", said.get("kind"))


def test_a_task_that_lowering_made_takes_no_default_of_its_kind() -> None:
    text = """
executor: {spec: {timeout: 9, tasks: {noop: {spec: {timeout: 1, policy: {rules: [{else: {then: {do: retry}}}]}}}}}}
workflow:
  - step: start
    tool:
      - {name: a, kind: noop}
      - {name: w, while: {when: "{{ _iteration < 2 }}", then: [{name: b, kind: noop}]}}
  - {step: alone}
"""
    plan = read_plan(compiled(HEAD + text))
    limits = {task.name: timeout_in(plan, task) for task in plan.tasks}
    rules = {task.name: [rule.directive for rule in task.rules] for task in plan.tasks}
    made = {task.name for task in plan.tasks if task.generated}
    assert made and {limits[name] for name in made} == {9}
    assert all("retry" not in rules[name] for name in made)
    assert limits["a"] == limits["b"] == 1
    assert rules["a"] == rules["b"] == ["retry"]


def test_a_workbook_entry_takes_the_default_of_its_kind_unless_the_call_or_it_says_more() -> None:
    rules = "policy: {rules: [{else: {then: {do: continue}}}]}"
    text = f"""
executor: {{spec: {{tasks: {{noop: {{spec: {{policy: {{rules: [{{else: {{then: {{do: retry}}}}}}]}}}}}}}}}}}}
workbook:
  plain: {{kind: noop}}
  ruled: {{kind: noop, spec: {{{rules}}}}}
workflow:
  - step: start
    tool:
      - {{name: a, kind: workbook, task: plain}}
      - {{name: b, kind: workbook, task: plain, spec: {{{rules}}}}}
      - {{name: c, kind: workbook, task: ruled}}
"""
    plan = read_plan(compiled(HEAD + text))
    assert [[rule.directive for rule in task.rules] for task in plan.tasks] == [["retry"], ["continue"], ["continue"]]


def test_results_that_an_outer_limit_reads_are_sent_along() -> None:
    text = """
workflow:
  - {step: start, tool: {kind: noop, result: 3}, next: {arcs: [{step: get}]}}
  - {step: get, spec: {timeout: "{{ start }}"}, tool: {kind: http, url: "http://x/"}}
"""
    plan = read_plan(compiled(HEAD + text))
    assert plan.steps[1].needs == ("start",)


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        ("{when: \"{{ iter.n == 1 }}\", then: {do: retry}}", []),
        ("{when: \"{{ iter.m == 1 }}\", then: {do: retry}}", ["NL404"]),
        ("{when: \"{{ nowhere }}\", then: {do: retry}}", ["NL303"]),
    ],
)  # fmt: skip
def test_names_in_a_default_policy_are_those_of_the_tasks_that_take_it(rule: str, found: list[str]) -> None:
    well = """{when: "{{ outcome.status == 'ok' }}", then: {do: continue}}"""
    rules = f"{rule}, {well}, {{else: {{then: {{do: fail}}}}}}"
    text = f"""
executor: {{spec: {{tasks: {{noop: {{spec: {{policy: {{rules: [{rules}]}}}}}}}}}}}}
workflow:
  - step: start
    loop: {{in: [1], iterator: n}}
    tool: [{{name: a, kind: noop}}, {{name: b, kind: noop}}]
"""
    assert codes(linted(HEAD + text)) == found
