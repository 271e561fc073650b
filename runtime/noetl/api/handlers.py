"""One function for each operation of the API: a request in, a response out, the service in between."""

import json
from asyncio import timeout, wrap_future
from contextlib import suppress
from typing import Any
from uuid import uuid4

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from noetl.api import registering
from noetl.api.bodies import (
    BLOB_BYTES,
    LAST_VERSION,
    SOURCE_BYTES,
    BlobBody,
    LetterBody,
    SignalBody,
    StartBody,
    body_of,
    natural,
    number_of,
    raw_body,
)
from noetl.api.lasting import Lasting
from noetl.api.pages import LAST_POSITION, limit_of, moment_of, page, position_of
from noetl.api.problems import BadRequest, Rejected, Unknown, no_room, problem
from noetl.api.responses import JSONResponse
from noetl.api.scoping import check_value, scoped_key
from noetl.api.service import ApiService, Start
from noetl.api.streams import Streams
from noetl.ports.catalogue import Versions
from noetl.ports.idempotency import KEY, BadKey, start_key
from noetl.ports.mailbox import Letter, WantedMail, kept_for
from noetl.ports.scopes import scope_now
from noetl.server.workers.preflight import WITHIN
from noetl_ir import codec
from noetl_ir.correlation import is_storable
from noetl_ir.expr import Json
from noetl_ir.trace_ids import context_of

BYTES = "application/octet-stream"


def service_of(request: Request) -> ApiService:
    """The service behind the application."""
    service: ApiService = request.app.state.service
    return service


async def healthz(request: Request) -> Response:
    """The process answers."""
    return JSONResponse({"status": "ok"})


async def readyz(request: Request) -> Response:
    """The server can use its store and takes work."""
    stand = service_of(request).standing()
    # Told apart from a failing store: room comes back by an operator's hand, and reads go on meanwhile.
    if stand.full:
        return problem(503, no_room(stand.full))
    if stand.trouble is not None:
        return problem(503, "the store cannot be used; the server's log says why")
    if not stand.reaches:
        return problem(503, "the bus to the workers cannot be reached")
    if stand.stopping:
        return problem(503, "the server is stopping")
    return JSONResponse({"status": "ok", "executions": stand.executions})


async def metrics(request: Request) -> Response:
    """Figures for Prometheus."""
    from noetl.api.metrics import TYPE, metrics_text

    asked = service_of(request), request.app.state.connections, request.app.state.authorization.expiring()
    return Response(await run_in_threadpool(metrics_text, *asked), media_type=TYPE)


async def openapi(request: Request) -> Response:
    """This API as OpenAPI 3.1."""
    from noetl.api.openapi import document

    return JSONResponse(document(request.app.state.operations))


async def get_row(request: Request) -> Response:
    """The row of an execution in lists; quicker than looking at all of it."""
    return JSONResponse(await run_in_threadpool(service_of(request).row, execution_of(request)))


async def start_execution(request: Request) -> Response:
    """Start an execution; answered once its first events are on disk. What has one `Idempotency-Key` starts one. With
    `If-Match` and the digest of a plan it is of that plan, or refused.
    """
    body = await body_of(request, StartBody)
    start = Start(
        body.playbook_id or "",
        body.path or "",
        body.version,
        dict[str, Json](body.payload),
        strict_inputs=body.strict_inputs,
        labels=body.labels,
        started_by=_received(request, body),
        only=request.headers.get("if-match", "").strip('"* '),
    )
    if (key := request.headers.get(KEY)) is not None:
        try:
            # A key that was used before there was the last one of these is still that of the same start.
            # The context of a trace is that of a request, and another one when it is made again.
            unsaid = {name for name in ("strict_inputs", "labels") if not getattr(body, name)} | {"traceparent"}
            start = start._replace(key=scoped_key(start_key(key, body.model_dump(exclude=unsaid))))
        except BadKey as problem:
            raise BadRequest(f"`{KEY}`: {problem}") from None
    prepared = await run_in_threadpool(service_of(request).prepare, start)
    # What follows waits without a thread: of those there are few, and others look meanwhile.
    # Who has not answered by then may still have the secrets: the start goes on, and a task without its secret fails
    # by itself.
    with suppress(TimeoutError):
        async with timeout(WITHIN):
            if lacking := await wrap_future(prepared.lacking):
                raise Rejected("; ".join(["nothing was started", *lacking]))
    begun = await wrap_future(prepared.begin())
    headers = {"Location": f"/executions/{begun.execution_id}"}
    if not begun.fresh:
        headers["Idempotent-Replayed"] = "true"
    response: dict[str, Json] = {"execution_id": begun.execution_id}
    if prepared.warnings:
        response["warnings"] = [*prepared.warnings]
    return JSONResponse(response, 201 if begun.fresh else 200, headers)


