"""Constructs without a canonical form are refused at their place."""

import pytest

from noetlc.diag.diagnostic import Severity
from noetlc.pipeline import check_source

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: t, path: t/t}\nworkflow:\n"
STEP = HEAD + "  - step: start\n    spec: {eval_mode: on_event}\n"
TOOL = "    tool: {kind: noop}\n"


def case(when: str) -> str:
    """A `case` that asks this."""
    return f'    case:\n      - when: "{{{{ {when} }}}}"\n        then: [{{next: b}}]\n  - {{step: b}}\n'


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        (STEP + case("event.name == 'call.done'"), 8, "no tool"),
        (STEP + TOOL + case("event.name == 'step.exit' and event.step == 'b'"), 9, "other steps"),
        (STEP + case("workload.n"), 7, "no rule names an event"),
        (STEP + case("event.name == 'timer.fired'"), 7, "spec.timeout"),
        (STEP.replace("on_event", "on_event, timeout: 3s") + case("event.name == 'timeout'"), 7, "that name"),
        (STEP + "    poll: {until: '{{ true }}'}\n" + case("event.name == 'go'"), 7, "no tool to repeat"),
    ],
)
def test_a_case_on_events(text: str, line: int, says: str) -> None:
    found = [one for one in check_source("t.yaml", text.encode()).diagnostics if one.code == "NL903"]
    assert [(one.span.line, says in one.message) for one in found] == [(line, True)]


def test_a_loop_over_pages_of_a_workbook_entry() -> None:
    """The loop would ask for the first page again and again: the entry has the fields that the next call is about."""
    text = f"""{HEAD}  - {{step: start, tool: {{kind: workbook, name: ask}}}}
workbook:
  - name: ask
    tool: {{kind: http, url: "http://x", params: {{page: 1}}}}
    retry:
      - when: "{{{{ response.more }}}}"
        then: {{next_call: {{params: {{page: "{{{{ response.page + 1 }}}}"}}}}}}
"""
    found = [one for one in check_source("t.yaml", text.encode()).diagnostics if one.code == "NL903"]
    assert [(one.span.line, "pages of a workbook entry" in one.message) for one in found] == [(9, True)]


TOOL_OF_SINK = "{kind: sqlite, database: x.db, query: select 1, %s}"


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ("retry: [{when: '{{ error }}', then: {max_attempts: 2}}]", "`retry` as a list"),
        ("poll: {until: '{{ result.k }}'}", "`poll`"),
        ("vars: {k: 1}", "`vars` or `set`"),
        ("output: {store: {kind: object}}", "`output`"),
    ],
)
@pytest.mark.parametrize("beside", [False, True])
def test_what_looks_at_the_result_of_a_sink(more: str, says: str, beside: bool) -> None:
    """Nothing has that result."""
    tool = TOOL_OF_SINK % ("" if beside else more)
    sink = f"{{tool: {tool}, {more}}}" if beside else f"{{tool: {tool}}}"
    diagnostics = check_source("t.yaml", f"{HEAD}  - step: start\n{TOOL}    sink: {sink}\n".encode()).diagnostics
    found = [one for one in diagnostics if one.code == "NL901"]
    assert [(one.span.line, says in one.message) for one in found] == [(7, True)]


def test_a_sink_whose_tool_is_a_list() -> None:
    diagnostics = check_source(
        "t.yaml", f"{HEAD}  - step: start\n{TOOL}    sink: [{{tool: []}}]\n".encode()
    ).diagnostics
    assert [(one.code, one.span.line) for one in diagnostics] == [("NL102", 7)]


@pytest.mark.parametrize(
    "loop",
    [
        "{in: [1], iterator: a, loop: {CURSOR, iterator: b}}",
        "{CURSOR, iterator: a, loop: {in: [1], iterator: b}}",
    ],
)
def test_a_cursor_beside_another_level_of_its_loop(loop: str) -> None:
    """Rows would be claimed in each iteration."""
    loop = loop.replace("CURSOR", "cursor: {kind: sqlite, database: x.db, claim: select 1}")
    diagnostics = check_source("t.yaml", f"{HEAD}  - step: start\n    loop: {loop}\n{TOOL}".encode()).diagnostics
    assert [(one.code, one.span.line) for one in diagnostics if one.severity >= Severity.ERROR] == [("NL903", 6)]


