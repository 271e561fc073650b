"""What has no canonical form is refused at its place."""

import pytest

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
        (STEP + "    poll: {until: '{{ true }}'}\n" + case("event.name == 'go'"), 7, "no tool to repeat"),
    ],
)
def test_a_case_on_events(text: str, line: int, says: str) -> None:
    found = [one for one in check_source("t.yaml", text.encode()).diagnostics if one.code == "NL903"]
    assert [(one.span.line, says in one.message) for one in found] == [(line, True)]


def test_a_loop_over_pages_of_a_workbook_entry() -> None:
    """It would ask for the first page again and again: the entry has the fields that the next call is about."""
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
