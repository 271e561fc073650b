"""`every run reaches x`: held against a naive explorer with fair runs, and against guards that say nothing."""

from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fair_runs import has_run_without
from harness.samples import shares
from nets import Game, is_calm, name_of, plan_of, random_plan, random_steps, sources_of, steps
from noetl_ir.plan import Plan
from noetlc.analysis import origin, reductions
from noetlc.analysis.effort import STANDARD, Effort
from noetlc.analysis.origin import ValueOrigin
from noetlc.analysis.petri import Petri
from noetlc.analysis.queries import query_of
from noetlc.analysis.reductions import Reduced
from noetlc.analysis.report import query_verdict, report_of
from noetlc.analysis.verdict import Status, Verdict

MOST = 1_500
PROVED, UNKNOWN, REFUTED = Status.PROVED, Status.UNKNOWN, Status.REFUTED


def verdict_of(plan: Plan, query: str) -> Verdict:
    found = query_verdict(plan, query_of(query), query, Effort(STANDARD))
    assert found.bug is None, found.bug
    return found


@st.composite
def playbooks(draw: st.DrawFn) -> str:
    """Three to five noops with arcs to any others, which go by what each run of a step gives."""
    count = draw(st.integers(3, 5))
    rows: list[list[int]] = [draw(st.lists(st.integers(1, count - 1), min_size=1, max_size=3, unique=True))]
    rows += [draw(st.lists(st.integers(0, count), max_size=2, unique=True)) for _ in range(1, count)]
    joins = [
        draw(st.sampled_from(("any", "all", "first"))) if sources_of(rows, at) > 1 else "any" for at in range(count)
    ]
    chooses = [draw(st.booleans()) for _ in range(count)]
    return random_steps(rows, [f"join: {join}" for join in joins], chooses).replace("workload.x", "event.result.x")


@shares(60)
@given(playbooks())
def test_verdicts_are_those_of_the_explorer(share: int, body: str) -> None:
    plan = random_plan(body)
    for number in (1, 2):
        name = name_of(number)
        game = Game(plan, allowed=is_calm)
        found = has_run_without(plan, name, game.initial(), game.steps_from, MOST)
        verdict = verdict_of(plan, f"every run reaches {name}")
        if found is not None and verdict.status is not UNKNOWN:
            assert (verdict.status is REFUTED) is found, body


