"""The plan: a net with the tables of what is computed when its transitions fire.

Everything a run needs is here and nothing else is consulted: the net, the template pool, the step, task and
arc tables, the workload, the declared keychain, the effective executor spec, the plans of the children that
the playbook names, and the places in the author's file. Integers named after a table are indices into it;
-1 is none. The byte form is `noetl_ir.plan_format`.
"""

import re
from collections.abc import Mapping, Sequence

from noetl_ir.expr import Json, Template
from noetl_ir.expr import entries_of as template_entries
from noetl_ir.net import Net
from noetl_ir.patterns import LatePattern
from noetl_ir.records import NamedTuple
from noetl_ir.span import Span
from noetl_ir.words import CAUSES

ENTRY = "@entry"
"""Stands for the entry token among the sources of a join."""


REFERENCE_FIRST = "reference_first"
"""The key of the executor spec that tells whether all results are stored outside of the log."""


class Limits(NamedTuple):
    """Bounds of an execution (`executor.spec.policy.limits`); payload in bytes, the others counts."""

    # Values high enough that no playbook of a person meets them, and low enough that one that runs wild ends.
    max_payload_bytes: int = 1_048_576
    max_tasks_per_run: int = 1_000_000
    max_lost: int = 3
    max_children_depth: int = 16
    max_step_runs: int = 1_000_000
    max_tokens: int = 100_000


class Join(NamedTuple):
    """`mode` is `any`, `all`, `taken`, `count`, `tokens` or `settled`; `count` starts on the `n`-th token of a wave
    (LANGUAGE §3), `tokens` on every `n` tokens, wherever they come from, `settled` with what has come once nothing can
    still come (EXTENSIONS.md §3).

    `sources` are step names in file order; `ENTRY` stands for the entry token.
    """

    mode: str
    n: int
    sources: tuple[str, ...]


class Loop(NamedTuple):
    """One loop level. `items` and `in_flight` index the template pool; `in_flight` is -1 when absent.

    `sequential` has one slot. `exec` is the hint `distributed` or `local`.
    """

    # Indices everywhere and no objects: a row can be read without those that it names.
    items: int
    iterator: str
    sequential: bool
    in_flight: int
    exec: str
    span: Span


class Rule(NamedTuple):
    """A policy rule. `when` is -1 for `else`. `directive` is `continue retry jump break fail`.

    Pool indices, -1 when absent: `when delay max_delay code message`; `set_iter` and `set_ctx` pair keys
    with pool indices in file order. `attempts` counts all tries, the first included. `to` indexes the task
    table.
    """

    when: int
    directive: str
    span: Span
    # The first try counts: `attempts: 1` is no retry, as in the playbook.
    attempts: int = 3
    backoff: str = "none"
    delay: int = -1
    multiplier: float = 2.0
    max_delay: int = -1
    jitter: bool = False
    to: int = -1
    code: int = -1
    message: int = -1
    set_iter: tuple[tuple[str, int], ...] = ()
    set_ctx: tuple[tuple[str, int], ...] = ()


class Task(NamedTuple):
    """A task of a step's pipeline.

    `fields` and `args` are pool indices of mappings (-1 when there are none): `fields` holds the kind's own
    fields, program text as literals; `knobs` the effective spec as far as the kind declares it; `timeout` a
    pool index. `following` is the next task of the pipeline, -1 at its end. `rules` empty means the default
    policy. `passes_errors` says that there are rules but no `else`, so that an outcome no rule matches
    continues.
    """

    name: str
    step: int
    kind: str
    fields: int
    args: int
    knobs: int
    timeout: int
    rules: tuple[Rule, ...]
    following: int
    generated: bool
    span: Span
    passes_errors: bool = False


class Arc(NamedTuple):
    """An arc of a router: `args` and `delay` are pool indices; higher `priority` is served first."""

    step: int
    target: int
    args: int
    delay: int
    priority: int
    span: Span


class Step(NamedTuple):
    """A step.

    `tasks` and `arcs` index the tables in file order; `loops` are levels, outermost first. `timeout` is the
    pool index of `lifecycle.timeout_s`. `reads` are the paths into this step's result that server
    expressions read, `()` meaning the whole; None when nothing on the server reads it. `needs` are the
    steps whose results the worker's expressions of this step may read. `kept` says whether any expression
    reads this step's result.
    """

    name: str
    join: Join
    gated: bool
    waits: bool
    loops: tuple[Loop, ...]
    tasks: tuple[int, ...]
    arcs: tuple[int, ...]
    inclusive: bool
    timeout: int
    best_effort: bool
    pool: str
    # What is not among them stays outside of the log: of a large result the server needs the paths that it reads.
    reads: tuple[tuple[str, ...], ...] | None
    needs: tuple[str, ...]
    kept: bool
    span: Span


