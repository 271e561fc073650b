"""The draft that a reader has gathered of one construct before it is whole: one mutable class each, filled key by key.

A key of a mapping is taken by one function (`Take`), and a table says which key belongs to which; so a
dialect adds or replaces keys without touching the readers. A draft never leaves `noetlc.reading`.
"""

from noetl_ir.expr import Json
from noetl_ir.span import NOWHERE, Span
from noetlc.ast.playbook import (
    Admit,
    AdmitRule,
    Arc,
    Compensate,
    Concurrency,
    Executor,
    Guard,
    Input,
    Interrupt,
    KeychainEntry,
    Lock,
    Loop,
    LoopSignal,
    Merge,
    Phase,
    Reducer,
    Router,
    Rule,
    SearchAttribute,
    Step,
    StepName,
    StepSpec,
    Task,
    TaskDefaults,
    Value,
)
from noetlc.ast.sugar import Sugar
from noetlc.source.nodes import Mapping, Node, Scalar

DraftPairs = list[tuple[str, Value]]
"""Keys with their values in file order."""


class DocumentDraft:
    """The root of a playbook."""

    __slots__ = (
        "api_version",
        "executor",
        "extensions",
        "extras",
        "keychain",
        "kind",
        "metadata",
        "moved",
        "seen",
        "steps",
        "workbook",
        "workload",
        "workload_spans",
    )

    def __init__(self) -> None:
        self.seen: set[str] = set()
        self.metadata: dict[str, Json] = {}
        self.moved: dict[str, Json] = {}
        self.keychain: list[KeychainEntry] = []
        self.executor: Executor | None = None
        self.workload: DraftPairs = []
        self.workload_spans: list[tuple[str, Span]] = []
        self.steps: list[Step] = []
        self.workbook: list[tuple[str, Task]] = []
        self.extensions: list[tuple[str, Node]] = []
        self.extras: list[Sugar] = []


class ExecutorDraft:
    """The executor section with its spec and policy."""

    __slots__ = (
        "after",
        "compensate_on",
        "compensate_on_span",
        "concurrency",
        "entry_span",
        "entry_step",
        "extras",
        "failure_mode",
        "inputs",
        "knobs",
        "lifecycle_timeout",
        "limits",
        "phases",
        "plain",
        "pool",
        "reducers",
        "reference_first",
        "result",
        "search",
        "tasks",
        "timeout",
    )

    def __init__(self) -> None:
        self.plain: dict[str, Json] = {}
        self.knobs: DraftPairs = []
        self.pool: str | None = None
        self.entry_step: str | None = None
        self.entry_span: Span | None = None
        self.limits: list[tuple[str, int]] = []
        self.reference_first = False
        self.failure_mode = "fail_fast"
        self.inputs: list[Input] | None = None
        self.lifecycle_timeout: Value | None = None
        self.result: Value | None = None
        self.timeout: Value | None = None
        self.tasks: tuple[TaskDefaults, ...] = ()
        self.phases: dict[str, Phase] = {}
        self.after: Value | None = None
        self.compensate_on: tuple[str, ...] | None = None
        self.compensate_on_span: Span | None = None
        self.reducers: tuple[Reducer, ...] = ()
        self.concurrency: Concurrency | None = None
        self.search: tuple[SearchAttribute, ...] = ()
        self.extras: list[Sugar] = []


class StepDraft:
    """A step; its tool is read when all keys are known, because a lone task is named after the step."""

    __slots__ = ("desc", "extras", "loop", "name", "name_span", "router", "spec", "tool")

    def __init__(self) -> None:
        self.name = ""
        self.name_span = NOWHERE
        self.desc = ""
        self.spec: StepSpec | None = None
        self.loop: Loop | None = None
        self.tool: Node | None = None
        self.router: Router | None = None
        self.extras: list[Sugar] = []


