"""The questions about names and about the whole of a file: a session's texts in, answers of the protocol out."""

from lsprotocol import types
from pygls import uris
from pygls.exceptions import JsonRpcInvalidParams

from noetlc.lsp.actions import edit_of
from noetlc.lsp.carried import CarriedKey
from noetlc.lsp.cursor import touches
from noetlc.lsp.files_index import FileIndex, NamedPlaybook, PlaybookCall
from noetlc.lsp.known import KnownFile
from noetlc.lsp.lenses import lenses_of
from noetlc.lsp.navigation import RENAMED, Refused, alike, line_of_code, occurrence_at, refusal
from noetlc.lsp.outline import folds_of, symbols_of
from noetlc.lsp.picture import picture_of
from noetlc.lsp.positions import Positions
from noetlc.lsp.session import EditorSession, OpenFile
from noetlc.lsp.suite_names import NamedSuite, SuiteName, declared, is_suite
from noetlc.lsp.suite_rows import RowColumn, column_refusal
from noetlc.lsp.suite_rows import alike as alike_columns
from noetlc.lsp.symbols import Occurrence, Symbol
from noetlc.lsp.tokens import encoded, tokens_in

PICTURE = "noetlc/picture"
"""The request for a picture: `{uri, document, level}` → `{svg}`, null where the file has no such playbook."""


async def definition(session: EditorSession, params: types.DefinitionParams) -> list[types.Location]:
    """The places that declare what stands at a place."""
    if (column := _column_at(session, params.text_document.uri, params.position)) is not None:
        return _column_places(session, params.text_document.uri, *column, declaring=True)
    found = await _symbol_at(session, params.text_document.uri, params.position)
    return [] if found is None else await _places(session, *found, declaring=True)


async def references(session: EditorSession, params: types.ReferenceParams) -> list[types.Location]:
    """The places that use what stands at a place, with those that declare it where they are asked for."""
    declaring = None if params.context.include_declaration else False
    if (column := _column_at(session, params.text_document.uri, params.position)) is not None:
        return _column_places(session, params.text_document.uri, *column, declaring=declaring)
    found = await _symbol_at(session, params.text_document.uri, params.position)
    if found is None:
        return []
    return await _places(session, *found, declaring=declaring)


async def prepare_rename(
    session: EditorSession, params: types.PrepareRenameParams
) -> types.PrepareRenamePlaceholder | None:
    """The name at a place that can be changed, and its range."""
    if (column := _column_at(session, params.text_document.uri, params.position)) is not None:
        where = Positions(column[0].source, session.encoding).range(column[1].span)
        return types.PrepareRenamePlaceholder(where, column[1].name)
    found = await _symbol_at(session, params.text_document.uri, params.position)
    if found is None or found[1].symbol.sort not in RENAMED:
        return None
    one, occurrence = found
    if (carried := _carried_at(session, params.text_document.uri, params.position)) is not None:
        at = _at(session, session.index.files()[carried.file])
        return types.PrepareRenamePlaceholder(at.range(carried.span), carried.name)
    if (asked := _name_in_suite(session, params.text_document.uri, params.position)) is not None:
        at = Positions(asked[0].source, session.encoding)
        return types.PrepareRenamePlaceholder(at.range(asked[1].span), occurrence.symbol.name)
    return types.PrepareRenamePlaceholder(session.positions(one).range(occurrence.span), occurrence.symbol.name)


async def rename(session: EditorSession, params: types.RenameParams) -> types.WorkspaceEdit | None:
    """Another name for what stands at a place, wherever it is used; what would change a meaning is refused."""
    if (column := _column_at(session, params.text_document.uri, params.position)) is not None:
        if why := column_refusal(column[0].columns, column[1], params.new_name):
            raise JsonRpcInvalidParams(why)
        places = _column_places(session, params.text_document.uri, *column, declaring=None)
        return _renamed(session, places, params.new_name)
    found = await _symbol_at(session, params.text_document.uri, params.position)
    if found is None:
        return None
    one, occurrence = found
    known = await session.known(one)
    view = known.view_at(occurrence.span.line) if known is not None else None
    has_entry = view is not None and view.playbook.executor.entry_step is not None
    refused = refusal(await session.occurrences(one), occurrence.symbol, params.new_name, has_entry=has_entry)
    if refused is None and known is not None and (line := line_of_code(known, occurrence.symbol)):
        refused = Refused(f"Python code in line {line} asks for `{occurrence.symbol.name}`: it cannot be renamed there")
    if occurrence.symbol.sort == "playbook" and any(session.index.named(params.new_name)):
        refused = Refused(f"there is a playbook `{params.new_name}` already")
    if refused is None and (path := _path_of_key(known, occurrence.symbol)):
        why = session.carried.why_kept(one.name, path, occurrence.symbol.name, params.new_name)
        refused = Refused(why) if why else None
    if refused is None and (where := await _of_several(session, one, occurrence.symbol)):
        refused = Refused(f"{where} means the task `{occurrence.symbol.name}` of several steps: say there of which")
    if refused is None and (why := _in_rows(session, one, occurrence.symbol)):
        refused = Refused(why)
    if refused is not None:
        raise JsonRpcInvalidParams(refused.reason)
    return _renamed(session, await _places(session, one, occurrence, declaring=None), params.new_name)


