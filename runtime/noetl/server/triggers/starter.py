"""The starts of triggers: each thing that happens is started once, and forgotten once its start is on disk.

Any number of servers may do so at once, and each may die at any point: a start has a key made of its trigger and of
what has happened, so that a store takes it once.
"""

from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from hashlib import sha256

from noetl.ports import Clock, ExecutionRow, Store, StoreRefused
from noetl.ports.triggers import AwaitedEnd, TriggerLetter, TriggerRow, Triggers
from noetl.server.checked_documents import BadDocument
from noetl.server.schedules.starter import StartRefused
from noetl.server.triggers.document import AfterEnd, StandingTrigger, trigger_of
from noetl.server.triggers.mapping import LONGEST_KEY, NotMapped, TriggerMapping
from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple

MOST_ENDS = 500
"""Ends that are dealt with in one look."""


class TriggeredStart(NamedTuple):
    """A start: of what, with which inputs, under which key; `started_by` is what the execution says of where it comes
    from.
    """

    trigger: StandingTrigger
    inputs: dict[str, Json]
    key: str
    started_by: dict[str, Json]


class Happening(NamedTuple):
    """A thing that happened: `key` is that of its start (`key_of`), `scope` is what expressions read of it,
    `started_by` what the execution says of it, and `letter` what is kept where nothing can be started.
    """

    key: str
    scope: Mapping[str, object]
    started_by: dict[str, Json]
    letter: dict[str, Json]


class KnownTrigger(NamedTuple):
    """A trigger of the store, read."""

    row: TriggerRow
    trigger: StandingTrigger
    mapping: TriggerMapping


