"""Replay: folds a log again and checks that it was a legal run of the plan.

Two checks. Folding: every event fires only what the net and the marking allow. Deciding: what came from outside is
put to the engine again, and what it decides must be what the log says, event by event. Times are taken from the
log, so that nothing depends on when the replay happens.

What it cannot see is what could have come from outside just as well: another request, outcome, patch, directive's
delay or signal, a signal more, independent reports in another order, and times that nothing was decided by. The
store's checksums over the log are there for those.
"""

from collections.abc import Iterable, Sequence
from itertools import islice

from noetl.engine import reports
from noetl.engine.decide import decide
from noetl.engine.event_data import labels_in, mapping_of, places_of, texts_of
from noetl.engine.evolve import evolve
from noetl.engine.execution import Execution
from noetl.engine.identities import call_name, child_ids
from noetl.engine.marking import IllegalFiring
from noetl.engine.places import record_decision
from noetl.engine.program import Missing, Program
from noetl.engine.proposals import ids_of
from noetl.engine.refused_ends import END, end_again, leave_late, take_back
from noetl.engine.reports import Incoming
from noetl.engine.starting import Request, start
from noetl.engine.turn import Turn
from noetl_ir.events import INPUT_EVENTS, Event
from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple

MOST_IDS = 1_000
"""How many ids of a child are tried where others have the first ones: more than ever met in a millisecond."""


class ReplayVerdict(NamedTuple):
    """The state that the log leads to, and where it is no run of the plan: position from 1 and why, or None."""

    execution: Execution
    events: int
    wrong: tuple[int, str] | None


def replay(program: Program, execution_id: str, log: Iterable[Event]) -> ReplayVerdict:
    """Fold and check a log, or any beginning of one; of one that was moved to another plan (`engine.migrations`) one
    that has the move.
    """
    folded = Execution(execution_id, program)
    checker = _Checker(program, execution_id)
    position = 0
    for position, event in enumerate(log, start=1):
        try:
            evolve(program, folded, event)
        except (IllegalFiring, Missing) as problem:
            return ReplayVerdict(folded, position, (position, str(problem)))
        why = checker.see(event)
        if why:
            return ReplayVerdict(folded, position, (position, why))
    if folded.plan_digest not in ("", program.digest):
        return ReplayVerdict(folded, position, (1, f"it is the log of a run of another plan, {folded.plan_digest}"))
    return ReplayVerdict(folded, position, None)


