"""How long turns are pending, and in which order what waits for them follows."""

from collections.abc import Callable, Sequence

import pytest

from noetl.ports import Append, Conflict, ExecutionRow, StoreFailure, StoreRefused
from noetl.ports.queries import ExecutionAttribute
from noetl.server.journal import BEFORE_EFFECTS, EVERY_EVENT, EVERY_ROUND, Batching, Journal, at_once, together
from noetl.store.memory import MemoryStore


class Hand:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.time = 0

    def now(self) -> int:
        """Microseconds."""
        return self.time


class Pending:
    """A journal on a store with the executions `a` and `b`; `taken` hears of which one was taken over."""

    def __init__(self, batching: Batching) -> None:
        self.store, self.clock = MemoryStore(), Hand()
        self.taken: list[str] = []
        self.did: list[str] = []
        self.ends = dict.fromkeys("ab", 0)
        for name in "ab":
            self.store.create(ExecutionRow(name, "t/t", "d", "running", None, 1, None))
        self.journal = Journal(
            self.store, at_once, self.clock, batching, taken_over=self._taken_over, refuse=lambda name, problem: None,
            amend=lambda name, append: append,
        )  # fmt: skip

    def _taken_over(self, name: str, problem: object) -> None:
        self.taken.append(name)
        self.journal.forget(name)

    def turn(self, name: str, events: int = 1, size: int = 1, then: Callable[[], None] | None = None) -> None:
        """Add a turn, and record when what waits for it is done."""
        first = self.ends[name]
        records = [(f"{name}{first + number}", b"x" * size) for number in range(1, events + 1)]
        self.journal.add_turn(Append(name, first, records, "running", None))
        self.ends[name] += events
        end = self.ends[name]

        def done() -> None:
            assert sum(1 for _ in self.store.read(name)) >= end, "before it is on disk"
            self.did.append(f"{name}{end}")

        self.journal.then(name, then or done)


def test_turns_are_pending_for_a_time_a_number_of_events_and_bytes() -> None:
    for late, full, size in ((True, False, 1), (False, True, 1), (False, False, 1 << 20)):
        pending = Pending(BEFORE_EFFECTS)
        pending.turn("a", events=999 if full else 1, size=size if size > 1 else 1)
        assert pending.journal.is_due is (size > 1)
        pending.clock.time += 19_999 if not late else 20_000
        assert pending.journal.is_due is (late or size > 1)
        if full:
            pending.turn("b")
        assert pending.journal.is_due and pending.journal.is_full is (full or size > 1)


def test_what_waits_for_the_disk_is_pending_no_longer_than_the_round() -> None:
    pending = Pending(BEFORE_EFFECTS)
    pending.turn("a")
    assert not pending.journal.is_due
    pending.journal.want()
    assert pending.journal.is_due
    pending.journal.flush()
    pending.turn("a")
    assert not pending.journal.is_due, "it was wanted once"


@pytest.mark.parametrize(("batching", "is_full"), [(EVERY_EVENT, True), (EVERY_ROUND, False)])
def test_where_orders_leave_the_process_no_round_ends_with_pending_turns(batching: Batching, is_full: bool) -> None:
    pending = Pending(batching)
    assert not pending.journal.is_due and not pending.journal.is_full
    pending.turn("a")
    assert pending.journal.is_due and pending.journal.is_full is is_full


def test_what_waits_follows_in_order_and_behind_what_it_waits_for() -> None:
    """Also what is pending meanwhile, by what follows itself."""
    pending = Pending(EVERY_ROUND)

    def first() -> None:
        pending.did.append("first")
        pending.turn("b")
        pending.turn("a")

    pending.turn("a", then=first)
    pending.turn("b")
    pending.journal.flush()
    assert pending.did == ["first", "b1", "b2", "a2"]
    assert not pending.journal.is_due


def test_of_an_execution_that_is_given_up_nothing_follows() -> None:
    pending = Pending(EVERY_ROUND)
    pending.store.append("a", 0, [("another", b"")], status="running", ended=None)
    for name in "abab":
        pending.turn(name)
    pending.journal.flush()
    assert pending.taken == ["a"] and pending.did == ["b1", "b2"]
    assert [record.event_id for record in pending.store.read("a")] == ["another"]


def test_who_loses_one_while_something_follows_loses_that_one() -> None:
    pending = Pending(EVERY_ROUND)

    def conflict() -> None:
        raise Conflict("somebody else goes on with it")

    pending.turn("a", then=conflict)
    pending.turn("b")
    pending.journal.flush()
    assert pending.taken == ["a"] and pending.did == ["b1"]


def test_who_is_refused_and_flushes_has_nothing_follow_too_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """`done` of each turn looks whether it is on disk."""
    pending = Pending(EVERY_ROUND)
    append_all, refused = pending.store.append_all, list[str]()

    def refuse(name: str, problem: StoreRefused) -> None:
        refused.append(name)
        pending.journal.flush()

    def refusing(appends: Sequence[Append]) -> None:
        if "a" in [append.execution_id for append in appends]:
            raise StoreRefused("one of them cannot be stored")
        append_all(appends)

    monkeypatch.setattr(pending.journal, "_refuse", refuse)
    monkeypatch.setattr(pending.store, "append_all", refusing)
    for name in "abab":
        pending.turn(name)
    pending.journal.flush()
    assert refused == ["a"] and pending.did == ["b1", "b2"]


def test_what_could_not_be_stored_stays_pending() -> None:
    pending = Pending(BEFORE_EFFECTS)
    pending.turn("a")
    pending.turn("b")
    pending.store.close()
    with pytest.raises(StoreFailure):
        pending.journal.flush()
    assert pending.did == [] and pending.journal.is_due is False
    pending.store._closed = False
    pending.journal.flush()
    assert pending.did == ["a1", "b1"]


def test_turns_of_one_execution_are_one_append() -> None:
    one, two = Append("a", 3, [("x", b"1")], "running", None), Append("b", 0, [("y", b"")], "running", None)
    last = Append("a", 4, [("z", b"2")], "completed", 9)
    both = Append("a", 3, [("x", b"1"), ("z", b"2")], "completed", 9)
    assert together([one, two, last]) == [both, two]


def test_the_newest_attributes_of_turns_that_go_together_count() -> None:
    old, new = [(ExecutionAttribute("search.k", "number", str(k), float(k)),) for k in (1, 2)]
    turns = [
        Append("a", at, [(f"s{at}", b"")], "running", None, attributes=attributes)
        for at, attributes in enumerate((old, None, new, None))
    ]
    assert together(turns)[0].attributes == new
    assert together(turns[:2])[0].attributes == old
    assert together([turns[1], turns[3]])[0].attributes is None
    assert together([*turns[:2], turns[3]._replace(attributes=())])[0].attributes == ()
