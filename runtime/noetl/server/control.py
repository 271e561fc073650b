"""The control plane of one process: its executions, their turns, and what passes between parents and children.

Every round takes what waits: reports from the bus, due timers, and requests from the inbox. Each execution that got
something has one turn. The journal stores the turns; whatever rests on them (orders, answers, callers that are told)
follows once they are on disk. Where the workers are in this process, orders that start no effect do not wait for that.
Orders that nobody claims are sent again (`redelivery`), and so are those that a worker elsewhere claimed and left
(`tracker`). An order to stop is not repeated: where it was lost, the next report of that claim is refused.

An execution whose log somebody else has extended is given up, with its callers and children; all others go on. They
also go on when a turn raises what no turn may raise: that execution ends with `engine.fault` (`host.engine_faults`).
"""

from collections.abc import Callable

from noetl.engine.effects import resume_with, unbegun
from noetl.engine.program import Program
from noetl.engine.starting import Request
from noetl.host.engine_faults import fault_of
from noetl.host.log_lines import log_line
from noetl.ports import Blobs, Clock, Conflict, ExecutionRow, Owned, Store, StoreRefused, Wanted
from noetl.ports.bus import Bus
from noetl.ports.idempotency import StartKey
from noetl.ports.mailbox import Letter
from noetl.server.agenda import Agenda
from noetl.server.bulkhead import Bulkhead, EventObserver, Watchers
from noetl.server.child_calls import ChildCalls
from noetl.server.children import AwaitedChildren, ChildCaller, missed, outcome_of
from noetl.server.dues import ClockSetting
from noetl.server.execution import FOREIGN, Ask, OwnedExecution
from noetl.server.inbox import Inbox
from noetl.server.journal import EVERY_EVENT, Batching, Journal, Keep, at_once
from noetl.server.leaving import Leaving
from noetl.server.letters import LETTERS, Letters
from noetl.server.migrations import MIGRATE, Migrations
from noetl.server.orders import Orders, Shares
from noetl.server.owned_executions import OwnedExecutions
from noetl.server.places import Places
from noetl.server.redelivery import Redelivery
from noetl.server.report_intake import HeardReport, ReportIntake, lets_go
from noetl.server.signal_secrets import NO_SECRETS, SignalRedactor
from noetl.server.waiting_orders import is_waiting
from noetl.server.workers.tracker import WorkerTracker, pool_of
from noetl_ir.evaluate.work import SLICE, spent
from noetl_ir.events import Event
from noetl_ir.expr import Json
from noetl_ir.orders import Answer, Order, RunPipeline, Said, StartChild, StopPipeline


