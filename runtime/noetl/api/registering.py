"""Plans and playbooks that come over the API: registered as versions of their paths, or kept by their digests alone."""

from __future__ import annotations

from noetl.api.problems import Rejected
from noetl.api.scoping import check_registration
from noetl.api.service import ApiService, faults_told
from noetl.app.documents import version_document
from noetl.engine.program import Program
from noetl.ports.catalogue import PlanRow
from noetl_ir.expr import Json
from noetl_ir.plan_format import MAGIC


def register(service: ApiService, data: bytes, name: str) -> dict[str, Json]:
    """Keep a plan, or that of a playbook, as the newest version of its path; the row of the catalogue. Raises Faulty,
    Rejected, StoreFailure.
    """
    program, source = _program_of(service, data, name)
    path, runtime = program.plan.path or program.plan.name, service.runtime
    with faults_told(), service.storing():
        runtime.programs.add_program(program, source)
        version = runtime.store.put_plan(program.digest, path, program.bytes, registered=True)
    return version_document(PlanRow(path, version, program.digest))


def keep_plan(service: ApiService, data: bytes, name: str) -> dict[str, Json]:
    """Keep a plan, or that of a playbook, for executions that are to go on under it: it is no version of its path.
    Raises Faulty, StoreFailure, and Rejected for a path that has none.
    """
    program, source = _program_of(service, data, name)
    path, store = program.plan.path or program.plan.name, service.runtime.store
    with faults_told(), service.storing():
        if store.plan_at(path) is None:
            raise Rejected(f"there is no playbook `{path}` here: register it first")
        store.keep_plan(program.digest, path, program.bytes)
        if source:
            store.put_source(program.digest, source)
    return {"playbook_id": program.digest, "path": path}


def _program_of(service: ApiService, data: bytes, name: str) -> tuple[Program, bytes]:
    """The program of a plan, or of a playbook that is compiled, with its source. It is verified before anything is
    kept: whatever the catalogue names can be run.
    """
    # The bytes tell what they are. A content type may be missing or wrong, and no YAML begins like a plan.
    compiled = not data.startswith(MAGIC)
    plan = service.compiled(data, name) if compiled else data
    with faults_told():
        program = service.runtime.programs.read_plan(plan, compiled=compiled)
        check_registration(service.runtime, program)
    return program, data if compiled else b""
