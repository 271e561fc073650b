"""The worker's shell: take orders, run tools in slots, report, and wait for each answer before the next effect.

A report that has no answer is sent again, later each time, until it has one: a bus may lose what a crash cuts off.
What takes long, plans and values and tokens, is fetched and stored by `fetches` beside it: whoever needs something
that is not there yet is asked again when it came.

One thread: nothing here blocks. `step` does all that can be done now; a `Launcher` runs tools beside it and hands
their outcomes back. Several pipelines at a time, one slot each; whatever waits (a retry delay, a child, a signal)
has no session here and so holds no slot.
"""

from collections import deque
from collections.abc import Callable, Collection, Mapping
from typing import Protocol

from noetl.background import BackgroundFetches, Fetch, Held, Pending
from noetl.engine.program import Program
from noetl.messages import write_report
from noetl.ports import (
    STOPS,
    Blobs,
    Bus,
    Call,
    Clock,
    Delivery,
    Full,
    MessageTooLarge,
    StoreFailure,
    StoreRefused,
    Ticket,
    address_of,
)
from noetl.worker.heartbeats import Heartbeats
from noetl.worker.intake import Begun, Intake
from noetl.worker.session import Session, SessionContext
from noetl.worker.unread import flaw_of, readable
from noetl_ir.codec import CodecError
from noetl_ir.commands import (
    Answer,
    ClaimCheck,
    Command,
    DrainWorker,
    LeaseHeartbeat,
    Report,
    RunPipeline,
    Said,
    StopPipeline,
    WorkerHeartbeat,
)
from noetl_ir.evaluate.work import SLICE, spent
from noetl_ir.events import Event
from noetl_ir.outcome import Outcome, error

BATCH = 256
"""How many events of tasks without an effect share one report."""

SEND_AGAIN = 1_000_000
LONGEST_WAIT = 4_000_000
"""Microseconds until an unanswered report is sent again: the first time, doubled each time, and at most."""

ASK_AGAIN = 1_000_000
"""Microseconds until what could not be stored is tried again."""


class Launcher(Protocol):
    """Runs tools beside the worker."""

    def immediate(self, call: Call) -> Outcome | None:
        """The outcome of a tool without effects, run on the spot; None when it is to be launched."""
        ...

    def launch(self, ticket: object, call: Call) -> None:
        """Run a tool; its outcome comes back through `finished`."""
        ...

    def finished(self) -> list[tuple[object, Outcome]]:
        """The outcomes that came in since the last call."""
        ...

    def stop(self, ticket: object) -> None:
        """Stop a tool; no outcome comes back for it."""
        ...


class _Slot:
    """A pipeline at work: its session, the delivery it came by, the call that waits for an answer or runs, the outcome
    that could not be stored yet, and what it asked for that is on its way, the last in `fetch`."""

    __slots__ = (
        "again",
        "began",
        "call",
        "delivery",
        "events",
        "fetch",
        "held",
        "key",
        "name",
        "outcome",
        "report",
        "running",
        "session",
        "tickets",
        "wait",
    )  # fmt: skip

    def __init__(self, key: tuple[str, str], name: str, session: Session, delivery: Delivery[Command]) -> None:
        self.key = key
        self.name = name
        self.session = session
        self.delivery = delivery
        self.call: Call | None = None
        self.began: int | None = None
        self.outcome: Outcome | None = None
        self.report: Report | None = None
        self.tickets: list[Ticket[Answer]] = []
        self.wait = SEND_AGAIN
        self.again = 0
        self.events: list[Event] = []
        self.running = False
        self.held: Held = {}
        self.fetch: Fetch | None = None

    def is_due(self, now: int) -> bool:
        """Whether it is to go on, or to be sent again."""
        return now >= self.again or (self.fetch is not None and self.fetch.is_over)


