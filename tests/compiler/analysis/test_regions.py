"""Phases behind main, each a net of its own (EXTENSIONS §1): verdicts held against a naive explorer of each region."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.samples import shares
from nets import (
    CYCLES,
    HEAD,
    PARTS,
    STUCK,
    Game,
    Space,
    fired_in,
    is_calm,
    is_end,
    is_endless,
    plan_of,
    random_plan,
    space_of,
    steps,
)
from noetl_ir.plan import Plan, later_entries
from noetlc.analysis import resets
from noetlc.analysis.differences import differences_of
from noetlc.analysis.effort import STANDARD, Effort
from noetlc.analysis.extents import extents_of
from noetlc.analysis.petri import Petri
from noetlc.analysis.regions import regions_of
from noetlc.analysis.report import report_of
from noetlc.analysis.soundness import soundness_of
from noetlc.analysis.verdict import Status
from playbooks import linted

MOST = 2_000


@st.composite
def playbooks(draw: st.DrawFn) -> str:
    """Two or three steps in main and in each of one or two later phases, with arcs to any of the same phase."""
    lines: list[str] = []
    inputs: list[str] = []
    named = draw(st.sampled_from([("finally",), ("on_failure", "finally"), ("undo", "finally")]))
    for phase in ("main", *named):
        count = draw(st.integers(2, 3))
        names = ["start" if phase == "main" and not at else f"{phase}{at}" for at in range(count)]
        rows = [
            draw(st.lists(st.integers(0, count), min_size=at < count - 1, max_size=2, unique=True))
            for at in range(count)
        ]
        for at, row in enumerate(rows):
            sources = len({other for other, arcs in enumerate(rows) if at in arcs}) + (at == 0)
            join = draw(st.sampled_from(("any", "all", "first"))) if sources > 1 else "any"
            mode = draw(st.sampled_from(("exclusive", "inclusive")))
            # Each guard is another one: the explorer asks none, so it does not see what equal ones exclude.
            asked = [f"x{len(inputs) + number}" for number in range(len(row))]
            inputs += asked
            whens = [f"when: '{{{{ workload.{name} }}}}', " for name in asked]
            ways = zip(whens if mode == "exclusive" else [""] * len(row), row, strict=True)
            arcs = ", ".join(f"{{{when}step: {names[target] if target < count else 'end'}}}" for when, target in ways)
            routes = f", next: {{spec: {{mode: {mode}}}, arcs: [{arcs}]}}" if row else ""
            undo = (
                ", compensate: undo0" if phase == "main" and "undo" in named and (not at or draw(st.booleans())) else ""
            )
            lines.append(f"step: {names[at]}, spec: {{policy: {{join: {join}{undo}}}}}{routes}")
    spec = ", ".join(f"{phase}: {phase}0" for phase in named if phase != "undo")
    return f"executor: {{spec: {{{spec}}}}}\nworkload: {{{', '.join(f'{name}: 1' for name in inputs)}}}\n" + steps(
        *lines
    )


def spaces(plan: Plan) -> Iterator[Space | None]:
    """The markings of each phase without failures; None where there are too many."""
    game = Game(plan, allowed=is_calm)
    first = game.initial()
    ids = [place.id for place in plan.net.places]
    entry = ids.index(f"in {plan.steps[plan.entry].name} @entry")
    for step in (plan.entry, *later_entries(plan)):
        marking = list(first)
        marking[entry] = 0
        marking[ids.index(f"in {plan.steps[step].name} @entry")] = 1
        yield space_of(tuple(marking), game.steps_from, MOST)


@shares(40)
@given(playbooks())
def test_verdicts_are_those_of_the_explorer(share: int, body: str) -> None:
    plan = random_plan(body)
    found = [space for space in spaces(plan) if space is not None]
    if len(found) <= len(later_entries(plan)):
        return
    stuck = [any(not row and not is_end(plan, here) for here, row in space.items()) for space in found]
    endless = [is_endless(space) for space in found]
    fired = fired_in(found)
    dead = {step.name for step in plan.steps if f"begin {step.name}" not in fired}
    statuses: dict[str, set[Status]] = {}
    for verdict in soundness_of(plan):
        assert verdict.bug is None, verdict.bug
        statuses.setdefault(verdict.question, set()).add(verdict.status)
    assert (statuses[STUCK] == {Status.PROVED}) is not any(stuck), body
    assert (Status.REFUTED in statuses[STUCK]) is stuck[0], body
    assert (statuses[CYCLES] == {Status.PROVED}) is not any(endless), body
    assert not (statuses[PARTS] == {Status.PROVED} and dead), body
    # What undoes the runs of a step that never runs never does either.
    never = {extent.step for extent in extents_of(plan, Effort(STANDARD)) if extent.runs == 0}
    assert {name for name in never if not name.startswith("undo")} <= dead, body


PHASES = "executor: {spec: {on_failure: tell, finally: free}}\n"
ROWS = (
    "step: start, next: {arcs: [{step: a}]}",
    "step: a",
    "step: tell",
    "step: free, next: {arcs: [{step: b}]}",
    "step: b",
)


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("never(a and b)", Status.PROVED),
        ("always(a before b)", Status.UNKNOWN),
        ("every run reaches b", Status.PROVED),
        ("every run reaches tell", Status.UNKNOWN),
        ("reachable(a)", Status.PROVED),
        ("reachable(b)", Status.UNKNOWN),
        ("at most 1 of b", Status.PROVED),
        ("at most 0 of b", Status.UNKNOWN),
    ],
)
def test_a_question_is_about_the_phase_of_its_steps(query: str, status: Status) -> None:
    verdicts = report_of(plan_of(PHASES + steps(*ROWS)), [query]).verdicts
    assert {verdict.question: verdict.status for verdict in verdicts}[query] is status


def test_changes_are_told_by_phase() -> None:
    old, without = plan_of(PHASES + steps(*ROWS)), plan_of("executor: {spec: {on_failure: tell}}\n" + steps(*ROWS[:3]))
    told = [change.message for change in differences_of(old, without)]
    assert "a run that is in phase `finally` cannot go on" in told
    longer = plan_of(PHASES + steps(*ROWS[:4], "step: b, next: {arcs: [{step: c}]}", "step: c"))
    told = [change.message for change in differences_of(old, longer)]
    assert any("`free` → `b` → `c`" in message for message in told), told


UNDO = steps(
    "step: start, spec: {policy: {compensate: undo}}, next: {arcs: [{step: each}]}",
    "step: each, spec: {policy: {compensate: back}}, loop: {in: '{{ workload.l }}', iterator: i}",
    "step: undo, next: {arcs: [{step: undone}]}",
    "step: undone",
    "step: back",
).replace("workflow:", "workload: {l: [1]}\nworkflow:", 1)


def test_a_compensation_runs_once_for_each_run_that_it_undoes() -> None:
    plan = plan_of(UNDO)
    runs = {extent.step: extent.runs for extent in extents_of(plan, Effort(STANDARD))}
    assert runs == {"start": 1, "each": 1, "undo": 1, "undone": 1, "back": None}
    report = report_of(plan, ["never(undo and back)", "never(start and undo)", "at most 1 of undo", "reachable(back)"])
    asked = {verdict.question: verdict.status for verdict in report.verdicts}
    assert [asked[STUCK], asked[CYCLES], asked[PARTS]] == [Status.PROVED] * 3
    assert asked["never(undo and back)"] is asked["never(start and undo)"] is Status.PROVED
    assert asked["at most 1 of undo"] is asked["reachable(back)"] is Status.UNKNOWN
    assert report.bounds is not None and str(report.bounds.attempts) == "3 + 2·|l|"


def test_a_change_of_what_undoes_a_run_is_told() -> None:
    other = UNDO.replace("compensate: undo}", "compensate: {step: undo, on: started}}")
    told = [change.message for change in differences_of(plan_of(UNDO), plan_of(other))]
    assert told == ["step `start`, is undone by: undo → undo, also where it only started"]


def test_a_later_phase_may_read_what_main_has_come_to() -> None:
    read = "step: {}, tool: {{kind: noop, result: '{{{{ {} }}}}'}}"
    lines = ["step: start, next: {arcs: [{step: a}]}", "step: a", read.format("tell", "a"), read.format("free", "tell")]
    assert linted(HEAD + PHASES + steps(*lines)) == []
    early = [*lines[:2], read.format("tell", "free"), "step: free"]
    found = linted(HEAD + PHASES + steps(*early))
    assert len(found) == 1 and "`free`" in str(found[0]), found


def test_what_bounds_a_region_is_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eighteen questions about such a playbook took half a minute, as each looked for it anew."""
    rows = (
        "step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}",
        "step: a, spec: {policy: {cancels: [b]}}",
        "step: b",
        "step: free",
    )
    plan = plan_of("executor: {spec: {finally: free}}\n" + steps(*rows))
    found, bound = list[int](), resets._bound

    def counted(net: Petri, *rest: Any) -> tuple[int, str]:
        found.append(len(net.transitions))
        return bound(net, *rest)

    monkeypatch.setattr(resets, "_bound", counted)
    report_of(plan, ["never(a and b)"])
    once = len(found)
    report_of(plan, ["never(a and b)", "at most 1 of a", "reachable(b)", "never(a and a)", "always(start before b)"])
    assert 0 < once == len(found) <= 4


