"""Spans of a log: however many iterations of a loop are open, each is found at once."""

from time import process_time

from harness.pace import allowed
from harness.running import HEAD, run
from noetl.app.tracing.spans import TraceReader

LOOP = f"""{HEAD}
workflow:
  - step: start
    loop: {{in: [1], iterator: one, spec: {{mode: parallel}}}}
    tool: {{name: item, kind: python, code: "result = 1"}}
"""
MANY = 6_000


def test_iterations_that_are_open_at_once_cost_each_other_nothing() -> None:
    ran = run(LOOP, "outcomes: [{takes: 1}]")
    started, done = ran.of("task.started"), ran.of("task.done")
    assert len(started) == len(done) == 1
    before, behind = ran.log[: ran.log.index(started[0])], ran.log[ran.log.index(done[0]) + 1 :]
    runs = [started[0].run.replace("/0", f"/{number}") for number in range(MANY)]
    log = [*before, *(each._replace(run=run) for each in (started[0], done[0]) for run in runs), *behind]
    began = process_time()
    spans = [*TraceReader(ran.program, "e1", lambda name: None).read(log)]
    took = process_time() - began
    assert len(spans) == 2 + 2 * MANY, "the execution, its step, and of each iteration a task and an attempt"
    assert len({span.span_id for span in spans}) == len(spans)
    assert took < allowed(0.3)
