"""A task: its form, kind, fields, arguments, knobs and policy."""

from types import FunctionType

from noetl_ir import registry
from noetl_ir.expr import Literal
from noetl_ir.kinds import TASK_KNOBS, Field, Kind
from noetl_ir.nearest import nearest
from noetl_ir.span import Span
from noetlc.ast.playbook import Task, Value
from noetlc.ast.workbook import pairs_of, template_of_pairs
from noetlc.reading.declared import take_assert
from noetlc.reading.drafts import TaskDraft
from noetlc.reading.field import check_required, read_field
from noetlc.reading.kinds import kind_names, kind_of
from noetlc.reading.policy import read_policy
from noetlc.reading.reader import Reader, Table, Take, no_effect, of_today, stray_key, unknown
from noetlc.reading.shapes import mapping_of, missing, name_of, text_of, wrong_shape
from noetlc.reading.specs import attempt_limit
from noetlc.reading.values import read_args
from noetlc.reading.word_tool import as_reference, lifted, unwrapped
from noetlc.source.nodes import Mapping, Node, Scalar, Sequence, mapping_at, scalar_at


def read_tool(r: Reader, step: str, node: Node) -> tuple[Task, ...]:
    """The tasks of a step's `tool`: a list, or one mapping (LANGUAGE §4)."""
    if isinstance(node, Sequence):
        found = [read_task(r, position, item) for position, item in enumerate(node.items)]
        return tuple(task for task in found if task is not None)
    if isinstance(node, Scalar):
        wrong_shape(r, node, "tool", "a task or a list of tasks")
        return ()
    task = read_single(r, f"{step}_task", node)
    return () if task is None else (task,)


def read_task(r: Reader, position: int, node: Node) -> Task | None:
    """A task in a list, in any form that the dialects know."""
    if not isinstance(node, Mapping):
        wrong_shape(r, node, "a task", "a mapping")
        return None
    # Older forms are turned into today's mapping first, so that all that follows knows one form.
    node = lifted(r, unwrapped(r, node))
    # Sugar and labels have no kind, so that `choose` with a kind beside it is a field that the kind does not know.
    if node.get("kind") is None:
        for key, read in r.tables.task_entries.items():
            if node.key(key) is not None:
                return read(r, position, node)
        if _kind_in_spec(r, node):
            return None
    # Named before labelled: a mapping with one key is a label only where it has no kind.
    for form in r.tables.task_forms.values():
        draft = form(r, position, node)
        if draft is not None:
            return finish(r, draft)
    if _misspelt_kind(r, node):
        return None
    missing(r, "the task's `kind`", _head(node), help="write `- {name: …, kind: …}`")
    return None


def read_single(r: Reader, name: str, node: Mapping) -> Task | None:
    """A task that is not in a list: it may be named, labelled, or take the given name."""
    node = as_reference(lifted(r, unwrapped(r, node)))
    if node.get("kind") is None:
        return read_task(r, 0, node)
    return finish(r, _named(r, node) or TaskDraft(name, _head(node), node))


def named_form(r: Reader, position: int, node: Mapping) -> TaskDraft | None:
    """`{name: …, kind: …}`, and without a name `task_N` by position."""
    if node.get("kind") is None:
        return None
    return _named(r, node) or TaskDraft(f"{r.body}task_{position}", _head(node), node)


def labelled_form(r: Reader, position: int, node: Mapping) -> TaskDraft | None:
    """`{label: {kind: …}}` (canonical-v2 §5.1)."""
    del position
    if len(node.entries) != 1:
        return None
    key, inner = node.entries[0]
    if not isinstance(inner, Mapping):
        return None
    name = name_of(r, key, "the task's label")
    return None if name is None else TaskDraft(name, key.span, unwrapped(r, inner))


def _named(r: Reader, node: Mapping) -> TaskDraft | None:
    value = node.get("name")
    if value is None:
        return None
    name = name_of(r, value, "the task's `name`")
    return None if name is None else TaskDraft(name, value.span, node)


