"""Nothing of an execution stays in a store behind its purge, in whatever table: what stays is in a table of
runtime/README.md, with what bounds it.
"""

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from harness.running import HEAD
from harness.serving import Served, served, until
from noetl.app.retention import Purger
from noetl.ports import Wanted
from noetl_ir.plan_format import digest_of, write_plan
from noetlc.pipeline import compile_source
from services import postgres

PAGE = Path(__file__).resolve().parents[3] / "runtime" / "README.md"
# Values outside of the log and output, a child, a place under a key, waits under keys, signals that are sent, kept and
# missed, a retry, a failure.
BODIES = {
    "t/big": """
executor: {spec: {policy: {limits: {max_payload_bytes: 600}}}}
workflow: [{step: start, tool: {kind: python, code: "print('x' * 100); result = 'x' * 5000"}}]
""",
    "t/caller": "workflow: [{step: start, tool: {kind: playbook, path: t/big}}]\n",
    "t/placed": """
executor: {spec: {concurrency: {key: one, limit: 1}}}
workflow: [{step: start, tool: {kind: noop, result: 1}}]
""",
    "t/waits": "workflow: [{step: start, tool: {kind: wait, events: [go], correlation: key 1}}]\n",
    "t/sends": """
workflow:
- {step: start, tool: {kind: signal, key: key 1, signal: go, data: 1}, next: {arcs: [{step: last}]}}
- {step: last, tool: {kind: wait, events: [none], timers: {soon: 0.1}}}
""",
    "t/fails": """
workflow:
- step: start
  tool:
    kind: shell
    command: exit 1
    spec: {policy: {rules: [{when: "{{ outcome.status == 'error' }}", then: {do: retry, attempts: 2, delay: 0.1}}]}}
""",
}


def counts_of(url: str) -> Callable[[], dict[str, int]]:
    """Counts the rows of each table of a store."""

    def of_sqlite() -> dict[str, int]:
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as database:
            names = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            return {name: database.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for (name,) in names}

    def of_postgres() -> dict[str, int]:
        schema = url.rpartition("=")[2]
        with psycopg.connect(postgres().url) as database:
            found = database.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", (schema,)).fetchall()
            counts = {}
            for (name,) in found:
                row = database.execute(f"SELECT count(*) FROM {schema}.{name}".encode()).fetchone()
                counts[str(name)] = int(row[0]) if row else 0
            return counts

    return of_sqlite if url.startswith("sqlite:") else of_postgres


def run_all(server: Served) -> None:
    """Run each of the playbooks, some twice, until all are over."""
    for path, body in BODIES.items():
        plan = write_plan(compile_source("t.yaml", (HEAD.replace("t/t", path) + body).encode()).plans[0])
        server.runtime.store.put_plan(digest_of(plan), path, plan)
    names = [server.start(path=path) for path in (*BODIES, "t/placed", "t/waits", "t/sends")]
    for name in names:
        server.client.post(f"/executions/{name}/signal", json={"name": "nobody", "data": 1})
    until(lambda: all(row.ended is not None for row in server.runtime.store.executions(Wanted(limit=100))), 60)
    assert {server.status(name) for name in names} == {"completed", "failed"}


def stays() -> set[str]:
    """The tables that the page names."""
    table = PAGE.read_text().partition("| what stays |")[2].partition("\n\n")[0]
    return {name for line in table.splitlines()[2:] for name in re.findall(r"`(\w+)`", line.split("|")[2])}


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_nothing_of_an_execution_stays_behind_its_purge(kind: str, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/noetl.db" if kind == "sqlite" else postgres().store_url()
    counts = counts_of(url)
    with served(tmp_path, store=url) as server:
        run_all(server)
        full = counts()
        assert {name for name in ("executions", "events", "plans", "audit") if not full[name]} == set()
        store = server.runtime.store

        def is_gone() -> bool:  # the server lets go of what is over a little later
            top = [row for row in store.executions(Wanted(limit=100)) if row.parent_execution_id is None]
            Purger(server.runtime).purge(top)
            return not store.executions(Wanted(limit=100))

        until(is_gone, 30)
        left = {name for name, count in counts().items() if count}
    assert left - stays() == set()
    assert {"plans", "catalogue", "audit"} <= left & stays()
    beside = [path for path in tmp_path.rglob("*") if path.is_file() and path.parent != tmp_path]
    assert [path for path in beside if "owners" not in path.parts[-2]] == []
