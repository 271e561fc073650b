"""Names that an author binds nearer than results, with real python: what runs is what was bound."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Home

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: t}\n"

LOOP = """workflow:
- step: start
  tool: {kind: noop}
  next: [{step: each}]
- step: each
  loop: {in: "{{ [1, 2] }}", iterator: x}
  tool: {kind: python, code: result = x * 10}
"""

OF_TOKEN = "  next: [{step: total, args: {done: {results: [5, 6, 7], stats: {total: 3}}}}]\n"
NOTHING = "  next: [{step: total}]\n"

TOTAL = """- step: total
  args: {done: "{{ each }}"}
  tool: {kind: python, code: 'result = [sum(done["results"]), done["stats"]["total"]]'}
"""


@pytest.mark.parametrize(("brought", "total"), [(OF_TOKEN, [18, 3]), (NOTHING, [30, 2])], ids=["token", "default"])
def test_an_arg_of_the_token_is_never_wrapped(home: "Home", brought: str, total: list[int]) -> None:
    (home.folder / "a.yaml").write_text(HEAD + LOOP + brought + TOTAL)
    execution = home.json("run", "a.yaml")["execution_id"]  # type: ignore[index]
    assert home.json("result", execution) == total


WORDS = """workflow:
- step: start
  tool: {kind: noop}
  next:
  - {step: show, args: {error: {message: own}, result: {k: 1}, response: {k: 2}, status_code: 3, loop: {index: 4}}}
- step: show
  tool:
    kind: python
    args:
      found: "{{ [error.message | default(0), result.k, response.k | default(0), status_code | d(0), loop.index] }}"
      defined: "{{ error is defined and status_code is defined }}"
    code: result = [found, defined]
"""


def test_args_with_old_words_as_names_are_what_fields_read(home: "Home") -> None:
    (home.folder / "a.yaml").write_text(HEAD + WORDS)
    execution = home.json("run", "a.yaml")["execution_id"]  # type: ignore[index]
    assert home.json("result", execution) == [["own", 1, 2, 3, 4], True]
