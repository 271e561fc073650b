"""`sink` and `save` at a step, a task or in `then` (formal §10, v1): a task that stores.

widen_sinks: keys that a sink reads are looked for in the result and in its `data` (REAL.md, values).

    sink: {args: {id: "{{ result.id }}"}}  →  "{{ result.id | default(result.data.id) }}"
    sink: {args: {no: "{{ each.result_index }}"}}, loop: …    of a step `each`  →  "{{ iter.index }}"

lower_sink: `sink` and `save` become a storage task (LANGUAGE §6, formal §10.1).

    tool: t, sink: {tool: {kind: postgres}, args: {id: "{{ result.id }}"}, when: g}
        →  t
           __s__sink__when    jump to __s__sink__merge unless g
           __s__sink          args: {id: "{{ t.id }}"}
           __s__sink__merge

It runs after the tool and before routing, and the step keeps the tool's result: a generated task has none.
"""

from collections.abc import Container

from noetl_ir.expr import Expr, Literal, Name
from noetl_ir.paths import static_path
from noetl_ir.python_names import words_of
from noetl_ir.span import Span
from noetlc.ast.bodies import HasBodies, Tasks, change_lists, taken, taken_of
from noetlc.ast.playbook import Guard, Playbook, Rule, Step, Task, Value
from noetlc.ast.python_code import code_of
from noetlc.ast.sugar import Sugar
from noetlc.ast.walk import expressions_in, replace_steps, rule_guards, task_values
from noetlc.ast.workbook import kind_called, pairs_of, template_of_pairs
from noetlc.diag.change import Change, RecordChange
from noetlc.expr.generated import expression_of, generated_name, jump, noop
from noetlc.expr.inside_blocks import by_name_where_rendered
from noetlc.expr.rewrite import Replace
from noetlc.expr.shorthand import otherwise, path
from noetlc.expr.templates import fields_with, guard_with, map_templated, native, value_with
from noetlc.older.args import Saved
from noetlc.older.hoisting import kept_words, with_meanings
from noetlc.older.legacy_names import below, declared_in, declared_names, own_meanings, renamed
from noetlc.older.loose import read_loose_guard
from noetlc.older.page_nodes import gathers
from noetlc.older.patching import kept, meanings_after
from noetlc.older.recording import recording
from noetlc.reading.drafts import StepDraft, TaskDraft
from noetlc.reading.reader import Reader
from noetlc.reading.shapes import is_empty, mapping_of, missing, wrong_shape
from noetlc.reading.task import read_single
from noetlc.reading.values import read_pairs
from noetlc.source.nodes import Mapping, Node, Scalar, Sequence, key_as, mapping_at


class Sink(Sugar):
    """A storage task that runs after the task or step it stands at; `when` says whether it does."""

    task: Task
    when: Guard | None
    span: Span


_HERE = frozenset({"event", "event_log", "events", "memory"})
"""Stores that keep every result anyway, and the memory of an engine, in which a result stood for later steps."""
_STORED = frozenset({"data", "args"})
"""What a `save` has that names no store: the first engines kept it in the event log."""


def read_sink(r: Reader, key: Scalar, node: Node) -> Sink | None:
    """The storage task; None where nothing is stored."""
    r.legacy_seen = True
    mapping = mapping_of(r, node, f"`{key.text}`")
    if mapping is None:
        return None
    mapping = _respelt(r, mapping)
    tool = _store_of(mapping)
    if _is_plain(mapping) and tool is None:
        r.respelt(key.span, f"`{key.text}` without a store", "nothing: every result is in the event log", "safe")
        return None
    if tool is None:
        missing(r, f"the `tool` of `{key.text}`", key.span, help="write `sink: {tool: {kind: postgres}, table: …}`")
        return None
    inner = _tool(r, tool)
    if inner is None:
        return None
    kind = inner.get("kind")
    if isinstance(kind, Scalar) and kind.text in _HERE:
        r.respelt(key.span, f"`{key.text}` into the event log", "nothing: every result is there", "safe")
        return None
    # What the tool says itself wins over the key beside it. Both in one mapping would be a key that is there twice.
    taken = {name.text for name, _ in inner.entries} | _idle(r, mapping)
    rest = [entry for entry in mapping.entries if entry[0].text not in ("tool", "storage", "type", "when", *taken)]
    task = read_single(r, "__sink", mapping_at([*inner.entries, *rest], mapping.span))
    when = mapping.get("when")
    guard = None if when is None or is_empty(when) else read_loose_guard(r, when, "`when`")
    if task is None:
        return None
    for extra in task.extras:
        word = _OF_STEPS.get(type(extra).__name__)
        if word is not None:
            help = "a sink only stores, and is tried again by a `retry` with `max_attempts`: make a step of it for more"
            r.refuse(f"{word} in a `{key.text}`", getattr(extra, "span", key.span), help=help)
            return None
    return Sink(_with_data(task, key.span), guard, key.span)


