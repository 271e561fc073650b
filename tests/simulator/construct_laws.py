"""Laws of every simulated run about what is undone after it, how long a retry waits, and who holds locks."""

from collections.abc import Sequence
from typing import Any

from noetl.engine.program import Program
from noetl_ir.events import Event

AFTER_MAIN = ("phase.started", "workflow.finished")


def check_compensations(program: Program, log: Sequence[Event]) -> None:
    """Each thing that a step did is undone once, newest first, one at a time, and only after the ends that
    `compensate_on` names.

    What stands in the log of runs that failed or were cut short does not say when they were remembered: of these it is
    known that they are undone once at most.
    """
    how = {row.step: row for row in program.plan.compensations}
    ends = [at for at, event in enumerate(log) if event.event_type in AFTER_MAIN]
    main = log[: ends[0]] if ends else log
    begun = {
        (event.run, event.step) for event in main if event.event_type in ("step.scheduled", "loop.iteration.started")
    }
    done = [event.run for event in main if event.step in how and _is_done(program, event)]
    undone = [str(event.data["run"]) for event in log if event.event_type == "compensation.started"]
    assert len(undone) == len({*undone}), f"undone twice: {undone}"
    assert {*undone} <= {run for run, step in begun if step in how}, f"undone and never begun: {undone}"
    order = [run for run in undone if run in done]
    assert order == done[::-1][: len(order)], f"{done} are undone in the order {undone}"
    names = [event.event_type for event in log if event.event_type.startswith("compensation.")]
    pairs = ("compensation.started", "compensation.done")
    assert names == [pairs[at % 2] for at in range(len(names))], "two are undone at once"
    last: dict[str, Any] = log[ends[-1]].data if ends else {}
    status = next((event.data["status"] for event in log if event.event_type in AFTER_MAIN), "")
    if undone:
        assert status in program.plan.compensate_on, f"undone though main is {status}"
    # A result that cannot be asked, and what somebody called off by hand, leave all as it is.
    phases = {row["phase"]: row["status"] for row in last.get("after", ())}
    if not phases and any(event.event_type == "playbook.cancelled" for event in log[len(main) :]):
        return  # called off before they began, while what main had called was waited for
    if phases.get("compensation") == "completed" or (status in program.plan.compensate_on and not phases):
        assert len(order) == len(done), f"{done} are not all undone, only {undone}"


def _is_done(program: Program, event: Event) -> bool:
    """Whether a run is done, of a step with loops an iteration of the innermost one."""
    loops = program.plan.steps[event.step].loops
    return event.event_type == ("loop.iteration.done" if loops else "step.done") and event.run.count("/") == len(loops)


def check_waits(log: Sequence[Event]) -> None:
    """A retry is not due before the time that the answer asked for, where it asked for one."""
    for event in log:
        if event.event_type == "retry.started":
            data: Any = event.data
            asked = (data["outcome"].get("http") or {}).get("retry_after")
            due = data.get("due", event.ts)
            assert asked is None or due - event.ts >= asked * 1_000_000, f"a retry does not wait for {asked} s: {data}"


def check_locks(program: Program, log: Sequence[Event]) -> None:
    """A lock has one holder at a time, and no task of a step begins without the locks of its run, or outside of the
    section that it is in.
    """
    plan = program.plan
    wanted: dict[int, set[str]] = {step: set(names) for step, names in plan.locks}
    inside: dict[str, set[int]] = {}
    for step, name, through in plan.sections:
        wanted.setdefault(step, set()).add(name)
        inside.setdefault(name, set()).update(through)
    holders: dict[str, str] = {}
    for event in log:
        run = event.run.partition("/")[0]
        locks: Any = event.data.get("locks", ())
        if event.event_type in ("phase.started", "compensation.started"):
            holders.clear()
        elif event.event_type == "lock.taken":
            assert not holders.keys() & {*locks}, f"{locks} are taken by {run}, and {holders} has some"
            holders.update(dict.fromkeys(locks, run))
        elif event.event_type == "lock.given":
            assert {holders.pop(name, "") for name in locks} == {run}, f"{run} gives {locks} and does not hold them"
        elif event.event_type == "task.started":
            own = {name for name in wanted.get(event.step, ()) if event.step not in inside.get(name, ())}
            assert all(holders.get(name) == run for name in own), f"{run} runs without {own}: {holders}"
            within = {name for name, steps in inside.items() if event.step in steps}
            assert within <= holders.keys(), f"{run} is in {within}, which nobody holds"
