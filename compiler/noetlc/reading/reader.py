"""The reader that all construct readers share: the source, the tables of keys, and the findings so far."""

from collections.abc import Callable, Iterable
from collections.abc import Mapping as MappingOf
from types import MappingProxyType
from typing import Never, Protocol, TypeAlias, TypeVar

from noetl_ir.nearest import nearest
from noetl_ir.records import NamedTuple
from noetl_ir.span import Span
from noetlc.ast.playbook import Step, Task
from noetlc.ast.sugar import Sugar
from noetlc.diag.change import Change, ChangeClass
from noetlc.diag.codes import finding
from noetlc.diag.diagnostic import Diagnostic, Fix, Related
from noetlc.reading.drafts import (
    AdmitDraft,
    ArcDraft,
    DocumentDraft,
    ExecutorDraft,
    LoopDraft,
    RouterDraft,
    StepDraft,
    StepSpecDraft,
    TaskDraft,
    ThenDraft,
)
from noetlc.reading.idle import asks_for_nothing, help_for
from noetlc.source.nodes import Mapping, Node, Scalar
from noetlc.source.text import Source

Draft = TypeVar("Draft")
Take: TypeAlias = Callable[["Reader", Draft, Scalar, Node], None]
"""Takes one key and its value into a draft."""

Table: TypeAlias = MappingOf[str, Take[Draft]]
TaskForm: TypeAlias = Callable[["Reader", int, Mapping], TaskDraft | None]
"""Recognises one way of writing a task in a list, by its position and its node; None when it is another
form.
"""
TaskEntry: TypeAlias = Callable[["Reader", int, Mapping], Task | None]
"""Reads what stands in a task list and is no task, by its position and its node."""

_NOTHING: MappingOf[str, Never] = MappingProxyType({})


class Tables(NamedTuple):
    """Which function takes which key, scope by scope. The field names are the names of the scopes."""

    document: Table[DocumentDraft] = _NOTHING
    executor: Table[ExecutorDraft] = _NOTHING
    executor_spec: Table[ExecutorDraft] = _NOTHING
    executor_policy: Table[ExecutorDraft] = _NOTHING
    step: Table[StepDraft] = _NOTHING
    step_spec: Table[StepSpecDraft] = _NOTHING
    step_policy: Table[StepSpecDraft] = _NOTHING
    admit: Table[AdmitDraft] = _NOTHING
    loop: Table[LoopDraft] = _NOTHING
    loop_spec: Table[LoopDraft] = _NOTHING
    loop_policy: Table[LoopDraft] = _NOTHING
    task: Table[TaskDraft] = _NOTHING
    task_fallback: Table[TaskDraft] = _NOTHING
    task_spec: Table[TaskDraft] = _NOTHING
    task_policy: Table[TaskDraft] = _NOTHING
    then: Table[ThenDraft] = _NOTHING
    next: Table[RouterDraft] = _NOTHING
    next_spec: Table[RouterDraft] = _NOTHING
    arc: Table[ArcDraft] = _NOTHING
    arc_spec: Table[ArcDraft] = _NOTHING
    task_forms: MappingOf[str, TaskForm] = _NOTHING
    task_entries: MappingOf[str, TaskEntry] = _NOTHING


Legacy: TypeAlias = MappingOf[str, MappingOf[str, str]]
"""Scope → key → the name of the legacy construct, for what is recognised and not read yet."""


class Forms(NamedTuple):
    """Readers of what stands under a canonical key in a form that canonical text does not have, and of hints at such
    forms in the text of a document. Where no older dialect is read, none of them finds anything.
    """

    unfold: Callable[["Reader", StepDraft, Node], Node | None] = lambda r, draft, node: node
    next: Callable[["Reader", StepDraft, Node], None] = lambda r, draft, node: None
    save: Take[StepDraft] = lambda r, draft, key, node: None
    hints: Callable[["Reader", DocumentDraft, Mapping], tuple[Sugar, ...]] = lambda r, draft, node: ()


NO_FORMS = Forms()

MOST_TOLD = 30
"""Names that a help lists; it says how many more there are."""

_MOVED = {"document": frozenset({"name", "path"})}
"""Scope → keys that are read there, and belong elsewhere."""

_ORDERS = frozenset({"depends_on", "needs", "requires", "after", "dependencies", "run_after"})
"""Keys by which other languages tell a step what it comes after."""