def finish(r: Reader, draft: TaskDraft) -> Task | None:
    """Take all keys of the task; what is no key of every task is a field of its kind."""
    node = draft.node
    if not node.entries:
        return None
    # The kind first, wherever it stands: it says what all other keys are.
    _take_kind(r, draft, node)
    kind = kind_of(draft.kind) if draft.kind else None
    table = r.tables.task
    for key, value in node.entries:
        take = table.get(key.text)
        if take is not None:
            take(r, draft, key, value)
        # `data` beside a statement is what the statement reads, beside `table` what is stored; the kind has a field
        # of that name.
        elif kind is not None and _are_args(kind, node, key, value):
            take_carrier(r, draft, key, value)
        elif kind is not None and key.text in kind.fields:
            # The lists are those of Kubernetes and of compose files, from which authors copy them.
            written = _as_mapping(r, value) if key.text == "env" and isinstance(value, Sequence) else value
            draft.fields.append((key.text, read_field(r, kind.fields[key.text], key.text, written)))
            draft.field_spans.append((key.text, key.span))
        elif kind is not None and key.text in kind.older:
            _older_field(r, draft, kind, key, value)
        elif key.text in r.tables.task_fallback:
            r.tables.task_fallback[key.text](r, draft, key, value)
        elif not key.text.startswith("x-"):
            _stray_field(r, draft, key, () if kind is None else tuple(kind.fields))
    # Only now: these two ask what all other keys gave.
    if draft.kind == "secrets":
        _named_secret(r, draft)
    elif draft.kind == "python":
        _code_with_braces(r, draft)
    if kind is not None:
        check_required(r, draft, kind)
    # A field may come twice, under its own name and an older one; the last counts, and a plan has each once.
    fields = draft.fields if len(draft.fields) < 2 else list(dict(draft.fields).items())
    return Task(
        draft.name,
        draft.name_span,
        draft.kind,
        draft.kind_span,
        node.span,
        draft.desc,
        tuple(fields),
        draft.args,
        tuple(draft.knobs),
        draft.timeout,
        tuple(draft.rules),
        draft.on_unmatched_written,
        draft.name.startswith("__"),
        tuple(draft.field_spans),
        tuple(draft.extras),
    )


def _are_args(kind: Kind, node: Mapping, key: Scalar, value: Node) -> bool:
    """Whether `data` of a kind that can write to a table is what a statement reads: there is no `table` to write to."""
    stores = key.text == "data" and "table" in kind.fields and node.get("table") is None
    return stores and isinstance(value, Mapping)


def _code_with_braces(r: Reader, draft: TaskDraft) -> None:
    """The names that code that older engines rendered has in braces, as args."""
    for name, value in draft.fields:
        node = value.node
        if name == "code" and isinstance(node, Scalar) and "{{" in node.text:
            registry.load("noetlc.older", "braces", "read_braces", FunctionType)(r, draft, value)


def _named_secret(r: Reader, draft: TaskDraft) -> None:
    """A task of kind `secrets` whose only word for the secret is its name, or the `name` under its label."""
    if any(name in ("auth", "credential", "secret", "secret_name") for name, _ in draft.fields):
        return
    node = draft.node.get("name")
    if isinstance(node, Scalar) and node.value is not None:
        r.respelt(node.span, "`name` of a `secrets` task", "`auth`: the secret of that name", "safe")
        draft.fields.append(("auth", Value(Literal(node.text), node.span, None)))
        draft.field_spans.append(("auth", node.span))


def _as_mapping(r: Reader, node: Sequence) -> Node:
    """Variables of an environment that are written as a list: `{name: A, value: b}` or `A=b` each."""
    entries: list[tuple[Scalar, Node]] = []
    for item in node.items:
        if isinstance(item, Mapping):
            variable, value = item.get("name"), item.get("value")
            # One item of another form, and nothing is guessed: the field's own check tells what it should be.
            if not isinstance(variable, Scalar) or value is None:
                return node
            entries.append((variable, value))
        elif isinstance(item, Scalar) and "=" in item.text:
            name, _, text = item.text.partition("=")
            # As text in quotes: `A=1` in an environment is the text `1`.
            parts = [scalar_at(part, part, style='"', span=item.span, source=item.source) for part in (name, text)]
            entries.append((parts[0], parts[1]))
        else:
            return node
    r.respelt(node.span, "`env` as a list", "a mapping of names to values")
    return mapping_at(entries, node.span)


def _older_field(r: Reader, draft: TaskDraft, kind: Kind, key: Scalar, node: Node) -> None:
    """A field under the name that older playbooks have for it; what stands under its own name counts."""
    name = kind.older[key.text]
    # Both names are given: the canonical one counts, whatever the order, and the other is told as idle.
    if draft.node.get(name) is not None:
        r.respelt(key.span, f"`{key.text}`", f"nothing: there is `{name}`", "safe")
        return
    r.respelt(key.span, f"`{key.text}`", f"`{name}`")
    draft.fields.append((name, read_field(r, kind.fields[name], name, node)))
    draft.field_spans.append((name, key.span))


