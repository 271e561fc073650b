"""Locks of steps and of sections (EXTENSIONS.md §3): who goes on when, who is told to hold one, and what is refused."""

from typing import Any

import pytest

from harness.running import Ran, compiled, run
from noetl.app.picture import rows_of
from noetl.app.programs import program_of
from noetl.engine.evolve import evolve
from noetl.engine.execution import Execution
from noetl.engine.marking import IllegalFiring

HTTP = 'tool: {kind: http, url: "http://x/"}'


def locks(*rows: str, start: str) -> str:
    """A workflow of a fork and steps."""
    head = f"  - {{step: start, next: {{spec: {{mode: inclusive}}, arcs: [{start}]}}}}\n"
    return "workflow:\n" + head + "".join(f"  - {{{row}}}\n" for row in rows)


def order_of(ran: Ran) -> list[tuple[str, float]]:
    """The steps as they were admitted, and when (seconds)."""
    steps = ran.program.plan.steps
    return [(steps[event.step].name, event.ts / 1e6) for event in ran.of("step.scheduled") if event.run != "1"]


def script(**seconds: float) -> dict[str, Any]:
    """A script in which the calls of steps take so long."""
    return {"outcomes": [{"step": name, "takes": each} for name, each in seconds.items()]}


def test_who_waits_behind_a_token_that_is_withdrawn_goes_on() -> None:
    text = locks(
        f"step: a, spec: {{policy: {{lock: x}}}}, {HTTP}",
        f"step: b, spec: {{policy: {{lock: [x, y]}}}}, {HTTP}",
        f"step: c, spec: {{policy: {{lock: y}}}}, {HTTP}",
        "step: d, spec: {policy: {cancels: [b]}}",
        start="{step: a}, {step: b}, {step: c}, {step: d, spec: {delay: 2}}",
    )
    ran = run(text, script(a=9, c=1))
    assert ran.status == "completed" and order_of(ran) == [("a", 0), ("d", 2), ("c", 2)]


def test_a_token_whose_rules_deny_it_is_overtaken_and_one_that_waits_for_locks_is_not() -> None:
    gate = 'admit: {on_deny: wait, rules: [{when: "{{ ctx.open | default(false) }}", then: {allow: true}}]}'
    text = locks(
        f"step: a, spec: {{policy: {{lock: x}}}}, {HTTP}",
        f"step: shut, spec: {{policy: {{lock: x, {gate}}}}}, {HTTP}",
        f"step: b, spec: {{policy: {{lock: x}}}}, {HTTP}",
        "step: c, tool: {name: c, kind: noop, spec: {policy: {rules: "
        "[{else: {then: {do: continue, set_ctx: {open: true}}}}]}}}",
        start="{step: a}, {step: shut}, {step: b}, {step: c, spec: {delay: 2}}",
    )
    ran = run(text, script(a=1, b=4, shut=1))
    # `shut` is denied at 1 s, when the lock is free; at 2 s its rules would allow it, and `b` has the lock until 5 s.
    assert order_of(ran) == [("a", 0), ("b", 1), ("c", 2), ("shut", 5)] and ran.status == "completed"


def test_a_failed_run_gives_its_lock_back() -> None:
    text = locks(
        f"step: a, spec: {{policy: {{lock: x}}}}, {HTTP}, next: {{arcs: [{{step: mend, "
        "when: \"{{ event.name == 'step.failed' }}\"}]}",
        "step: mend, spec: {policy: {lock: x}}",
        start="{step: a}",
    )
    failing = {"outcomes": [{"step": "a", "takes": 1, "outcome": {"status": "error", "error": {"code": "http.500"}}}]}
    ran = run(text, failing)
    assert ran.status == "completed" and order_of(ran) == [("a", 0), ("mend", 1)]


