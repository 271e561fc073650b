"""A file that names the result of a statement gets those of each; all others stay as small as they are."""

import pytest

from harness.running import compiled
from noetl_ir.plan_format import read_plan

HEAD = """
workload: {{k: command_}}
workflow:
- step: start
  tool:
  - {{name: a, kind: sqlite, query: "SELECT 1 AS n"{knob}}}
  - {{name: b, kind: noop}}
  next: {{arcs: [{{step: show, when: "{{{{ {guard} }}}}"}}]}}
- step: show
  tool: [{show}]
"""
QUIET = "{name: c, kind: noop}"


def knobs(show: str = QUIET, guard: str = "true", knob: str = "") -> object:
    """The knobs of the SQL task, in a plan that says them as one value; None where it has none."""
    plan = read_plan(compiled(HEAD.format(show=show, guard=guard, knob=knob)))
    task = plan.tasks[0]
    return None if task.knobs < 0 else plan.templates[task.knobs]


@pytest.mark.parametrize(
    ("show", "guard"),
    [
        ('{name: c, kind: noop, result: "{{ start.command_0.rows }}"}', "true"),
        ("{name: c, kind: noop, result: \"{{ start.data['command_12'] | default(1) }}\"}", "true"),
        ("{name: c, kind: noop, result: {deep: [\"{{ start.get('command_0_rows') }}\"]}}", "true"),
        ('{name: c, kind: noop, result: "{% for row in start.command_0.rows %}{{ row.n }}{% endfor %}"}', "true"),
        ("{name: c, kind: python, code: \"result = input_data['s'].get('command_1')\", args: {s: 1}}", "true"),
        (QUIET, "start.command_0.row_count > 0"),
    ],
)
def test_a_name_anywhere_asks_for_each_statement(show: str, guard: str) -> None:
    assert "each_statement" in str(knobs(show, guard))


@pytest.mark.parametrize("word", ["start.rows", "start.command", "'my_command_0'", "'command_x'"])
def test_without_one_nothing_is_asked(word: str) -> None:
    assert knobs(f'{{name: c, kind: noop, result: "{{{{ {word} }}}}"}}') is None


def test_what_the_task_says_itself_counts() -> None:
    own = knobs('{name: c, kind: noop, result: "{{ start.command_0 }}"}', knob=", spec: {each_statement: false}")
    assert "False" in str(own) and "True" not in str(own)
