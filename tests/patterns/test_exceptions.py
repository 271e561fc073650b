"""Exception patterns: each is the smallest playbook that shows a strategy of the published catalogue, run by script.

A pattern is `exceptions/EXCEPTION_STRATEGY.yaml`. A strategy is written as published: what becomes of the work item
(`SFF`: it has started, and is failed), of the case (`CWC`: it goes on, `RCC`: it is removed), and what recovers (`NIL`,
`COM`).
"""

from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.running import compiled, run
from noetl_ir.plan_format import read_plan
from noetlc.analysis.soundness import soundness_of
from noetlc.analysis.verdict import Status
from playbooks import linted

PATTERNS = sorted((Path(__file__).parent / "exceptions").glob("*.yaml"))


@pytest.mark.parametrize("path", PATTERNS, ids=lambda path: path.stem)
def test_an_exception_is_handled_as_it_is_published(path: Path) -> None:
    text = path.read_text("utf-8")
    asked: dict[str, Any] = yaml.safe_load(text)["x-pattern"]
    ran = run(text, yaml.safe_dump(asked["script"]), at=asked.get("at"))
    names = [ran.program.plan.steps[event.step].name for event in ran.of("step.started")]
    assert (names, ran.status, ran.log[-1].ts / 1_000_000) == (asked["runs"], asked["status"], asked["seconds"])
    assert path.stem == f"{asked['exception']} {asked['strategy']}".lower().replace(" ", "_").replace("-", "_")


@pytest.mark.parametrize("path", PATTERNS, ids=lambda path: path.stem)
def test_an_exception_pattern_is_proved_sound_and_lints_clean(path: Path) -> None:
    text = path.read_text("utf-8")
    assert {verdict.status for verdict in soundness_of(read_plan(compiled(text)))} == {Status.PROVED}
    assert linted(text) == []
