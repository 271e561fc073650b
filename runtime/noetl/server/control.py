"""The control plane of one process: its executions, their turns, and what passes between parents and children.

Every round takes what waits: reports from the bus, due timers, and requests from the inbox. Each execution that
got something has one turn. Orders go to the bus after the commit (`orders`). What nobody claims is ordered again
(`repeats`), and what a worker elsewhere claimed and left (`watch`); an order to stop is not, since the report of
what was not stopped is refused.

An execution whose log somebody else has extended is given up, and whoever it belongs to; all others go on. So they do
when a turn of one raises what no turn may raise: that one ends with `engine.fault` (`faults`).
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from noetl.engine.effects import resume_with, unbegun
from noetl.engine.execution import Execution
from noetl.engine.program import Program
from noetl.engine.starting import Request
from noetl.faults import CODE, fault_of
from noetl.ports import Blobs, Bus, Clock, Conflict, ExecutionRow, Owned, StartKey, Store, StoreFailure, Wanted
from noetl.server.agenda import Agenda
from noetl.server.children import Child, Family, NotFound, child_of, missed, outcome_of, request_of
from noetl.server.hearing import Heard, Hearing
from noetl.server.holdings import Holdings
from noetl.server.inbox import Inbox
from noetl.server.orders import Orders
from noetl.server.repeats import Repeats
from noetl.server.shell import Ask, Keep, Shell, at_once
from noetl.server.unclaimed import is_waiting
from noetl.server.watch import Watch
from noetl_ir.commands import Answer, Command, RunPipeline, Said, StartChild, StopPipeline
from noetl_ir.evaluate.work import SLICE, spent
from noetl_ir.events import Event, step_run_of
from noetl_ir.expr import Json
from noetl_ir.outcome import error, ok

FOREIGN = (Conflict, Owned, StoreFailure)
"""What a turn may raise: it says something of what is around it, and nothing of the execution."""

CLOCK_SET = 100_000
"""Microseconds by which the wall clock goes off the steady one before it counts as set."""

Observer = Callable[[Execution, Program, Event], None]
"""Hears every event once it is on disk."""


class ControlPlane:
    """Keeps executions. `find` gives the program of a child by the calling program and the path it names.

    `clock` gives the times of events and `steady` measures how long anything waits; there is none where `clock` is a
    virtual one, and `wall` then tells the times that lists show. `watch` is over the workers; `environment`
    gives the variables that the workload of a child reads and may read. `say` hears of mistakes of the engine;
    `keep` has everything stored, and waits for room where that is wanted.
    """

    def __init__(
        self,
        bus: Bus[Command, Said, Answer],
        *,
        store: Store,
        blobs: Blobs,
        clock: Clock,
        find: Callable[[Program, str], Program],
        load: Callable[[str], Program],
        observe: Observer,
        watch: Watch,
        steady: Clock | None = None,
        wall: Clock | None = None,
        environment: Callable[[Program], dict[str, Json] | None] = lambda program: None,
        say: Callable[[str], None] = lambda text: None,
        keep: Keep = at_once,
    ) -> None:
        self._say = say
        self._keep = keep
        self._environment = environment
        self._watch = watch
        self._store = store
        self._blobs = blobs
        self._clock = clock
        self._steady = steady or clock
        self._ahead = clock.now() - self._steady.now()
        self._wall = wall
        self._find = find
        self._load = load
        self._observe = observe
        self._inbox = Inbox(store, self._steady)
        self._agenda = Agenda()
        self._orders = Orders(bus, blobs, keep)
        self._holdings = Holdings(store)
        self.shells = self._holdings.shells
        self._repeats = Repeats(self.shells, self._steady)
        self._conflict: Conflict | None = None
        self._hearing = Hearing(bus, store=store, blobs=blobs, shells=self.shells, watch=watch, say=say)
        self._children = Family()

    def start(self, program: Program, execution_id: str, request: Request, key: StartKey | None = None) -> Shell:
        """Create an execution and run its first turn. Raises Taken where another one was started with the key."""
        parent = request.parent[0] if request.parent else None
        now = (self._wall or self._clock).now()
        row = ExecutionRow(
            execution_id, program.plan.path or program.plan.name, program.digest, "running", parent, now, None
        )
        shell = self._shell(program, execution_id)
        try:
            begun = shell.begin(request, row, key)
        except FOREIGN:
            raise
        except Exception as problem:
            if self._store.execution(execution_id) is not None:  # it has begun, and its orders are still to be made
                self._fault(shell, problem)
                return self.shells.get(execution_id, shell)
            shell = self._shell(program, execution_id)
            begun = shell.begin_faulted(request, row, self._told(execution_id, problem), key)
        self._after(shell, *begun)
        return shell

    def resume(self, execution_id: str, program: Program, *, retry_fault: bool = False) -> Shell:
        """Take up an execution from its log, with `retry_fault` one that a mistake of the engine ended."""
        shell = self._shell(program, execution_id)
        shell.load()
        if retry_fault:
            shell.retry_fault()
        if not shell.execution.is_over:
            self._after(shell, *shell.resume(self._watch.take_up(shell.execution, shell.running())))
            self._inbox.read_for(shell)
        self._take_up_children(execution_id)
        if parent := shell.execution.parent:
            verb = missed(shell.execution, self._store.execution(parent[0]))
            if verb is not None:
                self.ask(execution_id, Ask(verb))
        return shell

    def begin(self, program: Program, execution_id: str, request: Request, key: StartKey | None = None) -> None:
        """Own a new execution and start it. Raises Taken."""
        with self._owning(execution_id):
            self.start(program, execution_id, request, key)

    def take_up(self, execution_id: str, program: Program, *, retry_fault: bool = False) -> None:
        """Own an execution that is there and go on with it, as `resume` does; raises Owned."""
        with self._owning(execution_id):
            self.resume(execution_id, program, retry_fault=retry_fault)

    @contextmanager
    def _owning(self, execution_id: str) -> Iterator[None]:
        """Own an execution, and keep nothing of it, nor of its children, when that fails."""
        self._holdings.own(execution_id)
        try:
            yield
        except BaseException:
            self.give_up(execution_id)
            raise

    def open(self, execution_id: str, program: Program) -> Shell:
        """Take up an execution and its live children only to hand a request to them: nothing is ordered."""
        shell = self._shell(program, execution_id)
        shell.load()
        for row in self._store.executions(Wanted(parent=execution_id, open=True)):
            self._holdings.own(row.execution_id)
            self._children.add(row.execution_id, Child(execution_id, ""))
            self.open(row.execution_id, self._load(row.plan_digest))
        return shell

    def _take_up_children(self, execution_id: str) -> None:
        """Children that no task waits for: those go on that nobody ever waited for, the others are cancelled."""
        for row in self._store.executions(Wanted(parent=execution_id, open=True)):
            child_id = row.execution_id
            if child_id in self.shells:
                continue
            self._holdings.own(child_id)
            shell = self.resume(child_id, self._load(row.plan_digest))
            if not shell.execution.detached:
                self.ask(child_id, Ask("cancel"))

    def _shell(self, program: Program, execution_id: str) -> Shell:
        shell = Shell(
            program, execution_id, store=self._store, blobs=self._blobs, clock=self._clock, steady=self._steady,
            wall=self._wall, keep=self._keep,
        )  # fmt: skip
        self._holdings.add(execution_id, shell)
        self._inbox.open()
        return shell

    def step(self) -> bool:
        """One round; False when nothing waited. Raises Conflict when all others had their turn."""
        did = self._send()
        self._look_for_lost()
        by = spent() + SLICE
        reports = self._hearing.reports()
        asked = self._inbox.asked(self.shells)
        now = self._steady.now()
        self._look_at_clock(now)
        concerned = {*reports, *asked, *self._agenda.ripe(now)}
        for execution_id in sorted(concerned, key=self._holdings.rank):
            mine = reports.get(execution_id, [])
            shell = self.shells.get(execution_id)
            if shell is None:
                for stray in mine:
                    self._hearing.hand_on(stray.delivery, execution_id)
                continue
            requests, due = asked.get(execution_id, []), shell.due(now)
            if spent() > by and not requests:  # tools and others are served first
                self._hearing.put_off(execution_id, mine)
                did = True
            elif mine or requests or due:
                did = True
                try:
                    self._turn(shell, mine, requests, due)
                except (Conflict, Owned) as problem:
                    self._lose(execution_id, problem)
                if spent() > by:  # whoever it made wait comes first in the next round
                    self._holdings.put_last(execution_id)
        if self._repeats.is_due(now):
            self._order_again(now)
        did = self._look_for_left() or did
        did = self._send() or did
        if self._conflict is not None:
            conflict, self._conflict = self._conflict, None
            raise conflict
        return did

    def _look_for_lost(self) -> None:
        """Let go of what others took while this process stood still, before anything is done on what it believes."""
        for execution_id in self._store.lost():
            if execution_id in self.shells:
                self._lose(execution_id, Conflict(f"{execution_id} was taken up while this process stood still"))
            elif self._holdings.is_owned(execution_id):
                self._holdings.let_go(execution_id)

    def _look_at_clock(self, now: int) -> None:
        """What waits for a time of day waits for longer, or not as long, once the wall clock was set."""
        ahead = self._clock.now() - now
        if abs(ahead - self._ahead) > CLOCK_SET:
            self._ahead = ahead
            for shell in self.shells.values():
                if shell.dues.has_moments:
                    self._note(shell)

    def _note(self, shell: Shell) -> None:
        execution = shell.execution
        self._agenda.note(execution.execution_id, shell.next_due(), unclaimed=is_waiting(execution))

    def _lose(self, execution_id: str, problem: Conflict | Owned) -> None:
        """Somebody else goes on with an execution: it is given up, and all others have their turn."""
        self._conflict = Conflict(str(problem))
        for shell in self._holdings.family_of(execution_id):
            for order in self._watch.stops(shell.execution, shell.running()):
                self._orders.add_stop(order)
        self.give_up(execution_id)

    def _look_for_left(self) -> bool:
        """Order again what workers left that are not heard any more, or that leave; give up what others drive."""
        left = self._watch.look()
        for execution_id in left.taken:
            if execution_id in self.shells:
                self.give_up(execution_id)
                self._conflict = Conflict(f"{execution_id} was taken up")
        for claim in left.claims:
            shell = self.shells.get(claim.execution_id)
            if shell is not None and shell.runs_under(claim.run, claim.claim):
                try:
                    with self._bulkhead(shell):
                        self._after(shell, *shell.lose([claim.run]))
                except (Conflict, Owned) as problem:
                    self._lose(claim.execution_id, problem)
        for execution_id, loop in left.loops:
            if (shell := self.shells.get(execution_id)) is not None:
                with self._bulkhead(shell):
                    for order in shell.order_loop_again(loop):
                        self._queue(order)
        return bool(left.claims or left.loops)

    def give_up(self, execution_id: str) -> None:
        """Forget an execution with its callers and children; the log has all of it, and its owner may be another."""
        for name in [shell.execution.execution_id for shell in self._holdings.family_of(execution_id)]:
            self._children.pop(name)
            self._inbox.forget(name)
            self._let_go(name)

    def _order_again(self, now: int) -> None:
        """Order again what nobody has claimed for long, and hand up again what nobody took."""
        self._repeats.wait(now)
        self._orders.forget(self._is_wanted)
        if self._orders:
            return
        self._watch.order_again()
        for order in self._repeats.look():
            self._queue(order)

    @property
    def refused(self) -> int:
        """How many reports and beats were refused that somebody sent without the order that they are about."""
        return self._hearing.refused

    @property
    def is_open(self) -> bool:
        """Whether any execution here can still move, children that nobody waits for included."""
        return any(not shell.execution.is_over and not shell.execution.paused for shell in self.shells.values())

    def next_due(self) -> int | None:
        """When the next timer of any execution is due, or the next look for what nobody claims, by the steady clock."""
        dues = [self._agenda.next(), self._repeats.next_due(self._agenda.unclaimed)]
        if (left := self._watch.left()) is not None:
            dues.append(self._steady.now() + left)
        return min((due for due in dues if due is not None), default=None)

    def ask(self, execution_id: str, ask: Ask) -> None:
        """Cancel, pause or resume, handed down to children; or a signal."""
        shell = self.shells.get(execution_id)
        if shell is not None:
            self._turn(shell, [], [ask], shell.due(self._steady.now()))

    def _turn(self, shell: Shell, mine: list[Heard], requests: list[Ask], due: list[str]) -> None:
        with self._bulkhead(shell, mine):
            self._turn_of(shell, mine, requests, due)

    @contextmanager
    def _bulkhead(self, shell: Shell, mine: Sequence[Heard] = ()) -> Iterator[None]:
        """What is raised inside that no turn may raise ends this execution, and nothing else; reports that came to
        nothing are refused.
        """
        try:
            yield
        except FOREIGN:
            raise
        except Exception as problem:
            self._fault(shell, problem)
            for heard in mine:
                heard.delivery.answer(Answer(0))

    def _told(self, execution_id: str, problem: Exception) -> dict[str, Json]:
        error = fault_of(problem)
        self._say(f"execution {execution_id}: {error['message']}")
        return error

    def _fault(self, shell: Shell, problem: Exception) -> None:
        """End an execution by a mistake of the engine: what is in memory is given up, and the log goes on from what is
        on disk. One whose log cannot be folded is given up.
        """
        execution_id = shell.execution.execution_id
        error = self._told(execution_id, problem)
        try:
            fresh = self._shell(shell.program, execution_id)
            fresh.load()
            if fresh.execution.is_over:  # its end is on disk, and others are still to be told
                self._over(fresh)
            else:
                self._after(fresh, *fresh.fault(error))
        except FOREIGN:
            raise
        except Exception as again:
            self._say(f"execution {execution_id} is given up: {fault_of(again)['message']}")
            self.give_up(execution_id)

    def _turn_of(self, shell: Shell, mine: list[Heard], requests: list[Ask], due: list[str]) -> None:
        answers, events, orders = shell.take([heard.report for heard in mine], due, requests)
        self._hearing.put_off(shell.execution.execution_id, mine[len(answers) :])
        for heard, answer in zip(mine, answers, strict=False):
            heard.delivery.answer(answer)
        for request in requests:
            if request.verb != "signal":
                for child_id, _ in self._children.of(shell.execution.execution_id):
                    self.ask(child_id, Ask(request.verb))
        self._after(shell, events, orders)
        for heard, answer in zip(mine, answers, strict=False):
            if answer.recorded:
                for order in self._watch.hear_report(shell.program, heard.report):
                    self._queue(order)

    def _after(self, shell: Shell, events: list[Event], orders: list[Command]) -> None:
        with self._bulkhead(shell):
            self._follow(shell, events, orders)

    def _follow(self, shell: Shell, events: list[Event], orders: list[Command]) -> None:
        execution = shell.execution
        observe, program = self._observe, shell.program
        self._watch.note(execution.execution_id, events)
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
                self._orders.add_stop(self._watch.stamped(order))
        if execution.is_over:
            self._over(shell)
        else:
            self._note(shell)

    def _over(self, shell: Shell) -> None:
        execution_id, steps = shell.execution.execution_id, shell.program.plan.steps
        self._agenda.forget(execution_id)
        left = unbegun(shell.program, shell.execution)
        self._orders.withdraw((self._watch.queue_of(steps[order.step]), order) for order in left)
        self._watch.forget(execution_id)
        for child_id, _ in self._children.of(execution_id):
            self.ask(child_id, Ask("cancel"))
        outcome = outcome_of(shell) if shell.execution.parent else {}  # before anything is forgotten: it may raise
        calling = self._children.pop(execution_id)
        if self._holdings.is_owned(execution_id):
            self._let_go(execution_id)
        if calling is not None:
            self._hand_up(calling, outcome)

    def _hand_up(self, child: Child, outcome: dict[str, Json]) -> None:
        """The outcome of a child goes to the parked task that called it; a worker asks the rules about it."""
        shell = self.shells.get(child.parent)
        if shell is None:
            return
        with self._bulkhead(shell):
            order = resume_with(shell.execution, child.run, shell.program, outcome)
            if order is not None:
                self._repeats.hand_up(child, order)
                self._queue(order)

    def _start_child(self, shell: Shell, order: StartChild) -> None:
        """Start or find the child that an order is about. One that cannot be made is an error of the calling task."""
        try:
            self._child(shell, order)
        except FOREIGN:
            raise
        except Exception as problem:
            told = fault_of(problem)
            self._say(f"execution {order.execution_id}: {told['message']}")
            self._hand_up(Child(order.execution_id, order.run), error(CODE, str(told["message"])).as_json())

    def _child(self, shell: Shell, order: StartChild) -> None:
        child = Child(order.execution_id, order.run)
        depth = shell.execution.children_depth + 1
        limit = shell.program.plan.limits.max_children_depth
        path = str(order.call.get("path", ""))
        if depth > limit:
            message = f"playbook `{path}` would be {depth} calls deep; `limits.max_children_depth` is {limit}"
            self._hand_up(child, error("playbook.depth", message).as_json())
            return
        child_id, there = child_of(self._store, self._blobs, order)
        try:
            program = self._find(shell.program, path) if there is None else self._load(there.plan_digest)
        except NotFound as problem:
            self._hand_up(child, error("playbook.not_found", str(problem)).as_json())
            return
        waits = order.call.get("wait") is not False
        if waits:
            self._children.add(child_id, child)
        if child_id not in self.shells:
            self._keep(lambda: self._holdings.own(child_id))
        if there is None:
            self._keep(lambda: self._store.put_plan(program.digest, program.plan.path, program.bytes))
            request = request_of(order, depth)._replace(
                scripted=shell.execution.scripted, env=self._environment(program), folder=shell.execution.folder
            )
            self.start(program, child_id, request)
        elif there.status in ("running", "paused"):
            if child_id not in self.shells:
                self.resume(child_id, program)
        elif waits:
            over = self._shell(program, child_id)
            over.load()
            self._over(over)
        if not waits:
            self._hand_up(child, ok({"execution_id": child_id}).as_json())

    def _let_go(self, execution_id: str) -> None:
        """Nothing of it stays in memory, and others may own it."""
        self._agenda.forget(execution_id)
        self._watch.forget(execution_id)
        self._holdings.let_go(execution_id)

    def close(self) -> None:
        """Give up the children that are owned here."""
        for child_id in self._holdings.owned():
            self._let_go(child_id)

    def drop(self) -> None:
        """Forget every execution, as a crash would: the log has all of it."""
        self.close()
        for part in (
            self._holdings, self._repeats, self._orders, self._inbox, self._hearing, self._children, self._agenda,
            self._watch,
        ):  # fmt: skip
            part.clear()

    def _stop_child(self, parent: str, run: str) -> None:
        for child_id, child in self._children.of(parent):
            if child.run == run:
                self._children.pop(child_id)
                self.ask(child_id, Ask("cancel"))

    def _send(self) -> bool:
        """Hand waiting orders to the bus as far as it has room."""
        return self._orders.send(self._is_wanted)

    def _is_wanted(self, order: RunPipeline) -> bool:
        shell = self.shells.get(order.execution_id)
        return shell is not None and not shell.execution.is_over

    def _queue(self, order: Command) -> None:
        """Keep an order until there is room for it: by the priority of its run, then as it came."""
        if not isinstance(order, RunPipeline) or (shell := self.shells.get(order.execution_id)) is None:
            return
        pool = self._watch.pool_for(shell.program, order)
        if pool is not None:
            run = shell.execution.runs.get(step_run_of(order.run))
            self._orders.add(self._watch.stamped(order), pool, run.priority if run is not None else 0)
