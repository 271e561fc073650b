"""Python code that asks whether an arg is a list, with real SQL: it gets what an author of such code counts on."""

from typing import TYPE_CHECKING

import pytest

from noetlc.older.bind_lists import asks_for_list

if TYPE_CHECKING:
    from conftest import Home

PLAYBOOK = """apiVersion: noetl.io/v2
kind: Playbook
metadata: {{name: t}}
workflow:
- step: ask
  tool:
    kind: sqlite
    database: a.db
    query: "SELECT 'Ada' AS name, 36 AS age UNION SELECT 'Bob', 25 ORDER BY name"
  next: {{arcs: [{{step: sum{0}}}]}}
- step: sum
  tool:
    kind: python{1}
    code: |
      people = input_data.get('people', [])
      result = sum(one['age'] for one in people) if isinstance(people, list) else 'no list'
"""
ON_ARC = (", args: {people: '{{ ask }}'}", "")
OF_TASK = ("", "\n    args: {people: '{{ ask }}'}")


@pytest.mark.parametrize("places", [ON_ARC, OF_TASK], ids=["arc", "task"])
def test_code_that_asks_for_a_list_gets_the_rows(home: "Home", places: tuple[str, str]) -> None:
    (home.folder / "a.yaml").write_text(PLAYBOOK.format(*places))
    execution = home.json("run", "a.yaml")["execution_id"]  # type: ignore[index]
    assert home.json("result", execution) == 61


@pytest.mark.parametrize(
    ("code", "asks"),
    [
        ("isinstance(x, list)", True),
        ("isinstance(x, (list, tuple))", True),
        ("y = args['x']\nisinstance(y, list)", True),
        ("def main(input_data):\n  y = input_data.get('x') or []\n  return isinstance(y, list)", True),
        ("return x if isinstance(x, list) else x or {}", True),
        ("isinstance(z, list)", False),
        ("isinstance(x, dict)", False),
        ("x[0] if isinstance(x, list) else x['rows']", False),
        ("x.get('rows') if not isinstance(x, list) else x", False),
        ("x if isinstance(x, list) else 'rows' in x", False),
        ("isinstance(x, (list, dict))", False),
        ("y = args.get('x')\nisinstance(y, list) or y.items()", False),
        ("isinstance(x, list", False),
    ],
)
def test_code_asks_for_a_list_where_it_takes_the_arg_for_nothing_else(code: str, asks: bool) -> None:
    assert asks_for_list(code, "x") is asks
