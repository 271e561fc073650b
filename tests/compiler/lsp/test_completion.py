"""Completion in an editor: keys by their place, values, names, and inside of braces the names in scope there."""

import re

import pytest
from lsprotocol import types

from editor import Editor, at
from noetlc.lsp.completion import Offer, offers_at
from noetlc.lsp.known import KnownFile
from noetlc.pipeline import check_source

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: a, path: shop/a}\n"
PLAYBOOK = (
    HEAD
    + """\
workload: {city: lisbon, shop: {name: a, open: true}}
keychain: [{name: api, kind: env}]
executor: {spec: {inputs: {day: {type: string, description: the day}}}}
workflow:
  - step: start
    loop: {in: "{{ workload.cities }}", iterator: town}
    tool:
      - name: ask
        kind: http
        url: "{{ town }}"
        spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {seen: {a: 1}}, set_iter: {page: 1}}}}]}}
      - {name: count, kind: python, code: "result = {'total': 1, 'rows': []}"}
    next: {arcs: [{step: load-all}]}
  - step: load-all
    tool: {kind: postgres, auth: db, command: select 1}
    next: {arcs: [{step: show, args: {n: 1}}]}
  - step: show
    tool: {kind: noop, args: {x: 1}}
"""
)
KNOWN = KnownFile(check_source("a.yaml", PLAYBOOK.encode()))
STEP = "workflow:\n  - step: start\n"


def offers(text: str, known: KnownFile | None = KNOWN) -> list[Offer]:
    whole, position = at(text)
    column = len(text.partition("‸")[0].rpartition("\n")[2]) + 1
    return offers_at(known, whole, position.line + 1, column, ["shop/a", "shop/child"])


def labels(text: str) -> list[str]:
    return [one.label for one in offers(text)]


@pytest.mark.parametrize(
    ("text", "there", "not_there"),
    [
        ("‸", "apiVersion kind workflow", "step"),
        (HEAD + "‸", "workflow workload executor", "step tool"),
        (HEAD + "ex‸", "executor", ""),
        (HEAD + "executor:\n  spec:\n    ‸", "entry_step inputs max_rows", "spec"),
        (HEAD + STEP + "    ‸", "tool next loop desc", "step url"),
        (HEAD + STEP + "    ‸\n    next: {arcs: []}\n", "tool", "next"),
        (HEAD + STEP + "    tool:\n      ‸", "kind name args", "url"),
        (HEAD + STEP + "    tool: {‸", "kind", ""),
        (HEAD + STEP + "    tool: {kind: http, ‸}", "url method headers", "kind code"),
        (HEAD + STEP + "    # as {a: [\n    tool: {kind: http, ‸", "url method headers", "kind code"),
        (HEAD + STEP + "    tool:\n      kind: python\n      ‸", "code libs", "url"),
        (HEAD + STEP + "    tool:\n      - ‸", "kind name choose while until", ""),
        (HEAD + STEP + "    tool:\n      - kind: http\n        ‸\n      - kind: noop\n", "url", "code"),
        (HEAD + STEP + "    tool: [{while: {‸}}]", "when then max_iterations", "delay"),
        (HEAD + STEP + "    next: {arcs: [{‸}]}", "step when args spec", "tool"),
        (HEAD + STEP + "    spec: {policy: {lifecycle: {‸}}}", "timeout_s", ""),
        (HEAD + "workflow:\n  - ‸", "step", "kind"),
    ],
)
def test_keys_by_their_place(text: str, there: str, not_there: str) -> None:
    found = labels(text)
    assert set(there.split()) <= set(found)
    assert not set(not_there.split()) & set(found)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("    tool: {kind: http, url: x, follow_redirects: ‸}", "true false"),
        ("    tool: {kind: http, method: ‸}", "GET POST"),
        ("    tool: {kind: ‸}", "http python noop wait"),
        ("    tool: {kind: ht‸", "http"),
        ("    tool: {kind: noop, spec: {policy: {rules: [{else: {then: {do: ‸}}}]}}}", "retry jump fail"),
        ("    spec: {policy: {join: ‸}}", "any all taken first"),
        ("    next: {arcs: [{step: ‸}]}", "load-all show end"),
        ("    next:\n      arcs:\n        - step: lo‸\n", "load-all"),
        ("    spec: {policy: {cancels: [‸]}}", "load-all show"),
        ("    spec: {policy: {compensate: ‸}}", "load-all"),
        ("    tool: [{kind: noop, spec: {policy: {rules: [{else: {then: {do: jump, to: ‸}}}]}}}]", "ask count"),
        ("    tool: {kind: playbook, path: ‸}", "shop/a shop/child"),
    ],
)
def test_values_and_names(text: str, values: str) -> None:
    assert set(values.split()) <= set(labels(HEAD + STEP + text))


def test_a_step_is_no_target_of_what_names_none() -> None:
    assert "end" not in labels(HEAD + STEP + "    spec: {policy: {cancels: [‸]}}")
    assert labels(HEAD + STEP + "    desc: ‸") == []


