"""Block templates of older dialects at places that have none: a generated noop renders them (LANGUAGE §2)."""

from collections.abc import Container, Iterable, Iterator

from noetl_ir.expr import Attribute, Block, Call, Const, Expr, Filter, ListTemplate, MapTemplate, Name, Template
from noetl_ir.span import Span
from noetlc.ast.playbook import Rule, Task, Value
from noetlc.ast.walk import blocks_in, task_values
from noetlc.expr.binding import bound, with_blocks
from noetlc.expr.generated import computed, noop
from noetlc.expr.shorthand import path
from noetlc.expr.templates import native
from noetlc.older.legacy_names import Meanings
from noetlc.older.patching import OUTCOME, RESULT

Blocks = dict[str, Block]
"""Name in `iter` → the template."""


def without_blocks(template: Template, name: str, found: Blocks) -> Template:
    """The template with `iter.<name>`, further ones numbered, in the places of its block templates.

    The block templates are added to `found` under these names.
    """
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


def with_meanings(task: Task, meanings: Meanings, known: Container[str]) -> Task:
    """The task in whose block templates old words that are not `known` have the meaning that they have behind a tool.

    `vars` is left out, since it means the same everywhere. `this` gets its older keys, and `success` as its status.
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
    """The names of kept outcomes of earlier tasks that block templates read."""
    for block in (block for value in values for block in blocks_in(value)):
        yield from (Name(word) for word in (OUTCOME, RESULT) if word in block.text)


def rendering(name: str, span: Span, blocks: Blocks) -> Task:
    """The task that renders the templates and keeps them in `iter`."""
    args = Value(MapTemplate(tuple(blocks.items())), span, None)
    kept = tuple((key, computed(path("outcome", "result", key), span)) for key in blocks)
    return noop(name, span, (Rule(None, "continue", span, set_iter=kept),))._replace(args=args)
