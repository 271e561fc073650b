"""The mail of the executions of one control plane: waits that are listed, signals that came to them (EXTENSIONS §6).

Law: the mailbox is told what a log says, and only once that is on disk. Whoever dies between the two leaves a letter
addressed: who takes the execution up finds it and tells of it; of one that is over anybody does whose executions wait.
"""

from collections.abc import Mapping
from functools import lru_cache, partial
from typing import Final, Protocol

from noetl.engine.evolve_tasks import WAIT
from noetl.engine.execution import Execution
from noetl.engine.program import Program
from noetl.ports import Blobs, Clock, Store, Wanted
from noetl.ports.mailbox import Letter, OpenWait, WantedMail
from noetl.server.children import root_of
from noetl.server.execution import OwnedExecution
from noetl.server.journal import Keep
from noetl.server.places import key_in_store
from noetl.server.stored_events import hydrate
from noetl_ir.events import Event
from noetl_ir.expr import entries_of
from noetl_ir.orders import AwaitLetter, Order, SendSignal, SettleMail

LETTERS: Final = (SendSignal, AwaitLetter, SettleMail)
"""The orders that are carried out by a row of an inbox, or of the mailbox."""

LOOK_EVERY = 2_000_000
"""Microseconds between two looks for letters that are addressed to what is over, while somebody here waits."""

BEFORE_ALL: Final = -(1 << 62)
"""A time before each at which a letter may be over."""


@lru_cache(maxsize=64)
def may_be_listed(program: Program) -> bool:
    """Whether a wait of the plan may be known to the mailbox."""
    for row in program.plan.tasks:
        if row.kind == WAIT and row.fields >= 0:
            fields = entries_of(program.plan.templates[row.fields])
            if fields is None or "correlation" in fields:
                return True
    return False


class FollowUp(Protocol):
    """Has a turn stored, and what follows from it done."""

    def __call__(self, owned: OwnedExecution, events: list[Event], orders: list[Order]) -> None: ...


class Hurry(Protocol):
    """Has the inbox looked at in this round."""

    def __call__(self) -> None: ...