@pytest.mark.parametrize(
    ("text", "names", "not_there"),
    [
        ('    tool: {kind: http, url: "{{ ‸', "workload ctx town ask count keychain ref", "outcome event"),
        ('    tool: {kind: http, url: "{{ wo‸ }}"}', "workload", "event"),
        ("    tool: {kind: http, url: 'it''s {{ ‸", "workload ctx", "event"),
        ('    tool: {kind: http, url: "{{ workload.‸ }}"}', "city shop day", "name"),
        ('    tool: {kind: http, url: "{{ workload.shop.‸ }}"}', "name open", "city"),
        ('    tool: {kind: http, url: "{{ ctx.‸ }}"}', "seen", "page"),
        ('    tool: {kind: http, url: "{{ ctx.seen.‸ }}"}', "a", ""),
        ('    tool: {kind: http, url: "{{ iter.‸ }}"}', "page town index parent", "seen"),
        ('    tool: {kind: http, url: "{{ keychain.‸ }}"}', "api", ""),
        ('    tool: {kind: http, url: "{{ ask.‸ }}"}', "status_code data headers", ""),
        ('    tool: {kind: http, url: "{{ count.‸ }}"}', "total rows", ""),
        ('    tool: {kind: http, url: "{{ x | ‸ }}"}', "upper default b64encode", "workload"),
        ('    tool: {kind: http, url: "{{ x is ‸ }}"}', "defined none", "workload"),
        ('    tool: {kind: http, spec: {policy: {rules: [{when: "{{ outcome.‸ }}"}]}}}', "status error http", ""),
        ('    tool: {kind: http, spec: {policy: {rules: [{when: "{{ outcome.http.‸ }}"}]}}}', "status retry_after", ""),
        ('    tool: {kind: http, spec: {policy: {rules: [{when: "{{ outcome.error.‸ }}"}]}}}', "code retryable", ""),
        (
            '    next: {arcs: [{step: show, when: "{{ ‸ }}"}]}',
            "event ctx start",
            "outcome town ask keychain show loop_index",
        ),
        ('    next: {arcs: [{step: show, when: "{{ event.‸ }}"}]}', "name status result total failed", "done data"),
        ('    loop: {in: "{{ ‸ }}", iterator: x}', "workload ctx", "outcome keychain"),
        ('    loop: {spec: {policy: {enough: "{{ event.‸ }}"}}}', "ok failed done total", "name"),
    ],
)
def test_names_in_scope(text: str, names: str, not_there: str) -> None:
    found = labels(HEAD + STEP + text)
    assert set(names.split()) <= set(found)
    assert not set(not_there.split()) & set(found)


@pytest.mark.parametrize(
    "text",
    [
        HEAD + 'workload: {a: "{{ ‸ }}"}',
        HEAD + 'executor: {spec: {result: "{{ ‸ }}"}}',
    ],
)
def test_a_place_without_steps_has_what_is_known_there(text: str) -> None:
    found = labels(text)
    assert {"workload", "execution_id"} <= set(found)
    assert not {"outcome", "event", "town"} & set(found)


def test_nothing_is_offered_in_a_text_of_an_expression() -> None:
    assert labels(HEAD + STEP + "    tool: {kind: http, url: \"{{ x == 'wo‸") == []


RULE = '    tool: {kind: KIND, spec: {policy: {rules: [{when: "{{ WHEN‸ }}"}]}}}'
ARC = '    next: {arcs: [{step: show, when: "{{ WHEN‸ }}"}]}'


@pytest.mark.parametrize(
    ("text", "words", "not_there"),
    [
        # `start` is a loop.
        (ARC.replace("WHEN", "event.name == '"), "loop.done step.failed", "step.done"),
        (ARC.replace("WHEN", "event.name == 'step."), "step.failed", ""),
        (ARC.replace("WHEN", "event.name in ['loop.done', '"), "step.failed", ""),
        (ARC.replace("WHEN", "event.status == '"), "ok error", ""),
        (ARC.replace("WHEN", "event.status != 'e"), "error", ""),
        (
            ARC.replace("WHEN", "event.error.code == '"),
            "http.connect python.died timeout template.undefined",
            "pg.connect",
        ),
        (RULE.replace("KIND", "http").replace("WHEN", "outcome.status == '"), "ok error", ""),
        (
            RULE.replace("KIND", "http").replace("WHEN", "outcome.error.code == '"),
            "http.connect http.status timeout",
            "pg.connect template.undefined",
        ),
        (RULE.replace("KIND", "postgres").replace("WHEN", "outcome.error.code == '"), "pg.connect", "http.connect"),
    ],
)
def test_words_that_are_compared(text: str, words: str, not_there: str) -> None:
    found = labels(HEAD + STEP + text)
    assert set(words.split()) <= set(found)
    assert not set(not_there.split()) & set(found)


def test_only_the_word_that_is_typed_is_replaced() -> None:
    found = offers(HEAD + STEP + ARC.replace("WHEN", "event.name == 'step.f"))
    assert {(one.text, one.replaces) for one in found} == {("loop.done", 6), ("step.failed", 6)}


