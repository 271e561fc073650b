"""The protocol: which question of an editor is answered by which function.

Texts come whole, because the editor and the reader of YAML must agree on what a line is, and pygls has a view of its
own.
"""

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import BinaryIO

from lsprotocol import types
from pygls import uris
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from noetlc.lsp import features
from noetlc.lsp.actions import FIX_ALL, KINDS, fix_all, may_be_migrated, quick_fixes
from noetlc.lsp.completion import offers_at
from noetlc.lsp.hover import is_of_step, said_at
from noetlc.lsp.items import hover_of, items_of
from noetlc.lsp.positions import UTF_16
from noetlc.lsp.project import Project
from noetlc.lsp.session import EditorSession
from noetlc.lsp.tokens import TYPES

NAME = "noetlc"


def serve(project_of: Callable[[list[str]], Project], asked: BinaryIO, told: BinaryIO) -> None:
    """Serve the editor that asks on one stream and is told on the other; a project is made of its folders."""
    logging.getLogger("pygls.protocol.json_rpc").addFilter(is_no_refusal)
    server = LanguageServer(NAME, "", text_document_sync_kind=types.TextDocumentSyncKind.Full)
    # The session exists before the editor has named its folders: pygls wants every function before it starts to read.
    session = EditorSession(server.text_document_publish_diagnostics)

    def begin_session(params: types.InitializeParams) -> None:
        session.begin_session(project_of(_folders_of(params)))

    # Only now: pygls settles the encoding while it answers `initialize`, after the function for that has run.
    def agree(params: types.InitializedParams) -> None:
        encoding = server.server_capabilities.position_encoding or UTF_16
        session.encoding = str(getattr(encoding, "value", encoding))

    server.feature(types.INITIALIZE)(begin_session)
    server.feature(types.INITIALIZED)(agree)
    for method, options, function in FEATURES:
        server.feature(method, options)(partial(function, session))
    server.start_io(asked, told)


def is_no_refusal(record: logging.LogRecord) -> bool:
    """Whether a record is about anything but a question that was refused: its reason is sent to the editor, and the
    traceback that pygls logs beside it would look like a crash.
    """
    return not (record.exc_info and isinstance(record.exc_info[1], JsonRpcException))


def open_text(session: EditorSession, params: types.DidOpenTextDocumentParams) -> None:
    """An editor opened a file."""
    document = params.text_document
    session.open(document.uri, uris.to_fs_path(document.uri) or document.uri, document.version, document.text)


def change_text(session: EditorSession, params: types.DidChangeTextDocumentParams) -> None:
    """An editor's text of a file changed."""
    # Each is a whole text, as the server asks for; of several in one message the last one counts.
    for change in params.content_changes:
        session.change(params.text_document.uri, params.text_document.version, change.text)


def close_text(session: EditorSession, params: types.DidCloseTextDocumentParams) -> None:
    """An editor closed a file."""
    session.close(params.text_document.uri)


def look_again(session: EditorSession, params: types.DidChangeWatchedFilesParams) -> None:
    """Files or configurations changed on disk."""
    session.look_again()


def pass_by(session: EditorSession, params: object) -> None:
    """Nothing: the configuration is that of the files."""


async def code_actions(session: EditorSession, params: types.CodeActionParams) -> list[types.CodeAction]:
    """The fixes for a range, of the kinds that are asked for."""
    one = session.opened.get(params.text_document.uri)
    if one is None:
        return []
    only = params.context.only
    actions: list[types.CodeAction] = []
    if only is None or _asks_for(only, str(types.CodeActionKind.QuickFix.value)):
        version, found = one.version, await session.looked(one)
        # Only where it is asked for: a migration takes longer than a look at the file.
        if may_be_migrated(found.findings, params.range, session.positions(one)):
            version, found = one.version, await session.migrated(one)
        if one.version == version:
            actions += quick_fixes(found.findings, params.range, one.uri, one.version, session.positions(one))
    # Only when asked for: it checks the file once more for each round of fixes.
    if only is not None and _asks_for(only, FIX_ALL):
        at, version, text = session.positions(one), one.version, one.text
        whole = fix_all(text, await session.mended(one), one.uri, version, at)
        # An edit is of one version, and the editor would refuse it if somebody typed while the fixes were looked for.
        actions += [whole] if whole is not None and one.version == version else []
    return actions


