"""The children through whose failures an execution failed: each with its error, and where in its source that is."""

from __future__ import annotations

from collections.abc import Iterator

from noetl.app.error_places import located
from noetl.app.failed_templates import line_of
from noetl.app.runtime import Runtime
from noetl.ports.scopes import is_within, scope_now
from noetl.server.children import NotFound
from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple

_MOST = 16
"""Children that are told, one the caller of the other: as many as call each other by default."""


class FailedChild(NamedTuple):
    """A child that failed, with its error; `line` is the line of its source in which the place of the error is, ""
    where that says no more than its task or step.
    """

    execution_id: str
    playbook: str
    digest: str
    error: Json
    line: str

    def as_json(self) -> dict[str, Json]:
        """One document."""
        row: dict[str, Json] = {"execution_id": self.execution_id, "playbook": self.playbook}
        return {**row, "playbook_id": self.digest, "error": self.error}


def failed_children(runtime: Runtime, execution_id: str, error: Json) -> Iterator[FailedChild]:
    """The children that an error of an execution came from, callers first, as far as whoever asks may see them."""
    for _ in range(_MOST):
        child, cause = child_in(error), _cause_of(error)
        if child is None:
            if not isinstance(cause, dict):
                return
            error = cause  # as of retries that are exhausted: the last one has the child
            continue
        row = runtime.store.execution(child)
        # An error may say anything: only what this execution has called is looked into.
        if row is None or row.parent_execution_id != execution_id or not is_within(row.playbook, scope_now().paths):
            return
        try:
            program = runtime.programs.load(row.plan_digest)
        except NotFound:
            return
        told = located(program, cause)
        yield FailedChild(child, row.playbook, row.plan_digest, told, line_of(program, told))
        execution_id, error = child, cause


def child_in(error: Json) -> str | None:
    """The execution of the child that an error says has failed; None for any other error."""
    child = error.get("execution_id") if isinstance(error, dict) else None
    is_failed = isinstance(error, dict) and str(error.get("code")).startswith(("playbook.", "child."))
    return child if isinstance(child, str) and child.isprintable() and is_failed else None


def _cause_of(error: Json) -> Json:
    """The error that led to an error, also by way of the outcome that a rule was asked about."""
    cause = error.get("cause") if isinstance(error, dict) else None
    return cause.get("error") if isinstance(cause, dict) and "status" in cause else cause
