"""The items of a step's loops: how each iteration stands and what it came to, read off the log of an execution.

A list has a row for each item, with its values cut short; a value that somebody opens is looked up in the log. So a
loop of many items with large results costs a list no more than a loop of as many numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from noetl.app.error_places import located
from noetl.app.frames import shortened_value
from noetl.app.kept_folds import KeptFolds
from noetl.app.runtime import Runtime
from noetl.app.snapshots import Snapshot, UnreadableExecution, check_step, events_of, fetched, fold, program_of
from noetl.engine.execution import Execution
from noetl.engine.program import Program
from noetl.engine.views import plain_result
from noetl.ports import ExecutionRow
from noetl_ir import codec
from noetl_ir.events import Event, index_of, is_of_unbegun_item, step_run_of
from noetl_ir.expr import Json
from noetl_ir.outcome import LoopValue, is_reference

STATES = ("idle", "running", "waiting", "done", "failed", "skipped", "cancelled")
"""How an item stands: not begun, begun, begun and waiting for something, and how it ended. `cancelled` is one that was
cut off by the end of its step or of the execution.
"""

MOST = 50_000
"""Items of an execution that are listed: those that come later are only counted."""
_KEPT = 4


@dataclass(slots=True)
class _Item:
    """A row: the key of the iteration, how it stands, the highest attempt at one of its tasks, its times in ms, and
    the rest as bytes, which take a tenth of what mappings do.
    """

    key: str
    state: str
    attempts: int
    began: int | None
    ended: int | None
    value: bytes
    result: bytes = b""
    error: bytes = b""


class LoopItems:
    """The items of all loops of an execution, as far as its log was read."""

    def __init__(self, program: Program, execution_id: str) -> None:
        self.execution = Execution(execution_id, program)
        self.left_out = 0
        self._program = program
        self._count = 0
        self._steps: dict[int, list[_Item]] = {}
        self._open: dict[str, _Item] = {}

    def read(self, event: Event) -> None:
        """Read the next event. Raises UnreadableExecution."""
        # What an iteration came to is gone from the state once its end is folded in.
        came_to = _result_of(self.execution, event)
        fold(self._program, self.execution, ((0, event),))
        at, item = event.ts // 1000, self._open.get(event.run)
        match event.event_type:
            case "loop.started":
                items = event.data["items"]
                for number, value in enumerate(items if isinstance(items, list) else ()):
                    self._add_item(event, number, value)
            case "loop.item.added":
                self._add_item(event, int(str(event.data["index"])), event.data["item"])
            case "loop.iteration.skipped" if is_of_unbegun_item(event):
                self._end(f"{event.run}/{event.data['index']}", "skipped", at)
            case "loop.iteration.started" if item is not None:
                item.state, item.began = "running", at
            case "loop.iteration.done":
                self._end(event.run, "done", at, result=came_to)
            case "loop.iteration.failed" | "loop.iteration.skipped":
                state = event.event_type.rpartition(".")[2]
                self._end(event.run, state, at, error=located(self._program, event.data.get("error")))
            case "step.failed" | "step.cancelled" if self._program.plan.steps[event.step].loops:
                self._cut(f"{event.run}/", at)
            case "playbook.rerun":
                # Nothing ran between what it kept and its own beginning.
                for each in self._open.values():
                    each.began = None if each.began is None else each.began + int(str(event.data["shift"])) // 1000
            case "workflow.finished":
                self._cut("", at)
            case _ if item is not None and event.task >= 0:
                item.attempts = max(item.attempts, event.attempt or 1)
                region = self.execution.regions.get(event.run)
                if region is not None:
                    item.state = "waiting" if region.phase in ("parked", "due") else "running"

    def counts(self, step: int) -> Counter[str]:
        """How many items of a step stand how."""
        return Counter(item.state for item in self._steps.get(step, ()))

    def rows(self, step: int, after: int, state: str) -> Iterator[tuple[int, dict[str, Json]]]:
        """The items of a step behind a number, those of one state if one is given, with their numbers from 1."""
        for number, item in enumerate(self._steps.get(step, [])[after:], after + 1):
            if not state or item.state == state:
                yield number, _document(number, item)

    def _add_item(self, event: Event, index: int, value: Json) -> None:
        if self._count >= MOST:
            self.left_out += 1
            return
        self._count += 1
        item = _Item(f"{event.run}/{index}", "idle", 0, None, None, shortened_value(value).encode())
        self._steps.setdefault(event.step, []).append(item)
        self._open[item.key] = item

    def _end(self, key: str, state: str, at: int, *, result: Json = None, error: Json = None) -> None:
        item = self._open.pop(key, None)
        if item is None:
            return
        item.state, item.ended = state, at
        if state == "done":
            item.result = _shown(result).encode()
        if error is not None:
            item.error = codec.pack_unsorted(error)

    def _cut(self, lead: str, at: int) -> None:
        """Cut off what has begun below a key and has not ended; what has not begun never will."""
        for key in [key for key in self._open if key.startswith(lead)]:
            item = self._open.pop(key)
            if item.began is not None:
                item.state, item.ended = "cancelled", at


def _result_of(execution: Execution, event: Event) -> Json:
    """The result of an iteration that an event ends well, before the event is folded in."""
    region = execution.regions.get(event.run) if event.event_type == "loop.iteration.done" else None
    return plain_result(region.result) if region is not None else None


def _shown(value: Json) -> str:
    if isinstance(value, dict) and is_reference(value):
        return f"{value.get('size')} bytes, stored outside of the log"
    return shortened_value(value)


def _document(number: int, item: _Item) -> dict[str, Json]:
    """A row as the API says it. `item` and `result` are JSON, cut where it is long."""
    index: list[Json] = [*index_of(item.key)]
    return {
        "number": number, "run": step_run_of(item.key), "index": index, "state": item.state,
        "attempts": item.attempts, "began": item.began, "ended": item.ended, "item": item.value.decode(),
        "result": item.result.decode() or None,
        "error": codec.unpack_trusted(memoryview(item.error)) if item.error else None,
    }  # fmt: skip


class ItemLists:
    """The items of executions that were looked at last, each list read on where it was left. From any thread."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._kept: KeptFolds[LoopItems] = KeptFolds(_KEPT)

    def page(
        self, row: ExecutionRow, step: str, state: str, page: tuple[int, int], position: int | None = None
    ) -> dict[str, Json]:
        """A page of the items of a step's loops, how many stand how, and how many are not listed (`left_out`). A page
        is the number behind which it begins, and its rows; with a position, as they stood behind the event there.

        Raises UnreadableExecution.
        """
        name = row.execution_id
        program = program_of(self._runtime, name)
        check_step(program, step)
        number = program.step_numbers[step]

        def read_on(items: LoopItems) -> None:
            for _, event in events_of(self._runtime, name, items.execution.position):
                items.read(event)

        if position is not None:
            before = LoopItems(program, name)
            for _, event in islice(events_of(self._runtime, name), position):
                before.read(event)
            return _page(before, number, state, page)
        with self._kept.at(name, program.digest, lambda: LoopItems(program, name), read_on) as items:
            return _page(items, number, state, page)


