"""Every golden run can be taken up after each of its commits, and ends as it would have.

As if the process had died there: what was decided stays, what was in flight is claimed again.
"""

import re
from collections import Counter
from functools import cache
from typing import Any

import pytest
import yaml

import goldens
from goldens import Case
from harness.invariants import TERMINAL
from harness.running import Ran, resume_prefix, run
from harness.samples import some
from noetl.engine import reports
from noetl.engine.evolve import evolve
from noetl.engine.execution import Execution
from noetl.engine.turn import Turn
from noetl_ir.events import WORKER_EVENTS, Event

CASES = [case for case in goldens.cases() if case.stage == "run" and "# at " not in case.path.read_text("utf-8")]


def script_of(case: Case) -> str:
    """The script of a golden."""
    script = case.beside("script")
    return script.read_text("utf-8") if script.exists() else ""


@cache
def golden_run(case: Case) -> Ran:
    """The run of a golden, from its start."""
    text = case.path.read_text("utf-8")
    head = re.search(r"^# payload: (.*)$", text, re.MULTILINE)
    return run(text, script_of(case), yaml.safe_load(head.group(1)) if head else None)


def ends_of(ran: Ran) -> Counter[Any]:
    """How often each step, and each iteration of it, ended how."""
    return Counter(
        (event.step, event.event_type, event.run.partition("/")[2])
        for event in ran.log
        if event.event_type in TERMINAL or event.event_type.startswith(("loop.iteration", "token.ended"))
    )


@pytest.mark.parametrize("case", some(CASES, 4), ids=lambda case: case.name)
def test_a_run_goes_on_after_every_commit(case: Case) -> None:
    whole, outcomes = golden_run(case), script_of(case)
    for length in whole.commits[:-1]:
        resumed = resume_prefix(whole, length, outcomes)
        assert resumed.log[:length] == whole.log[:length], length
        assert resumed.status == whole.status, length
        if whole.status == "failed":  # what still ran beside the failure was not to be started again
            assert resumed.execution.failure == whole.execution.failure, length
            continue
        # A crash costs time. An iteration that has a limit may run out of it, and the others end as before.
        if "iteration_timeout" in case.name:
            assert ends_of(resumed).total() == ends_of(whole).total(), length
            continue
        assert ends_of(resumed) == ends_of(whole), length
        assert resumed.execution.ctx == whole.execution.ctx, length


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_report_that_was_recorded_is_refused_for_ever_after(case: Case) -> None:
    """Scenarios 4, 78 and 80: a late or doubled report changes nothing, in a later pass and after the end neither."""
    whole = golden_run(case)
    folded = Execution("e1", whole.program)
    said: list[Event] = []
    for event in whole.log:
        evolve(whole.program, folded, event)
        if event.event_type in WORKER_EVENTS:
            said.append(event._replace(fired=()))
        turn = Turn(whole.program, folded, event.ts)
        assert not any(reports.accept(turn, late) for late in said)
        assert not turn.events
