"""Names in block templates: which one reads, and the template with other paths or values in their places."""

from collections.abc import Callable, Mapping

from noetl_ir.expr import Block, Expr, ListTemplate, MapTemplate, Template
from noetl_ir.paths import static_path
from noetlc.expr.block_names import free_names, names_bound_in
from noetlc.expr.unparse import unparse


def words_in(block: Block) -> frozenset[str]:
    """The names that a block template reads and does not bind itself."""
    return frozenset(name.name for name in free_names(block.text))


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
    # A path can be put into the text only where no loop or `set` of the template gives its first name another
    # meaning.
    read, hidden = words_in(block), names_bound_in(block.text)
    paths, tags = dict[str, str](), list[str]()
    for word, expr in meanings.items():
        here = static_path(expr)
        if word in read and here and not hidden & {word, here[0]}:
            paths[word] = unparse(expr)
        elif word in read:
            # `set` before the text works for any expression; it is the second choice, since the plan shows it to
            # whoever reads it.
            tags.append(f"{{% set {word} = {unparse(expr)} %}}")
    # Renamed before the tags are put in front: their offsets are those of the text as it was written.
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