def _take_kind(r: Reader, draft: TaskDraft, node: Mapping) -> None:
    value = node.get("kind")
    if value is None:
        _no_kind(r, draft, node)
        return
    draft.kind_span = value.span
    text = text_of(r, value, "`kind`")
    if text is None:
        return
    kind = kind_of(text)
    if kind is None:
        unknown(r, "NL107", f"unknown tool kind `{text}`", value.span, name=text, known=kind_names())
    # A warning, so that a playbook may be checked where its kind does not run.
    elif not kind.available:
        r.report(
            "NL115",
            f"the tool kind `{text}` is not run here: the task gives `kind.unavailable`",
            value.span,
            help=_RUN_HERE,
        )
    draft.kind = text


_RUN_HERE = "use a kind that runs here (a `container` runs any program), or make sure that no run comes here"


def _no_kind(r: Reader, draft: TaskDraft, node: Mapping) -> None:
    """A task without `kind`: a legacy spelling of it, or nothing at all."""
    for key, text in r.legacy.get("task", {}).items():
        found = node.key(key)
        if found is not None and key in ("tool", "type"):
            r.refuse(text, found.span)
            return
    if _misspelt_kind(r, node):
        return
    missing(
        r,
        f"the `kind` of task `{draft.name}`",
        draft.name_span,
        help="write `kind: noop` or another tool kind",
    )


def _kind_in_spec(r: Reader, node: Mapping) -> bool:
    """Whether `kind` stands one level too deep, which is told there."""
    spec = node.get("spec")
    key = spec.key("kind") if isinstance(spec, Mapping) else None
    if key is not None:
        help = "`kind` and the fields of the tool stand beside `spec`, not in it"
        r.report("NL103", "the task's `kind` stands in its `spec`", key.span, help=help)
    return key is not None


def _misspelt_kind(r: Reader, node: Mapping) -> bool:
    """Whether what makes it a task is there, misspelt (`kind`, or a block as `choose`): that is told at its key."""
    known = (*r.tables.task, *r.tables.task_entries)
    for key, _ in node.entries:
        if key.text not in known and nearest(key.text, known) in ("kind", *r.tables.task_entries):
            stray_key(r, "task", key, known)
            return True
    return False


def _stray_field(r: Reader, draft: TaskDraft, key: Scalar, fields: tuple[str, ...]) -> None:
    construct = r.legacy.get("task", {}).get(key.text)
    if construct is not None:
        if draft.kind:  # else told already, or hidden by an unknown kind
            from noetlc.diag.forms import form_of

            r.refuse(construct, key.span, help=form_of("task", key.text))
    # A knob in the wrong place is no unknown word; its name is right.
    elif _is_setting(r, draft, key.text):
        message = f"`{key.text}` of a `{draft.kind}` task belongs into its `spec`"
        r.report("NL108", message, key.span, help=f"write `spec: {{{key.text}: …}}`")
    elif draft.kind and key.text in r.tables.task_policy:
        message = f"`{key.text}` of a `{draft.kind}` task belongs into its `spec.policy`"
        r.report("NL108", message, key.span, help=f"write `spec: {{policy: {{{key.text}: …}}}}`")
    elif draft.kind and kind_of(draft.kind) is not None:
        unknown(
            r,
            "NL108",
            f"unknown field `{key.text}` of a `{draft.kind}` task",
            key.span,
            name=key.text,
            known=(*fields, *r.tables.task),
            told=(*fields, *of_today(r, "task", r.tables.task)),
        )


def _is_setting(r: Reader, draft: TaskDraft, name: str) -> bool:
    """Whether the `spec` of the task is the place of a key."""
    kind = kind_of(draft.kind) if draft.kind else None
    return kind is not None and (name in r.tables.task_spec or name in kind.knobs)


def _head(node: Mapping) -> Span:
    """The place of a mapping that stands for a thing without a name: its first key."""
    return node.entries[0][0].span if node.entries else node.span


def _skip(r: Reader, draft: TaskDraft, key: Scalar, node: Node) -> None:
    """`name` and `kind` are read before all other keys."""


def _desc(r: Reader, draft: TaskDraft, key: Scalar, node: Node) -> None:
    draft.desc = text_of(r, node, "`desc`") or ""


def _args(r: Reader, draft: TaskDraft, key: Scalar, node: Node) -> None:
    # A container's `args` are its arguments, as in Kubernetes; a mapping of that name is the task's own args.
    kind = kind_of(draft.kind) if isinstance(node, Sequence) and draft.kind else None
    if kind is not None and "arguments" in kind.fields:
        r.respelt(key.span, "`args` as a list", "`arguments`")
        draft.fields.append(("arguments", read_field(r, kind.fields["arguments"], "arguments", node)))
        draft.field_spans.append(("arguments", key.span))
        return
    # Older carriers of args may stand above: they are put together, and what is written as `args` wins.
    carried, draft.args = draft.args, read_args(r, node, "`args`")
    below = None if carried is None else pairs_of(carried.template)
    above = None if draft.args is None else pairs_of(draft.args.template)
    if draft.args is not None and below is not None and above is not None:
        draft.args = Value(template_of_pairs({**below, **above}), draft.args.span, None)


