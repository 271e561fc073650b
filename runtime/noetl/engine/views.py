"""How state looks to the expressions that the server evaluates: results, and the event that guards read."""

from noetl.engine.execution import Execution, JsonObject, LoopRun, Run
from noetl.engine.program import Program
from noetl_ir.expr import Json
from noetl_ir.outcome import LoopValue, is_reference, with_kind
from noetl_ir.plan import later_entries
from noetl_ir.projections import PROJECTED, GetValue, entries_of, is_told, told_value
from noetl_ir.scopes.values import LoopResult, Reference


def loop_value(loop: LoopRun, levels: int) -> LoopValue:
    """The result of the outermost loop run of a step with so many levels, once it is over."""
    # Of one that is left behind further results come, which are none of the step's.
    return LoopValue([*loop.results] if loop.open else loop.results, final_counts(loop), levels)


def counts_of(loop: LoopRun) -> JsonObject:
    """`{total ok failed skipped}`."""
    return {"total": len(loop.items), **loop.ended}


def final_counts(loop: LoopRun) -> JsonObject:
    """`{total ok failed skipped}` where no iteration counts any more: those that still run are as if skipped."""
    return {**counts_of(loop), "skipped": len(loop.items) - loop.ended["ok"] - loop.ended["failed"]}


def errors_of(loop: LoopRun) -> list[Json]:
    """The errors of failed iterations, each with its index, in index order."""
    return [{"index": index, **loop.errors[index]} for index in sorted(loop.errors)]


def plain_result(result: object) -> Json:
    """A result as data: of a loop its entries."""
    return result.entries if isinstance(result, LoopValue) else result  # type: ignore[return-value]


def server_result(result: object) -> object:
    """A result as server expressions see it: of one stored outside, the paths that the worker sent along."""
    if isinstance(result, LoopValue):
        return LoopResult([*entries_of(result.entries, result.levels, _at_hand)], result.stats)
    return _projected(result)


def _projected(value: object) -> "Json | Reference":
    # Server expressions never fetch a stored value: they may ask what the worker sent along and refuse the rest, so
    # that a decision costs the same whatever the size of a result.
    if is_reference(value) and isinstance(value, dict):
        return Reference({k: part for k, part in value.items() if k != PROJECTED}, lambda: value.get(PROJECTED))
    return value  # type: ignore[return-value]


def args_with(args: JsonObject, fetch: GetValue) -> JsonObject:
    """The args of a run, where `result` may be what another run came to, told to a phase behind main or to a
    compensation: of what of it lies outside of the log, the value that `fetch` gives for its reference.
    """
    result = args.get("result")
    return {**args, "result": told_value(result, fetch)} if is_told(result) and isinstance(result, dict) else args


def server_args(program: Program, step: int, args: JsonObject) -> JsonObject:
    """The args of a run of a step as server expressions see them."""
    # Of any other step they are data, whatever they look like.
    told = is_told(args.get("result")) and step in later_entries(program.plan)
    return args_with(args, _at_hand) if told else args


def _at_hand(reference: JsonObject) -> Json:
    return reference.get(PROJECTED)


def terminal_event(program: Program, execution: Execution, key: str, run: Run) -> JsonObject:
    """The `event` of a step run that has ended, as arcs and later admissions read it (LANGUAGE §2)."""
    row = program.plan.steps[run.step]
    failed = run.error is not None
    name = "step.failed" if failed else "loop.done" if row.loops else "step.done"
    event: JsonObject = {
        "name": name,
        "status": "error" if failed else "ok",
        "step": row.name,
        "step_run_id": key,
        "ts": run.ended,
        "result": None if failed else _event_result(run.result),
        "error": None if run.error is None else with_kind(run.error),
        "outcome": run.outcome,
    }
    if row.loops:
        event.update(run.stats)
        event["errors"] = [with_kind(error) if isinstance(error, dict) else error for error in run.errors]
    return event


def _event_result(result: object) -> Json:
    if isinstance(result, LoopValue):
        return [*entries_of(result.entries, result.levels, _at_hand)]
    plain = plain_result(result)
    return plain.get(PROJECTED) if is_reference(plain) and isinstance(plain, dict) else plain


def reference_of(value: object) -> Json:
    """The value of `ref(x)`: the reference of a result that is stored outside, of any other null."""
    if isinstance(value, Reference):
        return value.record
    return None