def test_no_token_overtakes_one_that_waits_only_for_one_before_it() -> None:
    text = locks(
        f"step: holds, spec: {{policy: {{lock: z}}}}, {HTTP}",
        f"step: short, spec: {{policy: {{lock: x}}}}, {HTTP}",
        f"step: first, spec: {{policy: {{lock: [y, z]}}}}, {HTTP}",
        f"step: second, spec: {{policy: {{lock: [x, y]}}}}, {HTTP}",
        f"step: third, spec: {{policy: {{lock: x}}}}, {HTTP}",
        start="{step: holds}, {step: short}, {step: first}, {step: second}, {step: third}",
    )
    ran = run(text, script(holds=5, short=1, first=1, second=1, third=1))
    # From 1 s on x and y are free; `second` waits for `first`, which is to have y before it, and `third` for `second`.
    wanted = [("holds", 0), ("short", 0), ("first", 5), ("second", 6), ("third", 7)]
    assert ran.status == "completed" and order_of(ran) == wanted


def test_who_comes_behind_a_token_that_is_denied_is_asked() -> None:
    gate = 'admit: {on_deny: wait, rules: [{when: "{{ ctx.open | default(false) }}", then: {allow: true}}]}'
    reject = 'admit: {rules: [{when: "{{ ctx.open | default(false) }}", then: {allow: true}}]}'
    text = locks(
        f"step: a, spec: {{policy: {{lock: [x, y]}}}}, {HTTP}",
        f"step: shut, spec: {{policy: {{lock: x, {gate}}}}}, {HTTP}",
        f"step: shut_too, spec: {{policy: {{lock: [x, y], {gate}}}}}, {HTTP}",
        f"step: refused, spec: {{policy: {{lock: x, {reject}}}}}, {HTTP}",
        f"step: b, spec: {{policy: {{lock: x}}}}, {HTTP}",
        f"step: c, spec: {{policy: {{lock: y}}}}, {HTTP}",
        start="{step: a}, {step: shut}, {step: shut_too}, {step: refused}, {step: b}, {step: c}",
    )
    ran = run(text, script(a=1, b=1, c=1))
    # `b` came before `c` and has x at 1 s; `shut_too` needs that, too, so that `c` does not overtake it before 2 s.
    assert order_of(ran) == [("a", 0), ("b", 1), ("c", 2)]
    assert len(ran.of("token.rejected", "refused")) == 1 and ran.status == "blocked"


def test_a_log_in_which_two_runs_hold_a_lock_is_no_run_of_the_plan() -> None:
    body = locks(
        f"step: a, spec: {{policy: {{lock: x}}}}, {HTTP}", f"step: b, spec: {{policy: {{lock: y}}}}, {HTTP}",
        start="{step: a}, {step: b}",
    )  # fmt: skip
    ran = run(body, script(a=2, b=2))
    same = program_of(compiled(body.replace("lock: y", "lock: x")))
    state = Execution("e1", same)
    with pytest.raises(IllegalFiring, match="`admit b` needs place `ready a` to be empty"):
        for event in ran.log:
            evolve(same, state, event)


ENTRY = "{step: a}, {step: b}"
SECTION = "step: a, spec: {policy: {lock: {name: x, through: [THROUGH]}}}"
WAITS = f"step: b, spec: {{policy: {{lock: x}}}}, {HTTP}"


def section(through: str, *rows: str) -> str:
    """A section that `a` takes, and a step `b` that waits for its lock."""
    return locks(SECTION.replace("THROUGH", through) + rows[0], *rows[1:], WAITS, start=ENTRY)


