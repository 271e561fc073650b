"""Migrations: an execution that waits goes on under another plan, with its id and its log (README, *Another plan*).

Law: the log, with the event of the migration behind it, is a legal run of the new plan from its first event: the same
firings, values and decisions. So its marking is one that the new net reaches and that was analysed, and whoever reads
the log later needs the new plan alone. What ran, and what a worker may have at this moment, is the same in both plans.
Whatever no proof decides hinders, and nothing is changed.
"""

from collections.abc import Iterator, Sequence

from noetl.engine.evolve import evolve
from noetl.engine.execution import Execution
from noetl.engine.marking import IllegalFiring
from noetl.engine.program import Missing, Program
from noetl.engine.replay import replay
from noetl.engine.reports import migration
from noetl.engine.rerun_prefix import is_same
from noetl.engine.reruns import Hindrance
from noetl.engine.task_reads import is_same_task
from noetl_ir.events import WORKER_EVENTS, Event
from noetl_ir.outcome import is_reference
from noetl_ir.projections import reads_more

_RERUN = "let it come to its end, or cancel it, and rerun it on the new plan (`noetl rerun --plan`)"
_MOST = 5
"""Hindrances of one kind that are told."""


def migration_hindrances(before: Program, program: Program, execution_id: str, log: Sequence[Event]) -> list[Hindrance]:
    """Why an execution with this log under `before` cannot go on under `program`; none where it can."""
    execution = Execution(execution_id, before)
    try:
        for event in log:
            evolve(before, execution, event)
    except (IllegalFiring, Missing) as problem:
        return [Hindrance("log", f"its log is no run of its plan: {problem}")]
    return (
        [*_of_the_state(before, program, execution)]
        or [*_of_the_tasks(before, program, execution, log)]
        or [*_of_the_net(before, program, log)]
        or [*_of_the_log(before, program, execution, log)]
        or [*_of_the_values(before, program, execution_id, log)]
    )


def _of_the_state(before: Program, program: Program, execution: Execution) -> Iterator[Hindrance]:
    if execution.is_over:
        yield Hindrance("over", "it is over", "rerun it on the new plan (`noetl rerun --plan`)")
        return  # whatever else stands in the way, it will never be moved
    if execution.parent is not None:
        caller = execution.parent[0]
        yield Hindrance("child", f"execution {caller} called it, with a version that belongs to that one's plan")
    elif execution.scripted:
        yield Hindrance("scripted", "a script stands in for its tools", "start it anew")
    old, new = [one.plan.path or one.plan.name for one in (before, program)]
    if old != new:
        yield Hindrance("path", f"it is a run of `{old}`, and the new plan is one of `{new}`")
    elif before.digest == program.digest:
        yield Hindrance("same", "it runs this plan already")


def _of_the_tasks(before: Program, program: Program, execution: Execution, log: Sequence[Event]) -> Iterator[Hindrance]:
    """Tasks that ran, or that a worker may have, and that are not the same under the same number."""
    old, new = before.plan, program.plan
    ran = dict.fromkeys((event.step, event.task) for event in log if event.event_type == "task.started")
    # A worker that has an order goes on with the tasks behind it by the plan that the order names.
    open_ = {region.step for region in execution.regions.values()}
    wanted = {**ran, **dict.fromkeys((step, task) for step in sorted(open_) for task in old.steps[step].tasks)}
    told = dict[str, Hindrance]()
    for step, task in wanted:
        name = old.steps[step].name
        if step >= len(new.steps) or new.steps[step].name != name:
            told.setdefault(name, _of_a_place(program, name, step))
        elif task >= len(new.tasks) or new.tasks[task].step != step or not is_same_task(old, task, new, task):
            what = "is at work or waits" if step in open_ else "ran"
            text = f"step `{name}` {what}, and does something else in the new plan"
            told.setdefault(name, Hindrance("task", text, _RERUN))
    for event in log:
        # Of such a result the log has what the old plan has the server read of it.
        if event.event_type == "task.done" and is_reference(event.data.get("result")):
            name = old.steps[event.step].name
            if name not in told and reads_more(new.steps[event.step], old.steps[event.step]):
                text = f"step `{name}` came to a value outside of the log, of which the new plan reads more"
                told[name] = Hindrance("data", text, _RERUN)
    yield from [*told.values()][:_MOST]