def _received(request: Request, body: StartBody) -> dict[str, Json] | None:
    """The context of the trace that a start belongs to; None without one, or with one that W3C passes over."""
    header = request.headers.get("traceparent") or body.traceparent
    return {"traceparent": header.strip()} if header and context_of(header) is not None else None


async def get_execution(request: Request) -> Response:
    """How an execution stands: status, counts, failure, what it does now and waits for."""
    return JSONResponse(await run_in_threadpool(service_of(request).execution, execution_of(request)))


async def get_ctx(request: Request) -> Response:
    """The `ctx` of an execution."""
    return JSONResponse(await run_in_threadpool(service_of(request).ctx, execution_of(request)))


async def get_result(request: Request) -> Response:
    """The result of the execution, or that of `step`; values kept elsewhere are fetched. With `position`, as it was
    behind the event there.
    """
    asked = execution_of(request), request.query_params.get("step", ""), moment_of(request)
    return JSONResponse({"result": await run_in_threadpool(service_of(request).result, *asked)})


async def get_replay(request: Request) -> Response:
    """Fold the log again: whether it is a legal run of the plan, and the state it leads to."""
    return JSONResponse(await lasting_of(request).run(service_of(request).replay, execution_of(request)))


async def get_events(request: Request) -> Response:
    """Events behind position `after`; with `Accept: text/event-stream`, as they are written until the end, and with
    `output=true` an event `output` between them when tasks have printed more (`/logs`).
    """
    execution_id, service = execution_of(request), service_of(request)
    if "text/event-stream" in request.headers.get("accept", ""):
        last = request.headers.get("last-event-id") or request.query_params.get("after", "0")
        after = natural("after", last, 0, LAST_POSITION)
        await run_in_threadpool(service.events, execution_id, after, 1)  # what is wrong is told before anything is sent
        streams: Streams = request.app.state.streams
        client = request.client.host if request.client is not None else ""
        output = request.query_params.get("output") == "true"
        return streams.followed(execution_id, after, request.state.may_go_on, client, output=output)
    after, limit = position_of(request), limit_of(request)
    found = await run_in_threadpool(service.events, execution_id, after, limit)
    return page("events", found, after + len(found) if len(found) == limit else None)


async def get_log(request: Request) -> Response:
    """The log as stored: msgpack, a list of [position, event id, body]; what `noetl --server` folds itself."""
    asked = position_of(request), limit_of(request)
    records = await run_in_threadpool(service_of(request).log, execution_of(request), *asked)
    rows: list[Json] = [[record.position, record.event_id, record.body.hex()] for record in records]
    return Response(codec.pack(rows), media_type=BYTES)


async def cancel(request: Request) -> Response:
    """End an execution before it is done."""
    return await _asked(request, "cancel")


async def pause(request: Request) -> Response:
    """Let an execution start nothing new; what is in flight finishes."""
    return await _asked(request, "pause")


async def resume(request: Request) -> Response:
    """Let a paused execution go on."""
    return await _asked(request, "resume")


async def retry_fault(request: Request) -> Response:
    """Go on with an execution that ended by a mistake of the engine (`engine.fault`), where it stood before."""
    await run_in_threadpool(service_of(request).retry_fault, execution_of(request))
    return JSONResponse({"execution_id": execution_of(request), "asked": "retry-fault"}, 202)


async def signal(request: Request) -> Response:
    """Send a named signal; it is kept until a wait takes it. One that nothing ever takes only `anyway`."""
    body = await body_of(request, SignalBody)
    if not body.anyway and (
        why := await run_in_threadpool(service_of(request).unheard, execution_of(request), body.name)
    ):
        raise BadRequest(why)
    return await _asked(request, "signal", {"name": body.name, "data": body.data})


