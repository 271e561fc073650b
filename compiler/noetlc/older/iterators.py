"""`kind: iterator` (v1): a loop that was a tool, with the task inside; and `iterator` inside of a tool.

tool: {kind: iterator, collection: xs, element: x, task: {kind: python, …}}   →  loop: {in: xs, iterator: x}, tool: …
tool: {kind: python, iterator: {items: xs, item: x}, …}                       →  loop: {in: xs, iterator: x}, tool: …

The element was among what code found in `input_data`, so it becomes an arg of python code that reads that.
"""

from noetl_ir.python_names import INPUTS, words_of
from noetl_ir.span import Span
from noetlc.ast.playbook import Loop
from noetlc.diag.change import Change
from noetlc.reading.drafts import StepDraft
from noetlc.reading.loop import read_loop
from noetlc.reading.reader import Reader, stray_key
from noetlc.source.nodes import Mapping, Node, Scalar, key_as, mapping_at, scalar_at

_LOOP = frozenset({
    "collection", "items", "in", "mode", "concurrency", "where", "filter", "limit", "chunk",
    "order_by", "enumerate",
})  # fmt: skip
_ITEM = ("item", "as", "var")
_ELEMENT = ("element", "iterator", *_ITEM)
_ARGS = ("args", "input", "data", "with")


def unfolded_iterator(r: Reader, draft: StepDraft, node: Mapping) -> Node | None:
    """The task of an iterator, whose loop becomes that of the step; any other tool as it is."""
    kind = node.get("kind")
    if not isinstance(kind, Scalar) or kind.text != "iterator":
        return _without_loop(r, draft, node)
    r.respelt(kind.span, "`iterator` as a tool", "the step's `loop`")
    draft.loop = _loop_of(r, node, [entry for entry in node.entries if entry[0].text in {*_LOOP, *_ELEMENT}])
    task = node.get("task") or node.get("tool")
    for key, _ in node.entries:
        if key.text not in {"kind", "task", "tool", "desc", *_LOOP, *_ELEMENT}:
            stray_key(r, "loop", key, (*_LOOP, "task"))
    if not isinstance(task, Mapping):
        return task
    # What the task was called is told by the step; as a name it could be the one of the workbook.
    entries = [(key_as(key, "name") if key.text == "task" else key, value) for key, value in task.entries]
    return mapping_at(_with_element(draft, entries), task.span)


def unfolded_list(r: Reader, draft: StepDraft, tasks: tuple[Node, ...], node: Node) -> Node | None:
    """The task of an iterator where it is the only task of a list; beside other tasks it is refused."""
    task = tasks[0]
    if len(tasks) == 1 and isinstance(task, Mapping):
        # A loop has no name: that of its step is what its results are read by.
        return unfolded_iterator(
            r, draft, mapping_at([entry for entry in task.entries if entry[0].text != "name"], node.span)
        )
    for task in tasks:
        kind = task.get("kind") if isinstance(task, Mapping) else None
        if isinstance(kind, Scalar) and kind.text == "iterator":
            why = "a step of its own has the loop: write the tasks before and behind it as steps"
            r.changes.append(Change("read", kind.span, "an iterator beside other tasks", "refused", why))
            return None
    return node


def _without_loop(r: Reader, draft: StepDraft, node: Mapping) -> Node:
    """A tool whose `iterator` or `loop` became the loop of the step; one without as it is."""
    word = next((word for word in ("iterator", "loop") if isinstance(node.get(word), Mapping)), "")
    loop, key = node.get(word), node.key(word)
    if not isinstance(loop, Mapping) or key is None or draft.loop is not None:
        return node
    r.respelt(key.span, f"`{word}` in a tool", "the step's `loop`")
    entries = [(key_as(key, "item") if key.text == "name" else key, value) for key, value in loop.entries]
    draft.loop = _loop_of(r, loop, entries)
    return mapping_at(_with_element(draft, [entry for entry in node.entries if entry[0].text != word]), node.span)


def _loop_of(r: Reader, node: Mapping, entries: list[tuple[Scalar, Node]]) -> Loop | None:
    """The loop of an iterator, whose element is called `item` where nothing says how."""
    keys = [(key_as(key, "iterator") if key.text in _ITEM else key, value) for key, value in entries]
    if not any(key.text in ("iterator", "element") for key, _ in keys):
        keys.append((_text("iterator", node.span), _text("item", node.span)))
    return read_loop(r, mapping_at(keys, node.span))


def _with_element(draft: StepDraft, entries: list[tuple[Scalar, Node]]) -> list[tuple[Scalar, Node]]:
    """The keys of a python task, with the element among its args where the code reads all of them together."""
    kind = next((value for key, value in entries if key.text in ("kind", "tool", "type")), None)
    code = next((value for key, value in entries if key.text == "code"), None)
    name = draft.loop.iterator if draft.loop is not None else ""
    if not isinstance(kind, Scalar) or kind.text != "python" or not isinstance(code, Scalar) or not name:
        return entries
    # A parameter of `main` finds the element in `context` by its name (REAL.md, python). Only where the code reads
    # the mapping of all args, that has to hold it.
    if not words_of(code.text) & {*INPUTS} and "**" not in code.text:
        return entries
    item = (_text(name, kind.span), _text(f"{{{{ iter.{name} }}}}", kind.span))
    for at, (key, value) in enumerate(entries):
        if key.text in _ARGS and isinstance(value, Mapping):
            # An arg of that name is the author's, and wins.
            if value.get(name) is not None:
                return entries
            return [*entries[:at], (key, mapping_at([*value.entries, item], value.span)), *entries[at + 1 :]]
    # Args that are one template cannot take another key.
    if any(key.text in _ARGS for key, _ in entries):
        return entries
    return [*entries, (_text("args", kind.span), mapping_at([item], kind.span))]


def _text(text: str, span: Span) -> Scalar:
    return scalar_at(text, text, style="", span=span, source=(0, 0))
