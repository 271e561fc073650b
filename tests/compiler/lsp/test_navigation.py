"""Definitions, references and other names: of steps, tasks, keys, iterators, and playbooks across files."""

import logging
import re

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from editor import Editor, applied, at
from noetlc.lsp.known import KnownFile
from noetlc.lsp.server import is_no_refusal
from noetlc.lsp.symbols import occurrences_in
from noetlc.pipeline import check_source, compile_source

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: a, path: shop/a}\n"
PLAYBOOK = (
    HEAD
    + """\
workload: {cities: [lisbon]}
keychain: [{name: api, kind: env}]
workflow:
  - step: start
    loop: {in: "{{ workload.cities }}", iterator: town}
    tool:
      - name: ask
        kind: http
        url: "https://example.com/{{ town }}?t={{ iter.town }}"
        headers: {Authorization: "{{ keychain.api }}"}
        spec:
          policy:
            rules:
              - when: "{{ outcome.status == 'error' }}"
                then: {do: jump, to: tell}
              - else: {then: {do: continue, set_ctx: {seen: 1}, set_iter: {page: 1}}}
      - {name: tell, kind: noop, args: {x: "{{ ask.data }}", y: "{{ iter.page }}", z: "{{ ctx.seen }}"}}
    next: {arcs: [{step: load, when: "{{ seen and ctx.seen }}"}]}
  - step: load
    spec: {policy: {cancels: [start]}}
    tool: {kind: noop, args: {x: "{{ start }}", y: "{{ steps.start }}", z: "{{ steps['start'] }}"}}
    next: {arcs: [{step: end}]}
"""
)


def occurrences(name: str, sort: str, text: str = PLAYBOOK) -> list[str]:
    """The lines with a symbol, and what stands there."""
    found = occurrences_in(KnownFile(check_source("a.yaml", text.encode())))
    lines = text.split("\n")
    out = []
    for one in found:
        if (one.symbol.sort, one.symbol.name) == (sort, name):
            assert lines[one.span.line - 1][one.span.column - 1 : one.span.end_column - 1] == name
            out.append(f"{'=' if one.declares else ''}{one.span.line}")
    return out


@pytest.mark.parametrize(
    ("sort", "name", "lines"),
    [
        ("step", "start", "=7 23 24 24 24"),
        ("step", "load", "21 =22"),
        ("task", "ask", "=10 20"),
        ("task", "tell", "18 =20"),
        ("iterator", "town", "=8 12 12"),
        ("ctx", "seen", "=19 20 21 21"),
        ("iter", "page", "=19 20"),
        ("workload", "cities", "=4 8"),
        ("secret", "api", "=5 13"),
        ("playbook", "shop/a", "=3"),
    ],
)
def test_every_occurrence_has_its_place(sort: str, name: str, lines: str) -> None:
    assert occurrences(name, sort) == lines.split()


def test_a_bare_name_is_what_the_evaluator_takes_it_for() -> None:
    # The iterator hides the key of the workload, and the task the step of its name.
    text = HEAD + (
        "workload: {x: 1}\nworkflow:\n  - step: start\n    loop: {in: [1], iterator: x}\n    tool:\n"
        '      - {name: y, kind: noop}\n      - {kind: noop, args: {a: "{{ x }}", b: "{{ y }}"}}\n'
        '    next: {arcs: [{step: y}]}\n  - step: y\n    tool: {kind: noop, args: {a: "{{ x }}"}}\n'
    )
    assert occurrences("x", "iterator", text) == ["=7", "10"]
    assert occurrences("x", "workload", text) == ["=4", "13"]
    assert occurrences("y", "task", text) == ["=9", "10"]
    assert occurrences("y", "step", text) == ["11", "=12"]


def ask(editor: Editor, method: str, name: str, position: types.Position, **more: object) -> object:
    document = types.TextDocumentIdentifier(editor.uri(name))
    kinds = {
        types.TEXT_DOCUMENT_DEFINITION: types.DefinitionParams,
        types.TEXT_DOCUMENT_REFERENCES: types.ReferenceParams,
        types.TEXT_DOCUMENT_PREPARE_RENAME: types.PrepareRenameParams,
        types.TEXT_DOCUMENT_RENAME: types.RenameParams,
        types.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY: types.CallHierarchyPrepareParams,
    }
    return editor.ask(method, kinds[method](text_document=document, position=position, **more))  # type: ignore[arg-type]


