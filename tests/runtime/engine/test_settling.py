"""Settled joins (EXTENSIONS.md §3): when a step starts with what has come, and what is refused."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.running import Ran, compiled, run
from harness.samples import shares
from noetl.app.programs import program_of
from noetl.engine.evolve import evolve
from noetl.engine.execution import Execution
from noetl.engine.marking import IllegalFiring
from noetl_ir.net import PlaceClass
from noetl_ir.plan import Plan

HTTP = 'tool: {kind: http, url: "http://x/"}'
JOIN = 'spec: {policy: {join: settled}}, tool: {kind: noop, result: "{{ args }}"}'


def forked(*rows: str, first: str = "") -> str:
    """A workflow whose start leads to all steps of some rows but those named `j` and those behind them."""
    names = [row.split(",")[0].removeprefix("step: ") for row in rows]
    arcs = ", ".join(f"{{step: {name}}}" for name in names if name[0] not in "jk")
    head = f"{first}workflow:\n  - {{step: start, next: {{spec: {{mode: inclusive}}, arcs: [{arcs}]}}}}\n"
    return head + "".join(f"  - {{{row}}}\n" for row in rows)


def to(target: str, **args: int) -> str:
    """A router that brings args to a step."""
    brought = ", ".join(f"{name}: {value}" for name, value in args.items())
    return f"next: {{arcs: [{{step: {target}, args: {{{brought}}}}}]}}"


def takes(*failing: str, **seconds: float) -> dict[str, Any]:
    """A script in which the calls of steps take so long, and some fail."""
    bad = {"outcome": {"status": "error", "error": {"code": "http.500"}}}
    return {
        "outcomes": [
            {"step": name, "takes": each, **(bad if name in failing else {})} for name, each in seconds.items()
        ]
    }


def joined(ran: Ran, step: str) -> list[tuple[float, dict[str, Any], bool]]:
    """When a step was started, with which args, and whether nothing else could move."""
    runs = {event.run: event for event in ran.of("task.done", step)}
    return [
        (event.ts / 1e6, runs[event.run].data["result"], event.data.get("forced", False))
        for event in ran.of("token.joined", step)
        if event.run in runs
    ]


def test_a_failure_that_is_handled_elsewhere_lets_the_join_start() -> None:
    mended = "next: {arcs: [{step: j, args: {b: 2}}, {step: kept, when: \"{{ event.name == 'step.failed' }}\"}]}"
    text = forked(f"step: a, {HTTP}, {to('j', a=1)}", f"step: b, {HTTP}, {mended}", f"step: j, {JOIN}")
    text += f"  - {{step: kept, {HTTP}}}\n"
    ran = run(text, takes("b", a=1, b=3, kept=5))
    # Not at 8 s, when `kept` is over: nothing leads from it to the join.
    assert joined(ran, "j") == [(3, {"a": 1}, False)] and ran.status == "completed"


def test_retries_and_delays_count_as_what_can_still_come() -> None:
    again = "{when: \"{{ outcome.status == 'error' }}\", then: {do: retry, attempts: 3, delay: 4}}"
    rules = f"spec: {{policy: {{rules: [{again}]}}}}"
    tool = f'tool: {{kind: http, url: "http://x/", {rules}}}'
    text = forked(f"step: a, {HTTP}, {to('j', a=1)}", f"step: b, {tool}, {to('j', b=2)}", f"step: j, {JOIN}")
    script = takes(a=1)
    script["outcomes"] += [
        {"step": "b", "attempt": 1, "takes": 1, "outcome": {"status": "error", "error": {"code": "http.500"}}},
        {"step": "b", "attempt": 2, "takes": 1},
    ]
    assert joined(run(text, script), "j") == [(6, {"a": 1, "b": 2}, False)]


def test_iterations_that_a_loop_has_left_behind_do_not_count() -> None:
    early = "spec: {mode: parallel, max_in_flight: 3, policy: {enough: 1, rest: swallow}}"
    loop = f'loop: {{in: "{{{{ [1, 2, 3] }}}}", iterator: i, {early}}}'
    text = forked(
        f"step: a, {HTTP}, {to('j', a=1)}",
        f"step: many, {loop}, {HTTP}, {to('j', many=1)}",
        f"step: j, {JOIN}",
    )
    script = takes(a=2)
    script["outcomes"] += [{"step": "many", "index": [at], "takes": seconds} for at, seconds in enumerate((1, 9, 9))]
    ran = run(text, script)
    assert joined(ran, "j") == [(2, {"a": 1, "many": 1}, False)] and ran.status == "completed"


@pytest.mark.parametrize("late", [5, 1])
def test_a_counting_join_counts_until_it_has_met(late: float) -> None:
    """`k` starts with two of three, and what it swallows later comes nowhere."""
    text = forked(
        f"step: a, {HTTP}, {to('j', a=1)}",
        *(f"step: {name}, {HTTP}, next: {{arcs: [{{step: k}}]}}" for name in ("x", "y", "z")),
        f"step: k, spec: {{policy: {{join: 2}}}}, {to('j', two=2)}",
        f"step: j, {JOIN}",
    )
    ran = run(text, takes(a=0.5, x=1, y=late, z=late + 3))
    # Until `z` is over, it leads to `k`, and from there to the join. Then `k` has met.
    assert joined(ran, "j") == [(late + 3, {"a": 1, "two": 2}, False)]


def test_a_token_of_a_wave_that_starves_holds_the_join_until_nothing_moves() -> None:
    choice = 'next: {arcs: [{step: k, when: "{{ workload.x }}"}, {step: j, args: {y: 1}}]}'
    text = forked(
        f"step: x, {HTTP}, next: {{arcs: [{{step: k}}]}}",
        f"step: y, {HTTP}, {choice}",
        f"step: far, {HTTP}",
        f"step: k, spec: {{policy: {{join: all}}}}, {to('j', k=1)}",
        f"step: j, {JOIN}",
        first="workload: {x: false}\n",
    )
    ran = run(text, takes(x=1, y=2, far=7))
    assert joined(ran, "j") == [(7, {"y": 1}, True)]
    assert ran.status == "blocked" and "`k`" in ran.of("workflow.finished")[0].data["reason"]


def test_a_gate_that_stays_shut_is_opened_by_a_forced_start() -> None:
    gate = 'admit: {on_deny: wait, rules: [{when: "{{ ctx.open | default(false) }}", then: {allow: true}}]}'
    opens = "spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {open: true}}}}]}}"
    text = forked(
        f"step: a, {HTTP}, {to('j', a=1)}",
        f"step: b, spec: {{policy: {{{gate}}}}}, {to('j', b=2)}",
        f'step: j, spec: {{policy: {{join: settled}}}}, tool: {{kind: noop, result: "{{{{ args }}}}", {opens}}}',
    )
    ran = run(text, takes(a=3))
    assert joined(ran, "j") == [(3, {"a": 1}, True), (3, {"b": 2}, False)] and ran.status == "completed"


def test_what_is_withdrawn_comes_no_more() -> None:
    text = (
        forked(
            f"step: a, {HTTP}, {to('j', a=1)}",
            f"step: b, {HTTP}, {to('j', b=2)}",
            f"step: stop, {HTTP}, next: {{arcs: [{{step: kill}}]}}",
            f"step: j, {JOIN}",
        )
        + "  - {step: kill, spec: {policy: {cancels: [b]}}}\n"
    )
    ran = run(text, takes(a=1, b=9, stop=4))
    assert joined(ran, "j") == [(4, {"a": 1}, False)] and ran.status == "completed"


@pytest.mark.parametrize(("mode", "starts"), [("", []), ("best_effort", [(5, {"a": 1}, False)])])
def test_after_an_unhandled_failure_it_starts_only_where_the_rest_goes_on(mode: str, starts: list[Any]) -> None:
    first = f"executor: {{spec: {{policy: {{failure: {{mode: {mode}}}}}}}}}\n" if mode else ""
    text = forked(
        f"step: a, {HTTP}, {to('j', a=1)}",
        f"step: b, {HTTP}, {to('j', b=2)}",
        f"step: c, {HTTP}, {to('j', c=3)}",
        f"step: j, {JOIN}",
        first=first,
    )
    ran = run(text, takes("b", "c", a=1, b=2, c=5))
    assert joined(ran, "j") == starts and ran.status == "failed"


def test_a_log_in_which_a_join_did_not_wait_is_no_run_of_the_plan() -> None:
    """The log of a run in which nothing led from `b` to the join, held against a plan in which an arc does."""
    body = forked(
        f"step: a, {HTTP}, {to('j', a=1)}", f"step: b, {HTTP}, next: {{arcs: [{{step: kept}}]}}", f"step: j, {JOIN}",
    ) + f"  - {{step: kept, {HTTP}, next: {{arcs: [{{step: end}}]}}}}\n"  # fmt: skip
    ran = run(body, takes(a=1, b=9))
    other = program_of(compiled(body.replace("arcs: [{step: end}]", 'arcs: [{step: j, when: "{{ false }}"}]')))
    state = Execution("e1", other)
    with pytest.raises(IllegalFiring):
        for event in ran.log:
            evolve(other, state, event)


@st.composite
def cases(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """Up to six steps behind a fork with arcs to later and earlier ones, most joins settled, and how long they take."""
    count = draw(st.integers(3, 6))
    lines, outcomes = [], []
    for at in range(1, count):
        targets = draw(st.lists(st.integers(1, count), max_size=2, unique=True))
        arcs = ", ".join(f"{{step: {f's{to}' if to < count else 'end'}, when: '{{{{ args.n | default(0) < 2 }}}}', "
                         f"args: {{n: '{{{{ args.n | default(0) + 1 }}}}'}}}}" for to in targets)  # fmt: skip
        mode = draw(st.sampled_from(("exclusive", "inclusive")))
        join = draw(st.sampled_from(("settled", "settled", "any")))
        routes = f", next: {{spec: {{mode: {mode}}}, arcs: [{arcs}]}}" if targets else ""
        lines.append(f"step: s{at}, spec: {{policy: {{join: {join}}}}}, {HTTP}{routes}")
        outcomes += [{"step": f"s{at}", "run": n, "takes": draw(st.integers(0, 5))} for n in (1, 2, 3)]
        outcomes.append({"step": f"s{at}", "takes": 1})
    forks = draw(st.lists(st.integers(1, count - 1), min_size=2, max_size=4))
    arcs = ", ".join(f"{{step: s{to}, spec: {{delay: {draw(st.integers(0, 3))}}}}}" for to in forks)
    rows = [f"step: start, next: {{spec: {{mode: inclusive}}, arcs: [{arcs}]}}", *lines]
    return "workflow:\n" + "".join(f"  - {{{row}}}\n" for row in rows), {"outcomes": outcomes}


def leading_to(plan: Plan, join: int) -> set[int]:
    """The steps from which arcs lead to one."""
    found, waiting = set[int](), [join]
    while waiting:
        here = waiting.pop()
        for arc in plan.arcs:
            if arc.target == here and arc.step not in found:
                found.add(arc.step)
                waiting += [arc.step] if arc.step != join else []
    return found


@shares(60)
@given(cases())
def test_a_join_starts_exactly_when_nothing_can_still_come(share: int, case: tuple[str, dict[str, Any]]) -> None:
    ran = run(*case)
    assert ran.status == "completed", ran.of("workflow.finished")
    plan, state = ran.program.plan, Execution("e1", ran.program)
    settled = [number for number, step in enumerate(plan.steps) if step.join.mode == "settled" and step.join.sources]
    for number, event in enumerate(ran.log):
        # Where the time goes on, nothing follows by itself: each join that still waits has something to wait for.
        if event.ts > state.now and number:
            for join in settled:
                assert not waiting_at(plan, state, join) or near(plan, state, join), (case, event)
        if event.event_type == "token.joined" and event.step in settled:
            assert event.data.get("forced", False) is bool(near(plan, state, event.step)), (case, event)
            oldest = [next(iter(keys)) for keys in waiting_at(plan, state, event.step)]
            assert event.data["tokens"] == oldest, (case, event)
        evolve(ran.program, state, event)


def waiting_at(plan: Plan, state: Execution, join: int) -> list[dict[str, int]]:
    """The tokens that a join has, by source."""
    places, tokens = plan.net.places, state.marking.tokens
    return [tokens[n] for n in sorted(tokens) if places[n].role == "held" and places[n].step == join]


def near(plan: Plan, state: Execution, join: int) -> set[str]:
    """The marked places from which a token can still come to a join, of itself those where it has left the step."""
    leading = leading_to(plan, join)
    found = set()
    for number in state.marking.tokens:
        place = plan.net.places[number]
        at = place.step
        if place.role == "fly":
            at = plan.arcs[plan.steps[at].arcs[int(place.id.rpartition(" ")[2])]].target
            comes = at == join or at in leading
        else:
            comes = at in leading and at != join
        if comes and place.kind is PlaceClass.CONTROL:
            found.add(place.id)
    return found
