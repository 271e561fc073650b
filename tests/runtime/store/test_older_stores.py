"""Stores that older versions wrote, with executions in flight: this version opens them, goes on, and ends them with the
values that their playbooks come to (`tests/older_stores/playbooks`). `tools/older_stores` makes the next ones.
"""

import gzip
import re
import threading
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest

from harness.clusters import checked
from harness.serving import Served, served, until
from noetl.app.adapters import schema_of
from noetl.app.bundles import read_bundle, write_bundle
from noetl.app.retention import Purger
from noetl.app.runtime import Runtime, Settings, open_runtime
from noetl.app.store_check import StoreCheck
from noetl.ports import ExecutionRow, Wanted
from noetl.store.postgres.schema import VERSION as POSTGRES
from noetl.store.sqlite.schema import VERSION as SQLITE
from noetl_ir.plan_format import digest_of, write_plan
from noetlc.pipeline import compile_source
from services import postgres

STORES = Path(__file__).resolve().parents[2] / "older_stores"
FIXTURES = sorted(path.name for path in STORES.iterdir() if path.suffix in (".zip", ".gz"))

RESULTS: dict[str, Any] = {
    "signalled": 42,  # 40, 1 more before the signal, and 1 that it brings
    "timed": "late",
    "retried": "tried",
    "caller": {"child": 107},
    "called": 107,
    "looped": [["1", 900], ["2", 900], ["3", 900], ["4", 900]],
    "paused": [1, 2],
    "keyed": 77,
    "finished": {"text": "x" * 3000},
    "joined": 15,
}


class OlderStore:
    """A store that an older version wrote, in a place of its own, and the folder in which its tools go on."""

    def __init__(self, name: str, folder: Path) -> None:
        self.folder = folder
        if name.endswith(".zip"):
            with zipfile.ZipFile(STORES / name) as archive:
                archive.extractall(folder)
            self.url = f"sqlite:///{folder}/noetl.db"
        else:
            self.url = postgres().store_url()
            schema = self.url.rpartition("=")[2]
            dump = gzip.decompress((STORES / name).read_bytes())
            with psycopg.connect(postgres().url, autocommit=True) as connection:
                connection.execute(re.sub(rb"\bolder_store\b", schema.encode(), dump))
        # What the playbooks wait for: tools find it from now on.
        for file in ("ready", "paused"):
            (folder / file).touch()


@pytest.fixture(params=FIXTURES)
def older(request: pytest.FixtureRequest, tmp_path: Path) -> OlderStore:
    """Each of the stores that are kept."""
    return OlderStore(request.param, tmp_path)


def rows(runtime: Runtime) -> dict[str, ExecutionRow]:
    """The executions by the last word of their playbook's path."""
    return {row.playbook.rpartition("/")[2]: row for row in runtime.store.executions(Wanted(limit=100))}


@pytest.fixture
def gone_on(older: OlderStore) -> "Iterator[Served]":
    """A server of this version over it, to whose executions came all that they wait for, until the last one is over."""
    with served(older.folder, store=older.url) as server:
        ids = {name: row.execution_id for name, row in rows(server.runtime).items()}
        for name, data in (("signalled", 1), ("called", 7), ("joined", 5)):
            sent = {"name": "go", "data": data}
            assert server.client.post(f"/executions/{ids[name]}/signal", json=sent).status_code < 300
        letter = {"key": "order 7", "name": "paid", "data": 77}
        assert server.client.post("/signals", json=letter).status_code < 300
        assert server.client.post(f"/executions/{ids['paused']}/resume").status_code < 300
        until(lambda: all(row.ended is not None for row in rows(server.runtime).values()), 60)
        yield server


def result_of(server: Served, row: ExecutionRow) -> Any:
    """The result of an execution."""
    return server.client.get(f"/executions/{row.execution_id}/result").json()["result"]


def test_a_store_is_kept_of_each_kind() -> None:
    """Of a version before this one: a migration that no store goes through is tried by nobody."""
    kept = [(name.partition("_")[0], int(re.sub(r"\D", "", name))) for name in FIXTURES]
    assert min(number for kind, number in kept if kind == "sqlite") < SQLITE
    assert min(number for kind, number in kept if kind == "postgres") < POSTGRES