async def post_signal(request: Request) -> Response:
    """Send a named signal to the oldest wait under a key, else keep it for one. With an `Idempotency-Key` once."""
    body = await body_of(request, LetterBody)
    once = f"api {once_key(request)}"
    letter = Letter(body.key, body.name, body.data, once, kept_for(body.keep_for), is_exact=True)
    is_delivered = await run_in_threadpool(service_of(request).post_letter, letter)
    return JSONResponse({"key": body.key, "name": body.name, "delivered": is_delivered}, 202)


def once_key(request: Request) -> str:
    """The key of what a request wants once, a new one where it has none. Raises BadRequest."""
    if (key := request.headers.get(KEY)) is None:
        return uuid4().hex
    try:
        return start_key(key, {}).key
    except BadKey as problem:
        raise BadRequest(f"`{KEY}`: {problem}") from None


async def list_signals(request: Request) -> Response:
    """Signals that are kept and waits that are open, by key and name; what a signal carries is not told."""
    limit, query = limit_of(request), request.query_params
    after = _place_of(query["after"]) if query.get("after") else ("", "")
    wanted = WantedMail(query.get("key", ""), query.get("prefix", ""), after, limit)
    rows = await run_in_threadpool(service_of(request).mail, wanted)
    behind = json.dumps([rows[-1]["key"], rows[-1]["name"]]) if len(rows) == limit else None
    return page("signals", rows, behind)


async def list_playbooks(request: Request) -> Response:
    """The catalogue, by path, the newest version first: every version, or with `newest=true` one for each path."""
    limit, query = limit_of(request), request.query_params
    after = _version_of(query["after"]) if query.get("after") else None
    wanted = Versions(query.get("path", ""), query.get("newest") == "true", after, limit, scope_now().paths)
    rows = await run_in_threadpool(service_of(request).playbooks, wanted)
    return page("playbooks", rows, f"{rows[-1]['path']}@{rows[-1]['version']}" if len(rows) == limit else None)


async def register(request: Request) -> Response:
    """Register a playbook (its source, compiled here) or a plan (its bytes, alone or behind the sources of it and of
    what it embeds); refused when it does not compile. With `dry_run=true` it is only said what it would be.
    """
    data = await raw_body(request, SOURCE_BYTES)
    name = request.query_params.get("name", "playbook.yaml")
    if request.query_params.get("dry_run") == "true":
        return JSONResponse(await lasting_of(request).run(registering.looked_at, service_of(request), data, name))
    row = await lasting_of(request).run(registering.register, service_of(request), data, name)
    return JSONResponse(row, 201, {"Location": f"/plans/{row['playbook_id']}"})


async def keep_plan(request: Request) -> Response:
    """Keep a plan (its bytes), or that of a playbook (its source), by its digest alone, for an execution that is to be
    moved to it or rerun on it: it is no version of its path, which starts by path would take.
    """
    data = await raw_body(request, SOURCE_BYTES)
    name = request.query_params.get("name", "playbook.yaml")
    row = await lasting_of(request).run(registering.keep_plan, service_of(request), data, name)
    return JSONResponse(row, 201, {"Location": f"/plans/{row['playbook_id']}"})


async def get_plan(request: Request) -> Response:
    """The bytes of a plan; `X-Verified` names the checks that it has passed here, where it has."""
    data, verified = await run_in_threadpool(service_of(request).plan_with_verifier, request.path_params["digest"])
    return Response(data, headers={"X-Verified": verified} if verified else {}, media_type=BYTES)


async def get_plan_at(request: Request) -> Response:
    """The bytes of a version of a path, the newest when none is given; `X-Digest` says which plan it is."""
    version = number_of(request, "version", 0, 0, LAST_VERSION) or None
    digest, data = await run_in_threadpool(service_of(request).plan_at, request.path_params["path"], version)
    return Response(data, headers={"X-Digest": digest}, media_type=BYTES)


async def get_source(request: Request) -> Response:
    """The source that a plan was compiled from, as it was given with it."""
    text = await run_in_threadpool(service_of(request).source, request.path_params["digest"])
    return Response(text, headers={"X-Content-Type-Options": "nosniff"}, media_type="text/plain; charset=utf-8")


