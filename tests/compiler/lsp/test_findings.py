"""Findings as an editor shows them: while one types, of broken texts, of callers; and their fixes."""

from pathlib import Path

from lsprotocol import types

from editor import Editor, applied, at, editor_in
from noetlc.cli.inspection import found_in

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: a, path: shop/a}\n"
MISSPELT = (
    HEAD + "workflow:\n  - step: start\n    tool: {kind: noop}\n    next: {arcs: [{step: shwo}]}\n  - step: show\n"
)


def codes(found: object) -> list[str]:
    return [str(one.code) for one in found]  # type: ignore[attr-defined]


def test_findings_have_their_place_their_help_and_their_severity(editor: Editor) -> None:
    editor.show("a.yaml", MISSPELT)
    (unknown, *_) = editor.findings("a.yaml")
    assert unknown.code == "NL203"
    assert unknown.severity is types.DiagnosticSeverity.Error
    assert unknown.source == "noetlc"
    assert "did you mean `show`?" in unknown.message
    assert (unknown.range.start.line, unknown.range.start.character) == (6, 25)
    assert unknown.range.end.character == 29


def test_columns_are_counted_in_utf_16(editor: Editor) -> None:
    text = HEAD + 'workflow:\n  - {desc: "🦊🦊", step: start, wrong: 1}\n'
    editor.show("fox.yaml", text)
    (found,) = editor.findings("fox.yaml")
    line = text.split("\n")[found.range.start.line]
    units = line.encode("utf-16-le")
    marked = units[2 * found.range.start.character : 2 * found.range.end.character]
    assert marked.decode("utf-16-le") == "wrong"


def test_what_is_mended_is_told_no_more(editor: Editor) -> None:
    editor.show("mended.yaml", MISSPELT)
    assert "NL203" in codes(editor.findings("mended.yaml"))
    editor.show("mended.yaml", MISSPELT.replace("shwo", "show"))
    assert codes(editor.findings("mended.yaml")) == []


def test_a_broken_text_keeps_what_still_holds(editor: Editor) -> None:
    text = HEAD + (
        "workflow:\n  - step: start\n    tool: {kind: noop}\n    next: {arcs: [{step: shwo}]}\n"
        "  - step: show\n    desc: fine\n    tool: {kind: nop}\n"
    )
    editor.show("broken.yaml", text)
    before = editor.findings("broken.yaml")
    assert set(codes(before)) == {"NL203", "NL107"}
    editor.show("broken.yaml", text.replace("desc: fine", 'desc: "fine'))
    now = editor.findings("broken.yaml")
    assert "NL003" in codes(now)
    assert [one for one in now if one.code in ("NL203", "NL107")] == list(before)


def test_what_stood_in_a_broken_line_is_not_held(editor: Editor) -> None:
    text = HEAD + "workflow:\n  - step: start\n    tool: {kind: nop}\n"
    editor.show("line.yaml", text)
    assert codes(editor.findings("line.yaml")) == ["NL107"]
    editor.show("line.yaml", text.replace("nop}", "nop"))
    assert codes(editor.findings("line.yaml")) == ["NL003"]


def test_a_comment_takes_a_finding_back(editor: Editor) -> None:
    text = HEAD + "workflow:\n  - step: start\n  - step: lone  # noetl: ignore[NL601] started by hand\n"
    editor.show("ignored.yaml", text)
    assert codes(editor.findings("ignored.yaml")) == []


def test_the_configuration_of_the_folder_counts(tmp_path: Path) -> None:
    (tmp_path / "noetlc.toml").write_text('ignore = ["NL601"]\n')
    with editor_in(tmp_path) as editor:
        editor.show("a.yaml", HEAD + "workflow:\n  - step: start\n  - step: lone\n")
        assert codes(editor.findings("a.yaml")) == []


def test_a_caller_is_looked_at_again_when_its_child_changes(editor: Editor) -> None:
    child = (
        HEAD.replace("shop/a", "shop/child") + "workload: {n: 0}\nworkflow:\n  - step: start\n    tool: {kind: noop}\n"
    )
    caller = HEAD + "workflow:\n  - step: start\n    tool: {kind: playbook, path: shop/child, args: {n: 1}}\n"
    editor.show("child.yaml", child)
    editor.show("caller.yaml", caller)
    assert codes(editor.findings("caller.yaml")) == []
    editor.show("child.yaml", child.replace("kind: noop", "kind: nop"))
    assert codes(editor.findings("child.yaml")) == ["NL107"]
    editor.show("caller.yaml", caller + "    desc: typed on\n")
    assert codes(editor.findings("caller.yaml")) == ["NL691"]
    editor.show("child.yaml", child)
    assert codes(editor.findings("child.yaml")) == []


