"""Folding what is to be compensated: the runs that are remembered, and the compensation of one after the other.

What is remembered is data, and no place of the net: the region of a compensation runs once for each run, newest first,
and begins each time with its one token (EXTENSIONS.md §1). The event that starts the compensation of a run forgets it.
"""

from noetl.engine.event_data import mapping_of
from noetl.engine.execution import Execution, JsonObject, Region, Remembered
from noetl.engine.marking import IllegalFiring
from noetl.engine.program import Program
from noetl_ir.expr import Json
from noetl_ir.projections import told
from noetl_ir.words import MAIN


def remember(program: Program, execution: Execution, key: str, region: Region | None, status: str) -> None:
    """Remember a run or iteration that has ended `done`, `failed` or `stopped`, where it is to be compensated."""
    if not program.plan.compensations or execution.phase != MAIN or region is None or execution.main:
        return
    found = _memory(program, execution, key, region, status)
    if found is not None:
        execution.remembered.append(found)


def memories(program: Program, execution: Execution) -> list[Remembered]:
    """The runs that are remembered, oldest first, with those that the end of main cuts short."""
    if not program.plan.compensations or execution.main:
        return execution.remembered
    cut = [_memory(program, execution, key, region, "stopped") for key, region in execution.regions.items()]
    return [*execution.remembered, *(each for each in cut if each is not None)]


def _memory(program: Program, execution: Execution, key: str, region: Region, status: str) -> Remembered | None:
    how = program.compensations.get(region.step)
    # Of nested loops the innermost iterations do the work.
    if how is None or region.task < 0 or (status != "done" and not (how.started and region.begun)):
        return None
    run = execution.run_of(key)
    index = int(key.rpartition("/")[2]) if "/" in key else None
    result = told(region.result) if status == "done" else None
    args: dict[str, Json] = {
        "status": status, "result": result, "args": run.args, "iter": region.iter, "index": index,
    }  # fmt: skip
    return Remembered(key, region.step, args)


def started(program: Program, execution: Execution, step: int, run: str) -> JsonObject:
    """The newest run is compensated now, and forgotten; the args that its compensation is told."""
    last = execution.remembered[-1] if execution.remembered else None
    how = None if last is None else program.compensations.get(last.step)
    if last is None or how is None or execution.compensating or (last.key, how.target) != (run, step):
        raise IllegalFiring(f"run {run} is not the next to be compensated there")
    execution.remembered.pop()
    execution.compensating = run
    return last.args


def done(execution: Execution, data: JsonObject) -> None:
    """The compensation of a run is over. One that failed is recorded, and the others still run."""
    if not execution.compensating or data["run"] != execution.compensating:
        raise IllegalFiring(f"run {data['run']} is not being compensated")
    execution.compensating = ""
    told = execution.undone
    if data["status"] == "cancelled":
        told = {"status": "cancelled", "reason": data["reason"]}
    elif data["status"] != "completed" and not told:
        error = data.get("error") or {"code": data["status"], "message": data.get("reason", "")}
        told = {"status": "failed", "error": mapping_of(error)}
    # The phase ends with it: nobody undoes what is left.
    if "left" in data:
        told = {**(told or {"status": "failed"}), "left": data["left"]}
        execution.remembered = []
    execution.undone = told
