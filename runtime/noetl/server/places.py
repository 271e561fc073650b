"""Places under keys: what an execution that asks for one is told, and who asks here (EXTENSIONS.md §2, `concurrency`).

Law: one transaction of the store looks at all places and changes them, so of two servers one sees what the other did.
A place is held by executions that are not over and by nothing else: no server gives one back, and none is lost with it.
"""

from collections.abc import Callable, Mapping, Sequence

from noetl.engine.execution import Execution
from noetl.ports import Clock, Store
from noetl.ports.places import PlaceRow
from noetl.server.execution import CONCURRENCY, Ask, OwnedExecution
from noetl.server.journal import Keep, at_once
from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple

LOOK_EVERY = 500_000
"""Microseconds between two looks for a place while some wait; what ends here is looked at at once."""

_ENDED = ""
"""`on_conflict` of a row that a newer one has ended."""


class Verdict(NamedTuple):
    """The answer to one who asks: `placed`, `queued` or `refused`, why it is refused, who holds places under its key,
    and whom of them it cancels.
    """

    kind: str
    why: str = ""
    holders: tuple[str, ...] = ()
    cancels: tuple[str, ...] = ()


def judged(rows: Sequence[PlaceRow], asked: PlaceRow) -> tuple[Verdict, tuple[PlaceRow, ...]]:
    """The answer to one who asks for a place, and the rows that are to be written for it."""
    mine = next((row for row in rows if (row.key, row.execution_id) == (asked.key, asked.execution_id)), None)
    if mine is not None and mine.placed:
        return Verdict("placed"), ()
    holders = holders_of(rows, asked.key)
    if mine is not None and mine.on_conflict == _ENDED:
        return Verdict("refused", "replaced", holders), ()
    before = [row for row in rows if _waits(row, asked.key) and (mine is None or row.number < mine.number)]
    replaced: list[PlaceRow] = []
    if asked.on_conflict == "cancel_running" and mine is None:
        replaced = [row._replace(on_conflict=_ENDED) for row in before if row.on_conflict == "cancel_running"]
        before = [row for row in before if row.on_conflict != "cancel_running"]
    surplus = len(holders) - asked.limit + 1
    if surplus <= 0 and not before:
        return Verdict("placed"), (*replaced, (mine or asked)._replace(placed=True))
    if asked.on_conflict in ("skip", "fail"):
        return Verdict("refused", asked.on_conflict, holders), ()
    cancels = holders[: max(surplus, 0)] if asked.on_conflict == "cancel_running" else ()
    # Whom it cancels waits for nobody. Who waits already was no part of a circle, and who closes one later is told.
    if mine is None and not cancels and is_circle(rows, asked):
        return Verdict("refused", "circle", holders), ()
    return Verdict("queued", "", holders, cancels), (*replaced, *(() if mine is not None else (asked,)))


def holders_of(rows: Sequence[PlaceRow], key: str) -> tuple[str, ...]:
    """The executions whose places under a key are held, the oldest first."""
    return tuple(dict.fromkeys(row.root for row in rows if row.placed and row.key == key))


def waiting_before(rows: Sequence[PlaceRow], key: str, execution_id: str) -> tuple[PlaceRow, ...]:
    """Who asked for a place under a key before an execution that waits for one, the first one first."""
    mine = next((row.number for row in rows if (row.key, row.execution_id) == (key, execution_id)), None)
    before = [row for row in rows if _waits(row, key) and mine is not None and row.number < mine]
    return tuple(sorted(before, key=lambda row: row.number))


def _waits(row: PlaceRow, key: str) -> bool:
    return row.key == key and not row.placed and row.on_conflict != _ENDED


def is_circle(rows: Sequence[PlaceRow], asked: PlaceRow) -> bool:
    """Whether who asks would wait for ever, as those who hold what it waits for wait for it.

    Whoever can come to its end is found first: who holds a place and waits, by itself and by those under it, for nobody
    who cannot. The others wait for each other.
    """
    waiting = [row for row in rows if not row.placed and row.on_conflict != _ENDED]
    waiting.append(asked._replace(number=max((row.number for row in rows), default=0) + 1))
    stuck = {(row.key, row.execution_id): row for row in waiting}
    while True:
        freed = [name for name, row in stuck.items() if _comes_free(rows, row, [*stuck.values()])]
        if not freed:
            return (asked.key, asked.execution_id) in stuck
        for name in freed:
            del stuck[name]


def _comes_free(rows: Sequence[PlaceRow], row: PlaceRow, stuck: Sequence[PlaceRow]) -> bool:
    """Whether a place comes free for one who waits, where the others that are `stuck` wait for ever."""
    if any(each.key == row.key and each.number < row.number for each in stuck):
        return False
    for_ever = {name for each in stuck for name in (each.execution_id, *each.above)}
    return sum(holder in for_ever for holder in holders_of(rows, row.key)) < row.limit


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

    def add_asking(self, owned: OwnedExecution) -> None:
        """An execution asks for a place."""
        self._asking[owned.execution.execution_id] = owned
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
        asked = [row_of(owned) for owned in self._asking.values()]
        verdicts = self._verdicts(asked)
        told = False
        for row in asked:
            told = self._tell(row, verdicts[row.execution_id], executions) or told
        return told

    def _verdicts(self, asked: Sequence[PlaceRow]) -> dict[str, Verdict]:
        found: dict[str, Verdict] = {}

        def work(rows: Sequence[PlaceRow]) -> tuple[PlaceRow, ...]:
            found.clear()
            changed: dict[tuple[str, str], PlaceRow] = {}
            known = [*rows]
            for row in asked:
                verdict, written = judged(known, row)
                found[row.execution_id] = verdict
                for one in written:
                    changed[one.key, one.execution_id] = one
                    at = next((n for n, each in enumerate(known) if each[:2] == one[:2]), len(known))
                    # One that is new comes behind all that are there, as the store will number it.
                    number = one.number or max((each.number for each in known), default=0) + 1
                    known[at : at + 1] = [one._replace(number=number)]
            return tuple(changed.values())

        # Most looks find everything as it was: they write nothing, and hold nobody up.
        if not work(self._store.places()):
            return found
        self._keep(lambda: self._store.change_places(work))
        return found

    def _make_room(self, holder: str, executions: Mapping[str, OwnedExecution]) -> None:
        """Ask an execution to end whose place another one is to have; whoever drives it."""
        if holder in executions:
            self._ask(holder, Ask("cancel", handed_down=True))
        else:
            self._keep(lambda: self._store.post(holder, "cancel", {"by": CONCURRENCY}))

    def _tell(self, row: PlaceRow, verdict: Verdict, executions: Mapping[str, OwnedExecution]) -> bool:
        execution_id = row.execution_id
        for holder in verdict.cancels:
            if (execution_id, holder) not in self._cancelled:
                self._cancelled.add((execution_id, holder))
                self._make_room(holder, executions)
        owned = self._asking[execution_id]
        if verdict.kind == "queued" and owned.execution.place.queued_behind is not None:
            return False
        if verdict.kind != "queued":
            del self._asking[execution_id]
            self._cancelled = {pair for pair in self._cancelled if pair[0] != execution_id}
        body: dict[str, Json] = {"verdict": verdict.kind, "why": verdict.why, "holders": [*verdict.holders]}
        self._ask(execution_id, Ask("place", body=body))
        return True

    def forget(self, execution_id: str) -> None:
        """The execution is not driven here any more."""
        self._asking.pop(execution_id, None)

    def clear(self) -> None:
        """Forget everybody; who is taken up again asks again."""
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
    return f"scripted {execution.trace_id} {key}" if execution.scripted else key