def _spec(r: Reader, draft: TaskDraft, key: Scalar, node: Node) -> None:
    mapping = mapping_of(r, node, "`task.spec`")
    if mapping is None:
        return
    kind = kind_of(draft.kind) if draft.kind else None
    knobs = {} if kind is None else task_knobs(kind)
    table = r.tables.task_spec
    for name, value in mapping.entries:
        take = table.get(name.text)
        if take is not None:
            take(r, draft, name, value)
        elif name.text in knobs:
            draft.knobs.append((name.text, read_field(r, knobs[name.text], name.text, value)))
        # Older playbooks have fields in `spec`. Knobs come before them, as that is their place.
        elif (kind is not None and name.text in kind.fields) or name.text == "args":
            _field_in_spec(r, draft, name, value)
        elif name.text in r.tables.task_fallback:
            r.tables.task_fallback[name.text](r, draft, name, value)
        elif not name.text.startswith("x-"):
            stray_knob(r, name, tuple(knobs), draft.kind)


def task_knobs(kind: Kind) -> dict[str, Field]:
    """The knobs that the `spec` of a task of a kind may hold beside `policy` and `timeout`."""
    return {**kind.knobs, **({} if kind.parks else TASK_KNOBS)}


def _field_in_spec(r: Reader, draft: TaskDraft, key: Scalar, node: Node) -> None:
    """A field that older playbooks have in `spec`; beside `kind` is its place, and what is there counts."""
    if draft.node.get(key.text) is not None:
        help = f"delete one of them: the place of `{key.text}` is beside `kind`"
        r.report("NL101", f"`{key.text}` stands in the task and in its `spec`", key.span, help=help)
        return
    r.respelt(key.span, f"`{key.text}` in the task's `spec`", "a field of the task")
    kind = kind_of(draft.kind)
    if key.text == "args" or kind is None:
        _args(r, draft, key, node)
        return
    draft.fields.append((key.text, read_field(r, kind.fields[key.text], key.text, node)))
    draft.field_spans.append((key.text, key.span))


def stray_knob(r: Reader, key: Scalar, knobs: tuple[str, ...], kind: str) -> None:
    construct = r.legacy.get("task_spec", {}).get(key.text)
    if construct is not None:
        r.refuse(construct, key.span)
    else:
        unknown(
            r,
            "NL101",
            f"unknown key `{key.text}` in the `spec` of a `{kind}` task",
            key.span,
            name=key.text,
            known=(*knobs, *r.tables.task_spec),
            told=(*knobs, *of_today(r, "task_spec", r.tables.task_spec)),
        )


def _policy(r: Reader, draft: TaskDraft, key: Scalar, node: Node) -> None:
    read_policy(r, draft, node)


def take_carrier(r: Reader, draft: TaskDraft, key: Scalar, node: Node) -> None:
    """Arguments under an older name; what is given as `args` wins."""
    r.respelt(key.span, f"`{key.text}`", "`args`")
    carried = read_args(r, node, f"`{key.text}`")
    below = None if carried is None else pairs_of(carried.template)
    above = {} if draft.args is None else pairs_of(draft.args.template)
    if draft.args is None:
        draft.args = carried
    elif carried is not None and below is not None and above is not None:
        # Between two older carriers the later one in the file wins.
        both = {**below, **above} if draft.node.get("args") is not None else {**above, **below}
        draft.args = Value(template_of_pairs(both), draft.args.span, None)


def idle_in(kind: str) -> Take[TaskDraft]:
    """Take a field that old engines of one kind knew and that has no effect; of other kinds it is unknown."""

    def take(r: Reader, draft: TaskDraft, key: Scalar, node: Node) -> None:
        if draft.kind == kind:
            no_effect(r, draft, key, node)
        else:
            known = kind_of(draft.kind)
            _stray_field(r, draft, key, () if known is None else tuple(known.fields))

    return take


KEYS: Table[TaskDraft] = {
    "name": _skip,
    "kind": _skip,
    "desc": _desc,
    "args": _args,
    "assert": take_assert,
    "spec": _spec,
}
SPEC_KEYS: Table[TaskDraft] = {"timeout": attempt_limit, "policy": _policy}
