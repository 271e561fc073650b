"""The messages that pass between servers and workers. Orders follow from events that are on disk, so a repeat is
harmless.

Workers run pipelines: from a position in a step's task list until it ends, parks, or is told to stop.
"""

from noetl_ir.events import Event
from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple


class RunPipeline(NamedTuple):
    """Run a step's pipeline from task `task` on, for the run or iteration with key `run`.

    `claim` is the fencing token: reports under another one are refused. `results` are step results by step name as
    far as the pipeline's expressions need them, `task_results` those of its own tasks; `tasks_run` counts the task
    runs so far and `visits` the arrivals per task, `origins` are where the secrets of its tasks went first; `began` is
    when this run or iteration began (microseconds). `digest` names the plan.
    `outcome` is given when the task was parked and its outcome is here; `lost` when the attempt was given up
    after too many lost claims, so that its outcome is `worker.lost`. `ordinal` counts the step's runs from 1,
    `trace_id` is the id of the outermost caller's execution, and behind a space the `traceparent` that the start came
    with, where it came with one; `folder` that of the playbook's file, from the root.
    `mac` is a code that only servers can make of the claim, in hexadecimal; what a worker says of the claim repeats it.
    Behind a dot it has another one, which goes with what the tasks print (`output_code`).
    """

    execution_id: str
    step: int
    run: str
    task: int
    visit: int
    attempt: int
    claim: int
    args: dict[str, Json]
    ctx: dict[str, Json]
    iter: dict[str, Json]
    workload: dict[str, Json]
    # Sent along instead of asked for: a worker elsewhere has no log, and would have to ask for each of them.
    results: dict[str, object]
    task_results: dict[str, Json]
    prev: Json
    tasks_run: int
    visits: dict[int, int]
    began: int
    outcome: dict[str, Json] | None = None
    lost: bool = False
    ordinal: int = 1
    trace_id: str = ""
    digest: str = ""
    folder: str = ""
    # Without it whoever speaks on the bus could report for a claim whose number is easily guessed.
    mac: str = ""
    origins: dict[int, str] = {}  # noqa: RUF012  (never written to)


def claim_code(mac: str) -> str:
    """The code of the claim in the `mac` of an order."""
    return mac.partition(".")[0]


def output_code(mac: str) -> str:
    """The code of the output of an order's tasks in its `mac`, "" where it has none."""
    return mac.partition(".")[2]


# By claim: the same run may have begun again elsewhere, and that one goes on.
class StopPipeline(NamedTuple):
    """Stop what the worker runs under this key and claim; its report will be refused. `mac` is that of the order."""

    execution_id: str
    run: str
    claim: int
    mac: str = ""


class DrainWorker(NamedTuple):
    """Have the worker of this name take no more, finish what it has, and end."""

    worker: str


# Of the server to itself, behind the disk: a crash between the event and the child is made good by the same order.
class StartChild(NamedTuple):
    """Start the child execution of a parked `playbook` task, if it was not started yet.

    `name` tells the attempt that calls from all others of its execution (`call` of the child's request), `since` is
    when it was parked (microseconds); the ids that the child may have follow from both. `call` holds the rendered
    fields and args as the worker recorded them; `parent_iter` the caller's iter in a loop.
    """

    execution_id: str
    run: str
    claim: int
    name: str
    since: int
    call: dict[str, Json]
    parent_iter: dict[str, Json] | None
    trace_id: str


class SendSignal(NamedTuple):
    """Send the signal of a parked `signal` task, if it was not sent yet. `call` holds the rendered fields; a receiver
    has one signal for each `action_id`.
    """

    execution_id: str
    run: str
    claim: int
    action_id: str
    call: dict[str, Json]


class AwaitLetter(NamedTuple):
    """Have a parked `wait` listed in the mailbox under a key, for signals of some names; `call` is its name there."""

    execution_id: str
    key: str
    call: str
    names: tuple[str, ...]


class SettleMail(NamedTuple):
    """Tell the mailbox which waits of an execution listen no more, by their calls, and what became of signals that it
    addressed to it, by the rows of the inbox: `taken`, or `returned`.
    """

    execution_id: str
    calls: tuple[str, ...]
    taken: tuple[int, ...]
    returned: tuple[int, ...]


class ControlChild(NamedTuple):
    """Hand `verb` (`cancel`, `pause`, `resume`) down to a child execution."""

    child_id: str
    verb: str


# A bus refuses messages beyond a megabyte or so, and results may have many.
class ClaimCheck(NamedTuple):
    """An order or a report that is too large for the bus: its bytes lie outside, behind `reference`."""

    execution_id: str
    reference: dict[str, Json]


Order = (
    RunPipeline
    | StopPipeline
    | DrainWorker
    | StartChild
    | SendSignal
    | AwaitLetter
    | SettleMail
    | ControlChild
    | ClaimCheck
)


class Report(NamedTuple):
    """The words of a worker about one pipeline, in order: events without firings, all under one claim.

    `sender` names the worker's session, so that a report that a bus delivers twice is told from that of another
    session that took the same order. `mac` is that of the order.
    """

    execution_id: str
    run: str
    claim: int
    events: tuple[Event, ...]
    sender: str = ""
    mac: str = ""


class LeaseHeartbeat(NamedTuple):
    """A worker still has a pipeline under this claim. The answer counts 1 where it is still right to, else 0: stop."""

    execution_id: str
    run: str
    claim: int
    sender: str
    mac: str = ""


Said = Report | LeaseHeartbeat | ClaimCheck


# A count and no yes or no: a report may have been recorded in part, and the rest comes again.
class Answer(NamedTuple):
    """How many events of a report were recorded, counted from its first; fewer than it has means: stop."""

    recorded: int


class WorkerHeartbeat(NamedTuple):
    """A worker says that it is there: its pool, how many slots it has, and how many of them are at work.

    `trouble` is why it begins nothing for now, empty where nothing is in the way.
    """

    worker: str
    pool: str
    slots: int
    busy: int
    draining: bool
    trouble: str = ""

    @property
    def state(self) -> str:
        """`ready`, `unready` when it begins nothing for now, `draining` when it never will again."""
        return "draining" if self.draining else "unready" if self.trouble else "ready"


class Serving(NamedTuple):
    """A server says where its API is, for workers that were not told."""

    url: str


class OpenLane(NamedTuple):
    """A server says that a namespace has a queue of its own in a pool, which its workers are to take from, too."""

    pool: str
    namespace: str


class TakenUp(NamedTuple):
    """A server drives an execution from now on: whoever did so before was taken for dead, and is to give it up."""

    execution_id: str
    server: str


# Asked of workers, as keys and files of secrets may be theirs alone: a server need not be able to read them.
class Check(NamedTuple):
    """A server asks the workers of some pools whether the secrets that a plan declares can be had, before it starts an
    execution with this workload. An answer is `Checked`.
    """

    execution_id: str
    pools: list[str]
    digest: str
    workload: dict[str, Json]


class Checked(NamedTuple):
    """The names of a `Check` that a worker cannot resolve, a sentence each, without values; nothing where it has
    all.
    """

    execution_id: str
    worker: str
    pool: str
    problems: list[str]


# Told to all and stored nowhere: each is said again after seconds, and one that is missed does no harm.
Broadcast = WorkerHeartbeat | Serving | OpenLane | TakenUp | Check | Checked
