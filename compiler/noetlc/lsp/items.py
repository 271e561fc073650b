"""Offers and explanations in the terms of the protocol."""

from collections.abc import Iterable

from lsprotocol import types

from noetlc.lsp.completion import Offer
from noetlc.lsp.hover import HoverText
from noetlc.lsp.positions import Positions

_KINDS = {
    "key": types.CompletionItemKind.Property,
    "value": types.CompletionItemKind.EnumMember,
    "step": types.CompletionItemKind.Reference,
    "task": types.CompletionItemKind.Reference,
    "playbook": types.CompletionItemKind.File,
    "name": types.CompletionItemKind.Variable,
    "function": types.CompletionItemKind.Function,
    "filter": types.CompletionItemKind.Function,
    "test": types.CompletionItemKind.Operator,
}


def items_of(offers: Iterable[Offer], at: Positions, line: int, column: int) -> list[types.CompletionItem]:
    """The offers for a place, in their order, which an editor keeps among those that fit alike."""
    items = []
    for number, one in enumerate(offers):
        start = at.position(line, max(1, column - one.replaces))
        edit = types.TextEdit(types.Range(start, at.position(line, column)), one.text)
        said = types.MarkupContent(types.MarkupKind.Markdown, one.sentence) if one.sentence else None
        items.append(
            types.CompletionItem(
                label=one.label,
                kind=_KINDS[one.sort],
                detail=one.detail or None,
                documentation=said,
                # Editors sort by text, and the order here is that of the grammar, not of the alphabet.
                sort_text=f"{number:04}",
                filter_text=one.label,
                text_edit=edit,
            )
        )
    return items


def hover_of(said: HoverText | None, at: Positions) -> types.Hover | None:
    """An explanation at its place."""
    if said is None:
        return None
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, said.text), at.range(said.span))
