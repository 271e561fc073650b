"""The facts that are known at one place of a run, and how later choices depend on earlier ones."""

from contextlib import suppress

from noetl_ir.expr import Json
from noetl_ir.plan import Reducer
from noetl_ir.records import NamedTuple
from noetl_ir.reducing import Unfit, reduced_value
from noetlc.analysis.outcomes import LoopEnds
from noetlc.analysis.trials import TrialPath


class WalkState(NamedTuple):
    """The facts that the walk knows at one place of the run.

    `values` are the values that were chosen, by path, `absent` the paths that were chosen to have none. `behind` are
    the paths that values written by rules depend on. `last` has the number of the latest outcome of each step that
    gives a result, `shown` that of any, `results` that of its latest success; `failed` are the steps whose latest
    outcome was a failure. `outcomes` counts the outcomes so far. Tasks made by lowering give no result. `ended` has the
    ends of the iterations of each step's latest loop, `lists` those of its latest loop that ended well, `broken` the
    numbers of the outcomes that failed some, by their indexes. `said` has what a rule says of an outcome that it fails.
    """

    values: dict[TrialPath, Json]
    absent: frozenset[TrialPath]
    ctx: dict[str, Json]
    iters: dict[int, dict[str, Json]]
    last: dict[int, int]
    results: dict[int, int]
    failed: frozenset[int]
    outcomes: int
    ended: dict[int, LoopEnds]
    lists: dict[int, LoopEnds]
    shown: dict[int, int]
    broken: dict[int, dict[int, int]]
    said: dict[int, dict[str, Json]]
    behind: frozenset[TrialPath] = frozenset()


NOTHING = WalkState({}, frozenset(), {}, {}, {}, {}, frozenset(), 0, {}, {}, {}, {}, {})
"""The facts at the beginning: none."""


def depends_on(guilty: frozenset[TrialPath], before: WalkState, after: WalkState, at: int) -> bool:
    """Whether something guilty was decided between two states: by a value, its absence, or the choice of a rule."""
    # The choice of a rule decides what is written, also where it chose no value.
    if ("rule", at) in guilty:
        return True
    fresh = [path for path in after.values if path not in before.values]
    fresh += [path for path in after.absent if path not in before.absent]
    return any(related_paths(path, other) for path in fresh for other in guilty)


def related_paths(one: TrialPath, other: TrialPath) -> bool:
    """Whether one path is the other, or lies above or below it."""
    return one[: len(other)] == other or other[: len(one)] == one


def is_chosen(path: TrialPath, state: WalkState) -> bool:
    """Whether a choice was made already for a path, for one above it or for one below it."""
    return any(related_paths(path, other) for other in (*state.values, *state.absent))


def with_failure(state: WalkState, step: int, index: int) -> WalkState:
    """The state in which the latest outcome of an iteration has failed it."""
    ends = state.ended.get(step, ())
    number = ends[index] if 0 <= index < len(ends) else None
    broken = {**state.broken.get(step, {}), index: state.shown.get(step, -1) if number in (None, -1) else number}
    return with_end(state, step, index, None)._replace(broken={**state.broken, step: broken})


def with_end(state: WalkState, step: int, index: int, end: int | None) -> WalkState:
    """The state with how an iteration ends, as far as it is known."""
    ends = list(state.ended.get(step, ()))
    if 0 <= index < len(ends):
        ends[index] = end
    return state._replace(ended={**state.ended, step: tuple(ends)})


def reduce_key(ctx: dict[str, Json], before: dict[str, Json], reducer: Reducer) -> None:
    """Apply what a rule contributes to a reduced key, as if no other step contributed at the same time."""
    if reducer.key in ctx and reducer.key in before and ctx[reducer.key] is not before[reducer.key]:
        with suppress(Unfit):
            ctx[reducer.key] = reduced_value(reducer.reduce, before[reducer.key], ctx[reducer.key])
