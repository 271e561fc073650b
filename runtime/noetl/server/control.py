"""The control plane of one process: its executions, their turns, and what passes between parents and children.

Every round takes what waits: reports from the bus, due timers, and requests from the inbox. Each execution that
got something has one turn. Orders go to the bus after the commit; what a full queue has no room for is kept here
and is sent when there is, the highest priority first. What nobody claims is ordered again (`unclaimed`); an order to
stop is not, since the report of what was not stopped is refused.
"""

from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from heapq import heappop, heappush
from itertools import count

from noetl.engine.effects import resume_with
from noetl.engine.execution import Execution
from noetl.engine.program import Program
from noetl.engine.starting import Request
from noetl.ports import STOPS, Blobs, Bus, Clock, ExecutionRow, Full, ReportDelivery, Store, Wanted
from noetl.server.agenda import Agenda
from noetl.server.children import Child, Family, NotFound, outcome_of, request_of
from noetl.server.shell import Ask, Shell
from noetl.server.unclaimed import LOOK_EVERY as LOOK_FOR_UNCLAIMED
from noetl.server.unclaimed import Unclaimed, is_waiting
from noetl_ir.commands import Answer, Command, Report, RunPipeline, StartChild, StopPipeline
from noetl_ir.events import Event, step_run_of
from noetl_ir.expr import Json
from noetl_ir.outcome import error, ok

LOOK_EVERY = 50_000
"""Microseconds between two looks into the inbox, so that a busy run does not ask all the time."""

Observer = Callable[[Execution, Program, Event], None]
"""Hears every event once it is on disk."""


