"""How results are stored: `output: {store, output_select, inline_max_bytes}`, and `_ref`, `_store`, `_preview`.

lower_storage: what a step asks becomes the knob `inline_max_bytes` of its last task, and names become `ref` (REAL.md).

output: {store: {kind: kv}}   →   spec: {inline_max_bytes: 0} of the last task: its result is stored whatever its size
"{{ s._ref }}"                →   "{{ ref(s) }}"
"{{ s._ref is defined }}"     →   "{{ ref(s) != none }}"
"{{ s._store }}"              →   "{{ 'kv' if s is defined else none }}"

Every tier is the payload store. `output_select` without a tier, and `auto`, leave the tier to the size, as older
engines did. All keys of a stored result stay readable, so a list of keys changes nothing.
"""

from collections.abc import Callable
from collections.abc import Mapping as Map

from noetl_ir.expr import Attribute, Call, Conditional, Const, Expr, Filter, Item, Literal, Name, Slice, Test
from noetl_ir.kinds import INLINE
from noetl_ir.paths import static_path
from noetl_ir.records import NamedTuple
from noetl_ir.span import Span
from noetlc.ast.bodies import HasBodies, Tasks, all_taken, map_lists, with_lists
from noetlc.ast.playbook import Playbook, Step, Task, Value
from noetlc.ast.sugar import Guess, Sugar
from noetlc.diag.change import Change, RecordChange
from noetlc.expr.rewrite import Replace, rewritten
from noetlc.expr.shorthand import compared, defined, filtered, negated
from noetlc.expr.templates import Templated, all_with, map_all_templated, map_templated
from noetlc.older.nearer import Nearer
from noetlc.older.recording import recording
from noetlc.reading.drafts import StepDraft, TaskDraft
from noetlc.reading.kinds import kind_of
from noetlc.reading.reader import Reader, no_effect
from noetlc.source.nodes import Mapping, Node, Scalar


class Storage(Sugar):
    """The storage that a step or task asks for its result: `tier` as named, "" where none is; from what size on in
    bytes.
    """

    tier: str
    inline: int | None
    span: Span


class StoredNames(Guess):
    """Some text of the file may name a reference, a tier or a preview."""

    span: Span


_NONE = Const(None)
_SELECTS = frozenset({"output_select", "select"})
_KEYS = _SELECTS | {"store", INLINE}
_BY_SIZE = "auto"
INLINE_BYTES = 65_536
"""Up to here older engines kept a result of which keys were selected in the log."""
KV_BYTES, OBJECT_BYTES = 1_048_576, 10_485_760
"""Up to these sizes they took the tiers kv and object, above s3."""
LIMIT = 1_048_576
"""The default of `limits.max_payload_bytes`."""
SHORT = 200
"""Characters of a preview."""


def is_storage(node: Node) -> bool:
    """Whether the `result` of a step says nothing but how its result is stored."""
    if not isinstance(node, Mapping) or not node.entries or not {key.text for key, _ in node.entries} <= _KEYS:
        return False
    store = node.get("store")
    return node.get("output_select") is not None or (isinstance(store, Mapping) and store.get("kind") is not None)


def take_output(r: Reader, draft: StepDraft | TaskDraft, key: Scalar, node: Node) -> None:
    """`output` of a step or task, and `result` of a step that says the same."""
    if not isinstance(node, Mapping):
        no_effect(r, draft, key, node)
        return
    r.legacy_seen = True
    tier, inline = _tier_of(node.get("store")), _size_of(node.get(INLINE))
    # A named tier is the strongest wish, a size the next. Keys to select ask for a reference only where nothing else
    # does.
    counts = {"store"} if tier not in ("", "inline") else {INLINE, "store"} if inline is not None or tier else _SELECTS
    idle = [
        (name, value)
        for name, value in node.entries
        if name.text not in counts or (name.text == "store" and not tier) or (name.text == INLINE and inline is None)
    ]
    store = node.get("store")
    beside = [entry for entry in store.entries if entry[0].text != "kind"] if isinstance(store, Mapping) else []
    for name, value in (*idle, *beside):
        no_effect(r, draft, name, value)
    if len(idle) < len(node.entries):
        draft.extras.append(Storage(tier, inline, key.span))


def _tier_of(node: Node | None) -> str:
    """The tier that `store` names; "" for none, and for a template."""
    kind = node.get("kind") if isinstance(node, Mapping) else node
    return kind.text if isinstance(kind, Scalar) and isinstance(kind.value, str) and "{" not in kind.text else ""


def _size_of(node: Node | None) -> int | None:
    """A size in bytes."""
    return node.value if isinstance(node, Scalar) and type(node.value) is int and node.value >= 0 else None