_OF_STEPS = {"Pages": "`retry` as a list", "Poll": "`poll`", "Assign": "`vars` or `set`", "Storage": "`output`"}
"""Constructs of a task that look at its result, which nothing has of a sink."""


def _with_data(task: Task, span: Span) -> Task:
    """A python task that reads `data` and has no args, with what is saved under that name (REAL.md, values). An arg
    `data` that is null only says that there is one.
    """
    pairs = None if task.args is None else pairs_of(task.args.template)
    is_open = task.args is None or pairs == {} or (pairs is not None and pairs.get("data") == Literal(None))
    if task.kind != "python" or not is_open or "data" not in words_of(code_of(task) or ""):
        return task
    made = template_of_pairs({**(pairs or {}), "data": native(Name("data"))})
    return task._replace(args=Value(made, span, None))


def _respelt(r: Reader, mapping: Mapping) -> Mapping:
    """The mapping in which `backend` is the tool, and `from` what is stored."""
    words = {"backend": "tool", "from": "data"}
    if not any(key.text in words for key, _ in mapping.entries):
        return mapping
    entries: list[tuple[Scalar, Node]] = []
    for key, value in mapping.entries:
        word = words.get(key.text)
        if word is not None:
            r.respelt(key.span, f"`{key.text}` of a sink", f"`{word}`")
            key = key_as(key, word)
        entries.append((key, value))
    return mapping_at(entries, mapping.span)


def _idle(r: Reader, mapping: Mapping) -> set[str]:
    """The keys of a table beside SQL that is written out: the SQL says where it goes."""
    if not any(mapping.get(name) is not None for name in ("statement", "command", "commands", "query", "sql")):
        return set()
    idle = {key.text: key for key, _ in mapping.entries if key.text in ("table", "mode", "key")}
    for key in idle.values():
        r.respelt(key.span, f"`{key.text}` beside SQL", "nothing: the SQL is what runs", "safe")
    return set(idle)


def _tool(r: Reader, node: Node) -> Mapping | None:
    """`{kind: …}` of a word or of a mapping with `kind` or `type`; None, and told, for anything else."""
    if isinstance(node, Mapping):
        return mapping_at(
            [(key_as(key, "kind") if key.text == "type" else key, value) for key, value in node.entries], node.span
        )
    if not isinstance(node, Scalar):
        wrong_shape(r, node, "the `tool` of a sink", "`{kind: postgres}` or a word")
        return None
    return mapping_at([(key_as(node, "kind"), node)], node.span)


def _store_of(mapping: Mapping) -> Node | None:
    return mapping.get("tool") or mapping.get("storage") or mapping.get("type")


def _is_plain(mapping: Mapping) -> bool:
    """Whether there is nothing beside the store but what is stored."""
    return all(name.text in {*_STORED, "tool", "storage", "type"} for name, _ in mapping.entries)


def _where(node: Node) -> str:
    has_store = isinstance(node, Mapping) and _store_of(node) is not None
    return "into the event log" if has_store else "without a store"


def _kept_here(node: Node) -> Node | None:
    """The data for the event log, or for no store at all: in a step without a tool they are its result."""
    if not isinstance(node, Mapping) or not _is_plain(node):
        return None
    store = _store_of(node)
    kind = (store.get("kind") or store.get("type")) if isinstance(store, Mapping) else store
    if store is not None and not (isinstance(kind, Scalar) and kind.text in _HERE):
        return None
    data = node.get("data") or node.get("args")
    return data if isinstance(data, Mapping) else None


