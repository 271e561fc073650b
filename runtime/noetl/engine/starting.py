"""How an execution begins: the request, the workload made of defaults and payload, the entry token."""

from noetl.engine.program import Program
from noetl.engine.scope import keychain_scope, workload_scope
from noetl.engine.turn import Turn
from noetl_ir.evaluate import Fault
from noetl_ir.expr import Json, Literal, MapTemplate
from noetl_ir.rows import NamedTuple


class Request(NamedTuple):
    """A request to run a plan. `parent` is the execution and token key of the calling task, `call` tells its attempt
    from all others of that execution; `depth` counts callers; `return_step` is the step whose result the caller wants,
    the last one's when empty; `detached` says that the caller does not wait, `scripted` that a script stands in for
    tools and the clock is a virtual one."""

    payload: dict[str, Json]
    parent: tuple[str, str] | None = None
    depth: int = 0
    iter_parent: dict[str, Json] | None = None
    trace_id: str = ""
    return_step: str = ""
    detached: bool = False
    scripted: bool = False
    call: str = ""


def start(turn: Turn, request: Request) -> None:
    """Record the request and the workload, and put the entry token; a workload with a fault fails the run."""
    program, plan = turn.program, turn.program.plan
    data: dict[str, Json] = {
        "playbook": plan.name,
        "path": plan.path,
        "digest": program.digest,
        "payload": request.payload,
    }
    data["trace_id"] = request.trace_id or turn.execution.execution_id
    if request.parent is not None:
        data.update(parent=list(request.parent), depth=request.depth, iter_parent=request.iter_parent)
    if request.call:
        data["call"] = request.call
    if request.return_step:
        data["return_step"] = request.return_step
    if request.detached:
        data["detached"] = True
    if request.scripted:
        data["scripted"] = True
    turn.emit("playbook.execution.requested", data=data)
    try:
        workload = _workload(turn, request.payload)
    except Fault as fault:
        error: Json = {"code": fault.code, "message": fault.message}
        turn.emit("workflow.finished", data={"status": "failed", "error": error})
        turn.emit("playbook.processed")
        return
    turn.emit("playbook.request.evaluated", data={"workload": workload})
    turn.emit("workflow.started", step=plan.entry, run="1")


def rendered_keychain(
    program: Program, execution_id: str, workload: dict[str, Json]
) -> list[tuple[str, str, dict[str, Json]]]:
    """The declared keychain: name, kind and fields, rendered over the workload. Raises Fault."""
    scope = keychain_scope(execution_id, workload)
    rendered = []
    for entry in program.plan.keychain:
        fields = program.value(entry.fields)(scope) if entry.fields >= 0 else {}
        rendered.append((entry.name, entry.kind, fields if isinstance(fields, dict) else {}))
    return rendered


def _workload(turn: Turn, payload: dict[str, Json]) -> dict[str, Json]:
    """Defaults rendered once in dependency order, the payload deep-merged over them and never rendered."""
    plan = turn.program.plan
    merged: dict[str, Json] = {}
    template = plan.templates[plan.workload] if plan.workload >= 0 else Literal({})
    if isinstance(template, Literal):
        defaults = template.value if isinstance(template.value, dict) else {}
        return {str(key): value for key, value in _merge(defaults, payload).items()}
    if not isinstance(template, MapTemplate):
        raise Fault("workload", "the workload is no mapping")
    parts = dict(template.items)
    for key in plan.workload_order:
        over = payload.get(key)
        if key in payload and not isinstance(over, dict):
            merged[key] = over
            continue
        try:
            value = turn.program.part(parts[key])(workload_scope(turn, merged))
        except Fault as fault:
            raise Fault(fault.code, f"`workload.{key}`: {fault.message}", fault.path) from None
        merged[key] = (
            _merge(value, over)
            if isinstance(value, dict) and isinstance(over, dict)
            else (over if key in payload else value)
        )
    ordered = {key: merged[key] for key in parts}
    return {**ordered, **{key: value for key, value in payload.items() if key not in parts}}


def _merge(inner: dict[str, Json], over: dict[str, Json]) -> dict[str, Json]:
    """Deep merge: mappings merge, everything else is replaced. Depth is bounded by the decoders' limits."""
    merged = dict(inner)
    for key, value in over.items():
        there = merged.get(key)
        merged[key] = _merge(there, value) if isinstance(there, dict) and isinstance(value, dict) else value
    return merged
