"""Folding the events of the execution, its tokens and its step runs (LANGUAGE §3)."""

from noetl.engine.contributions import settle, settle_all
from noetl.engine.event_data import labels_in, mapping_of, places_of, texts_of
from noetl.engine.evolve_compensation import remember
from noetl.engine.evolve_locks import ask_longest, begin_waiting, leave_gate
from noetl.engine.evolve_loops import call_off, call_off_all, end_all, hush, hush_run, keep_result, keep_row, unpark
from noetl.engine.execution import INTERRUPT, WHOLE, Arrival, Execution, JsonObject, Region, Run, Timer
from noetl.engine.lines import Line, merged_lines
from noetl.engine.marking import IllegalFiring
from noetl.engine.program import Program
from noetl.engine.views import counts_of, errors_of, terminal_event
from noetl_ir.events import Event
from noetl_ir.expr import Json
from noetl_ir.outcome import is_reference
from noetl_ir.plan import later_entries
from noetl_ir.projections import as_data
from noetl_ir.reducing import start_of
from noetl_ir.words import MAIN


def requested(program: Program, execution: Execution, event: Event) -> None:
    data = event.data
    execution.plan_digest = str(data["digest"])
    execution.status = "running"
    execution.started = event.ts
    parent = data.get("parent")
    if isinstance(parent, list):
        execution.parent = (str(parent[0]), str(parent[1]))
    execution.trace_id = str(data["trace_id"])
    depth = data.get("depth", 0)
    execution.children_depth = depth if isinstance(depth, int) else 0
    execution.return_step = program.step_numbers.get(str(data.get("return_step", "")), -1)
    execution.detached = data.get("detached") is True
    execution.scripted = data.get("scripted") is True
    execution.folder = str(data.get("folder", ""))
    execution.rerun_of = str(data.get("rerun_of", ""))
    execution.started_by = mapping_of(data.get("started_by", {}))
    execution.labels = labels_in(data)
    execution.place.under = places_of(data.get("under"))
    outer = data.get("iter_parent")
    execution.iter_parent = outer if isinstance(outer, dict) else None


def evaluated(program: Program, execution: Execution, event: Event) -> None:
    execution.workload = mapping_of(event.data["workload"])
    place = event.data.get("place")
    execution.place.asked = place if isinstance(place, dict) else None
    initial = mapping_of(event.data.get("ctx", {}))
    execution.ctx = {key: initial.get(key, start_of(reduce)) for key, reduce in program.reducers.items()}


def placed(program: Program, execution: Execution, event: Event) -> None:
    execution.place.asked, execution.place.holds = None, str(event.data["key"])


def queued(program: Program, execution: Execution, event: Event) -> None:
    execution.place.queued_behind = texts_of(event.data["holders"])


def refused(program: Program, execution: Execution, event: Event) -> None:
    execution.place.refused = event.data


def workflow_started(program: Program, execution: Execution, event: Event) -> None:
    for place, count in program.plan.net.initial:
        flows = program.columns.places.roles[place] == "in"
        # The entry token has a key of its own. The other initial tokens (slots of joins and counters) are all alike
        # and have none.
        key = event.run if flows else ""
        execution.marking.put(place, key, count)
        if flows:
            bringing: JsonObject = {"name": "workflow.started", "status": "ok", "ts": event.ts}
            execution.arrivals[key] = Arrival({}, bringing, execution.line)
            execution.agenda.append((place, key))
    timeout = event.data.get("timeout")
    if isinstance(timeout, int):
        execution.timers[WHOLE] = Timer(event.ts + timeout, WHOLE, -1, event.ts)
    after = event.data.get("after")
    execution.after_limit = after if isinstance(after, int) else None
    # The entry token is `1`. Keys are never given twice in an execution, or a report for an old run would fit a new
    # one.
    execution.next_key = 2


def joined(program: Program, execution: Execution, event: Event) -> None:
    """The joined token takes the place of those it was made of; args merge in file order of the sources, or are listed
    in that of the log where tokens are counted.
    """
    args: JsonObject = {}
    completing = execution.arrivals[event.run]
    lines: list[Line] = []
    brought: list[Json] = []
    for key in texts_of(event.data["tokens"]):
        arrival = execution.arrivals.pop(key)
        # The later source in file order wins, whichever came last: the result of a join must not depend on timing.
        args = {**args, **arrival.args}
        brought.append(arrival.args)
        lines.append(arrival.line)
    if program.plan.steps[event.step].join.mode == "tokens":
        args = {"tokens": brought}
    # The line of the entry goes on through the join, whoever else came; see `lines`.
    line = execution.line if execution.line in lines else lines[0]
    if event.step in program.counting:
        # Who comes too late goes on with what this wave began, not with what came before it.
        line = execution.waves[event.step] = line if line is execution.line else Line()
    execution.line = merged_lines(execution.line, lines, line)
    execution.arrivals[event.run] = Arrival(args, completing.event, line, completing.priority)


