"""Invariants of every run, whatever the playbook: checked after each one that the tests make.

The stored log is a run of the plan (replay accepts it and what begins it), the state that drove the run is the
fold of that log, one terminal event ends it, and a run that completed left nothing lying about.
"""

from collections import Counter, deque
from collections.abc import Sequence
from typing import Any

from noetl.engine.evolve import evolve
from noetl.engine.execution import Execution
from noetl.engine.program import Program
from noetl.engine.replay import replay
from noetl_ir.events import Event
from noetl_ir.net import PlaceClass

TERMINAL = ("step.done", "loop.done", "step.failed", "step.cancelled")
PASSING = ("agenda", "ready", "calling", "to_judge", "stopped")
"""Lists that a turn leaves for the orders after it: they are no state, and empty when a run is over."""

LEFTOVERS = (
    "arrivals",
    "runs",
    "left",
    "regions",
    "loops",
    "timers",
    "waiting",
    "queues",
    "holding",
    "sections",
    "waits",
    "transient",
    "parked",
)


def check(program: Program, log: Sequence[Event], live: Execution) -> None:
    """All of it, for each beginning of the log too; raises AssertionError with what is wrong."""
    folded = Execution(live.execution_id, program)
    for event in log:
        evolve(program, folded, event)
    assert state_of(live) == state_of(folded), "the state that drove the run is not the fold of its log"
    check_log(program, log, live)
    _check_beginnings(program, log, live.execution_id)


def check_log(program: Program, log: Sequence[Event], live: Execution) -> None:
    """Check a log by itself, and against the state that it led to; raises AssertionError with what is wrong."""
    assert len({event.event_id for event in log}) == len(log), "an event id is there twice"
    wrong = replay(program, live.execution_id, log).wrong
    assert wrong is None, f"replay refuses the log: {wrong}"
    _check_ends(program, log)
    if live.is_over:
        names = [event.event_type for event in log]
        assert names.count("workflow.finished") == 1, names
        assert names[-2:] == ["workflow.finished", "playbook.processed"]
    # What a step ended is left as it was, as by a cancel, also where children are waited for behind it.
    ended = any(event.event_type == "token.ended" and "ends" in event.data for event in log)
    if live.status == "completed" and not ended and not _is_cut_short(live):
        _check_nothing_left(program, live)


def _is_cut_short(live: Execution) -> bool:
    """Whether a phase behind main ended otherwise than by completing."""
    return any(row["status"] != "completed" for row in live.after if isinstance(row, dict))


def state_of(execution: Execution) -> Any:
    """An execution as plain data, insertion order included: what two equal states have in common."""
    return {
        name: plain(getattr(execution, name)) for name in Execution.__slots__ if name[0] != "_" and name not in PASSING
    }


def plain(value: Any) -> Any:
    """Any value of the state as tuples."""
    if isinstance(value, dict):
        return tuple((plain(key), plain(item)) for key, item in value.items())
    if isinstance(value, (list, tuple, deque)):
        return tuple(plain(item) for item in value)
    if isinstance(value, set | frozenset):
        return tuple(sorted(value))
    slots = getattr(type(value), "__slots__", ())
    if not slots or isinstance(value, (str, bytes)):
        return (type(value).__name__, value)
    return tuple((name, plain(getattr(value, name))) for name in slots if not name.startswith("_"))


def _check_beginnings(program: Program, log: Sequence[Event], execution_id: str) -> None:
    lengths = range(1, len(log)) if len(log) <= 40 else {1, 2, len(log) // 3, len(log) // 2, len(log) - 1}
    # Before it was moved to its plan it was a run of another one.
    moved = max((at for at, event in enumerate(log, start=1) if event.event_type == "playbook.migrated"), default=0)
    for length in sorted(length for length in lengths if length >= moved):
        wrong = replay(program, execution_id, log[:length]).wrong
        assert wrong is None, f"replay refuses the first {length} events: {wrong}"


def _check_ends(program: Program, log: Sequence[Event]) -> None:
    """A step run ends once; inner loops end under the key of their iteration."""
    ends = Counter(event.run for event in log if event.event_type in TERMINAL)
    assert not [run for run, count in ends.items() if count > 1], "a run ended twice"
    over = Counter(
        (event.run, event.data.get("index"))
        for event in log
        if event.event_type in ("loop.iteration.done", "loop.iteration.failed", "loop.iteration.skipped")
    )
    assert not [run for run, count in over.items() if count > 1], "an iteration ended twice"


def _check_nothing_left(program: Program, live: Execution) -> None:
    for name in LEFTOVERS:
        assert not getattr(live, name), f"{name} left: {getattr(live, name)}"
    assert not live.mail.listed, f"listed in the mailbox: {live.mail.listed}"
    places = program.plan.net.places
    left = {places[number].id: dict(tokens) for number, tokens in live.marking.tokens.items() if tokens}
    marked = {number for number, tokens in live.marking.tokens.items() if tokens}
    for number in marked:
        place = places[number]
        assert place.kind is PlaceClass.MEMO, f"tokens left in {place.id}: {left}"
        if place.role in ("held", "got"):
            met = any(places[other].role == "met" and places[other].step == place.step for other in marked)
            assert met, f"a wave is left open: {left}"
