"""Contributions to reduced keys (EXTENSIONS §4): the value follows from who contributed what, never from who was fast.

The expected values come from a model of a few lines here: contributions with their index paths, sorted and reduced.
"""

import random
from typing import Any

import pytest

from harness.running import resume_prefix, run

KEYS = {"total": "sum", "low": "min", "high": "max", "seen": "append", "tags": "union", "by": "merge", "times": "count"}
EXECUTOR = f"executor: {{spec: {{ctx: {{{', '.join(f'{key}: {{reduce: {how}}}' for key, how in KEYS.items())}}}}}}}"
RULES = "spec: {policy: {rules: [{else: {then: {do: continue, %s}}}]}}"
SETS = (
    'set_ctx: {total: "{{ %(v)s }}", low: "{{ %(v)s }}", high: "{{ %(v)s }}", seen: "{{ %(v)s }}", '
    'tags: "{{ [%(v)s %% 3] }}", by: "{{ dict([[\'k\' ~ (%(v)s %% 3), %(v)s]]) }}", times: null}'
)


def loops(outer: str, inner: str, value: str, limit: int) -> str:
    """A loop in a loop whose iterations contribute a value made of their indices."""
    rules = RULES % (SETS % {"v": value})
    return f"""
{EXECUTOR}
workflow:
  - step: start
    loop:
      in: "{{{{ range(3) | list }}}}"
      iterator: x
      spec: {{mode: {outer}, max_in_flight: {limit}}}
      loop: {{in: "{{{{ range(3) | list }}}}", iterator: y, spec: {{mode: {inner}}}}}
    tool: {{name: t, kind: http, url: "http://x/", {rules}}}
    next: {{arcs: [{{step: z, args: {{seen: "{{{{ ctx.seen }}}}"}}}}]}}
  - {{step: z, tool: {{kind: noop, result: "{{{{ args.seen }}}}"}}}}
"""


def model(values: list[int]) -> dict[str, Any]:
    """The value of each key after contributions in that order."""
    by: dict[str, int] = {}
    for value in values:
        by[f"k{value % 3}"] = value
    return {
        "total": sum(values), "low": min(values), "high": max(values), "seen": values,
        "tags": list(dict.fromkeys(value % 3 for value in values)), "by": by, "times": len(values),
    }  # fmt: skip


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("modes", [("parallel", "parallel"), ("parallel", "sequential"), ("sequential", "parallel")])
def test_the_value_does_not_depend_on_which_iteration_was_fast(modes: tuple[str, str], seed: int) -> None:
    chance = random.Random(seed)
    outcomes = [
        {"step": "start", "index": [x, y], "takes": chance.choice([0.5, 1, 2, 3]), "outcome": {"result": None}}
        for x in range(3)
        for y in range(3)
    ]
    ran = run(loops(*modes, "(10 * x + y)", chance.choice([1, 2, 3])), {"outcomes": outcomes})
    wanted = model([10 * x + y for x in range(3) for y in range(3)])
    assert ran.status == "completed"
    assert ran.execution.ctx == wanted
    assert ran.result("z") == wanted["seen"]


def test_what_waits_for_a_loop_counts_however_the_loop_ends() -> None:
    rules = RULES % "set_ctx: {seen: '{{ iter.n }}', n: 1}"
    text = f"""
executor: {{spec: {{ctx: {{seen: {{reduce: append}}, n: {{reduce: count}}}}}}}}
workflow:
  - step: start
    loop: {{in: [0, 1, 2], iterator: n, spec: {{mode: parallel}}}}
    tool:
      - {{name: a, kind: http, url: "http://x/", {rules}}}
      - {{name: b, kind: http, url: "http://x/"}}
    next: {{arcs: [{{step: z, when: "{{{{ event.name == 'step.failed' }}}}"}}]}}
  - {{step: z, tool: {{kind: noop, result: "{{{{ ctx.seen }}}}"}}}}
"""
    bad = {"status": "error", "error": {"message": "no"}}
    script: Any = {
        "outcomes": [
            {"task": "a", "index": 0, "takes": 5},
            {"task": "a", "index": 1, "takes": 2},
            {"task": "b", "index": 2, "takes": 3, "outcome": bad},
            {"step": "start", "takes": 1},
        ]
    }
    # The first attempt runs when the loop stops, and what it contributes when it ends counts.
    assert run(text, script).result("z") == [0, 1, 2]
    cancelled = run(text, script, at={3.5: "cancel"})
    assert cancelled.status == "cancelled" and cancelled.execution.ctx == {"seen": [1, 2], "n": 2}
    unhandled = run(text.replace("z, when", "z, when: '{{ false }}', x-when"), script)
    assert unhandled.status == "failed" and unhandled.execution.ctx == {"seen": [0, 1, 2], "n": 3}


