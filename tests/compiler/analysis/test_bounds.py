"""Bounds as formulas: what runs really did is never above them, and is equal where nothing is chosen."""

import re
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from hypothesis import given, settings

from block_playbooks import BLOCKS, Block, playbook_text, steps_of
from harness.running import Ran, run
from nets import HEAD, plan_of, steps
from noetl.engine.program import Program
from noetl_ir.events import Event
from noetl_ir.plan import Plan
from noetlc.analysis.bounds import Bounds, bounds_of
from noetlc.analysis.formulas import Formula

GOLDEN = Path(__file__).parents[3] / "golden" / "run"
OUTSIDE = frozenset(
    {
        "task.lost", "playbook.paused", "playbook.resumed", "playbook.cancelled", "signal.received", "signal.missed",
        "child.started", "child.ended",
    }
)  # fmt: skip
"""Events that people, broken machines and children make; those signals count that a wait has claimed."""


class Counts(NamedTuple):
    attempts: int
    tokens: int
    events: int


def counts_of(log: list[Event], program: Program) -> Counts:
    """The counts of a log: attempts, the most tokens in flight at once, and its length."""
    names = Counter(event.event_type for event in log)
    outside = sum(names[name] for name in OUTSIDE) - names["token.claimed"]
    return Counts(names["task.started"], tokens_of(log, program.plan), len(log) - outside)


def tokens_of(log: list[Event], plan: Plan) -> int:
    """The most steps and iterations in flight, counted from what each event's transitions took and made."""
    waiting = {
        "loop",
        "todo",
        "fin",
        "slot",
        "free",
        "idle",
        "held",
        "got",
        "met",
        "warm",
        "cold",
        "dead",
        "closing",
        "rest",
        "lock",
    }
    places = plan.net.places
    here, most = 1, 1
    for event in log:
        for firing in event.fired:
            t = plan.net.transitions[firing.transition]
            here += sum(places[arc.place].role not in waiting for arc in t.outputs)
            here -= sum(places[arc.place].role not in waiting for arc in t.inputs)
        most = max(most, here)
    return most


def sizes_of(log: list[Event], formulas: Bounds) -> dict[str, int]:
    """Every size as the largest loop of the run; a mapping of its own is not needed for a bound."""
    added = sum(event.event_type == "loop.item.added" for event in log)
    largest = max([1, added, *(int(event.data["n"]) for event in log if event.event_type == "loop.started")])
    names = {name for formula in (formulas.attempts, formulas.tokens, formulas.events) for name in formula.sizes}
    return dict.fromkeys(names, largest)


def golden(path: Path) -> Ran:
    text = path.read_text("utf-8")
    script = path.with_suffix(".script")
    head = re.search(r"^# payload: (.*)$", text, re.MULTILINE)
    actions = {float(at): verb for at, verb in re.findall(r"^# at ([\d.]+): (\w+)$", text, re.MULTILINE)}
    payload: Any = yaml.safe_load(head.group(1)) if head else None
    return run(text, script.read_text("utf-8") if script.exists() else "", payload, at=actions)


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.yaml")), ids=lambda path: path.stem)
def test_no_golden_run_does_more_than_its_bounds(path: Path) -> None:
    ran = golden(path)
    bounds = bounds_of(ran.program.plan)
    sizes = sizes_of(ran.log, bounds)
    found = counts_of(ran.log, ran.program)
    for name, count in found._asdict().items():
        formula: Formula = getattr(bounds, name)
        most = formula.value(sizes)
        assert formula.why or (most is not None and count <= most), (name, str(formula), count)


LOOP = 'loop: {in: "{{ workload.items }}", iterator: item, spec: {mode: parallel}}'
NESTED = (
    'loop: {in: "{{ workload.items }}", iterator: item, spec: {mode: parallel, max_in_flight: 4}, '
    'loop: {in: "{{ iter.item.pages }}", iterator: page, spec: {mode: parallel}}}'
)
RETRY = "spec: {policy: {rules: [{when: \"{{ outcome.status == 'error' }}\", then: {do: retry, attempts: 3}}]}}"
COUNTED = (
    "tool: [{name: init, kind: noop, spec: {policy: {rules: [{else: {then: {do: continue, set_iter: {n: 0}}}}]}}},"
    "{name: get, kind: noop}, {name: again, kind: noop, spec: {policy: {rules: ["
    '{when: "{{ iter.n < 4 }}", then: {do: jump, to: get, set_iter: {n: "{{ iter.n + 1 }}"}}}, '
    "{else: {then: {do: break}}}]}}}]"
)
WHILE = (
    'tool: [{name: w, while: {when: "{{ true }}", max_iterations: 5, then: [{name: a, kind: noop},'
    '{name: u, until: {when: "{{ iter.never }}", max_iterations: 3, then: [{name: b, kind: noop}]}}]}}]'
)


