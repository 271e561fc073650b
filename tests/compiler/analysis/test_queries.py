"""Queries: how they are read, and their answers on small playbooks."""

import pytest

from nets import plan_of, steps
from noetl_ir.plan import Plan
from noetlc.analysis.queries import AtMost, Before, NeverBoth, QueryError, Reachable, Reaches, query_of
from noetlc.analysis.report import report_of
from noetlc.analysis.verdict import Status, Verdict

FORK = steps(
    'step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b, when: "{{ workload.x }}"}]}',
    "step: a, next: {arcs: [{step: last}]}",
    "step: b, next: {arcs: [{step: last}]}",
    "step: last, tool: [{name: one, kind: noop}, {name: two, kind: noop}]",
    "step: lost",
)


def verdict_of(plan: Plan, query: str) -> Verdict:
    return report_of(plan, (query,)).verdicts[-1]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("reachable(x)", Reachable("x")),
        (" reachable ( 'a/b c' ) ", Reachable("a/b c")),
        ("never(a and b)", NeverBoth("a", "b")),
        ("never(`and` and and)", NeverBoth("and", "and")),
        ("always(x before y.t)", Before("x", "y.t")),
        ("every run reaches x-1", Reaches("x-1")),
        ("at most 3 of x", AtMost(3, "x")),
    ],
)
def test_the_five_forms_are_read(text: str, query: object) -> None:
    assert query_of(text) == query


@pytest.mark.parametrize(
    "text", ["", "reachable x", "never(a, b)", "at most x of y", "at most 9999 of x", "sometimes(x)"]
)
def test_anything_else_is_an_error_that_says_what_to_write(text: str) -> None:
    with pytest.raises(QueryError):
        query_of(text)


@pytest.mark.parametrize("name", ["gone", "last.three", "a.one"])
def test_a_name_of_nothing_is_an_error(name: str) -> None:
    with pytest.raises(QueryError, match=name):
        verdict_of(plan_of(FORK), f"reachable({name})")


@pytest.mark.parametrize(("name", "near"), [("lsat", "last"), ("last.tow", "last.two"), ("Last", "last")])
def test_a_misspelt_name_is_told_with_the_one_that_was_meant(name: str, near: str) -> None:
    with pytest.raises(QueryError, match=f"there is no step `{name}`.*; did you mean `{near}`\\?$"):
        verdict_of(plan_of(FORK), f"reachable({name})")


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("reachable(last)", Status.PROVED),
        ("reachable(last.two)", Status.PROVED),
        ("reachable(lost)", Status.REFUTED),
        ("never(a and b)", Status.REFUTED),
        ("never(start and last)", Status.PROVED),
        ("never(last and last)", Status.REFUTED),
        ("never(a and a)", Status.PROVED),
        ("never(last.one and last.two)", Status.REFUTED),
        ("always(start before last)", Status.PROVED),
        ("always(last.one before last.two)", Status.PROVED),
        ("always(b before last)", Status.REFUTED),
        ("every run reaches last", Status.PROVED),
        ("every run reaches b", Status.REFUTED),
        ("at most 2 of last", Status.PROVED),
        ("at most 1 of last", Status.REFUTED),
        ("at most 0 of lost", Status.PROVED),
    ],
)
def test_answers_about_a_fork(query: str, status: Status) -> None:
    found = verdict_of(plan_of(FORK), query)
    assert found.status is status
    assert (found.script is not None) == (found.story is not None)


LOOPS = steps(
    "step: start, next: {arcs: [{step: each}]}",
    'step: each, loop: {in: "{{ workload.items }}", iterator: x, spec: {mode: parallel}}, '
    "tool: [{name: one, kind: noop}, {name: two, kind: noop}], next: {arcs: [{step: last}]}",
    "step: last",
)


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("never(each.one and each.two)", Status.REFUTED),
        ("never(each and last)", Status.PROVED),
        ("every run reaches each.one", Status.REFUTED),  # there may be no items
        ("every run reaches last", Status.PROVED),
        ("at most 1 of each", Status.PROVED),
    ],
)
def test_answers_about_a_parallel_loop_look_at_two_items(query: str, status: Status) -> None:
    assert verdict_of(plan_of("workload: {items: [1, 2]}\n" + LOOPS), query).status is status


JUMPS = steps(
    "step: start, tool: [{name: page, kind: noop, spec: {policy: {rules: "
    '[{when: "{{ outcome.result.more }}", then: {do: jump, to: page}}, {else: {then: {do: continue}}}]}}}], '
    "next: {arcs: [{step: last}]}",
    "step: last",
)
RETRIES = JUMPS.replace("do: jump, to: page", "do: retry, attempts: 3")


def test_a_cycle_that_is_not_counted_refutes_that_every_run_gets_there_and_retries_do_not() -> None:
    assert verdict_of(plan_of(JUMPS), "every run reaches last").status is Status.REFUTED
    assert verdict_of(plan_of(RETRIES), "every run reaches last").status is Status.PROVED


def test_reachable_is_proved_only_by_a_run_that_replays() -> None:
    def asked(guard: str) -> Status:
        plan = plan_of(steps(f'step: start, next: {{arcs: [{{step: a, when: "{{{{ {guard} }}}}"}}]}}', "step: a"))
        return verdict_of(plan, "reachable(a)").status

    assert asked("workload.x > 3") is Status.PROVED
    assert asked("workload.x > 3 and workload.x < 2") is Status.UNKNOWN
    assert asked("workload.x == 1 and workload.x == 2") is Status.REFUTED
