"""The second pass: what guards exclude, what they may exclude, and how long what they show is known."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nets import plan_of, steps
from noetl_ir.evaluate import compile_guard
from noetl_ir.expr import Native
from noetl_ir.scopes import PlayScope
from noetlc.analysis.knowledge import informed
from noetlc.analysis.reductions import reduced
from noetlc.analysis.report import report_of
from noetlc.analysis.resets import played
from noetlc.analysis.skeleton import Skeleton, success_skeleton
from noetlc.analysis.stubborn import terminals_of
from noetlc.analysis.verdict import Status, Verdict

STUCK = "nothing can get stuck"
JOIN = "step: j, spec: {policy: {join: all}}"


def stuck(*lines: str, head: str = "") -> Verdict:
    found = [each for each in report_of(plan_of(head + steps(*lines))).verdicts if each.question == STUCK]
    return found[0]


def fork(left: str, right: str) -> str:
    return (
        "step: start, next: {spec: {mode: inclusive}, arcs: ["
        f'{{step: a, when: "{{{{ {left} }}}}"}}, {{step: b, when: "{{{{ {right} }}}}"}}]}}'
    )


def forked(left: str, right: str) -> Status:
    """Whether a fork with two guards can starve the join behind it."""
    return stuck(
        fork(left, right), "step: a, next: {arcs: [{step: j}]}", "step: b, next: {arcs: [{step: j}]}", JOIN
    ).status


@pytest.mark.parametrize(
    ("left", "right", "status"),
    [
        ("workload.x", "workload.x", Status.PROVED),
        ("workload.x == 1", "workload.x == 1.0", Status.PROVED),
        ("workload.x == 1", "not workload.x != 1", Status.PROVED),
        ("workload.x in [1, 2]", "workload.x == 1 or workload.x == 2", Status.PROVED),
        ("workload.x < 3", "workload.x < 3", Status.PROVED),
        ("event.step == 'start'", "event.step == 'start'", Status.PROVED),
        ("workload.x", "not workload.x", Status.REFUTED),
        ("workload.x < 3", "not workload.x >= 3", Status.REFUTED),  # null and text make both untrue
        ("workload.x == 9007199254740993", "workload.x == 9007199254740992", Status.REFUTED),
        ("workload.x == 1", "workload.x == 2", Status.REFUTED),
    ],
)
def test_what_two_guards_of_one_router_have_to_do_with_each_other(left: str, right: str, status: Status) -> None:
    assert forked(left, right) is status


def apart(first: str, second: str, between: str = "") -> Status:
    """A choice, then a step, then another choice: do the guards agree, so that no join starves?"""
    tool = f"tool: {{name: t, kind: noop{between}}}, " if between else ""
    return stuck(
        "step: start, next: {spec: {mode: inclusive}, arcs: ["
        f'{{step: m}}, {{step: a, when: "{{{{ {first} }}}}"}}]}}',
        f'step: m, {tool}next: {{arcs: [{{step: j, when: "{{{{ {second} }}}}"}}]}}',
        "step: a, next: {arcs: [{step: j}]}",
        JOIN,
    ).status


WRITES = ", spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {%s: '{{ workload.new }}'}}}}]}}"


@pytest.mark.parametrize(
    ("first", "second", "between", "status"),
    [
        ("workload.x", "workload.x", "", Status.PROVED),
        ("ctx.x", "ctx.x", "", Status.PROVED),
        ("ctx.x", "ctx.x", WRITES % "y", Status.PROVED),
        ("ctx.x", "ctx.x", WRITES % "x", Status.REFUTED),
        ("event.ts", "event.ts", "", Status.UNKNOWN),
    ],
)
def test_how_long_a_guard_is_known(first: str, second: str, between: str, status: Status) -> None:
    assert apart(first, second, between) is status


def test_a_finding_that_guards_may_exclude_says_so() -> None:
    found = stuck(
        fork("workload.x > 3 and workload.x < 2", "false"),
        "step: a, next: {arcs: [{step: j}]}",
        "step: b",
        "step: c, next: {arcs: [{step: j}]}",
        JOIN,
    )
    assert found.status is Status.UNKNOWN and "guards may exclude it" in found.detail and found.story is not None


def test_what_guards_exclude_is_said_to_be_so() -> None:
    found = stuck(
        fork("workload.x", "workload.x"),
        "step: a, next: {arcs: [{step: j}]}",
        "step: b, next: {arcs: [{step: j}]}",
        JOIN,
    )
    assert "guards exclude" in found.detail


@pytest.mark.parametrize("guard", ["event.status == 'error'", "event.name == 'step.failed'"])
def test_two_arcs_of_a_failure_with_one_guard_are_taken_together_or_the_failure_is_unhandled(guard: str) -> None:
    lines = ("step: a, next: {arcs: [{step: j}]}", "step: b, next: {arcs: [{step: j}]}", JOIN)
    assert stuck(fork(guard, guard), *lines).status is Status.PROVED
    assert stuck(fork(guard, f"{guard} and ctx.x"), *lines).status is not Status.PROVED
    assert stuck(fork(guard, f"not ({guard})"), *lines).status is not Status.PROVED


def test_every_arc_not_taken_is_no_end_where_one_guard_is_the_complement_of_the_other() -> None:
    plan = plan_of(
        steps(
            'step: start, next: {arcs: [{step: a, when: "{{ workload.x }}"}, {step: b, when: "{{ not workload.x }}"}]}',
            "step: a, next: {arcs: [{step: last}]}",
            "step: b, next: {arcs: [{step: last}]}",
            "step: last",
        )
    )
    [found] = [
        each for each in report_of(plan, ["every run reaches last"]).verdicts if each.question.startswith("every run")
    ]
    assert found.status is Status.PROVED


def behind(writes: str, guard: str, loop: str = "", head: str = "") -> Status:
    """A step that may write, then a fork of which one arc has a guard, into a join: does that starve?"""
    return stuck(
        f"step: start, {loop}tool: {{name: t, kind: noop{writes}}}, next: {{arcs: [{{step: f}}]}}",
        f'step: f, next: {{spec: {{mode: inclusive}}, arcs: [{{step: a}}, {{step: b, when: "{{{{ {guard} }}}}"}}]}}',
        "step: a, next: {arcs: [{step: j}]}",
        "step: b, next: {arcs: [{step: j}]}",
        JOIN,
        head=head,
    ).status


CONSTANT = ", spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {x: %s}}}}]}}"
EITHER = (
    ", spec: {policy: {rules: [{when: '{{ outcome.result.ok }}', then: {do: continue, set_ctx: {x: 1}}}, "
    "{else: {then: {do: continue, set_ctx: {x: 2}}}}]}}"
)
SEVERAL = (
    ", spec: {policy: {rules: [{when: '{{ iter.item }}', then: {do: continue, set_ctx: {x: 1}}}, "
    "{else: {then: {do: continue, set_ctx: {y: 1}}}}]}}"
)
LOOP = 'loop: {in: "{{ workload.items }}", iterator: item, spec: {mode: sequential}}, '


@pytest.mark.parametrize(
    ("writes", "guard", "loop", "status"),
    [
        ("", "not ctx.x", "", Status.PROVED),  # nothing has set it
        ("", "not ctx.x == 3", "", Status.PROVED),
        ("", "ctx.x is not defined", "", Status.PROVED),
        ("", "ctx.x | default(0) < 3", "", Status.PROVED),
        ("", "ctx.x", "", Status.REFUTED),
        (CONSTANT % "3", "ctx.x == 3", "", Status.PROVED),
        (CONSTANT % "true", "ctx.x", "", Status.PROVED),
        (CONSTANT % "'false'", "not ctx.x", "", Status.PROVED),
        (CONSTANT % "3", "ctx.x == 4", "", Status.REFUTED),
        (CONSTANT % "'{{ workload.n }}'", "not ctx.x", "", Status.REFUTED),
        (EITHER, "ctx.x in [1, 2]", "", Status.UNKNOWN),  # which of both is not known
        (EITHER, "ctx.x == 1", "", Status.REFUTED),
        (CONSTANT % "3", "ctx.x == 3", LOOP, Status.REFUTED),  # there may be no items
        (SEVERAL, "not (ctx.x and ctx.y)", LOOP, Status.UNKNOWN),  # one iteration writes x, another one y
    ],
)
def test_what_is_known_of_ctx_from_the_start(writes: str, guard: str, loop: str, status: Status) -> None:
    assert behind(writes, guard, loop) is status


REDUCE = "executor: {spec: {ctx: {x: {reduce: %s}}}}\n"
PARALLEL = 'loop: {in: "{{ workload.items }}", iterator: item, spec: {mode: parallel}}, '


@pytest.mark.parametrize(
    ("reducer", "writes", "guard", "loop", "status"),
    [
        ("sum, initial: 3", "", "ctx.x == 3", "", Status.PROVED),
        ("sum", "", "ctx.x == 0", "", Status.PROVED),
        ("max", "", "ctx.x is none", "", Status.PROVED),
        ("sum, initial: '{{ workload.n }}'", "", "ctx.x == 0", "", Status.REFUTED),
        ("sum", CONSTANT % "3", "ctx.x == 3", "", Status.UNKNOWN),  # 0 + 3: not followed, and not denied
        ("sum, initial: 2", CONSTANT % "3", "ctx.x == 3", "", Status.REFUTED),
        ("append", CONSTANT % "3", "ctx.x", PARALLEL, Status.REFUTED),
    ],
)
def test_what_is_known_of_a_reduced_key(reducer: str, writes: str, guard: str, loop: str, status: Status) -> None:
    assert behind(writes, guard, loop, REDUCE % reducer) is status


def test_a_phase_behind_main_begins_with_what_main_has_left_in_ctx() -> None:
    lines = (
        f"step: start, tool: {{name: t, kind: noop{CONSTANT % 1}}}",
        'step: f, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b, when: "{{ not ctx.x }}"}]}',
        "step: a, next: {arcs: [{step: j}]}",
        "step: b, next: {arcs: [{step: j}]}",
        JOIN,
    )
    assert stuck(*lines, head="executor: {spec: {finally: f}}\n").status is not Status.PROVED
    assert (
        stuck(lines[0].replace("{x:", "{y:"), *lines[1:], head="executor: {spec: {finally: f}}\n").status
        is Status.PROVED
    )


GUARDS = st.sampled_from(
    [
        "workload.x",
        "not workload.x",
        "workload.y",
        "workload.x and workload.y",
        "workload.x or not workload.y",
        "workload.y != 1",
    ]
)


@st.composite
def choices(draw: st.DrawFn) -> str:
    """Two routers in parallel branches, in front of a join, with guards over two values."""

    def router(*targets: str) -> str:
        arcs = ", ".join(f'{{step: {target}, when: "{{{{ {draw(GUARDS)} }}}}"}}' for target in targets)
        return f"next: {{spec: {{mode: {draw(st.sampled_from(['exclusive', 'inclusive']))}}}, arcs: [{arcs}]}}"

    return steps(
        "step: start, next: {spec: {mode: inclusive}, arcs: [{step: l}, {step: r}]}",
        f"step: l, {router('j', 'm')}",
        f"step: r, {router('j', 'm')}",
        f"step: m, {router('j')}",
        f"step: j, spec: {{policy: {{join: {draw(st.sampled_from(['all', 'first', '2']))}}}}}",
    )


@settings(max_examples=60, deadline=None)
@given(choices())
def test_knowledge_leaves_exactly_the_runs_of_some_workload(body: str) -> None:
    plan = plan_of(body)
    free = success_skeleton(plan)
    ends = {end for values in product(("t", False, 1), repeat=2) for end in ends_of(chosen(free, *values))}
    known = informed(free)
    count = len(plan.net.places)
    assert {marking[:count] for marking in ends_of(known)} == ends


def ends_of(skeleton: Skeleton) -> set[tuple[int, ...]]:
    """The markings in which a run can end."""
    small = reduced(skeleton.net)
    ends = terminals_of(small.net, 100_000)
    assert ends.complete
    paths = [small.run(ends.graph.path_to(state)) for state in ends.dead]
    return {played(skeleton.net, [(each,) for each in path]) for path in paths}


def chosen(skeleton: Skeleton, x: object, y: object) -> Skeleton:
    """The skeleton with only the choices that a workload makes."""
    plan = skeleton.plan
    guards = {t.arc: plan.templates[t.guard] for t in plan.net.transitions if t.role == "take" and t.guard >= 0}
    scope = PlayScope({"workload": {"x": x, "y": y}})

    def fires(number: int) -> bool:
        t = skeleton.transition(number)
        template = guards.get(t.arc)
        if t.role not in ("take", "pass") or not isinstance(template, Native):
            return True
        return compile_guard(template.expr)(scope) == (t.role == "take")

    kept = [number for number in range(len(skeleton.origin)) if fires(number)]
    net = skeleton.net
    fewer = net._replace(
        transitions=tuple(net.transitions[number] for number in kept),
        inputs=tuple(net.inputs[number] for number in kept),
        outputs=tuple(net.outputs[number] for number in kept),
    )
    return Skeleton(plan, fewer, tuple(skeleton.origin[number] for number in kept), skeleton.doomed)