def test_what_happened_before_each_end_is_not_worked_out_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tokens pile up here; the graph is thousands of firings deep, and half of its states are ends."""
    worked_out = 0
    change = Reduced.change

    def counted(self: Reduced, original: Petri, run: tuple[int, ...]) -> dict[int, int]:
        nonlocal worked_out
        worked_out += len(run)
        return change(self, original, run)

    monkeypatch.setattr(Reduced, "change", counted)
    forks = "spec: {mode: inclusive}, arcs: [{step: a}, {step: b}, {step: x}]"
    circle = "arcs: [{step: start, when: '{{ event.result.more }}'}, {step: x, when: '{{ event.result.less }}'}]"
    again = "spec: {policy: {join: first}}, next: {arcs: [{step: x, when: '{{ event.result.x }}'}]}"
    rows = (f"step: start, next: {{{forks}}}", "step: a", f"step: b, next: {{{circle}}}", f"step: x, {again}")
    plan = plan_of(steps(*rows))
    assert verdict_of(plan, "every run reaches x").status is UNKNOWN
    assert worked_out < 100 * len(plan.net.transitions)


ALWAYS = (
    "event.name == 'step.done'", "event.status == 'ok'", "event.name != 'step.failed'", "true",
    "not (event.name == 'step.failed')", "event.name in ['step.done', 'loop.done']", "1 < 2",
)  # fmt: skip


@st.composite
def pairs(draw: st.DrawFn) -> tuple[str, str]:
    """A playbook, and the same one in which arcs without a guard have one that holds whenever a step ends well."""
    body = draw(playbooks())
    parts = body.split("{step: ")
    # The first part is the head, and a part that begins a step is no arc.
    guarded = [parts[0]]
    for before, part in pairwise(parts):
        is_arc = before.rstrip().endswith(("arcs: [", ","))
        told = f"{{when: '{{{{ {draw(st.sampled_from(ALWAYS)).replace(chr(39), chr(39) * 2)} }}}}', step: "
        guarded.append((told if is_arc and draw(st.booleans()) else "{step: ") + part)
    return body, "".join(guarded)


@shares(40)
@given(pairs())
def test_a_guard_that_says_nothing_changes_no_verdict(share: int, bodies: tuple[str, str]) -> None:
    one, other = (_statuses(random_plan(body)) for body in bodies)
    assert one == other, bodies[1]


def _statuses(plan: Plan) -> dict[str, set[Status]]:
    queries = [f"every run reaches {name_of(1)}", f"at most 1 of {name_of(1)}", f"reachable({name_of(2)})"]
    queries += [f"never({name_of(1)} and {name_of(2)})", f"always({name_of(1)} before {name_of(2)})"]
    found: dict[str, set[Status]] = {}
    for verdict in report_of(plan, queries).verdicts:
        assert verdict.bug is None, verdict.bug
        found.setdefault(verdict.question, set()).add(verdict.status)
    return found


FORK = "step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}"
AGAIN = "step: a, tool: {kind: noop}, next: {arcs: [{step: a, when: '{{ event.result.again }}'}, {step: end}]}"


@pytest.mark.parametrize(
    ("rows", "status", "told"),
    [
        # A failure that no arc takes ends the run and proves nothing, whether an arc asks about it or not.
        (("step: start, next: {arcs: [{step: x}]}", "step: x"), PROVED, "by a failure that no arc takes"),
        (("step: start, next: {arcs: [{step: x, when: \"{{ event.name == 'step.done' }}\"}]}", "step: x"), PROVED, ""),
        # One that an arc takes counts.
        (("step: start, next: {arcs: [{step: x}, {step: y, when: \"{{ event.name == 'step.failed' }}\"}]}", "step: x",
          "step: y"), REFUTED, "the run ends"),
        # One that an arc takes for some data alone: without them it proves nothing, with them it goes on.
        (("step: start, next: {arcs: [{step: x}, {step: x, when: '{{ event.error and workload.k }}'}]}", "step: x"),
         PROVED, ""),
        # A join that waits in vain is in the way of the part.
        ((FORK, "step: a, next: {arcs: [{step: j}]}",
          "step: b, next: {arcs: [{step: j, when: '{{ workload.k }}'}]}",
          "step: j, spec: {policy: {join: all}}, next: {arcs: [{step: x}]}", "step: x"), REFUTED, "gets stuck"),
        # Beside a circle the other branch goes on, and comes to the part.
        ((FORK, AGAIN, "step: b, next: {arcs: [{step: x}]}", "step: x"), PROVED, ""),
        # Behind the circle it may never come.
        (("step: start, next: {arcs: [{step: a}]}", AGAIN.replace("end", "x"), "step: x"), REFUTED, "round for ever"),
        # Jumps within a step go round as well, and count as steps do.
        (("step: start, tool: [{name: t, kind: noop, spec: {policy: {rules: [{when: '{{ outcome.result.more }}',"
          " then: {do: jump, to: t}}, {else: {then: {do: continue}}}]}}}], next: {arcs: [{step: x}]}", "step: x"),
         REFUTED, "round for ever"),
    ],
    ids=["fails", "fails and is asked", "a failure that is taken", "for some data", "stuck", "beside a circle",
         "behind a circle", "behind jumps"],
)  # fmt: skip
def test_what_counts_as_a_run(rows: tuple[str, ...], status: Status, told: str) -> None:
    found = verdict_of(plan_of("workload: {k: 1}\n" + steps(*rows)), "every run reaches x")
    assert found.status is status and told in found.detail, found


TO_X, TO_J, X = (
    "step: b, next: {arcs: [{step: x}]}",
    "step: b, next: {arcs: [{step: j}]}",
    "step: x",
)
ENDS_ALL = "step: y, spec: {policy: {terminate: completed}}"
SETTLED = "spec: {policy: {join: settled}}, next: {arcs: [{step: x}]}"
WRITES = (
    "tool: {kind: noop, spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {open: '{{ workload.k }}'}}}}]}}}"
)
GATE = "spec: {policy: {admit: {on_deny: wait, rules: [{when: '{{ ctx.open }}', then: {allow: true}}]}}}"


@pytest.mark.parametrize(
    ("rows", "allowed"),
    [
        # Beside a circle the other branch goes on, whatever else the playbook has.
        ((FORK, AGAIN, TO_X, "step: x, next: {arcs: [{step: y}]}", ENDS_ALL), {PROVED, UNKNOWN}),
        ((FORK, AGAIN, TO_X, X, ENDS_ALL), {PROVED, UNKNOWN}),
        ((FORK, AGAIN, TO_X, X, "step: c, spec: {policy: {cancels: [a]}}"), {PROVED, UNKNOWN}),
        ((FORK, AGAIN, TO_X, "step: x, spec: {policy: {cancels: [a]}}"), {PROVED, UNKNOWN}),
        ((FORK, AGAIN.replace("step: a, ", "step: a, spec: {policy: {lock: l}}, "), TO_X,
          "step: x, spec: {policy: {lock: l}}"), {PROVED, UNKNOWN}),
        ((FORK, AGAIN, TO_J, f"step: j, {SETTLED}", X), {PROVED, UNKNOWN}),
        # A settled join waits for the circle, from which a token can still come.
        ((FORK, AGAIN.replace("end}", "j}"), TO_J, f"step: j, {SETTLED}", X), {REFUTED, UNKNOWN}),
        # A gate opens in the end: that it stays shut while a settled join starts is no end.
        ((FORK, f"step: a, {WRITES}", f"step: b, {GATE}, next: {{arcs: [{{step: j}}]}}", f"step: j, {SETTLED}", X),
         {PROVED, UNKNOWN}),
        ((FORK, f"step: a, {WRITES}", TO_J, f"step: j, {SETTLED}", f"step: x, {GATE}"),
         {PROVED, UNKNOWN}),
    ],
    ids=["an end of all behind", "an end of all elsewhere", "a cancel elsewhere", "a cancel", "a lock",
         "a settled join beside", "a settled join that waits", "a gate before a settled join",
         "a gate behind a settled join"],
)  # fmt: skip
def test_what_steps_end_cancel_lock_and_wait_for_makes_no_wrong_verdict(
    rows: tuple[str, ...], allowed: set[Status]
) -> None:
    found = verdict_of(plan_of("workload: {k: 1}\n" + steps(*rows)), "every run reaches x")
    assert found.status in allowed, found


COUNTS = 'kind: noop, spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {n: "{{ %s }}"}}}}]}}'


@pytest.mark.parametrize(
    ("counts", "guard", "status", "told"),
    [
        ("(ctx.n | default(0)) + 1", "ctx.n < 3", UNKNOWN, "unless `ctx.n` ends that"),
        # What the circle does not ask may change.
        ("(ctx.n | default(0)) + 1", "workload.k", REFUTED, "round for ever"),
        # It writes the same each time.
        ("3", "ctx.n == 3", REFUTED, "round for ever"),
        ("outcome.result.n", "ctx.n", REFUTED, "round for ever"),
    ],
    ids=["a counter", "a counter that nobody asks", "a constant", "what it gets"],
)  # fmt: skip
def test_a_circle_refutes_only_where_each_round_finds_what_the_last_one_did(
    counts: str, guard: str, status: Status, told: str
) -> None:
    arcs = f"[{{step: start, when: '{{{{ {guard} }}}}'}}, {{step: x}}]"
    body = steps(f"step: start, tool: {{{COUNTS % counts}}}, next: {{arcs: {arcs}}}", "step: x")
    found = verdict_of(plan_of("workload: {k: 1}\n" + body), "every run reaches x")
    assert found.status is status and told in found.detail, found


def test_a_circle_that_no_run_can_be_written_down_to_is_open_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each pass doubles the tokens that pile up: the run to a circle behind some of them has no end that is told."""
    loop = "loop: {in: [1], iterator: it, spec: {mode: parallel%s}}"
    both = "next: {spec: {mode: inclusive}, arcs: [{step: s2}, {step: s1}]}"
    wait, twice = "tool: {kind: wait, events: [w]}", "{step: s2}, {step: s2}"
    body = steps(
        f"step: start, {loop % ''}, {wait}, next: {{spec: {{mode: inclusive}}, arcs: [{twice}, {{step: s2}}]}}",
        f"step: s1, {loop % ''}, {wait}, {both}",
        f"step: s2, {loop % ', more: {events: [m]}, close: {events: [c]}'}, {both}",
    )
    written: list[int] = []

    def counted(origins: Iterable[ValueOrigin], longest: int = origin.LONGEST) -> tuple[int, ...]:
        written.append(longest)
        return origin.run_of(origins, longest)

    monkeypatch.setattr(reductions, "run_of", counted)
    found = verdict_of(plan_of(body), "every run reaches s1")
    assert found.status is Status.UNKNOWN
    assert len(written) <= 20 and sum(written) <= 500_000


