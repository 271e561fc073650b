"""Proofs about playbooks that have every construct hold of their runs by the engine, with any data and signals.

The engine shares no code with the analysis but the plan. A run shows what can happen; that something cannot be seen in
a few runs shows nothing, so that nothing is held against what is refuted, but that no run does what never happens.
"""

import random
from collections import Counter
from typing import Any, NamedTuple

import pytest

from harness.running import HEAD, Endless, Ran, run
from harness.samples import first
from mixed_playbooks import CHILD, CHILD_STEPS, playbook_of
from nets import STUCK, plan_of
from noetl_ir.plan import Plan
from noetlc.analysis.report import AnalysisReport, report_of
from noetlc.analysis.verdict import Status

SEEDS, SHARES = 600, 30
RUNS = 3
PROVED, REFUTED = Status.PROVED, Status.REFUTED
ENDS = ("step.done", "loop.done", "step.failed", "step.cancelled")
SIGNALS = ("a", "b", "x", "m", "c", "s")
NAMES = ("start", "s1", "s2", "met")


class Seen(NamedTuple):
    """How often each step started, the most of its runs at once, the steps that ran beside each other, the order of
    first starts."""

    starts: Counter[str]
    at_once: Counter[str]
    beside: set[tuple[str, str]]
    order: list[str]


def seen_in(ran: Ran) -> Seen:
    """The runs of the steps of main, as a log has them."""
    names = [step.name for step in ran.program.plan.steps]
    seen = Seen(Counter(), Counter(), set(), [])
    running: dict[str, str] = {}
    for event in ran.log:
        if event.event_type in ("phase.started", "workflow.finished"):
            break
        if event.event_type == "step.scheduled":
            name = names[event.step]
            seen.starts[name] += 1
            if name not in seen.order:
                seen.order.append(name)
        elif event.event_type == "step.started":
            # What a run cancels has ended when it starts, and not yet when it is scheduled.
            name = names[event.step]
            seen.beside.update((name, other) for other in running.values())
            running[event.run] = name
            seen.at_once[name] = max(seen.at_once[name], [*running.values()].count(name))
        elif event.event_type in ENDS:
            running.pop(event.run, None)
    return seen


def script_of(chance: random.Random, plan: Plan) -> dict[str, Any]:
    """Outcomes of the first attempts at each step, and signals at some times."""
    rows: list[dict[str, Any]] = []
    for name in (*(step.name for step in plan.steps), *CHILD_STEPS):
        for attempt in (1, 2):
            outcome = chance.choice(({"result": 1}, {"error": {"code": "x", "message": "it fails"}}))
            if chance.random() < 0.5:
                rows.append({"step": name, "attempt": attempt, "takes": chance.randint(0, 9), "outcome": outcome})
    signals = [{"at": chance.randint(0, 20), "name": chance.choice(SIGNALS)} for _ in range(chance.randint(0, 8))]
    return {"outcomes": rows, "signals": sorted(signals, key=lambda row: row["at"])}


def pairs(names: list[str]) -> list[tuple[str, str]]:
    """Each two names once, and each with itself."""
    return [(one, other) for at, one in enumerate(names) for other in names[at:]]


def check(seed: int) -> None:
    body = playbook_of(seed)
    plan = plan_of(body)
    names = [name for name in NAMES if name in {step.name for step in plan.steps}]
    queries = [f"never({one} and {other})" for one, other in pairs(names)]
    queries += [f"at most 1 of {name}" for name in names] + [f"reachable({name})" for name in names]
    queries += [f"every run reaches {name}" for name in names] + [f"always(start before {name})" for name in names]
    report = report_of(plan, queries)
    chance = random.Random(seed)
    for _ in range(RUNS):
        payload: dict[str, Any] = {"must": "x", **{f"x{n}": chance.choice((True, False)) for n in range(9)}}
        payload = {key: value for key, value in payload.items() if f"{key}:" in body}
        script = script_of(chance, plan)
        try:
            ran = run(HEAD + body + CHILD, script, payload, endless=3_000)
        except Endless:
            continue
        compare(report, ran, names, f"seed {seed}, payload {payload}, script {script}")


def compare(report: AnalysisReport, ran: Ran, names: list[str], about: str) -> None:
    """Hold a run against what was said about all of them."""
    assert not ran.faults, about
    seen = seen_in(ran)
    statuses: dict[str, set[Status]] = {}
    for verdict in report.verdicts:
        assert verdict.bug is None, verdict.bug
        statuses.setdefault(verdict.question, set()).add(verdict.status)
        if verdict.question == "every part can run" and verdict.status is REFUTED:
            never = [name for name in seen.starts if verdict.detail.startswith(f"`{name}` can never run")]
            assert not never, f"{about}: {never} ran"
    assert not (ran.status == "blocked" and statuses[STUCK] == {PROVED}), about
    for extent in report.extents:
        assert extent.runs is None or seen.starts[extent.step] <= extent.runs, f"{about}: {extent}"
        assert extent.at_once is None or seen.at_once[extent.step] <= extent.at_once, f"{about}: {extent}"
    for name in names:
        assert not (PROVED in statuses[f"at most 1 of {name}"] and seen.starts[name] > 1), f"{about}: {name}"
        assert not (REFUTED in statuses[f"reachable({name})"] and name in seen.starts), f"{about}: {name}"
        ended_well = ran.status == "completed" and not ran.execution.terminated
        misses = (ended_well or ran.status == "blocked") and name not in seen.starts
        assert not (PROVED in statuses[f"every run reaches {name}"] and misses), f"{about}: {name}"
        late = name in seen.order and "start" not in seen.order[: seen.order.index(name) + 1]
        assert not (PROVED in statuses[f"always(start before {name})"] and late), f"{about}: {name}"
        for other in names[names.index(name) :]:
            together = (name, other) in seen.beside or (other, name) in seen.beside
            assert not (PROVED in statuses[f"never({name} and {other})"] and together), f"{about}: {name}, {other}"


@pytest.mark.parametrize("share", first(1, range(SHARES)))
def test_what_is_proved_holds_of_runs_by_the_engine(share: int) -> None:
    for seed in range(share, SEEDS, SHARES):
        check(seed)