class StepSpecDraft:
    """`step.spec` and its policy."""

    __slots__ = (
        "admit",
        "cancels",
        "compensate",
        "extras",
        "failure_mode",
        "interrupt",
        "join",
        "join_span",
        "knobs",
        "lifecycle_timeout",
        "locks",
        "pool",
        "terminate",
        "terminate_span",
        "timeout",
    )

    def __init__(self) -> None:
        self.pool: str | None = None
        self.timeout: Value | None = None
        self.admit: Admit | None = None
        self.join: str | int | Merge = "any"
        self.join_span: Span | None = None
        self.lifecycle_timeout: Value | None = None
        self.terminate = ""
        self.cancels: list[StepName] = []
        self.locks: list[Lock] = []
        self.terminate_span: Span | None = None
        self.compensate: Compensate | None = None
        self.interrupt: Interrupt | None = None
        self.failure_mode = ""
        self.knobs: DraftPairs = []
        self.extras: list[Sugar] = []


class AdmitDraft:
    """The admission policy of a step."""

    __slots__ = ("rules", "waits")

    def __init__(self) -> None:
        self.rules: list[AdmitRule] | None = None
        self.waits = False


class LoopDraft:
    """A loop level; one that is `paged` needs no items: the pages may be all that the loop is."""

    __slots__ = (
        "enough",
        "exec",
        "extras",
        "inner",
        "items",
        "iterator",
        "iterator_span",
        "knobs",
        "lifecycle_timeout",
        "max_in_flight",
        "mode",
        "paged",
        "rest",
        "rest_span",
        "signals",
        "timeout",
    )

    def __init__(self) -> None:
        self.items: Value | None = None
        self.iterator = ""
        self.iterator_span = NOWHERE
        self.mode = "sequential"
        self.max_in_flight: Value | None = None
        self.exec = "distributed"
        self.lifecycle_timeout: Value | None = None
        self.enough: Value | None = None
        self.rest = ""
        self.rest_span: Span | None = None
        self.signals: list[LoopSignal] = []
        self.inner: Loop | None = None
        self.paged = False
        self.timeout: Value | None = None
        self.knobs: DraftPairs = []
        self.extras: list[Sugar] = []


class TaskDraft:
    """A task; `node` is its own mapping, whatever form it was written in."""

    __slots__ = (
        "args",
        "desc",
        "extras",
        "field_spans",
        "fields",
        "kind",
        "kind_span",
        "knobs",
        "name",
        "name_span",
        "node",
        "on_unmatched_written",
        "rules",
        "timeout",
    )

    def __init__(self, name: str, name_span: Span, node: Mapping) -> None:
        self.name = name
        self.name_span = name_span
        self.node = node
        self.kind = ""
        self.kind_span = name_span
        self.desc = ""
        self.fields: DraftPairs = []
        self.field_spans: list[tuple[str, Span]] = []
        self.args: Value | None = None
        self.knobs: DraftPairs = []
        self.timeout: Value | None = None
        self.rules: list[Rule] = []
        self.on_unmatched_written = False
        self.extras: list[Sugar] = []


class ThenDraft:
    """The action of a policy rule."""

    __slots__ = (
        "attempts",
        "backoff",
        "code",
        "delay",
        "directive",
        "jitter",
        "keys",
        "max_delay",
        "message",
        "multiplier",
        "set_ctx",
        "set_iter",
        "to",
        "to_span",
    )

    def __init__(self) -> None:
        self.keys: list[Scalar] = []
        self.directive = ""
        self.attempts = 3
        self.backoff = "none"
        self.delay: Value | None = None
        self.multiplier = 2.0
        self.max_delay: Value | None = None
        self.jitter = False
        self.to: str | None = None
        self.to_span: Span | None = None
        self.code: Value | None = None
        self.message: Value | None = None
        self.set_iter: DraftPairs = []
        self.set_ctx: DraftPairs = []


class RouterDraft:
    """A router; `arcs` is None while none were given."""

    __slots__ = ("arcs", "mode")

    def __init__(self) -> None:
        self.mode = "exclusive"
        self.arcs: list[Arc] | None = None


class ArcDraft:
    """An arc; `guarded` says whether it has a guard, also one that could not be read."""

    __slots__ = ("args", "delay", "extras", "guarded", "priority", "target", "target_span", "when")

    def __init__(self) -> None:
        self.target = ""
        self.target_span = NOWHERE
        self.when: Guard | None = None
        self.guarded = False
        self.args: Value | None = None
        self.delay: Value | None = None
        self.priority = 0
        self.extras: list[Sugar] = []
