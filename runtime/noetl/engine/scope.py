"""The names that expressions of the server see, by place (`noetl_ir.scopes`, LANGUAGE §2)."""

from collections.abc import Iterator, Mapping

from noetl.engine.execution import Execution
from noetl.engine.program import Program
from noetl.engine.turn import Turn
from noetl.engine.views import server_result, terminal_event
from noetl_ir.expr import Json
from noetl_ir.scopes import PlayScope


class ServerResults(Mapping[str, object]):
    """Step results by step name, made visible when they are asked for."""

    __slots__ = ("_execution", "_program")

    def __init__(self, program: Program, execution: Execution) -> None:
        self._program = program
        self._execution = execution

    def __getitem__(self, name: str) -> object:
        return server_result(self._execution.results[self._program.step_numbers[name]])

    def __contains__(self, name: object) -> bool:
        number = self._program.step_numbers.get(name, -1) if isinstance(name, str) else -1
        return number in self._execution.results

    def __iter__(self) -> Iterator[str]:
        return (self._program.plan.steps[number].name for number in self._execution.results)

    def __len__(self) -> int:
        return len(self._execution.results)


def workload_scope(turn: Turn, merged: dict[str, Json]) -> PlayScope:
    """For `workload` values at start: the keys that are settled already."""
    return _scope(turn, {"workload": merged}, args={}, iteration=None, workload=merged)


def admit_scope(turn: Turn, key: str) -> PlayScope:
    """For admission rules and the step's timeout: the token's args, and the event that brought it."""
    arrival = turn.execution.arrivals[key]
    return _scope(turn, {"event": arrival.event}, args=arrival.args, iteration=None)


def items_scope(turn: Turn, step: int, level: int, key: str) -> PlayScope:
    """For `loop.in` and `max_in_flight`: in a nested loop the outer `iter` too."""
    execution = turn.execution
    run = execution.runs[key.split("/", 1)[0]]
    arrived: dict[str, Json] = {}
    if not level:
        return _scope(turn, arrived, args=run.args, iteration=execution.iter_parent and {"parent": execution.iter_parent})
    region = execution.regions[key]
    iterator = turn.program.plan.steps[step].loops[level - 1].iterator
    return _scope(turn, arrived, args=run.args, iteration=region.iter, iterator=iterator, ctx=region.ctx)


def arc_scope(turn: Turn, key: str) -> PlayScope:
    """For guards, args and delays of arcs: the terminal event and `iter` as it stood at the end of the run."""
    run = turn.execution.runs[key]
    event = terminal_event(turn.program, turn.execution, key, run)
    return _scope(turn, {"event": event}, args=run.args, iteration=run.iter)


def _scope(
    turn: Turn,
    reserved: dict[str, Json],
    *,
    args: dict[str, Json],
    iteration: dict[str, Json] | None,
    iterator: str = "",
    ctx: dict[str, Json] | None = None,
    workload: dict[str, Json] | None = None,
) -> PlayScope:
    execution = turn.execution
    return PlayScope(
        {**reserved, "execution_id": execution.execution_id},
        iterator=iterator,
        args=args,
        ctx=execution.ctx if ctx is None else ctx,
        iteration=iteration,
        workload=execution.workload if workload is None else workload,
        results=ServerResults(turn.program, execution),
        now=turn.now,
    )