FAILS = "tool: {kind: shell, command: x, spec: {policy: {rules: [{else: {then: {do: fail}}}]}}}"


@pytest.mark.parametrize("behind", ["next: {arcs: [{step: z}]}", FAILS], ids=["a step that fails", "itself"])
@pytest.mark.parametrize("join", ["all", "2", "{tokens: 2}"])
def test_who_waits_before_a_failure_that_never_comes_is_stuck(join: str, behind: str) -> None:
    """The step behind the join always fails; the run is blocked in front of it, and that is no failure."""
    plan = plan_of(
        steps(
            "step: start, next: {arcs: [{step: j}]}",
            "step: other, next: {arcs: [{step: j}]}",
            f"step: j, spec: {{policy: {{join: {join}}}}}, {behind}",
            f"step: z, {FAILS}",
        )
    )
    verdicts = {each.question: each for each in report_of(plan, ("every run reaches other",)).verdicts}
    assert verdicts["nothing can get stuck"].status is REFUTED
    assert verdicts["every run reaches other"].status is REFUTED
    assert verdicts["nothing can get stuck"].script is not None


def test_a_join_that_came_about_before_a_failure_is_not_stuck() -> None:
    plan = plan_of(
        steps(
            "step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}",
            "step: a, next: {arcs: [{step: j}]}",
            "step: b, next: {arcs: [{step: j}]}",
            f"step: j, spec: {{policy: {{join: all}}}}, {FAILS}",
        )
    )
    verdicts = {each.question: each for each in report_of(plan, ("every run reaches b",)).verdicts}
    assert verdicts["nothing can get stuck"].status is PROVED
    assert verdicts["every run reaches b"].status is PROVED