class Letters:
    """Sends signals, and tells the mailbox of a store what becomes of waits and letters. `clock` gives the times of
    events, `steady` measures how long nobody looked.
    """

    def __init__(
        self,
        store: Store,
        blobs: Blobs,
        clock: Clock,
        steady: Clock,
        keep: Keep,
        hurry: Hurry,
        follow_up: FollowUp,
    ) -> None:
        self._store = store
        self._blobs = blobs
        self._clock = clock
        self._steady = steady
        self._keep = keep
        self._hurry = hurry
        self._follow_up = follow_up
        self._waiting: dict[str, OwnedExecution] = {}
        self._due = 0
        self._undecided: set[tuple[str, int]] = set()

    def carry_out(self, owned: OwnedExecution, order: SendSignal | AwaitLetter | SettleMail) -> None:
        """Do what was ordered, where the store has not done it already."""
        if isinstance(order, SendSignal):
            from noetl.server.sends import send

            outcome = send(self._store, self._keep, owned.execution, order, self._now_of(owned.execution))
            self._follow_up(owned, *owned.sent(order, outcome.as_json()))
            self._hurry()
        elif isinstance(order, AwaitLetter):
            self._await(owned, order)
        else:
            self._settle(owned, order)

    def post(self, owned: OwnedExecution, letter: Letter, at: int | None) -> None:
        """Post a letter that comes from outside, by the clock of an execution, or `at` a time of it. Raises
        MailboxFull.
        """
        now = self._now_of(owned.execution) if at is None else at
        self._keep(lambda: self._store.mailbox.post_letter(letter, now))
        self._hurry()

    def tell_end(self, owned: OwnedExecution) -> None:
        """An execution is over: what came before an end that the store refused goes back."""
        if owned.execution.mail.has_news:
            self._settle(owned, owned.settlement())
        if owned.execution.scripted:
            self._sweep(owned.execution)

    def _sweep(self, execution: Execution) -> None:
        """Drop the letters that a run with a script leaves, where none of its family can take one any more."""
        prefix = key_in_store(execution, "")
        # Its clock stands at the end, and the time of some may be over: at a time before all, that of none is.
        kept = self._store.mailbox.rows(WantedMail(prefix=prefix, limit=1), BEFORE_ALL)
        # What a mistake of the engine ended may be tried again, and has its letters then.
        if kept and execution.fault is None and self._is_last(execution):
            self._keep(lambda: self._store.mailbox.drop_letters(prefix))

    def _is_last(self, execution: Execution) -> bool:
        """Whether no other execution of a family is open."""
        store, name = self._store, execution.execution_id
        if (row := store.execution(name)) is None:
            return False
        root = root_of(store, row)
        return not any(
            root_of(store, other) == root for other in store.executions(Wanted(open=True)) if other.execution_id != name
        )

    def _await(self, owned: OwnedExecution, order: AwaitLetter) -> None:
        """A wait is parked: it is listed, and has the oldest letter for it, where there is one."""
        execution = owned.execution
        self._waiting[execution.execution_id] = owned
        wait = OpenWait(key_in_store(execution, order.key), execution.execution_id, order.call, order.names)
        if self._keep(lambda: self._store.mailbox.await_letter(wait, self._now_of(execution))):
            self._hurry()

    def _settle(self, owned: OwnedExecution, order: SettleMail) -> None:
        """Waits are over, and letters were taken or returned, as the log on disk says."""
        name, now, mailbox = order.execution_id, self._now_of(owned.execution), self._store.mailbox
        if order.calls or order.taken:
            self._keep(lambda: mailbox.settle_mail(name, order.calls, order.taken))
        for row in order.returned:
            self._keep(partial(mailbox.return_letter, name, row, now))
        if order.returned:
            self._hurry()

    def take_up(self, owned: OwnedExecution) -> None:
        """Tell of what the mailbox has of an execution that was read from its log, before anything new is decided."""
        if not may_be_listed(owned.program):
            return
        execution = owned.execution
        there = self._store.mailbox.correspondence(execution.execution_id)
        kept = {signal.row for signal in execution.signals if signal.wait}
        read = [row for row in there.rows if row <= execution.inbox_row and row not in kept]
        told = SettleMail(
            execution.execution_id,
            tuple({*there.calls} - {*execution.mail.listed.values()}),
            tuple(row for row in read if row not in execution.mail.returned),
            tuple(row for row in read if row in execution.mail.returned),
        )
        self._settle(owned, told)

    def look(self, executions: Mapping[str, OwnedExecution]) -> None:
        """Tell of letters that are addressed to what is over, where that is due."""
        if not self._waiting or self._steady.now() < self._due:
            return
        self._due = self._steady.now() + LOOK_EVERY
        self._waiting = {
            name: owned
            for name, owned in self._waiting.items()
            if executions.get(name) is owned and owned.execution.mail.listed
        }
        for place in self._store.mailbox.stranded_letters() if self._waiting else ():
            if place not in self._undecided:
                self._tell_of(*place)

    def _tell_of(self, execution_id: str, row: int) -> None:
        """Tell what the log of an execution that is over says of a letter."""
        ends, now = "", None
        for record in self._store.read(execution_id):
            event = hydrate(record, self._blobs)
            if event.data.get("scripted") is True and record.position == 1:
                now = 0  # its clock stands still since it is over
            if event.event_type in ("token.claimed", "signal.returned") and event.data.get("row") == row:
                ends = event.event_type
        mailbox = self._store.mailbox
        if ends == "token.claimed":
            self._keep(lambda: mailbox.settle_mail(execution_id, (), (row,)))
        elif ends:
            self._keep(lambda: mailbox.return_letter(execution_id, row, now))
            self._hurry()
        else:  # a mistake of the engine ended it, and it has the letter when it is tried again
            self._undecided.add((execution_id, row))

    def _now_of(self, execution: Execution) -> int | None:
        """The time of an execution that has another clock than the store; None for any other."""
        return self._clock.now() if execution.scripted else None

    def clear(self) -> None:
        """Forget everybody; who is taken up again is listed again."""
        self._waiting.clear()
        self._undecided.clear()
