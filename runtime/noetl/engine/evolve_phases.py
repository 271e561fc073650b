"""Folding the phases behind main: what is left of the one before, and the token that the next begins with."""

from noetl.engine import evolve_compensation as compensation
from noetl.engine.contributions import settle_all
from noetl.engine.event_data import mapping_of
from noetl.engine.execution import WHOLE, Arrival, Execution, JsonObject, Timer, limit_of
from noetl.engine.lines import Line
from noetl.engine.marking import IllegalFiring
from noetl.engine.program import Program
from noetl_ir.events import Event
from noetl_ir.expr import Json
from noetl_ir.projections import told
from noetl_ir.words import COMPENSATION, FINALLY, MAIN


def phase_started(program: Program, execution: Execution, event: Event) -> None:
    """A phase begins with one token, and with nothing of the phase before."""
    data = event.data
    if execution.leaving:
        raise IllegalFiring("a child of the phase before is not over")
    name = str(data["phase"])
    starts = {phase.name: phase.step for phase in program.plan.phases}
    if program.plan.compensations:
        starts[COMPENSATION] = -1
    if starts.get(name) != event.step:
        raise IllegalFiring(f"the plan has no phase `{name}` that begins here")
    if not execution.main:
        _end_main(program, execution, data)
    execution.main = {key: value for key, value in execution.main.items() if key != "faulty_result"}
    settle_all(program, execution)
    _leave(execution)
    execution.phase = name
    execution.closing = False
    if name == COMPENSATION:
        execution.marking.clear()
    else:
        enter(program, execution, event, _args_of(execution, name))
    if execution.after_limit is not None:
        execution.timers[limit_of(execution)] = Timer(event.ts + execution.after_limit, WHOLE, -1, event.ts)


def compensation_started(program: Program, execution: Execution, event: Event) -> None:
    """The region that undoes a run begins with one token, and with nothing of the compensation before."""
    if execution.phase != COMPENSATION or execution.leaving:
        raise IllegalFiring("nothing is compensated now")
    args = compensation.started(program, execution, event.step, str(event.data["run"]))
    _leave_compensation(execution)
    execution.closing = False
    enter(program, execution, event, args)


def compensation_done(program: Program, execution: Execution, event: Event) -> None:
    """The compensation of a run is over; the next one waits for the phases of children that it called off."""
    compensation.done(execution, event.data)
    if execution.leaving:
        _leave_compensation(execution)
        execution.closing = True


def _leave_compensation(execution: Execution) -> None:
    """As a phase is left, but for the time limit of all compensations."""
    name = limit_of(execution)
    limit = execution.timers.get(name)
    _leave(execution)
    if limit is not None:
        execution.timers[name] = limit


def child_started(program: Program, execution: Execution, event: Event) -> None:
    """A task has called a child that may outlive a cancel."""
    if event.run not in execution.parked or event.run in execution.children:
        raise IllegalFiring(f"`{event.run}` calls no child")
    execution.children[event.run] = str(event.data["child"])


def child_ended(program: Program, execution: Execution, event: Event) -> None:
    """A child that was called off is over."""
    child = str(event.data["child"])
    if execution.leaving.pop(child, None) is None:
        raise IllegalFiring(f"nobody waits for the end of child {child}")


def _end_main(program: Program, execution: Execution, data: JsonObject) -> None:
    execution.remembered = compensation.memories(program, execution)
    told = ("status", "error", "reason", "result", "faulty_result")
    execution.main = {key: data[key] for key in told if key in data and (key != "error" or data[key] is not None)}
    if "result" in data:
        execution.declared = data["result"]


def enter(program: Program, execution: Execution, event: Event, args: JsonObject) -> None:
    """Put the entry token of a region that a phase runs, and nothing else but what joins have from the start."""
    net, key = program.plan.net, event.run
    execution.marking.clear()
    for place, count in net.initial:
        if program.columns.places.roles[place] != "in":
            execution.marking.put(place, "", count)
    entrance = program.entry_place(event.step)
    execution.marking.put(entrance, key)
    bringing: JsonObject = {"name": event.event_type, "status": "ok", "ts": event.ts}
    # Its line is its own: the result of the execution is that of main.
    execution.arrivals[key] = Arrival(args, bringing, Line())
    execution.agenda.append((entrance, key))
    execution.next_key = max(execution.next_key, int(key) + 1)


def _leave(execution: Execution) -> None:
    """Nothing that ran, waited or was to come goes over into the next phase; results, `ctx` and signals do."""
    for table in (
        execution.agenda, execution.arrivals, execution.runs, execution.left, execution.regions, execution.loops,
        execution.timers, execution.waiting, execution.queues, execution.holding, execution.sections, execution.parked,
        execution.ready, execution.calling, execution.to_judge, execution.waits, execution.transient, execution.waves,
        execution.children,
    ):  # fmt: skip
        table.clear()
    execution.mail.unlist_all()
    execution.failure = None
    execution.terminated = ""
    # A pause ends with a cancel: who cancels wants it to end.
    execution.cancelled = execution.paused = execution.paused_by_caller = False


def _args_of(execution: Execution, phase: str) -> JsonObject:
    """The args that the first token of a phase brings."""
    status, error = str(execution.main["status"]), _error_of(execution.main)
    if phase == FINALLY:
        result = told(execution.last_result) if status == "completed" else None
        return {"status": status, "error": error, "result": result}
    step = error.get("step") if isinstance(error, dict) else None
    return {"status": status, "error": error, "step": step}


def _error_of(main: JsonObject) -> Json:
    """The failure of main, or why it was blocked or cancelled in the same form; null where it completed."""
    if "error" in main:
        return main["error"]
    return {"code": main["status"], "message": main["reason"]} if "reason" in main else None


def phase_ended(program: Program, execution: Execution, event: Event) -> None:
    """The end of a phase stands beside the status."""
    data = event.data
    # What the last compensation called off is over, and nothing is left to undo.
    if execution.phase == COMPENSATION and not execution.leaving:
        execution.closing = False
    if execution.closing or data["phase"] != execution.phase:
        raise IllegalFiring(f"phase `{data['phase']}` does not run")
    if execution.leaving:
        execution.closing = True
    elif execution.phase == MAIN:
        raise IllegalFiring("main ends with what follows it where no child is left")
    if execution.phase == MAIN:
        _end_main(program, execution, data)
        settle_all(program, execution)
        _leave(execution)
        return
    row: dict[str, Json] = {"phase": execution.phase, "status": data["status"]}
    if "error" in data:
        row["error"] = mapping_of(data["error"])
    row.update({key: data[key] for key in ("reason", "left") if key in data})
    execution.after = [*execution.after, row]
    if execution.closing:
        _leave(execution)