def _page(items: LoopItems, step: int, state: str, page: tuple[int, int]) -> dict[str, Json]:
    counts, (after, limit) = items.counts(step), page
    found = [*islice(items.rows(step, after, state), limit)]
    rows: list[Json] = [document for _, document in found]
    counted: dict[str, Json] = {word: counts[word] for word in STATES if counts[word]}
    behind = found[-1][0] if len(found) == limit else None
    return {"items": rows, "counts": counted, "left_out": items.left_out, "next": behind}


_ENDS = frozenset({"loop.iteration.done", "loop.iteration.failed", "loop.iteration.skipped"})


def whole_item(runtime: Runtime, row: ExecutionRow, step: str, key: str) -> dict[str, Json]:
    """One item of a loop and what its iteration came to, whole; `result` is null where it did not end well.

    Raises UnreadableExecution.
    """
    program = program_of(runtime, row.execution_id)
    check_step(program, step)
    execution = Execution(row.execution_id, program)
    loop, _, index = key.rpartition("/")
    value: Json = None
    is_there, result = False, None
    for position, event in events_of(runtime, row.execution_id):
        if program.plan.steps[max(event.step, 0)].name == step and event.run in (key, loop):
            items = event.data.get("items")
            if event.event_type == "loop.started" and isinstance(items, list) and index.isdigit():
                is_there = int(index) < len(items)
                value = items[int(index)] if is_there else None
            elif event.event_type == "loop.item.added" and str(event.data["index"]) == index:
                is_there, value = True, event.data["item"]
            elif event.event_type in _ENDS and event.run == key:
                result = _result_of(execution, event)
                break
        fold(program, execution, ((position, event),))
    if not is_there:
        raise UnreadableExecution(f"step `{step}` has no item `{key}`")
    snapshot = Snapshot(row, program, execution)
    # That of an item of an outer loop is the list of the inner one.
    levels = len(program.plan.steps[program.step_numbers[step]].loops) - len(index_of(key))
    whole = LoopValue(result, {}, levels) if levels and isinstance(result, list) else result
    return {"item": value, "result": fetched(runtime, snapshot, whole)}