def take_sink(r: Reader, draft: StepDraft | TaskDraft, key: Scalar, node: Node) -> None:
    """Take `sink` or `save`; a list is one after the other."""
    items = node.items if isinstance(node, Sequence) else [node]
    saved = _kept_here(items[0]) if len(items) == 1 and isinstance(draft, StepDraft) else None
    if saved is not None:
        r.legacy_seen = True
        draft.extras.append(
            Saved(f"`{key.text}`", _where(items[0]), tuple(read_pairs(r, saved, f"`{key.text}`")), key.span)
        )
        return
    draft.extras += [sink for item in items if (sink := read_sink(r, key, item)) is not None]


_WORDS = frozenset({"data", "result", "this", "response"})
"""What stands for the result in a sink."""

_OUTCOME = frozenset({"status", "error", "http", "meta", "data", "result"})
"""Keys of `this` that are the outcome's, those for the result among them."""

_SHAPED = frozenset({"http", "postgres", "duckdb", "sqlite", "snowflake", "ducklake", "shell", "container"})
"""Kinds whose result has the same keys each time: nothing has to be tried."""


def widen_sinks(playbook: Playbook, record: RecordChange) -> Playbook:
    """The playbook whose sinks find a key of the result where it is: in it, or in its `data` (REAL.md, values)."""
    known = declared_names(playbook)
    kinds = {name: task.kind for name, task in playbook.workbook}

    def of_step(step: Step) -> Step:
        own = declared_in(step, known)
        last = step.tasks[-1]
        tool = "" if gathers((*last.extras, *step.extras)) else kind_called(last, kinds)
        asked = [(task, "" if gathers(task.extras) else kind_called(task, kinds)) for task in step.tasks]
        tasks = tuple(_widened(task, kind, own) for task, kind in asked)
        extras = tuple(_of_extra(extra, tool, own) for extra in step.extras)
        return _numbered(step._replace(tasks=tasks, extras=extras), record)

    return replace_steps(playbook, lambda step: made if (made := of_step(step)) != step else step)


def _numbered(step: Step, record: RecordChange) -> Step:
    """A looped step in which the `result_index` of itself is the number of the iteration: it has no result yet."""
    if step.loop is None:
        return step
    # The keys of http are complete by now, so that the name may stand behind `data`.
    asked = {(step.name, "result_index"), (step.name, "data", "result_index")}

    def replace(expr: Expr) -> Expr | None:
        return path("iter", "index") if static_path(expr) in asked else None

    each = recording(
        replace, record, "widen_sinks", "`result_index` of the step itself", "review", "`iter.index`, from 0"
    )
    tasks = tuple([map_templated(task, each) for task in step.tasks])
    extras = tuple([map_templated(extra, each) if isinstance(extra, Sink) else extra for extra in step.extras])
    return step._replace(tasks=tasks, extras=extras)


def _widened(task: Task, kind: str, own: Container[str]) -> Task:
    """A task whose own sinks read what a tool of that kind gives; an action `sink` of a rule is such a task itself."""
    if task.generated and task.name == "__sink":
        return fields_with(_with_own_args(task, own), _falling_through(kind, own))
    if not task.extras:
        return task
    return task._replace(extras=tuple(_of_extra(extra, kind, own) for extra in task.extras))


def _of_extra(extra: Sugar, kind: str, own: Container[str]) -> Sugar:
    if isinstance(extra, Sink):
        names = _falling_through(kind, own)
        when = None if extra.when is None else guard_with(extra.when, names)
        return extra._replace(task=fields_with(_with_own_args(extra.task, own), names), when=when)
    if isinstance(extra, HasBodies):
        return extra.with_bodies(lambda tasks: tuple(_widened(task, kind, own) for task in tasks))
    return extra


def _with_own_args(task: Task, own: Container[str]) -> Task:
    """The sink whose other fields read under `data` what its own args give: with args, they are the data to store."""
    pairs = None if task.args is None else pairs_of(task.args.template)
    if not pairs or "data" in own:
        return task
    pairs = by_name_where_rendered(pairs)

    def replace(expr: Expr) -> Expr | None:
        here = static_path(expr)
        if len(here) < 2 or here[0] != "data" or here[1] not in pairs:
            return None
        return below(expression_of(pairs[here[1]]), here[2:])

    return task._replace(fields=tuple([(name, value_with(value, replace)) for name, value in task.fields]))