@pytest.mark.parametrize(
    ("lines", "attempts", "tokens", "events"),
    [
        # 5 of the execution; a step: scheduled, started, task.started, task.done, step.done, token.ended
        (["step: start"], "1", "1", "11"),
        ([f"step: start, {LOOP}"], "|items|", "|items|", "10 + 4·|items|"),
        ([f"step: start, {NESTED}"], "|items|·|pages|", "4·|pages|", "10 + 4·|items| + 4·|items|·|pages|"),
        (["step: start, loop: {in: [1, 2, 3], iterator: i}"], "3", "1", "22"),
        (
            ['step: start, loop: {in: "{{ range(9, 2, -1) }}", iterator: i, spec: {mode: parallel}}'],
            "7",
            "7",
            "38",
        ),
        (['step: start, loop: {in: "{{ range(2, 9) | list }}", iterator: i, spec: {mode: parallel}}'], "7", "7", "38"),
        # three attempts, and a timer in front of each but the first
        ([f'step: start, tool: {{kind: http, url: "http://x", {RETRY}}}'], "3", "1", "17"),
        # init; get and again five times
        ([f"step: start, {COUNTED}"], "11", "1", "31"),
        (["step: start, next: {arcs: [{step: start}]}"], "unbounded: `start` can run again and again", "1", None),
        (
            [
                "step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}",
                "step: a, next: {arcs: [{step: j}]}",
                f"step: b, {LOOP}, next: {{arcs: [{{step: j}}]}}",
                "step: j, spec: {policy: {join: all}}",
            ],
            "3 + |items|",
            "1 + |items|",
            "29 + 4·|items|",
        ),
        (
            [
                'step: start, next: {arcs: [{step: a, when: "{{ workload.x }}"}, {step: b}]}',
                f"step: a, {LOOP}",
                "step: b, next: {arcs: [{step: c}]}",
                "step: c",
            ],
            "3 + |items|",
            "|items|",
            "23 + 4·|items|",
        ),
    ],
)
def test_formulas_that_can_be_worked_out_by_hand(
    lines: list[str], attempts: str, tokens: str, events: str | None
) -> None:
    found = bounds_of(plan_of(steps(*lines)))
    assert (str(found.attempts), str(found.tokens)) == (attempts, tokens)
    assert str(found.events) == events or (events is None and found.events.why)


@pytest.mark.parametrize(
    "lines",
    [
        [f"step: start, {LOOP}, next: {{arcs: [{{step: b}}]}}", f"step: b, {COUNTED}"],
        [f"step: start, {NESTED}"],
        [
            "step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b, spec: {delay: 1}}]}",
            "step: a, tool: {kind: noop, spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {k: 1}}}}]}}}, "
            "next: {arcs: [{step: j}]}",
            f"step: b, {LOOP}, next: {{arcs: [{{step: j}}]}}",
            "step: j, spec: {policy: {join: all}}",
        ],
        [
            "step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}, {step: c}]}",
            *(f"step: {name}, next: {{arcs: [{{step: j}}]}}" for name in "abc"),
            "step: j, spec: {policy: {join: 2}}, next: {arcs: [{step: last}]}",
            "step: last",
        ],
        [
            "step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}",
            *(f"step: {name}, next: {{arcs: [{{step: j}}]}}" for name in "ab"),
            "step: j, spec: {policy: {join: taken}}",
        ],
    ],
    ids=["loop and jumps", "nested", "fork and join", "count", "taken"],
)
def test_a_run_without_choices_is_as_long_as_its_formulas_say(lines: list[str]) -> None:
    body = HEAD + "workload: {items: [{pages: [1, 2]}, {pages: [3, 4]}]}\n" + steps(*lines)
    ran = run(body)
    found, bounds = counts_of(ran.log, ran.program), bounds_of(ran.program.plan)
    sizes = {"items": 2, "pages": 2}
    assert (bounds.attempts.value(sizes), bounds.events.value(sizes)) == (found.attempts, found.events)
    tokens = bounds.tokens.value(sizes)
    assert tokens is not None and found.tokens <= tokens


def test_loops_of_while_and_until_inside_each_other_are_counted() -> None:
    bounds = bounds_of(plan_of(steps(f"step: start, {WHILE}")))
    assert bounds.caveats == () and not bounds.attempts.why
    ran = run(HEAD + steps(f"step: start, {WHILE}"))
    most = bounds.attempts.value({})
    assert most is not None and counts_of(ran.log, ran.program).attempts <= most < 200


def test_what_nothing_counts_ends_at_the_limit_of_the_executor() -> None:
    text = COUNTED.replace("n: 0", "n: zero")
    body = "executor: {spec: {policy: {limits: {max_tasks_per_run: 50}}}}\n" + steps(f"step: start, {text}")
    bounds = bounds_of(plan_of(body))
    assert str(bounds.attempts) == "50"
    assert bounds.caveats == ("the jumps of `start` end only at `limits.max_tasks_per_run`, 50",)


@settings(max_examples=60, deadline=None)
@given(BLOCKS)
def test_random_blocks_stay_below_their_bounds(block: Block) -> None:
    text = playbook_text(steps_of(block)).replace("workflow:", "workload: {items: [1, 2, 3]}\nworkflow:")
    ran = run(text)
    assert ran.status == "completed"
    bounds = bounds_of(ran.program.plan)
    found = counts_of(ran.log, ran.program)
    for name, count in found._asdict().items():
        formula: Formula = getattr(bounds, name)
        most = formula.value({"items": 3})
        assert formula.why or (most is not None and count <= most), (name, str(formula), count)
        if name != "tokens" and "choice" not in str(block):
            assert most == count or formula.why
