"""Scripts of verdicts go in the engine where the verdict says, whatever the engine does besides."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.running import Ran, run
from harness.samples import shares
from nets import PARTS, STUCK, plan_of, random_plan, steps
from noetl_ir.plan import Plan
from noetl_ir.plan_format import write_plan
from noetlc.analysis import turns
from noetlc.analysis.effort import STANDARD, Effort
from noetlc.analysis.queries import AtMost, Before, NeverBoth, Query, Reachable, Reaches, query_of
from noetlc.analysis.report import query_verdict, sound
from noetlc.analysis.verdict import Status, Verdict

PROVED, REFUTED, UNKNOWN = Status.PROVED, Status.REFUTED, Status.UNKNOWN
OVER = ("step.done", "step.failed", "step.cancelled", "loop.done", "loop.failed")


def verdict_of(plan: Plan, text: str) -> Verdict:
    found = query_verdict(plan, query_of(text), text, Effort(STANDARD))
    assert found.bug is None, found.bug
    return found


def is_shown(query: Query, ran: Ran) -> bool:
    """Whether a run shows what `reachable` says, or that another question is to be denied; read from its events."""
    names = {number: name for name, number in ran.program.step_numbers.items()}
    begun = [names[event.step] for event in ran.log if event.event_type == "step.scheduled"]
    match query:
        case Reachable(x=x):
            return x in begun
        case Before(x=x, y=y):
            return y in begun and x not in begun[: begun.index(y)]
        case AtMost(times=times, x=x):
            return begun.count(x) > times
        case NeverBoth(a=a, b=b):
            return any(first == {a, b} for first in _beside(ran, names))
        case Reaches(x=x):
            return x not in begun


def _beside(ran: Ran, names: dict[int, str]) -> list[set[str]]:
    """The steps of each two runs of which one starts while the other runs."""
    running: dict[str, str] = {}
    found = []
    for event in ran.log:
        if event.event_type == "step.started":
            found += [{each, names[event.step]} for each in running.values()]
            running[event.run] = names[event.step]
        elif event.event_type in OVER:
            running.pop(event.run, None)
    return found


def replay(plan: Plan, text: str) -> Status:
    """The status of a query; a run that is told for it goes there in the engine."""
    verdict = verdict_of(plan, text)
    if verdict.script is not None:
        ran = run(write_plan(plan), verdict.script.document, verdict.script.payload)
        assert not ran.faults
        assert is_shown(query_of(text), ran), (text, verdict.script, ran.names())
    return verdict.status


TASK = "tool: {kind: python, code: 'x = 1'}"
FORK = "step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}"
FORKED = (
    "step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}, {step: c}]}",
    "step: c, tool: {kind: python, code: 'x = 1'}, next: {arcs: [{step: t}]}", "step: s", "step: t",
)  # fmt: skip
SECTION = "spec: {policy: {lock: {name: x, through: [d]}}}"
BACK = FORK.replace("{step: a}, {step: b}", "{step: b}, {step: a}")
THEN_C = f"step: b, {TASK}, next: {{arcs: [{{step: c}}]}}"
ENDS = "spec: {policy: {terminate: completed}}"
CANCELS = "step: b, spec: {policy: {cancels: [a]}}"
LATE = "step: start, next: {spec: {mode: inclusive}, arcs: [{step: a, spec: {delay: 7s}}, {step: b}]}"
FAILS = "when: \"{{ event.error.code == 'x' }}\""
WAITS = "{rules: [{when: '{{ ctx.go }}', then: {allow: true}}, {else: {then: {allow: false}}}], on_deny: wait}"
DENIES = "{rules: [{when: '{{ ctx.n }}', then: {allow: true}}, {else: {then: {allow: false}}}]}"
GO = "spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {go: true}}}}]}}"


def slowly(spec: str, kind: str = "python, code: 'x = 1'") -> tuple[str, ...]:
    """Four steps after each other beside one of which an attempt has a limit of time."""
    limited = f"step: a, tool: {{kind: {kind}, spec: {{timeout: {spec}}}}}, next: {{arcs: [{{step: t}}]}}"
    behind = [f"step: {one}, {TASK}, next: {{arcs: [{{step: {two}}}]}}" for one, two in ("bc", "cd", "de")]
    return (FORK, limited, *behind, f"step: t, {TASK}", f"step: e, {TASK}")


@pytest.mark.parametrize(
    ("rows", "query", "status"),
    [
        # `b` starts first and withdraws the token that `a` would start with; in the other order `a` starts before that.
        ((BACK, "step: a", CANCELS), "reachable(a)", UNKNOWN),
        ((FORK, "step: a", CANCELS), "reachable(a)", PROVED),
        ((FORK, "step: a, next: {arcs: [{step: c}]}", CANCELS, "step: c"), "reachable(c)", UNKNOWN),
        # The first of two withdraws the other one, once it has come.
        ((FORK, f"step: a, {TASK}, next: {{arcs: [{{step: c}}]}}", f"step: b, {TASK}, next: {{arcs: [{{step: d}}]}}",
          "step: c, spec: {policy: {cancels: [b, d]}}", "step: d, spec: {policy: {cancels: [a, c]}}"),
         "reachable(d)", PROVED),
        # Nothing is there to be withdrawn.
        (("step: start, next: {arcs: [{step: b}]}", "step: a", f"{CANCELS}, next: {{arcs: [{{step: a}}]}}"),
         "reachable(a)", PROVED),
        # What stands beside the run would end the execution at once, or fail it, if it were not told to take longer.
        ((FORK, "step: a, next: {arcs: [{step: d}]}", f"step: d, {ENDS}", THEN_C, "step: c"), "reachable(c)", PROVED),
        ((FORK, f"step: a, {TASK}, next: {{arcs: [{{step: d}}]}}", f"step: d, {ENDS}", THEN_C, "step: c"),
         "reachable(c)", PROVED),
        ((FORK, f"step: a, {TASK}, next: {{arcs: [{{step: d}}]}}", f"step: d, {ENDS}", THEN_C, "step: c"),
         "every run reaches c", REFUTED),
        ((FORK, f"step: a, loop: {{in: [1, 2], iterator: x}}, {TASK}, next: {{arcs: [{{step: d}}]}}",
          f"step: d, {ENDS}", THEN_C, "step: c"), "reachable(c)", PROVED),
        ((FORK, f"step: a, {TASK}, next: {{arcs: [{{step: d, {FAILS}}}]}}", f"step: d, {ENDS}", THEN_C, "step: c"),
         "reachable(c)", PROVED),
        # An empty loop is over in the turn in which it begins.
        ((FORK, f"step: a, loop: {{in: [], iterator: x}}, {TASK}, {ENDS}", THEN_C, "step: c"), "reachable(c)", UNKNOWN),
        ((FORK, f"step: a, loop: {{in: [], iterator: x}}, {TASK}", THEN_C, "step: c"), "never(a and b)", UNKNOWN),
        # The task of `c` reads what is not there, and fails once `c` runs: all that was asked has come about by then.
        ((FORK.replace("inclusive", "exclusive").replace("{step: a}", "{step: a, when: '{{ workload.k }}'}"),
          f"step: a, {TASK}, next: {{arcs: [{{step: b}}]}}", "step: b, tool: {kind: noop, args: {x: '{{ a.x }}'}}"),
         "always(a before b)", REFUTED),
        # Arcs are taken in their order, before anything else.
        ((FORK, "step: a", "step: b"), "always(a before b)", UNKNOWN),
        ((FORK, "step: a", "step: b"), "always(b before a)", REFUTED),
        ((FORK, "step: a", "step: b"), "never(a and b)", REFUTED),
        # A delay is over when it is over.
        ((LATE, "step: a", THEN_C, "step: c"), "always(b before a)", UNKNOWN),
        ((LATE, "step: a", THEN_C, "step: c"), "always(c before a)", REFUTED),
        ((LATE, "step: a", THEN_C, "step: c"), "always(a before c)", REFUTED),
        # A settled join starts once nothing can still come, and not when the run needs it.
        ((FORK, "step: a, spec: {policy: {join: settled}}", f"step: b, {TASK}"), "always(a before b)", REFUTED),
        ((FORK, "step: a, spec: {policy: {join: settled}}", f"step: b, {TASK}"), "always(b before a)", UNKNOWN),
        # A gate is asked when the token is there, and when `ctx` has changed.
        ((FORK, f"step: a, spec: {{policy: {{admit: {WAITS}}}}}",
          f"step: b, tool: {{kind: noop, {GO}}}"), "reachable(a)", PROVED),
        # Limits of time of what stands beside the run.
        ((FORK, f"step: a, spec: {{policy: {{lifecycle: {{timeout_s: 1}}}}}}, {TASK}", THEN_C, "step: c"),
         "reachable(c)", PROVED),
        ((FORK, f"step: a, spec: {{policy: {{interrupt: {{timers: {{late: 1s}}}}}}}}, {TASK}", THEN_C, "step: c"),
         "reachable(c)", PROVED),
        # An attempt that takes longer than its limit is an error, and so is a wait.
        (slowly("2"), "always(t before e)", REFUTED),
        (slowly("'{{ workload.k + 1 }}'"), "always(t before e)", REFUTED),
        (slowly("2", "wait, events: [go]"), "always(t before e)", REFUTED),
        (slowly("'{{ workload.k + 1 }}'", "wait, events: [go]"), "always(t before e)", REFUTED),
        # What lies at a gate, or in a join that settles late, begins when that is over: its attempt takes no longer.
        ((*FORKED, f"step: a, spec: {{policy: {{admit: {WAITS}}}}}, {TASK}, next: {{arcs: [{{step: s}}]}}",
          f"step: b, tool: {{kind: noop, {GO}}}"), "always(t before s)", REFUTED),
        ((*FORKED, f"step: a, {TASK}, next: {{arcs: [{{step: d}}]}}",
          f"step: b, {TASK}, next: {{spec: {{mode: exclusive}}, arcs: [{{step: d, when: '{{{{ event.result }}}}'}}, "
          "{step: end}]}", f"step: d, spec: {{policy: {{join: settled}}}}, {TASK}, next: {{arcs: [{{step: s}}]}}"),
         "always(t before s)", REFUTED),
        # Who waits for a lock begins when its holder is over, and who came first is the first to have it.
        ((*FORKED, f"step: a, spec: {{policy: {{lock: x}}}}, {TASK}", f"step: b, spec: {{policy: {{lock: x}}}}, {TASK},"
          " next: {arcs: [{step: s}]}"), "always(t before s)", REFUTED),
        ((FORK, f"step: a, spec: {{policy: {{lock: x}}}}, {TASK}, next: {{arcs: [{{step: c}}]}}",
          f"step: b, spec: {{policy: {{lock: x}}}}, {TASK}", "step: c"), "always(c before b)", REFUTED),
        ((BACK, f"step: a, spec: {{policy: {{lock: x}}}}, {TASK}, next: {{arcs: [{{step: c}}]}}",
          f"step: b, spec: {{policy: {{lock: x}}}}, {TASK}", "step: c"), "always(b before c)", UNKNOWN),
        ((FORK.replace("{step: b}", "{step: b}, {step: c}"), f"step: a, spec: {{policy: {{lock: [x, y]}}}}, {TASK}",
          f"step: b, spec: {{policy: {{lock: [y, z]}}}}, {TASK}", f"step: c, spec: {{policy: {{lock: z}}}}, {TASK}"),
         "never(a and c)", UNKNOWN),
        ((FORK.replace("{step: b}", "{step: b}, {step: c}"), f"step: a, spec: {{policy: {{lock: [x, y]}}}}, {TASK}",
          f"step: c, spec: {{policy: {{lock: z}}}}, {TASK}", f"step: b, spec: {{policy: {{lock: [y, z]}}}}, {TASK}"),
         "always(b before a)", REFUTED),
        # A section is held until nothing is left in it.
        ((*FORKED, f"step: a, {SECTION}, {TASK}, next: {{arcs: [{{step: d}}]}}", f"step: d, {TASK}",
          f"step: b, spec: {{policy: {{lock: x}}}}, {TASK}, next: {{arcs: [{{step: s}}]}}"),
         "always(t before s)", REFUTED),
        # Who gets a lock at a gate that waits is not followed: nothing is told, however the run is found.
        ((FORK.replace("{step: b}", "{step: b}, {step: b}"), "step: a, tool: {kind: wait, events: [go]}",
          f"step: b, spec: {{policy: {{lock: x, admit: {WAITS.replace('ctx.go', 'workload.k')}}}}}, {TASK}"),
         "at most 1 of b", UNKNOWN),
        # Two joins that wait for each other: where only one has a token it starts with that.
        ((FORK, "step: a, spec: {policy: {join: settled}}, next: {arcs: [{step: c}]}", "step: c, spec: {policy: "
          "{join: all}}, next: {arcs: [{step: a}]}", "step: b, next: {arcs: [{step: c, when: "
          "'{{ workload.k == 2 }}'}]}"), "reachable(a)", PROVED),
        # Two have one each, and wait for each other: the older one starts, and then the other one is not forced.
        ((FORK, "step: a, spec: {policy: {join: settled}}, next: {arcs: [{step: b, when: '{{ workload.k == 2 }}'}]}",
          "step: b, spec: {policy: {join: settled}}, next: {arcs: [{step: a, when: '{{ workload.k == 2 }}'}]}"),
         "always(b before a)", REFUTED),
        ((FORK, "step: a, spec: {policy: {join: settled}}, next: {arcs: [{step: b, when: '{{ workload.k == 2 }}'}]}",
          "step: b, spec: {policy: {join: settled}}, next: {arcs: [{step: a, when: '{{ workload.k == 2 }}'}]}"),
         "always(a before b)", UNKNOWN),
        # A task that waits for a signal stays there; one that waits for a time does not.
        ((FORK, "step: a, tool: {kind: wait, events: [go]}", THEN_C, "step: c"), "reachable(c)", PROVED),
    ],
)  # fmt: skip
def test_what_a_run_shows_the_engine_does(rows: tuple[str, ...], query: str, status: Status) -> None:
    assert replay(plan_of("workload: {k: 1}\n" + steps(*rows)), query) is status


def test_data_are_found_without_what_a_run_brings_along() -> None:
    """The shortest run takes an arc of `b` that it does not need, and for which there are no data."""
    plan = plan_of(
        steps(
            "step: start, spec: {policy: {join: first}}, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}",
            "step: a, next: {spec: {mode: inclusive}, arcs: [{step: b}, {step: a}]}",
            "step: b, next: {arcs: [{step: start, when: '{{ event.result.x }}'}, "
            "{step: a, when: '{{ event.result.y }}'}]}",
        )
    )
    found = verdict_of(plan, "at most 1 of a")
    assert found.status is REFUTED and found.script is not None and found.story is not None
    assert not any(id.startswith("take b") for id in found.story.run)


def test_an_open_question_says_that_something_else_comes_first() -> None:
    found = verdict_of(plan_of(steps(BACK, "step: a", CANCELS)), "reachable(a)")
    assert found.detail == "`a` runs; no run was found that does this: what follows by itself comes first"


def test_two_runs_of_a_step_at_once_have_each_their_own_outcome() -> None:
    plan = plan_of(
        steps(
            "step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}",
            "step: b, next: {arcs: [{step: a}]}",
            f'step: a, {TASK}, next: {{arcs: [{{step: c, when: "{{{{ event.result == 7 }}}}"}}]}}',
            "step: c",
        )
    )
    assert replay(plan, "at most 1 of c") is REFUTED
    verdict = verdict_of(plan, "at most 1 of c")
    assert verdict.script is not None
    outcomes = verdict.script.document["outcomes"]
    assert isinstance(outcomes, list)
    told = [(row["step"], row["run"], row["attempt"]) for row in outcomes if isinstance(row, dict)]
    assert len(set(told)) == len(told) and ("a", 1, 1) in told and ("a", 2, 1) in told


def test_a_run_with_many_failures_is_gone_through_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    count, gone = 40, list[int]()
    arcs = ", ".join(f"{{step: s{at}}}" for at in range(count))
    rows = [f"step: start, next: {{spec: {{mode: inclusive}}, arcs: [{arcs}]}}"]
    rows += [f"step: s{at}, {TASK}, next: {{arcs: [{{step: t{at}}}]}}" for at in range(count)]
    plan = plan_of(steps(*rows, *(f"step: t{at}" for at in range(count))))
    ids = ["enter start @entry", "admit start", "begin start", "start start start_task"]
    ids += ["ok start start_task continue", "out start"]
    ids += [*(f"take{'+' if at else ''} start ok {at}" for at in range(count)), "some start ok"]
    for at in range(count):
        ids += [f"enter s{at} start", f"admit s{at}", f"begin s{at}", f"start s{at} s{at}_task"]
    for at in range(count):
        good = [f"ok s{at} s{at}_task continue", f"out s{at}", f"take s{at} ok 0", f"enter t{at} s{at}", f"admit t{at}"]
        ids += [f"error s{at} s{at}_task fail", f"bad s{at}", f"none s{at} ko"] if at % 2 else good
    go = turns._Going.go
    monkeypatch.setattr(turns._Going, "go", lambda self, events: gone.append(len(events)) or go(self, events))
    known = {each.id: each for each in plan.net.transitions}
    assert len([*turns.in_turns(plan, [known[each] for each in ids])]) == 1
    assert len(gone) == 2


def test_locks_of_sections_that_wait_for_each_other_block_the_run() -> None:
    arcs = "next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}"
    taking = "spec: {policy: {lock: {name: @, through: [#]}}}, next: {arcs: [{step: #}]}"

    def verdict(second: str, third: str) -> Verdict:
        rows = [("a", "x", "a2"), ("a2", "y", "a3"), ("b", second, "b2"), ("b2", third, "b3")]
        lines = [f"step: {name}, {taking}".replace("@", lock).replace("#", to) for name, lock, to in rows]
        plan = plan_of(steps(f"step: start, {arcs}", *lines, "step: a3", "step: b3"))
        [found] = [each for each in sound(plan, Effort(STANDARD)) if each.question == STUCK]
        if found.script is not None:
            assert run(write_plan(plan), found.script.document, found.script.payload).status == "blocked"
        return found

    assert verdict("y", "x").status is REFUTED
    assert verdict("x", "y").status is not REFUTED, "in one order"


@st.composite
def playbooks(draw: st.DrawFn) -> str:
    """Four to six steps with arcs forward and a few back, of which some end the execution, cancel, wait, take long or
    fail.
    """
    count = draw(st.integers(4, 6))
    names = ["start", *(f"s{number}" for number in range(1, count))]
    rows = []
    for at, name in enumerate(names):
        policy = draw(st.sampled_from(POLICIES)).replace("@", draw(st.sampled_from(names)))
        targets = draw(st.lists(st.sampled_from(names[at + 1 :] or names[1:]), max_size=3 if at + 1 < count else 0))
        arcs = [f"{{step: {each}{draw(st.sampled_from(ARCS))}}}" for each in targets]
        if "terminate" in policy:
            arcs = []
        mode = draw(st.sampled_from(("inclusive", "inclusive", "exclusive")))
        routes = f", next: {{spec: {{mode: {mode}}}, arcs: [{', '.join(arcs)}]}}" if arcs else ""
        tool = draw(st.sampled_from(TOOLS))
        rows.append(f"step: {name}, spec: {{policy: {{{policy}}}}}{tool}{routes}")
    return "workload: {k: 1, xs: []}\n" + steps(*rows)


POLICIES = (
    *["join: any"] * 6, "join: first", "join: all", "join: settled", "join: {tokens: 2}", "cancels: [@]", "lock: d",
    "terminate: completed", "lifecycle: {timeout_s: 3}", "interrupt: {timers: {late: 2s}}", "lock: d", "lock: [d, e]",
    "lock: e", "join: settled", f"admit: {WAITS}", "join: settled, lock: d", f"lock: [d, e], admit: {DENIES}",
)  # fmt: skip
ARCS = (
    *[""] * 4, ", spec: {delay: 2s}", ", when: '{{ event.result.x > 3 }}'", ", when: '{{ workload.k == 2 }}'",
    ", when: \"{{ event.name == 'step.failed' }}\"", ", when: '{{ ctx.n }}'",
)  # fmt: skip
FAILED = "{when: \"{{ outcome.status == 'error' }}\", then: {do: fail}}"
WRITES = "{else: {then: {do: continue, set_ctx: {n: '{{ outcome.result }}'}}}}"
AGAIN = "{else: {then: {do: retry, attempts: 2}}}"
TOOLS = (
    *[""] * 2, f", {TASK}", f", {TASK}", ", loop: {in: '{{ workload.xs }}', iterator: x}, tool: {kind: noop}",
    f", tool: {{kind: noop, spec: {{policy: {{rules: [{FAILED}, {WRITES}]}}}}}}",
    f", tool: {{kind: python, code: 'x = 1', spec: {{policy: {{rules: [{FAILED}, {AGAIN}]}}}}}}",
    ", tool: {kind: python, code: 'x = 1', spec: {timeout: 2}}",
    ", tool: {kind: wait, events: [go], spec: {timeout: 3}}",
    f", tool: {{kind: noop, {GO}}}",
)  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "status"),
    [
        ((BACK, "step: a", CANCELS), UNKNOWN),
        ((FORK, "step: a", CANCELS), PROVED),
        ((FORK, "step: a, next: {arcs: [{step: c}]}", CANCELS, "step: c"), UNKNOWN),
        # Another way leads to `c`, but none takes the arc from `a`; nor does any run come to the second task.
        (
            (
                FORK.replace("{step: b}", "{step: b}, {step: c}"),
                "step: a, next: {arcs: [{step: c}]}",
                CANCELS,
                "step: c, spec: {policy: {join: any}}",
            ),
            UNKNOWN,
        ),
        ((FORK, "step: a, tool: [{name: x, kind: noop}, {name: y, kind: noop}]", CANCELS), UNKNOWN),
        (
            (
                FORK,
                f"step: a, {TASK}, next: {{arcs: [{{step: c}}]}}",
                f"step: b, {TASK}, next: {{arcs: [{{step: d}}]}}",
                "step: c, spec: {policy: {cancels: [b]}}",
                "step: d, spec: {policy: {cancels: [a]}}",
            ),
            PROVED,
        ),
        # What comes after the one that cancels is not withdrawn, and one way round it is enough.
        (("step: start, next: {arcs: [{step: b}]}", "step: a", f"{CANCELS}, next: {{arcs: [{{step: a}}]}}"), PROVED),
    ],
)
def test_a_part_that_is_withdrawn_first_is_not_proved_to_run(rows: tuple[str, ...], status: Status) -> None:
    found = [each for each in sound(plan_of(steps(*rows)), Effort(STANDARD)) if each.question == PARTS]
    assert [each.status for each in found] == [status]


@shares(60)
@given(playbooks())
def test_scripts_of_random_playbooks_go_where_they_should(share: int, body: str) -> None:
    plan = random_plan(body)
    names = [step.name for step in plan.steps if step.name != "start"]
    queries = [
        f"{asked}{name}{after}" for name in names for asked, after in (("reachable(", ")"), ("at most 1 of ", ""))
    ]
    queries += [f"{kind}({one} {word} {other})" for one, other in pairwise(names) for kind, word in BOTH]
    for query in queries:
        replay(plan, query)


BOTH = (("always", "before"), ("never", "and"))
