"""The documents that commands print with `--json` and the API answers: one document for each question."""

from __future__ import annotations

from collections.abc import Sequence

from noetl.app.ending import Ending, ending_of, written_counts
from noetl.app.picture import Why, interruptions_of, queue_now, rows_of
from noetl.app.prospects import steps_to_come
from noetl.app.runtime import Runtime
from noetl.app.snapshots import Snapshot, events_of, program_of, snapshot_until
from noetl.engine.execution import Execution
from noetl.engine.program import Program
from noetl.engine.replay import ReplayVerdict
from noetl.engine.replay import replay as checked
from noetl.ports import ExecutionRow
from noetl.ports.audit import AuditRow
from noetl.ports.catalogue import PlanRow
from noetl.ports.mailbox import MailRow
from noetl.ports.outbox import OutboxRow
from noetl.ports.queries import LABEL, SEARCH, ExecutionAttribute
from noetl.server.execution import status_of
from noetl.server.found_by import attributes_of
from noetl_ir.events import Event, iso_of, step_run_of
from noetl_ir.expr import Json


def attributes_document(attributes: Sequence[ExecutionAttribute]) -> dict[str, Json]:
    """Labels and search attributes as documents show them; times as RFC 3339."""
    found: dict[str, Json] = {}
    for key, prefix in (("labels", LABEL), ("search", SEARCH)):
        mine = {each.name.removeprefix(prefix): _value_of(each) for each in attributes if each.name.startswith(prefix)}
        if mine:
            found[key] = mine
    return found


def _value_of(attribute: ExecutionAttribute) -> Json:
    number = attribute.number
    if attribute.kind not in ("number", "bool") or number is None:
        return attribute.text
    return bool(number) if attribute.kind == "bool" else int(number) if number == int(number) else number


def row_document(row: ExecutionRow, *, owned: bool, attributes: Sequence[ExecutionAttribute] = ()) -> dict[str, Json]:
    """An execution as lists show it; times as RFC 3339, `owned` whether a process drives it now; what it is found by in
    `labels` and `search`, where it has some.
    """
    return {
        "execution_id": row.execution_id,
        "status": row.status,
        "owned": owned,
        "playbook": row.playbook,
        "plan_digest": row.plan_digest,
        "started": iso_of(row.started),
        "ended": iso_of(row.ended) if row.ended is not None else None,
        "parent": row.parent_execution_id,
        "rerun_of": row.rerun_of,
        "error": row.error,
        **attributes_document(attributes),
    }


def version_document(row: PlanRow) -> dict[str, Json]:
    """A version of a playbook as the catalogue shows it."""
    return {"playbook_id": row.digest, "path": row.path, "version": row.version}


def mail_document(row: MailRow) -> dict[str, Json]:
    """A row of the mailbox, without what letters carry; times as RFC 3339, null where there are none."""
    since, until = [iso_of(at) if at else None for at in (row.since, row.until)]
    kept: dict[str, Json] = {"kept": row.kept, "since": since, "until": until}
    return {"key": row.key, "name": row.name, **kept, "waiting": row.waiting, "waits": [*row.waits]}


def standing_of(runtime: Runtime, snapshot: Snapshot) -> Ending:
    """How an execution stands, over or not."""
    return ending_of(runtime, snapshot.program, snapshot.execution, status_of(snapshot.execution))


def execution_document(runtime: Runtime, snapshot: Snapshot, *, owned: bool, why: Why) -> dict[str, Json]:
    """How an execution stands, and what goes on in it and is waited for."""
    document = standing_of(runtime, snapshot).as_json()
    # A result may be large, and whoever asks how an execution stands asks often: it has an address of its own.
    del document["result"]
    parent: Json = list(snapshot.execution.parent) if snapshot.execution.parent else None
    queue = queue_now(runtime, snapshot.execution)
    rows = rows_of(snapshot.program, snapshot.execution, driven=owned, why=why, queue=queue)
    now: list[Json] = [row.as_json() for row in rows]
    found = interruptions_of(snapshot.program, snapshot.execution)
    interrupted: dict[str, Json] = {"interrupted": [*found]} if found else {}
    events = snapshot.execution.position
    found_by = attributes_document(attributes_of(snapshot.program, snapshot.execution))
    return {**found_by, **document, "owned": owned, "events": events, "parent": parent, "now": now, **interrupted}


