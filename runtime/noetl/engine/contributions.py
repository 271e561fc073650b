"""Contributions to reduced keys of `ctx` (EXTENSIONS §4): those that count at once, and those that wait for a loop.

Law: a contribution counts once its event is on disk, whatever becomes of its run. In a parallel loop those whose order
matters wait until the outermost parallel loop run, or main, is over in any way, and are applied by index path, then in
the order of the log: so the value does not depend on which iteration was the fastest.
"""

from collections.abc import Mapping

from noetl.engine.execution import Execution, JsonObject, WaitingContributions
from noetl.engine.program import Program
from noetl_ir.expr import Json
from noetl_ir.reducing import CODE, ORDERED, Unfit, fault_of, reduced_value


def fault_in(program: Program, view: Mapping[str, Json], patch: Mapping[str, Json]) -> dict[str, Json] | None:
    """The fault of a patch that contributes what a reducer cannot put to the values of a `view`; None for none."""
    for key, value in patch.items():
        reducer = program.reducers.get(key)
        if reducer is None:
            continue
        try:
            # Reducers whose order matters build lists and the like, which would be copied only to see whether they fit.
            # So only the others (numbers, texts) are tried against the value that is there.
            why = fault_of(reducer, value)
            if not why and reducer not in ORDERED:
                reduced_value(reducer, view.get(key), value)
        except Unfit as unfit:
            why = str(unfit)
        if why:
            return {"code": CODE, "message": f"`set_ctx.{key}`: {why}", "key": key}
    return None


def patched(program: Program, view: JsonObject, patch: JsonObject) -> JsonObject:
    """The view that a run has of `ctx`, with a patch of its own; raises Unfit."""
    if program.reducers:
        patch = {key: _reduced(program, view, key, value) for key, value in patch.items()}
    return {**view, **patch}


def contributed(program: Program, execution: Execution, run: str, patch: JsonObject) -> JsonObject:
    """The values that a patch makes global now; the rest waits for the end of its loop. Raises Unfit."""
    now: JsonObject = {}
    later: JsonObject = {}
    loop = _outermost_parallel(execution, run)
    for key, value in patch.items():
        if loop and program.reducers.get(key) in ORDERED:
            later[key] = value
        else:
            now[key] = _reduced(program, execution.ctx, key, value)
    if later:
        path = tuple([int(index) for index in run[len(loop) + 1 :].split("/")])
        execution.contributions.setdefault(loop, []).append(WaitingContributions(path, later))
    return now


def settle(program: Program, execution: Execution, loop: str) -> None:
    """A loop run is over in some way: what waited for that becomes part of the values."""
    waiting = execution.contributions.pop(loop, None)
    if waiting is None:
        return
    ctx = execution.ctx
    # Stable: of one iteration they stay in the order of the log.
    for _, patch in sorted(waiting, key=lambda row: row.path):
        ctx = patched(program, ctx, patch)
    execution.ctx = ctx
    # A gate that waits asks again, since its answer may be another one.
    execution.agenda.extend((place, key) for key, place in execution.waiting.items())


def settle_all(program: Program, execution: Execution) -> None:
    """Main is over: nothing waits any more."""
    # In an order that every process has: that of the runs.
    for loop in sorted(execution.contributions, key=lambda key: [int(part) for part in key.split("/")]):
        settle(program, execution, loop)


def _outermost_parallel(execution: Execution, run: str) -> str:
    """The key of the outermost parallel loop run that a run iterates in, empty for none."""
    at = run.find("/")
    while at >= 0:
        loop = execution.loops.get(run[:at])
        if loop is not None and loop.parallel:
            return run[:at]
        at = run.find("/", at + 1)
    return ""


def _reduced(program: Program, view: JsonObject, key: str, value: Json) -> Json:
    reducer = program.reducers.get(key)
    return value if reducer is None else reduced_value(reducer, view.get(key), value)
