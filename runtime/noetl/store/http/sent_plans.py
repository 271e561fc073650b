"""Plans that are given to a server, with the sources that they and what they embed were compiled from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from noetl.ports import StoreFailure
from noetl_ir.expr import Json
from noetl_ir.plan_format import digest_of
from noetl_ir.plan_sources import write_sources

if TYPE_CHECKING:
    from noetl.store.http import Connection


def sent_plan(connection: Connection, path: str, plan: bytes, sources: Mapping[str, bytes]) -> dict[str, Json]:
    """Give a plan to the catalogue of a server (`/playbooks`) or have it kept (`/plans`); what it says of it. The plan
    and the `sources`, by the digests of their plans, go in one request. Raises StoreFailure.
    """
    if not sources:
        return connection.object_of(connection.ask("POST", path, raw=plan))
    try:
        return connection.object_of(connection.ask("POST", path, raw=write_sources(sources, plan)))
    except StoreFailure as problem:
        if type(problem) is not StoreFailure:  # no refusal: it may have been done
            raise
    # An older server knows nothing of several sources, and one that refuses the plan says so again.
    row = connection.object_of(connection.ask("POST", path, raw=plan))
    if source := sources.get(digest_of(plan)):
        connection.ask("PUT", f"/plans/{row['playbook_id']}/source", raw=source)
    return row