def take_select(r: Reader, draft: TaskDraft, key: Scalar, node: Node) -> None:
    """`output_select` of a task."""
    del node
    r.legacy_seen = True
    draft.extras.append(Storage("", None, key.span))


BY = "lower_storage"


def lower_storage(playbook: Playbook, record: RecordChange) -> Playbook:
    """The playbook in which tasks say from what size on their results are stored, and expressions ask `ref`."""
    named, playbook = all_taken(playbook, StoredNames)
    asked = {step.name: found for step in playbook.steps if (found := _asked(step)) is not None}
    read: set[str] = set()
    steps = playbook.steps
    if named:
        nearer, whole = Nearer(playbook), frozenset([step.name for step in steps if step.loop is None])
        steps = tuple(
            [_renamed(step, _Names(whole - nearer.within(step), whole, asked, read, record)) for step in steps]
        )
        shown = _Names(whole - nearer.everywhere, whole, asked, read, record)
        playbook = playbook._replace(executor=map_templated(playbook.executor, _renaming(shown)))
    steps = tuple([_kept(step, asked.get(step.name), step.name in read, record) for step in steps])
    workbook = tuple([(name, _of_task(task, record)) for name, task in playbook.workbook])
    return playbook._replace(steps=steps, workbook=workbook)


def _said(extras: tuple[Sugar, ...]) -> Storage | None:
    """The storage that holds where a place says several things: the one with a tier, else one with a size, else the
    first.
    """
    found = [extra for extra in extras if isinstance(extra, Storage)]
    return min(found, key=lambda said: (not said.tier, said.inline is None), default=None)


def _asked(step: Step) -> Storage | None:
    """The storage that a step asks for, or else its last task."""
    return _said(step.extras) or _said(step.tasks[-1].extras)


def _kept(step: Step, asked: Storage | None, read: bool, record: RecordChange) -> Step:
    """The step whose tasks have the knob."""

    def of_list(tasks: Tasks) -> Tasks:
        return tuple([_of_task(task, record) for task in tasks])

    own = _said(step.extras)
    limit = None if asked is None else _limit(asked)
    _tell(step.extras, own, record)
    # A reference that is read must be there to be read; by the default limit it is there for large results.
    if limit is None and read:
        limit = LIMIT
    others = [extra for extra in step.extras if not isinstance(extra, Storage)]
    extras = tuple([with_lists(extra, of_list) for extra in others])
    last = step.tasks[-1]
    if own is not None:
        _tell(last.extras, None, record)
        last = _without(last)
    if limit is not None:
        last = _with_limit(last, limit)
    return step._replace(tasks=map_lists((*step.tasks[:-1], last), of_list), extras=extras)


def _of_task(task: Task, record: RecordChange) -> Task:
    own = _said(task.extras)
    if own is None:
        return task
    _tell(task.extras, own, record)
    limit, task = _limit(own), _without(task)
    return task if limit is None else _with_limit(task, limit)


def _without(task: Task) -> Task:
    """The task that says nothing of how its result is stored."""
    return task._replace(extras=tuple([extra for extra in task.extras if not isinstance(extra, Storage)]))


def _tell(extras: tuple[Sugar, ...], counting: Storage | None, record: RecordChange) -> None:
    """Record what becomes of each storage key at one place; only `counting` has an effect, or none of them."""
    for said in extras:
        if isinstance(said, Storage):
            limit = _limit(said)
            made = "nothing: the result stays in the log" if limit is None else f"`spec.{INLINE}: {limit}` of the task"
            text = made if said is counting else "nothing: another key beside it or at the step counts"
            record(Change(BY, said.span, "how the result is stored", "safe", text))


def _limit(asked: Storage) -> int | None:
    """The size, in bytes, from which on a result is stored: 0 for a named tier, the default where neither a tier nor a
    size is named, None where the result is to stay in the log.
    """
    if asked.tier not in ("", "inline"):
        # With a limit of 0 bytes every result is stored, which is what a named tier asked for.
        return 0
    if asked.inline is not None or asked.tier == "inline":
        return asked.inline
    return INLINE_BYTES


def _with_limit(task: Task, limit: int) -> Task:
    """The task with the knob; of one with lists of tasks inside, all of these."""
    if any(isinstance(extra, HasBodies) for extra in task.extras):
        inside = map_lists((task,), lambda listed: tuple([_knobbed(each, limit) for each in listed]))
        return inside[0]
    return _knobbed(task, limit)


def _knobbed(task: Task, limit: int) -> Task:
    kind = kind_of(task.kind)
    # A knob that the author wrote stays.
    if kind is None or kind.parks or any(name == INLINE for name, _ in task.knobs):
        return task
    return task._replace(knobs=(*task.knobs, (INLINE, Value(Literal(value=limit), task.span, None))))


