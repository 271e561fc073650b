"""Readings of SQL results by playbooks, with real databases: rows by iteration, statements by number (REAL.md)."""

from pathlib import Path

import pytest

from harness.running import run
from noetl.clients import sql_results
from noetl_ir.expr import Json

ROWS = "SELECT 1 AS n UNION ALL SELECT 2 UNION ALL SELECT 3"


def told(tmp_path: Path, text: str, kind: str = "sqlite", query: str = ROWS) -> Json:
    """The value of an expression or template in a task `show` behind a task `start`."""
    found = run(
        f"""
workflow:
- step: start
  tool: {{kind: {kind}, query: "{query}"}}
  next: {{arcs: [{{step: show}}]}}
- step: show
  tool: {{kind: noop, result: "{text}"}}
""",
        real=True,
        root=tmp_path,
    )
    assert found.status == "completed", found.status
    return found.result("show")


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{{ start | map(attribute='n') }}", [1, 2, 3]),
        ("{{ start | selectattr('n', '>', 1) | list | length }}", 2),
        ("{{ start | length }}", 3),
        ("{{ (start | first).n }}{{ (start | last).n }}", "13"),
        ("{{ start | sum(attribute='n') }}", 6),
        ("{{ start[1].n }}", 2),
        ("{% for row in start %}{{ row.n }};{% endfor %}", "1;2;3;"),
        ("{{ start.command_0.rows[2].n + start | length }}", 6),
        ("{{ start.command_0.status }} {{ start.command_0.row_count }}", "success 3"),
        ("{{ start.row_count }} {{ start.rows | length }}", "3 3"),
        ("{{ start.keys() | length }}", 3),
    ],
)
def test_what_is_read_of_a_result(tmp_path: Path, kind: str, text: str, value: Json) -> None:
    assert told(tmp_path, text, kind) == value


def test_the_statements_of_a_text(tmp_path: Path) -> None:
    query = "CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (5), (6); SELECT n FROM t ORDER BY n"
    text = "{{ start.command_2.rows[1].n }} {{ start.command_1.row_count }} {{ start.command_1.rows is defined }}"
    for kind in ("sqlite", "duckdb"):
        assert told(tmp_path, text, kind, query) == "6 2 False"
    assert told(tmp_path, "{{ start.command_2_rows[0].n }}", "duckdb", query) == 5


def test_a_loop_over_a_result_is_over_its_rows(tmp_path: Path) -> None:
    found = run(
        f"""
workflow:
- step: start
  tool: {{kind: sqlite, query: "{ROWS}"}}
  next: {{arcs: [{{step: each}}]}}
- step: each
  loop: {{in: "{{{{ start }}}}", iterator: row}}
  tool: {{kind: noop, result: "{{{{ row.n * 2 }}}}"}}
""",
        real=True,
        root=tmp_path,
    )
    assert found.status == "completed"
    assert [event.data["result"] for event in found.of("task.done", "each")] == [2, 4, 6]


def test_a_scripted_result_has_the_shape_of_the_real_one() -> None:
    text = """
workflow:
- step: start
  tool: {kind: postgres, auth: shop, query: "SELECT 3 AS n"}
  next: {arcs: [{step: show}]}
- step: show
  tool: {kind: noop, result: "{{ start.command_0.rows[0].n | default('nothing') }} {{ start.command_0.row_count }}"}
"""
    for result in ("{rows: [{n: 3}], row_count: 1, columns: [n]}", "{rows: [{n: 3}]}"):
        found = run(text, f"outcomes: [{{step: start, outcome: {{result: {result}}}}}]")
        assert found.result("show") == "3 1"


def test_what_a_database_says_is_one_line_without_carets() -> None:
    said = 'Parser Error: syntax error at or near "SELEC"\n\nLINE 1: SELEC 1;\n        ^^^^^'
    assert (
        sql_results.message_line(ValueError(said)) == 'Parser Error: syntax error at or near "SELEC"; LINE 1: SELEC 1;'
    )