@pytest.mark.parametrize(
    ("through", "rows", "free_at"),
    [
        # On the way: an arc's delay counts where it leads to a step of the section, and not where it leads out.
        ("c", (", next: {arcs: [{step: c, spec: {delay: 2}}]}", f"step: c, {HTTP}"), 3),
        ("c", (", next: {arcs: [{step: c}]}", f"step: c, {HTTP}, next: {{arcs: [{{step: d, spec: {{delay: 4}}}}]}}",
               "step: d"), 1),
        # A retry, and iterations that the step has left behind.
        ("c", (", next: {arcs: [{step: c}]}",
               'step: c, tool: {kind: http, url: "http://x/", spec: {policy: {rules: '
               "[{when: \"{{ outcome.status == 'error' }}\", then: {do: retry, attempts: 3, delay: 2}}]}}}"), 4),
        ("c", (", next: {arcs: [{step: c}]}",
               'step: c, loop: {in: "{{ [1, 2] }}", iterator: i, '
               "spec: {mode: parallel, policy: {enough: 1, rest: swallow}}}"
               f", {HTTP}, next: {{arcs: [{{step: d}}]}}", "step: d"), 6),
        # A wave that waits holds it; what is remembered of one that has started something does not.
        ("c, d, e", (", next: {spec: {mode: inclusive}, arcs: [{step: c}, {step: d, spec: {delay: 4}}]}",
                     "step: c, next: {arcs: [{step: e}]}", "step: d, next: {arcs: [{step: e}]}",
                     "step: e, spec: {policy: {join: 2}}"), 5),
        ("c, d, e", (", next: {spec: {mode: inclusive}, arcs: [{step: c}, {step: d}]}",
                     "step: c, next: {arcs: [{step: e}]}", 'step: d, next: {arcs: [{step: e, when: "{{ false }}"}]}',
                     f"step: e, spec: {{policy: {{join: first}}}}, {HTTP}"), 2),
    ],
    ids=["delay in", "delay out", "retry", "left behind", "half a wave", "memory of a wave"],
)  # fmt: skip
def test_a_section_is_held_while_anything_is_left_in_it(through: str, rows: tuple[str, ...], free_at: float) -> None:
    entries: list[dict[str, Any]] = [
        {"step": "c", "attempt": 1, "index": [0], "takes": 1}, {"step": "c", "index": [1], "takes": 6},
        {"step": "c", "attempt": 1, "takes": 1},
        {"step": "c", "takes": 1}, {"step": "b", "takes": 1}, {"step": "e", "takes": 1},
    ]  # fmt: skip
    if free_at == 4 and "retry" in rows[1]:
        entries[2]["outcome"] = {"status": "error", "error": {"code": "http.500"}}
    ran = run(section(through, *rows), {"outcomes": entries})
    assert ran.status == "completed" and ("b", free_at) in order_of(ran)
    freed = ran.of("lock.given", "a")
    assert [(event.data["locks"], event.ts / 1e6) for event in freed] == [(["x"], free_at)]


def test_who_holds_a_section_and_where_is_told() -> None:
    text = section("c, d", ", next: {arcs: [{step: c}]}", f"step: c, {HTTP}, next: {{arcs: [{{step: d}}]}}",
                   "step: d, tool: {kind: wait, events: [go]}")  # fmt: skip
    ran = run(text, script(c=1))
    folded = Execution("e1", ran.program)
    told = []
    for event in ran.log[:-2]:
        evolve(ran.program, folded, event)
        told += [row.text for row in rows_of(ran.program, folded) if row.what == "gate"]
    assert list(dict.fromkeys(told)) == [
        "a token waits at the gate for the lock `x`, which `a` holds",
        "a token waits at the gate for the lock `x`, which `a` holds, now at `c`",
        "a token waits at the gate for the lock `x`, which `a` holds, now at `d`",
    ]
    row = next(row for row in rows_of(ran.program, folded) if row.what == "gate")
    assert row.data["locks"] == [{"name": "x", "step": "a", "run": "2", "at": ["d"]}]


def test_sections_that_wait_for_each_other_are_blocked_with_the_reason() -> None:
    text = locks(
        "step: a, spec: {policy: {lock: {name: x, through: [a1]}}}, next: {arcs: [{step: a1}]}",
        "step: a1, spec: {policy: {lock: y}}",
        "step: b, spec: {policy: {lock: {name: y, through: [b1]}}}, next: {arcs: [{step: b1}]}",
        "step: b1, spec: {policy: {lock: x}}",
        start=ENTRY,
    )
    ran = run(text, {"outcomes": []})
    assert ran.status == "blocked"
    assert ran.log[-2].data["reason"] == (
        "a token waits at the gate of step `a1` for the lock `y`, which `b` holds, now at `b1`; "
        "a token waits at the gate of step `b1` for the lock `x`, which `a` holds, now at `a1`"
    )


