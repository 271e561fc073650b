"""Frames: the shown state of an execution behind each event of its log, for a page that moves through it in time.

A range of frames is one whole state and, for each event behind it, the values that changed. Whoever shows frames only
puts values in their places, and needs to know no event. Folding a long log anew for each step in time would be slow:
so a whole state is kept every `STRIDE` events, and any other state is the nearest one before it plus the changes since.
"""

from __future__ import annotations

import json
from itertools import islice
from typing import Any, TypeAlias

from noetl.app.ending import written_counts
from noetl.app.kept_folds import KeptFolds
from noetl.app.picture import marking_counts
from noetl.app.runtime import Runtime
from noetl.app.snapshots import events_of, fold, program_of
from noetl.engine.execution import Execution
from noetl.engine.program import Program
from noetl.ports import ExecutionRow
from noetl.server.execution import status_of
from noetl_ir import codec
from noetl_ir.events import Event
from noetl_ir.expr import Json
from noetl_ir.tallies import LogTally, arcs_of, count_event, painted, tallied_event

_Part: TypeAlias = dict[str, Json]
"""Values by name; in the changes of a frame, None marks a value that is gone."""

SHOWN = 400
"""Letters of a value of `ctx` in a frame; the whole value is at `/executions/ID/ctx`."""
STRIDE = 500
"""Events between two whole states that are kept."""
LONGEST = 200_000
"""How many events of a log have kept frames; for a range behind that, the log is folded again each time."""
_KEPT = 8


class Moving:
    """An execution that is folded event by event, and what changed with each."""

    def __init__(self, program: Program, execution_id: str) -> None:
        self.execution = Execution(execution_id, program)
        self._program = program
        self._log = LogTally()
        self._arcs = {name: f"arc {step} {position}" for name, (step, position) in arcs_of(program.plan).items()}
        self._tasks: dict[str, set[str]] = {}
        self._shown: dict[str, _Part] = {"is": {}, "steps": {}, "arcs": {}, "faults": {}, "marking": {}, "ctx": {}}
        self._ctx_shown = self.execution.ctx

    def whole(self) -> dict[str, Json]:
        """All values."""
        return {name: dict(part) for name, part in self._shown.items()}

    def move(self, event: Event) -> dict[str, Json]:
        """Fold the next event in; returns the values that changed. Raises UnreadableExecution."""
        execution, plan = self.execution, self._program.plan
        fold(self._program, execution, ((0, event),))
        tallied = tallied_event(plan, execution.execution_id, event)
        count_event(self._log, tallied)
        changes: dict[str, _Part] = {
            "is": self._standing(),
            "steps": self._steps(tallied.step, tallied.task),
            "arcs": {self._arcs[name]: self._log.fired[name] for name in tallied.fired if name in self._arcs},
            "faults": {
                f"arc {step} {arc}": why for (step, arc), why in self._log.faulty.items() if step == tallied.step
            },
            "marking": marking_counts(self._program, execution, event.fired),
            "ctx": self._ctx(),
        }
        found: dict[str, Json] = {}
        for name, part in changes.items():
            if not part:
                continue
            shown = self._shown[name]
            new = {key: value for key, value in part.items() if shown.get(key) != value}
            for key, value in new.items():
                if value is None:
                    shown.pop(key, None)
                else:
                    shown[key] = value
            if new:
                found[name] = new
        return found

    def _standing(self) -> _Part:
        execution, counts = self.execution, written_counts(self.execution)
        return {
            "status": status_of(execution),
            "tasks": counts["tasks"],
            "retries": counts["retries"],
            "phase": execution.phase,
        }

    def _steps(self, step: str | None, task: str | None) -> _Part:
        """How the step of an event is painted; at the end of the execution, all steps whose runs did not end."""
        is_over = self.execution.is_over
        names = {step} if step is not None else set()
        if step is not None and task is not None:
            self._tasks.setdefault(step, set()).add(task)
        if is_over:
            names |= {name for name, tally in self._log.steps.items() if tally.open or tally.awaited}
        found: _Part = {}
        for name in names:
            retries = sum(self._log.tasks[name, one].retries for one in self._tasks.get(name, ()))
            mark, facts = painted(self._log.steps.get(name), retries, is_over=is_over)
            # A step may have waited at its gate only, and not have run.
            if mark != "idle" or name in self._shown["steps"]:
                found[name] = [mark, *facts] if mark != "idle" else None
        return found

    def _ctx(self) -> _Part:
        ctx, shown = self.execution.ctx, self._shown["ctx"]
        # `ctx` is replaced and never changed in place, so identity tells that nothing changed. Its values may be large,
        # and most events leave it as it is.
        if ctx is self._ctx_shown:
            return {}
        self._ctx_shown = ctx
        gone = dict.fromkeys(key for key in shown if key not in ctx)
        return {**gone, **{key: shortened_value(value) for key, value in ctx.items()}}


