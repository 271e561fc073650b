"""A worker: takes orders, runs tools in slots, reports, and waits for each answer before the next effect.

A report without an answer is sent again, later each time, until it has one: a bus may lose what a crash cuts off.
Plans, values and tokens take long to come; `fetches` fetches and stores them beside the worker. Each pipeline goes on
in a coroutine, which awaits what it lacks (`noetl.ports.needs`) and pauses where the store fails.

The worker is one thread and never blocks. `step` does all that can be done now, and drives those coroutines. Time and
threads come from outside, so that a simulator can decide when anything is over. A `Launcher` runs tools beside it and
hands their outcomes back. Several pipelines are at work at once, one in a slot; whatever waits for a retry delay, a
child or a signal has no session here and holds no slot.
"""

from collections import deque
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Protocol, TypeVar

from noetl.engine.program import Program
from noetl.host.log_lines import log_line
from noetl.messages.encoding import write_report
from noetl.ports import Blobs, Clock, StoreFailure, StoreRefused, ToolCall
from noetl.ports.bus import STOPS, Bus, Delivery, Full, MessageTooLarge, Ticket, address_of, lane_of
from noetl.ports.needs import Needs, Waiting, wait_for
from noetl.worker.background_fetches import BackgroundFetches
from noetl.worker.heartbeats import Heartbeats
from noetl.worker.intake import BegunOrder, Intake
from noetl.worker.session import Attempt, JudgedOutcome, Session, SessionContext
from noetl.worker.slot import Pause, Slot
from noetl.worker.unread import flaw_of, readable
from noetl_ir.codec import CodecError
from noetl_ir.evaluate.work import SLICE, spent
from noetl_ir.orders import (
    Answer,
    Broadcast,
    ClaimCheck,
    DrainWorker,
    LeaseHeartbeat,
    OpenLane,
    Order,
    Report,
    RunPipeline,
    Said,
    StopPipeline,
    WorkerHeartbeat,
    claim_code,
)
from noetl_ir.outcome import Outcome, error

BATCH = 256
"""How many events of tasks without an effect share one report."""

ASK_AGAIN = 1_000_000
"""Microseconds until what could not be stored is tried again."""


_T = TypeVar("_T")


class Launcher(Protocol):
    """Runs tools beside the worker."""

    def immediate(self, call: ToolCall) -> Outcome | None:
        """The outcome of a tool without effects, run on the spot; None when it is to be launched."""
        ...

    def launch(self, ticket: object, call: ToolCall) -> None:
        """Run a tool; its outcome comes back through `finished`."""
        ...

    def finished(self) -> list[tuple[object, Outcome]]:
        """The outcomes that came in since the last call."""
        ...

    def stop(self, ticket: object) -> None:
        """Stop a tool; no outcome comes back for it."""
        ...


