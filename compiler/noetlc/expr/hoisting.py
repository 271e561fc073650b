"""Block templates of older dialects at places that have none: a generated noop renders them (LANGUAGE §2)."""

from re import compile as pattern

from noetl_ir.expr import Block, ListTemplate, MapTemplate, Template
from noetl_ir.span import Span
from noetlc.ast.playbook import Rule, Task, Value
from noetlc.expr.generated import computed, noop
from noetlc.expr.shorthand import path
from noetlc.expr.templates import native

Blocks = dict[str, Block]
"""Name in `iter` → the template."""

_TAGS = pattern(r"\{[%{].*?[%}]\}", 16)  # over line ends
_WORDS = pattern(r"(?<![\w.'\"])[^\W\d]\w*")


def words_in(block: Block) -> frozenset[str]:
    """The words in the tags and expressions of a block template, those behind a dot aside."""
    return frozenset(word for tag in _TAGS.findall(block.text) for word in _WORDS.findall(tag))


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


def rendering(name: str, span: Span, blocks: Blocks) -> Task:
    """The task that renders the templates and keeps them in `iter`."""
    args = Value(MapTemplate(tuple(blocks.items())), span, None)
    kept = tuple((key, computed(path("outcome", "result", key), span)) for key in blocks)
    return noop(name, span, (Rule(None, "continue", span, set_iter=kept),))._replace(args=args)
