"""Code actions: the fixes of the findings at a place, and all fixes of a file that are safe.

A fix that a whole file's migration is stands at each of its notes, once.
"""

from collections.abc import Iterable

from lsprotocol import types

from noetlc.diag.diagnostic import Fix
from noetlc.diag.findings import MIGRATED, Reported
from noetlc.lsp.positions import Positions
from noetlc.lsp.reports import report_of
from noetlc.source.line_edits import line_edits

FIX_ALL = "source.fixAll.noetlc"
KINDS = (types.CodeActionKind.QuickFix, FIX_ALL)


def quick_fixes(
    found: Iterable[Reported], asked: types.Range, uri: str, version: int | None, at: Positions
) -> list[types.CodeAction]:
    """The fixes of the findings that touch a range, one action each; safe ones are preferred."""
    actions: dict[Fix, types.CodeAction] = {}
    for one in found:
        fix = one.diagnostic.fix
        # What lowering made has no place in the file (`NOWHERE`), and a fix of it none either.
        if fix is None or not fix.span.line or not _touch(at.range(one.diagnostic.span), asked):
            continue
        report = report_of(one.diagnostic, uri, at)
        # Findings that only one change mends together share it.
        if fix in actions:
            actions[fix].diagnostics = [*(actions[fix].diagnostics or []), report]
            continue
        edits = [types.TextEdit(at.range(span), text) for span, text in fix.edits]
        actions[fix] = types.CodeAction(
            title=fix.title,
            kind=types.CodeActionKind.QuickFix,
            diagnostics=[report],
            is_preferred=fix.safe,
            edit=edit_of(uri, version, edits),
        )
    return list(actions.values())


def may_be_migrated(found: Iterable[Reported], asked: types.Range, at: Positions) -> bool:
    """Whether a range touches a note that a migration of the file may do away with."""
    return any(
        one.diagnostic.code in MIGRATED and one.diagnostic.fix is None and _touch(at.range(one.diagnostic.span), asked)
        for one in found
    )


def fix_all(before: str, after: str, uri: str, version: int | None, at: Positions) -> types.CodeAction | None:
    """The action that makes one text of another, None where they are the same; lines that are alike keep cursors and
    folds in them.
    """
    edits = [types.TextEdit(at.range(span), text) for span, text in line_edits(before, after)]
    if not edits:
        return None
    return types.CodeAction(
        title="apply all fixes that cannot change the meaning", kind=FIX_ALL, edit=edit_of(uri, version, edits)
    )


def edit_of(uri: str, version: int | None, edits: list[types.TextEdit]) -> types.WorkspaceEdit:
    """An edit of one version of one file: an editor refuses it for a text that was typed on."""
    document = types.OptionalVersionedTextDocumentIdentifier(uri=uri, version=version)
    return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(document, [*edits])])


def _touch(one: types.Range, other: types.Range) -> bool:
    """Whether two ranges share a position; ends count, for a cursor stands between characters."""
    return _order(one.start) <= _order(other.end) and _order(other.start) <= _order(one.end)


def _order(position: types.Position) -> tuple[int, int]:
    return position.line, position.character
