"""The rule for the last page is asked where a number stops a loop over pages (REAL.md, flow), and only of successes."""

import pytest

from noetlc.migrate.migration import migrated

STEP = """apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: t}
workflow:
- step: start
  tool: {kind: python, args: {page: 0}, code: result = 1}
  retry:
  - when: "{{ result.more }}"
    then: {max_attempts: 2, next_call: {args: {page: "{{ result.next }}"}}, collect: {strategy: append, path: items}}
  - when: "{{ error is defined }}"
    then: {max_attempts: 3}
  case:
  - {when: "{{ %snot result.more }}", then: [{next: [{step: last}]}]}
%s- {step: last, tool: {kind: noop}}
"""


@pytest.mark.parametrize("event", ["", "event.name == 'call.done' and ", "event.name == 'step.exit' and "])
def test_the_rule_for_the_last_page_is_asked_of_successes_where_the_loop_is_stopped(event: str) -> None:
    made = migrated("t.yaml", (STEP % (event, "")).encode()).after
    assert made is not None
    text = made.decode()
    assert text.count("not start_task.more or iter.__start_task__more == 0") == 1
    assert "not outcome.result.more" not in text, "a failure is asked about the last page"


def test_else_says_what_happens_where_the_loop_is_stopped() -> None:
    made = migrated("t.yaml", (STEP % ("", "  - {else: [{set: {done: 1}}]}\n")).encode()).after
    assert made is not None
    assert "more or iter" not in made.decode()
