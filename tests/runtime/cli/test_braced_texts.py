"""Templates in strings of old python code, with real python: as written and as migrated (REAL.md, python)."""

from typing import TYPE_CHECKING

import pytest

from older_runs import results_of

if TYPE_CHECKING:
    from conftest import Home

_HEAD = """
workload: {n: 5, who: "O'Brien", on: true}
workflow:
  - step: start
    tool: {kind: python, code: "result = {'k': 1}"}
    next: work
  - step: work
    tool:
      kind: python
      args: {own: 3}
      code: |
        CODE
    next: [{step: fin, args: {got: "{{ work }}"}}]
"""
TAKEN = {
    "a lone value, as text": ("result = '{{ workload.n }}'", "5"),
    "text around it": ("result = 'n is {{ workload.n }}, {{ who }}'", "n is 5, O'Brien"),
    "a quote in the value": ('result = "{{ workload.who }}"', "O'Brien"),
    "a boolean as Python prints it": ("result = '{{ on }}'", "True"),
    "a result": ("result = 'k {{ start.k }}'", "k 1"),
    "an escape beside it": (r"result = '{{ n }}\t\\'", "5\t\\"),
    "several literals": ("result = ('a{{ n }}' 'b')", "a5b"),
    "an arg of that name": ("result = '{{ own }}'", "3"),
    "an arg of the task stays": ("result = ['{{ n }}', own]", ["5", 3]),
    "no space before and behind": ("result = [1 for x in[1]if'{{ n }}'in'5']", [1]),
    "the run's id": ("result = '{{ execution_id }}'.isdigit()", True),
    "letters of several bytes before it": ("result = 'é' + '{{ n }}' + 'é'", "é5é"),
}
LEFT = {
    "a formatted string": ("result = f'{{ n }}'", "{ n }"),
    "a name that nothing declares": ("result = '{{ strange }}'", "{{ strange }}"),
    "a string to be formatted": ("result = '{{ n }} {}'.format(1)", "{ n } 1"),
    "a string with a percent": ("result = '{{ n }} %s' % 1", "{{ n }} 1"),
    "code that makes templates": ("render = '{{ n }}'; result = render", "{{ n }}"),
    "a pattern": ("match '5':\n          case '{{ n }}': result = 1\n          case _: result = 2", 2),
}


@pytest.mark.parametrize("about", TAKEN | LEFT)
def test_a_template_in_a_string(home: "Home", about: str) -> None:
    code, expected = (TAKEN | LEFT)[about]
    found = [result[0]["got"] for result in results_of(home, _HEAD.replace("CODE", code))]  # type: ignore[index]
    assert found == [expected, expected]
