"""The state of one execution: what the events so far have made of it.

Only `noetl.engine.evolve` writes here. All state is kept by run or iteration, under token keys, never by step
name; dictionaries that others may hold (`ctx`, `iter`, results) are replaced, never changed in place.
"""

from collections import deque
from typing import Literal, TypeAlias

from noetl.engine.lines import NOTHING, Line
from noetl.engine.mail import Mail
from noetl.engine.marking import Marking
from noetl.engine.program import Program
from noetl_ir.events import step_run_of
from noetl_ir.expr import Json
from noetl_ir.net import Weight
from noetl_ir.plan import MORE, LoopEnd, LoopSignal
from noetl_ir.projections import as_data
from noetl_ir.records import NamedTuple
from noetl_ir.words import MAIN

JsonObject: TypeAlias = dict[str, Json]
PipelinePhase: TypeAlias = Literal["at", "run", "due", "parked", "over"]
ExecutionStatus: TypeAlias = Literal["new", "running", "completed", "failed", "cancelled", "blocked"]


class Arrival:
    """A flow token on its way to a step: its args, and the event that brought it as guards see it."""

    __slots__ = ("args", "event", "line", "priority")

    def __init__(self, args: JsonObject, event: JsonObject, line: Line, priority: int = 0) -> None:
        self.args = args
        self.event = event
        self.line = line
        self.priority = priority


class Run:
    """A step run, from its gate to its routing.

    `ctx` is the view of `ctx` at log position `ctx_at`, where the run was scheduled. `deadline` (microseconds) is set
    when its first task is claimed; None before that and where the step has no timeout. `interrupts` are the names of
    the timers that may interrupt it.
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

    def __init__(self, step: int, arrival: Arrival, ctx: JsonObject, ctx_at: int, ordinal: int) -> None:
        self.step = step
        self.args = arrival.args
        self.priority = arrival.priority
        self.line = arrival.line
        self.ctx = ctx
        self.ctx_at = ctx_at
        self.ordinal = ordinal
        self.timeout: int | None = None
        self.outcome: JsonObject | None = None
        self.deadline: int | None = None
        self.timed_out = False
        self.interrupts: tuple[str, ...] = ()
        self.iter: JsonObject = {}
        self.result: object = None
        self.error: JsonObject | None = None
        self.errors: list[Json] = []
        self.stats: JsonObject = {}
        self.ended = 0


class Region:
    """The pipeline of one run or iteration: where it stands and what it has gathered.

    - `loop`: the key of the loop run that it iterates in, empty without one.
    - `pending`: the outcome of a parked task. It came from outside, and a worker still has to ask the rules about it.
    - `visits`: arrivals by task; `begun`: whether any task was started.
    - `origins`: by task, the origin that its secrets were sent to first.
    - `ctx_at`: the log position of its view of `ctx`; `came_at`: the position of the event that put the token before
      its task.
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
        self, step: int, task: int, ctx: JsonObject, ctx_at: int, *, iteration: JsonObject, loop: str, began: int
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
        self.phase: PipelinePhase = "at"
        self.attempt = 1
        self.claim = 1
        self.lost = 0
        self.tasks_run = 0
        self.visits: dict[int, int] = {task: 1}
        self.origins: dict[int, str] = {}
        self.results: JsonObject = {}
        self.prev: Json = None
        self.result: Json = None
        self.error: JsonObject | None = None
        self.outcome: JsonObject | None = None
        self.pending: JsonObject | None = None


NO_SIGNALS: dict[str, LoopSignal] = {}
"""The signals of a loop that listens for none."""