SCOPE_NAMES = {
    "document": "the playbook",
    "executor": "`executor`",
    "executor_spec": "`executor.spec`",
    "executor_policy": "`executor.spec.policy`",
    "step": "a step",
    "step_spec": "`step.spec`",
    "step_policy": "`step.spec.policy`",
    "admit": "`admit`",
    "loop": "`loop`",
    "loop_spec": "`loop.spec`",
    "loop_policy": "`loop.spec.policy`",
    "loop_signal": "`more`, `close` or `complete` of a loop",
    "task": "a task",
    "task_fallback": "a task",
    "task_spec": "`task.spec`",
    "task_policy": "`task.spec.policy`",
    "then": "`then`",
    "next": "`next`",
    "next_spec": "`next.spec`",
    "arc": "an arc",
    "arc_spec": "`arc.spec`",
    "rule": "a rule",
    "lifecycle": "`lifecycle`",
    "join": "`join`",
    "lock": "a lock",
    "failure": "`failure`",
    "compensate": "`compensate`",
    "interrupt": "`interrupt`",
    "requires": "`executor.requires`",
    "results": "`results`",
    "limits": "`limits`",
    "keychain": "a keychain entry",
    "reducer": "a reducer of `executor.spec.ctx`",
    "concurrency": "`concurrency`",
    "search": "a search attribute",
    "case": "a rule of `case`",
    "retry": "`retry`",
    "poll": "`poll`",
    "pagination": "`pagination`",
    "while": "`while`",
    "until": "`until`",
    "suite": "a file of tests",
    "suite_case": "a case",
    "suite_expect": "`expect`",
    "suite_error": "`error` of `expect`",
    "suite_call": "an entry of `calls`",
    "suite_event": "an entry of `events`",
    "suite_duration": "`duration`",
    "suite_limits": "`limits`",
    "suite_outcome": "an outcome",
    "suite_result": "the outcome of such a task",
    "suite_signal": "a signal",
}
"""How messages call a scope."""


class KeptSteps(Protocol):
    """Steps that were read before."""

    def step(self, r: "Reader", node: Node) -> Step | None: ...


class Reader:
    """The state that all construct readers share: tables of keys, findings, and changes (older spellings).

    `tables` are the keys that are read, `canonical` those that help texts propose. `legacy_seen` says that an older
    construct was met. `body` is the prefix for the names of unnamed tasks at the present place. `meant` records for
    plain scalars that YAML 1.1 and 1.2 read differently, such as `yes`, what they are here: a `name` or a `boolean`.
    `names_in_scope` tells which names the document gives to a step of it, for older forms that depend on that. `kept`
    reads the steps where an older text of the file was read before.
    """

    def __init__(
        self,
        source: Source,
        tables: Tables,
        legacy: Legacy,
        forms: Forms = NO_FORMS,
        canonical: Tables | None = None,
        kept: KeptSteps | None = None,
    ) -> None:
        self.source = source
        self.tables = tables
        self.canonical = canonical or tables
        self.legacy = legacy
        self.forms = forms
        self.kept = kept
        self.findings: list[Diagnostic] = []
        self.changes: list[Change] = []
        self.legacy_seen = False
        self.body = ""
        self.meant: dict[Span, str] = {}
        self.names_in_scope: Callable[[str], frozenset[str]] = lambda step: frozenset()

    def report(
        self,
        code: str,
        message: str,
        span: Span,
        *,
        help: str = "",
        fix: Fix | None = None,
        related: tuple[Related, ...] = (),
    ) -> None:
        """Add a finding with the severity of its code."""
        self.findings.append(finding(code, message, span, help=help, fix=fix, related=related))

    def respelt(self, span: Span, construct: str, message: str, klass: ChangeClass = "exact") -> None:
        """Record a legacy spelling that is read as the canonical one."""
        self.legacy_seen = True
        self.changes.append(Change("read", span, construct, klass, message))

    def refuse(self, construct: str, span: Span, *, help: str = "") -> None:
        """Say that a legacy construct was recognised and is not supported."""
        self.legacy_seen = True
        self.report("NL901", f"legacy construct {construct} is not supported by this version", span, help=help)


def take_all(r: Reader, scope: str, table: Table[Draft], draft: Draft, node: Mapping) -> None:
    """Give every key of `node` to the function that the table names; report the keys that nothing takes."""
    for key, value in node.entries:
        take = table.get(key.text)
        if take is not None:
            take(r, draft, key, value)
        else:
            stray_key(r, scope, key, tuple(table))


def stray_keys(r: Reader, scope: str, node: Mapping, known: tuple[str, ...]) -> None:
    """Report the keys of `node` that are not `known`."""
    for key, _ in node.entries:
        if key.text not in known:
            stray_key(r, scope, key, known)