class Worker:
    """Works off the orders of one pool in `slots` slots. `name` tells it from other workers of the pool. The only
    worker that there is takes from pools in `limited` too, which have a queue and a limit of their own.

    `program_of` raises KeyError where there is no such plan. A worker in a process of its own has a `heartbeats`, and
    `blobs` for what is too large for the bus. `clock` gives the times of events, and `steady`, where there is
    another one, measures how long anything takes and waits. `say` hears why an order is not begun, of several alike
    the first, and of reports that are taken back; `failed` each time why something cannot be stored; that is tried
    again.
    """

    def __init__(
        self,
        bus: Bus[Command, Said, Answer],
        *,
        pool: str,
        slots: int,
        launcher: Launcher,
        program_of: Callable[[RunPipeline], Program],
        context_of: Callable[[RunPipeline], SessionContext],
        clock: Clock,
        steady: Clock | None = None,
        name: str = "",
        limited: Collection[str] = (),
        heartbeats: Heartbeats | None = None,
        blobs: Blobs | None = None,
        fetches: BackgroundFetches | None = None,
        say: Callable[[str], None] = lambda text: None,
        failed: Callable[[StoreFailure], None] = lambda problem: None,
    ) -> None:
        self._bus = bus
        self._failed = failed
        self._say = say
        self._name = name
        self._begun = 0
        self._by = 0
        self._pool = pool
        self._heartbeats = heartbeats
        self._blobs = blobs
        self.leaving = False
        """Whether it takes no more."""
        self._slots = slots
        self._launcher = launcher
        self._clock = clock
        self._steady = steady or clock
        self._busy: dict[tuple[str, str], _Slot] = {}
        self._asking: deque[_Slot] = deque()
        self._stalled: deque[_Slot] = deque()
        self._fetches = fetches or BackgroundFetches(0)
        pools = (
            (address_of(pool, name), pool) if heartbeats is not None else tuple({pool: None, **dict.fromkeys(limited)})
        )
        self._intake = Intake(
            bus, pools,
            session_of=lambda order: Session(program_of(order), order, context_of(order)),
            is_past=self._is_past, blobs=blobs, fetches=self._fetches, say=say,
        )  # fmt: skip

    @property
    def busy(self) -> int:
        """How many slots are taken now."""
        return len(self._busy) + len(self._intake)

    def step(self) -> bool:
        """Do all that can be done now; False when that was nothing."""
        did, self._by = False, spent() + SLICE
        for ticket, outcome in self._launcher.finished():
            slot = ticket
            if isinstance(slot, _Slot) and slot.running:
                slot.running = False
                self._go_on(slot, outcome)
                did = True
        if self._asking:
            did = self._hear() or did
        self._fetches.look()
        if self._stalled:
            did = self._look_again() or did
        while (word := self._bus.take(STOPS)) is not None:
            did = True
            self._obey(word)
        for begun in self._intake.begun(self._has_room):
            did = True
            self._begin(begun)
        if self._heartbeats is not None:
            self._live(self._heartbeats)
        return did

    def due(self) -> int | None:
        """When there is something to do again without a word from anybody (microseconds)."""
        dues = [slot.again for slots in (self._asking, self._stalled) for slot in slots]
        if self._heartbeats is not None:
            dues.append(self._steady.now() + self._heartbeats.left())
        return min(dues, default=None)

    def _live(self, heartbeats: Heartbeats) -> None:
        """Say that it is there, and drop what it has no claim on any more."""
        orders = ((slot.session.order, slot.name) for slot in self._busy.values())
        held = (LeaseHeartbeat(order.execution_id, order.run, order.claim, name, order.mac) for order, name in orders)
        for lost in heartbeats.step(held):
            self._free(self._busy[lost.execution_id, lost.run])
        heartbeats.say(
            WorkerHeartbeat(self._name, self._pool, self._slots, self.busy, self.leaving, self._intake.trouble)
        )

    def _look_again(self) -> bool:
        """Ask again for what was not there, as far as it may be there by now."""
        did = False
        for _ in range(len(self._stalled)):
            slot = self._stalled.popleft()
            if self._busy.get(slot.key) is not slot:
                continue
            if slot.is_due(self._steady.now()):
                self._go_on(slot, slot.outcome)
                did = True
                continue
            if slot.fetch is not None:
                self._intake.miss(slot.fetch)
            self._stalled.append(slot)
        return did

    def _hear(self) -> bool:
        """Take in the answers that are here, and send again what has waited long enough for one."""
        did = False
        for _ in range(len(self._asking)):
            slot = self._asking.popleft()
            for ticket in slot.tickets:
                if ticket.answer is not None:
                    self._answered(slot, ticket.answer)
                    did = True
                    break
            else:
                self._asking.append(slot)
                if slot.is_due(self._steady.now()):
                    self._send(slot)
                    did = True
        return did

    def drop_all(self) -> None:
        """Stop every tool; what was in flight is left to the log."""
        for slot in list(self._busy.values()):
            self._free(slot)
        self._intake.give_back()

    def take_no_more(self) -> None:
        """Begin nothing from now on; what is at work goes on."""
        self._slots = 0
        self.leaving = True
        self._intake.give_back()

    def stop(self, order: StopPipeline) -> None:
        """Stop the pipeline of a claim that was called off, by whom it was ordered."""
        slot = self._busy.get((order.execution_id, order.run))
        if slot is not None and (slot.session.order.claim, slot.session.order.mac) == (order.claim, order.mac):
            self._free(slot)

    def _obey(self, delivery: Delivery[Command]) -> None:
        """The orders that every worker hears: to stop a pipeline, or a worker to leave."""
        delivery.ack()
        match delivery.body:
            case StopPipeline() as order:
                self.stop(order)
            case DrainWorker(worker) if worker == self._name:
                self.take_no_more()

    def _begin(self, begun: Begun) -> None:
        order = begun.session.order
        key = (order.execution_id, order.run)
        if (there := self._busy.get(key)) is not None:
            self._free(there)
        self._begun += 1
        slot = self._busy[key] = _Slot(key, f"{self._name}:{self._begun}", begun.session, begun.delivery)
        self._go_on(slot, None if order.outcome is None else _outcome_of(order.outcome))

    def _is_past(self, order: RunPipeline) -> bool:
        """Whether what is at work here is as far as an order, or further."""
        there = self._busy.get((order.execution_id, order.run))
        return there is not None and there.session.is_past(order)

    def _has_room(self) -> bool:
        return self.busy < self._slots and spent() < self._by

    def _go_on(self, slot: _Slot, outcome: Outcome | None) -> None:
        """Report what follows from an outcome, if there is one, and the next start, go out in one report."""
        slot.outcome = outcome
        slot.fetch = None
        self._fetches.serve(slot.held)
        try:
            self._finish(slot)
            self._advance(slot)
        except Pending as wait:
            self._stall(slot, wait.fetch)
        except StoreFailure as problem:
            self._failed(problem)
            self._stall(slot, None)

    def _stall(self, slot: _Slot, fetch: Fetch | None) -> None:
        slot.fetch = fetch
        slot.again = self._steady.now() + ASK_AGAIN
        self._stalled.append(slot)

    def _finish(self, slot: _Slot) -> None:
        if slot.outcome is None:
            return
        took = None if slot.began is None else self._steady.now() - slot.began
        try:
            event = slot.session.finished(self._clock.now(), slot.outcome, took)
        except StoreRefused as problem:
            slot.outcome = error("result.refused", f"the result cannot be stored: {problem}")
            event = slot.session.finished(self._clock.now(), slot.outcome, took)
        slot.events.append(event)
        slot.outcome = None

    def _advance(self, slot: _Slot) -> None:
        """Go on until a tool with an effect is due, the session is over, or the batch is full; then report."""
        session = slot.session
        slot.call = None
        by = spent() + SLICE
        while not session.over and len(slot.events) < BATCH and spent() < by:
            now, slot.began = self._clock.now(), self._steady.now()
            attempt = session.attempt(now)
            if attempt.fault is not None:
                slot.events.append(session.started(now))
                slot.events.append(session.faulted(now, attempt.fault))
            elif attempt.lost:
                slot.events.append(session.started(now))
                slot.outcome = error("worker.lost", "the worker was lost too often while the task ran", retryable=True)
                self._finish(slot)
            elif attempt.rendered is not None and attempt.rendered.parks:
                slot.events.append(session.started(now, attempt.rendered.call_json()))
                session.over = True
            else:
                call = attempt.rendered.call if attempt.rendered is not None else None
                slot.events.append(session.started(now))
                slot.outcome = self._launcher.immediate(call) if call is not None else None
                if slot.outcome is None:
                    slot.call = call
                    break
                self._finish(slot)
        self._report(slot)

    def _report(self, slot: _Slot) -> None:
        order = slot.session.order
        slot.report = Report(order.execution_id, order.run, order.claim, tuple(slot.events), slot.name, order.mac)
        slot.wait = SEND_AGAIN
        self._send(slot)
        self._asking.append(slot)

    def _send(self, slot: _Slot) -> None:
        """Send a slot's report. The same report has the same answer, so the first that comes is taken. Event ids are
        of an execution, and another session may say the same: the key names all three."""
        assert slot.report is not None
        if slot.wait == 2 * SEND_AGAIN:  # nobody answered the first time
            self._take_back(slot, slot.report)
        slot.again = self._steady.now() + slot.wait
        slot.fetch = None
        key = f"{slot.report.execution_id}:{slot.name}:{slot.report.events[-1].event_id}"
        self._fetches.serve(slot.held)
        try:
            slot.tickets.append(self._sent(key, slot.report))
        except Pending as wait:
            slot.fetch = wait.fetch
            return
        except CodecError:
            self._take_back(slot, slot.report)
            return
        except (Full, StoreFailure):
            pass  # it is sent again
        slot.wait = min(slot.wait * 2, LONGEST_WAIT)

    def _take_back(self, slot: _Slot, report: Report) -> None:
        """Where no server can read a report, have the task fail that it is about, and say so."""
        if not (problem := flaw_of(report)):
            return
        session = slot.session
        slot.report = readable(report, problem, session.program.plan)
        where = f"{report.execution_id}, run {report.run}"
        self._say(f"a report on execution {where} can be read by no server, so its task fails: {problem}")
        slot.events, slot.call, session.over = list(slot.report.events), None, True

    def _sent(self, key: str, report: Report) -> Ticket[Answer]:
        try:
            return self._bus.report(key, report)
        except MessageTooLarge:
            return self._bus.report(key, self._outside(report))

    def _outside(self, report: Report) -> ClaimCheck:
        """Where a report lies that is too large for the bus."""
        assert self._blobs is not None, "a bus with limits is between processes"
        return ClaimCheck(report.execution_id, self._blobs.put(report.execution_id, write_report(report)))

    def _answered(self, slot: _Slot, answer: Answer) -> None:
        whole = answer.recorded >= len(slot.events)
        slot.events = []
        slot.report = None
        slot.tickets.clear()
        slot.held = {}
        if self._busy.get(slot.key) is not slot:
            return
        if not whole or (slot.session.over and slot.call is None):
            self._free(slot)
        elif slot.call is None:
            self._go_on(slot, None)
        else:
            slot.running = True
            self._launcher.launch(slot, slot.call)

    def _free(self, slot: _Slot) -> None:
        if slot.running:
            self._launcher.stop(slot)
            slot.running = False
        if self._busy.get(slot.key) is slot:
            del self._busy[slot.key]
        slot.delivery.ack()


def _outcome_of(envelope: Mapping[str, object]) -> Outcome:
    """The outcome of a parked task as the server hands it over."""
    status = "ok" if envelope.get("status") == "ok" else "error"
    problem = envelope.get("error")
    extras = {key: value for key, value in envelope.items() if key not in ("status", "result", "error", "meta")}
    return Outcome(status, envelope.get("result"), problem if isinstance(problem, dict) else None, extras)  # type: ignore[arg-type]
