"""The result of a step whose `case` has branches, with real python: what a rule set, else what its tool returned."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Home

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: t}\nworkflow:\n"

OTHER = """  - when: "{{ event.name == 'call.done' and result.k > 0 }}"
    then:
    - branch: {tool: {kind: python, code: "result = {'k': 2}"}}
    - next: [{step: last}]
"""

LAST = """- step: last
  tool: {kind: python, args: {x: "{{ first }}"}, code: result = x}
"""

RESULTS = {
    "a pipe that is not asked": (
        """  case:
  - when: "{{ event.name == 'call.error' }}"
    then: {pipe: [{inner: {tool: {kind: python, code: result = 1}}}]}
""",
        {"k": 1},
    ),
    "a rule that is not asked": (
        """  case:
  - when: "{{ event.name == 'call.done' and result.k > 5 }}"
    then: {result: {from: result.k}}
""",
        {"k": 1},
    ),
    "the step": ('  result: "{{ result.k }}"\n  case:\n', 1),
    "a rule": (
        """  case:
  - when: "{{ event.name == 'call.done' and result.k == 1 }}"
    then:
    - result: {from: result.k}
    - next: [{step: last}]
""",
        1,
    ),
}


@pytest.mark.parametrize("giver", RESULTS)
def test_a_branch_of_a_case_gives_nothing_by_itself(home: "Home", giver: str) -> None:
    rules, expected = RESULTS[giver]
    first = "- step: first\n  tool: {kind: python, code: \"result = {'k': 1}\"}\n"
    (home.folder / "a.yaml").write_text(HEAD + first + rules + OTHER + LAST)
    execution = home.json("run", "a.yaml")["execution_id"]  # type: ignore[index]
    assert home.json("result", execution) == expected


PIPE = """- step: first
  tool: {kind: noop}
  case:
  - when: "{{ event.name == 'call.done' }}"
    then:
      pipe:
      - cut: {tool: {kind: python, code: "result = [1]"}}
      - dye: {tool: {kind: python, args: {given: "{{ _prev }}"}, code: "result = given + [2]"}}
      - sew:
          tool:
            kind: python
            args: {given: "{{ _prev }}"}
            code: |
              if %s:
                  raise ValueError('torn')
              result = given + [3]
      catch:
        cond:
        - {when: "{{ _err.code == 'python.exception' }}", do: retry, from: dye, attempts: 3, delay: 0.01}
        - else: {do: skip}
      finally:
      - next: [{step: last}]
"""


@pytest.mark.parametrize(("torn", "begun"), [("False", 1), ("True", 3)])
def test_a_pipe_begins_again_at_a_task_with_what_it_was_given(home: "Home", torn: str, begun: int) -> None:
    (home.folder / "a.yaml").write_text(HEAD + PIPE % torn + LAST)
    shown = home.json("run", "a.yaml")
    assert isinstance(shown, dict)
    assert shown["result"] == ([1, 2, 3] if begun == 1 else None)
    assert (shown["error"] or {}).get("code") == (None if begun == 1 else "python.exception")
    events = home.run("events", shown["execution_id"]).stdout.splitlines()
    assert sum("task.done" in line and "first / dye {" in line for line in events) == begun