def _of_a_place(program: Program, name: str, number: int) -> Hindrance:
    """A step that ran has another number, or is gone."""
    if name not in program.step_numbers:
        return Hindrance("step", f"step `{name}` ran or runs, and the new plan has no such step", _RERUN)
    there = "behind" if program.step_numbers[name] > number else "before"
    text = f"step `{name}` ran or runs, and stands further {there} in the new plan: a log knows steps by their order"
    return Hindrance("step", text, f"put new steps behind those that ran, at the end of the workflow; else {_RERUN}")


def _of_the_net(before: Program, program: Program, log: Sequence[Event]) -> Iterator[Hindrance]:
    """Firings that have other numbers: transitions are counted step by step, in the order of the file."""
    old, new = before.columns.transitions, program.columns.transitions
    for event in log:
        for firing in event.fired:
            number = firing.transition
            there = number < len(new.roles)
            if not there or any(
                one[number] != other[number]
                for one, other in ((old.roles, new.roles), (old.steps, new.steps), (old.tasks, new.tasks))
            ):
                name = before.plan.steps[event.step].name if event.step >= 0 else before.plan.steps[0].name
                text = f"steps up to `{name}` have arcs, loops or locks in the new plan that they had not, or had"
                yield Hindrance("net", text, f"lead new arcs to steps that stand further behind; else {_RERUN}")
                return


def _of_the_log(before: Program, program: Program, execution: Execution, log: Sequence[Event]) -> Iterator[Hindrance]:
    moved = Event(f"s{len(log) + 1}", "playbook.migrated", execution.now, data=migration(before.digest, program.digest))
    wrong = replay(program, execution.execution_id, [*log, moved]).wrong
    if wrong is None:
        return
    # What an input led to is looked at with the event behind it.
    event = [*log, moved][min(wrong[0], len(log)) - 1]
    if event.event_type == "playbook.request.evaluated":
        yield Hindrance("inputs", "its inputs, or what its `ctx` began with, would be others in the new plan", _RERUN)
        return
    where = f" of step `{before.plan.steps[event.step].name}`" if event.step >= 0 else ""
    text = (
        f"it would have gone another way in the new plan: `{event.event_type}`{where}, event {wrong[0]}, is none of it"
    )
    yield Hindrance("log", text, _RERUN)


def _of_the_values(before: Program, program: Program, execution_id: str, log: Sequence[Event]) -> Iterator[Hindrance]:
    """Tasks that were told something else than the new plan would have told them, so that what they came to is none of
    it; and `ctx` as it stands. No decision shows it where a reducer, or what an iteration sees, is another.
    """
    old, new = Execution(execution_id, before), Execution(execution_id, program)
    told = dict[str, Hindrance]()
    for event in log:
        evolve(before, old, event)
        evolve(program, new, event)
        was, now = old.regions.get(event.run), new.regions.get(event.run)
        if was is None or now is None or event.event_type not in WORKER_EVENTS:
            continue
        name = before.plan.steps[event.step].name
        if name not in told and (what := _differs(old, new, event.run)):
            text = f"step `{name}` ran, or is at work, with other values of {what} than the new plan gives it"
            told[name] = Hindrance("data", text, _RERUN)
    if not told and not is_same(old.ctx, new.ctx):
        told[""] = Hindrance("data", "`ctx` would have other values in the new plan", _RERUN)
    yield from [*told.values()][:_MOST]


def _differs(old: Execution, new: Execution, run: str) -> str:
    """The kind of values in which what a run is told differs, or an empty text."""
    was, now = old.regions[run], new.regions[run]
    before, after = old.run_of(run), new.run_of(run)
    return next(
        (
            what
            for what, one, other in (
                ("`ctx`", was.ctx, now.ctx),
                ("`iter`", was.iter, now.iter),
                ("args", before.args, after.args),
                ("the tasks before it", (was.results, was.prev), (now.results, now.prev)),
            )
            if not is_same(one, other)
        ),
        "",
    )