class ControlPlane:
    """Keeps executions. `find` gives the program of a child by the calling program and the path it names.

    `wall` tells the times that lists show where `clock` is a virtual one.
    """

    def __init__(
        self,
        bus: Bus[Command, Report, Answer],
        *,
        store: Store,
        blobs: Blobs,
        clock: Clock,
        pool: str,
        find: Callable[[Program, str], Program],
        load: Callable[[str], Program],
        observe: Observer,
        wall: Clock | None = None,
    ) -> None:
        self._bus = bus
        self._store = store
        self._blobs = blobs
        self._clock = clock
        self._wall = wall
        self._pool = pool
        self._find = find
        self._load = load
        self._observe = observe
        self._posted: int | None = None
        self._looked = 0
        self._asked: dict[str, list[Ask]] = {}
        self._agenda = Agenda()
        self._ranks: dict[str, int] = {}  # which of them came first
        self._owned: dict[str, ExitStack] = {}
        self._orders: list[tuple[int, int, RunPipeline]] = []
        self._numbers = count()
        self._stops: deque[StopPipeline] = deque()
        self._unclaimed: dict[str, Unclaimed] = {}
        self._unclaimed_due = clock.now() + LOOK_FOR_UNCLAIMED
        self._handed: dict[Child, RunPipeline] = {}
        self.shells: dict[str, Shell] = {}
        self._children = Family()

    def start(self, program: Program, execution_id: str, request: Request) -> Shell:
        """Create an execution and run its first turn."""
        parent = request.parent[0] if request.parent else None
        now = (self._wall or self._clock).now()
        row = ExecutionRow(
            execution_id, program.plan.path or program.plan.name, program.digest, "running", parent, now, None
        )
        shell = self._shell(program, execution_id)
        self._after(shell, *shell.begin(request, row))
        return shell

    def resume(self, execution_id: str, program: Program) -> Shell:
        """Take up an execution from its log."""
        shell = self._shell(program, execution_id)
        shell.load()
        if not shell.execution.is_over:
            self._after(shell, *shell.resume())
            self._read_inbox(shell)
        self._take_up_children(execution_id)
        return shell

    def begin(self, program: Program, execution_id: str, request: Request) -> None:
        """Own a new execution and start it."""
        self._own(execution_id)
        try:
            self.start(program, execution_id, request)
        except BaseException:
            self._let_go(execution_id)
            raise

    def take_up(self, execution_id: str, program: Program) -> None:
        """Own an execution that is there and go on with it; raises Owned."""
        self._own(execution_id)
        try:
            self.resume(execution_id, program)
        except BaseException:
            self._let_go(execution_id)
            raise

    def open(self, execution_id: str, program: Program) -> Shell:
        """Take up an execution and its live children only to hand a request to them: nothing is ordered."""
        shell = self._shell(program, execution_id)
        shell.load()
        for row in self._store.executions(Wanted(parent=execution_id, open=True)):
            self._own(row.execution_id)
            self._children.add(row.execution_id, Child(execution_id, ""))
            self.open(row.execution_id, self._load(row.plan_digest))
        return shell

    def _take_up_children(self, execution_id: str) -> None:
        """Children that no task waits for: those go on that nobody ever waited for, the others are cancelled."""
        for row in self._store.executions(Wanted(parent=execution_id, open=True)):
            child_id = row.execution_id
            if child_id in self.shells:
                continue
            self._own(child_id)
            shell = self.resume(child_id, self._load(row.plan_digest))
            if not shell.execution.detached:
                self.ask(child_id, Ask("cancel"))

    def _shell(self, program: Program, execution_id: str) -> Shell:
        shell = Shell(program, execution_id, store=self._store, blobs=self._blobs, clock=self._clock, wall=self._wall)
        self.shells[execution_id] = shell
        self._ranks[execution_id] = next(self._numbers)
        if self._posted is None:  # what came before is read with each execution that is taken up
            self._posted = self._store.posted()
        return shell

    def step(self) -> bool:
        """One round; False when nothing waited."""
        did = self._send()
        deliveries: dict[str, list[ReportDelivery[Report, Answer]]] = {}
        for delivery in self._bus.reports():
            deliveries.setdefault(delivery.body.execution_id, []).append(delivery)
        asked = self._inbox()
        now = self._clock.now()
        concerned = {*deliveries, *asked, *self._agenda.ripe(now)}
        for execution_id in sorted(concerned, key=lambda name: self._ranks.get(name, 0)):
            mine = deliveries.get(execution_id, [])
            shell = self.shells.get(execution_id)
            if shell is None:
                for stray in mine:
                    stray.answer(Answer(0))
                continue
            requests, due = asked.get(execution_id, []), shell.due(now)
            if mine or requests or due:
                did = True
                self._turn(shell, mine, requests, due)
        if now >= self._unclaimed_due:
            self._order_again(now)
        return self._send() or did

    def _order_again(self, now: int) -> None:
        """Order again what nobody has claimed for long, and hand up again what nobody took."""
        self._unclaimed_due = now + LOOK_FOR_UNCLAIMED
        if self._orders:
            return
        self._unclaimed = {name: self._unclaimed.get(name) or Unclaimed() for name in self.shells}
        for name, shell in self.shells.items():
            for order in shell.order_again(self._unclaimed[name]):
                self._queue(order)
        self._handed = {child: order for child, order in self._handed.items() if self._is_parked(order)}
        for handed in self._handed.values():
            self._queue(handed)

    def _is_parked(self, order: RunPipeline) -> bool:
        """Whether the task that waited for this outcome still does."""
        shell = self.shells.get(order.execution_id)
        region = shell.execution.regions.get(order.run) if shell is not None else None
        return (
            region is not None
            and region.phase == "parked"
            and (region.task, region.attempt, region.claim) == (order.task, order.attempt, order.claim)
            and region.visits[region.task] == order.visit
        )

    @property
    def is_open(self) -> bool:
        """Whether any execution here can still move, children that nobody waits for included."""
        return any(not shell.execution.is_over and not shell.execution.paused for shell in self.shells.values())

    def next_due(self) -> int | None:
        """When the next timer of any execution is due, or the next look for what nobody claims."""
        due = self._agenda.next()
        if not self._agenda.unclaimed and not any(map(self._is_parked, self._handed.values())):
            return due
        return self._unclaimed_due if due is None else min(due, self._unclaimed_due)

    def ask(self, execution_id: str, ask: Ask) -> None:
        """Cancel, pause or resume, handed down to children; or a signal."""
        shell = self.shells.get(execution_id)
        if shell is not None:
            self._turn(shell, [], [ask], [])

    def _turn(
        self,
        shell: Shell,
        deliveries: list[ReportDelivery[Report, Answer]],
        requests: list[Ask],
        due: list[str],
    ) -> None:
        answers, events, orders = shell.take([delivery.body for delivery in deliveries], due, requests)
        for delivery, answer in zip(deliveries, answers, strict=True):
            delivery.answer(answer)
        for verb in (request.verb for request in requests if request.verb != "signal"):
            for child_id, _ in self._children.of(shell.execution.execution_id):
                self.ask(child_id, Ask(verb))
        self._after(shell, events, orders)

    def _after(self, shell: Shell, events: list[Event], orders: list[Command]) -> None:
        execution = shell.execution
        observe, program = self._observe, shell.program
        for event in events:
            observe(execution, program, event)
            if event.event_type == "timer.fired" and "outcome" in event.data:
                self._stop_child(execution.execution_id, event.run)
        for order in orders:
            if isinstance(order, RunPipeline):
                self._queue(order)
            elif isinstance(order, StartChild):
                self._start_child(shell, order)
            elif isinstance(order, StopPipeline):
                self._stop_child(execution.execution_id, order.run)
                self._stops.append(order)
        if execution.is_over:
            self._over(shell)
        else:
            self._agenda.note(execution.execution_id, shell.next_due(), unclaimed=is_waiting(execution))

    def _over(self, shell: Shell) -> None:
        execution_id = shell.execution.execution_id
        self._agenda.forget(execution_id)
        for child_id, _ in self._children.of(execution_id):
            self.ask(child_id, Ask("cancel"))
        calling = self._children.pop(execution_id)
        if execution_id in self._owned:
            self._let_go(execution_id)
        if calling is not None:
            self._hand_up(calling, outcome_of(shell))

    def _hand_up(self, child: Child, outcome: dict[str, Json]) -> None:
        """The outcome of a child goes to the parked task that called it; a worker asks the rules about it."""
        shell = self.shells.get(child.parent)
        if shell is None:
            return
        order = resume_with(shell.execution, child.run, shell.program, outcome)
        if order is not None:
            self._handed[child] = order
            self._queue(order)

    def _start_child(self, shell: Shell, order: StartChild) -> None:
        child = Child(order.execution_id, order.run)
        depth = shell.execution.children_depth + 1
        limit = shell.program.plan.limits.max_children_depth
        path = str(order.call.get("path", ""))
        if depth > limit:
            message = f"playbook `{path}` would be {depth} calls deep; `limits.max_children_depth` is {limit}"
            self._hand_up(child, error("playbook.depth", message).as_json())
            return
        there = self._store.execution(order.child_id)
        try:
            program = self._find(shell.program, path) if there is None else self._load(there.plan_digest)
        except NotFound as problem:
            self._hand_up(child, error("playbook.not_found", str(problem)).as_json())
            return
        waits = order.call.get("wait") is not False
        if waits:
            self._children.add(order.child_id, child)
        if order.child_id not in self.shells:
            self._own(order.child_id)
        if there is None:
            self._store.put_plan(program.digest, program.plan.path, program.bytes)
            request = request_of(order, depth)._replace(scripted=shell.execution.scripted)
            self.start(program, order.child_id, request)
        elif there.status in ("running", "paused"):
            if order.child_id not in self.shells:
                self.resume(order.child_id, program)
        elif waits:
            over = self._shell(program, order.child_id)
            over.load()
            self._over(over)
        if not waits:
            self._hand_up(child, ok({"execution_id": order.child_id}).as_json())

    def _own(self, execution_id: str) -> None:
        owning = ExitStack()
        owning.enter_context(self._store.own(execution_id))
        self._owned[execution_id] = owning

    def _let_go(self, child_id: str) -> None:
        """A child is over: nothing of it stays in memory, and others may own it."""
        self.shells.pop(child_id, None)
        self._ranks.pop(child_id, None)
        self._agenda.forget(child_id)
        owning = self._owned.pop(child_id, None)
        if owning is not None:
            owning.close()

    def close(self) -> None:
        """Give up the children that are owned here."""
        for child_id in list(self._owned):
            self._let_go(child_id)

    def drop(self) -> None:
        """Forget every execution, as a crash would: the log has all of it."""
        self.close()
        for kept in (self.shells, self._orders, self._stops, self._unclaimed, self._handed, self._asked):
            kept.clear()
        self._children.clear()
        self._agenda.clear()
        self._ranks.clear()

    def _stop_child(self, parent: str, run: str) -> None:
        for child_id, child in self._children.of(parent):
            if child.run == run:
                self._children.pop(child_id)
                self.ask(child_id, Ask("cancel"))

    def _inbox(self) -> dict[str, list[Ask]]:
        """The requests that came since the last look, and those that waited for whom was taken up."""
        asked, self._asked = self._asked, {}
        now = self._clock.now()
        if now - self._looked < LOOK_EVERY:
            return asked
        self._looked = now
        posted = self._store.posted()
        if posted != self._posted:
            for row in self._store.posts(self._posted or 0):
                shell = self.shells.get(row.execution_id)
                if shell is not None and row.row > shell.execution.inbox_row:
                    known = asked.setdefault(row.execution_id, [])
                    if row.row not in {ask.row for ask in known}:
                        known.append(Ask(row.verb, row.row, row.body))
            self._posted = posted
        return asked

    def _read_inbox(self, shell: Shell) -> None:
        """What was posted while nobody drove an execution is answered in the next round."""
        execution_id = shell.execution.execution_id
        if rows := self._store.inbox(execution_id, shell.execution.inbox_row):
            self._asked[execution_id] = [Ask(row.verb, row.row, row.body) for row in rows]

    def _send(self) -> bool:
        """Hand waiting orders to the bus as far as it has room."""
        did = False
        while self._stops and self._bus.room(STOPS) > 0:
            stop = self._stops.popleft()
            self._bus.send(STOPS, _key_of(stop), stop)
            did = True
        while self._orders and self._bus.room(self._pool) > 0:
            row = heappop(self._orders)
            order = row[2]
            shell = self.shells.get(order.execution_id)
            if shell is None or shell.execution.is_over:
                continue
            try:
                self._bus.send(self._pool, _key_of(order), order)
            except Full:
                heappush(self._orders, row)
                break
            did = True
        return did

    def _queue(self, order: Command) -> None:
        """Keep an order until there is room for it: by the priority of its run, then as it came."""
        if isinstance(order, RunPipeline) and (shell := self.shells.get(order.execution_id)) is not None:
            run = shell.execution.runs.get(step_run_of(order.run))
            heappush(self._orders, (-run.priority if run is not None else 0, next(self._numbers), order))


def _key_of(order: Command) -> str:
    """The key that names an order on the bus: the same order has the same key."""
    if isinstance(order, RunPipeline):
        kind = "run" if order.outcome is None else "outcome"
        return f"{order.execution_id}:{order.run}:{order.task}:{order.visit}:{order.attempt}:{order.claim}:{kind}"
    if isinstance(order, StopPipeline):
        return f"{order.execution_id}:{order.run}:{order.claim}:stop"
    return ""
