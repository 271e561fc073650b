"""The names that expressions of the server see, by place (`noetl_ir.scopes`, LANGUAGE §2)."""

from collections.abc import Callable, Iterator, Mapping

from noetl.engine.execution import Execution, LoopRun
from noetl.engine.program import Program
from noetl.engine.turn import Turn
from noetl.engine.views import reference_of, server_args, server_result, terminal_event
from noetl_ir.events import iso_of
from noetl_ir.expr import Json
from noetl_ir.scopes.play import PlayScope
from noetl_ir.scopes.values import ResultView


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


def workload_scope(turn: Turn, merged: dict[str, Json], env: dict[str, Json] | None) -> PlayScope:
    """For `workload` values at start: the keys that are settled already, and the environment where it is asked for."""
    values = {"workload": merged, "execution_id": turn.execution.execution_id, "now": _now(turn)}
    return PlayScope(values if env is None else {**values, "env": env})


def keychain_scope(execution_id: str, workload: dict[str, Json], keychain: ResultView) -> PlayScope:
    """For the fields of a declared keychain entry; `keychain` gives the other entries."""
    return PlayScope({"workload": workload, "execution_id": execution_id, "keychain": keychain})


def admit_scope(turn: Turn, step: int, key: str) -> PlayScope:
    """For admission rules and the step's timeout: the token's args, and the event that brought it."""
    arrival = turn.execution.arrivals[key]
    return _scope(turn, {"event": arrival.event, "args": server_args(turn.program, step, arrival.args)})


def items_scope(turn: Turn, step: int, level: int, key: str) -> PlayScope:
    """For `loop.in` and `max_in_flight`: in a nested loop the outer `iter` too."""
    execution = turn.execution
    values: dict[str, object] = {"args": server_args(turn.program, step, execution.run_of(key).args)}
    if not level:
        if execution.iter_parent is not None:
            values["iter"] = {"parent": execution.iter_parent}
        return _scope(turn, values)
    region = execution.regions[key]
    values["iter"] = region.iter
    return _scope(turn, values, turn.program.iterators(step, level))


def enough_scope(turn: Turn, loop: LoopRun, key: str) -> PlayScope:
    """For what is enough of a loop: how many of its iterations ended how, and what stays as it is while it runs."""
    ok, failed = loop.ended["ok"], loop.ended["failed"]
    execution = turn.execution
    values: dict[str, object] = {
        "event": {"total": len(loop.items), "ok": ok, "failed": failed, "done": ok + failed},
        "args": server_args(turn.program, loop.step, execution.run_of(key).args),
        "workload": execution.workload,
        "execution_id": execution.execution_id,
    }
    if loop.outer is not None:
        values["iter"] = loop.outer if loop.level else {"parent": loop.outer}
    return PlayScope(values, iterators=turn.program.iterators(loop.step, loop.level))


def arc_scope(turn: Turn, key: str) -> PlayScope:
    """For guards, args and delays of arcs: the terminal event and `iter` as it stood at the end of the run."""
    run = turn.execution.runs[key]
    event = terminal_event(turn.program, turn.execution, key, run)
    return _scope(turn, {"event": event, "args": server_args(turn.program, run.step, run.args), "iter": run.iter})


def result_scope(turn: Turn) -> PlayScope:
    """For the result that a playbook declares: there is no run, token or event that it is asked about."""
    return _scope(turn, {})


def _scope(turn: Turn, values: dict[str, object], iterators: tuple[str, ...] = ()) -> PlayScope:
    execution = turn.execution
    known: dict[str, object] = {
        "ctx": execution.ctx,
        "workload": execution.workload,
        "execution_id": execution.execution_id,
        "now": _now(turn),
        "ref": reference_of,
        **values,
    }
    return PlayScope(known, results=ServerResults(turn.program, execution), iterators=iterators)


def _now(turn: Turn) -> Callable[[], str]:
    moment = turn.now
    return lambda: iso_of(moment)
