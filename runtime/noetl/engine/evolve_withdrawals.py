"""Folding what is withdrawn: runs that another step cancels, and tokens that have not started one (EXTENSIONS.md §3).

A run that is stopped where it stands, whatever the cause is, is ended by `end_run`.
"""

from noetl.engine.contributions import settle
from noetl.engine.evolve_compensation import remember
from noetl.engine.evolve_locks import ask_longest, leave_gate
from noetl.engine.evolve_loops import call_off, unpark
from noetl.engine.execution import Execution
from noetl.engine.lines import Line, merged_lines
from noetl.engine.marking import IllegalFiring
from noetl.engine.program import Program
from noetl_ir.events import Event


def step_cancelled(program: Program, execution: Execution, event: Event) -> None:
    """A run is over that routes nothing and has no result; what it wrote stays."""
    line = execution.runs[event.run].line
    end_run(program, execution, event.run)
    _join_line(execution, event, line)


def token_withdrawn(program: Program, execution: Execution, event: Event) -> None:
    """A token is gone that waited, flew or was about to be routed."""
    run, arrival = execution.runs.get(event.run), execution.arrivals.get(event.run)
    found = run or arrival
    if found is None and event.run not in execution.left:
        raise IllegalFiring(f"no token `{event.run}` is there to be withdrawn")
    end_run(program, execution, event.run)
    if found is not None:
        _join_line(execution, event, found.line)


def end_run(program: Program, execution: Execution, run: str) -> None:
    """Nothing of a run, or of a token that has none yet, is wanted any more: its pipelines, loops, waits, timers and
    children, also those of iterations.
    """
    execution.arrivals.pop(run, None)
    # Who came behind it, and needs one of its locks, waits for it no longer.
    ask_longest(execution, leave_gate(program, execution, run))
    inside = f"{run}/"
    for key in [key for key in execution.regions if key == run or key.startswith(inside)]:
        region = execution.regions.pop(key)
        remember(program, execution, key, region, "stopped")
        call_off(execution, key, region)
        if region.phase == "run":
            execution.withdrawn.append((key, region.claim))
        unpark(execution, key)
    execution.runs.pop(run, None)
    execution.left.pop(run, None)
    # What was contributed stays, as after any other end of a loop; sorted, so that every process does it alike.
    for key in sorted([key for key in execution.contributions if key == run or key.startswith(inside)], key=len):
        settle(program, execution, key)
    for key in [key for key in execution.loops if key == run or key.startswith(inside)]:
        del execution.loops[key]
    for name in list(execution.timers):
        owner = name.partition(" ")[2].partition(" ")[0]
        if owner == run or owner.startswith(inside):
            del execution.timers[name]


def _join_line(execution: Execution, event: Event, line: Line) -> None:
    """The line of what was withdrawn goes on as that of the run which began (EXTENSIONS.md §2)."""
    beginning = execution.runs[str(event.data["by"])]
    execution.line = merged_lines(execution.line, [line], beginning.line)
