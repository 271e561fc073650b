"""Plans and playbooks that come over the API: registered as versions of their paths, or kept by their digests alone."""

from __future__ import annotations

from collections.abc import Mapping

from noetl.api.problems import Faulty, Rejected
from noetl.api.scoping import check_registration
from noetl.api.service import ApiService, faults_told
from noetl.app.documents import version_document
from noetl.engine.program import Program
from noetl.ports.catalogue import PlanRow, Versions
from noetl_ir.expr import Json
from noetl_ir.plan_format import MAGIC
from noetl_ir.plan_sources import BadSources, is_sources, read_sources


def register(service: ApiService, data: bytes, name: str) -> dict[str, Json]:
    """Keep a plan, or that of a playbook, as the newest version of its path; the row of the catalogue. Raises Faulty,
    Rejected, StoreFailure.
    """
    program, sources = _program_of(service, data, name)
    with faults_told(), service.storing():
        version = service.runtime.programs.add_program(program, sources, registered=True)
    return version_document(PlanRow(program.plan.path or program.plan.name, version, program.digest))


def looked_at(service: ApiService, data: bytes, name: str) -> dict[str, Json]:
    """The row that registering a plan, or a playbook, would have; nothing is kept. Raises Faulty, Rejected."""
    program, _ = _program_of(service, data, name)
    path = program.plan.path or program.plan.name
    newest = next(iter(service.runtime.store.plans(Versions(path, newest=True, limit=1))), None)
    version = 1 if newest is None else newest.version + (newest.digest != program.digest)
    return version_document(PlanRow(path, version, program.digest))


def keep_plan(service: ApiService, data: bytes, name: str) -> dict[str, Json]:
    """Keep a plan, or that of a playbook, for executions that are to go on under it: it is no version of its path.
    Raises Faulty, StoreFailure, and Rejected for a path that has none.
    """
    program, sources = _program_of(service, data, name)
    path, runtime = program.plan.path or program.plan.name, service.runtime
    with faults_told(), service.storing():
        if runtime.store.plan_at(path) is None:
            raise Rejected(f"there is no playbook `{path}` here: register it first")
        runtime.programs.keep_program(program, sources)
    return {"playbook_id": program.digest, "path": path}


def _program_of(service: ApiService, data: bytes, name: str) -> tuple[Program, Mapping[str, bytes]]:
    """The program of a plan, alone or behind its sources, or of a playbook that is compiled; with the sources of it and
    of what it embeds. It is verified before anything is kept: whatever the catalogue names can be run.
    """
    # The bytes tell what they are. A content type may be missing or wrong, and no YAML begins like a plan.
    sources: Mapping[str, bytes] = {}
    if is_sources(data):
        try:
            sources, data = read_sources(data)
        except BadSources as problem:
            raise Faulty(f"the sources of the plan cannot be read: {problem}") from None
    compiled = not sources and not data.startswith(MAGIC)
    if compiled:
        data, sources, _ = service.compiled(data, name)
    with faults_told():
        program = service.runtime.programs.read_plan(data, compiled=compiled)
        check_registration(service.runtime, program)
    return program, sources
