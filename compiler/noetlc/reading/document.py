"""The root of a playbook (LANGUAGE §1): its sections in any order, and what every document must have."""

from re import compile as pattern

from noetl_ir.expr import Json
from noetl_ir.nearest import nearest
from noetl_ir.span import Span
from noetl_ir.words import STANDING
from noetlc.ast.playbook import Playbook, Task
from noetlc.diag.diagnostic import Fix, Severity
from noetlc.reading.data_names import NamesInScope
from noetlc.reading.drafts import DocumentDraft, ExecutorDraft
from noetlc.reading.executor import executor_of, read_executor
from noetlc.reading.keychain import read_keychain
from noetlc.reading.reader import Reader, Table, stray_key
from noetlc.reading.shapes import is_empty, is_misspelt, mapping_of, missing, sequence_of, text_of, wrong_shape
from noetlc.reading.step import read_step
from noetlc.reading.task import read_single, read_task
from noetlc.reading.values import read_value
from noetlc.reading.word_tool import named_entry
from noetlc.source.nodes import Mapping, Node, Scalar, Sequence, value_of

VERSIONS = ("noetl.io/v2", "noetl.io/v1", "noetl.io/v10")
"""The versions that are read; the first is the one that is written."""


def read_document(r: Reader, node: Node | None) -> Playbook | None:
    """The playbook as far as it can be understood; None where the document is no mapping."""
    if not isinstance(node, Mapping):
        at = Span(1, 1, 1, 1) if node is None else node.span
        r.report("NL106", "this is no playbook: expected a mapping with `apiVersion` and `workflow`", at)
        return None
    # A file of another sort, as a manifest beside the playbooks, gets one finding instead of one for each of its
    # keys.
    if _is_another(r, node):
        return None
    draft = DocumentDraft()
    r.names_in_scope = NamesInScope(node)
    table = r.tables.document
    for key, value in node.entries:
        take = table.get(key.text)
        if take is not None:
            draft.seen.add(key.text)
            take(r, draft, key, value)
        elif key.text.startswith("x-"):
            # Kept, since some mean something to lint: `x-assert` and `x-budget`.
            draft.extensions.append((key.text, value))
        else:
            stray_key(r, "document", key, tuple(table))
    # Only now, since an entry may be called from a section that stands above or below it.
    _spare_idle_entries(r, draft, node)
    _check_required(r, draft, node)
    # Where both are given the metadata win, which is where they belong.
    metadata = {**draft.moved, **draft.metadata}
    executor = draft.executor or executor_of(ExecutorDraft())
    return Playbook(
        _text(metadata, "name"),
        _text(metadata, "path"),
        _text(metadata, "version"),
        metadata,
        tuple(draft.keychain),
        executor,
        tuple(draft.workload),
        tuple(draft.workload_spans),
        tuple(draft.steps),
        tuple(draft.workbook),
        tuple(draft.extensions),
        r.legacy_seen,
        node.span,
        (*draft.extras, *r.forms.hints(r, draft, node)),
    )


def _is_another(r: Reader, node: Mapping) -> bool:
    """Whether the document is of a kind that is no playbook, which is said once."""
    kind, version, form = node.get("kind"), node.get("apiVersion"), node.get("type")
    text = version.text if isinstance(version, Scalar) else ""
    what = ""
    if isinstance(form, Scalar) and form.text == "Playbook":
        what = "a playbook of 2023, of tasks and transitions, which is another language"
    elif isinstance(kind, Scalar) and kind.text in _OTHERS:
        what = _OTHERS[kind.text]
    elif isinstance(kind, Scalar) and _MANIFEST.fullmatch(text):
        what = f"a Kubernetes manifest of kind `{kind.text}`"
    elif not _is_like_a_playbook(r, node):
        what = "something else: it has neither `apiVersion` and `workflow` nor `workload`"
    if what:
        at = node.key("kind") or node.key("type")
        help = "leave it out of what is checked, or keep it in a file of its own" if at is not None else ""
        r.report("NL106", f"this is no playbook but {what}", node.span if at is None else at.span, help=help)
    return bool(what)


def _is_like_a_playbook(r: Reader, node: Mapping) -> bool:
    """Whether some key is one of those that playbooks alone have, or looks like one; none at all is a beginning."""
    kind = node.get("kind")
    if not node.entries or (isinstance(kind, Scalar) and kind.text.lower() == "playbook"):
        return True
    table = r.tables.document
    # A manifest has `metadata` and `spec` too, so that only keys that no other document has tell a playbook.
    own = tuple(key for key in table if key not in _ANYBODYS)
    return any(
        key.text in own or bool(key.text not in table and nearest(key.text.lower(), own, _SLIP))
        for key, _ in node.entries
    )


