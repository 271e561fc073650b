"""The state of one execution: what the events so far have made of it.

Only `noetl.engine.evolve` writes here. All state is kept by run or iteration, under token keys, never by step
name; dictionaries that others may hold (`ctx`, `iter`, results) are replaced, never changed in place.
"""

from collections import deque
from typing import Literal, TypeAlias

from noetl.engine.lines import NOTHING, Line
from noetl.engine.marking import Marking
from noetl.engine.program import Program
from noetl_ir.events import step_run_of
from noetl_ir.expr import Json
from noetl_ir.net import Weight
from noetl_ir.plan import MORE, LoopEnd, LoopSignal
from noetl_ir.records import NamedTuple

Mapping: TypeAlias = dict[str, Json]
Phase: TypeAlias = Literal["at", "run", "due", "parked", "over"]
Status: TypeAlias = Literal["new", "running", "completed", "failed", "cancelled", "blocked"]


MAIN = "main"
"""The phase that every execution begins with."""


class Arrival:
    """A flow token on its way to a step: its args, and the event that brought it as guards see it."""

    __slots__ = ("args", "event", "line", "priority")

    def __init__(self, args: Mapping, event: Mapping, line: Line, priority: int = 0) -> None:
        self.args = args
        self.event = event
        self.line = line
        self.priority = priority


class Run:
    """A step run, from its gate to its routing.

    `ctx` is as of the event that scheduled it, behind log position `ctx_at`. `deadline` is set at its first claim, None
    before or without one. `interrupts` are the names of the timers that stop it from outside.
    """

    __slots__ = (
        "args",
        "ctx",
        "ctx_at",
        "deadline",
        "ended",
        "error",
        "errors",
        "interrupts",
        "iter",
        "line",
        "ordinal",
        "outcome",
        "priority",
        "result",
        "stats",
        "step",
        "timed_out",
        "timeout",
    )

    def __init__(self, step: int, arrival: Arrival, ctx: Mapping, ctx_at: int, ordinal: int) -> None:
        self.step = step
        self.args = arrival.args
        self.priority = arrival.priority
        self.line = arrival.line
        self.ctx = ctx
        self.ctx_at = ctx_at
        self.ordinal = ordinal
        self.timeout: int | None = None
        self.outcome: Mapping | None = None
        self.deadline: int | None = None
        self.timed_out = False
        self.interrupts: tuple[str, ...] = ()
        self.iter: Mapping = {}
        self.result: object = None
        self.error: Mapping | None = None
        self.errors: list[Json] = []
        self.stats: Mapping = {}
        self.ended = 0


class Region:
    """The pipeline of one run or iteration: where it stands and what it has gathered.

    `loop` is the key of the loop run it iterates in, empty without one. `pending` is the outcome of a parked task
    that came from outside and that a worker is still to judge. `visits` counts arrivals by task, `origins` are
    where the secrets of its tasks went first; `ctx_at` is the
    log position that its view of `ctx` is as of, `came_at` that of the event that put the token before its task;
    `begun` says that a task of it was started.
    """

    __slots__ = (
        "attempt",
        "began",
        "begun",
        "came_at",
        "claim",
        "ctx",
        "ctx_at",
        "error",
        "iter",
        "loop",
        "lost",
        "origins",
        "outcome",
        "pending",
        "phase",
        "prev",
        "result",
        "results",
        "step",
        "task",
        "tasks_run",
        "visits",
    )

    def __init__(
        self, step: int, task: int, ctx: Mapping, ctx_at: int, *, iteration: Mapping, loop: str, began: int
    ) -> None:
        self.step = step
        self.task = task
        self.ctx = ctx
        self.ctx_at = ctx_at
        self.iter = iteration
        self.loop = loop
        self.began = began
        self.came_at = 0
        self.begun = False
        self.phase: Phase = "at"
        self.attempt = 1
        self.claim = 1
        self.lost = 0
        self.tasks_run = 0
        self.visits: dict[int, int] = {task: 1}
        self.origins: dict[int, str] = {}
        self.results: Mapping = {}
        self.prev: Json = None
        self.result: Json = None
        self.error: Mapping | None = None
        self.outcome: Mapping | None = None
        self.pending: Mapping | None = None