class _Names(NamedTuple):
    """Names of results: `whole` can be read by their bare names, `steps` are names of steps. `asked` is the storage
    that each asks for. `read` collects the names of which a reference is read.
    """

    whole: frozenset[str]
    steps: frozenset[str]
    asked: Map[str, Storage]
    read: set[str]
    record: RecordChange


def _renamed(step: Step, names: _Names) -> Step:
    """The step with every name under a result replaced."""
    own = {task.name: _said(task.extras) for task in step.tasks if not task.generated}
    whole = names.whole | own.keys()
    asked = {**names.asked, **{name: said for name, said in own.items() if said is not None}}
    return map_all_templated(_own_decided(step, asked), _renaming(names._replace(whole=whole, asked=asked)))


def _renaming(names: _Names) -> Callable[[Templated], Templated]:
    """A change of values and guards that replaces `_ref`, `_store` and `_preview` of results, and records it."""
    construct = "`_ref`, `_store` or `_preview` of a result"
    return recording(_replacing(names), names.record, BY, construct, "safe", "`ref(…)`")


def _own_decided(step: Step, asked: Map[str, Storage]) -> Step:
    """The step whose own constructs take the test for a reference of its result as answered: a named tier will give
    one.

    When they are evaluated, the result has none yet.
    """
    said = asked.get(step.name) or (asked.get(step.tasks[-1].name) if step.tasks else None)
    # By size, it is known only at run time whether there is a reference. For a named tier it is certain, and the test
    # is answered here.
    if said is None or said.tier in ("", "inline", _BY_SIZE):
        return step
    own = {(step.name,), ("steps", step.name), ("result",), ("response",), ("output", "data"), ("this", "data")}
    own |= {("output",), ("this",), *((task.name,) for task in step.tasks[-1:])}

    def replace(expr: Expr) -> Expr | None:
        match expr:
            case Test(of=Attribute(of=of, name="_ref"), name="defined" | "undefined" as word, args=(), named=()):
                return Const(word == "defined") if static_path(of) in own else None
        return None

    def decided(tasks: Tasks) -> Tasks:
        return all_with(tasks, replace)

    tasks = tuple(task._replace(extras=all_with(task.extras, replace)) for task in step.tasks)
    extras = tuple(with_lists(extra, decided) for extra in all_with(step.extras, replace))
    return step._replace(extras=extras, tasks=tasks)


def _replacing(names: _Names) -> Replace:
    """Puts what is meant in the place of `s._ref` and its like."""

    def meant(expr: Expr) -> tuple[Expr, Expr] | None:
        """Whether the name is there, and its value; null where it is not."""
        match expr:
            case Attribute(of=of, name="_ref" | "_store" | "_preview" as key):
                pass
            case Item(of=of, key=Const(value="_ref" | "_store" | "_preview" as key)):
                pass
            case _:
                return None
        here = static_path(of)
        is_named = len(here) == 2 and here[0] == "steps" and here[1] in names.steps
        if not is_named and not (len(here) == 1 and here[0] in names.whole):
            return None
        name = here[-1]
        names.read.add(name)
        found = Call(Name("ref"), (of,), ())
        if key == "_ref":
            return _is_there(found), found
        there, asked = _is_there(found), names.asked.get(name)
        if key == "_preview":
            return there, Conditional(there, _preview(of), _NONE)
        if asked is not None and asked.tier not in ("", _BY_SIZE):
            # The tier keeps the name that was asked for, although one payload store holds all of them (REAL.md).
            return defined(of), Conditional(defined(of), Const(asked.tier), _NONE)
        return there, Conditional(there, _tier(found), _NONE)

    def replace(expr: Expr) -> Expr | None:
        match expr:
            case Test(of=of, name="defined" | "undefined" as asked, args=(), named=()) if found := meant(of):
                return found[0] if asked == "defined" else negated(found[0])
            case Filter(of=of, name="default" | "d", args=(other, *_), named=()) if found := meant(of):
                return Filter(found[1], "default", (rewritten(other, replace), Const(True)), ())
            case Attribute() | Item() if found := meant(expr):
                return found[1]
        return None

    return replace


def _is_there(found: Expr) -> Expr:
    return compared(found, "!=", _NONE)


def _tier(found: Expr) -> Expr:
    """The tier that older engines took for a result of its size."""
    size = Attribute(found, "size")
    object_or_s3 = Conditional(compared(size, "<=", Const(OBJECT_BYTES)), Const("object"), Const("s3"))
    return Conditional(compared(size, "<=", Const(KV_BYTES)), Const("kv"), object_or_s3)


def _preview(of: Expr) -> Expr:
    return Slice(filtered(of, "tojson"), None, Const(SHORT), None)