def test_a_rule_that_reads_another_page_and_routes() -> None:
    rule = "{collect: {into: all}, retry: {params: {p: 2}}, next: [{step: b}]}"
    text = (
        f"{HEAD}  - step: start\n{TOOL}    case: [{{when: '{{{{ result.more }}}}', then: {rule}}}]\n  - {{step: b}}\n"
    )
    found = [one for one in check_source("t.yaml", text.encode()).diagnostics if one.code == "NL903"]
    assert [(one.span.line, "another page" in one.message) for one in found] == [(7, True)]


@pytest.mark.parametrize("key", ["sink: {tool: {kind: noop}}", "retries: 3"])
def test_a_key_that_an_iterator_does_not_have(key: str) -> None:
    """Such a key would be ignored without a word."""
    tool = f"{{kind: iterator, items: [1], item: x, task: {{kind: noop}}, {key}}}"
    diagnostics = check_source("t.yaml", f"{HEAD}  - step: start\n    tool: {tool}\n".encode()).diagnostics
    assert [(one.code, one.span.line) for one in diagnostics if one.severity >= Severity.ERROR] == [("NL101", 6)]


@pytest.mark.parametrize("key", ["then", "else"])
def test_a_branch_in_an_item_that_names_a_step(key: str) -> None:
    item = f"{{step: b, when: '{{{{ workload.x }}}}', {key}: [{{step: b}}]}}"
    text = (
        f"{HEAD}  - step: start\n{TOOL}    next: [{{when: '{{{{ workload.y }}}}', then: [{item}]}}]\n  - {{step: b}}\n"
    )
    diagnostics = check_source("t.yaml", text.encode()).diagnostics
    assert [(one.code, one.span.line) for one in diagnostics if one.severity >= Severity.ERROR] == [("NL101", 7)]


@pytest.mark.parametrize(("sets", "is_refused"), [("'{{ x }}'", True), ("'{{ workload.n }}'", False)])
def test_what_is_set_at_the_entry_of_a_loop_whose_items_run_at_once(sets: str, is_refused: bool) -> None:
    """Of an item it could only be set by one of them, beside others that have collected something by then."""
    text = f"""{HEAD}  - step: start
    loop: {{in: [1, 2], iterator: x, mode: parallel}}
    tool: {{kind: python, args: {{x: "{{{{ x }}}}"}}, code: "result = {{'n': x}}"}}
    case:
      - when: "{{{{ event.name == 'step.enter' }}}}"
        then: {{set: {{ctx: {{seen: {sets}}}}}}}
"""
    found = [one for one in check_source("t.yaml", text.encode()).diagnostics if one.severity >= Severity.ERROR]
    assert ["items run at once here" in one.message for one in found] == [True] * is_refused


@pytest.mark.parametrize(("read", "refused"), [("_prev.n", True), ("workload.a_prev", False), ("'_prev'", False)])
def test_a_block_template_given_to_an_entry_that_reads_the_result_before(read: str, refused: bool) -> None:
    """A task that renders it would stand between; a name that only looks like that one is none."""
    text = f"""{HEAD}  - step: start
    tool:
      - first: {{kind: python, code: "def main(): return {{'n': 1}}"}}
      - second: {{kind: workbook, task: twice, args: {{q: "{{% if workload.a_prev %}}1{{% else %}}2{{% endif %}}"}}}}
workload: {{a_prev: 1}}
workbook:
  - name: twice
    tool: {{kind: python, args: {{n: "{{{{ q | int * 2 }}}}", m: "{{{{ {read} }}}}"}}, code: "def main(n): return n"}}
"""
    found = [one for one in check_source("t.yaml", text.encode()).diagnostics if one.code == "NL903"]
    assert [(one.span.line, "reads `_prev`" in one.message) for one in found] == ([(8, True)] if refused else [])