NO_SIGNALS: dict[str, LoopSignal] = {}
"""What a loop listens for that listens for nothing."""


class LoopRun:
    """One run of a loop level. `ended` says how many of its iterations ended `ok failed skipped`.

    `owners` gives, for a parallel loop, the iteration that first wrote each ctx key. `stopping` after a failure
    under fail_fast, a timeout, or when an outer loop stops; `cause` is the first failure. `shared` are the `__`
    keys of iterations, each from the lowest index that set it. `timeout` bounds an iteration (microseconds); those
    whose clock runs are `timed`. `end` says how it may end before its items are over; it is `satisfied` once that has
    come, is `withdrawn` where its running iterations are stopped for it, and `left` once the step has gone on without
    them. `signals` says what it listens for, behind log position `since`, and `closed` whether no item comes any more;
    `added` has by index the `ctx` and position as of which an item came, `set_timers` the names of its timers.
    """

    __slots__ = (
        "added",
        "cause",
        "closed",
        "ctx",
        "ctx_at",
        "end",
        "ended",
        "errors",
        "items",
        "left",
        "level",
        "next_index",
        "open",
        "outer",
        "owners",
        "parallel",
        "results",
        "running",
        "satisfied",
        "set_timers",
        "shared",
        "shared_from",
        "signals",
        "since",
        "slots",
        "step",
        "stopping",
        "timed",
        "timeout",
        "withdrawn",
    )

    def __init__(
        self,
        step: int,
        level: int,
        items: list[Json],
        slots: int,
        *,
        outer: Mapping | None,
        ctx: Mapping,
        ctx_at: int,
        parallel: bool,
    ) -> None:
        self.step = step
        self.level = level
        self.items = items
        self.slots = slots
        self.outer = outer
        self.ctx = ctx
        self.ctx_at = ctx_at
        self.parallel = parallel
        self.next_index = 0
        self.open = len(items)
        self.running: set[str] = set()
        self.ended = {"ok": 0, "failed": 0, "skipped": 0}
        self.results: list[Json] = [None] * len(items)
        self.errors: dict[int, Mapping] = {}
        self.owners: dict[str, int] = {}
        self.stopping = False
        self.timeout: int | None = None
        self.timed: set[str] = set()
        self.cause: Mapping | None = None
        self.shared: Mapping = {}
        self.shared_from: dict[str, int] = {}
        self.signals: dict[str, LoopSignal] = NO_SIGNALS
        self.since = ctx_at
        self.closed = True
        self.added: dict[int, tuple[Mapping, int]] = {}
        self.set_timers: list[str] = []
        self.end: LoopEnd | None = None
        self.satisfied = False
        self.withdrawn = False
        self.left = False

    @property
    def grows(self) -> bool:
        """Whether signals may add items to it, or might have."""
        return MORE in self.signals

    @property
    def asks(self) -> bool:
        """Whether it is asked after each iteration if it has enough."""
        return self.end is not None and self.end.enough >= 0


INTERRUPT = "interrupt"
"""The kind of the timers that stop a run from outside."""

WHOLE = "execution"
"""The timer, and the kind of it, that bounds the execution itself."""


def limit_of(execution: "Execution") -> str:
    """The name of the timer that bounds the phase which runs: no phase has that of another one."""
    return WHOLE if execution.phase == MAIN else f"phase {execution.phase}"


class Timer:
    """A due time in microseconds and what it wakes: `wake` a region, `land` a token, `timeout` a
    run, `parked` ends the wait of a parked task, `execution` the whole.

    `since` is the time of the event that wrote it: `due` - `since` is for how long. One that is `by_wall` is about a
    time of day, and no length.
    """

    __slots__ = ("by_wall", "due", "kind", "place", "since")

    def __init__(self, due: int, kind: str, place: int, since: int, *, by_wall: bool = False) -> None:
        self.due = due
        self.kind = kind
        self.place = place
        self.since = since
        self.by_wall = by_wall


