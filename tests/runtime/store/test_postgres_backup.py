"""A backup of a store in PostgreSQL, as runtime/README.md says that it is made, and what goes on from it."""

import subprocess
from pathlib import Path

import psycopg

from harness.running import HEAD
from harness.serving import served, until
from noetl.app.runtime import Settings, open_runtime
from noetl.app.store_check import StoreCheck
from noetl.ports import ExecutionRow
from noetl_ir.plan_format import digest_of, write_plan
from noetlc.pipeline import compile_source
from services import postgres

# A value outside of the log before the wait, and one that needs it behind that.
BODY = """
executor: {spec: {policy: {limits: {max_payload_bytes: 600}}}}
workflow:
- step: start
  tool: {kind: python, code: "print('before'); result = 'x' * 5000"}
  next: {arcs: [{step: ask}]}
- step: ask
  tool: {name: w, kind: wait, events: [go], correlation: order 9}
  next: {arcs: [{step: last, args: {more: "{{ event.result.data }}"}}]}
- {step: last, tool: {kind: python, args: {t: "{{ start }}", more: "{{ args.more }}"}, code: "result = len(t) + more"}}
"""


def test_what_was_in_flight_goes_on_from_a_dump(tmp_path: Path) -> None:
    url = postgres().store_url()
    base, _, schema = url.rpartition("&schema=")
    plan = write_plan(compile_source("t.yaml", (HEAD + BODY).encode()).plans[0])
    with served(tmp_path, store=url) as server:
        server.runtime.store.put_plan(digest_of(plan), "t/t", plan)
        name = server.start(path="t/t")
        until(lambda: '"order 9"' in server.client.get("/signals").text, 30)
        # While the server drives it; as the page says it.
        dump = tmp_path / "dump"
        words = ["pg_dump", f"--schema={schema}", "--format=custom", f"--file={dump}", f"--dbname={base}"]
        subprocess.run([postgres().programs / words[0], *words[1:]], check=True, capture_output=True)
        # What comes behind the dump is not in it.
        server.client.post("/signals", json={"key": "order 9", "name": "go", "data": 1})
        until(lambda: server.status(name) == "completed", 30)
    with psycopg.connect(base, autocommit=True) as database:
        database.execute("CREATE DATABASE restored")
    there = base.replace("/postgres?", "/restored?")
    assert there != base
    words = ["pg_restore", f"--dbname={there}", dump]
    subprocess.run([postgres().programs / words[0], *words[1:]], check=True, capture_output=True)
    other = f"{there}&schema={schema}"
    with served(tmp_path, store=other) as server:
        until(lambda: '"order 9"' in server.client.get("/signals").text, 30)
        server.client.post("/signals", json={"key": "order 9", "name": "go", "data": 7})
        until(lambda: server.status(name) == "completed", 30)
        assert server.client.get(f"/executions/{name}/result").json()["result"] == 5_007
        assert [row.chunk.text for row in server.runtime.outputs.read(name, 0, 10)] == ["before\n"]
    with open_runtime(other, Settings(), lambda path: (b"", {})) as runtime:
        check = StoreCheck(runtime, replays=True)
        assert [*check.faults()] == [] and check.count.executions == 1
        # New ids of rows begin behind those that are there.
        runtime.store.create(ExecutionRow("another", "p", digest_of(plan), "running", None, 1, None))
