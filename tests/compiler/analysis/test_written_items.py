"""A loop over a list that is written out has items, or none; any other one may have both."""

import pytest

from nets import PARTS, plan_of, steps
from noetlc.analysis.report import report_of
from noetlc.analysis.skeleton import whole_skeleton
from noetlc.analysis.verdict import Status

SOME, NONE, OPEN = {"expand"}, {"empty"}, {"expand", "empty"}


def plan_over(items: str, spec: str = "mode: parallel") -> str:
    loop = f"loop: {{in: {items}, iterator: it, spec: {{{spec}}}}}"
    return "workload: {xs: [1]}\n" + steps(
        f"step: start, {loop}, tool: {{kind: noop}}, next: {{arcs: [{{step: x}}]}}", "step: x"
    )


@pytest.mark.parametrize(
    ("items", "roles"),
    [
        ("[1]", SOME),
        ("[]", NONE),
        ('["{{ workload.xs }}"]', SOME),
        ('"{{ [1, 2] }}"', SOME),
        ('"{{ [workload.xs] }}"', SOME),
        ('"{{ [] }}"', NONE),
        ('"{{ range(3) }}"', SOME),
        ('"{{ range(0) }}"', NONE),
        ('"{{ range(4, 1) }}"', NONE),
        ('"{{ range(1, 4, 2) }}"', SOME),
        ('"{{ range(1, 4, 0) }}"', OPEN),
        ('"{{ range(4, 1, -1) }}"', SOME),
        ('"{{ range(1, 4, -1) }}"', NONE),
        ('"{{ range(-2, +1, 2) }}"', SOME),
        ('"{{ range(-1) }}"', NONE),
        ('"{{ range(1, 4, -0) }}"', OPEN),
        ('"{{ range(workload.xs | length) }}"', OPEN),
        ('"{{ workload.xs }}"', OPEN),
        ('"{{ [1] if workload.xs else [] }}"', OPEN),
        ("{a: 1}", OPEN),
    ],
)
def test_how_a_loop_may_begin(items: str, roles: set[str]) -> None:
    skeleton = whole_skeleton(plan_of(plan_over(items)))
    found = {skeleton.transition(number).role for number in range(len(skeleton.origin))}
    assert found & OPEN == roles


def test_a_loop_that_grows_begins_with_none_too() -> None:
    skeleton = whole_skeleton(plan_of(plan_over("[]", "mode: parallel, more: {events: [m]}, close: {events: [c]}")))
    assert "expand" in {skeleton.transition(number).role for number in range(len(skeleton.origin))}


def test_the_tasks_of_a_loop_without_items_never_run() -> None:
    for items, status in (("[]", Status.REFUTED), ("[1]", Status.PROVED)):
        found = report_of(plan_of(plan_over(items))).verdicts
        assert next(each.status for each in found if each.question == PARTS) is status