def _falling_through(kind: str, own: Container[str]) -> Replace:
    """Old words in a sink as authors read them: both `result.k` and `result.data.k` are written of one result, whether
    it has a key `data` or not. For http, whose paths are complete, `data` is the body.
    """
    result, inner = Name("result"), path("result", "data")

    def replace(expr: Expr) -> Expr | None:
        here = static_path(expr)
        if not here or here[0] not in _WORDS or here[0] in own:
            return None
        keys = here[1:]
        if kind == "http" and here[0] in ("result", "response") and keys[:2] == ("data", "data"):
            return otherwise(below(inner, keys[1:]), below(inner, keys[2:]))
        # The kind says which keys there are. A default around each path would be noise in the plan, and hide a
        # misspelt key.
        if kind in _SHAPED:
            whole = result if keys else inner
            return below(whole, keys) if kind == "http" and here[0] == "data" else None
        if keys[:1] in (("data",), ("result",)):
            return _first_of(inner, keys[1:], result)
        if here == ("data",):
            return otherwise(inner, result)
        # These are the outcome's, whatever the result holds under that name.
        if not keys or (here[0] == "this" and keys[0] in _OUTCOME) or here[:2] == ("response", "status_code"):
            return None
        return _first_of(result, keys, inner)

    return replace


def _first_of(first: Expr, keys: tuple[str, ...], second: Expr) -> Expr:
    """The values under the keys in the first, else in the second."""
    return otherwise(below(first, keys), below(second, keys))


BY = "lower_sink"


def lower_sink(playbook: Playbook, record: RecordChange) -> Playbook:
    """The playbook in which storing is a task."""
    known = declared_names(playbook)

    def stored(step: Step, tasks: Tasks) -> Tasks:
        names, later = {task.name for task in tasks}, dict[str, Tasks]()
        made: list[Task] = []
        for task in tasks:
            own, *storing = _stored(task, task.name, step, known, record)
            again = generated_name(task.name, "again")  # behind it no page is fetched any more
            if again in names:
                later[again] = tuple(storing)
                storing = []
            made += (own, *storing, *later.pop(task.name, ()))
        return tuple(made)

    playbook = replace_steps(playbook, lambda step: _of_step(step, known, record))
    return change_lists(playbook, stored)


def _of_step(step: Step, known: frozenset[str], record: RecordChange) -> Step:
    """A sink of the step stands behind its last task."""
    sinks: list[Sink] = []
    while True:
        sink, step = taken_of(step, Sink)
        if sink is None:
            break
        sinks.append(sink)
    if not sinks:
        return step
    last = step.tasks[-1]._replace(extras=(*step.tasks[-1].extras, *sinks))
    return step._replace(tasks=(*step.tasks[:-1], *_stored(last, step.name, step, known, record)))


def _stored(task: Task, owner: str, step: Step, known: frozenset[str], record: RecordChange) -> Tasks:
    """The task and what stores its result, named after `owner`; several sinks are numbered from the second on."""
    made: list[Task] = []
    number = 0
    while True:
        sink, task = taken(task, Sink)
        if sink is None:
            break
        name = generated_name(owner, "sink" if not number else f"sink{number}")
        made += _tasks(task, sink, name, step, known)
        record(Change(BY, sink.span, "`sink`", "exact", "a storage task after the tool, before routing"))
        number += 1
    if not made:
        return (task,)
    values = [value for one in made for value in task_values(one)]
    guards = [when.expr for one in made for when in rule_guards(one)]
    read = (*(expr for value in values for expr, _ in expressions_in(value)), *guards, *kept_words(values))
    return (kept(task, read), *made)


def _tasks(task: Task, sink: Sink, name: str, step: Step, known: frozenset[str]) -> list[Task]:
    """The sink that stores the result of the task: the name of its step means that too, as the step has not ended."""
    after = meanings_after(task)
    own, meanings = declared_in(step, known - {step.name}), {**after, **own_meanings(step.name, after["result",])}
    names = renamed(meanings, own)
    span = sink.span
    store = with_meanings(fields_with(sink.task, names), meanings, own)._replace(
        name=name, name_span=span, generated=True
    )
    if sink.when is None:
        return [store]
    merge = generated_name(name, "merge")
    # A guard of a sink that is false must not end the step: the jump passes the storing only, and what stands behind
    # still runs.
    rules = (Rule(guard_with(sink.when, names), "continue", span), jump(merge, span))
    return [noop(generated_name(name, "when"), span, rules), store, noop(merge, span)]
