"""The names that task fields and rules see on the worker (`noetl_ir.scopes`, LANGUAGE §2)."""

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

from noetl.engine.program import Program
from noetl.engine.views import reference_of
from noetl_ir.events import iso_of
from noetl_ir.expr import Json
from noetl_ir.orders import RunPipeline
from noetl_ir.outcome import LoopValue
from noetl_ir.plan import Task
from noetl_ir.projections import entries_of, holds_references, without_projections
from noetl_ir.scopes.play import PlayScope
from noetl_ir.scopes.values import LoopResult, Reference

Follow = Callable[[Json], "Json | Reference"]


class SessionNames(Protocol):
    """The session as far as names reach into it."""

    order: RunPipeline
    attempt_number: int
    ctx: dict[str, Json]
    iter: dict[str, Json]
    prev: Json
    task_results: dict[str, Json]

    @property
    def args(self) -> dict[str, Json]: ...
    @property
    def action_id(self) -> str: ...
    @property
    def row(self) -> Task: ...


class WorkerResults(Mapping[str, object]):
    """Step results as the order carried them; a stored one is fetched only when something reads it."""

    __slots__ = ("_follow", "_results")

    def __init__(self, results: Mapping[str, object], follow: Follow) -> None:
        self._results = results
        self._follow = follow

    def __getitem__(self, name: str) -> object:
        result = self._results[name]
        if isinstance(result, LoopValue):
            return LoopResult([self._entry(entry, result.levels) for entry in result.entries], result.stats)
        return self._follow(result)  # type: ignore[arg-type]

    def _entry(self, entry: Json, levels: int) -> "Json | Reference":
        """An entry of a loop; that of loops inside each other is a list, which may hold stored ones."""
        if levels == 1 or not isinstance(entry, list):
            return self._follow(entry)
        if not holds_references(entry, levels - 1):
            return entry
        return Reference(without_projections(entry), lambda: entries_of(entry, levels - 1, self._fetch))

    def _fetch(self, reference: dict[str, Json]) -> Json:
        found = self._follow(reference)
        return found.fetch() if isinstance(found, Reference) else found

    def __iter__(self) -> Iterator[str]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)


NO_NAMES = PlayScope({})
"""Where there is no expression to ask."""


def field_scope(program: Program, at: SessionNames, follow: Follow, now: int, keychain: object) -> PlayScope:
    """For task fields: `keychain` holds markers, which rendering replaces."""
    return _scope(program, at, follow, now, {"keychain": keychain})


def rule_scope(program: Program, at: SessionNames, follow: Follow, now: int, outcome: dict[str, Json]) -> PlayScope:
    """For rules, delays and patches: the outcome, and the seconds since this run or iteration began."""
    elapsed = (now - at.order.began) / 1_000_000
    return _scope(program, at, follow, now, {"outcome": outcome, "_elapsed": elapsed})


def _scope(program: Program, at: SessionNames, follow: Follow, now: int, reserved: dict[str, object]) -> PlayScope:
    order = at.order
    values: dict[str, object] = {
        **reserved,
        "args": at.args,
        "ctx": at.ctx,
        "iter": at.iter,
        "workload": order.workload,
        "execution_id": order.execution_id,
        "action_id": at.action_id,
        "_prev": follow(at.prev),
        "_task": at.row.name,
        "_attempt": at.attempt_number,
        # One time for all expressions of an attempt, that of its event: no two fields disagree on it.
        "now": lambda: iso_of(now),
        "ref": reference_of,
    }
    levels = len(program.plan.steps[order.step].loops)
    return PlayScope(
        values,
        results=WorkerResults(order.results, follow),
        tasks=WorkerResults(at.task_results, follow),
        iterators=program.iterators(order.step, levels),
    )