def test_the_regions_of_a_plan_share_its_net() -> None:
    # Were each as large as the whole, many compensations would cost the square of what the plan does.
    undone = [f"step: s{at}, spec: {{policy: {{compensate: u{at}}}}}" for at in range(5)]
    arcs = ", ".join(f"{{step: s{at}}}" for at in range(5))
    fork = f"step: start, next: {{spec: {{mode: inclusive}}, arcs: [{arcs}]}}"
    plan = plan_of(steps(fork, *undone, *(f"step: u{at}" for at in range(5))))
    nets = [region.plan.net for region in regions_of(plan)]
    assert len(nets) == 6
    assert sorted(place.id for net in nets for place in net.places) == sorted(place.id for place in plan.net.places)
    assert sorted(each.id for net in nets for each in net.transitions) == sorted(
        each.id for each in plan.net.transitions
    )


@pytest.mark.parametrize("behind", ["executor: {spec: {finally: last}}\n", ""])
@pytest.mark.parametrize("join", ["taken", "all", "2", "settled", "{tokens: 2}"])
def test_each_join_is_judged_in_its_own_phase(join: str, behind: str) -> None:
    """Both in main and in the phase behind it; the net of one has no places of the other."""
    rows = []
    for name, first in (("", "start"), ("l", "last")):
        arcs = ", ".join(f"{{step: {name}{to}, when: '{{{{ workload.{to} }}}}'}}" for to in "ab")
        rows += [f"step: {first}, next: {{spec: {{mode: inclusive}}, arcs: [{arcs}]}}"]
        rows += [f"step: {name}{one}, next: {{arcs: [{{step: {name}j}}]}}" for one in "ab"]
        rows += [f"step: {name}j, spec: {{policy: {{join: {join}}}}}"]
    body = f"{behind}workload: {{a: true, b: true}}\n{steps(*(rows if behind else rows[:4]))}"
    report = report_of(plan_of(body))
    assert not report.is_broken
    # A branch of a fork may be left out, which starves all joins that wait for it.
    waits = join in ("all", "2", "{tokens: 2}")
    found = {each.status for each in report.verdicts if each.question == STUCK}
    assert Status.REFUTED in found if waits else found == {Status.PROVED}
    assert not [each for each in linted(HEAD + body) if each.code == "NL000"]
