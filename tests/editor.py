"""An editor for tests: pytest-lsp's client beside a real process of `noetlc lsp`, asked one thing after another."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from lsprotocol import types
from pytest_lsp import LanguageClient, client_capabilities, make_test_lsp_client

SECONDS = 60.0


class Editor:
    """An editor with one folder open. Texts are held by it, whatever is on disk."""

    def __init__(self, client: LanguageClient, run: Callable[[Awaitable[object]], object], folder: Path) -> None:
        self.client = client
        self.folder = folder
        self._run = run
        self._versions: dict[str, int] = {}
        self._published: dict[str, types.PublishDiagnosticsParams] = {}
        self._arrived = asyncio.Event()
        self.texts: dict[str, str] = {}

    def uri(self, name: str) -> str:
        """The URI of a file of the folder."""
        return (self.folder / name).as_uri()

    def ask(self, method: str, params: object) -> object:
        """The answer to a question."""
        return self._run(asyncio.wait_for(self.client.protocol.send_request_async(method, params), SECONDS))

    def show(self, name: str, text: str) -> None:
        """Open a file, or type another text of it."""
        uri, version = self.uri(name), self._versions.get(name, 0) + 1
        self._versions[name], self.texts[name] = version, text
        if version == 1:
            item = types.TextDocumentItem(uri, "yaml", version, text)
            self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        else:
            document = types.VersionedTextDocumentIdentifier(version, uri)
            whole = types.TextDocumentContentChangeWholeDocument(text)
            self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [whole]))

    def findings(self, name: str) -> Sequence[types.Diagnostic]:
        """The findings in the text that was typed last, once they are there."""
        return self._run(asyncio.wait_for(self._findings(name), SECONDS))  # type: ignore[return-value]

    async def _findings(self, name: str) -> Sequence[types.Diagnostic]:
        uri = self.uri(name)
        while (found := self._published.get(uri)) is None or found.version != self._versions[name]:
            self._arrived.clear()
            await self._arrived.wait()
        return found.diagnostics

    def take(self, params: types.PublishDiagnosticsParams) -> None:
        """Keep what the server published."""
        self._published[params.uri] = params
        self._arrived.set()


@contextmanager
def editor_in(folder: Path, client_name: str = "visual-studio-code") -> Iterator[Editor]:
    """An editor with a folder open, and its server."""
    with asyncio.Runner() as runner:
        client = make_test_lsp_client()
        editor = Editor(client, runner.run, folder)  # type: ignore[arg-type]
        client.protocol.fm._features.pop(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(partial(editor.take))
        runner.run(_begin(client, client_name, folder))
        yield editor
        runner.run(asyncio.wait_for(client.shutdown_session(), SECONDS))
        assert client._server is not None and client._server.returncode == 0
        runner.run(client.stop())
        assert client.error is None


async def _begin(client: LanguageClient, client_name: str, folder: Path) -> None:
    await client.start_io(sys.executable, "-m", "noetlc.cli", "lsp", "--stdio")
    params = types.InitializeParams(
        capabilities=client_capabilities(client_name),
        workspace_folders=[types.WorkspaceFolder(folder.as_uri(), folder.name)],
    )
    await asyncio.wait_for(client.initialize_session(params), SECONDS)


def at(text: str, mark: str = "‸") -> tuple[str, types.Position]:
    """The text without the mark, and the position where it stood."""
    before, _, after = text.partition(mark)
    line = before.rpartition("\n")[2]
    return before + after, types.Position(before.count("\n"), len(line.encode("utf-16-le")) // 2)


def applied(text: str, edits: Sequence[types.TextEdit]) -> str:
    """The text after edits, as an editor that counts in UTF-16 makes them."""
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)

    def offset(position: types.Position) -> int:
        line = lines[position.line].encode("utf-16-le")[: 2 * position.character]
        return starts[position.line] + len(line.decode("utf-16-le"))

    for edit in sorted(edits, key=lambda edit: (edit.range.start.line, edit.range.start.character), reverse=True):
        text = text[: offset(edit.range.start)] + edit.new_text + text[offset(edit.range.end) :]
    return text


def asked(editor: Editor, name: str, marked: str, method: str, kind: type, **more: object) -> object:
    """The response to a request about the marked place of a file, whose text the mark stands in."""
    whole, position = at(marked)
    assert whole == editor.texts[name]
    document = types.TextDocumentIdentifier(editor.uri(name))
    return editor.ask(method, kind(text_document=document, position=position, **more))


def renamed(editor: Editor, name: str, marked: str, new: str) -> dict[str, str]:
    """The texts of the files that a renaming of what is at the marked place changes, as they are then."""
    edit = asked(editor, name, marked, types.TEXT_DOCUMENT_RENAME, types.RenameParams, new_name=new)
    assert isinstance(edit, types.WorkspaceEdit)
    uris = {editor.uri(file): file for file in editor.texts}
    return {
        uris[change.text_document.uri]: applied(  # type: ignore[union-attr]
            editor.texts[uris[change.text_document.uri]],
            change.edits,  # type: ignore[union-attr, arg-type]
        )
        for change in edit.document_changes or ()
    }
