"""The starts of triggers: each thing that happens is started once, and forgotten once its start is on disk.

Any number of servers may do so at once, and each may die at any point: a start has a key made of its trigger and of
what has happened, so that a store takes it once.
"""

from collections import deque
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from hashlib import sha256

from noetl.bounded_table import BoundedTable
from noetl.ports import Clock, ExecutionRow, Store, StoreRefused
from noetl.ports.triggers import AwaitedEnd, TriggerLetter, TriggerRow, Triggers
from noetl.server.checked_documents import BadDocument
from noetl.server.schedules.starter import StartRefused
from noetl.server.triggers.document import WEBHOOK, AfterEnd, StandingTrigger, Webhook, trigger_of
from noetl.server.triggers.mapping import LONGEST_KEY, NotMapped, TriggerMapping
from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple

MOST_ENDS = 500
"""Ends that are dealt with in one look."""

MOST_BEHIND = 100
"""Executions that are started behind one that no end started: triggers that start each other may double with each."""

TURN_ENDS = 50
TURN = 1_000_000
"""Ends of one trigger, and microseconds, behind which it is the turn of the next one."""

LOOK = 2_000_000
"""Microseconds behind which a look begins no turn more, so that the ends that have come since are looked for."""

_ROOTS = 10_000
"""Beginnings of chains whose starts are counted."""


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


class ChainPlace(NamedTuple):
    """Where an execution stands in a chain of starts by ends: `depth` starts led to it, `root` is the execution at the
    beginning, empty for itself, and `starts` is how many had been started behind that.
    """

    depth: int = 0
    root: str = ""
    starts: int = 0


class KnownTrigger(NamedTuple):
    """A trigger of the store, read."""

    row: TriggerRow
    trigger: StandingTrigger
    mapping: TriggerMapping


class TriggerStarter:
    """Starts what triggers say. `begin` makes a start and gives the id of its execution, that of an earlier one with
    its key; it raises StartRefused. `ended_scope` gives what expressions may read of an execution that is over, and its
    place in the chain of starts that led to it. `say` hears of what could not be started, `refused` of each, by the
    kind of its trigger, whether it is a dead letter (`dead`) or comes again (`later`).
    """

    def __init__(
        self,
        store: Store,
        triggers: Triggers,
        clock: Clock,
        begin: Callable[[TriggeredStart], str],
        ended_scope: Callable[[ExecutionRow, frozenset[str]], tuple[dict[str, object], ChainPlace]],
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
        self._behind = BoundedTable[str, int](_ROOTS)

    def known(self, name: str) -> KnownTrigger | None:
        """The trigger of a name; None where it is not there, or none that this version knows."""
        row = next(iter(self._triggers.rows(name)), None)
        return None if row is None else self._read(row)

    def webhooks(self) -> tuple[Webhook, ...]:
        """The webhooks of the store, as far as this version knows them."""
        read = [self._read(row) for row in self._triggers.rows() if row.kind == WEBHOOK]
        return tuple([one.trigger.cause for one in read if one is not None and isinstance(one.trigger.cause, Webhook)])

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
        names = dict.fromkeys(end.trigger for end in ends)
        if len(ends) == MOST_ENDS:
            # Those of one that cannot be started may be all that were found.
            names |= dict.fromkeys(row.name for row in self._triggers.rows())
        waiting, left, until = deque(names), MOST_ENDS, self._clock.now() + LOOK
        while waiting and left > 0 and self._clock.now() < until:
            name = waiting.popleft()
            settled = self._take_turn(name, min(TURN_ENDS, left))
            left -= settled
            if settled:
                waiting.append(name)

    def _take_turn(self, name: str, most: int) -> int:
        """Start what waits for the ends of one trigger, the oldest first, until one cannot be started or its time is
        over; how many ends it has dealt with.
        """
        until, settled = self._clock.now() + TURN, 0
        for end in self._triggers.awaited_ends(most, name):
            row = self._current(name)
            if row is None or row.paused or (settled and self._clock.now() >= until):
                break
            try:
                known = self._read(row)
                if known is None:
                    break
                self._deal_with(known, end)
            except StartRefused as problem:
                # It stays: what is lacking may come in time.
                self._refused(row.kind, "later")
                self._trouble(row, str(problem))
                return 0
            except (StoreRefused, ArithmeticError, ValueError, TypeError, KeyError) as problem:
                self._trouble(row, f"it cannot be carried out: {type(problem).__name__}: {problem}")
                return 0
            settled += 1
        return settled

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

    def start_behind(self, known: KnownTrigger, ended: ExecutionRow, *, asked: bool = False) -> str:
        """Start what the end of an execution leads to; the id of the execution, empty for none. What a person asked for
        begins a new chain, in so far as its starts are counted. Raises NotMapped, StartRefused, StoreFailure.
        """
        cause, name = known.trigger.cause, ended.execution_id
        scope, (depth, root, starts) = self._ended_scope(ended, known.mapping.reads)
        if isinstance(cause, AfterEnd) and depth >= cause.depth:
            raise NotMapped(f"a chain of {depth} starts led here, and `depth` is {cause.depth}: is it a circle?")
        # The count goes along with each start: a server that begins anew, and others, go on behind it.
        root = name if asked else root or name
        starts = 0 if asked else max(starts, self._behind.get(root, 0))
        if starts >= MOST_BEHIND:
            raise NotMapped(f"{starts} executions were started behind {root}, and no more are: is it a circle?")
        started_by: dict[str, Json] = {
            "execution": name, "status": ended.status, "depth": depth + 1, "root": root, "starts": starts + 1
        }  # fmt: skip
        key = key_of_end(known.row.name, name, ended.ended or 0)
        found = self.start(known, Happening(key, scope, started_by, _letter_of(ended)))
        if found:
            self._behind[root] = starts + 1
        return found

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
