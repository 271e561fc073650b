"""The canonical syntax tree of a playbook (v10): the one form that lowering ends in and the net is built
from. In a canonical tree all `extras` are empty (`noetlc.ast.sugar`).

Every task has a name and every expression is parsed. Values keep the node they were read from, so that a
finding inside a template can be shown at its place in the file.
"""

from typing import TypeAlias

from noetl_ir.expr import Expr, Json, Template
from noetl_ir.records import NamedTuple
from noetl_ir.span import Span
from noetlc.ast.sugar import Sugar
from noetlc.source.nodes import Node, Scalar

WrittenAt: TypeAlias = Span | Node
"""Where something stands: its span, or the node that works it out when it is asked for, which most never are."""


def span_at(place: WrittenAt) -> Span:
    """The span of a place."""
    return place if isinstance(place, Span) else place.span


class Value(NamedTuple):
    """A value that may hold templates; `node` is None for a generated one."""

    template: Template
    place: WrittenAt
    node: Node | None

    @property
    def span(self) -> Span:
        """Where it stands."""
        return span_at(self.place)


Pairs: TypeAlias = tuple[tuple[str, Value], ...]
"""Keys with their values, in the order of the file."""


class Guard(NamedTuple):
    """One expression that is asked for its truth. `text` is the expression as written, without braces.

    `node` is the scalar and `offset` where the expression's own text begins in the scalar's text.
    """

    expr: Expr
    text: str
    place: WrittenAt
    node: Scalar | None
    offset: int

    @property
    def span(self) -> Span:
        """Where it stands."""
        return span_at(self.place)


class Rule(NamedTuple):
    """A rule of a task policy; `when` is None for `else`. Fields as in `noetl_ir.plan.Rule`."""

    when: Guard | None
    directive: str
    span: Span
    attempts: int = 3
    backoff: str = "none"
    delay: Value | None = None
    multiplier: float = 2.0
    max_delay: Value | None = None
    jitter: bool = False
    to: str | None = None
    to_span: Span | None = None
    code: Value | None = None
    message: Value | None = None
    set_iter: tuple[tuple[str, Value], ...] = ()
    set_ctx: tuple[tuple[str, Value], ...] = ()
    extras: tuple[Sugar, ...] = ()


class Task(NamedTuple):
    """A task: `fields` are the kind's own, in file order; `args` its arguments; `knobs` its own spec without
    policy.

    `on_unmatched_written` says whether `on_unmatched: continue` stands in the source.
    """

    name: str
    name_span: Span
    kind: str
    kind_span: Span
    span: Span
    desc: str
    fields: tuple[tuple[str, Value], ...]
    args: Value | None
    knobs: tuple[tuple[str, Value], ...]
    timeout: Value | None
    rules: tuple[Rule, ...]
    on_unmatched_written: bool
    generated: bool = False
    field_spans: tuple[tuple[str, Span], ...] = ()
    extras: tuple[Sugar, ...] = ()


class AdmitRule(NamedTuple):
    """`when` is None for `else`."""

    when: Guard | None
    allow: bool
    span: Span


class Admit(NamedTuple):
    """The admission policy of a step; `waits` for `on_deny: wait`."""

    rules: tuple[AdmitRule, ...]
    waits: bool
    span: Span


class LoopSignal(NamedTuple):
    """Signals and timers that act on a loop: `verb` as in `noetl_ir.plan.LoopSignal`; `timers` is a mapping."""

    verb: str
    events: tuple[str, ...]
    timers: Value | None
    span: Span


class Loop(NamedTuple):
    """A loop level; `inner` is the nested loop. `mode` is `sequential` or `parallel`; `knobs` and
    `timeout` as in `StepSpec`. `enough` is what ends it before its items are over, `rest` as in
    `noetl_ir.plan.LoopEnd`, empty where it is not written.
    """

    items: Value
    iterator: str
    iterator_span: Span
    mode: str
    max_in_flight: Value | None
    exec: str
    inner: "Loop | None"
    span: Span
    knobs: tuple[tuple[str, Value], ...] = ()
    extras: tuple[Sugar, ...] = ()
    lifecycle_timeout: Value | None = None
    timeout: Value | None = None
    enough: Value | None = None
    rest: str = ""
    rest_span: Span | None = None
    signals: tuple[LoopSignal, ...] = ()


class Arc(NamedTuple):
    """An arc of a router to the step named `target`."""

    target: str
    target_span: Span
    when: Guard | None
    args: Value | None
    delay: Value | None
    priority: int
    span: Span
    extras: tuple[Sugar, ...] = ()


class Router(NamedTuple):
    """`mode` is `exclusive` or `inclusive`."""

    mode: str
    arcs: tuple[Arc, ...]
    span: Span


class Merge(NamedTuple):
    """A join of each `tokens` tokens, whichever sources they come from (`join: {tokens: N}`)."""

    tokens: int


class Compensate(NamedTuple):
    """The step that undoes a run (`policy.compensate`), with `started` also one that failed or was cut short."""

    step: str
    started: bool
    span: Span


class StepName(NamedTuple):
    """A step that another one names."""

    name: str
    span: Span


