"""`action_id`: one for all attempts at a task run, another for each other task run, the same wherever it is read."""

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Home

TWICE = """
workflow:
- step: start
  loop: {in: "{{ [1, 2] }}", iterator: item, spec: {mode: sequential}}
  tool:
  - name: shell
    kind: shell
    command: |
      echo "{{ iter.item }} {{ _attempt }} {{ action_id }} $NOETL_ACTION_ID" >>shell
      exit $((2 - {{ _attempt }}))
    spec: {policy: {rules: [{when: "{{ outcome.status == 'error' }}", then: {do: retry, delay: 0}}]}}
  - name: script
    kind: script
    file: note.sh
    env: {RENDERED: "{{ action_id }}"}
  - name: python
    kind: python
    args: {rendered: "{{ action_id }}"}
    code: "import os; result = [rendered, os.environ['NOETL_ACTION_ID']]"
    spec: {policy: {rules: [{else: {then: {do: continue, set_iter: {ruled: "{{ action_id }}"}}}}]}}
  - name: stored
    kind: sqlite
    database: paid.db
    command: "CREATE TABLE IF NOT EXISTS paid (id TEXT PRIMARY KEY);
      INSERT INTO paid VALUES (:id) ON CONFLICT DO NOTHING; INSERT INTO paid VALUES (:id) ON CONFLICT DO NOTHING"
    params: {id: "{{ action_id }}"}
  - {name: all, kind: noop, result: {python: "{{ python }}", ruled: "{{ iter.ruled }}"}}
  next: {arcs: [{step: count}]}
- step: count
  tool: {kind: sqlite, database: paid.db, query: "SELECT count(*) AS n FROM paid"}
"""


def test_it_is_the_same_for_all_attempts_and_readers_of_one_task_run(home: "Home") -> None:
    (home.folder / "note.sh").write_text('echo "$RENDERED $NOETL_ACTION_ID" >>script\n')
    ran = home.run("run", home.plan(TWICE), "--json")
    assert ran.returncode == 0, ran.stderr
    shell = [line.split() for line in (home.folder / "shell").read_text().splitlines()]
    assert [row[:2] for row in shell] == [["1", "1"], ["1", "2"], ["2", "1"], ["2", "2"]]
    script = [line.split() for line in (home.folder / "script").read_text().splitlines()]
    both = home.json("result", "last", "start")
    seen = [
        *(row[2:] for row in shell), *script,
        *([*row["python"], row["ruled"]] for row in both),  # type: ignore[attr-defined]
    ]  # fmt: skip
    assert [len({*row}) for row in seen] == [1] * 8, seen
    first, again, second, second_again, *others = [row[0] for row in seen]
    assert first == again != second == second_again
    assert len({first, second, *others}) == 6, "another task, another iteration: another action"
    assert home.json("result", "last") == {"rows": [{"n": 2}], "row_count": 1, "columns": ["n"]}
    logged = [json.loads(line) for line in home.run("events", "last", "--json").stdout.splitlines()]
    assert {first, second, *others} <= {event["action_id"] for event in logged}