def stray_key(r: Reader, scope: str, key: Scalar, known: tuple[str, ...]) -> None:
    """Report a key that its scope does not have; `x-*` may stand anywhere (LANGUAGE §1)."""
    name = key.text
    if name.startswith("x-"):
        return
    construct = r.legacy.get(scope, {}).get(name)
    if construct is not None:
        from noetlc.diag.forms import form_of

        r.refuse(construct, key.span, help=form_of(scope, name))
        return
    message, told = f"unknown key `{name}` in {SCOPE_NAMES[scope]}", of_today(r, scope, known)
    # No key here is like these, so the nearest name would be no help; what was meant is known.
    if scope == "step" and name in _ORDERS:
        r.report("NL101", message, key.span, help="order is told by the step before: `next: {arcs: [{step: …}]}`")
        return
    if name.startswith("-"):
        help = f"write `- {name[1:]}:`: a list item has a space after its dash"
        r.report(
            "NL101", message, key.span, help=help, fix=Fix(key.span, f"- {name[1:]}", "put a space after the dash")
        )
        return
    # A key that is right one or two levels deeper is no misspelt one of this level.
    if ways := _ways_down(r, scope, name):
        shown = (f"`{': {'.join((*way, name))}: …{'}' * len(way)}`" for way in ways)
        r.report("NL101", message, key.span, help=f"`{name}` stands deeper: write {' or '.join(shown)}")
        return
    unknown(r, "NL101", message, key.span, name=name, known=known, told=told)


_LIKE_AN_OLDER_ONE = 0.8
"""How alike a key has to be to one of an older dialect alone, from 0 to 1."""

_BELOW: MappingOf[str, tuple[tuple[str, str], ...]] = {
    "executor": (("executor_spec", "spec"),),
    "executor_spec": (("executor_policy", "policy"),),
    "step": (("step_spec", "spec"), ("loop", "loop"), ("next", "next")),
    "step_spec": (("step_policy", "policy"),),
    "step_policy": (("admit", "admit"),),
    "loop": (("loop_spec", "spec"),),
    "loop_spec": (("loop_policy", "policy"),),
    "task": (("task_spec", "spec"),),
    "task_spec": (("task_policy", "policy"),),
    "next": (("next_spec", "spec"),),
    "arc": (("arc_spec", "spec"),),
}
"""Scope → the scopes that keys of it open, each with its key."""


def _ways_down(r: Reader, scope: str, name: str) -> list[tuple[str, ...]]:
    """The paths of keys below a scope at which canonical text has a name; the shortest only, empty where it has none.

    They tell an author who wrote a key one or two levels too high where it belongs.
    """
    ways: list[tuple[str, tuple[str, ...]]] = [(scope, ())]
    while ways:
        found: list[tuple[str, ...]] = []
        for here, way in ways:
            for key, take in getattr(r.canonical, here, {}).items():
                # A mapping within a policy has a table of its own (`PolicyKeys`) and no scope. A key that has no effect
                # is never proposed.
                if getattr(take, "table", {}).get(name, no_effect) is not no_effect:
                    found.append((*way, key))
        ways = [(below, (*way, key)) for here, way in ways for below, key in _BELOW.get(here, ())]
        found += [way for below, way in ways if name in getattr(r.canonical, below, ())]
        if found:
            return found
    return []


def of_today(r: Reader, scope: str, known: Iterable[str]) -> tuple[str, ...]:
    """The `known` keys of a scope that canonical text has, in the order of its table; all where it has no table."""
    table = getattr(r.canonical, scope, None)
    if table is None:
        return tuple(known)
    # A help never proposes what would be told as misplaced.
    at_home = set(known) - _MOVED.get(scope, frozenset())
    return tuple(key for key in table if key in at_home)


def unknown(
    r: Reader, code: str, message: str, span: Span, *, name: str, known: tuple[str, ...], told: tuple[str, ...] = ()
) -> None:
    """Report a name that is not one of `known`, with the nearest of these as the fix.

    `told` are the names that a help text may list, by default all; they are also tried first for the nearest.
    """
    told = told or tuple(sorted(known))
    # Keys of today come first, so that a slip is not mended into an older spelling that happens to be nearer. An older
    # one is proposed only if the name is very like it: `mode` is not meant as `case_mode`.
    near = nearest(name, told) or nearest(name, sorted(known), _LIKE_AN_OLDER_ONE)
    if near:
        fix = Fix(span, near, f"write `{near}`", safe=False)
        r.report(code, message, span, help=f"did you mean `{near}`?", fix=fix)
    else:
        listed = ", ".join(f"`{each}`" for each in told[:MOST_TOLD])
        more = f" and {len(told) - MOST_TOLD} more" if len(told) > MOST_TOLD else ""
        r.report(code, message, span, help=f"known here: {listed}{more}" if listed else "")


def no_effect(r: Reader, draft: object, key: Scalar, node: Node) -> None:
    """Take a key that is accepted, noted and has no effect (LANGUAGE §1)."""
    del draft
    # `tracing: false` asks for what happens anyway.
    if not asks_for_nothing(key.text, node):
        r.report("NL110", f"`{key.text}` is accepted and has no effect", key.span, help=help_for(key.text))
