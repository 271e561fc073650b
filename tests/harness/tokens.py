"""The history of each token of a run, however the tokens of different branches came to be numbered.

Tokens are numbered in the order of the log, and no token orders what happens in different branches. So a token is named
here by where it comes from: the transition that made it, and the names of the tokens which that took. Two runs of a
plan are the same when each of these names has the same history in both.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from noetl.engine.program import Program
from noetl_ir.events import Event, Firing, step_run_of

Histories = dict[tuple[str, str], list["Happened"]]


class Happened(NamedTuple):
    """An event without ids and claims, its keys as names."""

    event_type: str
    step: int
    task: int
    visit: int
    attempt: int
    time: int
    fired: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]
    data: dict[str, Any]


class Names:
    """The names of the tokens of one execution, as its firings make them."""

    def __init__(self, program: Program) -> None:
        self._net = program.plan.net
        self._names = {"1": "1"}

    def of(self, key: str) -> str:
        """The name of a key."""
        run, slash, path = key.partition("/")
        return f"{self._names.get(run, run)}{slash}{path}"

    def fire(self, firing: Firing) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
        """Name what a firing makes; the firing by names."""
        transition = self._net.transitions[firing.transition].id
        took, made = (((keys,) if isinstance(keys, str) else keys) for keys in (firing.took, firing.made))
        before = tuple(sorted(map(self.of, took)))
        runs = {step_run_of(key) for key in took if key}
        if len(runs) > 1:
            self._name(transition, before, (step_run_of(key) for key in made if key))
        else:
            self._name(transition, before, (step_run_of(key) for key in made if step_run_of(key) not in {"", *runs}))
        return transition, before, tuple(sorted(map(self.of, made)))

    def _name(self, transition: str, origin: tuple[str, ...], keys: Iterable[str]) -> None:
        for number, key in enumerate(dict.fromkeys(keys)):
            self._names[key] = f"{transition} {number} ({', '.join(filter(None, origin))})"


def histories(root: str, logs: Mapping[str, tuple[Program, list[Event]]]) -> Histories:
    """The history of each token of an execution and of those that it called, by the names of both."""
    found: Histories = {}
    names: dict[str, Names] = {}
    executions = {root: "root"}
    for execution_id in sorted(logs, key=lambda name: logs[name][1][0].data.get("depth", 0)):
        program, log = logs[execution_id]
        if execution_id != root:
            parent, key = log[0].data["parent"]
            executions[execution_id] = f"{executions[parent]}, called by {names[parent].of(key)}"
        mine = names[execution_id] = Names(program)
        for event in log:
            fired = tuple(map(mine.fire, event.fired))
            row = Happened(
                event.event_type, event.step, event.task, event.visit, event.attempt, event.ts, fired, event.data
            )
            history = found.setdefault((executions[execution_id], mine.of(event.run)), [])
            history.append(row._replace(data=_named(mine, row.data)))
    return {name: [row._replace(data=_known(executions, row.data)) for row in rows] for name, rows in found.items()}


def _named(names: Names, data: dict[str, Any]) -> dict[str, Any]:
    """Payload with names for keys, and without the number of the request that led to it and when it was kept."""
    named = {key: part for key, part in data.items() if key not in ("row", "since")}
    if "tokens" in named:
        named["tokens"] = sorted(map(names.of, named["tokens"]))
    if "arcs" in named:
        named["arcs"] = [{**arc, "key": names.of(arc["key"])} for arc in named["arcs"]]
    if "timer" in named:
        kind, _, key = named["timer"].partition(" ")
        named["timer"] = f"{kind} {names.of(key)}"
    return named


def _known(executions: Mapping[str, str], value: Any) -> Any:
    """A value with names for the ids of executions."""
    match value:
        case dict():
            return {key: _known(executions, part) for key, part in value.items()}
        case list() | tuple():
            return [_known(executions, part) for part in value]
        case str():
            return executions.get(value, value)
    return value