def moment_document(snapshot: Snapshot, args: Json) -> dict[str, Json]:
    """How an execution stood: what went on, `ctx`, marking, which steps could still come; `args` go with it."""
    program, execution = snapshot.program, snapshot.execution
    now: list[Json] = [{**row.as_json(), "place": row.place, "text": row.text} for row in rows_of(program, execution)]
    to_come: list[Json] = [*steps_to_come(program, execution)]
    return {
        "position": execution.position,
        "status": status_of(execution) if execution.position else "new",
        "at": iso_of(execution.now) if execution.position else None,
        "now": now,
        "interrupted": [*interruptions_of(program, execution)],
        "workload": execution.workload,
        "ctx": execution.ctx,
        "marking": dict(marking_of(program, execution)),
        "to_come": to_come,
        "args": args,
    }


def moment_of(runtime: Runtime, row: ExecutionRow, position: int, step: str) -> dict[str, Json]:
    """The moment behind the event at a position, with the args of the newest run of `step` until then (null where it
    had none). Raises UnreadableExecution.
    """
    args: Json = None

    def attend(execution: Execution, program: Program, event: Event) -> None:
        nonlocal args
        run = execution.runs.get(step_run_of(event.run))  # gone once it has ended
        if run is not None and run.step == program.step_numbers.get(step):
            args = {**run.args}

    snapshot = snapshot_until(runtime, row, position, attend)
    return moment_document(snapshot, args)


def verdict_of(runtime: Runtime, row: ExecutionRow) -> tuple[Program, ReplayVerdict]:
    """Whether a log is a legal run of its plan. Raises Unreadable."""
    program = program_of(runtime, row.execution_id)
    verdict = checked(program, row.execution_id, (event for _, event in events_of(runtime, row.execution_id)))
    if verdict.wrong is None and (gone := _gone(row, verdict)) is not None:
        verdict = verdict._replace(wrong=(verdict.events, gone))
    return program, verdict


def _gone(row: ExecutionRow, verdict: ReplayVerdict) -> str | None:
    """The fault that the row of an execution knows and its log does not say: the end of the log is missing. Who drives
    it may be ahead of the row, never behind.
    """
    execution = verdict.execution
    if row.ended is None or execution.is_over:
        return None
    said = "paused" if execution.paused else execution.status
    return f"the end of the log is missing: the execution is {row.status}, and the log ends where it is {said}"


def marking_of(program: Program, execution: Execution) -> list[tuple[str, Json]]:
    """The tokens by place, in the order of the net: keys with their counts."""
    tokens = execution.marking.tokens
    places = program.plan.net.places
    return [(places[number].id, dict(tokens[number])) for number in sorted(tokens) if tokens[number]]


def replay_document(program: Program, verdict: ReplayVerdict) -> dict[str, Json]:
    """The verdict on a log, what it was checked for, and the state that it leads to."""
    position, reason = verdict.wrong or (None, None)
    execution = verdict.execution
    return {
        "execution_id": execution.execution_id,
        "legal": verdict.wrong is None,
        "position": position,
        "reason": reason,
        "events": verdict.events,
        "status": execution.status,
        "paused": execution.paused,
        "counts": dict(written_counts(execution)),
        "workload": execution.workload,
        "ctx": execution.ctx,
        "marking": dict(marking_of(program, verdict.execution)),
        "now": [{"what": row.what, **row.data} for row in rows_of(program, execution)],
    }


def audit_document(row: AuditRow) -> dict[str, Json]:
    """A row, as the API has it and `--json` prints it."""
    values: dict[str, Json] = {**row._asdict(), "at": iso_of(row.at)}
    del values["once"]
    return values


def dead_letter_document(row: OutboxRow) -> dict[str, Json]:
    """A dead letter, as the API has it and `--json` prints it."""
    return {
        "number": row.number, "topic": row.topic, "subject": row.subject, "at": iso_of(row.at), "tries": row.tries,
        "reason": row.trouble,
    }  # fmt: skip
