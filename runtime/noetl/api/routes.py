"""The table of the API: method, path, who may, what answers. The application and its OpenAPI document come from it."""

from collections.abc import Callable

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from noetl.api import (
    auditing,
    derived,
    finding,
    handlers,
    many,
    migrations,
    named_secrets,
    namespaces,
    notifications,
    oidc_sign_in,
    purging,
    reruns,
    scheduling,
    sessions,
    sign_in,
    task_output,
    triggering,
    watching,
)
from noetl.api.authorization import Authorization
from noetl.api.bearer_tokens import BearerToken
from noetl.api.bodies import (
    ActivityBody,
    BlobBody,
    LetterBody,
    ManyBody,
    ManyRerunBody,
    ManySignalBody,
    MigrationBody,
    RerunBody,
    SessionBody,
    SessionTokenBody,
    SignalBody,
    SignInBody,
    StartBody,
)
from noetl.api.hooks import HookSecrets
from noetl.api.lasting import Lasting
from noetl.api.operation import EXECUTION, OWN, PLAN, PLAYBOOK, WITHIN, WORK, Handler, Operation, measured
from noetl.api.pages import Paged
from noetl.api.problems import BadRequest, problem_of, with_problems
from noetl.api.scoping import admitted, check_heeded
from noetl.api.service import ApiService
from noetl.api.static_page import page_routes
from noetl.api.streams import Streams
from noetl.app.clock import WallClock
from noetl.app.retention import Purger
from noetl.app.schedule_book import ScheduleBook
from noetl.app.trigger_book import TriggerBook
from noetl.ports.idempotency import KEY
from noetl.ports.scopes import keeping_to
from noetl.ports.user_sessions import Sessions