@pytest.mark.parametrize(
    ("event_type", "change", "why"),
    [
        ("lock.given", {"locks": ["z"]}, "does not give lock `z` back"),
        ("lock.taken", {"locks": ["z"]}, "takes no such locks"),
        ("lock.taken", None, "needs place `ready a` to be empty|does not give lock `x` back"),
    ],
)
def test_a_log_with_other_locks_than_were_taken_is_refused(
    event_type: str, change: dict[str, Any] | None, why: str
) -> None:
    ran = run(section("c", ", next: {arcs: [{step: c}]}", f"step: c, {HTTP}"), script(c=1, b=1))
    state = Execution("e1", ran.program)
    with pytest.raises(IllegalFiring, match=why):
        for event in ran.log:
            if event.event_type == event_type:
                if change is None:
                    continue
                event = event._replace(data=change)
            evolve(ran.program, state, event)


def test_a_section_is_given_back_only_once_it_is_empty() -> None:
    ran = run(section("c", ", next: {arcs: [{step: c}]}", f"step: c, {HTTP}"), script(c=1, b=1))
    early = next(event for event in ran.log if event.event_type == "lock.given")
    state = Execution("e1", ran.program)
    for event in ran.log:
        if event.event_type == "step.done" and event.run == early.run:
            break
        evolve(ran.program, state, event)
    with pytest.raises(IllegalFiring, match="does not give lock `x` back here"):
        evolve(ran.program, state, early)


def test_many_tokens_at_one_lock_are_asked_about_as_often_as_they_are_many() -> None:
    """Each lock that comes free asks who waits longest for it, and not all who wait."""
    asked: list[int] = []
    for count in (20, 40):
        arcs = ", ".join(["{step: a}"] * count)
        text = locks("step: a, spec: {policy: {lock: x}}", start=arcs)
        ran = run(text, {"outcomes": []})
        assert ran.status == "completed" and len(ran.of("lock.given")) == count
        asked.append(_looked_at(ran))
    assert asked[1] < 2.5 * asked[0]


def _looked_at(ran: Ran) -> int:
    """How many tokens lie on the agenda at any time because a lock came free."""
    state = Execution("e1", ran.program)
    found = 0
    for event in ran.log:
        before = len(state.agenda)
        evolve(ran.program, state, event)
        if event.event_type == "lock.given":
            found += len(state.agenda) - before
        state.agenda.clear()
    return found


def test_a_token_in_a_section_overtakes_who_waits_for_the_section() -> None:
    """`b` came first and waits for `x` and `y`; `c`, by which alone `x` comes free, must not wait for `y` behind it."""
    text = locks(
        "step: b, spec: {policy: {lock: [x, y]}}",
        "step: c, spec: {policy: {lock: y}}",
        start="{step: b}, {step: c}",
    ).replace("step: start,", "step: start, spec: {policy: {lock: {name: x, through: [c]}}},")
    ran = run(text, {"outcomes": []})
    assert ran.status == "completed"
    assert [ran.program.plan.steps[event.step].name for event in ran.of("lock.taken")] == ["start", "c", "b"]


def test_a_token_overtakes_only_where_nothing_else_can_move() -> None:
    """Beside a step that runs for 5 s and holds nothing, `c` waits for that step to end."""
    text = locks(
        "step: b, spec: {policy: {lock: [x, y]}}",
        "step: c, spec: {policy: {lock: y}}",
        "step: slow",
        start="{step: slow}, {step: b}, {step: c}",
    ).replace("step: start,", "step: start, spec: {policy: {lock: {name: x, through: [c]}}},")
    ran = run(text, script(slow=5))
    assert ran.status == "completed"
    begun = {ran.program.plan.steps[event.step].name: event.ts for event in ran.of("step.scheduled")}
    assert begun["c"] == begun["b"] == 5_000_000 and begun["slow"] == 0
