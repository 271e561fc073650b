"""How an execution stands or ended, with the places in its file of what failed in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from noetl.app.error_places import located
from noetl.app.runtime import Runtime
from noetl.app.snapshots import events_of
from noetl.engine.execution import Execution
from noetl.engine.program import Program
from noetl_ir.events import iso_of
from noetl_ir.expr import Json
from noetl_ir.outcome import LoopValue, is_reference
from noetl_ir.projections import PROJECTED, data_of, entries_of
from noetl_ir.records import NamedTuple
from noetl_ir.words import MAIN

if TYPE_CHECKING:
    from noetl.app.failed_children import FailedChild


class Ending(NamedTuple):
    """The document of an execution's end. `error` of a failure, `reason` of any other end that needs one.

    `result` only of a completed execution: what a step came to before a failure is no outcome of the whole.
    `scripted`: times are those of a virtual clock. `after` is what became of each phase behind main, `phase` the one
    that runs. `unheard` are the names of signals that nothing took, with how often each came. `rerun_of` is the
    execution whose log its own begins with, `started_by` what started it where that was no person. `line` is the line
    of the source in which the error's place is, "" where it says no more than its task or step. `outside` are the bytes
    of the result that lie outside of the log, of which `result` has the references. `children` are those through whose
    failures it failed. `moves` are when it was moved to another plan, and from which.
    """

    execution_id: str
    status: str
    playbook: str
    result: Json
    error: Json
    reason: str | None
    started: int | None
    ended: int | None
    counts: dict[str, int]
    scripted: bool
    after: tuple[Json, ...] = ()
    phase: str = ""
    unheard: tuple[tuple[str, int], ...] = ()
    rerun_of: str = ""
    line: str = ""
    started_by: Mapping[str, Json] = MappingProxyType({})
    outside: int = 0
    children: tuple[FailedChild, ...] = ()
    moves: tuple[tuple[int, str], ...] = ()

    def as_json(self) -> dict[str, Json]:
        """One document; times as RFC 3339."""
        return {
            "execution_id": self.execution_id,
            "status": self.status,
            "playbook": self.playbook,
            "result": self.result,
            "error": self.error,
            "reason": self.reason,
            **({"failed_children": [child.as_json() for child in self.children]} if self.children else {}),
            "started": iso_of(self.started) if self.started is not None else None,
            "ended": iso_of(self.ended) if self.ended is not None else None,
            "counts": dict(self.counts),
            "scripted": self.scripted,
            **({"phase": self.phase} if self.phase else {}),
            **({"after": list(self.after)} if self.after else {}),
            **({"rerun_of": self.rerun_of} if self.rerun_of else {}),
            **({"moved": [{"at": iso_of(at), "from": digest} for at, digest in self.moves]} if self.moves else {}),
            **({"started_by": dict(self.started_by)} if self.started_by else {}),
            **({"unheard_signals": dict(self.unheard)} if self.unheard else {}),
        }


def ending_of(runtime: Runtime, program: Program, execution: Execution, status: str) -> Ending:
    """How an execution stands at the end of this command; a large result is its reference."""
    error, reason = execution.fault or execution.failure, None
    if execution.is_over:
        # The end is among the last two events of a log; a log of a million is not read for it.
        for _, event in events_of(runtime, execution.execution_id, max(execution.position - 2, 0)):
            if event.event_type == "workflow.finished":
                found = event.data.get("error")
                error = found if isinstance(found, dict) else error
                reason = str(event.data["reason"]) if "reason" in event.data else None
    told = located(program, error)
    result, outside = _shown_result(execution.last_result) if status == "completed" else (None, 0)
    return Ending(
        execution.execution_id,
        status,
        program.plan.path or program.plan.name,
        result,
        told,
        reason,
        None if execution.status == "new" else execution.begun_again or execution.started,
        execution.ended,
        written_counts(execution),
        execution.scripted,
        tuple([_located_row(program, row) for row in execution.after]),
        execution.phase if execution.phase != MAIN and not execution.is_over else "",
        # Before the end one may still come that takes them.
        tuple(Counter(signal.name for signal in execution.signals).items()) if execution.is_over else (),
        execution.rerun_of,
        _line_of(program, told),
        execution.started_by,
        outside,
        _children_of(runtime, execution.execution_id, error),
        tuple(execution.moves),
    )


def written_counts(execution: Execution) -> dict[str, int]:
    """The counts of an execution for people: a task that the compiler made is none that anybody wrote."""
    return {**execution.counts, "tasks": execution.counts["tasks"] - execution.made_tasks}


def _line_of(program: Program, error: Json) -> str:
    if error is None:
        return ""
    from noetl.app.failed_templates import line_of

    return line_of(program, error)


def _children_of(runtime: Runtime, execution_id: str, error: Json) -> tuple[FailedChild, ...]:
    if not isinstance(error, dict) or "cause" not in error:
        return ()
    from noetl.app.failed_children import failed_children

    return tuple(failed_children(runtime, execution_id, error))


def _located_row(program: Program, row: Json) -> Json:
    """The end of a phase, its error with its place in the file."""
    return {**row, "error": located(program, row["error"])} if isinstance(row, dict) and "error" in row else row


def _shown_result(result: object) -> tuple[Json, int]:
    """A result whose references hold nothing but the reference, and how many bytes lie outside of the log. What is
    data and only looks like a reference stays as it is: a reference is all of a result, or an entry of a loop.
    """
    if (data := data_of(result)) is not result:
        return data, 0  # type: ignore[return-value]
    sizes: list[int] = []

    def bare(reference: dict[str, Json]) -> Json:
        sizes.append(size if isinstance(size := reference.get("size"), int) else 0)
        return {key: part for key, part in reference.items() if key != PROJECTED}

    if isinstance(result, LoopValue):
        return [*entries_of(result.entries, result.levels, bare)], sum(sizes)
    if isinstance(result, dict) and is_reference(result):
        return bare(result), sum(sizes)
    return result, 0  # type: ignore[return-value]