class _Checker:
    """Decides again, one input at a time, and holds the decisions against the log."""

    def __init__(self, program: Program, execution_id: str) -> None:
        self._program = program
        self._execution = Execution(execution_id, program)
        self._expected: list[Event] = []
        self._input: Event | None = None
        self._refused: dict[str, Json] | None = None

    def see(self, event: Event) -> str:
        """The fault of the next event of the log, or an empty text."""
        if event.event_type == "playbook.faulted" and self._input is not None and self._input.event_id == "s1":
            # The first turn did not come to its end: of it the log has the request alone.
            evolve(self._program, self._execution, self._input)
            self._input = None
        if event.event_type in INPUT_EVENTS:
            # What follows an input was decided with one time, that of the first event after it: the log says it.
            why = self._settle(event.ts)
            if not why and event.event_type == "signal.received" and _is_end(self._expected):
                # The store refused that end: what is in the inbox then is read before it.
                self._refused = take_back(Turn(self._program, self._execution, event.ts), self._expected)
                self._expected = []
            if not why and self._expected:
                why = f"`{event.event_type}` came before `{self._expected[0].event_type}`, which had to follow"
            # The input is applied with the next event, not now: only that one's time tells when it was decided.
            self._input = event
            return why
        why = self._settle(event.ts)
        if why:
            return why
        if not self._expected:
            return f"`{event.event_type}` does not follow from the log before it"
        wanted = self._expected.pop(0)
        return _difference(wanted, event) or _misdated(wanted, event)

    def _settle(self, now: int) -> str:
        """Put the input seen last to the engine, with the time of what followed it."""
        event, self._input = self._input, None
        refused = self._refused
        if event is None:
            return ""
        turn = Turn(self._program, self._execution, now)
        try:
            why = self._apply(turn, event)
            if refused is None:
                decide(turn)
            else:
                leave_late(turn)
                end_again(turn, refused)
        except (IllegalFiring, Missing, LookupError, TypeError, ValueError) as problem:
            return f"`{event.event_type}` could not have happened here: {problem}"
        if why:
            return why
        recorded = turn.events[0]
        # An input has its own time, from the worker or the caller; the turn has that of the decisions.
        difference = _difference(recorded._replace(ts=event.ts), event)
        self._expected = turn.events[1:]
        return difference

    def _apply(self, turn: Turn, event: Event) -> str:
        match event.event_type:
            case "playbook.execution.requested":
                start(turn, _request_of(event))
            case "task.started" | "task.done" | "retry.started":
                if event.event_id not in ids_of(event):
                    return f"`{event.event_id}` is not the id of this report"
                # The firings are what is to be checked, so the engine has to find them itself.
                if not reports.accept(turn, event._replace(fired=())):
                    return f"`{event.event_type}` had to be refused"
            case "task.lost":
                reports.lose(turn, event.run)
            case "timer.fired":
                name = str(event.data.get("timer"))
                # Later is legal at any distance: a machine may sleep. Earlier is not.
                if self._execution.timers[name].due > event.ts:
                    return f"timer `{name}` fired before it was due"
                reports.fire_timer(turn, name)
            case "signal.received":
                reports.signal(turn, _signal_of(event))
            case "child.started":
                if not self._is_child(event.run, child := str(event.data.get("child"))):
                    return f"`{child}` is no id of that call's child"
                reports.begin_child(turn, event.run, child)
            case "child.ended":
                reports.end_child(turn, str(event.data.get("child")))
            case "playbook.placed" | "playbook.queued" | "playbook.refused":
                record_decision(turn, {**event.data, "verdict": event.event_type.partition(".")[2]})
            case "signal.sent":
                outcome = event.data.get("outcome")
                reports.sent(turn, event.run, outcome if isinstance(outcome, dict) else {})
            case "playbook.faulted":
                problem = event.data.get("error")
                reports.fault(turn, problem if isinstance(problem, dict) else {})
            case "playbook.retried":
                reports.retry_fault(turn)
            case "playbook.rerun":
                reports.begin_rerun(turn, event.data)
            case "playbook.migrated":
                reports.migrate(turn, event.data, None)
            case "migration.refused":
                reports.refuse_migration(turn, str(event.data.get("to")), texts_of(event.data["why"]), _row(event))
            case _:
                verb = {"playbook.paused": "pause", "playbook.resumed": "resume", "playbook.cancelled": "cancel"}
                reports.control(turn, verb[event.event_type], _row(event), newer=str(event.data.get("by", "")))
        return "" if turn.events else f"`{event.event_type}` changes nothing here"

    def _is_child(self, run: str, child: str) -> bool:
        """Whether the child of a call can have that id: the first one, or a next one where others have those before."""
        execution = self._execution
        if run not in execution.parked or (region := execution.regions.get(run)) is None:
            return True  # the event is refused for that
        ids = child_ids(execution.execution_id, call_name(region, run), execution.parked[run].since)
        return child in islice(ids, MOST_IDS)


def _row(event: Event) -> int | None:
    row = event.data.get("row")
    return row if isinstance(row, int) else None


def _is_end(events: Sequence[Event]) -> bool:
    """Whether nothing but the end is expected."""
    return tuple(event.event_type for event in events) == END


def _request_of(event: Event) -> Request:
    data = event.data
    parent, payload, outer = data.get("parent"), data.get("payload"), data.get("iter_parent")
    env = data.get("env")
    depth = data.get("depth", 0)
    return Request(
        payload if isinstance(payload, dict) else {},
        (str(parent[0]), str(parent[1])) if isinstance(parent, list) else None,
        depth if isinstance(depth, int) else 0,
        outer if isinstance(outer, dict) else None,
        str(data.get("trace_id", "")),
        str(data.get("return_step", "")),
        data.get("detached") is True,
        data.get("scripted") is True,
        call=str(data.get("call", "")),
        env=env if isinstance(env, dict) else None,
        folder=str(data.get("folder", "")),
        under=places_of(data.get("under")),
        rerun_of=str(data.get("rerun_of", "")),
        started_by=mapping_of(data.get("started_by", {})) or None,
        labels=labels_in(data) or None,
        # Whether it is the plan of this log is looked at behind its end: it may have been moved.
        digest=str(data.get("digest", "")),
    )


def _signal_of(event: Event) -> Incoming:
    came, since = (event.data.get(name) for name in ("came", "since"))
    return Incoming(
        str(event.data.get("name")),
        event.data.get("data"),
        _row(event),
        came if isinstance(came, int) else None,
        str(event.data.get("wait", "")),
        since if isinstance(since, int) else None,
    )


def _difference(wanted: Event, found: Event) -> str:
    """Where two events differ, times aside."""
    if wanted.event_type != found.event_type:
        return f"`{found.event_type}` stands where `{wanted.event_type}` had to follow"
    for name in ("event_id", "step", "run", "task", "visit", "attempt", "claim", "fired", "data"):
        if getattr(wanted, name) != getattr(found, name):
            return f"`{found.event_type}`: {name} is {getattr(found, name)!r}, had to be {getattr(wanted, name)!r}"
    return ""


def _misdated(wanted: Event, found: Event) -> str:
    """Why an event has another time than the input that led to it; empty where it has not."""
    return "" if wanted.ts == found.ts else f"`{found.event_type}`: another time than the events decided with it"
