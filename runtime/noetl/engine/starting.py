"""How an execution begins: the request, the workload made of defaults and payload, the entry token."""

from noetl.engine.execution import Execution
from noetl.engine.phases import finish
from noetl.engine.places import begin_main, wanted
from noetl.engine.program import Program
from noetl.engine.scope import keychain_scope, workload_scope
from noetl.engine.turn import Turn
from noetl.engine.whole import KeyedFault, about, error_of, initial_key, message_at
from noetl.engine.workload import MISSING, RenderedWorkload, defaults, render, variables_of
from noetl_ir.evaluate import Fault
from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple
from noetl_ir.reducing import CODE, reduced_value, start_fault
from noetl_ir.scopes.values import ResultView


class Request(NamedTuple):
    """A request to run a plan.

    - `parent`: execution id and token key of the calling task; `call`: the name of its attempt, unique in that
      execution; `depth`: how many callers there are; `detached`: the caller does not wait.
    - `return_step`: the step whose result the caller wants; the last one's when empty.
    - `scripted`: a script stands in for tools, and the clock is virtual.
    - `env`: the environment variables that the workload reads and that the operator allows.
    - `folder`: the folder of the playbook's file, relative to the root that tools' paths stay inside; absolute outside
      of that root, empty where it is the root or not known.
    - `rerun_of`: the execution whose log the new one begins with, empty for none.
    - `started_by`: what started it where that was no person (a schedule and its time), None else.
    - `labels`: texts that it is found by, beside those of its playbook.
    - `digest`: that of the plan that it began with, where it was moved to another one since; else empty.
    - `under`: the `concurrency` keys of the places that it runs under, each with the execution that holds the place.
    """

    payload: dict[str, Json]
    parent: tuple[str, str] | None = None
    depth: int = 0
    iter_parent: dict[str, Json] | None = None
    trace_id: str = ""
    return_step: str = ""
    detached: bool = False
    scripted: bool = False
    call: str = ""
    env: dict[str, Json] | None = None
    folder: str = ""
    under: tuple[tuple[str, str], ...] = ()
    rerun_of: str = ""
    started_by: dict[str, Json] | None = None
    labels: dict[str, str] | None = None
    digest: str = ""


def start(turn: Turn, request: Request) -> None:
    """Record the request and the workload, and put the entry token; a workload with a fault fails the run."""
    record_request(turn, request)
    # The request is in the log before anything of it is evaluated: a start that fails is an execution that can be
    # looked at.
    rendered = _rendered(turn, request)
    if rendered.faults:
        _fail(turn, rendered.faults[0])
        return
    evaluated: dict[str, Json] = {"workload": rendered.workload}
    try:
        if initial := _initial(turn, rendered.workload):
            evaluated["ctx"] = initial
        place = wanted(turn, rendered.workload)
        # Its caller's place is its own.
        if place is not None and place["key"] not in dict(request.under):
            evaluated["place"] = place
    except Fault as fault:
        _fail(turn, fault)
        return
    turn.emit("playbook.request.evaluated", data=evaluated)
    if turn.execution.place.asked is None:
        begin_main(turn)


def _initial(turn: Turn, workload: dict[str, Json]) -> dict[str, Json]:
    """The values that reduced keys of `ctx` begin with, where the playbook says which. Raises Fault."""
    found: dict[str, Json] = {}
    for row in turn.program.plan.reducers:
        if row.initial < 0:
            continue
        where = initial_key(row.key)
        try:
            found[row.key] = turn.program.value(row.initial)(workload_scope(turn, workload, None))
        except Fault as fault:
            raise about(where, fault) from None
        if why := start_fault(row.reduce, found[row.key]):
            raise KeyedFault(CODE, f"`{where}`: {why}", key=where)
        if row.reduce == "union":
            found[row.key] = reduced_value("union", [], found[row.key])
    return found


def _fail(turn: Turn, fault: Fault) -> None:
    finish(turn, {"status": "failed", "error": error_of(fault)})


def record_request(turn: Turn, request: Request) -> None:
    """Record the request."""
    program, plan = turn.program, turn.program.plan
    data: dict[str, Json] = {
        "playbook": plan.name,
        "path": plan.path,
        "digest": request.digest or program.digest,
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
    if request.env:
        data["env"] = request.env
    if request.under:
        data["under"] = [list(pair) for pair in request.under]
    if request.folder:
        data["folder"] = request.folder
    if request.rerun_of:
        data["rerun_of"] = request.rerun_of
    if request.started_by:
        data["started_by"] = request.started_by
    if request.labels:
        data["labels"] = dict(request.labels)
    turn.emit("playbook.execution.requested", data=data)


def unmet(program: Program, execution_id: str, request: Request) -> tuple[str, ...]:
    """The faults of what a request brings, a sentence each: inputs that must be brought, names and values that may not
    be, variables that are not there or not allowed.

    What else is wrong with a workload ends its run, and is told there.
    """
    # A turn that is thrown away: it finds out what would be missing, before anything is recorded.
    turn = Turn(program, Execution(execution_id, program), 0)
    return tuple(message_at(program.plan, fault) for fault in _rendered(turn, request).faults if fault.code == MISSING)


def defaults_of(program: Program, now: int) -> dict[str, Json]:
    """The values of the workload that nobody has to bring, as a start at `now` (microseconds since the epoch) would
    have them; without those that read what has to be brought, or the environment.
    """
    turn = Turn(program, Execution("", program), now)
    variables: dict[str, Json] | None = {} if variables_of(program) else None
    try:
        return defaults(program, lambda settled: workload_scope(turn, settled, variables))
    except Fault:
        return {}


def _rendered(turn: Turn, request: Request) -> RenderedWorkload:
    try:
        variables = (request.env or {}) if variables_of(turn.program) else None
        return render(turn.program, request.payload, lambda settled: workload_scope(turn, settled, variables))
    except Fault as fault:
        return RenderedWorkload({}, (fault,))


def keychain_fields(
    program: Program, execution_id: str, workload: dict[str, Json], name: str, keychain: ResultView
) -> dict[str, Json]:
    """The fields of the declared entry `name`, rendered over the workload and what `keychain` gives of the others.
    Raises Fault.
    """
    scope = keychain_scope(execution_id, workload, keychain)
    fields = next((entry.fields for entry in program.plan.keychain if entry.name == name), -1)
    rendered = program.value(fields)(scope) if fields >= 0 else {}
    return rendered if isinstance(rendered, dict) else {}
