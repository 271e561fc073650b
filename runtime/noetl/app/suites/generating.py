"""Cases that reach everything a run can reach (`noetl test --generate`), as few as there are.

The compiler looks for data to each part of the playbook. Here each is run, and what it really reaches is seen; a
smallest set of them that reaches all that any reaches is written, with the outcomes that were used.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

from noetl.app.programs import program_of
from noetl.app.suites.choosing import fewest
from noetl.app.suites.coverage import is_reached
from noetl.app.suites.outside import Tried, reached_from_outside
from noetl.app.suites.running import Ran, run_case
from noetl.app.suites.signalling import signalled, without_wishes
from noetl.app.suites.step_runs import steps_of
from noetl.app.suites.unreached import reasons
from noetl.app.suites.verdict import fired_in, rules_in
from noetl.app.suites.writing import WrittenCase, suite_text
from noetl.engine.program import Program
from noetl_ir.expr import Json
from noetl_ir.outcome import Outcome
from noetl_ir.plan_family import family_of
from noetl_ir.records import NamedTuple
from noetl_ir.shaping import is_result_of, shaped_outcome
from noetl_ir.suite import Suite, SuiteCase

_Row: TypeAlias = tuple[SuiteCase, Ran, frozenset[int]]


class Generated(NamedTuple):
    """A file of tests: its text, how many cases there are, and how many parts of how many they reach."""

    text: str
    cases: int
    reached: int
    parts: int


def generated(suite: Suite, folders: tuple[Path, ...]) -> Generated:
    """The file of tests for the playbook of a suite whose cases are candidates."""
    program = program_of(suite.plan)
    rows: list[_Row] = []
    for candidate in suite.cases:
        aim = next((n for n, part in enumerate(suite.parts) if (part.name, part.span) == candidate[:2]), -1)
        rows += _runs(suite, program, candidate, aim, folders, frozenset[int]().union(*(row[2] for row in rows)))
    chosen = [rows[number] for number in fewest([parts for _, _, parts in rows])]
    told: set[int] = set()
    cases = []
    for number, (case, ran, parts) in enumerate(chosen):
        cases.append(_written(suite, number, case, ran, parts - told))
        told |= parts
    missing = [part for number, part in enumerate(suite.parts) if number not in told]
    reach = f"{len(chosen)} runs that reach {len(told)} of {len(suite.parts)} parts of the playbook"
    head = f"Made by `noetl test --generate`: {reach}."
    head = "\n".join([head, *reasons(program, missing, [ran for _, ran, _ in rows])])
    keychain = suite.cases[0].keychain if suite.cases else {}
    text = suite_text(head, Path(suite.playbook).name, cases, real=[], keychain=keychain)
    return Generated(text, len(chosen), len(told), len(suite.parts))


def _runs(
    suite: Suite, program: Program, candidate: SuiteCase, aim: int, folders: tuple[Path, ...], seen: frozenset[int]
) -> Iterator[_Row]:
    """The runs of a candidate, each with the parts that it reaches: until one reaches the part that the candidate is
    for, and with signals for the waits that they come to; `seen` is what others reach.
    """
    bare, wishes = without_wishes(program.plan, candidate)
    kinds = {
        (each.steps[task.step].name, task.name): task.kind for each in family_of(program.plan) for task in each.tasks
    }
    variants, waiting, known = deque(_variants(bare, kinds)), deque[tuple[SuiteCase, bool]](), set[Tried]()
    for _ in range(MOST_RUNS):
        if not variants and not waiting:
            return
        case, is_followed = waiting.popleft() if waiting else (variants.popleft(), bool(wishes) or aim < 0)
        ran = run_case(program, case, Path("."), folders)
        # A run that could not be started, or had to be stopped, is none that anybody keeps.
        if ran.ending is None or ran.wrong or ran.untaken:
            continue
        fired, rules = fired_in(ran), rules_in(ran)
        reached = frozenset(number for number, part in enumerate(suite.parts) if is_reached(part, fired, rules))
        yield case, ran, reached
        if aim in reached:
            variants.clear()
        # The likeliest signals are followed to the end, others where they lead to something new.
        is_asked = is_followed or ran.status == "waiting" or bool(reached - seen)
        tried = [*signalled(case, ran, wishes)] if is_asked else []
        for what, each in reached_from_outside(case, ran) if is_asked else ():
            if what not in known:
                known.add(what)
                tried.append(each)
        waiting.extendleft([(each, is_followed) for each in tried[:1]])
        waiting.extend([(each, False) for each in tried[1:]])
        seen |= reached


MOST_RUNS = 60
"""Runs of one candidate: with other results, and with other signals."""

_LATER = 60
"""Seconds after which all is over that a run found by the compiler has of its own."""

_RESULTS: tuple[Json, ...] = ([], {}, "", 0)


def _variants(case: SuiteCase, kinds: Mapping[tuple[str, str], str]) -> Iterator[SuiteCase]:
    """A case as it was found, then with slow outcomes where it says nothing of an attempt: what else goes on may come
    first. Then with results: the analysis leaves out what no guard compares, and a template may still need a list, a
    mapping, a text or a number there. `kinds` has the kind of each task by its step and name.
    """
    yield case
    rows = case.script["outcomes"]
    assert isinstance(rows, list)
    slow: list[Json] = [row if not isinstance(row, dict) or "run" in row else {**row, "takes": _LATER} for row in rows]
    if slow != rows:
        yield case._replace(script={**case.script, "outcomes": slow})
    for result in _RESULTS:
        yield case._replace(script={**case.script, "outcomes": [_with_result(row, result, kinds) for row in rows]})


def _with_result(row: Json, result: Json, kinds: Mapping[tuple[str, str], str]) -> Json:
    assert isinstance(row, dict)
    outcome = row.get("outcome", {"status": "ok"})
    if not isinstance(outcome, dict) or outcome.get("status") != "ok" or "result" in outcome:
        return row
    kind = kinds.get((str(row.get("step")), str(row.get("task"))), "")
    if not is_result_of(kind, shaped_outcome(kind, {}, {}, Outcome("ok", result), 0.0).result):
        return row
    return {**row, "outcome": {**outcome, "result": result}}


def _written(suite: Suite, number: int, case: SuiteCase, ran: Ran, fresh: frozenset[int]) -> WrittenCase:
    names = [f"{suite.parts[each].kind} {suite.parts[each].name}" for each in sorted(fresh)]
    rows = case.script["outcomes"]
    assert isinstance(rows, list)
    signals = case.script.get("signals")
    used = [row for at, row in enumerate(rows) if ran.uses[at]]
    steps = steps_of(ran.program.plan, ran.log)
    expect: dict[str, Json] = {"status": ran.status, "steps": [*steps]}
    error = ran.ending.error if ran.ending is not None else None
    if ran.status == "failed" and isinstance(error, dict):
        expect["error"] = {"code": error.get("code")}
    return WrittenCase(
        f"{number + 1}: {' → '.join(dict.fromkeys(steps))}",
        "\n".join(["reaches", *(f"  {name}" for name in names)]),
        case.payload,
        used,
        signals if isinstance(signals, list) else (),
        expect,
        "To fill in: this is what the run does today. Add `result`, `ctx`, `calls`: what it should do.",
    )
