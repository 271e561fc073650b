"""The triggers of a server: webhooks, and what the API asks of triggers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from noetl.api.bodies import Body, body_of, raw_body
from noetl.api.handlers import lasting_of, service_of
from noetl.api.hooks import BadBody, HookRequest, HookSecrets
from noetl.api.message_starts import MessageStarter
from noetl.api.problems import BadRequest, Rejected, problem
from noetl.api.responses import JSONResponse
from noetl.api.service import ApiService, Start, StartedExecution
from noetl.api.standing import StandingBody, done_with, kept, page_of, removed, told_of
from noetl.api.standing_starts import begin_standing
from noetl.app.adapters import open_messages
from noetl.app.clock import WallClock
from noetl.app.ended_runs import ended_scope
from noetl.app.runtime import Runtime
from noetl.app.trigger_book import TriggerBook
from noetl.ports import Busy
from noetl.ports.idempotency import StartKey
from noetl.ports.messages import Messages
from noetl.ports.triggers import Triggered, TriggerLetter
from noetl.secrets.credentials import CredentialProblem
from noetl.server.schedules.starter import StartRefused
from noetl.server.triggers.document import AFTER, WEBHOOK, Webhook
from noetl.server.triggers.mapping import NotMapped
from noetl.server.triggers.starter import Happening, KnownTrigger, TriggeredStart, TriggerStarter
from noetl_ir.expr import Json


class TriggerBody(StandingBody):
    """A trigger, as `noetl triggers put` takes it."""


class DeadLettersBody(Body):
    """Dead letters are tried again, or dropped."""

    drop: bool = False


def trigger_starter_of(service: ApiService, say: Callable[[str], None]) -> TriggerStarter | None:
    """The starter of a server, by its own starts; None for a store that has no triggers."""
    store = service.runtime.store
    if not isinstance(store, Triggered):
        return None

    def begin(start: TriggeredStart) -> str:
        found = _begin(service, start)
        if found.fresh:
            service.measures.count("noetl_trigger_starts", start.trigger.kind)
        return found.execution_id

    def refused(kind: str, why: str) -> None:
        service.measures.count("noetl_trigger_refusals", kind, why)

    scope = partial(ended_scope, service.runtime)
    return TriggerStarter(store, store.triggering, WallClock(), begin, scope, say, refused)


def _begin(service: ApiService, start: TriggeredStart) -> StartedExecution:
    asked = Start(
        "", start.trigger.playbook, start.trigger.version, start.inputs,
        StartKey(start.key, ""), started_by=start.started_by,
    )  # fmt: skip
    return begin_standing(service, asked)


def message_starter_of(runtime: Runtime, starter: TriggerStarter | None, bus_url: str) -> MessageStarter | None:
    """Who takes messages for the triggers of a store; None for one that has no triggers."""
    store = runtime.store
    if starter is None or not isinstance(store, Triggered):
        return None

    def opened(url: str) -> Messages:
        # The bus is the operator's own choice; other addresses are those of whoever may put a trigger.
        return open_messages(url, None if url == bus_url else runtime.settings.fence)

    return MessageStarter(store.triggering, starter, opened, bus_url)


async def receive(request: Request) -> Response:
    """A request to a webhook: what its trigger says is started, and answered once it is on disk."""
    starter = _starter(request)
    known = await run_in_threadpool(starter.known, request.path_params["name"])
    webhook = None if known is None else known.trigger.cause
    most = webhook.max_bytes if isinstance(webhook, Webhook) else 0
    data = await raw_body(request, most) if most else b""
    headers = dict(request.headers.items())
    asked = HookRequest(headers, dict(request.query_params), data)
    if known is None or not isinstance(webhook, Webhook) or not await _is_signed(request, known, webhook, asked):
        return await _unsigned(request, starter)
    if known.row.paused:
        raise Busy("the trigger is paused")
    return await lasting_of(request).run(_started, starter, known, webhook, asked)


async def _is_signed(request: Request, known: KnownTrigger, webhook: Webhook, asked: HookRequest) -> bool:
    secrets = hook_secrets_of(request)
    try:
        secret = await run_in_threadpool(secrets.secret_of, webhook)
    except CredentialProblem as lacking:
        # Whoever asks learns nothing of it; who operates the server does.
        await run_in_threadpool(_starter(request).hinder, known, StartRefused(str(lacking)))
        return False
    return asked.is_signed(webhook, secret, WallClock().now())


async def _unsigned(request: Request, starter: TriggerStarter) -> Response:
    """The response to who did not sign, or may have. While the secret of any webhook is lacking it is the same 503 for
    all of them, also for names that are not there: who could sign is to come again, and nobody learns which one it is.
    """
    if await run_in_threadpool(hook_secrets_of(request).are_lacking, starter.webhooks):
        raise Busy("the secret of a webhook is lacking here, so that it cannot be said who has signed: try again later")
    service_of(request).measures.count("noetl_trigger_refusals", WEBHOOK, "unsigned")
    return problem(401, "no webhook of that name takes this request")


def _started(starter: TriggerStarter, known: KnownTrigger, webhook: Webhook, asked: HookRequest) -> Response:
    try:
        happening = asked.happening(known, webhook)
    except (BadBody, NotMapped) as wrong:
        raise BadRequest(str(wrong)) from None
    try:
        execution_id = starter.start(known, happening)
    except NotMapped as wrong:
        starter.refuse(known, happening, wrong)
        raise BadRequest(str(wrong)) from None
    except StartRefused as lacking:
        starter.hinder(known, lacking)
        if lacking.quota is not None:  # which one is the operator's own affair
            return problem(429, "nothing can be started now", retry_after=lacking.quota.retry_after)
        raise Busy("nothing can be started now") from None
    return JSONResponse({"execution_id": execution_id or None}, 202)


async def list_triggers(request: Request) -> Response:
    """Triggers by name: what each starts, what it waits for, and what hinders it."""
    return await page_of(request, "triggers", _book(request))


async def get_trigger(request: Request) -> Response:
    """A trigger, with the oldest of what it could not start."""
    return await told_of(request, _book(request).document)


async def put_trigger(request: Request) -> Response:
    """Keep a trigger under its name; one that is there is replaced."""
    body = await body_of(request, TriggerBody)
    # Its expressions are read by the compiler, in a process of its own.
    return await lasting_of(request).run(kept, request, _book(request), body)


async def delete_trigger(request: Request) -> Response:
    """Keep a trigger no more, nor its dead letters; what it has started goes on."""
    return await removed(request, _book(request))


async def pause_trigger(request: Request) -> Response:
    """Start nothing by it until it is resumed."""
    return await told_of(request, _book(request).pause)


async def resume_trigger(request: Request) -> Response:
    """Go on with what happens from now on."""
    return await told_of(request, _book(request).resume)


async def retry_letters(request: Request) -> Response:
    """Start what its dead letters say, each once, or drop them; those that still cannot be started stay."""
    body = await body_of(request, DeadLettersBody)
    starter, book = _starter(request), _book(request)

    def retried(name: str) -> dict[str, Json]:
        known = starter.known(name)
        rows: list[Json] = []
        for letter in book.letters(name):
            row: dict[str, Json] = {"number": letter.number, "execution_id": None, "reason": None}
            try:
                if not body.drop and known is not None:
                    row["execution_id"] = _again(service_of(request), starter, known, letter) or None
                book.drop(letter)
            except (NotMapped, StartRefused) as wrong:
                row["reason"] = str(wrong)
            rows.append(row)
        return {"letters": rows}

    return JSONResponse(await lasting_of(request).run(done_with, request, retried))


def _again(service: ApiService, starter: TriggerStarter, known: KnownTrigger, letter: TriggerLetter) -> str:
    """Start what a dead letter says; the id of the execution, empty for none. Raises NotMapped, StartRefused."""
    if known.trigger.kind == AFTER:
        ended = service.runtime.store.execution(str(letter.body.get("execution_id")))
        if ended is None:
            raise NotMapped(f"execution {letter.body.get('execution_id')} is not in the store any more")
        return starter.start_behind(known, ended, asked=True)
    return starter.start(known, Happening(letter.key, letter.body, {"again": True}, letter.body))


def _book(request: Request) -> TriggerBook:
    book: TriggerBook = request.app.state.triggers
    return book


def hook_secrets_of(request: Request) -> HookSecrets:
    """The secrets of the webhooks of the application."""
    secrets: HookSecrets = request.app.state.hook_secrets
    return secrets


def _starter(request: Request) -> TriggerStarter:
    """Raises Rejected for a store that has no triggers."""
    starter: TriggerStarter | None = request.app.state.trigger_starter
    if starter is None:
        raise Rejected("this store has no triggers")
    return starter
