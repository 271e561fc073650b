"""Names of a playbook in its files of tests: renamed with it, found from it, and leading to it."""

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from editor import Editor, applied, asked, renamed

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


TABLES = """\
outcomes:
  - {step: start, task: fetch, outcome: {result: [1]}}
cases:
  - case: "{{ row.failing }} fails with {{ row.limit }}"
    table:
      - {failing: store, task: store_task, limit: 1, ends: [store], wanted: {step: store}, how: error}
      - {failing: 'start', task: fetch, limit: 3, ends: [start, store], wanted: {step: start}, how: error}
    payload: {limit: "{{ row.limit }}"}
    outcomes: [{step: "{{ row.failing }}", task: "{{row.task}}", outcome: {status: "{{ row.how }}"}}]
    expect:
      not_run: "{{ row.ends }}"
      error: "{{ row.wanted }}"
      calls: [{step: "{{ row.failing }}", task: "{{ row.task }}"}]
  - case: another
    table: [{failing: book, limit: 4}]
    payload: {limit: "{{ row.limit }}"}
    outcomes: [{step: "{{ row.failing }}", outcome: {status: error}}]
    expect: {steps: [start, store]}
"""


@pytest.fixture
def tables(workspace: Editor) -> Editor:
    workspace.show("orders.test.yaml", TABLES)
    return workspace


@pytest.mark.parametrize(
    ("name", "marked", "pairs"),
    [
        (
            "orders.yaml",
            ORDERS.replace("- step: store", "- step: st‸ore"),
            [
                ("failing: store", "failing: new"),
                ("ends: [store]", "ends: [new]"),
                ("ends: [start, store]", "ends: [start, new]"),
                ("wanted: {step: store}", "wanted: {step: new}"),
                ("steps: [start, store]", "steps: [start, new]"),
            ],
        ),
        (
            "orders.yaml",
            ORDERS.replace("name: fetch", "name: fe‸tch"),
            [
                ("step: start, task: fetch", "step: start, task: new"),
                ("task: fetch, limit", "task: new, limit"),
            ],
        ),
        ("stock.yaml", STOCK.replace("step: book", "step: bo‸ok"), [("failing: book", "failing: new")]),
    ],
)
def test_a_renamed_name_is_another_one_in_the_rows_of_tests(
    tables: Editor, name: str, marked: str, pairs: list[tuple[str, str]]
) -> None:
    wanted = TABLES
    for before, after in pairs:
        assert before in wanted
        wanted = wanted.replace(before, after)
    assert renamed(tables, name, marked, "new")["orders.test.yaml"] == wanted


def test_a_cell_leads_to_what_it_names(tables: Editor) -> None:
    marked = TABLES.replace("failing: 'start'", "failing: 'st‸art'")
    (place,) = asked(tables, "orders.test.yaml", marked, types.TEXT_DOCUMENT_DEFINITION, types.DefinitionParams)  # type: ignore[misc]
    assert (place.uri, place.range.start) == (tables.uri("orders.yaml"), types.Position(6, 10))
    changed = renamed(tables, "orders.test.yaml", TABLES.replace("ends: [store]", "ends: [sto‸re]"), "keep")
    assert "- step: keep" in changed["orders.yaml"] and "failing: keep" in changed["orders.test.yaml"]


@pytest.mark.parametrize(
    "marked",
    [
        TABLES.replace("- {failing: store", "- {fai‸ling: store"),
        TABLES.replace('[{step: "{{ row.failing', '[{step: "{{ row.fai‸ling', 1),
        TABLES.replace('case: "{{ row.failing', 'case: "{{ row.failin‸g'),
    ],
)
def test_a_column_is_renamed_in_its_own_case(tables: Editor, marked: str) -> None:
    (own, other) = TABLES.split("  - case: another")
    own = own.replace("failing:", "broken:").replace("row.failing", "row.broken")
    assert renamed(tables, "orders.test.yaml", marked, "broken") == {
        "orders.test.yaml": f"{own}  - case: another{other}"
    }
    found = asked(tables, "orders.test.yaml", marked, types.TEXT_DOCUMENT_DEFINITION, types.DefinitionParams)
    assert [place.range.start.line + 1 for place in found] == [6, 7]  # type: ignore[attr-defined]


def test_a_column_of_rows_that_cases_share_is_renamed_in_all_of_them(workspace: Editor) -> None:
    text = """\
cases:
  - {case: one, table: &rows [{limit: 1}], payload: {limit: "{{ row.limit }}"}, expect: {status: completed}}
  - {case: two, table: *rows, payload: {limit: "{{ row.limit }}"}, expect: {status: completed}}
"""
    workspace.show("orders.test.yaml", text)
    wanted = text.replace("[{limit", "[{most").replace("row.limit", "row.most")
    assert renamed(workspace, "orders.test.yaml", text.replace("[{limit", "[{li‸mit"), "most") == {
        "orders.test.yaml": wanted
    }


JOINED = """\
cases:
  - case: one
    table: [{kind: ore}]
    expect: {not_run: ["st{{ row.kind }}"]}
"""
DATA = """\
cases:
  - case: one
    table: [{step: store}]
    payload: {limit: "{{ row.step }}"}
    expect: {not_run: ["{{ row.step }}"]}
"""


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (JOINED, "line 4 of orders.test.yaml puts `store` together from the rows of a table: "),
        (DATA, "line 3 of orders.test.yaml has `store` for something else, too: "),
    ],
)
def test_what_a_row_cannot_say_otherwise_is_refused(workspace: Editor, text: str, why: str) -> None:
    workspace.show("orders.test.yaml", text)
    with pytest.raises(JsonRpcException) as refused:
        renamed(workspace, "orders.yaml", ORDERS.replace("- step: store", "- step: st‸ore"), "keep")
    assert str(refused.value).startswith(why)


@pytest.mark.parametrize(
    ("new", "why"),
    [("limit", "the table has a column `limit` already, in line 6"), ("a b", "`a b` is no name of a column: ")],
)
def test_a_column_keeps_a_name_of_its_own(tables: Editor, new: str, why: str) -> None:
    with pytest.raises(JsonRpcException) as refused:
        renamed(tables, "orders.test.yaml", TABLES.replace("- {failing: store", "- {fai‸ling: store"), new)
    assert str(refused.value).startswith(why)