def test_an_older_store_is_whole(older: OlderStore) -> None:
    """Also by the rules of today: each log is a run of its plan."""
    with open_runtime(older.url, Settings(), _no_catalogue) as runtime:
        check = StoreCheck(runtime, replays=True)
        assert [*check.faults()] == []
        assert check.count.executions == 11 and check.count.values >= 4


def test_several_that_open_an_older_store_at_once_change_it_once(older: OlderStore) -> None:
    """As servers of a cluster do that are started together with the new version."""
    together = threading.Barrier(4)

    def look(_: int) -> int:
        together.wait()
        with open_runtime(older.url, Settings(), _no_catalogue) as runtime:
            return len(rows(runtime))

    with ThreadPoolExecutor(4) as pool:
        assert [*pool.map(look, range(4))] == [11] * 4
    schema = schema_of(older.url)
    assert schema.found == schema.known


def test_what_an_older_version_began_ends_with_the_right_values(gone_on: Served) -> None:
    found = rows(gone_on.runtime)
    assert {name: result_of(gone_on, found[name]) for name in RESULTS} == RESULTS
    for name in RESULTS:
        checked(gone_on.runtime, found[name].execution_id)
    checked(gone_on.runtime, found["failed"].execution_id, "failed")
    assert found["called"].parent_execution_id == found["caller"].execution_id
    check = StoreCheck(gone_on.runtime, replays=True)
    assert [*check.faults()] == []
    # Items that were done are not done again, and the one that was at work is.
    file = gone_on.runtime.settings.root / "items"  # type: ignore[operator]
    assert file.read_text().split() == ["3", "4"]


def test_a_signal_that_an_older_version_kept_reaches_a_wait_of_today(older: OlderStore) -> None:
    plan = write_plan(compile_source("early.yaml", (STORES / "playbooks" / "early.yaml").read_bytes()).plans[0])
    with served(older.folder, store=older.url) as server:
        server.runtime.store.put_plan(digest_of(plan), "older/early", plan)
        name = server.start(path="older/early")
        until(lambda: server.runtime.store.execution(name).ended is not None, 30)
        assert server.client.get(f"/executions/{name}/result").json()["result"] == 88


def test_what_failed_in_an_older_version_is_run_again_from_there(older: OlderStore) -> None:
    with served(older.folder, store=older.url) as server:
        name = rows(server.runtime)["failed"].execution_id
        asked = server.client.post(f"/executions/{name}/rerun", json={})
        assert asked.status_code == 201, asked.text
        again = asked.json()["execution_id"]
        until(lambda: server.runtime.store.execution(again).ended is not None, 30)
        assert server.client.get(f"/executions/{again}/result").json()["result"]["stdout"] == "6\n"
        assert "once" not in (older.folder / "items").read_text()  # its first step is kept


def test_what_an_older_version_ended_goes_to_a_bundle_and_back(older: OlderStore, tmp_path: Path) -> None:
    with open_runtime(older.url, Settings(), _no_catalogue) as runtime:
        row = rows(runtime)["finished"]
        before = [record.body for record in runtime.store.read(row.execution_id)]
        purger = Purger(runtime, lambda family: write_bundle(runtime, family, str(tmp_path / "kept")))
        assert purger.purge([row]).executions == 1
        assert runtime.store.execution(row.execution_id) is None
        read_bundle(runtime, str(tmp_path / "kept" / f"{row.execution_id}.noetl"))
        assert [record.body for record in runtime.store.read(row.execution_id)] == before
        printed = runtime.outputs.read(row.execution_id, 0, 10)
        assert [each.chunk.text for each in printed] == ["printed\n"]


def test_a_key_of_a_start_is_still_known(older: OlderStore) -> None:
    """Asked again with it, a start of the older version is no second one."""
    with served(older.folder, store=older.url) as server:
        row = rows(server.runtime)["finished"]
        body = {"playbook_id": row.plan_digest}
        asked = server.client.post("/executions", json=body, headers={"Idempotency-Key": "older finished"})
        assert asked.json()["execution_id"] == row.execution_id, asked.text


def _no_catalogue(path: Path) -> bytes:
    raise AssertionError(f"{path} is compiled")
