"""Every golden run can be taken up after each of its commits, and ends as it would have.

As if the process had died there: what was decided stays, what was in flight is claimed again.
"""

import re
from collections import Counter
from typing import Any

import pytest
import yaml

import goldens
from goldens import Case
from harness.invariants import TERMINAL
from harness.running import Ran, resume_prefix, run

CASES = [case for case in goldens.cases() if case.stage == "run" and "# at " not in case.path.read_text("utf-8")]


def ends_of(ran: Ran) -> Counter[Any]:
    """How often each step, and each iteration of it, ended how."""
    return Counter(
        (event.step, event.event_type, event.run.partition("/")[2])
        for event in ran.log
        if event.event_type in TERMINAL or event.event_type.startswith(("loop.iteration", "token.ended"))
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_run_goes_on_after_every_commit(case: Case) -> None:
    text, script = case.path.read_text("utf-8"), case.beside("script")
    given = re.search(r"^# payload: (.*)$", text, re.MULTILINE)
    outcomes = script.read_text("utf-8") if script.exists() else ""
    whole = run(text, outcomes, yaml.safe_load(given.group(1)) if given else None)
    for length in whole.commits[:-1]:
        resumed = resume_prefix(whole, length, outcomes)
        assert resumed.log[:length] == whole.log[:length], length
        assert resumed.status == whole.status, length
        if whole.status == "failed":  # what still ran beside the failure was not to be started again
            assert resumed.execution.failure == whole.execution.failure, length
            continue
        assert ends_of(resumed) == ends_of(whole), length
        assert resumed.execution.ctx == whole.execution.ctx, length
