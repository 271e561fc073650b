"""The verdict on one case: what failed, the path taken, and what was covered; a record that crosses processes."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from noetl.app.suites import path
from noetl.app.suites.hiding import hidden
from noetl.app.suites.judging import Failure, failures_of
from noetl.app.suites.path import PathTaken
from noetl.app.suites.running import Ran, run_case
from noetl.engine.program import Program
from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple
from noetl_ir.span import Span
from noetl_ir.suite import Suite, SuiteCase


class CaseVerdict(NamedTuple):
    """The verdict on a case: its number in its suite, and the seconds of real time that it took. `uses`: how often each
    outcome of its script was used; `fired`: the transitions of the plan's net that fired; `rules`: the rules that
    decided, as (task, rule); `untaken`: the signals with a key that no wait got, by number, each with a sentence.
    `status` is how the run ended, `""` of one that did not begin.
    """

    number: int
    failures: tuple[Failure, ...]
    path: PathTaken
    uses: tuple[int, ...]
    fired: frozenset[str]
    rules: frozenset[tuple[int, int]]
    seconds: float
    untaken: tuple[tuple[int, str], ...] = ()
    status: str = ""

    @property
    def ok(self) -> bool:
        """Whether the case does all that is expected of it."""
        return not self.failures


def judged_case(suite: Suite, program: Program, number: int, beside: Path, folders: tuple[Path, ...]) -> CaseVerdict:
    """Run the case of that number and judge it; `program` is that of the suite's plan."""
    case, begun = suite.cases[number], time.monotonic()
    try:
        case, ran = hidden(case, run_case(program, case, beside, folders))
    except OSError as problem:
        failure = Failure(f"the folder of the case cannot be made: {problem}", case.span)
        return CaseVerdict(number, (failure,), PathTaken(), (), frozenset(), frozenset(), time.monotonic() - begun)
    return CaseVerdict(
        number,
        failures_of(case, ran),
        path.path_of(ran),
        tuple(ran.uses[each] for each in range(len(case.places))),
        fired_in(ran),
        rules_in(ran),
        time.monotonic() - begun,
        ran.untaken,
        ran.status,
    )


def fired_in(ran: Ran) -> frozenset[str]:
    """The transitions of the plan's net that fired in a run, as long as the case decided it."""
    transitions = ran.program.plan.net.transitions
    return frozenset(
        transitions[each].id for each in {firing.transition for event in ran.decided for firing in event.fired}
    )


def rules_in(ran: Ran) -> frozenset[tuple[int, int]]:
    """The rules that decided in a run, as (task, rule), as long as the case decided it."""
    ends = [event for event in ran.decided if event.event_type in ("task.done", "retry.started")]
    found = [(event.task, event.data.get("rule")) for event in ends]
    return frozenset((task, rule) for task, rule in found if isinstance(rule, int) and rule >= 0)


def as_json(verdict: CaseVerdict) -> Json:
    """The record for another process."""
    failures: list[Json] = [
        [each.message, [*each.span], [*each.at], [*each.details], each.where, each.expected, each.actual]
        for each in verdict.failures
    ]
    rules: list[Json] = [[*each] for each in sorted(verdict.rules)]
    fired: list[Json] = [*sorted(verdict.fired)]
    return [verdict.number, failures, path.as_json(verdict.path), [*verdict.uses], fired, rules, verdict.seconds,
            [[*each] for each in verdict.untaken], verdict.status]  # fmt: skip


def of_json(row: Any) -> CaseVerdict:
    """The verdict of such a record."""
    number, failures, taken, uses, fired, rules, seconds, untaken, status = row
    return CaseVerdict(
        number,
        tuple(Failure(text, Span(*span), Span(*at), tuple(more), *rest) for text, span, at, more, *rest in failures),
        path.of_json(taken), tuple(uses), frozenset(fired), frozenset((task, rule) for task, rule in rules), seconds,
        tuple((at, text) for at, text in untaken), status,
    )  # fmt: skip


def idle_outcomes(suite: Suite, verdicts: list[CaseVerdict]) -> list[tuple[SuiteCase, Span, int, int]]:
    """The outcomes that no case used as often as they say: a case that has it, its place, how often it was used at
    most, and its `times`. Where one and the same entry is there for several cases, one of them is enough.
    """
    most: dict[Span, int] = {}
    owners: dict[Span, tuple[SuiteCase, int]] = {}
    for verdict in verdicts:
        case = suite.cases[verdict.number]
        rows = case.script.get("outcomes")
        # A case that came to nothing used nothing, and is told for another reason.
        for place, uses, row in zip(case.places, verdict.uses, rows if isinstance(rows, list) else [], strict=False):
            times = row.get("times") if isinstance(row, dict) else None
            most[place] = max(most.get(place, 0), uses)
            owners.setdefault(place, (case, times if isinstance(times, int) else 1))
    return [(case, place, most[place], times) for place, (case, times) in owners.items() if most[place] < times]


def idle_signals(suite: Suite, verdicts: list[CaseVerdict]) -> list[tuple[SuiteCase, Span, str]]:
    """The signals with a key that no wait got in any case that has them: such a case, the place, a sentence."""
    found: dict[Span, tuple[SuiteCase, str]] = {}
    taken: set[Span] = set()
    for verdict in verdicts:
        case, untaken = suite.cases[verdict.number], dict(verdict.untaken)
        for at, place in enumerate(case.sent if verdict.path.steps else ()):
            if at in untaken:
                found.setdefault(place, (case, untaken[at]))
            else:
                taken.add(place)
    return [(case, place, text) for place, (case, text) in found.items() if place not in taken]