def test_args_of_the_step_are_those_that_arcs_bring() -> None:
    text = PLAYBOOK.replace("args: {x: 1}", 'args: {x: "{{ args.‸ }}"}')
    assert "n" in labels(text)


SCOPES = (
    HEAD
    + """\
workflow:
  - step: start
    loop: {in: [1], iterator: item}
    tool:
      - {name: get, kind: http, args: {q: 1, r: "{{ ARG }}"}, url: "{{ FIELD }}", timeout: 5}
      - {name: sum, kind: python, args: {orders: "{{ SUM }}"}, code: "result = {'total': orders}"}
      - {name: again, kind: noop, spec: {policy: {rules: [{when: "{{ RULE }}", then: {do: jump, to: sum}}]}}}
      - {name: last, kind: noop}
    next: {arcs: [{step: report, args: {brought: "{{ ARC }}"}}]}
  - step: report
    tool: {kind: noop, args: {x: "{{ REPORT }}"}}
    next: {arcs: [{step: after}]}
  - step: after
    loop: {in: "{{ LOOP }}", iterator: item}
    tool: {kind: noop}
"""
)


@pytest.mark.parametrize(
    ("place", "typed", "names", "not_there"),
    [
        # In its args a task knows neither these nor what comes after it; fields know the args.
        ("ARG", "", "args item loop_index", "q r get sum last start report after outcome"),
        ("ARG", "args.", "", "q r"),
        ("FIELD", "", "q r args", "get sum last start"),
        ("FIELD", "args.", "q r", ""),
        # A jump may bring back its own result, but not that of what comes after the jump.
        ("SUM", "", "get sum again", "orders last start"),
        ("RULE", "", "get sum again outcome", "last start"),
        ("ARC", "", "start event", "report after get item"),
        ("REPORT", "", "start brought", "x report after loop_index"),
        ("REPORT", "args.", "brought", "x"),
        ("REPORT", "steps.", "start", "report after"),
        ("LOOP", "", "start report", "after item iter loop_index"),
    ],
)
def test_only_what_is_there_is_offered(place: str, typed: str, names: str, not_there: str) -> None:
    known = KnownFile(check_source("a.yaml", re.sub("[A-Z]{3,}", "1", SCOPES).encode()))
    text = re.sub("[A-Z]{3,}", lambda word: f"{typed}‸" if word[0] == place else "1", SCOPES)
    found = {one.label for one in offers(text, known)}
    assert set(names.split()) <= found
    assert not set(not_there.split()) & found


def test_a_result_before_has_the_keys_of_its_kind() -> None:
    text = PLAYBOOK.replace("args: {x: 1}", "args: {x: \"{{ steps['load-all'].‸ }}\"}")
    assert {"rows", "row_count", "columns"} <= set(labels(text))


def test_a_step_that_nothing_leads_to_yet_may_be_behind_all() -> None:
    text = PLAYBOOK.replace("  - step: show", '  - step: new\n    tool: {kind: http, url: "{{ ‸ }}"}\n  - step: show')
    known = KnownFile(check_source("a.yaml", text.replace("‸", "1").encode()))
    assert {"start", "show", "steps"} <= {one.label for one in offers(text, known)}


def test_what_was_typed_is_replaced() -> None:
    (one,) = [one for one in offers(HEAD + "work‸") if one.label == "workflow"]
    assert (one.text, one.replaces) == ("workflow: ", 4)
    assert one.sentence.startswith("The steps, a list.")
    assert one.detail == "must be given"


def ask(editor: Editor, name: str, text: str) -> list[types.CompletionItem]:
    whole, position = at(text)
    editor.show(name, whole)
    asked = types.CompletionParams(types.TextDocumentIdentifier(editor.uri(name)), position)
    found = editor.ask(types.TEXT_DOCUMENT_COMPLETION, asked)
    assert isinstance(found, types.CompletionList)
    return list(found.items)


def test_an_editor_is_offered_names_with_their_shape(editor: Editor) -> None:
    editor.show("shape.yaml", PLAYBOOK)
    editor.findings("shape.yaml")
    items = ask(
        editor,
        "shape.yaml",
        PLAYBOOK.replace(
            "\"result = {'total': 1, 'rows': []}\"}",
            "\"result = {'total': 1, 'rows': []}\"}\n      - {name: last, kind: noop, result: \"🦊{{ co‸ }}\"}",
        ),
    )
    (count,) = [item for item in items if item.label == "count"]
    assert count.detail == "{total, rows}"
    assert isinstance(count.documentation, types.MarkupContent)
    assert "python" in count.documentation.value
    assert isinstance(count.text_edit, types.TextEdit)
    assert count.text_edit.range.end.character - count.text_edit.range.start.character == 2


def test_a_playbook_of_the_folder_may_be_called(editor: Editor) -> None:
    editor.show("other.yaml", PLAYBOOK.replace("shop/a", "shop/other"))
    editor.findings("other.yaml")
    items = ask(editor, "calls.yaml", HEAD + STEP + "    tool: {kind: playbook, path: ‸}")
    assert "shop/other" in [item.label for item in items]
