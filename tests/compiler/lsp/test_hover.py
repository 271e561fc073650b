"""Explanations: of keys, of names in expressions, and of steps by what is proved of them."""

import pytest
from lsprotocol import types

from editor import Editor, at

PLAYBOOK = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: a, path: shop/a}
workload: {city: lisbon}
workflow:
  - step: start
    desc: where it begins
    tool: {kind: http, url: "{{ workload.city }}"}
    next: {spec: {mode: inclusive}, arcs: [{step: one}, {step: two}]}
  - step: one
    tool: {kind: noop, args: {x: "{{ start.status_code }}"}}
    next: {arcs: [{step: last}]}
  - step: two
    tool: {kind: noop}
    next: {arcs: [{step: last}]}
  - step: last
    spec: {policy: {join: any}}
    tool: {kind: noop}
"""


def hover(editor: Editor, name: str, text: str) -> str:
    whole, position = at(text)
    editor.show(name, whole)
    asked = types.HoverParams(types.TextDocumentIdentifier(editor.uri(name)), position)
    found = editor.ask(types.TEXT_DOCUMENT_HOVER, asked)
    if found is None:
        return ""
    assert isinstance(found, types.Hover) and isinstance(found.contents, types.MarkupContent)
    return found.contents.value


@pytest.mark.parametrize(
    ("where", "here", "said"),
    [
        ("workload:", "work‸load:", "Inputs with their defaults."),
        ("mode: incl", "mo‸de: incl", "all that match, in parallel (a fork)"),
        ("url:", "u‸rl:", "**url**: "),
        ("workload.city", "work‸load.city", "the inputs of the execution"),
        ("workload.city", "workload.ci‸ty", "**workload.city**: a key of the workload"),
        ("start.status_code", "st‸art.status_code", "the result of step `start`"),
        ("- step: start", "- step: st‸art", "where it begins"),
        ("- step: start", "- step: st‸art", "Runs at most once."),
        # Each branch brings a token of its own, and the last step joins none of them.
        ("- step: last", "- step: la‸st", "Runs at most 2 times."),
        ("- step: one", "- step: o‸ne", "Can run beside `two`, `last`."),
        (
            "{step: last}",
            "{step: last, when: \"{{ event.error.code == 'http.st‸atus' }}\"}",
            "**http.status**: The answer has",
        ),
        (
            "{step: last}",
            "{step: last, when: \"{{ event.error.code in ['a', 'time‸out'] }}\"}",
            "longer than its `timeout`",
        ),
        ("{step: two}", "{step: t‸wo}", "**two**: `noop`"),
    ],
)
def test_what_is_said_of_a_place(editor: Editor, where: str, here: str, said: str) -> None:
    assert said in hover(editor, "hover.yaml", PLAYBOOK.replace(where, here, 1))


def test_nothing_is_said_of_a_plain_value(editor: Editor) -> None:
    assert hover(editor, "plain.yaml", PLAYBOOK.replace("lisbon", "lis‸bon")) == ""


def test_a_broken_file_is_explained_as_far_as_it_can_be_read(editor: Editor) -> None:
    editor.show("broken_hover.yaml", PLAYBOOK)
    editor.findings("broken_hover.yaml")
    text = PLAYBOOK.replace("- step: start", "- step: st‸art").replace("desc: where it", "desc: [where it")
    assert "**start**" in hover(editor, "broken_hover.yaml", text)