class TriggerStarter:
    """Starts what triggers say. `begin` makes a start and gives the id of its execution, that of an earlier one with
    its key; it raises StartRefused. `ended_scope` gives what expressions may read of an execution that is over, and how
    long the chain of starts is that led to it. `say` hears of what could not be started, `refused` of each, by the kind
    of its trigger, whether it is a dead letter (`dead`) or comes again (`later`).
    """

    def __init__(
        self,
        store: Store,
        triggers: Triggers,
        clock: Clock,
        begin: Callable[[TriggeredStart], str],
        ended_scope: Callable[[ExecutionRow, frozenset[str]], tuple[dict[str, object], int]],
        say: Callable[[str], None] = lambda text: None,
        refused: Callable[[str, str], None] = lambda kind, why: None,
    ) -> None:
        self._store = store
        self._triggers = triggers
        self._clock = clock
        self._begin = begin
        self._ended_scope = ended_scope
        self._say = say
        self._refused = refused
        self._known: dict[str, KnownTrigger] = {}

    def known(self, name: str) -> KnownTrigger | None:
        """The trigger of a name; None where it is not there, or none that this version knows."""
        row = next(iter(self._triggers.rows(name)), None)
        return None if row is None else self._read(row)

    def _read(self, row: TriggerRow) -> KnownTrigger | None:
        there = self._known.get(row.name)
        # To read a document takes a hundred times as long as to see that it is as it was.
        if there is not None and (there.row.document, there.row.templates) == (row.document, row.templates):
            return there._replace(row=row)
        try:
            found = KnownTrigger(row, trigger_of(row.document), TriggerMapping(row.templates))
        except (BadDocument, NotMapped) as problem:  # a newer version may have put it there
            self._trouble(row, f"it is no trigger: {problem}")
            return None
        self._known[row.name] = found
        return found

    def look(self) -> None:
        """Start what waits for ends. Raises StoreFailure."""
        ends = self._triggers.awaited_ends(MOST_ENDS)
        if not ends:
            return
        rows = {row.name: row for row in self._triggers.rows()}
        refused = set[str]()
        for end in ends:
            row = rows.get(end.trigger)
            if row is None or row.paused or end.trigger in refused:
                continue
            try:
                known = self._read(row)
                if known is not None:
                    self._deal_with(known, end)
                    rows[row.name] = self._current(row.name) or row
            except StartRefused as problem:
                # It stays: what is lacking may come in time.
                refused.add(end.trigger)
                self._refused(row.kind, "later")
                self._trouble(row, str(problem))
            except (StoreRefused, ArithmeticError, ValueError, TypeError, KeyError) as problem:
                refused.add(end.trigger)
                self._trouble(row, f"it cannot be carried out: {type(problem).__name__}: {problem}")

    def _deal_with(self, known: KnownTrigger, end: AwaitedEnd) -> None:
        """Start what one end leads to, and be done with it. Raises StartRefused."""
        cause, ended = known.trigger.cause, self._store.execution(end.execution_id)
        # A mistake of the engine that ended one may have been taken back, and what is gone says nothing.
        is_there = ended is not None and ended.ended == end.ended
        if not isinstance(cause, AfterEnd) or not is_there or ended is None or not _fits(cause, ended):
            self._triggers.settle_end(end.number)
            return
        try:
            self.start_behind(known, ended)
        except NotMapped as problem:
            key = key_of_end(known.row.name, end.execution_id, end.ended)
            letter = self._letter(known, key, _letter_of(ended), f"{end.execution_id}: {problem}")
            self._triggers.settle_end(end.number, letter)
            self._refused(known.row.kind, "dead")
            self._trouble(known.row, letter.reason)
            return
        self._triggers.settle_end(end.number)

    def start_behind(self, known: KnownTrigger, ended: ExecutionRow) -> str:
        """Start what the end of an execution leads to; the id of the execution, empty for none. Raises NotMapped,
        StartRefused, StoreFailure.
        """
        cause, name = known.trigger.cause, ended.execution_id
        scope, depth = self._ended_scope(ended, known.mapping.reads)
        if isinstance(cause, AfterEnd) and depth >= cause.depth:
            raise NotMapped(f"a chain of {depth} starts led here, and `depth` is {cause.depth}: is it a circle?")
        started_by: dict[str, Json] = {"execution": name, "status": ended.status, "depth": depth + 1}
        key = key_of_end(known.row.name, name, ended.ended or 0)
        return self.start(known, Happening(key, scope, started_by, _letter_of(ended)))

    def start(self, known: KnownTrigger, happening: Happening) -> str:
        """Start what has happened, once; the id of the execution, empty where `when` does not hold. Raises NotMapped,
        StartRefused, StoreFailure.
        """
        trigger, mapping = known.trigger, known.mapping
        scope = {**happening.scope, "trigger": trigger.name}
        if not mapping.is_wanted(scope):
            return ""
        inputs = mapping.inputs(scope)
        started_by: dict[str, Json] = {"trigger": trigger.name, "kind": trigger.kind, **happening.started_by}
        found = self._begin(TriggeredStart(trigger, inputs, happening.key, started_by))
        self._started(known.row.name, found)
        return found

    def _letter(self, known: KnownTrigger, key: str, body: dict[str, Json], reason: str) -> TriggerLetter:
        return TriggerLetter(0, known.row.name, key, body, reason, self._clock.now())

    def refuse(self, known: KnownTrigger, happening: Happening, problem: NotMapped) -> None:
        """Keep what cannot be started as a dead letter. Raises StoreFailure."""
        self._triggers.put_letter(self._letter(known, happening.key, happening.letter, str(problem)))
        self._refused(known.row.kind, "dead")
        self._trouble(known.row, str(problem))

    def hinder(self, known: KnownTrigger, problem: StartRefused) -> None:
        """Tell why a start cannot be made now. Raises StoreFailure."""
        self._refused(known.row.kind, "later")
        self._trouble(known.row, str(problem))

    def _started(self, name: str, execution_id: str) -> None:
        # Another server may move it at the same time: the newest of two is as good as the other.
        row = self._current(name)
        if row is not None and (row.last, row.trouble) != (execution_id, ""):
            self._triggers.move(row, row._replace(last=execution_id, trouble=""))

    def _current(self, name: str) -> TriggerRow | None:
        return next(iter(self._triggers.rows(name)), None)

    def _trouble(self, row: TriggerRow, text: str) -> None:
        """Say what hinders a trigger, once."""
        there = self._current(row.name)
        if there is not None and there.trouble != text and self._triggers.move(there, there._replace(trouble=text)):
            self._say(f"trigger {row.name}: {text}")


def _fits(cause: AfterEnd, ended: ExecutionRow) -> bool:
    return ended.status in cause.statuses and fnmatchcase(ended.playbook, cause.playbook)


def _letter_of(ended: ExecutionRow) -> dict[str, Json]:
    return {"execution_id": ended.execution_id, "ended": ended.ended}


def key_of_end(trigger: str, execution_id: str, ended: int) -> str:
    """The key of the start behind an end."""
    return key_of(trigger, f"end {execution_id} {ended}")


def key_of(trigger: str, key: str) -> str:
    """The key of a start, which a store takes once. Nobody outside can make one: headers have no NUL."""
    short = key if len(key) <= LONGEST_KEY else sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
    return f"\0trigger\0{trigger}\0{short}"