# Only the fields as they are written: the plan is shown, sent to workers and kept for ever.
class KeychainEntry(NamedTuple):
    """A declared credential: `fields` is the pool index of its other keys, -1 for none. Never a value of a
    secret.
    """

    name: str
    kind: str
    fields: int
    span: Span


class Input(NamedTuple):
    """A value that a start may bring (`executor.spec.inputs`), and its JSON Schema. One that is `required` has to be
    brought, whatever `workload` says.
    """

    name: str
    required: bool
    schema: dict[str, Json]
    span: Span


class Terminate(NamedTuple):
    """A step whose success ends the execution (`policy.terminate`), with `status` `completed` or `failed`."""

    step: int
    status: str


# Rows of their own and no fields of `Step`: a playbook without the key has the plan, byte for byte, that it had before
# there was one.
class Cancel(NamedTuple):
    """The steps that a step cancels when a run of it starts (`policy.cancels`), in the order of the table."""

    step: int
    targets: tuple[int, ...]


class Locks(NamedTuple):
    """The locks that a run of a step holds (`policy.lock`), by name."""

    step: int
    names: tuple[str, ...]


class Section(NamedTuple):
    """A lock that is held from a run of a step on and through other steps (`policy.lock`, `through`), which are in the
    order of the table.
    """

    step: int
    name: str
    through: tuple[int, ...]


class IterationLimit(NamedTuple):
    """How long an iteration of a loop level may take (`loop.spec.policy.lifecycle.timeout_s`): a pool index."""

    step: int
    level: int
    timeout: int


class Phase(NamedTuple):
    """A phase behind main, `on_failure` or `finally` (`executor.spec`), and the step that it begins at."""

    name: str
    step: int


class Reducer(NamedTuple):
    """A key of `ctx` that is made of contributions (`executor.spec.ctx`): `reduce` is one of `noetl_ir.reducing`, and
    `initial` a pool index, -1 for the value that it starts with by itself.
    """

    key: str
    reduce: str
    initial: int


RESTS = CANCEL, FINISH, SWALLOW = "cancel", "finish", "swallow"
"""What becomes of the iterations that still run when a loop ends before its items are over: they are stopped, awaited,
or left behind to end by themselves.
"""


class LoopEnd(NamedTuple):
    """How a loop level may end before its items are over (`loop.spec.policy` `enough` and `rest`, and `complete`):
    `enough` is the pool index of what is asked after each iteration, -1 where nothing is; `rest` is what then becomes
    of the iterations that still run, one of `RESTS`.
    """

    step: int
    level: int
    enough: int
    rest: str


class Compensation(NamedTuple):
    """A step whose runs are compensated (`policy.compensate`): the step that this begins at, and whether runs that only
    `started` are, too.
    """

    step: int
    target: int
    started: bool


class Concurrency(NamedTuple):
    """How many executions may run at once under a key (`executor.spec.concurrency`): `key` is the pool index of the
    key, and `on_conflict` one of `CONFLICTS`.
    """

    key: int
    limit: int
    on_conflict: str


CONFLICTS = ("queue", "skip", "cancel_running", "fail")
"""What becomes of an execution for which there is no place."""


class SearchAttribute(NamedTuple):
    """A value that executions are found by (`executor.spec.search`): `type` is one of `SEARCH_TYPES`, and `value` its
    pool index.
    """

    name: str
    type: str
    value: int


SEARCH_TYPES = ("string", "number", "bool", "time")
MOST_SEARCH = 32
"""How many labels, and how many search attributes, a playbook or execution has at most."""

LONGEST_LABEL = 255
"""Characters of a label, and of a search attribute: an index of PostgreSQL takes no more than some thousand bytes."""

ATTRIBUTE_NAME = LatePattern(r"[A-Za-z_][\w./-]{0,62}", re.ASCII)
"""The names of labels and of search attributes."""


LOOP_VERBS = COMPLETE, CLOSE, MORE = "complete", "close", "more"
"""What signals and timers of a loop do: they end it, say that no item comes any more, or bring one."""


class LoopSignal(NamedTuple):
    """The signals and timers that a loop level listens for (`loop.spec.more`, `close` and `complete`): `verb` is one of
    `LOOP_VERBS`, `events` are names of signals, and `timers` the pool index of a mapping of names to durations, -1 for
    none.
    """

    step: int
    level: int
    verb: str
    events: tuple[str, ...]
    timers: int


class Interrupt(NamedTuple):
    """The signals and timers that stop the runs of a step from outside (`policy.interrupt`): `events` are names of
    signals, and `timers` the pool index of a mapping of names to durations, -1 for none.
    """

    step: int
    events: tuple[str, ...]
    timers: int


class Child(NamedTuple):
    """A child playbook that the plan embeds: the `path` as the playbook names it, and its plan's digest and
    bytes.
    """

    path: str
    digest: str
    # Bytes and not a plan: a child has its own digest, which is computed of these, and is stored under it.
    data: bytes


