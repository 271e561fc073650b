"""Completion: keys by their place, words that a value may be, names of steps and playbooks, and names in scope."""

import re
from collections.abc import Iterable, Iterator, Mapping

from noetl_ir.records import NamedTuple
from noetl_ir.scopes import PLACES
from noetl_ir.scopes.vocabulary import FILTERS, TESTS
from noetlc.ast.playbook import Step, Task
from noetlc.lsp.cursor import Cursor, cursor_at
from noetlc.lsp.grammar import Place, place_of
from noetlc.lsp.known import Known, View
from noetlc.lsp.scope_names import names_at, site_of
from noetlc.lsp.shapes import Shape, outcome_of
from noetlc.source.nodes import Mapping as MappingNode
from noetlc.source.nodes import Scalar

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


def offers_at(known: Known | None, text: str, line: int, column: int, playbooks: Iterable[str] = ()) -> list[Offer]:
    """Offers for a place of a text, line and column from 1; `playbooks` are the paths of those that may be called."""
    cursor = cursor_at(text, line, column)
    if cursor is None:
        return []
    view = known.view_at(line) if known is not None else None
    if cursor.inside is not None:
        return list(_in_expression(cursor, view))
    place = place_of([(level.node, level.key) for level in cursor.levels])
    if cursor.is_key:
        return list(_keys(cursor, place))
    offers = [*_names(cursor, view, playbooks), *(_offer(word, "value", cursor.typed) for word in place.values())]
    # Under a key that takes a mapping a word is the first key of it.
    if not offers and cursor.typed.replace("_", "").isalnum() | (not cursor.typed):
        offers = list(_keys(cursor, place))
    return offers


def _keys(cursor: Cursor, place: Place) -> Iterator[Offer]:
    here = cursor.levels[-1].node
    written = {key.text for key, _ in here.entries} if cursor.is_key and isinstance(here, MappingNode) else set()
    for one in place.allowed():
        if one.key not in written:
            detail = "must be given" if one.required else ""
            yield Offer(one.key, "key", detail, one.sentence, f"{one.key}: ", len(cursor.typed))


def _names(cursor: Cursor, view: View | None, playbooks: Iterable[str]) -> Iterator[Offer]:
    """The names that the value of a key refers to."""
    sort = referred(cursor.path, cursor)
    if sort == "playbook":
        yield from (_offer(path, "playbook", cursor.typed) for path in playbooks)
    if view is None:
        return
    step = step_around(cursor, view)
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


def referred(path: tuple[str | int, ...], cursor: Cursor | None = None) -> str:
    """The sort of thing that the value at a path names: `step`, `task`, `entry` of the workbook, `playbook`, `lock`; ""
    for any other value.
    """
    keys = [key for key in path if isinstance(key, str)]
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
    kind = _kind_around(cursor) if cursor is not None else ""
    if (kind, last) == ("playbook", "path"):
        return "playbook"
    return "entry" if (kind, last) == ("workbook", "task") else ""


_OF_ANY_KIND = {"status", "result", "error", "meta"}


def _kind_of_task(cursor: Cursor) -> str:
    """The kind of the innermost task around a cursor, as it stands there."""
    nodes = [level.node for level in reversed(cursor.levels) if isinstance(level.node, MappingNode)]
    kinds = [kind for node in nodes if isinstance(kind := node.get("kind"), Scalar)]
    return kinds[0].text if kinds else ""


def _kind_around(cursor: Cursor) -> str:
    node = cursor.levels[-1].node if cursor.levels else None
    kind = node.get("kind") if isinstance(node, MappingNode) else None
    return kind.text if isinstance(kind, Scalar) else ""


def step_around(cursor: Cursor, view: View) -> Step | None:
    """The step that a cursor is in, by its name."""
    if cursor.path[:1] != ("workflow",) or len(cursor.levels) < 3:
        return None
    node = cursor.levels[2].node
    name = node.get("step") if isinstance(node, MappingNode) else None
    return view.steps.get(name.text) if isinstance(name, Scalar) else None


def task_around(cursor: Cursor, step: Step | None) -> Task | None:
    """The task of a step that a cursor is in, by its name or its place in the list."""
    if step is None:
        return None
    tasks = {task.name: task for task in step.tasks}
    for at in range(len(cursor.levels) - 1, 2, -1):
        node = cursor.levels[at].node
        if isinstance(node, MappingNode) and node.get("kind") is not None:
            name, above = node.get("name"), cursor.levels[at - 1].key
            if isinstance(name, Scalar):
                return tasks.get(name.text)
            label = above if isinstance(above, str) and above != "tool" else f"task_{above}"
            return tasks.get(label if above != "tool" else f"{step.name}_task")
    return None


def _in_expression(cursor: Cursor, view: View | None) -> Iterator[Offer]:
    inside = cursor.inside or ""
    # In a text of the expression every word is the author's own.
    if inside.count("'") % 2 or inside.count('"') % 2:
        return
    if found := _FILTER.search(inside):
        yield from (_offer(name, "filter", found[1]) for name in sorted(FILTERS))
        return
    if found := _TEST.search(inside):
        yield from (_offer(name, "test", found[1]) for name in sorted(TESTS))
        return
    if view is None:
        return
    site, step = site_of(cursor.path), step_around(cursor, view)
    names = names_at(view, site, step, task_around(cursor, step))
    if "outcome" in names and not names["outcome"].keys.keys() - _OF_ANY_KIND:
        names["outcome"] = outcome_of(task_around(cursor, step), _kind_of_task(cursor))
    if found := _MEMBER.search(inside):
        shape = member(names, found[1])
        for key, inner in shape.keys.items() if shape is not None else ():
            if key.isidentifier():
                yield _named(key, inner, found[2])
    elif found := _WORD.search(inside):
        yield from (_named(name, shape, found[1]) for name, shape in names.items())
        yield from (
            Offer(name, "function", "function", "", f"{name}(", len(found[1]))
            for name in sorted(PLACES[site].functions)
        )


def member(names: Mapping[str, Shape], path: str) -> Shape | None:
    """The shape behind a dotted path, None where nothing is known of it."""
    shape: Shape | None = Shape("", names)
    for quoted, doubly, plain in _LINKS.findall(path):
        shape = shape.keys.get(quoted or doubly or plain) if shape is not None else None
    return shape


def _named(name: str, shape: Shape, typed: str) -> Offer:
    keys = ", ".join(list(shape.keys)[:8])
    return Offer(name, "name", f"{{{keys}}}" if keys else "", shape.what, name, len(typed))


def _offer(word: str, sort: str, typed: str) -> Offer:
    return Offer(word, sort, sort if sort not in ("value",) else "", "", word, len(typed))