def shown(editor: Editor, name: str, text: str) -> types.Position:
    whole, position = at(text)
    editor.show(name, whole)
    return position


def test_the_definition_of_a_step_is_where_its_name_stands(editor: Editor) -> None:
    position = shown(editor, "defined.yaml", PLAYBOOK.replace("steps.start", "steps.st‸art"))
    (place,) = ask(editor, types.TEXT_DOCUMENT_DEFINITION, "defined.yaml", position)  # type: ignore[misc]
    assert (place.uri, place.range.start) == (editor.uri("defined.yaml"), types.Position(6, 10))


def test_references_with_and_without_the_declaration(editor: Editor) -> None:
    position = shown(editor, "used.yaml", PLAYBOOK.replace("iterator: town", "iterator: to‸wn"))
    for declared, count in ((True, 3), (False, 2)):
        context = types.ReferenceContext(declared)
        found = ask(editor, types.TEXT_DOCUMENT_REFERENCES, "used.yaml", position, context=context)
        assert len(found) == count  # type: ignore[arg-type]


def renamed(editor: Editor, name: str, text: str, new: str) -> dict[str, str]:
    """The texts after a renaming, by the URI of their file."""
    edit = ask(editor, types.TEXT_DOCUMENT_RENAME, name, shown(editor, name, text), new_name=new)
    assert isinstance(edit, types.WorkspaceEdit)
    texts = {editor.uri(file): typed for file, typed in editor.texts.items()}
    return {
        change.text_document.uri: applied(texts[change.text_document.uri], change.edits)  # type: ignore[union-attr]
        for change in edit.document_changes or ()
    }


@pytest.mark.parametrize(
    ("mark", "name", "new"),
    [
        ("- step: lo‸ad", "load", "store"),
        ("name: as‸k", "ask", "fetch"),
        ("iterator: to‸wn", "town", "city"),
        ("{se‸en: 1}", "seen", "known"),
        ("{pa‸ge: 1}", "page", "sheet"),
        ("{cit‸ies:", "cities", "places"),
        ("name: a‸pi", "api", "token"),
    ],
)
def test_a_renamed_playbook_means_the_same(editor: Editor, mark: str, name: str, new: str) -> None:
    text = PLAYBOOK.replace(mark.replace("‸", ""), mark, 1)
    (after,) = renamed(editor, "renamed.yaml", text, new).values()
    # Each of these names is a word of its own in the text, and stands for nothing else there.
    assert after == re.sub(rf"\b{name}\b", new, PLAYBOOK)
    before, now = (compile_source("a.yaml", each.encode()) for each in (PLAYBOOK, after))
    assert [one.code for one in now.diagnostics] == [one.code for one in before.diagnostics]
    assert now.plans


def test_an_entry_that_is_named_can_have_another_name(editor: Editor) -> None:
    text = PLAYBOOK.replace("workload:", "executor: {spec: {entry_step: start}}\nworkload:", 1)
    (after,) = renamed(editor, "entry.yaml", text.replace("- step: start", "- step: st‸art"), "begin").values()
    assert after == re.sub(r"\bstart\b", "begin", text)
    # `begin-here` would be a subtraction in `{{ start }}`.
    with pytest.raises(JsonRpcException, match="cannot stand in an expression"):
        renamed(editor, "entry.yaml", text.replace("- step: start", "- step: st‸art"), "begin-here")


@pytest.mark.parametrize(
    ("mark", "new", "reason"),
    [
        ("- step: st‸art", "begin", "begins at `start` by its name"),
        ("- step: lo‸ad", "start", "is a step already"),
        ("- step: lo‸ad", "end", "ends a token"),
        ("- step: lo‸ad", "no", "no name that can stand without quotes"),
        ("- step: lo‸ad", "ctx", "is a scope of expressions"),
        ("name: as‸k", "ask-it", "cannot stand in an expression"),
        ("name: as‸k", "town", "is an iterator already"),
        ("iterator: to‸wn", "a b", "no name"),
        ("{se‸en: 1}", "load", "is a step already"),
    ],
)
def test_a_name_that_would_change_a_meaning_is_refused(editor: Editor, mark: str, new: str, reason: str) -> None:
    position = shown(editor, "refused.yaml", PLAYBOOK.replace(mark.replace("‸", ""), mark, 1))
    with pytest.raises(JsonRpcException) as refused:
        ask(editor, types.TEXT_DOCUMENT_RENAME, "refused.yaml", position, new_name=new)
    assert reason in str(refused.value)


