"""Migrations over the API: whether an execution can go on under another plan, and the request to do so."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from noetl.api.bodies import MigrationBody, body_of
from noetl.api.handlers import execution_of, lasting_of, service_of
from noetl.api.problems import Rejected
from noetl.api.responses import JSONResponse
from noetl.api.scoping import check_start
from noetl.api.service import ApiService, Start, faults_told
from noetl.app.migrations import PlannedMigration, planned_migration
from noetl.server.migrations import MIGRATE, asks_to_migrate


async def migrate_execution(request: Request) -> Response:
    """Have an execution that is not over go on under another plan, where its log is a legal run of that one, too; with
    `dry_run` only say whether it could. Whoever drives it looks again, and its log tells what came of it.
    """
    body, execution_id = await body_of(request, MigrationBody), execution_of(request)
    planned = await lasting_of(request).run(migrate, service_of(request), execution_id, body)
    return JSONResponse(planned.as_json(), 200 if body.dry_run else 202)


def migrate(service: ApiService, execution_id: str, body: MigrationBody) -> PlannedMigration:
    """Look at a migration, and ask for it unless something hinders. Raises Unknown, Rejected, Faulty, StoreFailure."""
    row = service.execution_row(execution_id)
    with faults_told():
        digest = service.digest_of_start(Start(body.playbook_id or "", body.path or "", body.version, {}))
        program = service.runtime.programs.load(digest)
        check_start(service.runtime, program)
        planned = planned_migration(service.runtime, row, program)
    if not body.dry_run:
        hindrances = [*(one.as_text() for one in planned.hindrances), *service.unable(program)]
        if hindrances:
            raise Rejected("; ".join(["it stays with its plan", *hindrances]))
        service.ask(execution_id, MIGRATE, asks_to_migrate(digest))
    return planned