def token_gone(program: Program, execution: Execution, event: Event) -> None:
    # The join or gate held it until here; a late token's line goes over into that of the wave it missed.
    arrival = execution.arrivals.pop(event.run, None)
    if arrival is not None and event.event_type == "token.swallowed":
        execution.line = merged_lines(execution.line, [arrival.line], execution.waves[event.step])
    ask_longest(execution, leave_gate(program, execution, event.run))


def token_kept(program: Program, execution: Execution, event: Event) -> None:
    """`token.enqueued` in a join, and `token.waiting` at a gate that asks again when ctx changes."""
    arrival = execution.arrivals.pop(event.run, None)
    if arrival is not None:
        execution.arrivals[event.run] = arrival  # the order of arrivals is the order of this table
    if event.event_type == "token.waiting":
        gate = program.transition("admit", event.step)
        begin_waiting(program, execution, event.run, program.plan.net.transitions[gate].inputs[0].place)


def scheduled(program: Program, execution: Execution, event: Event) -> None:
    arrival = execution.arrivals[event.run]
    leave_gate(program, execution, event.run)
    timeout = event.data.get("timeout")
    run = _new_run(execution, event, arrival)
    run.timeout = timeout if isinstance(timeout, int) else None
    timers = {
        f"{INTERRUPT} {event.run} {name}": due for name, due in mapping_of(event.data.get("timers") or {}).items()
    }
    run.interrupts = tuple(timers)
    for name, due in timers.items():
        execution.timers[name] = Timer(int(str(due)), INTERRUPT, -1, event.ts)


def _new_run(execution: Execution, event: Event, arrival: Arrival) -> Run:
    ordinal = execution.run_counts[event.step] = execution.run_counts.get(event.step, 0) + 1
    run = Run(event.step, arrival, execution.ctx, execution.position, ordinal)
    execution.runs[event.run] = run
    return run


def step_started(program: Program, execution: Execution, event: Event) -> None:
    execution.arrivals.pop(event.run, None)
    # A run with loops has no region of its own: each iteration has one.
    step = program.plan.steps[event.step]
    if step.loops:
        return
    run = execution.runs[event.run]
    scratch: JsonObject = {} if execution.iter_parent is None else {"parent": execution.iter_parent}
    region = Region(event.step, step.tasks[0], run.ctx, run.ctx_at, iteration=scratch, loop="", began=event.ts)
    region.came_at = execution.position
    execution.regions[event.run] = region
    execution.ready.append(event.run)


def step_done(program: Program, execution: Execution, event: Event) -> None:
    region = execution.regions.pop(event.run)
    remember(program, execution, event.run, region, "done")
    run = execution.runs[event.run]
    run.result, run.iter, run.outcome, run.ended = region.result, region.iter, region.outcome, event.ts
    execution.timers.pop(f"timeout {event.run}", None)
    hush_run(execution, run)
    keep_result(program, execution, run)


def step_failed(program: Program, execution: Execution, event: Event) -> None:
    # A step may fail before it has a run: at the gate, where the admission or the timeout could not be evaluated.
    run = execution.runs.get(event.run)
    if run is None:
        arrival = execution.arrivals.pop(event.run)
        run = _new_run(execution, event, arrival)
    ask_longest(execution, leave_gate(program, execution, event.run))
    execution.arrivals.pop(event.run, None)
    run.error, run.ended = mapping_of(event.data["error"]), event.ts
    loop = execution.loops.pop(event.run, None)
    settle(program, execution, event.run)
    if loop is not None:
        hush(execution, loop)
        run.iter, run.stats, run.errors = loop.shared, counts_of(loop), errors_of(loop)
    region = execution.regions.pop(event.run, None)
    remember(program, execution, event.run, region, "failed")
    if region is not None:
        call_off(execution, event.run, region)
        run.iter, run.outcome = region.iter, region.outcome
    for timer in (f"timeout {event.run}", f"wake {event.run}"):
        execution.timers.pop(timer, None)
    hush_run(execution, run)
    unpark(execution, event.run)


def selected(program: Program, execution: Execution, event: Event) -> None:
    # The run is over and its tokens go on: what guards may still ask of it is in `bringing`, so memory does not grow
    # with the steps that ran.
    run = execution.runs.pop(event.run)
    bringing = terminal_event(program, execution, event.run, run)
    taken = event.data["arcs"]
    line: Line | None = run.line
    for arc in taken if isinstance(taken, list) else ():
        row = mapping_of(arc)
        key, args = str(row["key"]), mapping_of(row.get("args") or {})
        # Taken from the event, not counted here: so that a fold never disagrees with the keys that the log gave.
        execution.next_key = max(execution.next_key, int(key) + 1)
        if row.get("ends"):
            continue
        arc_number = int(str(row["arc"]))
        taken_arc = program.plan.arcs[arc_number]
        if is_reference(args.get("result")) and taken_arc.target in later_entries(program.plan):
            # A step that is told of results by whoever enters it is told data by an arc.
            args = {**args, "result": as_data(args["result"])}  # type: ignore[dict-item]
        execution.arrivals[key] = Arrival(args, bringing, line or Line(), taken_arc.priority)
        line = None  # every other branch has one of its own
        due = row.get("due")
        if isinstance(due, int):
            execution.timers[f"land {key}"] = Timer(due, "land", arc_number, event.ts)