_SLIP = 0.8
"""How alike a key is, from 0 to 1, to the one of which it is a slip: `server` is none of `workflow`."""

_ANYBODYS = frozenset({"kind", "metadata", "name", "path", "spec", "vars", "ctx", "tracing"})
"""Keys of the root that documents of many kinds have."""

_OTHERS = {
    **{
        kind: f"a document of kind `{kind}`, which is registered with a server and never run"
        for kind in ("Subscription", "Credential", "Catalog", "Agent")
    },
    **{kind: f"a {kind.lower()}, which `{command}` gives to a store" for kind, command in STANDING.items()},
}
"""Kinds of documents that are no playbooks, and what they are."""

_MANIFEST = pattern(r"v\d\w*|(apps|batch|policy|autoscaling|[\w.]+\.k8s\.io)/v\d\w*")


def _check_required(r: Reader, draft: DocumentDraft, node: Mapping) -> None:
    # What is missing has no place; the first key shows where the document is that lacks it.
    at = node.entries[0][0].span if node.entries else node.span
    table = r.tables.document
    if "apiVersion" not in draft.seen and not is_misspelt(node, "apiVersion", table):
        missing(r, "`apiVersion`", at, help=f"write `apiVersion: {VERSIONS[0]}`")
    if "kind" not in draft.seen and not is_misspelt(node, "kind", table):
        missing(r, "`kind`", at, help="write `kind: Playbook`")
    if "name" not in draft.metadata | draft.moved and not is_misspelt(node, "metadata", table):
        missing(r, "`metadata.name`", _near_name(node) or at, help="write `metadata: {name: …, path: …}`")
    if "workflow" not in draft.seen and not is_misspelt(node, "workflow", table):
        missing(r, "`workflow`", at, help="write `workflow:` with a list of steps")


def _near_name(node: Mapping) -> Span | None:
    """The key of the metadata that was probably meant to be `name`, else the metadata."""
    metadata = node.get("metadata")
    key = node.key("metadata")
    if not isinstance(metadata, Mapping) or key is None:
        return None
    for entry, _ in metadata.entries:
        if nearest(entry.text, ("name",)) == "name":
            return entry.span
    return key.span


def _text(metadata: dict[str, Json], key: str) -> str:
    value = metadata.get(key)
    return "" if value is None else str(value)


def _api_version(r: Reader, draft: DocumentDraft, key: Scalar, node: Node) -> None:
    text = node.text if isinstance(node, Scalar) else ""
    if text not in VERSIONS:
        r.report(
            "NL105",
            f"`apiVersion`: {f'`{text}`' if text else 'this'} is no version that is read here",
            node.span,
            help=f"write `{VERSIONS[0]}`",
            fix=Fix(node.span, VERSIONS[0], f"write `{VERSIONS[0]}`", safe=False),
        )


def _kind(r: Reader, draft: DocumentDraft, key: Scalar, node: Node) -> None:
    if not isinstance(node, Scalar) or node.text != "Playbook":
        r.report(
            "NL106",
            "`kind` must be `Playbook`",
            node.span,
            fix=Fix(node.span, "Playbook", "write `Playbook`", safe=False),
        )


def _metadata(r: Reader, draft: DocumentDraft, key: Scalar, node: Node) -> None:
    mapping = mapping_of(r, node, "`metadata`")
    if mapping is None:
        return
    for name, value in mapping.entries:
        if name.text in ("name", "path", "version", "description"):
            text = None if is_empty(value) else text_of(r, value, f"`metadata.{name.text}`")
            if text is not None:
                draft.metadata[name.text] = text
        elif name.text == "labels" and not is_empty(value):
            from noetlc.reading.search import read_labels  # most files have none

            draft.metadata["labels"] = dict(read_labels(r, value))
        else:
            draft.metadata[name.text] = value_of(value)


def take_moved(r: Reader, draft: DocumentDraft, key: Scalar, node: Node) -> None:
    """Take a text at the root that belongs into the metadata, as old playbooks have them."""
    text = text_of(r, node, f"`{key.text}`")
    if text is not None:
        draft.moved[key.text] = text
        r.report(
            "NL111",
            f"`{key.text}` at the root belongs into `metadata`",
            key.span,
            help=_MOVE.format(key.text),
        )