class LoopRun:
    """One run of a loop level.

    - `ended`: how many iterations ended `ok`, `failed`, `skipped`; `open`: how many have not ended.
    - `owners`: in a parallel loop, the index of the iteration that first wrote each key of `ctx`.
    - `stopping`: no iteration begins any more, after a failure under `fail_fast`, a timeout, or because an outer loop
      stops. `cause` is the first failure.
    - `shared`: the `__` keys that iterations set, each from the lowest index that set it (`shared_from`).
    - `timeout`: the limit of one iteration (microseconds); `timed`: the iterations whose clock runs.
    - `end`: how the loop may end before its items are over. `satisfied`: it has come to such an end; `withdrawn`: its
      running iterations are stopped for that; `left`: the step went on while iterations still run.
    - `signals`: the signals that it listens for, as far as they stand behind log position `since`; `closed`: no item
      comes any more; `added`: by index, the `ctx` and log position of the moment that an item was added;
      `set_timers`: the names of its timers.
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
        outer: JsonObject | None,
        ctx: JsonObject,
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
        self.errors: dict[int, JsonObject] = {}
        self.owners: dict[str, int] = {}
        self.stopping = False
        self.timeout: int | None = None
        self.timed: set[str] = set()
        self.cause: JsonObject | None = None
        self.shared: JsonObject = {}
        self.shared_from: dict[str, int] = {}
        self.signals: dict[str, LoopSignal] = NO_SIGNALS
        self.since = ctx_at
        self.closed = True
        self.added: dict[int, tuple[JsonObject, int]] = {}
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
        """Whether `enough` is evaluated after each iteration."""
        return self.end is not None and self.end.enough >= 0


INTERRUPT = "interrupt"
"""The kind of the timers that stop a run from outside."""

WHOLE = "execution"
"""The timer, and the kind of it, that bounds the execution itself."""


def limit_of(execution: "Execution") -> str:
    """The name of the timer that bounds the current phase. Each phase has a name of its own, so that a timer of main
    cannot end a later phase.
    """
    return WHOLE if execution.phase == MAIN else f"phase {execution.phase}"


class Timer:
    """A timer: when it is due (microseconds since the epoch) and, by `kind`, what it does then: `wake` a region, `land`
    a token, `timeout` a run, end the wait of a `parked` task, end the `execution`.

    `since` is the time of the event that set it, so `due` - `since` is its length. A timer `by_wall` is for a time of
    day and follows the wall clock when that is set; any other lasts its length.
    """

    __slots__ = ("by_wall", "due", "kind", "place", "since")

    def __init__(self, due: int, kind: str, place: int, since: int, *, by_wall: bool = False) -> None:
        self.due = due
        self.kind = kind
        self.place = place
        self.since = since
        self.by_wall = by_wall


class KeptSignal(NamedTuple):
    """A signal that nothing has taken yet. `at` is the log position before it. `came` is set where the execution was
    paused then: the time at which the signal came (microseconds since the epoch). One that the mailbox addressed is for
    the call `wait` alone, and is known by its inbox `row`.
    """

    name: str
    data: Json
    at: int
    came: int | None = None
    wait: str = ""
    row: int = 0


class Remembered(NamedTuple):
    """A run or iteration that is to be compensated: its key and step, and the args that its compensation is told."""

    key: str
    step: int
    args: JsonObject


class LockHolder(NamedTuple):
    """The run that took the lock of a section, and its step. The run may be over while tokens that it led to are still
    in the section, and so hold the lock.
    """

    run: str
    step: int


class Parked(NamedTuple):
    """A task that waits: what its `task.started` says, and since when it is parked (microseconds)."""

    data: JsonObject
    since: int


class WaitingContributions(NamedTuple):
    """Contributions of an iteration that wait for the end of its loop; `path` are the indices below that loop run."""

    path: tuple[int, ...]
    patch: JsonObject


class Interruption(NamedTuple):
    """A run that was stopped from outside: `by` a signal or a timer of that name, at a time (microseconds)."""

    step: int
    run: str
    by: str
    name: str
    at: int


MOST_INTERRUPTIONS = 100
"""How many of the last interruptions are kept, for people who look."""

MOST_WITHDRAWN = 1_000
"""How many of the last withdrawn claims are kept: after a crash the next server orders their tools to stop again."""


class PlaceState:
    """The place of an execution under a `concurrency` key.

    - `asked`: the place that it asks for and does not have yet.
    - `queued_behind`: the executions that held places when it was told to wait.
    - `holds`: the key of its own place, empty without one.
    - `under`: the keys of its callers' places, each with the execution that holds it.
    - `refused`: why it got none.
    """

    __slots__ = ("asked", "holds", "queued_behind", "refused", "under")

    def __init__(self) -> None:
        self.asked: JsonObject | None = None
        self.queued_behind: list[str] | None = None
        self.holds = ""
        self.under: tuple[tuple[str, str], ...] = ()
        self.refused: JsonObject | None = None


class Execution:
    """The state that the events of one execution fold to. Unless said otherwise, tables are by token key.

    What is to be decided or ordered next:

    - `agenda`: (place, key) of each place that got tokens and was not looked at yet.
    - `ready`: regions to run; `calling`: parked ones whose child is to be started; `to_judge`: parked ones whose
      outcome came and that a worker asks the rules about; `stopped`: (key, claim) of tools to stop.
    - `withdrawn`: the claims that were withdrawn last, to stop their tools once more after a crash.

    Where the execution stands:

    - `now`: the time of the last event (microseconds); `position`: how many events were folded.
    - `terminated`: the status that a step or a time limit ended all with, empty before.
    - `phase`: the current phase; `main`: how main ended, empty before; `after`: what became of each phase behind it;
      `after_limit`: how long one of these may take (microseconds).
    - `started_by`: what started it where that was no person; `labels`: texts that its start brought, to find it by.
    - `rerun_of`: the execution whose log its own begins with, empty for none; `begun_again`: when it went on from there
      (microseconds), 0 before.
    - `moves`: when it was moved to another plan (microseconds), and the digest of the one that it left.
    - `replaced_by`: the newer execution under its `concurrency` key that it was cancelled for.
    - `results`: by step, its latest success; `ctx_set`: by key of `ctx`, log position and run of the last write.
    - `line`: the line of the entry token (`noetl.engine.lines`); `waves`: by step, the line of the run that the current
      wave of a counting join began.
    - `left`: runs that went on while iterations of theirs still run.
    - `interruptions`: the last runs that signals and timers have interrupted.
    - `contributions`: by loop run, contributions to reduced keys that count at its end.

    What is waited for:

    - `signals`: signals that nothing has taken yet; `waits`: the names that parked tasks listen for; `transient`: of
      those that take no older signal, the log position since which they listen.
    - `mail`: what the mailbox knows of the execution, and is to be told.
    - `waiting`: the gate at which a token waits; `queues`: by lock, the waiting tokens that need it, oldest first, each
      with its log position; `holding`: runs that hold locks of their steps; `sections`: by lock, the holder of one that
      reaches beyond a step.
    - `children`: children that may outlive a cancel; `leaving`: by id, children that were called off and are not over;
      `closing`: the phase is over but for these.
    - `remembered`: what is to be compensated, oldest first; `compensating`: the run that is being compensated;
      `undone`: what became of the phase of compensation.
    """

    __slots__ = (
        "after",
        "after_limit",
        "agenda",
        "arrivals",
        "begun_again",
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
        "interruptions",
        "iter_parent",
        "labels",
        "leaving",
        "left",
        "line",
        "loops",
        "made_tasks",
        "mail",
        "main",
        "marking",
        "moves",
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
        "rerun_of",
        "results",
        "return_step",
        "returned",
        "run_counts",
        "runs",
        "scripted",
        "sections",
        "signals",
        "started",
        "started_by",
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
        self.status: ExecutionStatus = "new"
        self.paused = self.paused_by_caller = self.cancelled = self.closing = self.detached = self.scripted = False
        self.terminated = self.replaced_by = self.rerun_of = ""
        self.phase = MAIN
        self.main, self.started_by, self.labels = dict[str, Json](), dict[str, Json](), dict[str, str]()
        self.after, self.moves = list[Json](), list[tuple[int, str]]()
        self.after_limit: int | None = None
        self.remembered: list[Remembered] = []
        self.compensating = ""
        self.undone: JsonObject = {}
        self.children: dict[str, str] = {}
        self.leaving: dict[str, str] = {}
        self.position = self.now = self.started = self.begun_again = self.inbox_row = 0
        self.ended: int | None = None
        self.parent: tuple[str, str] | None = None
        self.children_depth = 0
        self.iter_parent: JsonObject | None = None
        self.agenda: deque[tuple[int, str]] = deque()
        sets = program.resets, program.tests
        self.marking = Marking(program.plan.net, program.columns.moves, self._weigh, self.agenda, *sets)
        self.next_key = 1
        self.workload: JsonObject = {}
        self.ctx: JsonObject = {}
        self.ctx_set: dict[str, tuple[int, str]] = {}
        self.contributions: dict[str, list[WaitingContributions]] = {}
        self.place = PlaceState()
        self.arrivals: dict[str, Arrival] = {}
        self.runs: dict[str, Run] = {}
        self.run_counts: dict[int, int] = {}
        self.regions: dict[str, Region] = {}
        self.loops: dict[str, LoopRun] = {}
        self.left: dict[str, Run] = {}
        self.interruptions: deque[Interruption] = deque(maxlen=MOST_INTERRUPTIONS)
        self.results: dict[int, object] = {}
        self.timers: dict[str, Timer] = {}
        self.waiting: dict[str, int] = {}
        self.queues: dict[str, dict[str, int]] = {}
        self.holding: dict[str, int] = {}
        self.sections: dict[str, LockHolder] = {}
        self.parked: dict[str, Parked] = {}
        self.ready: list[str] = []
        self.calling: list[str] = []
        self.stopped: list[tuple[str, int]] = []
        self.to_judge: list[str] = []
        self.withdrawn: deque[tuple[str, int]] = deque(maxlen=MOST_WITHDRAWN)
        self.signals: list[KeptSignal] = []
        self.waits: dict[str, frozenset[str]] = {}
        self.transient: dict[str, int] = {}
        self.mail = Mail()
        self.failure: JsonObject | None = None
        self.fault: JsonObject | None = None
        self.return_step, self.made_tasks = -1, 0
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
        if self.declared is NOTHING:
            return None if self.line.result is NOTHING else self.line.result
        # An expression has made it, of data too: of references only those to values of its own are any.
        key = self.declared.get("key") if isinstance(self.declared, dict) else None
        is_own = isinstance(key, str) and key.startswith(f"{self.execution_id}/")
        return self.declared if is_own else as_data(self.declared)

    @property
    def has_result(self) -> bool:
        """Whether a declared result was asked for, or a run on the line ended well."""
        return not (self.declared is NOTHING and self.line.result is NOTHING)

    @property
    def stands_still(self) -> bool:
        """Whether nothing is to go on by itself: it is paused, or a rerun that has no place under its key yet."""
        return self.paused or (self.begun_again > 0 and self.place.asked is not None)

    @property
    def is_over(self) -> bool:
        """Whether the execution has ended."""
        return self.status not in ("new", "running")