def test_a_run_sees_the_value_of_its_start_and_its_own_contributions() -> None:
    rule = "spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {n: %d, seen: %d}}}}]}}"
    text = f"""
executor: {{spec: {{ctx: {{n: {{reduce: sum, initial: 100}}, seen: {{reduce: append}}}}}}}}
workflow:
  - {{step: start, next: {{spec: {{mode: inclusive}}, arcs: [{{step: a}}, {{step: b}}]}}}}
  - step: a
    tool:
      - {{name: t, kind: http, url: "http://x/", {rule % (1, 1)}}}
      - {{name: u, kind: http, url: "http://x/", {rule % (2, 2)}}}
      - {{name: v, kind: noop, result: "{{{{ [ctx.n, ctx.seen] }}}}"}}
  - step: b
    tool:
      - {{name: t, kind: http, url: "http://x/", {rule % (10, 10)}}}
      - {{name: v, kind: noop, result: "{{{{ [ctx.n, ctx.seen] }}}}"}}
"""
    ran = run(text, {"outcomes": [{"task": name, "takes": 1} for name in "tu"]})
    assert ran.result("a") == [103, [1, 2]]
    assert ran.result("b") == [110, [10]]
    assert ran.execution.ctx["n"] == 113
    assert sorted(ran.execution.ctx["seen"]) == [1, 2, 10]
    assert not any("replaced_newer" in event.data for event in ran.of("ctx.patched"))


def test_a_crash_at_any_point_neither_loses_nor_doubles_a_contribution() -> None:
    text = loops("parallel", "parallel", "(10 * x + y)", 2)
    # None ends when another one does, so that each contribution is on disk before the next; the second is the last.
    seconds = {(x, y): 9 if (x, y) == (0, 1) else 1 + 2 * x + 0.7 * y for x in range(3) for y in range(3)}
    script: Any = {"outcomes": [{"index": list(at), "takes": takes} for at, takes in seconds.items()]}
    whole = run(text, script)
    assert whole.execution.ctx == model([10 * x + y for x in range(3) for y in range(3)])
    there = [sum(event.event_type == "ctx.patched" for event in whole.log[:length]) for length in whole.commits[:-1]]
    assert set(there) >= set(range(8))
    for length in whole.commits[:-1]:
        resumed = resume_prefix(whole, length, script)
        assert resumed.execution.ctx == whole.execution.ctx, length


def test_a_report_with_a_contribution_that_does_not_fit_fails_its_task() -> None:
    rule = "spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {top: '%s'}}}}]}}"
    text = f"""
executor: {{spec: {{policy: {{failure: {{mode: best_effort}}}}, ctx: {{top: {{reduce: max}}}}}}}}
workflow:
  - {{step: start, next: {{spec: {{mode: inclusive}}, arcs: [{{step: a}}, {{step: b}}]}}}}
  - {{step: a, tool: {{kind: http, url: "http://x/", {rule % "{{ outcome.result.body }}"}}}}}
  - {{step: b, tool: {{kind: http, url: "http://x/", {rule % "{{ outcome.result.body }}"}}}}}
"""
    script: Any = {
        "outcomes": [
            {"step": "a", "takes": 1, "outcome": {"result": {"body": 5}}},
            {"step": "b", "takes": 2, "outcome": {"result": {"body": "x"}}},
        ]
    }
    # The worker of `b` saw nothing there: that a number came meanwhile only the server knows.
    ran = run(text, script)
    assert ran.execution.failure is not None and ran.execution.failure["code"] == "reduce.type"
    assert ran.execution.ctx == {"top": 5}


def test_a_union_that_begins_with_equal_items_keeps_the_first() -> None:
    ran = run("""
executor: {spec: {ctx: {tags: {reduce: union, initial: [2, 1, 2.0, 1]}}}}
workflow: [{step: start, tool: {kind: noop, result: "{{ ctx.tags }}"}}]
""")
    assert ran.result("start") == [2, 1]