def _keychain(r: Reader, draft: DocumentDraft, key: Scalar, node: Node) -> None:
    if not is_empty(node):
        draft.keychain = read_keychain(r, node)


def _executor(r: Reader, draft: DocumentDraft, key: Scalar, node: Node) -> None:
    draft.executor = read_executor(r, node)


def _workload(r: Reader, draft: DocumentDraft, key: Scalar, node: Node) -> None:
    mapping = mapping_of(r, node, "`workload`")
    if mapping is not None:
        # The index has each key once: a key written twice is told by the reader of YAML, and the last one counts.
        for name, (spot, value) in mapping.index.items():
            draft.workload.append((name, read_value(r, value)))
            draft.workload_spans.append((name, spot.span))


def _workflow(r: Reader, draft: DocumentDraft, key: Scalar, node: Node) -> None:
    listed = sequence_of(r, node, "`workflow`", "steps")
    if listed is None:
        return
    if not listed.items:
        missing(r, "a step in `workflow`", key.span, help="write `- {step: start, tool: {kind: …}}` below it")
    for item in listed.items:
        step = read_step(r, item) if r.kept is None else r.kept.step(r, item)
        if step is not None:
            draft.steps.append(step)


_MOVE = "write `metadata: {{{}: …}}`; `noetlc migrate` rewrites the file"


def _workbook(r: Reader, draft: DocumentDraft, key: Scalar, node: Node) -> None:
    """A list of tasks, a mapping of them by name, or `{tasks: …}` of either."""
    if isinstance(node, Mapping) and len(node.entries) == 1 and node.entries[0][0].text == "tasks":
        inner = node.entries[0][1]
        # A single entry may itself be named `tasks`; then it has a kind.
        if is_empty(inner) or isinstance(inner, Sequence) or (isinstance(inner, Mapping) and inner.get("kind") is None):
            node = inner
    tasks: list[Task | None] = []
    match node:
        case Sequence():
            tasks = [read_task(r, position, named_entry(r, item)) for position, item in enumerate(node.items)]
        case Mapping():
            tasks = [_entry(r, name, item) for name, item in node.entries]
        case _ if not is_empty(node):
            wrong_shape(r, node, "`workbook`", "a list or mapping of tasks")
    draft.workbook = [(task.name, task) for task in tasks if task is not None]


def _spare_idle_entries(r: Reader, draft: DocumentDraft, node: Mapping) -> None:
    """A lack of an entry of the workbook is a note where nothing can call it: no run comes there."""
    for name, task in draft.workbook:
        # Found by place, since what was missing was told long before it was known whether anything calls the entry.
        missed = [at for at, one in enumerate(r.findings) if one.code == "NL103" and _is_in(one.span, task)]
        if missed and not _may_be_called(node, name):
            for at in missed:
                said = r.findings[at]
                message = f"{said.message}; nothing calls `{name}`"
                r.findings[at] = said._replace(severity=Severity.NOTE, message=message)


def _is_in(span: Span, task: Task) -> bool:
    return span == task.name_span or task.span.line <= span.line < task.span.end_line


def _may_be_called(node: Mapping, name: str) -> bool:
    """Whether some text outside of the workbook's own `name` is the name of an entry, or is a template that may be."""
    waiting: list[Node] = [node]
    seen = 0
    while waiting:
        here = waiting.pop()
        if isinstance(here, Mapping):
            for key, value in here.entries:
                # A computed name may be that of any entry.
                if key.text in ("task", "workbook") and isinstance(value, Scalar) and "{{" in value.text:
                    return True
                waiting.append(value)
        elif isinstance(here, Sequence):
            waiting += here.items
        else:
            seen += isinstance(here, Scalar) and here.text.strip() == name
    # Once is the entry's own name.
    return seen > 1


def _entry(r: Reader, name: Scalar, node: Node) -> Task | None:
    if not isinstance(node, Mapping):
        wrong_shape(r, node, f"the workbook's `{name.text}`", "a task")
        return None
    task = read_single(r, name.text, node)
    return None if task is None else task._replace(name=name.text, name_span=name.span)


KEYS: Table[DocumentDraft] = {
    "apiVersion": _api_version,
    "kind": _kind,
    "metadata": _metadata,
    "keychain": _keychain,
    "executor": _executor,
    "workload": _workload,
    "workflow": _workflow,
    "workbook": _workbook,
    "name": take_moved,
    "path": take_moved,
}
