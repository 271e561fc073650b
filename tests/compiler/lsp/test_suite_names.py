"""Names of a playbook in its files of tests: renamed with it, found from it, and leading to it."""

import pytest
from lsprotocol import types

from editor import Editor, applied, at

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: %s, path: shop/%s}\n"
ORDERS = (
    HEAD % ("orders", "orders")
    + """\
workload: {limit: 3}
keychain: [{name: api, kind: env}]
workflow:
  - step: start
    tool:
      - name: fetch
        kind: http
        url: "https://example.org/{{ workload.limit }}"
        spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {count: 1}}}}]}}
    next: {arcs: [{step: store}]}
  - step: store
    tool: {kind: playbook, path: shop/stock}
"""
)
STOCK = HEAD % ("stock", "stock") + "workflow:\n  - step: book\n    tool: {kind: shell, command: book}\n"
TESTS = """\
payload: {limit: 2}
keychain: {api: a token of tests}
outcomes:
  - {step: book, outcome: {result: {}}}
cases:
  - case: all goes well
    outcomes:
      - {step: start, task: fetch, outcome: {result: [1]}}
    expect:
      steps: [start, store]
      not_run: [start]
      results: {start: {data: 1}}
      ctx: {count: 1}
      calls:
        - {step: start, task: fetch, fields: {method: GET}}
        - {step: store, fields: {path: shop/stock}}
      events: [{event: task.done, step: start, task: fetch, at_most: 1}]
      error: {step: start, task: fetch}
"""


def texts(editor: Editor) -> dict[str, str]:
    return {"orders.yaml": ORDERS, "stock.yaml": STOCK, "orders.test.yaml": TESTS}


@pytest.fixture
def workspace(editor: Editor) -> Editor:
    for name, text in texts(editor).items():
        editor.show(name, text)
    return editor


def asked(editor: Editor, name: str, marked: str, method: str, kind: type, **more: object) -> object:
    whole, position = at(marked)
    assert whole == editor.texts[name]
    document = types.TextDocumentIdentifier(editor.uri(name))
    return editor.ask(method, kind(text_document=document, position=position, **more))


def renamed(editor: Editor, name: str, marked: str, new: str) -> dict[str, str]:
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


@pytest.mark.parametrize(
    ("name", "marked", "old", "new", "changed"),
    [
        ("orders.yaml", ORDERS.replace("- step: store", "- step: st‸ore"), "store", "keep", 2),
        ("orders.yaml", ORDERS.replace("name: fetch", "name: fe‸tch"), "fetch", "bring_in", 4),
        ("orders.yaml", ORDERS.replace("{count: 1}", "{co‸unt: 1}"), "count", "row_count", 1),
        ("orders.yaml", ORDERS.replace("workload: {limit", "workload: {li‸mit"), "limit", "most_rows", 1),
        ("orders.yaml", ORDERS.replace("name: api", "name: a‸pi"), "api", "orders_api", 1),
        ("stock.yaml", STOCK.replace("step: book", "step: bo‸ok"), "book", "reserve", 1),
        ("stock.yaml", STOCK.replace("path: shop/stock", "path: shop/st‸ock"), "shop/stock", "shop/shelf", 1),
    ],
)
def test_a_renamed_name_is_another_one_in_tests_too(
    workspace: Editor, name: str, marked: str, old: str, new: str, changed: int
) -> None:
    tests = renamed(workspace, name, marked, new)["orders.test.yaml"]
    # By hand: as many places of the file of tests mean it, and everything else stays.
    assert tests.count(new) == changed + TESTS.count(new)
    assert tests.replace(new, old) == TESTS


def test_a_name_in_a_test_leads_to_the_playbook_and_renames_it(workspace: Editor) -> None:
    marked = TESTS.replace("{step: start, task: fetch, outcome", "{step: st‸art, task: fetch, outcome")
    (place,) = asked(workspace, "orders.test.yaml", marked, types.TEXT_DOCUMENT_DEFINITION, types.DefinitionParams)  # type: ignore[misc]
    assert (place.uri, place.range.start) == (workspace.uri("orders.yaml"), types.Position(6, 10))
    marked = TESTS.replace("{step: bo", "{step: b‸o")
    (place,) = asked(workspace, "orders.test.yaml", marked, types.TEXT_DOCUMENT_DEFINITION, types.DefinitionParams)  # type: ignore[misc]
    assert place.uri == workspace.uri("stock.yaml")
    marked = TESTS.replace("results: {start", "results: {st‸art")
    with_entry = renamed(workspace, "orders.test.yaml", TESTS.replace("[start, store]", "[start, st‸ore]"), "keep")
    assert "- step: keep" in with_entry["orders.yaml"] and "[start, keep]" in with_entry["orders.test.yaml"]


def test_a_slip_in_a_test_is_found_while_it_is_typed_and_has_a_fix(workspace: Editor) -> None:
    slip = TESTS.replace("steps: [start, store]", "steps: [start, stroe]")
    workspace.show("orders.test.yaml", slip)
    [slipped] = workspace.findings("orders.test.yaml")
    assert (slipped.code, slipped.range.start) == (
        "NL104",
        types.Position(9, 21),
    ) and "did you mean `store`" in slipped.message
    asked_for = types.CodeActionParams(
        types.TextDocumentIdentifier(workspace.uri("orders.test.yaml")), slipped.range, types.CodeActionContext([])
    )
    [action] = workspace.ask(types.TEXT_DOCUMENT_CODE_ACTION, asked_for)  # type: ignore[misc]
    [change] = action.edit.document_changes
    assert applied(slip, change.edits) == TESTS
    # The playbook is another one: what it does not have any more is found in its tests, which nobody touched.
    workspace.show("orders.test.yaml", TESTS)
    assert list(workspace.findings("orders.test.yaml")) == []
    workspace.show("orders.yaml", ORDERS.replace("store", "keep"))
    document = types.TextDocumentIdentifier(workspace.uri("orders.yaml"))
    for _ in range(200):
        if found := workspace.findings("orders.test.yaml"):
            break
        workspace.ask(types.TEXT_DOCUMENT_FOLDING_RANGE, types.FoldingRangeParams(document))
    assert {each.code for each in found} == {"NL104"}
    workspace.show("orders.yaml", ORDERS)


def test_references_reach_into_tests(workspace: Editor) -> None:
    marked = ORDERS.replace("name: fetch", "name: fe‸tch")
    context = types.ReferenceContext(include_declaration=False)
    found = asked(
        workspace, "orders.yaml", marked, types.TEXT_DOCUMENT_REFERENCES, types.ReferenceParams, context=context
    )
    lines = [(place.uri.rpartition("/")[2], place.range.start.line + 1) for place in found]  # type: ignore[attr-defined]
    assert lines == [("orders.test.yaml", line) for line in (8, 15, 17, 18)]