async def put_source(request: Request) -> Response:
    """Give the source that a plan was compiled from, for people to read; the first one stays."""
    text = await raw_body(request, SOURCE_BYTES)
    await run_in_threadpool(service_of(request).put_source, request.path_params["digest"], text)
    return JSONResponse({"playbook_id": request.path_params["digest"]})


async def get_blob(request: Request) -> Response:
    """The bytes behind a reference."""
    body = await body_of(request, BlobBody)
    reference: dict[str, Any] = body.reference
    return Response(await run_in_threadpool(_blob, service_of(request), reference), media_type=BYTES)


def _blob(service: ApiService, reference: dict[str, Any]) -> bytes:
    check_value(service.runtime.store, reference)
    return service.blob(reference)


async def put_blob(request: Request) -> Response:
    """Keep a value of an execution that is not over outside of its log; for workers."""
    await run_in_threadpool(service_of(request).check_open, execution_of(request))  # before up to 256 MiB are read
    data = await raw_body(request, BLOB_BYTES)
    reference = await run_in_threadpool(service_of(request).put_blob, execution_of(request), data)
    return JSONResponse({"reference": reference}, 201)


async def list_workers(request: Request) -> Response:
    """The workers that were heard of within the last seconds, by name."""
    limit = limit_of(request)
    rows = await run_in_threadpool(service_of(request).workers, request.query_params.get("after", ""), limit)
    return page("workers", rows, rows[-1]["name"] if len(rows) == limit else None)


async def list_pools(request: Request) -> Response:
    """Pools by name: the workers that take from each, their slots, how many are at work, and what is in the way."""
    limit = limit_of(request)
    rows = await run_in_threadpool(service_of(request).pools, request.query_params.get("after", ""), limit)
    return page("pools", rows, rows[-1]["name"] if len(rows) == limit else None)


async def drain(request: Request) -> Response:
    """Have a worker take no more, finish what it has, and end."""
    name = request.path_params["worker"]
    await run_in_threadpool(service_of(request).drain, name)
    return JSONResponse({"worker": name, "asked": "drain"}, 202)


async def stop(request: Request) -> Response:
    """Stop the server: nothing new begins, what is in flight finishes."""
    await run_in_threadpool(service_of(request).stop)
    return JSONResponse({"status": "stopping"}, 202)


async def _asked(request: Request, verb: str, body: Json = None) -> Response:
    await run_in_threadpool(service_of(request).ask, execution_of(request), verb, body)
    return JSONResponse({"execution_id": execution_of(request), "asked": verb}, 202)


def lasting_of(request: Request) -> Lasting:
    """The threads for operations that may take minutes."""
    lasting: Lasting = request.app.state.lasting
    return lasting


def _version_of(text: str) -> tuple[str, int]:
    """A path and version. Raises BadRequest."""
    path, at, version = text.rpartition("@")
    if not at:
        raise BadRequest("`after` is PATH@VERSION, as `next` has it")
    return path, natural("after", version, 1, LAST_VERSION)


def _place_of(text: str) -> tuple[str, str]:
    """A key and a name. Raises BadRequest."""
    try:
        key, name = json.loads(text)
        if isinstance(key, str) and isinstance(name, str) and is_storable(key + name):
            return key, name
    except (ValueError, TypeError, RecursionError):
        pass
    raise BadRequest("`after` is a list of a key and a name, as `next` has it")


def execution_of(request: Request) -> str:
    """The id of the execution in the path of a request. Raises Unknown where it can be none."""
    name = str(request.path_params["execution_id"])
    # A control character in a name could forge a line of the server's log, or come to nothing in a database; no
    # execution has one.
    if not name.isprintable():
        raise Unknown("there is no such execution")
    return name


def digest_of(request: Request) -> str:
    """The digest in the path of a request. Raises Unknown where it can be none."""
    return checked_digest(request.path_params["digest"])


def checked_digest(digest: str) -> str:
    """A digest that somebody gave. Raises Unknown where it can be none."""
    if not (digest.isascii() and digest.isalnum()):
        raise Unknown("there is no such plan")
    return digest