class Plan(NamedTuple):
    """A compiled playbook.

    `workload` is the pool index of its mapping, rendered once at start with `order` naming the keys in
    dependency order. `source` is the file's base name, for messages. `executor` is the effective executor
    spec without `policy`. `kinds` are the tool kinds used. `aliases` says that the source had legacy
    constructs. `edition` is the format whose meaning the plan has: in one of format 1 the result of an
    execution is that of its last run, since then that of the last run on the line of its entry. The rows of a
    plan that runs are made when they are asked for. `inputs` are what a start may bring; None where nothing says so.
    `terminates` are the steps that end the execution, `cancels` those that cancel others, `locks` those that hold some,
    in the order of the table, `sections` the locks that reach beyond a step, by step and name.
    `timeout` is the pool index of `executor.spec.policy.lifecycle.timeout_s`, -1 for none. `iteration_limits` and
    `loop_ends` are in the order of steps and levels. `result` is the pool index of the result that the playbook
    declares, -1 where it is that of the line. `phases` are those behind main, in the order in which they come; `after`
    is the pool index of how long each of them may take (`policy.lifecycle.after_s`), -1 for none. `reducers` are the
    keys of `ctx` that are reduced, in file order.
    `concurrency` is the place that an execution asks for before it begins; None where it asks for none.
    `loop_signals` are by step, level and verb, `interrupts` by step. `labels` are names and texts, `search` what else
    executions are found by.
    """

    name: str
    path: str
    version: str
    source: str
    net: Net
    templates: Sequence[Template]
    template_spans: Sequence[Span]
    steps: Sequence[Step]
    tasks: Sequence[Task]
    arcs: Sequence[Arc]
    entry: int
    workload: int
    workload_order: tuple[str, ...]
    keychain: tuple[KeychainEntry, ...]
    executor: dict[str, Json]
    limits: Limits
    best_effort: bool
    kinds: tuple[str, ...]
    children: tuple[Child, ...]
    aliases: bool = False
    # A log lives longer than a version of ours, and means for ever what it meant when it was written.
    edition: int = 3
    inputs: tuple[Input, ...] | None = None
    terminates: tuple[Terminate, ...] = ()
    timeout: int = -1
    iteration_limits: tuple[IterationLimit, ...] = ()
    result: int = -1
    phases: tuple[Phase, ...] = ()
    after: int = -1
    reducers: tuple[Reducer, ...] = ()
    loop_ends: tuple[LoopEnd, ...] = ()
    compensations: tuple[Compensation, ...] = ()
    compensate_on: tuple[str, ...] = CAUSES
    cancels: tuple[Cancel, ...] = ()
    concurrency: Concurrency | None = None
    loop_signals: tuple[LoopSignal, ...] = ()
    locks: tuple[Locks, ...] = ()
    interrupts: tuple[Interrupt, ...] = ()
    sections: tuple[Section, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    search: tuple[SearchAttribute, ...] = ()


# By name, in the order in which they came: the byte form writes those that a plan has, and reads a missing one as its
# default.
EXTENSIONS = (
    "inputs",
    "terminates",
    "timeout",
    "iteration_limits",
    "result",
    "phases",
    "after",
    "reducers",
    "loop_ends",
    "compensations",
    "compensate_on",
    "cancels",
    "concurrency",
    "loop_signals",
    "locks",
    "interrupts",
    "sections",
    "labels",
    "search",
)
"""Fields that only playbooks with a key of EXTENSIONS.md have. A plan with one is of format 4 or later, and says so;
all others are written as format 3, byte for byte.
"""


def entries_of(plan: Plan) -> frozenset[int]:
    """The steps that an entry token comes to: that of main, and those of the phases behind it."""
    return frozenset([plan.entry, *later_entries(plan)])


def later_entries(plan: Plan) -> tuple[int, ...]:
    """The steps that regions behind main begin at: those of compensations, then those of phases."""
    targets = dict.fromkeys(each.target for each in plan.compensations)
    return (*targets, *(phase.step for phase in plan.phases))


def fields_of(plan: Plan, task: Task) -> Mapping[str, Template] | None:
    """The templates of a task's own fields; None where all of them are computed."""
    return template_entries(plan.templates[task.fields]) if task.fields >= 0 else {}


def asks_places(plan: Plan) -> bool:
    """Whether transitions ask if places are empty (`noetl_ir.locks`)."""
    return bool(plan.locks or plan.sections)


def edition_of(plan: Plan) -> int:
    """The format that a plan made now is written in."""
    return 4 if extensions_of(plan) else 3


def extensions_of(plan: Plan) -> dict[str, object]:
    """The extensions that a plan has."""
    # Against the default and not against emptiness: `inputs: ()` is a declaration that there are none.
    values = {name: getattr(plan, name) for name in EXTENSIONS}
    return {name: value for name, value in values.items() if value != Plan._field_defaults[name]}