class Interrupt(NamedTuple):
    """Signals and timers that stop the runs of a step (`policy.interrupt`); `timers` is a mapping."""

    events: tuple[str, ...]
    timers: Value | None
    span: Span


class Lock(NamedTuple):
    """A lock that a step takes, held by its run, or on and through other steps where it names some."""

    name: str
    span: Span
    through: tuple[StepName, ...] = ()


class StepSpec(NamedTuple):
    """The rest of `step.spec` beside the admission: `join` is `any all taken first settled`, a number or a merge,
    `terminate` the status that the step's success ends the execution with, `cancels` the steps that a run of it
    cancels, `locks` what a run of it takes, `interrupt` what stops its runs from outside.

    `knobs` are those that tasks may inherit, `policy` aside.
    """

    pool: str | None
    timeout: Value | None
    admit: Admit | None
    join: str | int | Merge
    join_span: Span | None
    lifecycle_timeout: Value | None
    failure_mode: str
    knobs: tuple[tuple[str, Value], ...]
    terminate: str = ""
    terminate_span: Span | None = None
    compensate: Compensate | None = None
    cancels: tuple[StepName, ...] = ()
    locks: tuple[Lock, ...] = ()
    interrupt: Interrupt | None = None


class Step(NamedTuple):
    """A step; `router` is None for a leaf. A step without a tool has one generated noop."""

    name: str
    name_span: Span
    span: Span
    desc: str
    spec: StepSpec
    loop: Loop | None
    tasks: tuple[Task, ...]
    router: Router | None
    extras: tuple[Sugar, ...] = ()


class KeychainEntry(NamedTuple):
    """A declared credential and its other keys."""

    name: str
    name_span: Span
    kind: str
    fields: tuple[tuple[str, Value], ...]
    span: Span


class Input(NamedTuple):
    """A value that a start may bring, as declared: its JSON Schema, and the node of that."""

    name: str
    name_span: Span
    required: bool
    schema: dict[str, Json]
    node: Node


class Reducer(NamedTuple):
    """A key of `ctx` that is made of contributions, as declared; `initial` is None where it starts by itself."""

    key: str
    key_span: Span
    reduce: str
    initial: Value | None


class SearchAttribute(NamedTuple):
    """A value that executions are found by (`executor.spec.search`): `type` is one of `noetl_ir.plan.SEARCH_TYPES`."""

    name: str
    type: str
    value: Value


class Concurrency(NamedTuple):
    """How many executions may run at once under a key, as declared: fields as in `noetl_ir.plan.Concurrency`."""

    key: Value
    limit: int
    on_conflict: str
    span: Span


class TaskDefaults(NamedTuple):
    """`executor.spec.tasks.<kind>.spec`, of which tasks of the kind take what they do not say: fields as in `Task`."""

    kind: str
    kind_span: Span
    knobs: tuple[tuple[str, Value], ...]
    timeout: Value | None
    rules: tuple[Rule, ...]
    on_unmatched_written: bool


class Phase(NamedTuple):
    """A phase behind main, `on_failure` or `finally`: the step that it begins at, and where that is named."""

    name: str
    step: str
    span: Span


class Executor(NamedTuple):
    """The executor section: `spec` knobs, `policy` limits by name, entry step, and the plain keys.

    `limits` maps the names of `noetl_ir.plan.Limits` to whole numbers. `inputs` is None where nothing declares them,
    and `result` where it is that of the line. `phases` are in the order in which they come; `after` is how long each of
    them may take.
    """

    plain: dict[str, Json]
    knobs: tuple[tuple[str, Value], ...]
    pool: str | None
    entry_step: str | None
    entry_span: Span | None
    limits: tuple[tuple[str, int], ...]
    reference_first: bool
    failure_mode: str
    extras: tuple[Sugar, ...] = ()
    inputs: tuple[Input, ...] | None = None
    lifecycle_timeout: Value | None = None
    result: Value | None = None
    timeout: Value | None = None
    tasks: tuple[TaskDefaults, ...] = ()
    phases: tuple[Phase, ...] = ()
    after: Value | None = None
    compensate_on: tuple[str, ...] | None = None
    reducers: tuple[Reducer, ...] = ()
    concurrency: Concurrency | None = None
    compensate_on_span: Span | None = None
    search: tuple[SearchAttribute, ...] = ()


class Playbook(NamedTuple):
    """A whole canonical playbook. `extensions` are the `x-*` keys with their nodes, kept anywhere (root only
    here).

    `workbook` keeps the entries that tasks may name; `legacy` says whether the source had a legacy construct.
    """

    name: str
    path: str
    version: str
    metadata: dict[str, Json]
    keychain: tuple[KeychainEntry, ...]
    executor: Executor
    workload: tuple[tuple[str, Value], ...]
    workload_spans: tuple[tuple[str, Span], ...]
    steps: tuple[Step, ...]
    workbook: tuple[tuple[str, Task], ...]
    extensions: tuple[tuple[str, Node], ...]
    legacy: bool
    span: Span
    extras: tuple[Sugar, ...] = ()