def shortened_value(value: Json) -> str:
    """A value as JSON, cut where it is long."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def frame_of(event: Event, changes: dict[str, Json]) -> Json:
    """The frame of an event: `[time in ms since the epoch, the values that changed]`."""
    return [event.ts // 1000, changes]


class Reel:
    """The frames of an execution as far as its log was folded, and a whole state every `STRIDE` events."""

    def __init__(self, program: Program, execution_id: str) -> None:
        self.moving = Moving(program, execution_id)
        self.frames: list[bytes] = []
        self.states: list[bytes] = [_packed(self.moving.whole())]

    def read(self, event: Event) -> None:
        """Take in the next event."""
        # As bytes, which take a tenth of what the mappings do: a reel has a frame for each event of its log.
        self.frames.append(_packed(frame_of(event, self.moving.move(event))))
        if len(self.frames) % STRIDE == 0:
            self.states.append(_packed(self.moving.whole()))

    def state(self, position: int) -> dict[str, _Part]:
        """The state behind an event that was read."""
        state: dict[str, _Part] = _read(self.states[position // STRIDE])
        for packed in self.frames[position // STRIDE * STRIDE : position]:
            for name, part in _read(packed)[1].items():
                state[name] = {key: value for key, value in {**state[name], **part}.items() if value is not None}
        return state


def _packed(value: Json) -> bytes:
    """A value as a reel keeps it."""
    return codec.pack_unsorted(value)


def _read(packed: bytes) -> Any:
    """A value that a reel kept."""
    return codec.unpack_trusted(memoryview(packed))


class FrameCache:
    """The reels that were looked at last, each read on where it was left. From any thread."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._kept: KeptFolds[Reel] = KeptFolds(_KEPT)

    def frames(self, row: ExecutionRow, after: int, count: int) -> dict[str, Json]:
        """The frames of at most `count` events behind position `after`: the state there, the changes by each event, and
        in `next` the position to go on from, null where the log ends.

        Raises UnreadableExecution.
        """
        name = row.execution_id
        program = program_of(self._runtime, name)
        if after + count > LONGEST:
            state, found = self._folded(program, name, after, count)
        else:
            state, found = self._read_on(program, name, after, count)
        return {"state": state, "frames": found, "next": after + count if len(found) == count else None}

    def _read_on(self, program: Program, name: str, after: int, count: int) -> tuple[Json, list[Json]]:
        """The state and the frames of a reel."""

        def read_on(reel: Reel) -> None:
            wanted = after + count - len(reel.frames)
            for _, event in islice(events_of(self._runtime, name, len(reel.frames)), max(wanted, 0)):
                reel.read(event)

        with self._kept.at(name, program.digest, lambda: Reel(program, name), read_on) as reel:
            state: Json = dict(reel.state(min(after, len(reel.frames))))
            return state, [_read(packed) for packed in reel.frames[after : after + count]]

    def _folded(self, program: Program, name: str, after: int, count: int) -> tuple[Json, list[Json]]:
        """Frames of a log that is folded for them: nothing is kept, however long it is."""
        moving = Moving(program, name)
        events = events_of(self._runtime, name)
        for _, event in islice(events, after):
            moving.move(event)
        state: Json = moving.whole()
        return state, [frame_of(event, moving.move(event)) for _, event in islice(events, count)]