_ONE = "/executions/{execution_id}"
_SHORT = ("status", "parent", "open", "top", "text", "rerun_of")
_POSITION = "the position in the log of the event before"
ROUTES = (
    Operation("GET", "/healthz", "", handlers.healthz),
    Operation("GET", "/readyz", "", handlers.readyz),
    Operation("GET", "/metrics", "viewer", handlers.metrics),
    Operation("GET", "/openapi.json", "", handlers.openapi),
    Operation("GET", "/me", "viewer", sign_in.who_am_i, scope=OWN),
    Operation("GET", "/sign-in", "", oidc_sign_in.get_ways),
    Operation("GET", "/sign-in/oidc", "", oidc_sign_in.begin_oidc, query=("place", "afresh"), status=303),
    Operation(
        "GET",
        "/sign-in/return",
        "",
        oidc_sign_in.finish_oidc,
        query=("state", "code", "iss", "error"),
        status=303,
        deed="sign-in",
    ),
    Operation("POST", "/sign-in", "", sign_in.sign_in, SignInBody, deed="sign-in"),
    Operation("POST", "/sign-out", "", sign_in.sign_out),
    Operation(
        "GET",
        "/executions",
        "viewer",
        finding.list_executions,
        query=("query", *_SHORT, "now"),
        pages=Paged(
            "executions", "the id of the execution before, or `@MICROSECONDS`: what began before", cursor="before"
        ),
        scope=WITHIN,
    ),
    Operation("GET", "/counts", "viewer", finding.get_counts, scope=WITHIN),
    Operation(
        "GET",
        "/counts/{group:path}",
        "viewer",
        finding.count_by,
        query=("query", *_SHORT),
        pages=Paged("counts", "how many rows were before", counts=True),
        scope=WITHIN,
    ),
    Operation(
        "POST",
        "/executions",
        "operator",
        handlers.start_execution,
        StartBody,
        status=201,
        headers=(KEY, "If-Match"),
        deed="start",
        scope=WITHIN,
    ),
    Operation("POST", "/executions/cancel", "operator", many.cancel_many, ManyBody, deed="cancel", scope=WITHIN),
    Operation("POST", "/executions/signal", "operator", many.signal_many, ManySignalBody, deed="signal", scope=WITHIN),
    Operation("POST", "/executions/pause", "operator", many.pause_many, ManyBody, deed="pause", scope=WITHIN),
    Operation("POST", "/executions/resume", "operator", many.resume_many, ManyBody, deed="resume", scope=WITHIN),
    Operation("POST", "/executions/rerun", "operator", many.rerun_many, ManyRerunBody, deed="rerun", scope=WITHIN),
    Operation("GET", _ONE, "viewer", handlers.get_execution, scope=EXECUTION),
    Operation("GET", f"{_ONE}/row", "viewer", handlers.get_row, scope=EXECUTION),
    Operation("GET", f"{_ONE}/ctx", "viewer", handlers.get_ctx, scope=EXECUTION),
    Operation("GET", f"{_ONE}/result", "viewer", handlers.get_result, query=("step", "position"), scope=EXECUTION),
    Operation("GET", f"{_ONE}/replay", "viewer", handlers.get_replay, scope=EXECUTION),
    Operation(
        "GET",
        f"{_ONE}/events",
        "viewer",
        handlers.get_events,
        query=("output",),
        pages=Paged("events", _POSITION, counts=True),
        scope=EXECUTION,
    ),
    Operation(
        "GET", f"{_ONE}/log", "viewer", handlers.get_log, pages=Paged("", _POSITION, counts=True), scope=EXECUTION
    ),
    Operation(
        "GET",
        f"{_ONE}/logs",
        "viewer",
        task_output.get_logs,
        query=("step", "attempt"),
        pages=Paged("logs", "the position of the chunk before", counts=True),
        scope=EXECUTION,
    ),
    Operation("POST", "/logs", "worker", task_output.add_logs, task_output.LogsBody, status=202, scope=WORK),
    Operation(
        "GET",
        f"{_ONE}/frames",
        "viewer",
        watching.get_frames,
        pages=Paged("frames", _POSITION, counts=True),
        scope=EXECUTION,
    ),
    Operation("GET", f"{_ONE}/timeline", "viewer", watching.get_timeline, query=("after",), scope=EXECUTION),
    Operation(
        "GET",
        f"{_ONE}/items",
        "viewer",
        watching.get_items,
        query=("step", "state", "position"),
        pages=Paged("items", "the number of the row before", counts=True),
        scope=EXECUTION,
    ),
    Operation("GET", f"{_ONE}/item", "viewer", watching.get_item, query=("step", "key"), scope=EXECUTION),
    Operation("GET", f"{_ONE}/moment", "viewer", watching.get_moment, query=("position", "step"), scope=EXECUTION),
    Operation("POST", f"{_ONE}/cancel", "operator", handlers.cancel, status=202, deed="cancel", scope=EXECUTION),
    Operation(
        "POST",
        f"{_ONE}/migrate",
        "operator",
        migrations.migrate_execution,
        MigrationBody,
        status=202,
        deed="migrate",
        scope=EXECUTION,
    ),
    Operation("POST", f"{_ONE}/pause", "operator", handlers.pause, status=202, deed="pause", scope=EXECUTION),
    Operation("POST", f"{_ONE}/resume", "operator", handlers.resume, status=202, deed="resume", scope=EXECUTION),
    Operation(
        "POST",
        f"{_ONE}/rerun",
        "operator",
        reruns.rerun_execution,
        RerunBody,
        status=201,
        headers=(KEY,),
        deed="rerun",
        scope=EXECUTION,
    ),
    Operation(
        "POST",
        f"{_ONE}/retry-fault",
        "operator",
        handlers.retry_fault,
        status=202,
        deed="retry-fault",
        is_recorded_first=True,
        scope=EXECUTION,
    ),
    Operation(
        "POST", f"{_ONE}/signal", "operator", handlers.signal, SignalBody, status=202, deed="signal", scope=EXECUTION
    ),
    Operation(
        "GET",
        "/signals",
        "viewer",
        handlers.list_signals,
        query=("key", "prefix"),
        pages=Paged("signals", "what the page before said"),
    ),
    Operation(
        "POST", "/signals", "operator", handlers.post_signal, LetterBody, status=202, headers=(KEY,), deed="signal"
    ),
    Operation(
        "GET",
        "/playbooks",
        "viewer",
        handlers.list_playbooks,
        query=("path", "newest"),
        pages=Paged("playbooks", "PATH@VERSION of the row before"),
        scope=WITHIN,
    ),
    Operation(
        "POST",
        "/playbooks",
        "operator",
        handlers.register,
        query=("name", "dry_run"),
        status=201,
        deed="register",
        scope=WITHIN,
    ),
    Operation("GET", "/playbooks/{path:path}", "viewer", handlers.get_plan_at, query=("version",), scope=PLAYBOOK),
    Operation("POST", "/plans", "operator", handlers.keep_plan, query=("name",), status=201, scope=WITHIN),
    Operation("GET", "/plans/{digest}", "viewer", handlers.get_plan, scope=PLAN),
    Operation("GET", "/plans/{digest}/outline", "viewer", watching.get_outline, scope=PLAN),
    Operation("GET", "/plans/{digest}/picture", "viewer", derived.get_picture, scope=PLAN),
    Operation("GET", "/plans/{digest}/source", "viewer", handlers.get_source, scope=PLAN),
    Operation("PUT", "/plans/{digest}/source", "operator", handlers.put_source, scope=PLAN),
    Operation("GET", "/plans/{digest}/verdicts", "viewer", derived.get_verdicts, scope=PLAN),
    Operation("GET", "/plans/{digest}/findings", "viewer", derived.get_findings, scope=PLAN),
    Operation("GET", "/plans/{digest}/metadata", "viewer", derived.get_metadata, scope=PLAN),
    Operation("GET", "/plans/{digest}/differences", "viewer", derived.get_differences, query=("from",), scope=PLAN),
    Operation("GET", "/findings/{code}", "viewer", derived.get_explanation, scope=OWN),
    Operation("POST", "/blobs", "viewer", handlers.get_blob, BlobBody, scope=WORK),
    Operation("PUT", "/blobs/{execution_id}", "worker", handlers.put_blob, status=201, scope=EXECUTION),
    Operation(
        "GET", "/workers", "viewer", handlers.list_workers, pages=Paged("workers", "the name of the worker before")
    ),
    Operation("GET", "/pools", "viewer", handlers.list_pools, pages=Paged("pools", "the name of the pool before")),
    Operation(
        "GET",
        "/credentials",
        "operator",
        named_secrets.list_credentials,
        pages=Paged("credentials", "the name of the credential before"),
    ),
    Operation(
        "GET", "/tokens", "admin", named_secrets.list_tokens, pages=Paged("tokens", "the name of the token before")
    ),
    Operation(
        "POST", "/workers/{worker}/drain", "operator", handlers.drain, status=202, deed="drain", is_recorded_first=True
    ),
    Operation("POST", "/sessions", "operator", sessions.create_session, SessionBody, status=201),
    Operation("POST", "/sessions/validate", "viewer", sessions.validate_session, SessionTokenBody),
    Operation("POST", "/sessions/activity", "operator", sessions.update_session, ActivityBody),
    Operation("POST", "/sessions/invalidate", "operator", sessions.invalidate_session, SessionTokenBody),
    Operation(
        "GET",
        "/users/{user_id:path}/sessions",
        "operator",
        sessions.list_sessions,
        pages=Paged("sessions", "what the page before said"),
    ),
    Operation(
        "GET",
        "/schedules",
        "viewer",
        scheduling.list_schedules,
        pages=Paged("schedules", "the name of the schedule before"),
        scope=WITHIN,
    ),
    Operation(
        "POST",
        "/schedules/{name:path}/pause",
        "operator",
        scheduling.pause_schedule,
        deed="schedule-pause",
        scope=WITHIN,
    ),
    Operation(
        "POST",
        "/schedules/{name:path}/resume",
        "operator",
        scheduling.resume_schedule,
        deed="schedule-resume",
        scope=WITHIN,
    ),
    Operation(
        "POST",
        "/schedules/{name:path}/backfill",
        "operator",
        scheduling.backfill,
        scheduling.BackfillBody,
        deed="backfill",
        scope=WITHIN,
    ),
    Operation(
        "POST",
        "/schedules/{name:path}/start",
        "operator",
        scheduling.start_schedule,
        status=201,
        headers=(KEY,),
        deed="start",
        scope=WITHIN,
    ),
    Operation("GET", "/schedules/{name:path}", "viewer", scheduling.get_schedule, scope=WITHIN),
    Operation(
        "PUT",
        "/schedules/{name:path}",
        "operator",
        scheduling.put_schedule,
        scheduling.ScheduleBody,
        deed="schedule-put",
        scope=WITHIN,
    ),
    Operation(
        "DELETE",
        "/schedules/{name:path}",
        "operator",
        scheduling.delete_schedule,
        status=204,
        deed="schedule-delete",
        scope=WITHIN,
    ),
    Operation(
        "GET",
        "/audit",
        "admin",
        auditing.list_audit,
        query=("who", "deed", "subject", "outcome", "since"),
        pages=Paged("audit", "the number of the row before", cursor="before", counts=True),
    ),
    Operation(
        "GET",
        "/triggers",
        "viewer",
        triggering.list_triggers,
        pages=Paged("triggers", "the name of the trigger before"),
        scope=WITHIN,
    ),
    Operation(
        "POST", "/triggers/{name:path}/pause", "operator", triggering.pause_trigger, deed="trigger-pause", scope=WITHIN
    ),
    Operation(
        "POST",
        "/triggers/{name:path}/resume",
        "operator",
        triggering.resume_trigger,
        deed="trigger-resume",
        scope=WITHIN,
    ),
    Operation(
        "POST",
        "/triggers/{name:path}/retry",
        "operator",
        triggering.retry_letters,
        triggering.DeadLettersBody,
        deed="trigger-retry",
        is_recorded_first=True,
        scope=WITHIN,
    ),
    Operation("GET", "/triggers/{name:path}", "viewer", triggering.get_trigger, scope=WITHIN),
    Operation(
        "PUT",
        "/triggers/{name:path}",
        "operator",
        triggering.put_trigger,
        triggering.TriggerBody,
        deed="trigger-put",
        scope=WITHIN,
    ),
    Operation(
        "DELETE",
        "/triggers/{name:path}",
        "operator",
        triggering.delete_trigger,
        status=204,
        deed="trigger-delete",
        scope=WITHIN,
    ),
    # Who may is said by the signature of the request.
    Operation("POST", "/hooks/{name:path}", "", triggering.receive, status=202),
    Operation(
        "GET",
        "/notifications",
        "viewer",
        notifications.list_notifications,
        pages=Paged("notifications", "the name of the notification before"),
        scope=WITHIN,
    ),
    *[
        Operation(
            "POST",
            f"/notifications/{{name:path}}/{verb}",
            "operator",
            handler,
            status=status,
            deed=f"notification-{verb}",
            is_recorded_first=verb == "test",
            scope=WITHIN,
        )
        for verb, handler, status in (
            ("pause", notifications.pause_notification, 200),
            ("resume", notifications.resume_notification, 200),
            ("test", notifications.test_notification, 202),
        )
    ],
    Operation("GET", "/notifications/{name:path}", "viewer", notifications.get_notification, scope=WITHIN),
    Operation(
        "PUT",
        "/notifications/{name:path}",
        "operator",
        notifications.put_notification,
        notifications.NotificationBody,
        deed="notification-put",
        scope=WITHIN,
    ),
    Operation(
        "DELETE",
        "/notifications/{name:path}",
        "operator",
        notifications.delete_notification,
        status=204,
        deed="notification-delete",
        scope=WITHIN,
    ),
    Operation(
        "GET",
        "/namespaces",
        "viewer",
        namespaces.list_namespaces,
        pages=Paged("namespaces", "the name of the namespace before"),
        scope=WITHIN,
    ),
    Operation("POST", "/namespaces/{name:path}/pause", "admin", namespaces.pause_namespace, deed="namespace-pause"),
    Operation("POST", "/namespaces/{name:path}/resume", "admin", namespaces.resume_namespace, deed="namespace-resume"),
    Operation("GET", "/namespaces/{name:path}", "viewer", namespaces.get_namespace, scope=WITHIN),
    Operation(
        "PUT",
        "/namespaces/{name:path}",
        "admin",
        namespaces.put_namespace,
        namespaces.NamespaceBody,
        deed="namespace-put",
    ),
    Operation(
        "DELETE",
        "/namespaces/{name:path}",
        "admin",
        namespaces.delete_namespace,
        status=204,
        deed="namespace-delete",
    ),
    Operation(
        "GET",
        "/dead-letters",
        "viewer",
        notifications.list_dead_letters,
        pages=Paged("dead_letters", "the number of the dead letter before", counts=True),
    ),
    Operation(
        "POST",
        "/dead-letters/{number}/retry",
        "operator",
        notifications.retry_dead_letter,
        status=202,
        deed="dead-letter-retry",
        is_recorded_first=True,
    ),
    Operation(
        "DELETE",
        "/dead-letters/{number}",
        "operator",
        notifications.drop_dead_letter,
        status=204,
        deed="dead-letter-drop",
        is_recorded_first=True,
    ),
    Operation("POST", "/purge", "admin", purging.purge, purging.PurgeBody, deed="purge"),
    Operation("POST", "/stop", "admin", handlers.stop, status=202, deed="stop", is_recorded_first=True),
)


