"""The outline, folds, tokens, lenses and the picture of a file."""

from lsprotocol import types

from editor import Editor
from noetlc.lsp.known import KnownFile
from noetlc.lsp.tokens import TYPES, tokens_in
from noetlc.pipeline import check_source

PLAYBOOK = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: a, path: shop/a}
workload: {city: lisbon}
workflow:
  - step: start
    loop: {in: [1], iterator: item}
    tool:
      - name: ask
        kind: http
        url: "{{ workload.city | upper }}"
      - kind: python
        code: |
          # a comment
          def main(x):
              return {"a": len(x)}
    next: {arcs: [{step: load}]}

  # two lines
  # about the step
  - step: load
    tool:
      kind: postgres
      auth: db
      command: |
        select n from t
        where n > :least and s = '{{ workload.city }}' -- why
      params: {least: 1}
"""


def ask(editor: Editor, method: str, params: type, name: str = "a.yaml") -> object:
    editor.show(name, PLAYBOOK)
    return editor.ask(method, params(types.TextDocumentIdentifier(editor.uri(name))))


def test_the_outline_has_steps_with_their_tasks(editor: Editor) -> None:
    found = ask(editor, types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, types.DocumentSymbolParams)
    tree = [(one.name, [inner.name for inner in one.children or ()]) for one in found]  # type: ignore[attr-defined]
    assert tree == [("workload", ["city"]), ("start", ["item", "ask", "python"]), ("load", ["postgres"])]
    for one in found:  # type: ignore[attr-defined]
        assert one.range.start.line <= one.selection_range.start.line <= one.range.end.line


def test_what_has_several_lines_can_be_folded(editor: Editor) -> None:
    found = ask(editor, types.TEXT_DOCUMENT_FOLDING_RANGE, types.FoldingRangeParams)
    lines = {(one.start_line + 1, one.end_line + 1) for one in found}  # type: ignore[attr-defined]
    # Each step, its tool, the block of code, and the comment above the second step, which is in no fold of the first.
    assert {(6, 17), (8, 16), (13, 16), (19, 20), (21, 28), (22, 28), (25, 27)} <= lines
    assert not [one for one in lines if one[0] == 6 and one[1] > 17]


def test_tokens_of_templates_and_of_embedded_languages() -> None:
    known = KnownFile(check_source("a.yaml", PLAYBOOK.encode()))
    words = {(PLAYBOOK[one.start : one.start + one.length], one.type) for one in tokens_in(known)}
    assert words >= {
        ("workload", "parameter"), ("city", "property"), ("upper", "function"), ("|", "operator"),
        ("# a comment", "comment"), ("def", "keyword"), ("return", "keyword"), ("len", "function"), ('"a"', "string"),
        ("select", "keyword"), ("where", "keyword"), (":least", "parameter"), ("-- why", "comment"),
    }  # fmt: skip


def test_tokens_lie_in_order_and_in_their_lines(editor: Editor) -> None:
    found = ask(editor, types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, types.SemanticTokensParams)
    lines, line, column, ends = PLAYBOOK.split("\n"), 0, 0, (0, 0)
    data = list(found.data)  # type: ignore[attr-defined]
    assert data and len(data) % 5 == 0
    for at in range(0, len(data), 5):
        column = data[at + 1] + (column if data[at] == 0 else 0)
        line += data[at]
        assert (line, column) >= ends
        assert column + data[at + 2] <= len(lines[line])
        assert 0 <= data[at + 3] < len(TYPES)
        ends = (line, column + data[at + 2])


def test_a_playbook_can_be_run_tested_and_drawn(editor: Editor) -> None:
    found = ask(editor, types.TEXT_DOCUMENT_CODE_LENS, types.CodeLensParams)
    assert [one.command.command for one in found] == ["noetl.run", "noetl.test", "noetl.picture"]  # type: ignore[attr-defined]
    assert {one.range.start.line for one in found} == {4}  # type: ignore[attr-defined]


def test_the_picture_is_that_of_the_text(editor: Editor) -> None:
    editor.show("drawn.yaml", PLAYBOOK)
    asked = {"uri": editor.uri("drawn.yaml"), "document": 0, "level": "steps"}
    found = editor.ask("noetlc/picture", asked)
    svg = found.svg  # type: ignore[attr-defined]
    assert svg.startswith("<?xml") and "load" in svg
    editor.show("drawn.yaml", PLAYBOOK.replace("load", "store"))
    again = editor.ask("noetlc/picture", asked)
    assert "store" in again.svg and "load" not in again.svg.replace("workload", "")  # type: ignore[attr-defined]
    assert editor.ask("noetlc/picture", {**asked, "document": 7}) is None
