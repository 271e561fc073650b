"""Laws that hold after every simulated run, whatever happened in it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from harness.invariants import check_log, plain, state_of
from noetl.engine.evolve import evolve
from noetl.engine.execution import Execution
from noetl.engine.program import Program
from noetl.ports import ExecutionRow, Store
from noetl.ports.outbox import Telling, WantedOutbox
from noetl.server.found_by import attributes_of
from noetl_ir.events import Event
from noetl_ir.expr import Json
from simulator.construct_laws import check_compensations, check_locks, check_waits
from simulator.effects import Deed

ENDS = ("step.done", "loop.done", "step.failed", "step.cancelled")

TOLD = "told"
"""The topic that a simulated cluster watches ends under."""


def fold(program: Program, execution_id: str, log: Sequence[Event]) -> Execution:
    """The state that a log leads to; at no time more iterations of a loop run than it has slots."""
    folded = Execution(execution_id, program)
    for event in log:
        evolve(program, folded, event)
        for loop in folded.loops.values():
            assert len(loop.running) <= loop.slots, f"{len(loop.running)} iterations run in {loop.slots} slots"
    return folded


def check_execution(program: Program, folded: Execution, log: Sequence[Event], live: Any) -> None:
    """The laws of one execution. `live` is the state that drove it to its end, as plain data."""
    check_log(program, log, folded)
    assert folded.fault is None, f"the engine made a mistake: {folded.fault}"
    assert folded.is_over, f"the run is {folded.status} and never ends"
    assert live is None or live == state_of(folded), "the state that drove the run is not the fold of its log"
    _check_claims(log)
    check_compensations(program, log)
    check_waits(log)
    check_locks(program, log)
    if folded.status == "completed" and not _is_cut_short(log):
        _check_whole(log)


def check_found_by(program: Program, folded: Execution, row: ExecutionRow, store: Store) -> None:
    """The row and attributes of an execution say what its log comes to."""
    assert row.status == folded.status, f"listed as {row.status}, is {folded.status}"
    error = (folded.failure or {}).get("code")
    assert row.error == error, f"listed with the error {row.error}, has {error}"
    found_by = store.attributes([row.execution_id]).get(row.execution_id, ())
    assert found_by == attributes_of(program, folded), f"found by {found_by}"


def check_deeds(programs: Mapping[str, Program], logs: Mapping[str, Sequence[Event]], deeds: Counter[Deed]) -> None:
    """A tool runs once under a claim, after its start is on disk, and whatever has an outcome ran."""
    twice = [deed for deed, times in deeds.items() if times > 1]
    assert not twice, f"run twice under one claim: {twice[0]}"
    for execution_id, whole in logs.items():
        plan = programs[execution_id].plan
        begins = [at for at, event in enumerate(whole) if event.event_type == "playbook.rerun"]
        log = whole[begins[-1] :] if begins else whole  # what stands before it was done by others
        effective = [event for event in log if event.task >= 0 and plan.tasks[event.task].kind == "http"]
        of = {name: {_deed(execution_id, plan, event) for event in effective if event.event_type == name}
              for name in ("task.started", "task.done", "retry.started")}  # fmt: skip
        mine = {deed for deed in deeds if deed.execution_id == execution_id}
        assert mine <= of["task.started"], f"run before its start was on disk: {mine - of['task.started']}"
        faulted = {_deed(execution_id, plan, event) for event in effective if event.data.get("directive") == "fault"}
        lost = {_deed(execution_id, plan, event) for event in effective if _is_lost(event)}
        ended = of["task.done"] | of["retry.started"]
        assert ended - faulted - lost <= mine, f"never run: {ended - mine}"


Letters = Sequence[tuple[Json, tuple[str, int] | None]]
"""What a mailbox has: the data of a signal, and the execution and inbox row that it went to, None where it is kept."""


def check_told(store: Store) -> None:
    """Each end has one row of the outbox, from the commit of the end on, and nothing else has one."""
    assert isinstance(store, Telling)
    told = sorted(row.subject for row in store.outbox.outbox_rows(WantedOutbox(TOLD)))
    ended = sorted(row.execution_id for row in store.executions() if row.ended is not None)
    assert told == ended, f"ended, and told of: {ended} and {told}"


def check_letters(logs: Mapping[str, Sequence[Event]], there: Letters) -> None:
    """A signal that was sent under a key was taken by one wait, or is still in the mailbox. A signal that
    went to somebody who is over was taken by them or came back, of which the mailbox may not have heard, as nobody
    waits any more.
    """
    taken: Counter[Json] = Counter()
    sent: set[Json] = set()
    ends: set[tuple[str, Json]] = set()
    for execution_id, log in logs.items():
        calls: dict[tuple[str, int, int], Any] = {}
        for event in log:
            place = (event.run, event.task, event.visit)
            if event.event_type == "task.started" and "call" in event.data:
                calls[place] = event.data["call"]
            elif event.event_type == "signal.sent" and "key" in calls[place] and _is_ok(event):
                sent.add(calls[place]["data"])
            elif event.event_type == "token.claimed" and "row" in event.data:
                result: Any = event.data["outcome"]
                taken[result["result"]["data"]] += 1
            if event.event_type in ("token.claimed", "signal.returned"):
                ends.add((execution_id, event.data.get("row")))
    twice = [data for data, times in taken.items() if times > 1]
    assert not twice, f"taken by more than one wait: {twice[0]}"
    lost = sent - {*taken} - {data for data, _ in there}
    assert not lost, f"sent, and neither taken nor kept: {sorted(map(str, lost))}"
    unread = [to for _, to in there if to is not None and to not in ends]
    assert not unread, f"addressed to {unread[0][0]}, which is over and did not read it"
    twice = [data for data, to in there if to is None and taken[data]]
    assert not twice, f"taken, and still kept: {twice[0]}"


def _is_ok(event: Event) -> bool:
    outcome = event.data["outcome"]
    return isinstance(outcome, dict) and outcome["status"] == "ok"


def end_of(folded: Execution, same: str) -> Any:
    """The end of a run, as far as it is always the same."""
    if same == "nothing":
        return None
    failure = folded.failure or {}
    last = folded.last_result if same == "all" else None
    return plain((folded.status, dict(sorted(folded.ctx.items())), last, failure.get("code")))


def _deed(execution_id: str, plan: Any, event: Event) -> Deed:
    return Deed(execution_id, event.run, plan.tasks[event.task].name, event.visit, event.attempt, event.claim)


def _is_lost(event: Event) -> bool:
    outcome = event.data.get("outcome")
    error = outcome.get("error") if isinstance(outcome, dict) else None
    return isinstance(error, dict) and error.get("code") == "worker.lost"


def _check_claims(log: Sequence[Event]) -> None:
    """One accepted outcome an attempt, one start a claim, and a next claim only after the one before was lost."""
    outcomes: Counter[object] = Counter()
    claims: dict[object, list[int]] = {}
    lost: set[object] = set()
    for event in log:
        attempt = (event.run, event.task, event.visit, event.attempt)
        match event.event_type:
            case "task.done" | "retry.started":
                outcomes[attempt] += 1
                assert (*attempt, event.claim) not in lost, f"{attempt} has an outcome under a claim that was lost"
            case "task.started":
                claims.setdefault(attempt, []).append(event.claim)
            case "task.lost":
                lost.add((*attempt, event.claim))
    assert not [attempt for attempt, times in outcomes.items() if times > 1], "two outcomes of one attempt"
    for attempt, numbers in claims.items():
        assert numbers == sorted(set(numbers)), f"claims of {attempt}: {numbers}"
        for number in numbers[:-1]:
            assert (*attempt, number) in lost, f"{attempt} was claimed again though claim {number} was not lost"


def _is_cut_short(log: Sequence[Event]) -> bool:
    """Whether a step has ended main or a phase behind it, or such a phase did not complete."""
    ends: dict[str, Any] = next(event.data for event in log if event.event_type == "workflow.finished")
    is_ended = any(event.event_type == "token.ended" and "ends" in event.data for event in log)
    return is_ended or any(row["status"] != "completed" for row in ends.get("after", ()))


def _check_whole(log: Sequence[Event]) -> None:
    """In a run that was not cut short each step run that began has its end."""
    begun = Counter(event.run for event in log if event.event_type == "step.scheduled")
    ended = Counter(event.run for event in log if event.event_type in ENDS and "/" not in event.run)
    assert begun == ended, f"begun and not ended, or the other way: {(begun - ended) or (ended - begun)}"