def application(
    service: ApiService,
    authorization: Authorization,
    say: Callable[[str], None],
    kept: Sessions,
    connections: Callable[[], tuple[int, int]] = lambda: (0, 0),
    purger: Purger | None = None,
    oidc: oidc_sign_in.OidcSignIn | None = None,
) -> Starlette:
    """The ASGI application over a service and the sessions of users. `say` hears of errors of ours; `connections` gives
    how many there are, and how many were dropped for there being too many. `purger` is who purges; without one nothing
    is archived. `oidc` signs people in to the page.
    """
    routes = [
        Route(
            row.path,
            measured(row, with_problems(_authorized(row, authorization), say), service.measures),
            methods=[row.method],
            name=row.handler.__name__,
        )
        for row in ROUTES
    ]
    # Starlette answers these two in plain text, and a client of this API reads problems.
    app = Starlette(routes=[*routes, *page_routes()], exception_handlers={404: _failed, 405: _failed})
    app.state.service = service
    app.state.authorization = authorization
    app.state.oidc = oidc
    app.state.lasting = Lasting()
    app.state.watching = watching.Watching(service, service.runtime)
    app.state.derived = derived.Derived(service)
    app.state.streams = Streams(service)
    app.state.connections = connections
    app.state.sessions = sessions.SessionBook(kept)
    app.state.operations = ROUTES
    app.state.purger = purger or Purger(service.runtime)
    app.state.schedules = ScheduleBook(service.runtime, WallClock())
    app.state.auditor = auditing.Auditor(service.runtime.store)
    app.state.starter = scheduling.starter_of(service, say)
    app.state.triggers = TriggerBook(service.runtime, WallClock())
    app.state.trigger_starter = triggering.trigger_starter_of(service, say)
    app.state.hook_secrets = HookSecrets(service.runtime.secrets_path)
    return app


