"""Places under keys: what an execution that asks for one is told, and who asks here (EXTENSIONS.md §2, `concurrency`).

Law: one transaction of the store looks at all places and changes them, so of two servers one sees what the other did.
A place is held by executions that are not over and by nothing else: no server gives one back, and none is lost with it.
"""

from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence

from noetl.engine.execution import Execution
from noetl.ports import Clock, Store
from noetl.ports.places import PlaceRow
from noetl.server.execution import Ask, OwnedExecution, makes_room
from noetl.server.journal import Keep, at_once
from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple

LOOK_EVERY = 500_000
"""Microseconds between two looks for a place while some wait; what ends here is looked at at once."""

_ENDED = ""
"""`on_conflict` of a row that a newer one has ended."""


class PlaceDecision(NamedTuple):
    """The answer to an execution that asks for a place: its `kind` is `placed`, `queued` or `refused`; `why` it is
    refused; the executions that hold places under its key, and those of them that it `cancels`.
    """

    kind: str
    why: str = ""
    holders: tuple[str, ...] = ()
    cancels: tuple[str, ...] = ()


class PlacesByKey:
    """All places by key, kept up to date while several executions are answered one after the other. Indexed by key,
    since each answer looks at its own key alone.
    """

    def __init__(self, rows: Sequence[PlaceRow]) -> None:
        self._last = max((row.number for row in rows), default=0)
        self._rows: dict[str, dict[str, PlaceRow]] = {}
        for row in rows:
            self._rows.setdefault(row.key, {})[row.execution_id] = row
        self._known: dict[str, tuple[tuple[str, ...], tuple[PlaceRow, ...]]] = {}

    def rows(self) -> list[PlaceRow]:
        """The places of all keys."""
        return [row for rows in self._rows.values() for row in rows.values()]

    def row(self, key: str, execution_id: str) -> PlaceRow | None:
        """The place of an execution under a key."""
        return self._rows.get(key, {}).get(execution_id)

    def at(self, key: str) -> tuple[tuple[str, ...], tuple[PlaceRow, ...]]:
        """The executions that hold places under a key, and the rows of those that wait for one, both oldest first."""
        if (found := self._known.get(key)) is None:
            rows = [*self._rows.get(key, {}).values()]
            waiting = sorted([row for row in rows if _waits(row, key)], key=_number)
            found = self._known[key] = holders_of(rows, key), tuple(waiting)
        return found

    def put(self, row: PlaceRow) -> None:
        """Write a row. One that is new comes behind all that are there, as the store will number it."""
        if not row.number:
            self._last += 1
            row = row._replace(number=self._last)
        self._rows.setdefault(row.key, {})[row.execution_id] = row
        self._known.pop(row.key, None)


def judged(rows: Sequence[PlaceRow], asked: PlaceRow) -> tuple[PlaceDecision, tuple[PlaceRow, ...]]:
    """The answer to one who asks for a place, and the rows that are to be written for it."""
    return _judged(PlacesByKey(rows), asked)


def answers(
    rows: Sequence[PlaceRow], asked: Sequence[PlaceRow]
) -> tuple[dict[str, PlaceDecision], tuple[PlaceRow, ...]]:
    """The answers to all who ask, one after the other, by execution, and the rows that are to be written for them."""
    standing, decisions = PlacesByKey(rows), dict[str, PlaceDecision]()
    changed: dict[tuple[str, str], PlaceRow] = {}
    for row in asked:
        decisions[row.execution_id], written = _judged(standing, row)
        for one in written:
            standing.put(one)
            changed[one.key, one.execution_id] = one
    return decisions, tuple(changed.values())