def _renamed(session: EditorSession, places: list[types.Location], new: str) -> types.WorkspaceEdit:
    # One edit a file with the version that it was made for: an editor takes all files or none.
    changes: dict[str, list[types.TextEdit]] = {}
    for place in places:
        changes.setdefault(place.uri, []).append(types.TextEdit(place.range, new))
    edits = [edit_of(uri, _version(session, uri), inner).document_changes or [] for uri, inner in changes.items()]
    return types.WorkspaceEdit(document_changes=[change for edit in edits for change in edit])


async def document_symbols(session: EditorSession, params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
    """The outline of a file."""
    found = await _known(session, params.text_document.uri)
    return symbols_of(found[1], session.positions(found[0])) if found is not None else []


async def folding_ranges(session: EditorSession, params: types.FoldingRangeParams) -> list[types.FoldingRange]:
    """The ranges that can be folded."""
    found = await _known(session, params.text_document.uri)
    return folds_of(found[1]) if found is not None else []


async def semantic_tokens(session: EditorSession, params: types.SemanticTokensParams) -> types.SemanticTokens:
    """The tokens of templates and embedded languages."""
    found = await _known(session, params.text_document.uri)
    return types.SemanticTokens(encoded(tokens_in(found[1]), session.positions(found[0])) if found is not None else [])


async def code_lenses(session: EditorSession, params: types.CodeLensParams) -> list[types.CodeLens]:
    """The commands for each playbook of a file."""
    found = await _known(session, params.text_document.uri)
    return lenses_of(found[1], found[0].uri, session.positions(found[0])) if found is not None else []


async def prepare_calls(
    session: EditorSession, params: types.CallHierarchyPrepareParams
) -> list[types.CallHierarchyItem]:
    """The playbook that is called at a place, else the one around it."""
    found = await _symbol_at(session, params.text_document.uri, params.position)
    if found is not None and found[1].symbol.sort == "playbook":
        return [_item(session, *each) for each in session.index.named(found[1].symbol.name)]
    one = session.opened.get(params.text_document.uri)
    index = session.index.files().get(one.name) if one is not None else None
    line = params.position.line + 1
    # The nearest document that begins above the cursor is the one around it: documents follow each other.
    above = [each for each in (index.playbooks if index is not None else ()) if each.document.line <= line]
    return [_item(session, one.name, index, above[-1])] if one is not None and index is not None and above else []


def incoming_calls(
    session: EditorSession, params: types.CallHierarchyIncomingCallsParams
) -> list[types.CallHierarchyIncomingCall]:
    """Who calls a playbook."""
    found: dict[tuple[str, str], tuple[types.CallHierarchyItem, list[types.Range]]] = {}
    for name, index, call in session.index.calls(params.item.name):
        for caller in (each for each in index.playbooks if each.path == call.caller):
            found.setdefault((name, caller.path), (_item(session, name, index, caller), []))[1].append(
                _range(session, index, call)
            )
    return [types.CallHierarchyIncomingCall(item, ranges) for item, ranges in found.values()]


def outgoing_calls(
    session: EditorSession, params: types.CallHierarchyOutgoingCallsParams
) -> list[types.CallHierarchyOutgoingCall]:
    """The playbooks that a playbook calls."""
    found: dict[tuple[str, str], tuple[types.CallHierarchyItem, list[types.Range]]] = {}
    for index in session.index.files().values():
        for call in (each for each in index.calls if each.caller == params.item.name):
            for name, other, named in session.index.named(call.path):
                found.setdefault((name, named.path), (_item(session, name, other, named), []))[1].append(
                    _range(session, index, call)
                )
    return [types.CallHierarchyOutgoingCall(item, ranges) for item, ranges in found.values()]


async def picture(session: EditorSession, params: object) -> dict[str, str] | None:
    """The picture of a playbook as the editor has it."""
    found = await _known(session, str(getattr(params, "uri", "")))
    if found is None:
        return None
    # A request of our own: pygls gives its parameters as an object without a type.
    number, level = getattr(params, "document", 0), getattr(params, "level", "steps")
    svg = await session.in_thread(lambda known: picture_of(known, int(number), str(level)), found[1])
    return {"svg": svg} if svg is not None else None


async def _known(session: EditorSession, uri: str) -> tuple[OpenFile, KnownFile] | None:
    one = session.opened.get(uri)
    known = await session.known(one) if one is not None else None
    return (one, known) if one is not None and known is not None else None


async def _symbol_at(session: EditorSession, uri: str, position: types.Position) -> tuple[OpenFile, Occurrence] | None:
    """The symbol at a place: its file, and the occurrence there; of a name in a file of tests the playbook's file, and
    where it is declared.
    """
    one = session.opened.get(uri)
    if one is None:
        return None
    if is_suite(one.name):
        return await _symbol_of_suite(session, uri, position)
    found = occurrence_at(await session.occurrences(one), *session.positions(one).place(position))
    if found is not None:
        return one, found
    carried = _carried_at(session, uri, position)
    return await _of_child(session, carried) if carried is not None else None


def _carried_at(session: EditorSession, uri: str, position: types.Position) -> CarriedKey | None:
    """The key at a place that a call brings to its child."""
    one = session.opened.get(uri)
    index = session.index.files().get(one.name) if one is not None else None
    if one is None or index is None:
        return None
    return session.carried.at(one.name, *_at(session, index).place(position))


async def _of_child(session: EditorSession, carried: CarriedKey) -> tuple[OpenFile, Occurrence] | None:
    """Where the child declares a key that a call brings."""
    for file, path in session.carried.children(carried.file, carried.call):
        one = _file(session, file)
        known = await session.known(one) if one is not None else None
        if one is None or known is None:
            continue
        for each in await session.occurrences(one):
            named = (each.symbol.sort, each.symbol.name, each.declares) == ("workload", carried.name, True)
            if named and _path_of_key(known, each.symbol) == path:
                return one, each
    return None


def _path_of_key(known: KnownFile | None, symbol: Symbol) -> str:
    """The path of the playbook that a key of a workload is of; "" of any other symbol."""
    if known is None or symbol.sort != "workload" or symbol.document >= len(known.documents):
        return ""
    return known.documents[symbol.document][1].playbook.path


async def _places(
    session: EditorSession, one: OpenFile, occurrence: Occurrence, *, declaring: bool | None
) -> list[types.Location]:
    """The places of a symbol: in its file, of a playbook in all files."""
    symbol = occurrence.symbol
    if symbol.sort == "playbook":
        return list(_playbook_places(session, symbol, declaring=declaring))
    found = alike(await session.occurrences(one), symbol, declaring=declaring)
    at = session.positions(one)  # of the text that the occurrences are of: another one may have come meanwhile
    spans = dict.fromkeys(each.span for each in found)
    places = [types.Location(one.uri, at.range(span)) for span in spans]
    if declaring:
        return places
    path = _path_of_key(await session.known(one), symbol)
    carried = dict.fromkeys((each.file, each.span) for each in session.carried.of_key(one.name, path, symbol.name))
    files = session.index.files()
    places += [types.Location(_uri(session, file), _at(session, files[file]).range(span)) for file, span in carried]
    return [*places, *_places_in_suites(session, one.name, symbol)]


def _places_in_suites(session: EditorSession, file: str, symbol: Symbol) -> list[types.Location]:
    # A cell of a table is one place, however often its case uses it.
    places = dict.fromkeys((name, each.span) for name, _, each in session.suites.uses(file, symbol) if not each.joined)
    suites = session.suites.suites()
    return [
        types.Location(_uri(session, name), Positions(suites[name].source, session.encoding).range(span))
        for name, span in places
    ]


def _in_rows(session: EditorSession, one: OpenFile, symbol: Symbol) -> str:
    """Why a symbol cannot have another name in the tables of files of tests; "" where it can."""
    uses = [*session.suites.uses(one.name, symbol)]
    known = {(name, each) for name, _, each in uses}
    for name, suite, each in uses:
        where = f"line {each.span.line} of {name.rpartition('/')[2]}"
        if each.joined:
            return (
                f"{where} puts `{symbol.name}` together from the rows of a table: write it there as one value of a row"
            )
        if any(other.span == each.span and (name, other) not in known for other in suite.names):
            return f"{where} has `{symbol.name}` for something else, too: give the rows a column for each"
    return ""


def _column_at(session: EditorSession, uri: str, position: types.Position) -> tuple[NamedSuite, RowColumn] | None:
    """The column of a table at a place of a file of tests."""
    if (at := _place_in_suite(session, uri, position)) is None:
        return None
    suite, place = at
    found = next((each for each in suite.columns if touches(each.span, *place)), None)
    return (suite, found) if found is not None else None


def _place_in_suite(
    session: EditorSession, uri: str, position: types.Position
) -> tuple[NamedSuite, tuple[int, int]] | None:
    """The line and column of a place in a file of tests, with the file; None in any other."""
    one = session.opened.get(uri)
    suite = session.suites.suites().get(one.name) if one is not None and is_suite(one.name) else None
    return None if suite is None else (suite, Positions(suite.source, session.encoding).place(position))


def _column_places(
    session: EditorSession, uri: str, suite: NamedSuite, column: RowColumn, *, declaring: bool | None
) -> list[types.Location]:
    at = Positions(suite.source, session.encoding)
    found = [each for each in alike_columns(suite.columns, column) if declaring in (None, each.declares)]
    return [types.Location(uri, at.range(span)) for span in dict.fromkeys(each.span for each in found)]


async def _of_several(session: EditorSession, one: OpenFile, symbol: Symbol) -> str:
    """The place in a file of tests that means a task of several steps, as it names none; "" where there is none."""
    if symbol.sort != "task":
        return ""
    alike_ = {each.symbol for each in await session.occurrences(one) if each.symbol.name == symbol.name}
    if sum(each.sort == "task" for each in alike_) < 2:
        return ""
    found = session.suites.uses(one.name, symbol)
    places = [(name.rpartition("/")[2], each.span.line) for name, _, each in found if not each.owner]
    return next((f"line {line} of {name}" for name, line in places), "")


def _name_in_suite(session: EditorSession, uri: str, position: types.Position) -> tuple[NamedSuite, SuiteName] | None:
    """The name at a place of a file of tests."""
    if (at := _place_in_suite(session, uri, position)) is None:
        return None
    suite, place = at
    # Of a cell the name is meant, and not what else it is used for.
    named = (each for each in suite.names if each.sort and not each.joined)
    found = next((each for each in named if touches(each.span, *place)), None)
    return (suite, found) if found is not None else None


async def _symbol_of_suite(
    session: EditorSession, uri: str, position: types.Position
) -> tuple[OpenFile, Occurrence] | None:
    if (asked := _name_in_suite(session, uri, position)) is None:
        return None
    suite, name = asked
    if name.sort == "playbook":
        files = [file for file, _, _ in session.index.named(name.name)]
    else:
        files = session.suites.files_for(suite, name)
    for file in files:
        one = _file(session, file)
        found = declared(await session.occurrences(one), name) if one is not None else None
        if one is not None and found is not None:
            return one, found
    return None


def _playbook_places(session: EditorSession, symbol: Symbol, *, declaring: bool | None) -> list[types.Location]:
    found = []
    if declaring is not False:
        found += [(name, index, each.span) for name, index, each in session.index.named(symbol.name)]
    if declaring is not True:
        found += [(name, index, each.span) for name, index, each in session.index.calls(symbol.name)]
    places = [types.Location(_uri(session, name), _at(session, index).range(span)) for name, index, span in found]
    return places if declaring else [*places, *_places_in_suites(session, "", symbol)]


def _file(session: EditorSession, name: str) -> OpenFile | None:
    """A file of the project, as the editor has it or as it is on disk."""
    if (shown := next((one for one in session.opened.values() if one.name == name), None)) is not None:
        return shown
    text = session.project.texts().get(name)
    return OpenFile(_uri(session, name), name, 0, text) if text is not None else None


def _item(session: EditorSession, name: str, index: FileIndex, one: NamedPlaybook) -> types.CallHierarchyItem:
    at = _at(session, index)
    return types.CallHierarchyItem(
        one.path, types.SymbolKind.Module, _uri(session, name), at.range(one.document), at.range(one.span)
    )


def _range(session: EditorSession, index: FileIndex, call: PlaybookCall) -> types.Range:
    return _at(session, index).range(call.span)


def _at(session: EditorSession, index: FileIndex) -> Positions:
    return Positions(index.source, session.encoding)


def _uri(session: EditorSession, name: str) -> str:
    """The URI of a file, as the editor writes it where it has the file open."""
    # Two URIs may name one file (`%20`, the case of a drive); with another one the editor would open the file twice.
    shown = next((one.uri for one in session.opened.values() if one.name == name), None)
    return shown or uris.from_fs_path(name) or name


def _version(session: EditorSession, uri: str) -> int | None:
    one = session.opened.get(uri)
    return one.version if one is not None else None