class ControlPlane:
    """Drives the executions of one process.

    - `find`: the program of a child, by the calling program and the path that it names; `load`: one by its digest.
    - `clock`: the times of events; `steady`: how long anything waits. On a virtual clock there is no `steady`, and
      `wall` gives the times that lists show.
    - `tracker`: what is known of the workers; `environment`: the variables that a child's workload may read.
    - `observe`: called with every event once it is on disk; `say`: called with a line about each mistake of the engine.
    - `keep`: does every write, and may wait for room; `batching`: how much may be decided and not on disk.
    - `secrets`: hides those of an execution in what signals bring to it; `shares`: those of namespaces.
    """

    def __init__(
        self,
        bus: Bus[Order, Said, Answer],
        *,
        store: Store,
        blobs: Blobs,
        clock: Clock,
        find: Callable[[Program, str], Program],
        load: Callable[[str], Program],
        observe: EventObserver,
        tracker: WorkerTracker,
        steady: Clock | None = None,
        wall: Clock | None = None,
        environment: Callable[[Program], dict[str, Json] | None] = lambda program: None,
        say: Callable[[str], None] = lambda text: None,
        keep: Keep = at_once,
        batching: Batching = EVERY_EVENT,
        secrets: SignalRedactor = NO_SECRETS,
        shares: Shares | None = None,
    ) -> None:
        self._bus = bus
        self._say = say
        self._keep = keep
        self._environment = environment
        self._tracker = tracker
        self._store = store
        self._blobs = blobs
        self._clock = clock
        self._steady = steady or clock
        self._setting = ClockSetting(clock, self._steady)
        self._wall = wall
        self._find = find
        self._load = load
        self._watchers = Watchers(observe, say)
        self._secrets = secrets
        self._inbox = Inbox(store, self._steady, secrets)
        self._agenda = Agenda()
        self._owned = OwnedExecutions(store)
        self.orders = Orders(bus, blobs, keep, shares, self._owned.path_of, tracker.slots_of)
        self.executions = self._owned.executions
        self._redelivery = Redelivery(self.executions, self._steady)
        self._conflict: Conflict | None = None
        self._taken: set[str] = set()
        self._journal = Journal(
            store, keep, self._steady, batching, taken_over=self._taken_over, refuse=self._refuse,
            amend=self._owned.amend,
        )  # fmt: skip
        self._intake = ReportIntake(bus, store=store, blobs=blobs, executions=self.executions, tracker=tracker, say=say)
        self._children = AwaitedChildren()
        self._leaving = Leaving(self.executions, self._fault, self._follow_up)
        self._places = Places(store, self._steady, ask=self._ask, keep=keep)
        self._migrations = Migrations(
            self.executions, self._journal, load, turn=self._turn, fault=self._fault, follow_up=self._follow_up, say=say
        )
        self._letters = Letters(store, blobs, clock, self._steady, keep, self._inbox.hurry, self._follow_up)
        self._calls = ChildCalls(
            self._children, self._owned, store=store, blobs=blobs, find=find, load=load, environment=environment,
            keep=keep, say=say, start=self.start, resume=self.resume, end=self._tell_end_again, hand_up=self._hand_up,
            record=self._record_child,
        )  # fmt: skip

    def start(
        self, program: Program, execution_id: str, request: Request, key: StartKey | None = None
    ) -> OwnedExecution:
        """Create an execution and run its first turn. Raises Taken where another one was started with the key."""
        parent = request.parent[0] if request.parent else None
        now = (self._wall or self._clock).now()
        row = ExecutionRow(
            execution_id, program.plan.path or program.plan.name, program.digest, "running", parent, now, None
        )
        owned = self._execution_of(program, execution_id)
        try:
            begun = owned.create(request, row, key)
        except FOREIGN:
            raise
        except Exception as problem:
            if self._store.execution(execution_id) is not None:  # it has begun, and its orders are still to be made
                self._fault(owned, problem)
                return self.executions.get(execution_id, owned)
            owned = self._execution_of(program, execution_id)
            begun = owned.create_faulted(request, row, self._told(execution_id, problem), key)
        self._follow_up(owned, *begun)
        return owned

    def resume(self, execution_id: str, program: Program, *, retry_fault: bool = False) -> OwnedExecution:
        """Take up an execution from its log, with `retry_fault` one that a mistake of the engine ended."""
        owned = self._execution_of(program, execution_id)
        owned.load()
        self._letters.take_up(owned)
        if retry_fault:
            owned.retry_fault()
        if not owned.execution.is_over:
            self._follow_up(owned, *owned.resume(self._tracker.take_up(owned.execution, owned.running())))
        self._next(execution_id, lambda: self._taken_up(owned))
        return owned

    def _taken_up(self, owned: OwnedExecution) -> None:
        """Look at inbox, callers and other children once an execution has found the children that it waits for."""
        execution_id = owned.execution.execution_id
        if not owned.execution.is_over:
            self._inbox.read_for(owned)
        self._take_up_children(execution_id)
        self._leaving.look(owned)
        parent = owned.execution.parent
        if parent and (verb := missed(owned.execution, self._store.execution(parent[0]))) is not None:
            self._ask(execution_id, Ask(verb, handed_down=True))

    def own_and_start(self, program: Program, execution_id: str, request: Request, key: StartKey | None = None) -> None:
        """Own a new execution and start it. Raises Taken."""
        with self._owned.owning(execution_id, self.give_up, is_new=True):
            self.start(program, execution_id, request, key)
            self._settle_for(execution_id)

    def take_up(self, execution_id: str, program: Program, *, retry_fault: bool = False) -> None:
        """Own an execution that is there and go on with it, as `resume` does; raises Owned."""
        with self._owned.owning(execution_id, self.give_up):
            self.resume(execution_id, program, retry_fault=retry_fault)
            self._settle_for(execution_id)

    def settle(self) -> None:
        """Have everything on disk that was decided, and what rests on it follow. Raises StoreFailure, Conflict."""
        self._journal.flush()
        self._raise_conflict()

    def _settle_for(self, execution_id: str) -> None:
        """`settle` for somebody who waits for one execution. Raises Conflict where somebody else goes on with it."""
        self._journal.flush()
        if execution_id in self._taken and self._conflict is not None:
            raise self._conflict

    def open(self, execution_id: str, program: Program) -> OwnedExecution:
        """Take up an execution and its live children only to hand a request to them: nothing is ordered."""
        owned = self._execution_of(program, execution_id)
        owned.load()
        for row in self._store.executions(Wanted(parent=execution_id, open=True)):
            self._owned.own(row.execution_id)
            self._children.add_child(row.execution_id, ChildCaller(execution_id, ""))
            self.open(row.execution_id, self._load(row.plan_digest))
        return owned

    def _take_up_children(self, execution_id: str) -> None:
        """Children that no task waits for: those go on that nobody ever waited for, the others are cancelled."""
        for row in self._store.executions(Wanted(parent=execution_id, open=True)):
            child_id = row.execution_id
            if child_id in self.executions:
                continue
            self._owned.own(child_id)
            if not self.resume(child_id, self._load(row.plan_digest)).execution.detached:
                self._ask(child_id, _CANCEL)

    def _execution_of(self, program: Program, execution_id: str) -> OwnedExecution:
        owned = OwnedExecution(
            program, execution_id, store=self._store, journal=self._journal, blobs=self._blobs, clock=self._clock,
            steady=self._steady, wall=self._wall, keep=self._keep, secrets=self._secrets,
        )  # fmt: skip
        self._owned.add_execution(execution_id, owned)
        self._inbox.open()
        return owned

    def step(self) -> bool:
        """One round; False when nothing waited. What is to be answered goes together at its end. Raises Conflict when
        all others had their turn.
        """
        with self._bus.together():
            return self._step()

    def _step(self) -> bool:
        did = self._leaving.tell()
        did = self.orders.send(self._is_wanted) or did
        self._look_for_taken()
        by = spent() + SLICE
        reports = self._intake.reports()
        asked = self._inbox.take_asks(self.executions)
        now = self._steady.now()
        self._look_at_clock(now)
        concerned = {*reports, *asked, *self._agenda.ripe(now)}
        for execution_id in sorted(concerned, key=self._owned.rank) if len(concerned) > 1 else concerned:
            mine = reports.get(execution_id, [])
            owned = self.executions.get(execution_id)
            if owned is None:
                for stray in mine:
                    self._intake.hand_on(stray.delivery, execution_id)
                continue
            requests, due = asked.get(execution_id, []), owned.due(now)
            if spent() > by and not requests:  # tools and others are served first
                self._intake.put_off(execution_id, mine)
                did = True
            elif mine or requests or due:
                did = True
                try:
                    self._turn(owned, mine, requests, due)
                except (Conflict, Owned) as problem:
                    self._taken_over(execution_id, problem)
                if spent() > by:  # whoever it made wait comes first in the next round
                    self._owned.put_last(execution_id)
        if self._redelivery.is_due(now):
            self._order_again(now)
        did = self._look_for_abandoned() or did
        did = self._places.step(self.executions) or did
        self._letters.look(self.executions)
        if self._journal.is_due:
            self._journal.flush()
        did = self._leaving.tell() or did
        did = self.orders.send(self._is_wanted) or did
        self._raise_conflict()
        return did

    def _raise_conflict(self) -> None:
        # What is stored beside the log is refused to nobody: who stood still over it may have lost what it drives.
        self._look_for_taken()
        if self._conflict is not None:
            conflict, self._conflict = self._conflict, None
            self._taken.clear()
            raise conflict

    def _look_for_taken(self) -> None:
        """Let go of what others took while this process stood still, before anything is done on what it believes."""
        for execution_id in self._store.taken_over():
            if execution_id in self.executions:
                self._taken_over(execution_id, Conflict(f"{execution_id} was taken up while this process stood still"))
            elif self._owned.is_owned(execution_id):
                self._owned.let_go(execution_id)

    def _look_at_clock(self, now: int) -> None:
        """A wait for a time of day lasts for longer, or not as long, once the wall clock was set."""
        if self._setting.was_changed(now):
            for owned in self.executions.values():
                if owned.dues.has_moments:
                    self._schedule(owned)

    def _schedule(self, owned: OwnedExecution) -> None:
        self._agenda.schedule(owned.execution.execution_id, owned.next_due(), waiting=is_waiting(owned.execution))

    def _taken_over(self, execution_id: str, problem: Conflict | Owned) -> None:
        """Somebody else goes on with an execution: it is given up, and all others have their turn."""
        self._conflict = Conflict(str(problem))
        for owned in self._owned.family_of(execution_id):
            self._taken.add(owned.execution.execution_id)
            for order in self._tracker.stops(owned.execution, owned.running()):
                self.orders.add_stop(order)
        self.give_up(execution_id)

    def _refuse(self, execution_id: str, problem: StoreRefused) -> None:
        """An execution whose turn is never stored ends by that, or is given up where even that cannot be stored."""
        if (owned := self.executions.get(execution_id)) is None:
            return
        if owned.execution.fault is not None:
            self._say(log_line("error", f"execution {execution_id} is given up: {problem}", execution_id))
            self.give_up(execution_id)
        else:
            self._fault(owned, problem)

    def _look_for_abandoned(self) -> bool:
        """Order again what workers left that are not heard any more, or that leave; give up what others drive."""
        left = self._tracker.find_abandoned()
        for execution_id in left.taken:
            if execution_id in self.executions:
                self.give_up(execution_id)
                self._conflict = Conflict(f"{execution_id} was taken up")
        for claim in left.claims:
            owned = self.executions.get(claim.execution_id)
            if owned is not None and owned.runs_under(claim.run, claim.claim):
                with Bulkhead(self._fault, owned):
                    self._follow_up(owned, *owned.lose([claim.run]))
        for execution_id, loop in left.loops:
            if (owned := self.executions.get(execution_id)) is not None:
                with Bulkhead(self._fault, owned):
                    for order in owned.order_loop_again(loop):
                        self._queue(order)
        return bool(left.claims or left.loops)

    def give_up(self, execution_id: str) -> None:
        """Forget an execution with its callers and children; the log has all of it, and its owner may be another."""
        for name in [owned.execution.execution_id for owned in self._owned.family_of(execution_id)]:
            self._children.pop(name)
            self._inbox.forget(name)
            self._places.forget(name)
            self._journal.forget(name)
            self._let_go(name)

    def _order_again(self, now: int) -> None:
        """Order again what nobody has claimed for long, and hand up again what nobody took."""
        self._redelivery.wait(now)
        self.orders.forget(self._is_wanted)
        waiting = self.orders.executions()
        if waiting and not self.orders.are_shared:
            return
        self._tracker.order_again(waiting)
        for order in self._redelivery.orders_again(waiting):
            self._queue(order)

    @property
    def refused(self) -> int:
        """How many reports and heartbeats were refused that somebody sent without the order that they are about."""
        return self._intake.refused

    @property
    def is_open(self) -> bool:
        """Whether any execution here can still move, children that nobody waits for included."""
        return any(not owned.execution.is_over and not owned.execution.paused for owned in self.executions.values())

    def next_due(self) -> int | None:
        """When the next timer of any execution is due, or the next look for what nobody claims, by the steady clock."""
        hurried = self._steady.now() if self._leaving.has_news or self._inbox.is_hurried else None
        dues = [hurried, self._agenda.next(), self._places.next_due(), self._redelivery.next_due(self._agenda.waiting)]
        if (left := self._tracker.until_next_look()) is not None:
            dues.append(self._steady.now() + left)
        return min((due for due in dues if due is not None), default=None)

    def ask(self, execution_id: str, ask: Ask) -> None:
        """Cancel, pause or resume, handed down to children; or a signal; it is on disk then. Raises Conflict."""
        self._ask(execution_id, ask)
        self._settle_for(execution_id)

    def post(self, owned: OwnedExecution, letter: Letter, at: int | None = None) -> None:
        """Post a letter by the clock of an execution, or at a time of it. Raises MailboxFull."""
        self._letters.post(owned, letter, at)

    def _ask(self, execution_id: str, ask: Ask) -> None:
        if (owned := self.executions.get(execution_id)) is not None:
            self._turn(owned, [], [ask], owned.due(self._steady.now()))

    def _turn(self, owned: OwnedExecution, mine: list[HeardReport], requests: list[Ask], due: list[str]) -> None:
        if any(ask.verb == MIGRATE for ask in requests):
            requests, due = self._migrations.take_in_order(owned, requests, due)
            if self.executions.get(owned.execution.execution_id) is not owned:  # it is over
                self._intake.put_off(owned.execution.execution_id, mine)
                return
        with Bulkhead(self._fault, owned, mine):
            self._turn_of(owned, mine, requests, due)
        if self._journal.is_full:
            self._journal.flush()

    def _told(self, execution_id: str, problem: Exception) -> dict[str, Json]:
        error = fault_of(problem)
        self._say(log_line("error", f"execution {execution_id}: {error['message']}", execution_id))
        return error

    def _fault(self, owned: OwnedExecution, problem: Exception) -> None:
        """End an execution by a mistake of the engine: what is in memory is given up, and the log goes on from what is
        on disk. One whose log cannot be folded is given up.
        """
        execution_id = owned.execution.execution_id
        error = self._told(execution_id, problem)
        try:
            self._journal.flush()  # the turns before it stand
            self._journal.forget(execution_id)
            fresh = self._execution_of(owned.program, execution_id)
            fresh.load()
            if fresh.execution.is_over:  # its end is on disk, and others are still to be told
                self._over(fresh)
            else:
                self._follow_up(fresh, *fresh.fault(error))
        except FOREIGN:
            raise
        except Exception as again:
            text = f"execution {execution_id} is given up: {fault_of(again)['message']}"
            self._say(log_line("error", text, execution_id))
            self.give_up(execution_id)

    def _turn_of(self, owned: OwnedExecution, mine: list[HeardReport], requests: list[Ask], due: list[str]) -> None:
        answers, events, orders = owned.take([heard.report for heard in mine], due, requests)
        execution_id = owned.execution.execution_id
        self._intake.put_off(execution_id, mine[len(answers) :])
        answered = [*zip(mine, answers, strict=False)]
        late = [each for each in answered if not self._journal.ahead or lets_go(each[0].report)]
        if late or requests or any(isinstance(order, StopPipeline) for order in orders):
            self._journal.want()

        def tell() -> None:
            for heard, answer in late:
                heard.delivery.answer(answer)
            self._tell(owned, events)

        def follow() -> None:
            # A cancel that this execution did not take is none for its children.
            is_cancelled = any(event.event_type == "playbook.cancelled" for event in events)
            refused = {"signal"} if is_cancelled else {"signal", "cancel"}
            for request in requests:
                if request.verb not in refused:
                    # A pause is one of children that were called off, too: it waits for them.
                    off = owned.execution.leaving if request.verb != "cancel" else ()
                    for child_id in {**dict(self._children.children_of(execution_id)), **dict.fromkeys(off)}:
                        self._ask(child_id, Ask(request.verb, handed_down=True))
            self._after(owned, events, orders)
            for heard, answer in answered:
                if answer.recorded:
                    for order in self._tracker.hear_report(owned.program, heard.report):
                        self._queue(order)

        self._journal.then(execution_id, tell)
        for each in answered:
            if self._journal.ahead and not lets_go(each[0].report):
                each[0].delivery.answer(each[1])
        self._next(execution_id, follow)

    def _next(self, execution_id: str, work: Callable[[], None]) -> None:
        """Do what follows from the last turn of an execution: now where nobody outside sees it, else after the disk."""
        if self._journal.ahead:
            work()
        else:
            self._journal.then(execution_id, work)

    def _follow_up(self, owned: OwnedExecution, events: list[Event], orders: list[Order]) -> None:
        """Follow up a turn that nobody reported for."""
        execution_id = owned.execution.execution_id
        self._journal.then(execution_id, lambda: self._tell(owned, events))
        self._next(execution_id, lambda: self._after(owned, events, orders))

    def _tell(self, owned: OwnedExecution, events: list[Event]) -> None:
        """Whoever watches hears of events that are on disk."""
        self._watchers.tell(owned, events)

    def _after(self, owned: OwnedExecution, events: list[Event], orders: list[Order]) -> None:
        with Bulkhead(self._fault, owned):
            self._follow(owned, events, orders)

    def _is_stored(self, owned: OwnedExecution) -> bool:
        """Have all of it on disk where something outside of this process is next; whether it is driven here still."""
        if not self._journal.ahead:
            return True
        self._journal.flush()
        return self.executions.get(owned.execution.execution_id) is owned

    def _follow(self, owned: OwnedExecution, events: list[Event], orders: list[Order]) -> None:
        execution = owned.execution
        self._tracker.observe_events(execution.execution_id, events)
        for event in events:
            if event.event_type == "timer.fired" and "outcome" in event.data:
                self._stop_child(execution.execution_id, event.run)
        for order in orders:
            if isinstance(order, RunPipeline):
                self._queue(order)
            elif not self._is_stored(owned):  # whoever goes on after a crash would not know of it
                return
            elif isinstance(order, StartChild):
                self._calls.start(owned, order)
            elif isinstance(order, LETTERS):
                self._letters.carry_out(owned, order)
            elif isinstance(order, StopPipeline):
                self._stop_child(execution.execution_id, order.run)
                self.orders.add_stop(self._tracker.stamped(order))
        self._leaving.look(owned)
        if not execution.is_over:
            self._schedule(owned)
            if execution.place.asked is not None:
                self._places.add_asking(owned)
        elif self._is_stored(owned):
            self._letters.tell_end(owned)
            self._over(owned)

    def _record_child(self, owned: OwnedExecution, run: str, child_id: str) -> None:
        """The log of a caller tells of a child that may outlive a cancel, before that is there."""
        self._follow_up(owned, *owned.begin_child(run, child_id))
        self._is_stored(owned)

    def _over(self, owned: OwnedExecution) -> None:
        execution_id, steps = owned.execution.execution_id, owned.program.plan.steps
        self._agenda.forget(execution_id)
        self._secrets.forget(execution_id)
        left = unbegun(owned.program, owned.execution)
        self.orders.withdraw((self._tracker.queue_of(steps[order.step]), order) for order in left)
        self._tracker.forget(execution_id)
        for child_id, _ in self._children.children_of(execution_id):
            self._ask(child_id, _CANCEL)
        outcome = outcome_of(owned) if owned.execution.parent else {}  # before anything is forgotten: it may raise
        calling = self._children.pop(execution_id)
        if owned.execution.parent:
            self._leaving.add_end(owned.execution.parent[0], execution_id)
        self._places.look()
        if self._owned.is_owned(execution_id):
            self._let_go(execution_id)
        if calling is not None:
            self._hand_up(calling, outcome)

    def _hand_up(self, child: ChildCaller, outcome: dict[str, Json]) -> None:
        """The outcome of a child goes to the parked task that called it; a worker asks the rules about it."""
        owned = self.executions.get(child.parent)
        if owned is None:
            return
        with Bulkhead(self._fault, owned):
            order = resume_with(owned.execution, child.run, owned.program, outcome)
            if order is not None:
                self._redelivery.hand_up(child, order)
                self._queue(order)

    def _tell_end_again(self, program: Program, child_id: str) -> None:
        """Follow up the end of a child that ended before its caller could hear of it."""
        over = self._execution_of(program, child_id)
        over.load()
        self._over(over)

    def _let_go(self, execution_id: str) -> None:
        """Nothing of it stays in memory, and others may own it."""
        self._agenda.forget(execution_id)
        self._tracker.forget(execution_id)
        self._secrets.forget(execution_id)
        self._owned.let_go(execution_id)

    def close(self) -> None:
        """Give up the children that are owned here."""
        for child_id in self._owned.owned():
            self._let_go(child_id)

    def drop(self) -> None:
        """Forget every execution, as a crash would: the log has all of it."""
        self.close()
        for part in (
            self._journal, self._owned, self._redelivery, self.orders, self._inbox, self._intake, self._children,
            self._leaving, self._agenda, self._tracker, self._places, self._letters,
        ):  # fmt: skip
            part.clear()

    def _stop_child(self, parent: str, run: str) -> None:
        for child_id, child in self._children.children_of(parent):
            if child.run == run:
                self._children.pop(child_id)
                self._ask(child_id, _CANCEL)

    def _is_wanted(self, order: RunPipeline) -> bool:
        owned = self.executions.get(order.execution_id)
        return owned is not None and not owned.execution.is_over

    def _queue(self, order: Order) -> None:
        """Keep an order until there is room for it: by the priority of its run, then as it came."""
        if not isinstance(order, RunPipeline) or (owned := self.executions.get(order.execution_id)) is None:
            return
        if (pool := self._tracker.pool_for(owned.program, order)) is not None:
            named = pool_of(owned.program.plan.steps[order.step])
            self.orders.add_order(self._tracker.stamped(order), pool, owned.priority_of(order.run), named)


_CANCEL = Ask("cancel", handed_down=True)
