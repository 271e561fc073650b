"""Reruns over the API: what one would keep, and its start."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from noetl.api.bodies import RerunBody, body_of
from noetl.api.handlers import execution_of, lasting_of, service_of
from noetl.api.problems import BadRequest, Rejected
from noetl.api.refused_starts import refusals_counted
from noetl.api.responses import JSONResponse
from noetl.api.scoping import check_start, scoped_key
from noetl.api.service import ApiService, Start, faults_told
from noetl.app.reruns import PlannedRerun, RerunWish, begin_rerun, planned_rerun, source_of
from noetl.engine.reruns import payload_of
from noetl.engine.workload import merged
from noetl.ports import ExecutionRow, Taken
from noetl.ports.idempotency import KEY, BadKey, StartKey, other, start_key
from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple


class BegunRerun(NamedTuple):
    """The document of a rerun, or of one that was only looked at; `fresh`: this request has begun it."""

    document: dict[str, Json]
    fresh: bool


async def rerun_execution(request: Request) -> Response:
    """Begin a new execution that keeps what this one did before it failed, or before a run of the step `from`; with
    `dry_run` only say what it would keep. What has one `Idempotency-Key` begins one.
    """
    body, execution_id = await body_of(request, RerunBody), execution_of(request)
    key: StartKey | None = None
    if (name := request.headers.get(KEY)) is not None and not body.dry_run:
        try:
            key = scoped_key(start_key(name, {"of": execution_id, **body.model_dump(by_alias=True)}))
        except BadKey as problem:
            raise BadRequest(f"`{KEY}`: {problem}") from None
    done = await lasting_of(request).run(rerun, service_of(request), execution_id, body, key)
    if body.dry_run:
        return JSONResponse(done.document)
    headers = {"Location": f"/executions/{done.document['execution_id']}"}
    if not done.fresh:
        headers["Idempotent-Replayed"] = "true"
    return JSONResponse(done.document, 201 if done.fresh else 200, headers)


def rerun(service: ApiService, execution_id: str, body: RerunBody, key: StartKey | None) -> BegunRerun:
    """Look at a rerun, and begin it unless something hinders. Raises Unknown, Rejected, Faulty, StoreFailure."""
    runtime, row = service.runtime, service.execution_row(execution_id)
    if key is not None and (there := runtime.store.started_with(key.key)) is not None:
        return _again(key, *there)
    with faults_told():
        planned, hindrances = look_at_rerun(service, row, body)
        if body.dry_run:
            return BegunRerun(planned.as_json(), fresh=False)
        if hindrances:
            told, recorded = "; ".join(hindrances), "; ".join(_recorded(planned, hindrances))
            raise Rejected(f"nothing was started; {told}", f"nothing was started; {recorded}")
        try:
            with service.storing(), refusals_counted(service.measures):
                begin_rerun(runtime, planned, key)
        except Taken as taken:
            assert key is not None
            return _again(key, taken.execution_id, taken.request)
    service.take_up(planned.execution_id, planned.program)
    return BegunRerun({"execution_id": planned.execution_id, **planned.as_json()}, fresh=True)


def look_at_rerun(service: ApiService, row: ExecutionRow, body: RerunBody) -> tuple[PlannedRerun, list[str]]:
    """A rerun that is not begun, and what hinders it here, a sentence each. Raises Unknown, Rejected, Faulty."""
    runtime = service.runtime
    with faults_told():
        source = source_of(runtime, row)
        named = body.playbook_id or body.path
        start = Start(body.playbook_id or "", body.path or "", body.version, {})
        program = runtime.programs.load(service.digest_of_start(start)) if named else source.program
        check_start(runtime, program)
        payload = merged(payload_of(source), dict[str, Json](body.payload))
        wish = RerunWish(body.from_step, payload, body.linear, tuple(body.accept))
        planned = planned_rerun(runtime, source, row, program, wish, has_secrets=service.has_worker)
    hindrances = [one.as_text() for one in planned.rerun.hindrances]
    if source.execution.scripted:
        hindrances.append("a script stood in for its tools, which a server has not")
    return planned, [*hindrances, *service.unable(program)]


def _recorded(planned: PlannedRerun, hindrances: list[str]) -> list[str]:
    """Hindrances as the audit has them, which outlives the log: what a failure says may have values of it."""
    own = planned.rerun.hindrances
    return ["it would come to nothing again" if one.code == "again" else one.as_text() for one in own] + hindrances[
        len(own) :
    ]


def _again(key: StartKey, execution_id: str, request: str) -> BegunRerun:
    if request != key.request:
        raise Rejected(other(key, execution_id))
    return BegunRerun({"execution_id": execution_id}, fresh=False)