def quick_fixes(editor: Editor, name: str, position: types.Position) -> list[types.CodeAction]:
    document = types.TextDocumentIdentifier(editor.uri(name))
    asked = types.CodeActionParams(document, types.Range(position, position), types.CodeActionContext([]))
    return list(editor.ask(types.TEXT_DOCUMENT_CODE_ACTION, asked))  # type: ignore[call-overload]


def edits_of(action: types.CodeAction) -> list[types.TextEdit]:
    assert action.edit is not None and action.edit.document_changes is not None
    (change,) = action.edit.document_changes
    assert isinstance(change, types.TextDocumentEdit)
    return list(change.edits)  # type: ignore[arg-type]


def test_a_fix_is_a_code_action_at_its_finding(editor: Editor) -> None:
    text, position = at(MISSPELT.replace("shwo", "sh‸wo"))
    editor.show("fixed.yaml", text)
    (action,) = quick_fixes(editor, "fixed.yaml", position)
    assert action.title == "write `show`"
    assert action.kind == types.CodeActionKind.QuickFix
    # The name is a guess, so that no editor applies it by itself.
    assert action.is_preferred is False
    assert action.diagnostics and action.diagnostics[0].code == "NL203"
    assert applied(text, edits_of(action)) == MISSPELT.replace("shwo", "show")
    assert quick_fixes(editor, "fixed.yaml", types.Position(0, 0)) == []


def test_a_migration_is_a_code_action(editor: Editor) -> None:
    old, position = at(HEAD + "workflow:\n  - step: start\n    tool: {kind: noop}\n    next: e‸nd\n  - step: end\n")
    editor.show("old.yaml", old)
    (action,) = quick_fixes(editor, "old.yaml", position)
    editor.show("old.yaml", applied(old, edits_of(action)))
    assert not [code for code in codes(editor.findings("old.yaml")) if code.startswith("NL9")]


def test_all_safe_fixes_at_once(editor: Editor) -> None:
    text = (
        HEAD + "workflow:\n  - step: start\n    tool: {kind: noop}\n    next: {arcs: [{step: shwo}]}\n  -step: show\n"
    )
    text = text.replace("  -step", "  - step").replace("noop}", "http, url: {{ workload.a }}}")
    editor.show("all.yaml", text)
    document = types.TextDocumentIdentifier(editor.uri("all.yaml"))
    everything = types.Range(types.Position(0, 0), types.Position(99, 0))
    context = types.CodeActionContext([], only=["source.fixAll"])
    (action,) = editor.ask(  # type: ignore[misc]
        types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionParams(document, everything, context)
    )
    assert action.kind == "source.fixAll.noetlc"
    after = applied(text, edits_of(action))
    assert '"{{ workload.a }}"' in after
    # The misspelt name is a guess, which stays.
    assert "shwo" in after


def test_a_closed_file_has_no_findings(editor: Editor) -> None:
    editor.show("closed.yaml", MISSPELT)
    assert editor.findings("closed.yaml")
    document = types.TextDocumentIdentifier(editor.uri("closed.yaml"))
    editor.client.text_document_did_close(types.DidCloseTextDocumentParams(document))
    editor._versions["closed.yaml"] = None  # type: ignore[assignment]
    assert list(editor.findings("closed.yaml")) == []


def test_findings_are_those_of_lint(editor: Editor) -> None:
    editor.show("same.yaml", MISSPELT)
    expected = [one.diagnostic.code for one in found_in("same.yaml", MISSPELT.encode()).findings]
    assert codes(editor.findings("same.yaml")) == expected


def test_other_yaml_has_no_findings(editor: Editor) -> None:
    editor.show("compose.yaml", "services: {web: {image: x}}\n")
    assert list(editor.findings("compose.yaml")) == []
    editor.show("compose.yaml", "services: {web: {image: x}}\n" + HEAD)
    assert "NL101" in codes(editor.findings("compose.yaml"))