class Worker:
    """Works off the orders of one pool in `slots` slots. `name` tells it from other workers of the pool.

    - `limited`: further pools, with a queue and a limit of their own, that the only worker of a process takes from too.
    - `program_of`: raises KeyError where there is no such plan.
    - `heartbeats`, `blobs`: only of a worker in a process of its own; `blobs` keeps what is too large for the bus.
    - `clock`: the times of events; `steady`: how long anything takes and waits, where that is another clock.
    - `say`: called with the reason why an order is not begun (of equal ones in a row, the first), and of reports that
      are taken back; `failed`: called each time that something cannot be stored, which is then tried again.
    """

    def __init__(
        self,
        bus: Bus[Order, Said, Answer],
        *,
        pool: str,
        slots: int,
        launcher: Launcher,
        program_of: Callable[[RunPipeline, Needs], Program],
        context_of: Callable[[RunPipeline, Program, Needs], SessionContext],
        clock: Clock,
        steady: Clock | None = None,
        name: str = "",
        limited: Collection[str] = (),
        heartbeats: Heartbeats | None = None,
        blobs: Callable[[Needs], Blobs] | None = None,
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
        self._busy: dict[tuple[str, str], Slot] = {}
        self._asking: deque[Slot] = deque()
        self._stalled: deque[Slot] = deque()
        self._fetches = fetches or BackgroundFetches(0)
        pools = (
            (address_of(pool, name), pool) if heartbeats is not None else tuple({pool: None, **dict.fromkeys(limited)})
        )

        def session_of(order: RunPipeline, needs: Needs) -> Session:
            program = program_of(order, needs)
            return Session(program, order, context_of(order, program, needs))

        self._intake = Intake(
            bus, pools, session_of=session_of, is_past=self._is_past, blobs=blobs, needs=self._fetches.needs, say=say
        )

    def hear(self, broadcast: Broadcast) -> None:
        """Take in that its pool has a lane."""
        if isinstance(broadcast, OpenLane) and broadcast.pool == self._pool:
            self.add_lane(lane_of(broadcast.pool, broadcast.namespace))

    def add_lane(self, lane: str) -> None:
        """Take from a lane, too."""
        self._intake.add_lane(lane)

    @property
    def busy(self) -> int:
        """How many slots are taken now."""
        return len(self._busy) + len(self._intake)

    def step(self) -> bool:
        """Do all that can be done now; False when that was nothing. All reports go out together at its end."""
        with self._bus.together():
            return self._step()

    def _step(self) -> bool:
        # The slice is for new orders: sessions that begin render templates, and answers that came must not wait for a
        # hundred of them.
        did, self._by = False, spent() + SLICE
        # Outcomes go first, then answers: both free slots, so that orders are taken in the same round.
        for ticket, outcome in self._launcher.finished():
            slot = ticket
            if isinstance(slot, Slot) and slot.running:
                slot.running = False
                self._advance(slot, outcome)
                did = True
        if self._asking:
            did = self._hear() or did
        self._fetches.retry_failed()
        if self._stalled:
            did = self._go_on_waiting() or did
        # Stops are heard before new orders are opened: a stop and the next order of one pipeline may come in the same
        # round.
        while (word := self._bus.take(STOPS)) is not None:
            did = True
            self._obey(word)
        for begun in self._intake.open_orders(self._has_room):
            did = True
            self._begin(begun)
        if self._heartbeats is not None:
            self._live(self._heartbeats)
        return did

    def due(self) -> int | None:
        """When there is something to do again though no message, outcome or fetch comes (microseconds, steady
        clock).
        """
        # A slot whose report is still being packed or stored (`work`) wakes the loop by itself, when its fetch is
        # over.
        dues = [slot.again for slot in self._asking if slot.work is None]
        works = (slot.work for slot in self._stalled)
        dues += [work.awaited.until for work in works if work is not None and isinstance(work.awaited, Pause)]
        if self._heartbeats is not None:
            dues.append(self._steady.now() + self._heartbeats.until_next())
        return min(dues, default=None)

    def _live(self, heartbeats: Heartbeats) -> None:
        """Send heartbeats, and drop the pipelines whose claims were lost."""
        orders = ((slot.session.order, slot.name) for slot in self._busy.values())
        renewals = (
            LeaseHeartbeat(order.execution_id, order.run, order.claim, name, order.mac) for order, name in orders
        )
        for lost in heartbeats.step(renewals):
            self._free(self._busy[lost.execution_id, lost.run])
        heartbeats.say(
            WorkerHeartbeat(self._name, self._pool, self._slots, self.busy, self.leaving, self._intake.trouble)
        )

    def _go_on_waiting(self) -> bool:
        """Go on with the pipelines for which what they waited for is here."""
        did = False
        for _ in range(len(self._stalled)):
            slot = self._stalled.popleft()
            # The pipeline may have been stopped, or replaced by a later order, while it waited.
            if slot.work is None or self._busy.get(slot.key) is not slot:
                continue
            awaited = slot.work.awaited
            if awaited is None or awaited.is_over:
                self._go_on(slot, slot.work)
                did = True
                continue
            # Only a pipeline that cannot go on says that something is missing. One whose report waits for the store
            # has all that it needed, and other orders may begin.
            if slot.report is None:
                self._intake.miss(awaited)
            self._stalled.append(slot)
        return did

    def _hear(self) -> bool:
        """Take in the answers that are here, and send again what has waited long enough for one."""
        did = False
        # The length is taken before: a slot that asks again at once goes to the end, and has its turn in the next
        # round.
        for _ in range(len(self._asking)):
            slot = self._asking.popleft()
            for ticket in slot.tickets:
                if ticket.answer is not None:
                    self._answered(slot, ticket.answer)
                    did = True
                    break
            else:
                self._asking.append(slot)
                # While the last copy is on its way to the store, another one would only have it stored twice.
                if slot.work is None and self._steady.now() >= slot.again:
                    self._go_on(slot, Waiting(self._send(slot)))
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
        # A stop that was late on the bus may be about an earlier claim. The code keeps out whoever can speak on the
        # bus and was given no order.
        if slot is not None and _claim_of(slot.session.order) == _claim_of(order):
            self._free(slot)

    def _obey(self, delivery: Delivery[Order]) -> None:
        """Follow an order that every worker hears: to stop a pipeline, or that a worker leaves."""
        delivery.ack()
        # Every worker hears each stop and only one is meant. A stop that is lost does no harm, as the next report of
        # that pipeline is refused.
        match delivery.body:
            case StopPipeline() as order:
                self.stop(order)
            case DrainWorker(worker) if worker == self._name:
                self.take_no_more()

    def _begin(self, begun: BegunOrder) -> None:
        order = begun.session.order
        key = (order.execution_id, order.run)
        # The order is a later one (`_is_past` was asked): the server has taken the pipeline from the claim that is at
        # work here.
        if (there := self._busy.get(key)) is not None:
            self._free(there)
        self._begun += 1
        slot = self._busy[key] = Slot(key, f"{self._name}:{self._begun}", begun)
        self._advance(slot, None if order.outcome is None else _outcome_of(order.outcome))

    def _is_past(self, order: RunPipeline) -> bool:
        """Whether what is at work here is as far as an order, or further."""
        there = self._busy.get((order.execution_id, order.run))
        return there is not None and there.session.is_past(order)

    def _has_room(self) -> bool:
        return self.busy < self._slots and spent() < self._by

    def _advance(self, slot: Slot, outcome: Outcome | None) -> None:
        """Report the end that follows from an outcome, if there is one, and the next start together."""
        slot.let_go()  # a token may have been replaced while the tool ran
        self._go_on(slot, Waiting(self._advanced(slot, outcome)))

    def _go_on(self, slot: Slot, work: Waiting[None]) -> None:
        """Go on until something is not here yet."""
        slot.work = work
        # The work is noted before it runs: what it does may free the slot, and that closes the work.
        if work.step():
            slot.work = None
        else:
            self._stalled.append(slot)

    async def _met(self, slot: Slot, compute: Callable[[], _T]) -> _T:
        """`Needs.met`, once the store does not fail any more."""
        while True:
            try:
                return await slot.needs.met(compute)
            # An outcome that was got with an effect must not be lost to a store that is away for a minute: it is kept
            # here, and tried again.
            except StoreFailure as problem:
                self._failed(problem)
            await wait_for(Pause(self._steady, ASK_AGAIN))

    async def _advanced(self, slot: Slot, outcome: Outcome | None) -> None:
        """Go on until a tool with an effect is due, the session is over, or the batch is full; then report."""
        session = slot.session
        slot.call = None
        if outcome is not None:
            await self._finish(slot, outcome)
        by = spent() + SLICE
        # Tasks without effects need no answer in between. One report for up to `BATCH` of them saves a round trip and
        # a commit each.
        while not session.over and len(slot.events) < BATCH and spent() < by:
            now, attempt = await self._met(slot, partial(self._attempted, slot))
            # A fault is recorded as the start and the end of an attempt: the net has no way to end a task that did
            # not begin.
            if attempt.fault is not None:
                slot.events.append(session.started(now))
                slot.events.append(session.faulted(now, attempt.fault))
            elif attempt.lost:
                slot.events.append(session.started(now))
                lost = error("worker.lost", "the worker was lost too often while the task ran")
                await self._finish(slot, lost)
            elif attempt.rendered is not None and attempt.rendered.parks:
                # A parked task waits at the server and not here: its slot is free as soon as the report has its
                # answer.
                slot.events.append(session.started(now, attempt.rendered.call_json()))
                session.over = True
            else:
                call = attempt.rendered.call if attempt.rendered is not None else None
                slot.events.append(session.started(now))
                found = await self._met(slot, partial(self._launcher.immediate, call)) if call is not None else None
                # The call is kept, and launched only when the answer says that its start is on disk.
                if found is None:
                    slot.call = call
                    break
                await self._finish(slot, found)
        order = session.order
        slot.report = Report(order.execution_id, order.run, order.claim, tuple(slot.events), slot.name, order.mac)
        slot.resend.reset()
        self._asking.append(slot)
        await self._send(slot)

    def _attempted(self, slot: Slot) -> tuple[int, Attempt]:
        """The attempt that is due, and the time that it is begun at."""
        now, slot.began = self._clock.now(), self._steady.now()
        return now, slot.session.attempt(now)

    async def _finish(self, slot: Slot, outcome: Outcome) -> None:
        now, judged = await self._met(slot, partial(self._judged, slot, outcome))
        slot.events.append(slot.session.finish(now, judged))

    def _judged(self, slot: Slot, outcome: Outcome) -> tuple[int, JudgedOutcome]:
        """The outcome as its rules judge it, and its time; a result that can be stored nowhere is an error."""
        now = self._clock.now()
        took = None if slot.began is None else self._steady.now() - slot.began
        try:
            # The store will not take this result at any time, as it is too large, say. So the rules of the task get
            # an error in its place, and may retry or go on.
            return now, slot.session.judge(now, outcome, took)
        except StoreRefused as problem:
            refused = error("result.refused", f"the result cannot be stored: {problem}")
            return now, slot.session.judge(now, refused, took)

    async def _send(self, slot: Slot) -> None:
        """Send a slot's report. The same report has the same answer, so the first that comes is taken. Event ids are
        of an execution, and another session may say the same: the key names all three."""
        assert slot.report is not None
        # To read each report back before it is sent would cost every one. A report that no server can read has no
        # answer, so only the first one that is late is read.
        if slot.resend.tries == 1:  # nobody answered the first time
            self._take_back(slot, slot.report)
        report = slot.report
        slot.again = self._steady.now() + slot.resend.pause
        key = f"{report.execution_id}:{slot.name}:{report.events[-1].event_id}"
        try:
            slot.tickets.append(await slot.needs.met(lambda: self._sent(key, report, slot.needs)))
        # The value cannot be packed at all, which no second try would change.
        except CodecError:
            self._take_back(slot, report)
            return
        except (Full, StoreFailure):
            pass  # it is sent again
        slot.resend.double()

    def _take_back(self, slot: Slot, report: Report) -> None:
        """Where no server can read a report, have the task fail that it is about, and say so."""
        if not (problem := flaw_of(report)):
            return
        session = slot.session
        slot.report = readable(report, problem, session.program.plan)
        where = f"{report.execution_id}, run {report.run}"
        text = f"a report on execution {where} can be read by no server, so its task fails: {problem}"
        self._say(log_line("error", text))
        slot.events, slot.call, session.over = list(slot.report.events), None, True

    def _sent(self, key: str, report: Report, needs: Needs) -> Ticket[Answer]:
        try:
            return self._bus.report(key, report)
        except MessageTooLarge:
            return self._bus.report(key, self._outside(report, needs))

    def _outside(self, report: Report, needs: Needs) -> ClaimCheck:
        """The claim check of a report that is too large for the bus."""
        assert self._blobs is not None, "a bus with limits is between processes"
        return ClaimCheck(report.execution_id, self._blobs(needs).put(report.execution_id, write_report(report)))

    def _answered(self, slot: Slot, answer: Answer) -> None:
        # An answer to a part means that the server refused the next event: the claim is lost, or the run is called
        # off.
        whole = answer.recorded >= len(slot.events)
        slot.events = []
        slot.report = None
        slot.tickets.clear()
        slot.let_go()
        # A later order for the pipeline took its place while this report was on its way: nothing more is to be
        # launched for it.
        if self._busy.get(slot.key) is not slot:
            return
        if not whole or (slot.session.over and slot.call is None):
            self._free(slot)
        elif slot.call is None:
            self._advance(slot, None)
        else:
            slot.running = True
            self._launcher.launch(slot, slot.call)

    def _free(self, slot: Slot) -> None:
        if slot.running:
            self._launcher.stop(slot)
            slot.running = False
        slot.let_go()
        if self._busy.get(slot.key) is slot:
            del self._busy[slot.key]
        # The order is acknowledged only here, at the end. If this worker ends before that, the bus gives the order to
        # another one.
        slot.delivery.ack()


def _claim_of(order: RunPipeline | StopPipeline) -> tuple[int, str]:
    """The claim of an order, and its code, which those to run and to stop have alike."""
    return order.claim, claim_code(order.mac)


def _outcome_of(envelope: Mapping[str, object]) -> Outcome:
    """The outcome of a parked task as the server hands it over."""
    status = "ok" if envelope.get("status") == "ok" else "error"
    problem = envelope.get("error")
    extras = {key: value for key, value in envelope.items() if key not in ("status", "result", "error", "meta")}
    return Outcome(status, envelope.get("result"), problem if isinstance(problem, dict) else None, extras)  # type: ignore[arg-type]
