"""The reads of block templates (`{% %}`) of a value, and what they print, with the scalar that each stands in: rules
ask it beside what other templates read (`noetlc.ast.walk.expressions_in`).
"""

from typing import TYPE_CHECKING

from noetl_ir.expr import Block, Expr, Literal, Native, Text
from noetlc.ast.once import OnceForLast
from noetlc.ast.playbook import Playbook, Value
from noetlc.ast.walk import all_values, placed_blocks
from noetlc.expr.closed import asks_what_is_there, words_asked
from noetlc.expr.paths import Access, accesses
from noetlc.source.nodes import Scalar

if TYPE_CHECKING:
    from noetlc.expr.block_names import BlockExpression

_WITHOUT = (Literal, Native, Text)


def in_blocks(value: Value) -> "list[tuple[BlockExpression, Scalar]]":
    """The expressions of the block templates of a value, in the order of their texts; none of what was generated."""
    # Nearly all values are a constant or an expression, in which there is none.
    if isinstance(value.template, _WITHOUT):
        return []
    return [(one, scalar) for block, scalar in _blocks(value) for one in _inside(block)]


def reads_in_blocks(value: Value) -> list[tuple[Access, Scalar]]:
    """The reads of names that a block template does not bind itself, and of which it does not ask whether they are
    there: what it asks of one name in one place (`{% if x is defined %}`) holds of that name in all of it.
    """
    if isinstance(value.template, _WITHOUT):
        return []
    found: list[tuple[Access, Scalar]] = []
    for block, scalar in _blocks(value):
        inside = _inside(block)
        asked = frozenset[str]().union(*(words_asked(one.expr) for one in inside))
        for one in inside:
            if asks_what_is_there(one.expr):
                continue
            hidden = one.bound | asked
            found += [(each, scalar) for each in accesses(one.expr) if not each.called and each.root.name not in hidden]
    return found


def _all_reads(playbook: Playbook) -> tuple[tuple[Access, Scalar], ...]:
    return tuple([read for value in all_values(playbook) for read in reads_in_blocks(value)])


all_reads_in_blocks = OnceForLast(_all_reads)
"""The same of a whole playbook."""


def printed_in_blocks(value: Value) -> list[tuple[Expr, Scalar]]:
    """The expressions that become part of the text of a block template: those between double braces, and what loops go
    over whose names stand in such. Not those that read nothing but what the template itself binds.
    """
    found: list[tuple[Expr, Scalar]] = []
    for one, scalar in in_blocks(value):
        before = scalar.text[: one.start].rstrip()
        is_loop = before.endswith(" in") and before.rpartition("{%")[2].lstrip("-+ ").startswith("for ")
        roots = {each.root.name for each in accesses(one.expr)}
        if roots - one.bound and (before.endswith(("{{", "{{-", "{{+")) or is_loop):
            found.append((one.expr, scalar))
    return found


def _inside(block: Block) -> "list[BlockExpression]":
    from noetlc.expr.block_names import expressions_inside  # few files have block templates, and it brings a parser

    return [*expressions_inside(block.text)]


def _blocks(value: Value) -> list[tuple[Block, Scalar]]:
    return [(block, scalar) for block, scalar in placed_blocks(value) if scalar is not None]
