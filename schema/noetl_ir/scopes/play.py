"""The names of a running playbook: what `noetl_ir.evaluate` asks while it evaluates an expression."""

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from noetl_ir.scopes.places import LAYERS, RESERVED
from noetl_ir.scopes.values import StepResult, Steps, Undefined, view_of
from noetl_ir.scopes.vocabulary import FUNCTIONS

_Results: TypeAlias = Mapping[str, object]
"""Step or task name → its result: JSON, a `Reference`, or a `LoopResult`. A step that has not run is not in it."""

NO_RESULTS: _Results = {}


class PlayScope:
    """One scope for one moment, in the order of resolution of `noetl_ir.scopes`. It never changes.

    `values` has what the place's reserved names mean: JSON, for `now` and `ref` a function. A reserved name that
    it lacks is undefined, whatever else is called so. `iterators` are the loops' iterators, innermost first.
    """

    __slots__ = ("_iterators", "_layers", "_results", "_tasks", "_values")

    def __init__(
        self,
        values: Mapping[str, object],
        *,
        results: _Results = NO_RESULTS,
        tasks: _Results = NO_RESULTS,
        iterators: tuple[str, ...] = (),
    ) -> None:
        self._values = values
        self._results = results
        self._tasks = tasks
        self._iterators = iterators
        # Found once: a bare name is looked up in all of them each time it is asked.
        self._layers = [layer for name in LAYERS if isinstance(layer := values.get(name), dict)]

    def with_args(self, args: Mapping[str, object]) -> "PlayScope":
        """The scope in which `args` has these over those that it has."""
        here = self._values.get("args")
        values = {**self._values, "args": {**(here if isinstance(here, dict) else {}), **args}}
        return PlayScope(values, results=self._results, tasks=self._tasks, iterators=self._iterators)

    def lookup(self, name: str) -> object:
        """The value or view that a bare name means here, for `name()` the function of that name, else `Undefined`."""
        # `now` and `ref` may be names of data too; only their call is the function.
        if name in self._values and name not in FUNCTIONS:
            value = self._values[name]
            return StepResult(value) if name == "_prev" else value  # type: ignore[arg-type]
        # Reserved and not given: undefined, even if a step or a key is called so. Were it looked up further, the
        # meaning of a reserved name would depend on the place.
        if name in RESERVED:
            return self._reserved(name)
        if name in self._iterators:
            return self._iterator(name)
        if name in self._tasks:
            return view_of(self._tasks[name])
        for layer in self._layers:
            if name in layer:
                return layer[name]
        if name in self._results:
            return view_of(self._results[name])
        # Functions are the weakest: `name()` asks for one past all data that is called so.
        return self._values.get(name.removesuffix("()"), Undefined(name))

    def names(self) -> Iterator[str]:
        """The names that are not reserved and mean something here; some more than once."""
        # For "did you mean", which takes the first of equals: in the order of the look-up.
        yield from self._iterators
        yield from self._tasks
        for layer in self._layers:
            yield from layer
        yield from self._results

    def _reserved(self, name: str) -> object:
        if name == "steps":
            return Steps(self._results)
        if name == "loop_index":
            index = self._entry(0, "index")
            return Undefined(name, "there is no loop") if index is None else index
        return Undefined(name, "it is not known here")

    def _iterator(self, name: str) -> object:
        # The innermost loop of that name, as they are listed from the inside out.
        depth = self._iterators.index(name)
        value = self._entry(depth, name)
        # An item may be null, which is a value and not the lack of one.
        return Undefined(name, "there is no such loop") if value is None and not self._has(depth, name) else value

    def _level(self, depth: int) -> dict[str, object]:
        level = self._values.get("iter")
        # The loops around are kept inside of each other (`iter.parent`), as an author reaches them, too.
        for _ in range(depth):
            level = level.get("parent") if isinstance(level, dict) else None
        return level if isinstance(level, dict) else {}

    def _entry(self, depth: int, key: str) -> object:
        return self._level(depth).get(key)

    def _has(self, depth: int, key: str) -> bool:
        return key in self._level(depth)
