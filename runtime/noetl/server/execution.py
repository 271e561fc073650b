"""One execution in the hands of its owner: fold the log, decide on input, hand the events to the journal, give orders.

A turn is all input waiting now, decided to a fixpoint; its events are on disk together or not at all. Order on disk: a
blob before the event that names it, the event before its effect. A failed commit advances nothing: the state in memory
is dropped, and folded anew from the log.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from noetl.bounded_table import BoundedTable
from noetl.engine import places, reports
from noetl.engine.decide import decide
from noetl.engine.effects import effects, recover, settlement
from noetl.engine.execution import Execution
from noetl.engine.program import Program
from noetl.engine.signals import overdue
from noetl.engine.starting import Request, record_request, start
from noetl.engine.turn import Turn
from noetl.ports import Append, Blobs, Clock, Conflict, ExecutionRow, InboxRow, Owned, Store, StoreFailure
from noetl.ports.idempotency import StartKey
from noetl.server.dues import Dues
from noetl.server.journal import Journal, Keep, at_once
from noetl.server.signal_secrets import NO_SECRETS, SignalRedactor
from noetl.server.stored_events import evolve_record, hydrate, records_of
from noetl.server.waiting_orders import WaitingOrders, waiting
from noetl_ir.evaluate import Fault
from noetl_ir.evaluate.work import SLICE, is_stopped, spent
from noetl_ir.events import Event, step_run_of
from noetl_ir.expr import Json
from noetl_ir.orders import Answer, Order, Report, RunPipeline, SendSignal, SettleMail
from noetl_ir.records import NamedTuple

if TYPE_CHECKING:
    from noetl.ports.queries import ExecutionAttribute


class Interrupted(Exception):
    """The process is to end in the middle of a turn: what it decided came of evaluations that were cut short."""


FOREIGN = (Conflict, Interrupted, Owned, StoreFailure)
"""The exceptions that a turn may raise: they come from the process, the store or its other users, and not from the
execution itself.
"""

ANSWERS_KEPT = 4096
"""How many answers are kept for reports that come twice; each pipeline waits for one at a time."""


class Ask(NamedTuple):
    """A request from outside: `cancel`, `pause`, `resume`, `signal` or `migrate`, or the answer about its `place`.

    - `row`: the inbox row that brought it, if any; `at`: when the row was written, None for now (microseconds since the
      epoch).
    - `handed_down`: a caller hands it to its children; a cancel of that kind does nothing to one that is past main.
    """

    verb: str
    row: int | None = None
    body: Json = None
    at: int | None = None
    handed_down: bool = False


def ask_of(row: InboxRow) -> Ask:
    """The request of a row."""
    # Who makes room for itself cancels as a caller does: nothing of an execution that is past main.
    by_another = row.verb == "cancel" and isinstance(row.body, dict) and row.body.get("by") == CONCURRENCY
    return Ask(row.verb, row.row, row.body, row.at or None, handed_down=by_another)


CONCURRENCY = "concurrency"
"""The mark in the body of a cancel that makes room for another execution under a `concurrency` key."""


def makes_room(execution_id: str) -> dict[str, Json]:
    """The body of a cancel that makes room for an execution."""
    return {"by": CONCURRENCY, "execution": execution_id}


class OwnedExecution:
    """One execution: its fold, and the turns that extend its log. There is one such object for an execution, in the
    process that owns it.

    `clock` gives the times of events and `steady` measures how long timers wait; on a virtual clock both are that one,
    and `wall` gives the times that lists show. The `journal` stores turns; the first turn and blobs go through `keep`.
    The `secrets` are those that it knows.
    """

    def __init__(
        self,
        program: Program,
        execution_id: str,
        *,
        store: Store,
        journal: Journal,
        blobs: Blobs,
        clock: Clock,
        steady: Clock,
        wall: Clock | None = None,
        keep: Keep = at_once,
        secrets: SignalRedactor = NO_SECRETS,
    ) -> None:
        self._secrets = secrets
        self.program = program
        self._keep = keep
        self.execution = Execution(execution_id, program)
        self._store = store
        self._journal = journal
        self._blobs = blobs
        self._clock = clock
        self._steady = steady
        self._wall = wall
        self._turned = 0
        self._last: list[Event] = []
        self.dues = Dues(clock, steady)
        self._answers: BoundedTable[tuple[str, str], Answer] = BoundedTable(ANSWERS_KEPT)
        self._begun: dict[str, tuple[str, int]] = {}
        self._searches, self._ctx = bool(program.plan.search), self.execution.ctx
        self._attributes: tuple[ExecutionAttribute, ...] | None = None  # not known of one that is gone on with

    def create(
        self, request: Request, row: ExecutionRow, key: StartKey | None = None
    ) -> tuple[list[Event], list[Order]]:
        """The first turn of a new execution: it is in the store with its first events, or not at all. Raises Taken."""
        turn = self._turn()
        start(turn, request)
        decide(turn)
        self._store_first(turn, row, key)
        self.dues.written(self.execution.timers, self._turned)
        return turn.events, effects(self.program, self.execution)

    def create_faulted(
        self, request: Request, row: ExecutionRow, problem: dict[str, Json], key: StartKey | None = None
    ) -> tuple[list[Event], list[Order]]:
        """The execution of a start whose first turn the engine makes a mistake in: it is in the store, and over."""
        turn = self._turn()
        record_request(turn, request)
        reports.fault(turn, problem)
        self._store_first(turn, row, key)
        return turn.events, []

    def _store_first(self, turn: Turn, row: ExecutionRow, key: StartKey | None) -> None:
        # The first turn may end the execution already. The row says so in the transaction that creates it, else a
        # crash after that would leave an execution that is over among those that are open.
        row, found_by = self._stands(row), self._found_by()
        records = self._decided(turn.events)
        self._keep(lambda: self._store.create(row, records, key=key, attributes=found_by))

    def sent(self, order: SendSignal, outcome: dict[str, Json]) -> tuple[list[Event], list[Order]]:
        """The signal of a parked task is with its receivers, or has none."""
        turn = self._turn()
        region = self.execution.regions.get(order.run)
        if region is not None and region.claim == order.claim and reports.sent(turn, order.run, outcome):
            decide(turn)
        return self._commit(turn)

    def fault(self, problem: dict[str, Json]) -> tuple[list[Event], list[Order]]:
        """A mistake of the engine ends the execution."""
        turn = self._turn()
        reports.fault(turn, problem)
        return self._commit(turn)

    def retry_fault(self) -> bool:
        """Whether an execution goes on that such a mistake ended; what waits for a worker is to be ordered again."""
        turn = self._turn()
        if not reports.retry_fault(turn):
            return False
        self._commit(turn)
        return True

    def migrate(self, program: Program, row: int | None) -> tuple[list[Event], list[Order]]:
        """Go on under another plan, which the log, all of it on disk, is a legal run of (`engine.migrations`)."""
        before, self.program, self.execution = self.program, program, Execution(self.execution.execution_id, program)
        self._fold()
        # Whatever waits was ordered, by the old plan, in which it is the same; but another pool may have to take it.
        pools = [[step.pool for step in plan.steps] for plan in (before.plan, program.plan)]
        waits = [order for order in effects(program, self.execution) if isinstance(order, RunPipeline)]
        elsewhere = [order for order in waits if pools[0][order.step] != pools[1][order.step]]
        turn = self._turn()
        reports.migrate(turn, reports.migration(before.digest, program.digest), row)
        decide(turn)
        self._searches = bool(program.plan.search)
        events, orders = self._commit(turn, moved=True)
        return events, [*elsewhere, *orders]

    def refuse_migration(self, to: str, why: Sequence[str], row: int | None) -> tuple[list[Event], list[Order]]:
        """Stay with its plan, and say why to whoever asked by a row of the inbox."""
        turn = self._turn()
        reports.refuse_migration(turn, to, why, row)
        return self._commit(turn)

    def load(self) -> None:
        """Fold the log again. Raises IllegalFiring when it is no run of the plan's net, and Conflict where it has moved
        to another plan since somebody looked which one it is.
        """
        self._fold()
        if self.execution.plan_digest not in ("", self.program.digest):
            raise Conflict(f"{self.execution.execution_id} goes on under another plan")

    def _fold(self) -> None:
        begun: dict[str, tuple[str, int]] = {}
        for record in self._store.read(self.execution.execution_id):
            event = evolve_record(self.program, self.execution, record, self._blobs)
            if event.event_type == "task.started":
                begun[event.run] = (event.event_id, event.ts)
        # An attempt that runs may be one whose worker still waits for the answer to its start, as the crash came
        # between the commit and the answer. Its report comes again, and `_was_recorded` has to know it.
        self._begun = {run: begun[run] for run in self.running()}
        self.dues.read(self.execution.timers)
        self._ctx = self.execution.ctx

    def stored_events(self) -> Iterator[Event]:
        """The log as it is on disk."""
        return (hydrate(record, self._blobs) for record in self._store.read(self.execution.execution_id))

    def running(self) -> list[str]:
        """The token keys of the attempts that workers run."""
        return [key for key, region in self.execution.regions.items() if region.phase == "run"]

    def priority_of(self, run: str) -> int:
        """The priority that a run, or an iteration of one, has from its arc."""
        key = step_run_of(run)
        found = self.execution.runs.get(key) or self.execution.left.get(key)
        return found.priority if found is not None else 0

    def is_at_claim(self, run: str, claim: int) -> bool:
        """Whether a worker may still have a pipeline under this claim."""
        if self.execution.is_over or self.execution.cancelled or self.execution.terminated:
            return False
        region = self.execution.regions.get(run)
        # A worker that has only taken the order has its claim too: the start is not in the log yet (`at`).
        return region is not None and region.claim == claim and region.phase in ("at", "run", "parked")

    def runs_under(self, run: str, claim: int) -> bool:
        """Whether an attempt runs under this claim."""
        region = self.execution.regions.get(run)
        return region is not None and (region.phase, region.claim) == ("run", claim)

    def is_parked(self, order: RunPipeline) -> bool:
        """Whether the task that an order hands an outcome to still waits for it."""
        region = self.execution.regions.get(order.run)
        return (
            region is not None
            and region.phase == "parked"
            and (region.task, region.attempt, region.claim) == (order.task, order.attempt, order.claim)
            and region.visits[region.task] == order.visit
        )

    def resume(self, lost: Sequence[str]) -> tuple[list[Event], list[Order]]:
        """After a restart: everything that waits is ordered again, attempts that are lost to their claims too."""
        recover(self.program, self.execution)
        return self.lose(lost)

    def lose(self, keys: Sequence[str]) -> tuple[list[Event], list[Order]]:
        """The workers that had these attempts are gone: they are lost to their claims, and ordered again."""
        turn = self._turn()
        for key in keys:
            reports.lose(turn, key)
            decide(turn)
        decide(turn)
        return self._commit(turn)

    def take(
        self, said: Sequence[Report], due: Sequence[str], asked: Sequence[Ask]
    ) -> tuple[list[Answer], list[Event], list[Order]]:
        """One turn: worker reports, due timers by name, and requests from outside.

        After much work of guards and templates others have a turn: reports without an answer are for the next one.
        """
        turn = self._turn()
        # The limit is one of counted work and not of time, so that a run on a virtual clock is cut at the same report
        # each time.
        by = spent() + SLICE
        # What is asked goes before what workers said in the same round: after a cancel, what they say then is refused,
        # and their tools are stopped.
        self._take_in_order(turn, due, asked)
        answers: list[Answer] = []
        for report in said:
            # At least one report has its answer in each turn, however much work that takes, else one long guard would
            # put off the same reports for ever.
            if spent() > by and turn.events:
                break
            answers.append(self._answer(turn, report))
        events, orders = self._commit(turn)
        return answers, events, orders

    def _take_in_order(self, turn: Turn, due: Sequence[str], asked: Sequence[Ask]) -> None:
        """Due timers and requests in one order, by due time and by when the store has the request; equal: the timer."""
        timers = self.execution.timers
        left = deque(due)
        for ask in asked:
            while left and (ask.at is None or (timer := timers.get(left[0])) is None or timer.due <= ask.at):
                self._fire(turn, left.popleft())
            if self._apply(turn, ask):
                decide(turn)
            # A pause held these up, and signals that came after they were due.
            while (name := overdue(self.execution)) is not None:
                self._fire(turn, name)
        for name in left:
            self._fire(turn, name)

    def _fire(self, turn: Turn, name: str) -> None:
        timer = self.execution.timers.get(name)
        if timer is not None and not (self.execution.is_over or self.execution.stands_still):
            turn.now = max(turn.now, timer.due)  # no log says that one fired before its time, wherever clocks are set
            reports.fire_timer(turn, name)
            decide(turn)

    def _apply(self, turn: Turn, ask: Ask) -> bool:
        if ask.verb == "place":
            return places.record_decision(turn, ask.body if isinstance(ask.body, dict) else {})
        if ask.verb != "signal":
            newer = ask.body.get("execution", "") if isinstance(ask.body, dict) and ask.verb == "cancel" else ""
            return reports.control(turn, ask.verb, ask.row, handed_down=ask.handed_down, newer=str(newer))
        brought = self._secrets.redact(self.execution, self.program, _brought_by(ask))
        return reports.signal(turn, _incoming(ask, brought))

    def can_hide(self, secrets: SignalRedactor, asks: Sequence[Ask]) -> bool:
        """Whether the secrets in what signals bring can be hidden now."""
        brought = [_brought_by(ask) for ask in asks if ask.verb == "signal"]
        return self.execution.is_over or not brought or secrets.is_ready(self.execution, self.program, brought)

    def begin_child(self, run: str, child: str) -> tuple[list[Event], list[Order]]:
        """A task calls a child that may outlive a cancel: its log says so before the child is there."""
        turn = self._turn()
        reports.begin_child(turn, run, child)
        return self._commit(turn)

    def end_child(self, child: str) -> tuple[list[Event], list[Order]]:
        """A child that was called off is over."""
        turn = self._turn()
        if reports.end_child(turn, child):
            decide(turn)
        return self._commit(turn)

    def order_again(self, waiting: WaitingOrders) -> list[Order]:
        """The orders for what has waited for a worker for too long; they follow from the state as the first did."""
        keys = waiting.keys_again(self.execution)
        self.execution.ready.extend(keys)
        self.execution.to_judge.extend(keys)
        return effects(self.program, self.execution) if keys else []

    def order_loop_again(self, loop: str) -> list[Order]:
        """The orders for the iterations of a loop that wait for a worker."""
        waits = [key for key in waiting(self.execution) if key.startswith(f"{loop}/")]
        self.execution.ready.extend(waits)
        self.execution.to_judge.extend(waits)
        return effects(self.program, self.execution) if waits else []

    def due(self, now: int) -> list[str]:
        """The timers that are due at a time of the steady clock, earliest first; none while it stands still."""
        return [] if self.execution.stands_still or not self.execution.timers else self.dues.ripe(now)

    def next_due(self) -> int | None:
        """When the next timer is due, by the steady clock."""
        return None if self.execution.stands_still or not self.execution.timers else self.dues.next()

    def _turn(self) -> Turn:
        self._turned = self._steady.now()
        return Turn(self.program, self.execution, self._clock.now())

    def _answer(self, turn: Turn, report: Report) -> Answer:
        """Record what may be recorded. A bus may deliver a report twice: it has the same answer twice."""
        name = (report.sender, report.events[-1].event_id)
        # The engine would refuse the second copy, as the pipeline has moved on since. To the worker that means that
        # its claim is lost, and it would stop a task that is its own.
        known = self._answers.get(name)
        if known is not None:
            return known
        recorded = len(report.events) if self._begun and self._was_recorded(report) else 0
        for event in report.events[recorded:]:
            before = len(turn.events)
            accepted = reports.accept(turn, event)
            if len(turn.events) > before and not _only_runs(turn):
                decide(turn)
            # The rest of a report rests on the event before it. The worker learns from the count how far it was
            # recorded, and stops.
            if not accepted:
                break
            recorded += 1
        answer = self._answers[name] = Answer(recorded)
        return answer

    def _was_recorded(self, report: Report) -> bool:
        """Whether a report that ends with the start of an attempt is in the log as it was loaded. Its worker never
        had the answer, has not begun, and may; another one's start has the same id, and another time.
        """
        last = report.events[-1]
        return self._begun.get(report.run) == (last.event_id, last.ts) and self.is_at_claim(report.run, report.claim)

    def _commit(self, turn: Turn, *, moved: bool = False) -> tuple[list[Event], list[Order]]:
        execution = self.execution
        if turn.events:
            # The position that is expected in the log is the fence against a second server: if somebody else has
            # appended since, the store raises Conflict and nothing of this turn is kept.
            # `ctx` is another mapping whenever it has changed.
            changed = self._newly_found_by() if moved or (self._searches and execution.ctx is not self._ctx) else None
            expected, records = execution.position - len(turn.events), self._decided(turn.events)
            name, status, ended = execution.execution_id, status_of(execution), self._shown_end(execution.ended)
            # What the engine's mistake ended is over, whatever came; it is read when that is tried again.
            read = execution.inbox_row if execution.fault is None else None
            error = error_code_of(execution) if ended is not None else None
            plan = self.program.digest if moved else None
            self._journal.add_turn(Append(name, expected, records, status, ended, read, error, changed, plan))
            self._last = turn.events
            self.dues.written(execution.timers, self._turned)
        return turn.events, effects(self.program, execution)

    def settlement(self) -> SettleMail:
        """The news for the mailbox that no order has: of signals that came before an end which the store refused."""
        return settlement(self.execution)

    def amend_end(self, append: Append) -> Append:
        """The last turn once more, whose end the store refused since a signal came: it reads that, and ends then.

        Whoever waits for the events of that turn is told of these.
        """
        from noetl.engine.refused_ends import END, end_again, end_behind, take_back

        turn = self._turn()
        end = take_back(turn, self._last)
        for row in self._store.inbox(self.execution.execution_id, self.execution.inbox_row):
            if row.verb == "signal" and isinstance(row.body, dict):
                end_behind(turn, self._late(ask_of(row)))
        end_again(turn, end)
        self._last[-len(END) :] = turn.events
        kept = [*append.records[: -len(END)], *self._records(turn.events)]
        return append._replace(records=kept, read=self.execution.inbox_row)

    def _late(self, ask: Ask) -> reports.Incoming:
        """A signal that nothing hears: where its secrets cannot be hidden it is recorded without what it brought."""
        try:
            brought = self._secrets.redact(self.execution, self.program, _brought_by(ask))
        except Fault:
            brought = {}
        return _incoming(ask, brought)

    def _found_by(self) -> "tuple[ExecutionAttribute, ...]":
        """The attributes that it is found by now."""
        plan, execution = self.program.plan, self.execution
        self._ctx, self._attributes = execution.ctx, ()
        if plan.labels or plan.search or execution.labels:
            from noetl.server.found_by import attributes_of  # most playbooks have none

            self._attributes = attributes_of(self.program, execution)
        return self._attributes

    def _newly_found_by(self) -> "tuple[ExecutionAttribute, ...] | None":
        """The attributes that it is found by now; None where they are those that were stored last."""
        before, found = self._attributes, self._found_by()
        return None if found == before else found

    def _stands(self, row: ExecutionRow) -> ExecutionRow:
        """The row of an execution that is made, as it stands behind its first turn."""
        execution = self.execution
        error = error_code_of(execution) if execution.is_over else None
        return row._replace(status=status_of(execution), ended=self._shown_end(execution.ended), error=error)

    def _shown_end(self, ended: int | None) -> int | None:
        """When it ended, as lists show it."""
        return ended if ended is None or self._wall is None else self._wall.now()

    def _decided(self, events: Sequence[Event]) -> list[tuple[str, bytes]]:
        """The events of a turn as the log keeps them. Raises Interrupted."""
        # Whatever is decided passes here before it is kept. A fault that only says that nobody wants the value any
        # more must not be on disk as the end of a run that was asked to stop.
        if is_stopped():
            raise Interrupted
        return self._records(events)

    def _records(self, events: Sequence[Event]) -> list[tuple[str, bytes]]:
        """Events as the log keeps them; of one that is too large its data is stored outside first."""
        return records_of(events, self.program.plan.limits.max_payload_bytes, self._outside)

    def _outside(self, data: bytes) -> dict[str, Json]:
        """The reference to data that is too large for the log."""
        return self._keep(lambda: self._blobs.put(self.execution.execution_id, data))


def _only_runs(turn: Turn) -> bool:
    """Whether the last event says that a task runs and no more: nothing is to be looked at, and nothing is over."""
    event, execution = turn.events[-1], turn.execution
    if event.event_type != "task.started" or "call" in event.data:  # with a call it waits, and may be heard of
        return False
    return not (execution.agenda or execution.signals or execution.terminated or execution.closing)


def _brought_by(ask: Ask) -> Json:
    """The name and the data of a signal: all of it that somebody outside has written."""
    body = ask.body if isinstance(ask.body, dict) else {}
    return {"name": str(body.get("name", "")), "data": body.get("data")}


def _incoming(ask: Ask, brought: Json) -> reports.Incoming:
    said = brought if isinstance(brought, dict) else {}
    body = ask.body if isinstance(ask.body, dict) else {}
    wait, since = body.get("wait"), body.get("since")
    return reports.Incoming(
        str(said.get("name", "")), said.get("data"), ask.row, ask.at,
        wait if isinstance(wait, str) else "", since if isinstance(since, int) else None,
    )  # fmt: skip


def status_of(execution: Execution) -> str:
    """The status that lists show; `paused` is a running execution that starts nothing new."""
    if execution.paused and not execution.is_over:
        return "paused"
    return "running" if execution.status == "new" else execution.status


def error_code_of(execution: Execution) -> str | None:
    """The code of the failure of an execution, as lists have it; None where it has none."""
    return code_of(execution.fault or execution.failure or {})


def code_of(error: dict[str, Json]) -> str | None:
    """The code of an error, as lists have it."""
    code = error.get("code")
    return code[:LONGEST_CODE].encode("utf-8", "replace").decode() if isinstance(code, str) and code else None


LONGEST_CODE = 255
"""Characters of a code in lists: authors make codes too."""
