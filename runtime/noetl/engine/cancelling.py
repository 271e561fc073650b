"""Runs and tokens that the start of another step's run withdraws (EXTENSIONS.md §3, `cancels`).

The firing of `step.scheduled` empties the places of the cancelled steps. The events behind it, in the same turn, say
what was in them: `step.cancelled` of each run that had not ended, `token.withdrawn` of each token that had not started
one or was not routed yet. What they folded is gone: reports of their claims are refused, and their tools are stopped
once the events are on disk.
"""

from noetl.engine.locking import follow_sections, give
from noetl.engine.turn import Turn
from noetl_ir.events import step_run_of
from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple


class ReachedRuns(NamedTuple):
    """The keys of runs, of tokens, and of the runs among them that have ended and were not routed, each with its step,
    in the order in which they came.
    """

    runs: tuple[tuple[str, int], ...] = ()
    tokens: tuple[tuple[str, int], ...] = ()
    ended: frozenset[str] = frozenset()


NOTHING = ReachedRuns()


def cancelled_by(turn: Turn, admit: int, own: str) -> ReachedRuns:
    """The runs and tokens in the reset set of an admission, but for the token that is admitted."""
    reset = turn.program.resets.get(admit)
    if reset is None:
        return NOTHING
    execution, places = turn.execution, turn.program.columns.places
    steps: dict[str, int] = {}
    ended: set[str] = set()
    for place in reset.places:
        step = places.steps[place]
        over = places.roles[place] in ("done", "failed") and places.levels[place] <= 0
        for key in execution.marking.keys(place):
            steps[step_run_of(key)] = step
            if over:
                ended.add(key)
    steps.pop(own, None)
    for key in list(steps):
        timer = execution.timers.get(f"land {key}")
        if timer is not None:  # it flies to another step than the one whose place it lies in
            steps[key] = turn.program.plan.arcs[timer.place].target
    runs = tuple([(key, run.step) for key, run in execution.runs.items() if key in steps])
    # Iterations that their step has left behind are its runs, too, and the token of that run has gone on.
    left = [(key, run.step) for key, run in execution.left.items() if key in steps and key not in execution.runs]
    tokens = (*left, *[(key, steps[key]) for key in execution.arrivals if key in steps and key not in execution.runs])
    return ReachedRuns(runs, tokens, frozenset(ended))


def withdraw(turn: Turn, reached: ReachedRuns, by: str) -> None:
    """Record what the start of the run `by` has withdrawn."""
    data: dict[str, Json] = {"by": by}
    for key, step in reached.runs:
        # A run that has ended has its terminal event: only its token is withdrawn, before its router was asked.
        turn.emit("token.withdrawn" if key in reached.ended else "step.cancelled", step=step, run=key, data=data)
    for key, step in reached.tokens:
        turn.emit("token.withdrawn", step=step, run=key, data=data)
    for key, _ in (*reached.runs, *reached.tokens):
        give(turn, key)
    if turn.execution.sections:
        follow_sections(turn)