def ended(program: Program, execution: Execution, event: Event) -> None:
    run = execution.runs.pop(event.run, None)
    if "ends" in event.data and run is not None:
        _terminated(program, execution, event, run)
        return
    if not event.data.get("unhandled"):
        return
    if execution.failure is None:
        execution.failure = mapping_of(event.data["error"])
    # `best_effort` lets the other branches go on after an unhandled failure; otherwise they may finish what runs, no
    # more.
    if not program.plan.best_effort:
        _drop_waiting(execution)


def _terminated(program: Program, execution: Execution, event: Event, run: Run) -> None:
    """A step has ended the execution, whose result is that of its run."""
    status = str(event.data["ends"])
    if status not in ("completed", "failed"):
        raise IllegalFiring("a step ended the execution without a status")
    if execution.phase == MAIN:
        execution.line.result = run.result
    end_all(program, execution, event, status)


_LIMITS = frozenset({"timeout", INTERRUPT, WHOLE})
"""Kinds of the timers that end what runs."""


def _drop_waiting(execution: Execution) -> None:
    """After an unhandled failure delays and waits are dropped and children cancelled; limits of what runs stay."""
    for key, region in execution.regions.items():
        if region.phase == "parked":
            call_off(execution, key, region)
            unpark(execution, key)
            region.pending = None
    # Timeouts stay, or a task that never answers would keep the failed execution open for ever.
    for name in [name for name, timer in execution.timers.items() if timer.kind not in _LIMITS]:
        del execution.timers[name]


def paused(program: Program, execution: Execution, event: Event) -> None:
    keep_row(execution, event)
    execution.paused = event.event_type == "playbook.paused"
    # A pause without an inbox row was not asked for from outside: the caller paused, and its resume is to reach this
    # child too.
    execution.paused_by_caller = execution.paused and "row" not in event.data
    if not execution.paused:
        # Workers may have refused what was ordered before the pause, so everything that stands ready is ordered
        # again.
        execution.ready.extend(
            key for key, region in execution.regions.items() if region.phase == "at" and region.task >= 0
        )


def cancelled(program: Program, execution: Execution, event: Event) -> None:
    keep_row(execution, event)
    call_off_all(execution)
    execution.cancelled = True
    execution.replaced_by = str(event.data.get("by", ""))


def faulted(program: Program, execution: Execution, event: Event) -> None:
    call_off_all(execution)
    execution.fault = mapping_of(event.data["error"])


def retried(program: Program, execution: Execution, event: Event) -> None:
    """The execution stands where it stood before the fault."""
    execution.fault = None
    execution.status = "running"
    execution.ended = None


def begun_again(program: Program, execution: Execution, event: Event) -> None:
    """A rerun begins. The time between its two parts is no part of any limit: it was not at work."""
    if not execution.rerun_of:
        raise IllegalFiring("a rerun cannot begin here")
    execution.begun_again = event.ts
    if isinstance(place := event.data.get("place"), dict):  # the one that it has is that of the other execution
        execution.place.asked, execution.place.holds, execution.place.queued_behind = place, "", None
    shift = int(str(event.data["shift"]))
    if shift < 0:
        raise IllegalFiring("a rerun began before its first part")
    for name, timer in execution.timers.items():
        if not timer.by_wall:
            moved = Timer(timer.due + shift, timer.kind, timer.place, timer.since + shift)
            execution.timers[name] = moved
    for run in (*execution.runs.values(), *execution.left.values()):
        run.deadline = run.deadline + shift if run.deadline is not None else None
    for region in execution.regions.values():
        region.began += shift


def plan_migrated(program: Program, execution: Execution, event: Event) -> None:
    """The log is one of another plan from its beginning, too: nothing of the state changes."""
    keep_row(execution, event)
    if event.data["from"] != execution.plan_digest:
        raise IllegalFiring("it did not run the plan that it is moved from")
    execution.moves.append((event.ts, execution.plan_digest))
    execution.plan_digest = str(event.data["to"])


def migration_refused(program: Program, execution: Execution, event: Event) -> None:
    keep_row(execution, event)


def finished(program: Program, execution: Execution, event: Event) -> None:
    execution.status = str(event.data["status"])  # type: ignore[assignment]
    execution.ended = event.ts
    execution.agenda.clear()
    if execution.fault is not None:  # what waits is there again when it is tried again
        return
    settle_all(program, execution)
    execution.mail.unlist_all()
    # What a phase behind main failed of is not what the execution failed of.
    if execution.phase != MAIN:
        execution.failure = None
    if execution.failure is None and "error" in event.data:
        execution.failure = mapping_of(event.data["error"])
    if "result" in event.data:
        execution.declared = event.data["result"]
    execution.ready.clear()
    execution.timers.clear()


def unfinish(execution: Execution, size: int) -> None:
    """Take back the end, which are the last `size` events. Nothing but its marks has to be put back: it ends again."""
    execution.status, execution.ended = "running", None
    execution.position -= size
