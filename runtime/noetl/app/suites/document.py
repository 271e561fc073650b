"""The outcome of tests as one document (`noetl test --json`); its JSON Schema is `noetlc schema test-report`."""

from __future__ import annotations

import json
from collections.abc import Sequence

from noetl.app.suites.comparing import MISSING
from noetl.app.suites.coverage import Coverage
from noetl.app.suites.judging import Failure
from noetl.app.suites.path import PathTaken, StepOnPath
from noetl.app.suites.verdict import CaseVerdict
from noetl_ir.expr import Json
from noetl_ir.span import Span
from noetl_ir.suite import Suite

MOST_CHARACTERS = 10_000
"""Characters of a value's JSON up to which it is in the document: of a longer one `details` has the beginning."""

_Unread = tuple[str, str]
"""A file of tests that cannot be read, and what the compiler said of it or its playbook."""


def document_of(
    rows: Sequence[tuple[Suite, Sequence[CaseVerdict]]],
    unread: Sequence[_Unread],
    coverage: Sequence[Coverage] | None,
    seconds: float,
) -> dict[str, Json]:
    """The document; `coverage` is None where it was not asked for, `seconds` of real time are those of all."""
    verdicts = [verdict for _, each in rows for verdict in each]
    failed = sum(not each.ok for each in verdicts)
    document: dict[str, Json] = {
        "version": 1,
        "ok": not failed and not unread,
        "counts": {"passed": len(verdicts) - failed, "failed": failed, "unread": len(unread)},
        "seconds": round(seconds, 3),
        "suites": [_suite(suite, each) for suite, each in rows],
        "unread": [{"file": file, "said": said} for file, said in unread],
    }
    if coverage is not None:
        document["coverage"] = [_coverage(each) for each in coverage]
    return document


def _suite(suite: Suite, verdicts: Sequence[CaseVerdict]) -> Json:
    return {"file": suite.file, "playbook": suite.playbook, "cases": [_case(suite, each) for each in verdicts]}


def _case(suite: Suite, verdict: CaseVerdict) -> Json:
    case = suite.cases[verdict.number]
    return {
        "name": case.name,
        "at": _place(suite.file, case.span),
        "ok": verdict.ok,
        "status": verdict.status or None,
        "seconds": round(verdict.seconds, 3),
        "failures": [_failure(suite, each) for each in verdict.failures],
        "path": _path(suite, verdict.path),
        "steps_left_out": verdict.path.left_out,
    }


def _failure(suite: Suite, failure: Failure) -> Json:
    found: dict[str, Json] = {
        "message": failure.message,
        "at": _place(suite.file, failure.span),
        "in_playbook": _place(suite.playbook, failure.at) if failure.at.line else None,
        "details": [*failure.details],
    }
    if failure.where:
        found["where"] = failure.where
        for side, value in (("expected", failure.expected), ("actual", failure.actual)):
            # What is not there has no key: null is a value, too.
            if value != MISSING and len(json.dumps(value, ensure_ascii=False)) <= MOST_CHARACTERS:
                found[side] = value
    return found


def _path(suite: Suite, path: PathTaken) -> list[Json]:
    return [_step(suite, each) for each in path.steps]


def _step(suite: Suite, step: StepOnPath) -> Json:
    ends: list[Json] = [
        {
            "task": end.task, "index": [*end.iteration], "status": end.status, "code": end.code or None,
            "directive": end.directive,
        }
        for end in step.ends
    ]  # fmt: skip
    at = _place(suite.playbook, step.span) if step.span.line else None
    return {"step": step.step, "at": at, "failed": step.failed, "ends": ends, "ends_left_out": step.left_out}


def _coverage(coverage: Coverage) -> Json:
    return {
        "playbook": coverage.playbook,
        "percent": round(coverage.percent, 1),
        "parts": len(coverage.parts),
        "reached": len(coverage.reached),
        "kinds": {kind: {"parts": count, "reached": reached} for kind, reached, count in coverage.counts()},
        "missing": [
            {
                "kind": part.kind,
                "name": part.name,
                "at": _place(coverage.playbook, part.span),
                "perhaps_never": part.open,
            }
            for part in coverage.missing()
        ],
        "never": coverage.never,
    }


def _place(file: str, span: Span) -> dict[str, Json]:
    return {
        "file": file, "line": span.line, "column": span.column, "end_line": span.end_line,
        "end_column": span.end_column,
    }  # fmt: skip
