"""noetl_ir.verify: every golden net is sound, and each thing that is broken in one is named."""

from collections.abc import Callable

import pytest

import goldens
from nets import plan_of, steps
from noetl_ir.expr import Native
from noetl_ir.net import Arc, PlaceClass, Transition, Trigger
from noetl_ir.plan import Plan, Rule
from noetl_ir.span import NOWHERE
from noetl_ir.verify import verify
from noetlc.pipeline import compile_source

CASES = [case for case in goldens.cases() if case.stage in ("net", "plan")]
FORK = plan_of(
    steps(
        "step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b, when: '{{ ctx.x }}'}]}",
        "step: a, next: {arcs: [{step: j}]}",
        "step: b, next: {arcs: [{step: j}]}",
        "step: j, spec: {policy: {join: first}}, "
        "loop: {in: '{{ [1] }}', iterator: x}, tool: {kind: noop, result: {v: 1}}",
    )
)

LOOPED = next(number for number, each in enumerate(FORK.templates) if not isinstance(each, Native))
RETRY = Rule(-1, "retry", NOWHERE)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_golden_net_is_sound(case: goldens.Case) -> None:
    for plan in compile_source(case.path.name, case.path.read_bytes()).plans:
        assert verify(plan) == ()


def changed(plan: Plan, id: str, change: Callable[[Transition], Transition | None]) -> Plan:
    """The plan with one transition changed, or left out."""
    found = [change(t) if t.id == id else t for t in plan.net.transitions]
    assert found != list(plan.net.transitions)
    return plan._replace(net=plan.net._replace(transitions=tuple(t for t in found if t is not None)))


def place(id: str) -> int:
    return next(index for index, each in enumerate(FORK.net.places) if each.id == id)


@pytest.mark.parametrize(
    ("id", "change", "message"),
    [
        ("admit a", lambda t: t._replace(outputs=()), "has not the shape"),
        ("admit a", lambda t: t._replace(inputs=()), "has not the shape"),
        ("admit a", lambda t: t._replace(role="hope"), "has not the shape"),
        ("admit a", lambda t: t._replace(outputs=(Arc(place("ready b")),)), "different steps"),
        ("admit a", lambda t: t._replace(outputs=(Arc(9999),)), "arc to no place"),
        ("admit a", lambda t: t._replace(step=99), "of no step"),
        ("admit a", lambda t: t._replace(guard=10_000), "of no step, task, arc or guard"),
        ("admit a", lambda t: t._replace(guard=LOOPED), "a guard that is no expression"),
        ("start b b_task", lambda t: t._replace(task=t.task - 1), "is not what the tables give here"),
        ("ok b b_task continue", lambda t: t._replace(outcome="error"), "is not what the tables give here"),
        ("ok b b_task continue", lambda t: None, "`ok b b_task continue`"),
        ("take+ start ok 1", lambda t: t._replace(arc=2), "is not what the tables give here"),
        ("begin j 0", lambda t: t._replace(level=1), "is not what the tables give here"),
        ("admit a", lambda t: t._replace(span=None), "neither a span nor a maker"),
        ("admit a", lambda t: t._replace(id="admit b"), "one id twice"),
        ("admit a", lambda t: t._replace(inputs=(t.inputs[0]._replace(weight=2),)), "weight 2 where it must be 1"),
        ("lost a a_task", lambda t: t._replace(trigger=Trigger.NOW), "waits for now"),
        ("arrive j a", lambda t: t._replace(outputs=(*t.outputs, t.outputs[0])), "memory"),
        ("arrive j a", lambda t: t._replace(inputs=t.inputs[:1]), "memory"),
        ("meet j", lambda t: t._replace(inputs=(t.inputs[0]._replace(weight=2), t.inputs[1])), "weight 2"),
        ("expand j 0", lambda t: t._replace(outputs=tuple(Arc(arc.place) for arc in t.outputs)), "weight"),
        ("expand err j 0", lambda t: None, "nothing takes its fault"),
        ("err start ok", lambda t: None, "nothing takes its fault"),
        ("pass+ start ok 1", lambda t: None, "is the last choice"),
    ],
)
def test_what_is_broken_is_named(id: str, change: Callable[[Transition], Transition | None], message: str) -> None:
    problems = verify(changed(FORK, id, change))
    assert any(message in str(problem) for problem in problems), problems


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (FORK._replace(entry=7), "names no step"),
        (FORK._replace(workload=10_000), "names a template"),
        (FORK._replace(template_spans=()), "not every template has a span"),
        (FORK._replace(steps=FORK.steps[:1] * 4), "same name twice"),
        (FORK._replace(tasks=FORK.tasks[1:]), "not its own"),
        (FORK._replace(arcs=(FORK.arcs[0]._replace(target=44), *FORK.arcs[1:])), "arc to no step"),
        (FORK._replace(arcs=(FORK.arcs[0]._replace(target=3), *FORK.arcs[1:])), "a join over other sources"),
        (FORK._replace(steps=(*FORK.steps[:1], FORK.steps[1]._replace(gated=True), *FORK.steps[2:])), "another gate"),
        (FORK._replace(tasks=(FORK.tasks[0]._replace(rules=(RETRY,)), *FORK.tasks[1:])), "what the tables give here"),
        (FORK._replace(workload_order=("x",)), "another order than its keys"),
        (FORK._replace(tasks=(FORK.tasks[0]._replace(knobs=0), *FORK.tasks[1:])), "no mapping"),
        (FORK._replace(net=FORK.net._replace(initial=())), "one token at the entry"),
        (
            FORK._replace(
                net=FORK.net._replace(places=tuple(each._replace(kind=PlaceClass.SLOT) for each in FORK.net.places))
            ),
            "of the class slot",
        ),
    ],
)
def test_what_is_wrong_with_a_plan_is_named(plan: Plan, message: str) -> None:
    problems = verify(plan)
    assert any(message in str(problem) for problem in problems), problems
