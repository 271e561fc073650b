"""The reads of a step's tasks of `ctx`, `workload` and the execution, by what is written in them."""

from typing import Any

import pytest

from harness.running import compiled
from noetl.engine.task_reads import StepReads, is_same_task, step_reads, written_keys
from noetl_ir.plan_format import read_plan

HEAD = "workload: {x: 1, a: {b: 2}}\nworkflow:\n  - step: start\n    tool: "


def reads_of(tool: str) -> StepReads:
    return step_reads(read_plan(compiled(f"{HEAD}{tool}\n")), 0)


def noop(text: str) -> str:
    return f'{{kind: noop, result: "{text}"}}'


@pytest.mark.parametrize(
    ("text", "workload"),
    [
        ("{{ workload.x }}", {("x",)}),
        ("{{ workload['x'] }}", {("x",)}),
        ("{{ workload.a.b + 1 }}", {("a", "b")}),
        ("{{ workload.a['b'] | default(3) }}", {("a", "b")}),
        ("{{ workload[args.k] }}", None),
        ("{{ workload.a[args.k] }}", {("a",)}),
        ("{{ workload.get('x') }}", None),
        ("{{ workload.a.get('b') }}", {("a",)}),
        ("{{ workload.items() | list }}", None),
        ("{{ workload | length }}", None),
        ("{{ x }} and {{ a.b }}", {("x",), ("a", "b")}),
        ("{{ [1 if workload.x else 2, {'k': workload.a.b}] }}", {("x",), ("a", "b")}),
    ],
)
def test_paths_into_the_workload(text: str, workload: Any) -> None:
    found = reads_of(noop(text))
    assert found.workload == (None if workload is None else frozenset(workload)) and not found.reads_id


@pytest.mark.parametrize(
    ("text", "ctx"),
    [
        ("{{ ctx.n }}", {"n"}),
        ("{{ ctx.n.m }}", {"n"}),
        ("{{ ctx['n'] }}", {"n"}),
        ("{{ ctx[args.k] }}", None),
        ("{{ ctx.get('n') }}", None),
        ("{{ x }}", {"x"}),  # a key of `ctx` comes before that of `workload`
        ("{{ args.k }}", set()),
    ],
)
def test_keys_of_ctx(text: str, ctx: Any) -> None:
    assert reads_of(noop(text)).ctx == (None if ctx is None else frozenset(ctx))


@pytest.mark.parametrize(
    ("text", "reads_id"), [("{{ execution_id }}", True), ("{{ action_id }}", False), ("{{ workload.x }}", False)]
)
def test_the_id_of_the_execution(text: str, reads_id: bool) -> None:
    assert reads_of(noop(text)).reads_id is reads_id


NOTHING = StepReads(frozenset(), frozenset(), False)
EVERYTHING = StepReads(None, None, True)


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("result = args", NOTHING),
        ("result = workload", StepReads(frozenset(), None, False)),
        ("result = ctx.get('n')", StepReads(None, frozenset(), False)),
        ("result = execution_id", StepReads(frozenset(), frozenset(), True)),
        ("def main(x): return x", StepReads(frozenset({"x"}), frozenset({("x",)}), False)),
        ("result = context['x']", StepReads(frozenset({"x"}), frozenset({("x",)}), False)),
        ("result = context['job']", StepReads(frozenset(), frozenset(), True)),
        ("result = dict(context)", EVERYTHING),
        ("context = {}\nresult = context", EVERYTHING),
    ],
)
def test_names_that_code_finds_bound(code: str, found: StepReads) -> None:
    lines = ["", "      kind: python", "      code: |", *(f"        {line}" for line in code.splitlines())]
    assert reads_of("\n".join(lines)) == found


def test_a_block_template_may_read_everything() -> None:
    assert reads_of('{kind: shell, cmd: "{% if 1 %}x{% endif %}"}') == EVERYTHING


def test_what_rules_ask_and_write_counts() -> None:
    rule = "{when: '{{ ctx.m and outcome.ok }}', then: {do: continue, set_ctx: {n: '{{ workload.x }}'}}}"
    plan = read_plan(compiled(f"{HEAD}{{kind: noop, spec: {{policy: {{rules: [{rule}]}}}}}}\n"))
    found = step_reads(plan, 0)
    assert (found.ctx, found.workload) == (frozenset({"m"}), frozenset({("x",)}))
    assert written_keys(plan, 0) == {"n"}


@pytest.mark.parametrize(
    ("tool", "same"),
    [
        ("{kind: shell, cmd: 'echo {{ x }}'}", True),
        ("{kind: shell,   cmd: 'echo {{ workload.x }}'}", False),
        ("{kind: shell, cmd: 'echo {{ x }}', env: {A: b}}", False),
        ("{kind: shell, cmd: 'echo {{ x }}', spec: {timeout: 3}}", False),
        ("{kind: shell, cmd: 'echo {{ x }}', spec: {policy: {rules: [{else: {then: {do: continue}}}]}}}", False),
    ],
)
def test_a_task_is_the_same_by_all_that_it_does(tool: str, same: bool) -> None:
    old = read_plan(compiled(f"{HEAD}{{kind: shell, cmd: 'echo {{{{ x }}}}'}}\n"))
    assert is_same_task(old, 0, read_plan(compiled(f"# moved\n{HEAD}{tool}\n")), 0) is same
