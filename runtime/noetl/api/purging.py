"""Purges over the API: executions that are over, by id or by how they stand, some at a time."""

from itertools import islice
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator
from starlette.requests import Request
from starlette.responses import Response

from noetl.api.bodies import Body, body_of
from noetl.api.handlers import lasting_of, service_of
from noetl.api.problems import Rejected, Unknown
from noetl.api.responses import JSONResponse
from noetl.app.clock import WallClock
from noetl.app.retention import ANY, Purger, RetentionRule, age_of, no_root
from noetl.app.runtime import Runtime
from noetl.ports import ExecutionRow
from noetl_ir.expr import Json

MOST = 1_000
"""The most families of executions that one request purges."""

_Status = Literal["blocked", "failed", "cancelled", "completed"]


class PurgeBody(Body):
    """Executions that are over: by id, or by status, age and playbook."""

    executions: Annotated[list[Annotated[str, Field(min_length=1, max_length=512)]], Field(max_length=MOST)] = Field(
        default_factory=list, description="Ids of executions that no other one called."
    )
    status: _Status | None = Field(None, description="Those that ended so.")
    older_than: str | None = Field(None, description="Those that have been over for so long: `30d`, `36h`, `90m`.")
    playbook: Annotated[str, Field(min_length=1, max_length=512)] | None = Field(
        None, description="Those of playbooks whose path fits: `etl/*`."
    )
    limit: int = Field(100, ge=1, le=MOST, description="At most so many, with all that they called.")
    before: Annotated[str, Field(max_length=512)] = Field(
        "", description="Without `executions`: `next` of the last response, behind what was kept until then."
    )
    dry_run: bool = Field(False, description="Say what would go, and purge nothing.")

    @field_validator("older_than")
    @classmethod
    def _lasts(cls, value: str | None) -> str | None:
        if value is not None and age_of(value) is None:
            raise ValueError("write a duration as in `30d`, `36h` or `90m`")
        return value

    @model_validator(mode="after")
    def _one(self) -> "PurgeBody":
        by_filter = any(value is not None for value in (self.status, self.older_than, self.playbook))
        if bool(self.executions) == by_filter:
            raise ValueError("give `executions`, or at least one of `status`, `older_than` and `playbook`")
        return self

    @property
    def rule(self) -> RetentionRule:
        """The filter, as a rule of retention."""
        return RetentionRule(self.playbook or "*", self.status or ANY, age_of(self.older_than or "0") or 0)


async def purge(request: Request) -> Response:
    """Remove executions that are over, with all that they called, their values and output. `more` says that there are
    others to purge, and `next` what to give as `before`, so that what is kept is not looked at again.
    """
    body = await body_of(request, PurgeBody)
    purger: Purger = request.app.state.purger
    # A long log takes its time, and the threads of others are few.
    return JSONResponse(await lasting_of(request).run(_purged, purger, service_of(request).runtime, body))


def _purged(purger: Purger, runtime: Runtime, body: PurgeBody) -> dict[str, Json]:
    if body.executions:
        found = [_root(runtime, name) for name in dict.fromkeys(body.executions)]
    else:
        found = [*islice(purger.expired([body.rule], WallClock().now(), body.before), body.limit + 1)]
    roots = found[: body.limit]
    rest: dict[str, Json] = {"more": len(found) > body.limit}
    if body.dry_run:
        if rest["more"]:
            rest["next"] = roots[-1].execution_id
        families: list[Json] = [[row.execution_id for row in purger.family(root)] for root in roots]
        return {"would_purge": families, **rest}
    done = purger.purge(roots)
    if rest["more"]:  # what was purged is nothing to go on behind
        rest["next"] = done.kept[-1].execution_id if done.kept else body.before or None
    kept: list[Json] = [{"execution_id": each.execution_id, "why": each.why} for each in done.kept]
    return {"executions": done.executions, "bytes": done.size, "kept": kept, **rest}


def _root(runtime: Runtime, name: str) -> ExecutionRow:
    """An execution that is over and that nobody called. Raises Unknown, Rejected."""
    row = runtime.store.execution(name)
    if row is None:
        raise Unknown(f"there is no execution `{name}`")
    if why := no_root(row):
        raise Rejected(why)
    return row
