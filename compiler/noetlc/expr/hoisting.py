"""Block templates of older dialects at places that have none: a generated noop renders them (LANGUAGE §2)."""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping

from noetl_ir.expr import Attribute, Block, Call, Const, Expr, Filter, ListTemplate, MapTemplate, Name, Template
from noetl_ir.span import Span
from noetlc.ast.playbook import Rule, Task, Value
from noetlc.ast.walk import blocks_in, task_values
from noetlc.expr.block_names import free_names, names_bound_in
from noetlc.expr.generated import computed, noop
from noetlc.expr.legacy_names import Meanings, static_path
from noetlc.expr.patching import OUTCOME, RESULT
from noetlc.expr.shorthand import path
from noetlc.expr.templates import native
from noetlc.expr.unparse import unparse

Blocks = dict[str, Block]
"""Name in `iter` → the template."""


def words_in(block: Block) -> frozenset[str]:
    """The names that a block template reads and does not bind itself."""
    return frozenset(name.name for name in free_names(block.text))


def without_blocks(template: Template, name: str, found: Blocks) -> Template:
    """The template with `iter.<name>` and numbered ones in the places of its block templates, put into `found`."""
    match template:
        case Block():
            key = name if name not in found else f"{name}__{len(found)}"
            found[key] = template
            return native(path("iter", key))
        case MapTemplate(items=pairs):
            return MapTemplate(tuple((key, without_blocks(value, name, found)) for key, value in pairs))
        case ListTemplate(items=items):
            return ListTemplate(tuple(without_blocks(item, name, found) for item in items))
        case _:
            return template


def with_blocks(template: Template, change: Callable[[Block], Block]) -> Template:
    """The template with every block template in it changed; itself where none is."""
    match template:
        case Block():
            return change(template)
        case MapTemplate(items=pairs):
            inner = tuple((key, with_blocks(value, change)) for key, value in pairs)
            return template if all(a is b for (_, a), (_, b) in zip(inner, pairs, strict=True)) else MapTemplate(inner)
        case ListTemplate(items=items):
            listed = tuple(with_blocks(item, change) for item in items)
            return template if all(a is b for a, b in zip(listed, items, strict=True)) else ListTemplate(listed)
        case _:
            return template


def bound(block: Block, meanings: Mapping[str, Expr]) -> Block:
    """The block template in which words have what they mean: each in its place where that is a path, and neither the
    word nor the path's first name is another thing somewhere in the text; else set before the text.
    """
    read, hidden = words_in(block), names_bound_in(block.text)
    paths, tags = dict[str, str](), list[str]()
    for word, expr in meanings.items():
        here = static_path(expr)
        if word in read and here and not hidden & {word, here[0]}:
            paths[word] = unparse(expr)
        elif word in read:
            tags.append(f"{{% set {word} = {unparse(expr)} %}}")
    made = renamed_words(block, paths)
    return Block("".join(tags) + made.text) if tags else made


def renamed_words(block: Block, paths: Mapping[str, str]) -> Block:
    """The block template with another path wherever it reads one of these names; itself where it reads none."""
    parts, at = list[str](), 0
    for name in free_names(block.text):
        if name.name in paths:
            parts += [block.text[at : name.start], paths[name.name]]
            at = name.end
    return Block("".join([*parts, block.text[at:]])) if parts else block


def with_meanings(task: Task, meanings: Meanings, known: Container[str]) -> Task:
    """The task whose block templates have the old words that are not `known` as what they mean behind a tool.

    `vars` aside, which means one thing everywhere; `this` has its older keys and its older status.
    """
    if not any(True for value in task_values(task) for _ in blocks_in(value)):
        return task
    words = {keys[0]: expr for keys, expr in meanings.items() if len(keys) == 1 and keys[0] not in known}
    words.pop("vars", None)
    for word in ("this", "output"):
        if word in words:
            status = Filter(Attribute(words[word], "status"), "replace", (Const("ok"), Const("success")), ())
            older = (("data", meanings["result",]), *((("status", status),) if word == "this" else ()))
            words[word] = Call(Name("dict"), (words[word],), older)

    def each(value: Value) -> Value:
        made = with_blocks(value.template, lambda block: bound(block, words))
        return value if made is value.template else Value(made, value.span, None)

    fields = tuple((key, each(value)) for key, value in task.fields)
    return task._replace(fields=fields, args=None if task.args is None else each(task.args))


def kept_words(values: Iterable[Value]) -> Iterator[Expr]:
    """The names under which the outcome of an earlier task is kept that block templates read."""
    for block in (block for value in values for block in blocks_in(value)):
        yield from (Name(word) for word in (OUTCOME, RESULT) if word in block.text)


def rendering(name: str, span: Span, blocks: Blocks) -> Task:
    """The task that renders the templates and keeps them in `iter`."""
    args = Value(MapTemplate(tuple(blocks.items())), span, None)
    kept = tuple((key, computed(path("outcome", "result", key), span)) for key in blocks)
    return noop(name, span, (Rule(None, "continue", span, set_iter=kept),))._replace(args=args)
