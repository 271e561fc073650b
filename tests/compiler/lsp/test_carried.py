"""Keys of a child's workload: renamed with what its callers and tests bring under them, or not at all."""

import re

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from editor import Editor, asked, renamed

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: %s, path: trade/%s}\n"
CHILD = HEAD % ("pay", "pay") + (
    "workload: {qty: 1}\nworkflow:\n  - step: start\n    tool: {kind: noop, result: '{{ workload.qty }}'}\n"
)
CALL = "  - step: %s\n    tool: {kind: playbook, path: %s, %s}\n"
CALLER = HEAD % ("order", "order") + "workload: {qty: 7}\nworkflow:\n" + CALL
TESTS = """\
cases:
  - case: one
    payload: {qty: 9}
    expect:
      calls:
        - {step: start, fields: {args: {qty: 9}}}
        - {step: other, args: {qty: 9}}
"""


@pytest.fixture
def caller(editor: Editor) -> Editor:
    """A caller of the child with a file of tests, all of them open."""
    editor.show("pay.yaml", CHILD)
    editor.show("order.yaml", CALLER % ("start", "trade/pay", "args: {qty: '{{ workload.qty }}'}"))
    editor.show("order.test.yaml", TESTS)
    editor.show("third.yaml", CHILD.replace("pay", "third"))
    return editor


def expected(editor: Editor) -> dict[str, str]:
    """By hand: both places of the child, what the caller brings, and what its test expects of that call."""
    return {
        "pay.yaml": CHILD.replace("qty", "amount"),
        "order.yaml": editor.texts["order.yaml"].replace("args: {qty", "args: {amount"),
        "order.test.yaml": TESTS.replace("fields: {args: {qty", "fields: {args: {amount"),
    }


def test_a_renamed_key_of_a_child_is_brought_under_its_new_name(caller: Editor) -> None:
    assert renamed(caller, "pay.yaml", CHILD.replace("{qty: 1", "{q‸ty: 1"), "amount") == expected(caller)


@pytest.mark.parametrize("path", ["./pay", "pay", "trade/pay"])
@pytest.mark.parametrize("carrier", ["args", "payload"])
def test_what_a_call_brings_leads_to_the_child_and_renames_it(caller: Editor, carrier: str, path: str) -> None:
    text = CALLER % ("start", path, carrier + ": {qty: 2}")
    caller.show("order.yaml", text)
    marked = text.replace(carrier + ": {qty", carrier + ": {qt‸y")
    (place,) = asked(caller, "order.yaml", marked, types.TEXT_DOCUMENT_DEFINITION, types.DefinitionParams)  # type: ignore[misc]
    assert (place.uri, place.range.start) == (caller.uri("pay.yaml"), types.Position(3, 11))
    ready = asked(caller, "order.yaml", marked, types.TEXT_DOCUMENT_PREPARE_RENAME, types.PrepareRenameParams)
    assert isinstance(ready, types.PrepareRenamePlaceholder)
    assert (ready.placeholder, ready.range.start.line) == ("qty", 6)
    after = renamed(caller, "order.yaml", marked, "amount")
    assert after["pay.yaml"] == CHILD.replace("qty", "amount")
    assert after["order.yaml"] == text.replace(carrier + ": {qty", carrier + ": {amount")


def test_references_of_a_key_are_where_callers_bring_it(caller: Editor) -> None:
    found = asked(caller, "pay.yaml", CHILD.replace("{qty: 1", "{q‸ty: 1"), types.TEXT_DOCUMENT_REFERENCES,
                  types.ReferenceParams, context=types.ReferenceContext(False))  # fmt: skip
    assert sorted((place.uri, place.range.start.line) for place in found) == [  # type: ignore[attr-defined]
        (caller.uri("order.test.yaml"), 5), (caller.uri("order.yaml"), 6), (caller.uri("pay.yaml"), 6),
    ]  # fmt: skip


def test_a_key_of_the_caller_is_not_what_it_brings(caller: Editor) -> None:
    text = caller.texts["order.yaml"]
    after = renamed(caller, "order.yaml", text.replace("workload: {qty", "workload: {q‸ty"), "count")
    assert after["order.yaml"] == re.sub(r"(workload: \{|workload\.)qty", r"\1count", text)
    assert after["order.test.yaml"] == TESTS.replace("payload: {qty", "payload: {count")
    assert set(after) == {"order.yaml", "order.test.yaml"}


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (("start", "trade/pay", "args: '{{ workload.all }}'"), "a template in line 7 of order.yaml"),
        (("start", "'trade/{{ workload.which }}'", "args: {qty: 1}"), "line 7 of order.yaml calls a playbook that"),
        (("start", "trade/pay", "args: {qty: 1, amount: 2}"), "brings a `amount` already"),
        (
            (
                "start",
                "trade/pay",
                "args: &all {qty: 1}}\n" + (CALL % ("b", "trade/third", "args: *all")).rstrip()[:-1],
            ),
            "to another playbook by the same lines",
        ),
    ],
)
def test_where_a_call_cannot_follow_the_key_keeps_its_name(
    caller: Editor, call: tuple[str, str, str], why: str
) -> None:
    caller.show("order.yaml", CALLER % call)
    with pytest.raises(JsonRpcException) as refused:
        renamed(caller, "pay.yaml", CHILD.replace("{qty: 1", "{q‸ty: 1"), "amount")
    assert why in str(refused.value)


def test_a_call_that_cannot_mean_the_playbook_is_in_nobodys_way(caller: Editor) -> None:
    caller.show("order.yaml", CALLER % ("start", "'shop/{{ workload.which }}'", "args: {qty: 1}"))
    after = renamed(caller, "pay.yaml", CHILD.replace("{qty: 1", "{q‸ty: 1"), "amount")
    assert after == {"pay.yaml": CHILD.replace("qty", "amount")}