def completion(session: EditorSession, params: types.CompletionParams) -> types.CompletionList:
    """The offers at a place. From the last reading of the file: to read it anew takes longer than a key."""
    one = session.opened.get(params.text_document.uri)
    if one is None:
        return types.CompletionList(False, [])
    at = session.positions(one)
    line, column = at.place(params.position)
    offers = offers_at(one.known, one.text, line, column, session.index.paths())
    return types.CompletionList(False, items_of(offers, at, line, column))


async def hover(session: EditorSession, params: types.HoverParams) -> types.Hover | None:
    """The explanation of what stands at a place."""
    one = session.opened.get(params.text_document.uri)
    known = await session.known(one) if one is not None else None
    if one is None or known is None:
        return None
    at = session.positions(one)
    line, column = at.place(params.position)
    extents = await session.extents(one) if is_of_step(known, line, column) else ()
    return hover_of(said_at(known, line, column, extents), at)


def _asks_for(only: Sequence[types.CodeActionKind | str], kind: str) -> bool:
    """Whether a kind is one of those asked for, or below one."""
    words = [str(getattr(word, "value", word)) for word in only]
    return any(kind == word or kind.startswith(f"{word}.") for word in words)


def _folders_of(params: types.InitializeParams) -> list[str]:
    """The folders that an editor has open, of those that are on this machine's disk."""
    named = [folder.uri for folder in params.workspace_folders or []] or [params.root_uri or ""]
    return [path for uri in named if (path := uris.to_fs_path(uri))]


_LEGEND = types.SemanticTokensLegend([*TYPES], [])

FEATURES: tuple[tuple[str, object, Callable[..., object]], ...] = (
    (types.TEXT_DOCUMENT_DID_OPEN, None, open_text),
    (types.TEXT_DOCUMENT_DID_CHANGE, None, change_text),
    (types.TEXT_DOCUMENT_DID_CLOSE, None, close_text),
    # Editors send this one and the one about configuration unasked; pygls would warn of each that has no function.
    (types.TEXT_DOCUMENT_DID_SAVE, None, pass_by),
    (types.WORKSPACE_DID_CHANGE_WATCHED_FILES, None, look_again),
    (types.WORKSPACE_DID_CHANGE_CONFIGURATION, None, pass_by),
    (types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=[*KINDS]), code_actions),
    (types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=[*" .:{|'-"]), completion),
    (types.TEXT_DOCUMENT_HOVER, None, hover),
    (types.TEXT_DOCUMENT_DEFINITION, None, features.definition),
    (types.TEXT_DOCUMENT_REFERENCES, None, features.references),
    (types.TEXT_DOCUMENT_PREPARE_RENAME, None, features.prepare_rename),
    (types.TEXT_DOCUMENT_RENAME, types.RenameOptions(prepare_provider=True), features.rename),
    (types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, None, features.document_symbols),
    (types.TEXT_DOCUMENT_FOLDING_RANGE, None, features.folding_ranges),
    (types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, _LEGEND, features.semantic_tokens),
    (types.TEXT_DOCUMENT_CODE_LENS, None, features.code_lenses),
    (types.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY, None, features.prepare_calls),
    (types.CALL_HIERARCHY_INCOMING_CALLS, None, features.incoming_calls),
    (types.CALL_HIERARCHY_OUTGOING_CALLS, None, features.outgoing_calls),
    (features.PICTURE, None, features.picture),
)
"""Method → its options, and the function that answers it: the session comes first, then what the editor sent."""