def _judged(standing: PlacesByKey, asked: PlaceRow) -> tuple[PlaceDecision, tuple[PlaceRow, ...]]:
    mine = standing.row(asked.key, asked.execution_id)
    if mine is not None and mine.placed:
        return PlaceDecision("placed"), ()
    holders, waiting = standing.at(asked.key)
    if mine is not None and mine.on_conflict == _ENDED:
        return PlaceDecision("refused", "replaced", holders), ()
    replaced: list[PlaceRow] = []
    if asked.on_conflict == "cancel_running" and mine is None:
        replaced = [row._replace(on_conflict=_ENDED) for row in waiting if row.on_conflict == "cancel_running"]
        waiting = tuple([row for row in waiting if row.on_conflict != "cancel_running"])
    is_first = not waiting or (mine is not None and waiting[0].number >= mine.number)
    surplus = len(holders) - asked.limit + 1
    if surplus <= 0 and is_first:
        return PlaceDecision("placed"), (*replaced, (mine or asked)._replace(placed=True))
    if asked.on_conflict in ("skip", "fail"):
        return PlaceDecision("refused", asked.on_conflict, holders), ()
    cancels = holders[: max(surplus, 0)] if asked.on_conflict == "cancel_running" else ()
    # Whom it cancels waits for nobody. Who waits already was no part of a circle, and who closes one later is told.
    if mine is None and not cancels and is_circle(standing.rows(), asked):
        return PlaceDecision("refused", "circle", holders), ()
    return PlaceDecision("queued", "", holders, cancels), (*replaced, *(() if mine is not None else (asked,)))


def holders_of(rows: Sequence[PlaceRow], key: str) -> tuple[str, ...]:
    """The executions whose places under a key are held, the oldest first."""
    return tuple(dict.fromkeys(row.root for row in rows if row.placed and row.key == key))


def waiting_before(rows: Sequence[PlaceRow], key: str, execution_id: str) -> tuple[PlaceRow, ...]:
    """Who asked for a place under a key before an execution that waits for one, the first one first."""
    mine = next((row.number for row in rows if (row.key, row.execution_id) == (key, execution_id)), None)
    before = [row for row in rows if _waits(row, key) and mine is not None and row.number < mine]
    return tuple(sorted(before, key=_number))


def _number(row: PlaceRow) -> int:
    return row.number


def _waits(row: PlaceRow, key: str) -> bool:
    return row.key == key and not row.placed and row.on_conflict != _ENDED


def is_circle(rows: Sequence[PlaceRow], asked: PlaceRow) -> bool:
    """Whether an execution that asks for a place would wait for ever: a deadlock, since the holders wait for it.

    All executions that can still end are removed first: those that hold a place and wait, themselves or by executions
    under it, only for executions that can end. What is left waits in a circle. A queue is looked at again only when a
    holder of its key was removed, so that the search costs no more than the rows there are.
    """
    asked = asked._replace(number=max((row.number for row in rows), default=0) + 1)
    queues: dict[str, deque[PlaceRow]] = {}
    for row in sorted([row for row in (*rows, asked) if _waits(row, row.key)], key=_number):
        queues.setdefault(row.key, deque()).append(row)
    # By execution: how many waiting rows keep it from ending, because it waits itself or because they run under it.
    waits_of = Counter(name for queue in queues.values() for row in queue for name in _stopped_by(row))
    holders: dict[str, dict[str, None]] = {key: {} for key in queues}
    keys_of: dict[str, list[str]] = {}
    for row in rows:
        if row.placed and row.key in queues and row.root not in holders[row.key]:
            holders[row.key][row.root] = None
            keys_of.setdefault(row.root, []).append(row.key)
    look = deque(queues)
    while look:
        queue, roots = queues[key := look.popleft()], holders[key]
        while queue and sum(waits_of[root] > 0 for root in roots) < queue[0].limit:
            for name in _stopped_by(freed := queue.popleft()):
                waits_of[name] -= 1
                if not waits_of[name]:
                    look.extend(keys_of.get(name, ()))
            if freed is asked:
                return False
    return True


def _stopped_by(row: PlaceRow) -> set[str]:
    """Who cannot come to its end while a row waits."""
    return {row.execution_id, *row.above}