class Kept(NamedTuple):
    """A signal that nothing has taken yet, and the log position before it; one that came while the execution was paused
    `came` at that time (microseconds since the epoch).
    """

    name: str
    data: Json
    at: int
    came: int | None = None


class Remembered(NamedTuple):
    """A run or iteration that is to be compensated: its key and step, and the args that its compensation is told."""

    key: str
    step: int
    args: Mapping


class Holder(NamedTuple):
    """The run that took the lock of a section, and its step; it may be over, and what came of it in the section."""

    run: str
    step: int


class Parked(NamedTuple):
    """A task that waits: what its `task.started` says, and since when it is parked (microseconds)."""

    data: Mapping
    since: int


class Waiting(NamedTuple):
    """Contributions of an iteration that wait for the end of its loop; `path` are the indices below that loop run."""

    path: tuple[int, ...]
    patch: Mapping


MOST_WITHDRAWN = 1_000
"""Claims that were withdrawn last: a server that goes on after a crash has them stopped again."""


class PlaceState:
    """The place of an execution under a key: `asked` is what it asks for and does not have yet, `queued_behind` who had
    one when it was told to wait, `holds` the key of its own, `under` the keys of its callers', each with whose it is,
    and `refused` says why it got none.
    """

    __slots__ = ("asked", "holds", "queued_behind", "refused", "under")

    def __init__(self) -> None:
        self.asked: Mapping | None = None
        self.queued_behind: list[str] | None = None
        self.holds = ""
        self.under: tuple[tuple[str, str], ...] = ()
        self.refused: Mapping | None = None