def _authorized(row: Operation, authorization: Authorization) -> Handler:
    async def authorized(request: Request) -> Response:
        auditor = auditing.auditor_of(request)
        try:
            return await let_through(request, auditor)
        except Exception as error:
            await auditor.record_refusal(request, row, error)
            raise

    async def let_through(request: Request, auditor: auditing.Auditor) -> Response:
        token: BearerToken | None = None
        if row.role:
            # The token is checked before the query, the body or the names in the path: whoever has none learns
            # nothing of what is here.
            token = request.state.token = authorization.check(request, row.role, row.scope)
            _check_query(row, request)
        # A stream lasts for an hour. It asks again and again, so that a token that was taken back ends it.
        request.state.may_go_on = lambda: not row.role or authorization.lets(request, row.role, row.scope)
        scope = await admitted(request, row, token)
        if row.is_recorded_first:
            await auditor.record(request, row.deed)
        with auditor.acting(request, row), keeping_to(scope):
            response = await row.handler(request)
        check_heeded(row, scope, token)
        return response

    return authorized


def _check_query(row: Operation, request: Request) -> None:
    """Raises BadRequest for a parameter that the operation does not have, or that comes twice: left out of a filter, it
    would show more.
    """
    known = (*row.query, *(("limit", row.pages.cursor) if row.pages is not None else ()))
    for name in request.query_params:
        if name not in known:
            there = ", ".join(f"`{one}`" for one in known) or "none"
            raise BadRequest(f"unknown query parameter `{name}`; known here: {there}", 400)
        if len(request.query_params.getlist(name)) > 1:
            raise BadRequest(f"the query parameter `{name}` is there twice: which one is meant?", 400)


async def _failed(request: Request, error: Exception) -> Response:
    return problem_of(error)