class Places:
    """The executions of one control plane that ask for a place. `ask` hands an execution its answer."""

    def __init__(self, store: Store, clock: Clock, ask: Callable[[str, Ask], None], keep: Keep = at_once) -> None:
        self._store = store
        self._clock = clock
        self._ask = ask
        self._keep = keep
        self._asking: dict[str, OwnedExecution] = {}
        self._cancelled: set[tuple[str, str]] = set()
        self._due = 0
        self._answered: tuple[Sequence[PlaceRow], Sequence[PlaceRow]] | None = None

    def add_asking(self, owned: OwnedExecution) -> None:
        """An execution asks for a place."""
        self._asking[owned.execution.execution_id] = owned
        self._answered = None
        self._due = 0

    def look(self) -> None:
        """Something is over: a place may have come free."""
        self._due = 0

    def next_due(self) -> int | None:
        """When the next look is due, by the steady clock; None where nobody asks."""
        return self._due if self._asking else None

    def step(self, executions: Mapping[str, OwnedExecution]) -> bool:
        """Look for places where that is due; whether anything was told."""
        if not self._asking or self._clock.now() < self._due:
            return False
        self._due = self._clock.now() + LOOK_EVERY
        self._asking = {
            name: owned
            for name, owned in self._asking.items()
            if executions.get(name) is owned and owned.execution.place.asked is not None and not owned.execution.is_over
        }
        rows, asked = self._store.places(), tuple([row_of(owned) for owned in self._asking.values()])
        # Nearly always everything is as it was, and all who ask have their answers.
        if (rows, asked) == self._answered:
            return False
        decisions, changed = answers(rows, asked)
        # What is left as it is is only looked at, and holds nobody up.
        if changed:
            decisions = self._change(asked)
        told = False
        for row in asked:
            told = self._tell(row, decisions[row.execution_id], executions) or told
        if not changed:
            self._answered = rows, asked
        return told

    def _change(self, asked: Sequence[PlaceRow]) -> dict[str, PlaceDecision]:
        """Answer all who ask by the places as they are then, and write what follows."""
        found: dict[str, PlaceDecision] = {}

        def work(rows: Sequence[PlaceRow]) -> tuple[PlaceRow, ...]:
            decisions, changed = answers(rows, asked)
            found.clear()
            found.update(decisions)
            return changed

        self._keep(lambda: self._store.change_places(work))
        return found

    def _make_room(self, holder: str, execution_id: str, executions: Mapping[str, OwnedExecution]) -> None:
        """Ask an execution to end whose place another one is to have; whoever drives it."""
        body = makes_room(execution_id)
        if holder in executions:
            self._ask(holder, Ask("cancel", body=body, handed_down=True))
        else:
            self._keep(lambda: self._store.post(holder, "cancel", body))

    def _tell(self, row: PlaceRow, decision: PlaceDecision, executions: Mapping[str, OwnedExecution]) -> bool:
        execution_id = row.execution_id
        for holder in decision.cancels:
            if (execution_id, holder) not in self._cancelled:
                self._cancelled.add((execution_id, holder))
                self._make_room(holder, execution_id, executions)
        owned = self._asking[execution_id]
        if decision.kind == "queued" and owned.execution.place.queued_behind is not None:
            return False
        if decision.kind != "queued":
            del self._asking[execution_id]
            self._cancelled = {pair for pair in self._cancelled if pair[0] != execution_id}
        body: dict[str, Json] = {"verdict": decision.kind, "why": decision.why, "holders": [*decision.holders]}
        self._ask(execution_id, Ask("place", body=body))
        return True

    def forget(self, execution_id: str) -> None:
        """The execution is not driven here any more."""
        self._asking.pop(execution_id, None)

    def clear(self) -> None:
        """Forget everybody; who is taken up again asks again."""
        self._answered = None
        self._asking.clear()
        self._cancelled.clear()


def row_of(owned: OwnedExecution) -> PlaceRow:
    """The place that an execution asks for."""
    execution = owned.execution
    asked = execution.place.asked or {}
    limit = asked.get("limit")
    return PlaceRow(
        key_in_store(execution, str(asked.get("key"))),
        execution.execution_id,
        execution.execution_id,
        placed=False,
        limit=limit if isinstance(limit, int) else 1,
        on_conflict=str(asked.get("on_conflict")),
        above=tuple(dict.fromkeys(root for _, root in execution.place.under)),
    )


def rows_under(owned: OwnedExecution, child_id: str, under: Sequence[tuple[str, str]]) -> tuple[PlaceRow, ...]:
    """The rows of a child that runs under places: as long as it is not over, they are held."""
    above = tuple(dict.fromkeys(root for _, root in under))
    return tuple(
        PlaceRow(key_in_store(owned.execution, key), child_id, root, placed=True, above=above) for key, root in under
    )


def key_in_store(execution: Execution, key: str) -> str:
    """The key as the store has it: runs by a script, which have no effect, stand in nobody's way but their own."""
    return f"{family_prefix(execution.trace_id)}{key}" if execution.scripted else key


SCRIPTED = "scripted "
"""The beginning of all keys of runs by a script."""


def family_prefix(trace_id: str) -> str:
    """The beginning of the keys of a run by a script and of its children."""
    return f"{SCRIPTED}{trace_id} "