class Execution:
    """The fold. `agenda` holds (place, key) that got tokens and are not decided yet; `ready` the
    regions to run, `calling` the parked ones whose child is to be started, `to_judge` those whose outcome
    is here, `stopped` the claims to be called off; `terminated` is the status that a step or the
    timeout has ended all with, empty before; `waits` has by key what is listened for, and `transient` since
    which log position those listen that take nothing older; `now` is the time of the last event; `line` is that of the
    entry token, `left` has the runs that went on while iterations of them still run, `waves` by step that of the run
    which a wave of a counting join began; `contributions` wait by loop run for its end. `phase` runs; `main` is how
    main ended, empty before, and `after` what became of each phase behind it, `after_limit` how long one may take
    (microseconds). `children` may outlive a cancel, by the task that waits for them; `leaving` were called off and are
    not over, by their ids: a phase that is over is `closing` until they are. `remembered`
    is what is to be compensated, oldest first, `compensating` the run that is, `undone` what became of that phase.
    `replaced_by` is the newer execution that it was cancelled for, by its `concurrency` key.
    `waiting` has the gates at which tokens wait, `queues` by lock the tokens among them that need it, the oldest first,
    each with the position since when; `holding` are the runs that hold locks of their steps, `sections` who has those
    that reach beyond a step."""

    __slots__ = (
        "after",
        "after_limit",
        "agenda",
        "arrivals",
        "calling",
        "cancelled",
        "children",
        "children_depth",
        "closing",
        "compensating",
        "contributions",
        "counts",
        "ctx",
        "ctx_set",
        "declared",
        "detached",
        "ended",
        "execution_id",
        "failure",
        "fault",
        "folder",
        "holding",
        "inbox_row",
        "iter_parent",
        "leaving",
        "left",
        "line",
        "loops",
        "main",
        "marking",
        "next_key",
        "now",
        "parent",
        "parked",
        "paused",
        "paused_by_caller",
        "phase",
        "place",
        "plan_digest",
        "position",
        "queues",
        "ready",
        "regions",
        "remembered",
        "replaced_by",
        "results",
        "return_step",
        "returned",
        "run_counts",
        "runs",
        "scripted",
        "sections",
        "signals",
        "started",
        "status",
        "stopped",
        "terminated",
        "timers",
        "to_judge",
        "trace_id",
        "transient",
        "undone",
        "waiting",
        "waits",
        "waves",
        "withdrawn",
        "workload",
    )

    def __init__(self, execution_id: str, program: Program) -> None:
        self.execution_id = self.trace_id = execution_id
        self.plan_digest = self.folder = ""
        self.status: Status = "new"
        self.paused = self.paused_by_caller = self.cancelled = self.closing = False
        self.terminated = self.replaced_by = ""
        self.phase = MAIN
        self.main: Mapping = {}
        self.after: list[Json] = []
        self.after_limit: int | None = None
        self.remembered: list[Remembered] = []
        self.compensating = ""
        self.undone: Mapping = {}
        self.children: dict[str, str] = {}
        self.leaving: dict[str, str] = {}
        self.position = self.now = self.started = 0
        self.ended: int | None = None
        self.parent: tuple[str, str] | None = None
        self.children_depth = 0
        self.detached = self.scripted = False
        self.iter_parent: Mapping | None = None
        self.inbox_row = 0
        self.agenda: deque[tuple[int, str]] = deque()
        sets = program.resets, program.tests
        self.marking = Marking(program.plan.net, program.columns.moves, self._weigh, self.agenda, *sets)
        self.next_key = 1
        self.workload: Mapping = {}
        self.ctx: Mapping = {}
        self.ctx_set: dict[str, tuple[int, str]] = {}
        self.contributions: dict[str, list[Waiting]] = {}
        self.place = PlaceState()
        self.arrivals: dict[str, Arrival] = {}
        self.runs: dict[str, Run] = {}
        self.run_counts: dict[int, int] = {}
        self.regions: dict[str, Region] = {}
        self.loops: dict[str, LoopRun] = {}
        self.left: dict[str, Run] = {}
        self.results: dict[int, object] = {}
        self.timers: dict[str, Timer] = {}
        self.waiting: dict[str, int] = {}
        self.queues: dict[str, dict[str, int]] = {}
        self.holding: dict[str, int] = {}
        self.sections: dict[str, Holder] = {}
        self.parked: dict[str, Parked] = {}
        self.ready: list[str] = []
        self.calling: list[str] = []
        self.stopped: list[tuple[str, int]] = []
        self.to_judge: list[str] = []
        self.withdrawn: deque[tuple[str, int]] = deque(maxlen=MOST_WITHDRAWN)
        self.signals: list[Kept] = []
        self.waits: dict[str, frozenset[str]] = {}
        self.transient: dict[str, int] = {}
        self.failure: Mapping | None = None
        self.fault: Mapping | None = None
        self.return_step = -1
        self.returned: object = None
        self.declared: object = NOTHING
        self.line = Line()
        self.waves: dict[int, Line] = {}
        self.counts: dict[str, int] = {"passed_errors": 0, "tasks": 0, "retries": 0}

    def _weigh(self, weight: Weight, key: str) -> int:
        """The weight that a loop run fixed for its key when it started."""
        loop = self.loops[key]
        return len(loop.items) if weight is Weight.ITEMS else loop.slots

    def run_of(self, key: str) -> Run:
        """The run that a token key belongs to, also one that has gone on without its last iterations."""
        own = step_run_of(key)
        run = self.runs.get(own)
        return self.left[own] if run is None else run

    @property
    def last_result(self) -> object:
        """The result that the playbook declares, else that of the last run on the line that ended well; null where none
        did.
        """
        found = self.line.result if self.declared is NOTHING else self.declared
        return None if found is NOTHING else found

    @property
    def has_result(self) -> bool:
        """Whether a declared result was asked for, or a run on the line ended well."""
        return not (self.declared is NOTHING and self.line.result is NOTHING)

    @property
    def is_over(self) -> bool:
        """Whether the execution has ended."""
        return self.status not in ("new", "running")
