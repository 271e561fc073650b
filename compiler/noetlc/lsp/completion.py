"""Completion: keys by their place, words that a value may be, names of steps and playbooks, and names in scope."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from noetl_ir.records import NamedTuple
from noetl_ir.scopes import PLACES, Site
from noetl_ir.scopes.vocabulary import FILTERS, TESTS
from noetlc.ast.playbook import Step, Task
from noetlc.lsp.cursor import CursorLevel, CursorPosition, cursor_at, path_of
from noetlc.lsp.grammar import FittingSchemas, place_of
from noetlc.lsp.known import KnownFile, PlaybookView
from noetlc.lsp.results_there import results_there
from noetlc.lsp.scope_names import names_at, site_of
from noetlc.lsp.shapes import ValueShape, outcome_of
from noetlc.lsp.words_compared import words_at
from noetlc.source.nodes import Mapping as MappingNode
from noetlc.source.nodes import Node, Scalar

_MEMBER = re.compile(r"([A-Za-z_]\w*(?:\.\w+|\[(?:'[^']*'|\"[^\"]*\")\])*)\.(\w*)$")
_FILTER = re.compile(r"(?<!\|)\|\s*(\w*)$")
_TEST = re.compile(r"\bis\s+(?:not\s+)?(\w*)$")
_WORD = re.compile(r"(?<![\w.'\"])([A-Za-z_]\w*|)$")
_LINKS = re.compile(r"\['([^']*)'\]|\[\"([^\"]*)\"\]|(\w+)")


class Offer(NamedTuple):
    """Something that may stand at the cursor: `text` takes the place of the last `replaces` characters before it.
    `sort` is `key`, `value`, `step`, `task`, `playbook`, `name`, `function`, `filter` or `test`.
    """

    label: str
    sort: str
    detail: str
    sentence: str
    text: str
    replaces: int


def offers_at(known: KnownFile | None, text: str, line: int, column: int, playbooks: Iterable[str] = ()) -> list[Offer]:
    """Offers for a place of a text, line and column from 1; `playbooks` are the paths of those that may be called."""
    cursor = cursor_at(text, line, column)
    if cursor is None:
        return []
    view = known.view_at(line) if known is not None else None
    # An expression is asked for first: inside of one neither keys nor words of the schema mean anything.
    if cursor.inside is not None:
        return list(_in_expression(cursor, view))
    place = place_of([(level.node, level.key) for level in cursor.levels])
    if cursor.is_key:
        return list(_keys(cursor, place))
    offers = [*_names(cursor, view, playbooks), *(_offer(word, "value", cursor.typed) for word in place.values())]
    # Under a key that takes a mapping a word is the first key of it.
    if not offers and (not cursor.typed or cursor.typed.replace("_", "").isalnum()):
        offers = list(_keys(cursor, place))
    return offers


def _keys(cursor: CursorPosition, place: FittingSchemas) -> Iterator[Offer]:
    here = cursor.levels[-1].node
    # A key that is there already would be a duplicate (NL004). Under a value nothing is written yet.
    written = {key.text for key, _ in here.entries} if cursor.is_key and isinstance(here, MappingNode) else set()
    for one in place.allowed():
        if one.key not in written:
            detail = "must be given" if one.required else ""
            yield Offer(one.key, "key", detail, one.sentence, f"{one.key}: ", len(cursor.typed))


def _names(cursor: CursorPosition, view: PlaybookView | None, playbooks: Iterable[str]) -> Iterator[Offer]:
    """The names that the value of a key refers to."""
    sort = referred(cursor.levels)
    if sort == "playbook":
        yield from (_offer(path, "playbook", cursor.typed) for path in playbooks)
    if view is None:
        return
    step = step_around(cursor.levels, view)
    if sort == "step":
        targets = [*view.names_of_steps(), *(["end"] if "arcs" in cursor.path else [])]
        yield from (_offer(name, "step", cursor.typed) for name in dict.fromkeys(targets))
    elif sort == "task" and step is not None:
        yield from (_offer(task.name, "task", cursor.typed) for task in step.tasks if not task.generated)
    elif sort == "entry":
        yield from (_offer(name, "task", cursor.typed) for name, _ in view.playbook.workbook)
    elif sort == "lock":
        locks = dict.fromkeys(lock.name for each in view.playbook.steps for lock in each.spec.locks)
        yield from (_offer(name, "value", cursor.typed) for name in locks)


def referred(levels: Sequence[CursorLevel]) -> str:
    """The sort of thing that the value behind some levels names: `step`, `task`, `entry` of the workbook, `playbook`,
    `lock`; "" for any other value.
    """
    # The numbers of items say nothing about what a value refers to: only the names of keys do.
    keys = [key for key in path_of(levels) if isinstance(key, str)]
    last, above = (keys[-1] if keys else ""), keys[-2] if len(keys) > 1 else ""
    if keys[:1] == ["executor"]:
        return "step" if keys[1:2] == ["spec"] and last in ("entry_step", "on_failure", "finally") else ""
    if keys[:1] != ["workflow"] and keys[:1] != ["workbook"]:
        return ""
    if (above, last) in (("arcs", "step"), ("compensate", "step"), ("policy", "compensate"), ("policy", "cancels")):
        return "step"
    if (above, last) == ("lock", "through"):
        return "step"
    if (above, last) in (("policy", "lock"), ("lock", "name")):
        return "lock"
    if (above, last) == ("then", "to"):
        return "task"
    kind = _text_at(levels[-1].node, "kind")
    if (kind, last) == ("playbook", "path"):
        return "playbook"
    return "entry" if (kind, last) == ("workbook", "task") else ""


_OF_ANY_KIND = {"status", "result", "error", "meta"}


def _kind_of_task(levels: Sequence[CursorLevel]) -> str:
    """The kind of the innermost task around, as it stands there."""
    return next((kind for level in reversed(levels) if (kind := _text_at(level.node, "kind"))), "")


def _text_at(node: Node, key: str) -> str:
    """The text of a key, "" where it has none."""
    value = node.get(key) if isinstance(node, MappingNode) else None
    return value.text if isinstance(value, Scalar) else ""


def step_around(levels: Sequence[CursorLevel], view: PlaybookView) -> Step | None:
    """The step that something is in, by its name."""
    if len(levels) < 3 or levels[0].key != "workflow":
        return None
    # By its name and not by its number: the view may be of an older text, with another number of steps above.
    return view.steps.get(_text_at(levels[2].node, "step"))


def task_around(levels: Sequence[CursorLevel], step: Step | None) -> Task | None:
    """The task of a step that something is in, by its name or its place in the list."""
    if step is None:
        return None
    tasks = {task.name: task for task in step.tasks}
    for at in range(len(levels) - 1, 2, -1):
        node = levels[at].node
        if isinstance(node, MappingNode) and node.get("kind") is not None:
            name, above = node.get("name"), levels[at - 1].key
            if isinstance(name, Scalar):
                return tasks.get(name.text)
            # Names as the reader gives them to tasks that have none: the label of the item, else its number, else the
            # step's name.
            label = above if isinstance(above, str) and above != "tool" else f"task_{above}"
            return tasks.get(label if above != "tool" else f"{step.name}_task")
    return None


def is_in_args(levels: Sequence[CursorLevel]) -> bool:
    """Whether a place is in the args of a task."""
    # The outermost below the root: an arg may be called `kind`, too.
    return next((level.key for level in levels[1:] if _text_at(level.node, "kind")), "") == "args"


def _in_expression(cursor: CursorPosition, view: PlaybookView | None) -> Iterator[Offer]:
    inside = cursor.inside or ""
    # In a text of the expression every word is the author's own, unless it is compared with what has only a few values.
    if inside.count("'") % 2 or inside.count('"') % 2:
        yield from _words_compared(cursor, view)
        return
    if found := _FILTER.search(inside):
        yield from (_offer(name, "filter", found[1]) for name in sorted(FILTERS))
        return
    if found := _TEST.search(inside):
        yield from (_offer(name, "test", found[1]) for name in sorted(TESTS))
        return
    if view is None:
        return
    site, step = site_of(cursor.path), step_around(cursor.levels, view)
    task = task_around(cursor.levels, step)
    there = results_there(view, site, step, task)
    names = names_at(view, site, step, task, is_arg=is_in_args(cursor.levels), there=there)
    # The last reading may not know the task that is being typed; its kind is known from what stands there.
    if "outcome" in names and not names["outcome"].keys.keys() - _OF_ANY_KIND:
        names["outcome"] = outcome_of(task, _kind_of_task(cursor.levels))
    if found := _MEMBER.search(inside):
        shape = member(names, found[1])
        for key, inner in shape.keys.items() if shape is not None else ():
            # Others cannot stand behind a dot: they are written in brackets and quotes.
            if key.isidentifier():
                yield _named(key, inner, found[2])
    elif found := _WORD.search(inside):
        yield from (_named(name, shape, found[1]) for name, shape in names.items())
        yield from (
            Offer(name, "function", "function", "", f"{name}(", len(found[1]))
            for name in sorted(PLACES[site].functions)
        )


def _words_compared(cursor: CursorPosition, view: PlaybookView | None) -> Iterator[Offer]:
    site, step = site_of(cursor.path), step_around(cursor.levels, view) if view is not None else None
    own = _kind_of_task(cursor.levels[1:]) if site is Site.RULE else ""
    kinds = [own] if own else [task.kind for task in step.tasks] if step is not None else []
    typed, words = words_at(cursor.inside or "", site, step, kinds)
    yield from (_offer(word, "value", typed) for word in words)


def member(names: Mapping[str, ValueShape], path: str) -> ValueShape | None:
    """The shape behind a dotted path, None where nothing is known of it."""
    shape: ValueShape | None = ValueShape("", names)
    for quoted, doubly, plain in _LINKS.findall(path):
        shape = shape.keys.get(quoted or doubly or plain) if shape is not None else None
    return shape


def _named(name: str, shape: ValueShape, typed: str) -> Offer:
    keys = ", ".join(list(shape.keys)[:8])
    return Offer(name, "name", f"{{{keys}}}" if keys else "", shape.what, name, len(typed))


def _offer(word: str, sort: str, typed: str) -> Offer:
    return Offer(word, sort, sort if sort != "value" else "", "", word, len(typed))
