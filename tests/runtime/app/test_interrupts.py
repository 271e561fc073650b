"""A process that is told to end in the middle of an evaluation: nothing that came of cutting it short is kept."""

from pathlib import Path
from typing import Any

import pytest

from harness.running import MEMORY, Ran, compiled, resume_prefix
from noetl.app.composition import driver_of
from noetl.app.runtime import Settings, open_runtime
from noetl.engine.replay import replay
from noetl.engine.starting import Request
from noetl.worker.scripted import read_script
from noetl_ir.evaluate import work

WORKING = "range(40) | map('string') | sort | join"
"""An expression that spends at several points."""
TEXT = f"""
workload: {{n: 3}}
workflow:
  - step: start
    loop: {{in: "{{{{ ({WORKING}) | batch(30) | list }}}}", iterator: c, spec: {{mode: parallel, max_in_flight: 2}}}}
    tool:
      - name: t
        kind: noop
        result: "{{{{ {WORKING} ~ iter.c }}}}"
        spec: {{policy: {{rules: [{{when: "{{{{ ({WORKING}) == '' }}}}", then: {{do: fail}}}}, {{else: {{then:
          {{do: continue, set_ctx: {{all: "{{{{ {WORKING} }}}}"}}}}}}}}]}}}}
    next: {{arcs: [{{step: a, when: "{{{{ ({WORKING}) != '' }}}}", args: {{x: "{{{{ {WORKING} }}}}"}}}}, {{step: b}}]}}
  - {{step: a, tool: {{kind: noop, result: "{{{{ {WORKING} ~ args.x }}}}"}}}}
  - {{step: b, tool: {{kind: noop, result: wrong}}}}
"""


class Counting:
    """The meter of evaluations, which has a process told to end when it is asked for its bound for the n-th time."""

    def __init__(self, at: int) -> None:
        self.spent, self.cap, self.stopped = 0, 1 << 62, False
        self.asked, self._at, self._bound = 0, at, work.MAX_WORK
        self.told: Any = None

    @property
    def bound(self) -> int:
        """The work that an evaluation may spend."""
        self.asked += 1
        if self.asked == self._at:
            self.told.interrupt()
        return self._bound

    @bound.setter
    def bound(self, bound: int) -> None:
        self._bound = bound


def cut(monkeypatch: pytest.MonkeyPatch, at: int) -> tuple[Ran, int]:
    """A run that is told to end at the n-th look at its budget, and how often it looked."""
    meter = Counting(at)
    with monkeypatch.context() as patched, open_runtime(MEMORY, Settings(script=read_script({})), as_plan) as runtime:
        patched.setattr(work, "_METER", meter)
        program = runtime.programs.add_plan(compiled(TEXT))
        with driver_of(runtime, "e1", lambda *_: None) as driver:
            meter.told = driver.embedded
            status = driver.embedded.start(program, "e1", Request({}))
            log = [event for _, event in runtime.events("e1")]
            return Ran(status, log, driver.execution, program, [], [], []), meter.asked


def as_plan(path: Path) -> bytes:
    return compiled(path.read_text("utf-8"))


def test_nothing_is_kept_of_an_evaluation_that_was_cut_short(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, looks = cut(monkeypatch, 0)
    assert whole.status == "completed" and looks > 50
    ends = set()
    for at in range(1, looks, 7):
        ran, _ = cut(monkeypatch, at)
        ends.add(ran.status)
        assert ran.status in ("interrupted", "completed"), at
        assert replay(ran.program, "e1", ran.log).wrong is None, at
        log = [event.event_type for event in ran.log]
        assert not any("fail" in name or "fault" in name for name in log), (at, log)
        again = resume_prefix(ran, len(ran.log)) if ran.status == "interrupted" else ran
        assert again.status == "completed"
        assert again.result("a") == whole.result("a") and again.ran("b") == 0
    assert ends == {"interrupted"}