@pytest.mark.parametrize(
    ("code", "is_refused"),
    [
        ("result = context['load']", True),
        ("def main(load):\\n    return load", True),
        ("load = 1\\nresult = load", False),
        ("result = context['start']", False),
    ],
)
def test_a_name_that_python_code_asks_for_is_not_changed(editor: Editor, code: str, is_refused: bool) -> None:
    step = f'  - step: last\n    tool: {{kind: python, code: "{code}"}}\n'
    text = PLAYBOOK.replace("step: end", "step: last").replace("- step: load", "- step: lo‸ad") + step
    if is_refused:
        with pytest.raises(JsonRpcException, match="Python code in line 27 asks for `load`"):
            renamed(editor, "code.yaml", text, "store")
    else:
        assert renamed(editor, "code.yaml", text, "store")


def test_only_names_can_be_renamed(editor: Editor) -> None:
    position = shown(editor, "plain.yaml", PLAYBOOK.replace("https://exa", "https://e‸xa"))
    assert ask(editor, types.TEXT_DOCUMENT_PREPARE_RENAME, "plain.yaml", position) is None
    position = shown(editor, "plain.yaml", PLAYBOOK.replace("{{ town }}", "{{ to‸wn }}"))
    found = ask(editor, types.TEXT_DOCUMENT_PREPARE_RENAME, "plain.yaml", position)
    assert found.placeholder == "town"  # type: ignore[attr-defined]


CALLER = HEAD.replace("shop/a", "shop/caller") + (
    "workflow:\n  - step: start\n    tool: {kind: playbook, path: shop/child}\n"
)
CHILD = HEAD.replace("shop/a", "shop/child") + "workflow:\n  - step: start\n    tool: {kind: noop}\n"


def test_a_child_is_found_used_and_renamed_across_files(editor: Editor) -> None:
    editor.show("child.yaml", CHILD)
    position = shown(editor, "caller.yaml", CALLER.replace("path: shop/ch", "path: shop/‸ch"))
    (place,) = ask(editor, types.TEXT_DOCUMENT_DEFINITION, "caller.yaml", position)  # type: ignore[misc]
    assert (place.uri, place.range.start.line) == (editor.uri("child.yaml"), 2)
    position = shown(editor, "child.yaml", CHILD.replace("path: shop/ch", "path: shop/‸ch"))
    context = types.ReferenceContext(False)
    (use,) = ask(editor, types.TEXT_DOCUMENT_REFERENCES, "child.yaml", position, context=context)  # type: ignore[misc]
    assert use.uri == editor.uri("caller.yaml")
    after = renamed(editor, "child.yaml", CHILD.replace("path: shop/ch", "path: shop/‸ch"), "shop/kid")
    assert after == {
        editor.uri("child.yaml"): CHILD.replace("shop/child", "shop/kid"),
        editor.uri("caller.yaml"): CALLER.replace("shop/child", "shop/kid"),
    }


def test_who_calls_whom(editor: Editor) -> None:
    editor.show("child.yaml", CHILD)
    position = shown(editor, "caller.yaml", CALLER.replace("path: shop/ch", "path: shop/‸ch"))
    (child,) = ask(editor, types.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY, "caller.yaml", position)  # type: ignore[misc]
    assert child.name == "shop/child"
    (call,) = editor.ask(types.CALL_HIERARCHY_INCOMING_CALLS, types.CallHierarchyIncomingCallsParams(child))  # type: ignore[misc]
    assert call.from_.name == "shop/caller"
    asked = types.CallHierarchyOutgoingCallsParams(call.from_)
    (out,) = editor.ask(types.CALL_HIERARCHY_OUTGOING_CALLS, asked)  # type: ignore[misc]
    assert out.to.name == "shop/child"
    assert out.from_ranges[0].start.line == 5


def test_a_refused_question_is_no_crash_in_the_log_of_the_server(editor: Editor) -> None:
    position = shown(editor, "refused.yaml", PLAYBOOK.replace("step: start", "step: st‸art", 1))
    with pytest.raises(JsonRpcException) as refused:
        ask(editor, types.TEXT_DOCUMENT_RENAME, "refused.yaml", position, new_name="no name at all")

    def record(error: Exception) -> logging.LogRecord:
        return logging.LogRecord("pygls", logging.ERROR, "", 1, "", (), (type(error), error, None))

    assert not is_no_refusal(record(refused.value)) and is_no_refusal(record(ValueError()))
