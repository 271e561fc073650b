"""`STEP.result_index` in the sink of the looped step STEP: the number of the iteration, which has no result yet."""

import pytest

from noetlc.migrate.migration import migrated

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: t}\nworkflow:\n"
ROW = "{no: '{{ each.result_index }}', id: 'n{{ each.result_index }}', x: '{{ x }}'}"
SINK = f"sink: {{tool: {{kind: postgres, table: kept}}, args: {ROW}}}"
LOOP = "loop: {in: '{{ [1, 2] }}', iterator: x}"

TOOLS = {
    "http, at the task": f"tool: {{kind: http, url: 'http://x', {SINK}}}",
    "http, at the step": f"tool: {{kind: http, url: 'http://x'}}\n  {SINK}",
    "python, at the task": f"tool: {{kind: python, code: result = 1, {SINK}}}",
}


@pytest.mark.parametrize("about", TOOLS)
def test_it_is_the_number_of_the_iteration(about: str) -> None:
    made = migrated("t.yaml", f"{HEAD}- step: each\n  {LOOP}\n  {TOOLS[about]}\n".encode())
    assert made.after is not None, made.problems
    text = made.after.decode()
    assert "no: '{{ iter.index }}', id: 'n{{ iter.index }}'" in text.replace('"', "'"), text
    assert "result_index" not in text


def test_without_a_loop_it_is_a_key_of_the_result() -> None:
    made = migrated(
        "t.yaml", f"{HEAD}- step: each\n  {TOOLS['python, at the task']}\n".replace("x: '{{ x }}'", "x: 1").encode()
    )
    assert made.after is not None, made.problems
    assert b"iter.index" not in made.after
