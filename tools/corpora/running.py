"""One playbook run by `noetl run` in a folder of its own, with the addresses of services turned to the server here."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from corpora.database import Database, credentials_in, store_credentials
from corpora.files import File
from corpora.isolation import alone
from corpora.known import Expected, Known
from corpora.needs import is_offline
from corpora.outcomes import Outcome, outcome_in
from corpora.serving import turned
from noetl_ir.expr import Json

LIMIT = 20.0
"""Seconds for one run."""
_GRACE = 3.0
_CALLS = re.compile(rb"(?m)^[\s-]*[\"']?(?:kind|type|tool)[\"']?\s*:\s*[\"']?playbooks?\b")
_TEXTS = (".yaml", ".yml", ".py", ".sh", ".sql", ".json", ".csv", ".txt")


class Place(NamedTuple):
    """Where runs take place: the corpus, the folder for all of them, the server's port and hosts, the database."""

    corpus: Path
    folder: Path
    port: int
    hosts: frozenset[str]
    database: Database
    known: Known


def ran(place: Place, file: File, run: str, expected: Expected | None) -> Outcome:
    """Run a playbook to its end, or until the time is up, and those before it that are to be."""
    home = place.folder / run
    store = f"sqlite:///{home}/store/log.db"
    try:
        (home / "store").mkdir(parents=True)
        _lay_out(place, file, home / "files", run)
        text = file.data.decode("utf-8", "replace")
        names = credentials_in(text) | {*place.known.credentials}
        fields = place.database.fields(run)
        for url in (store, f"{store}.before"):
            store_credentials(url, names, fields)
        # What must have run before has a store of its own, so that the store of the run holds one execution to be
        # told.
        for earlier in expected.before if expected else ():
            _run(_command(earlier, file.data, f"{store}.before", None), home)
        begun = time.perf_counter()
        code, said = _run(_command(file.path, file.data, store, expected.payload if expected else None), home)
        seconds = time.perf_counter() - begun
        return _outcome(store, code, said)._replace(seconds=round(seconds, 1), tables=place.database.tables(run))
    finally:
        place.database.drop(run)
        shutil.rmtree(home, ignore_errors=True)


def _lay_out(place: Place, file: File, target: Path, run: str) -> None:
    """Copy the playbook with what lies beside and below it, or the whole day where it calls others."""
    day = place.corpus / file.day
    start = day if _CALLS.search(file.data) else (day / file.path).parent
    at = f"http://127.0.0.1:{place.port}/{run}"
    for source in _files_under(start):
        copy = target / source.relative_to(day)
        copy.parent.mkdir(parents=True, exist_ok=True)
        data = source.read_bytes()
        if source.suffix in _TEXTS:
            # Bytes that are no UTF-8 come out as they went in.
            data = turned(data.decode("utf-8", "surrogateescape"), place.hosts, at).encode("utf-8", "surrogateescape")
        copy.write_bytes(data)


def _files_under(folder: Path) -> Iterator[Path]:
    yield from (path for path in folder.rglob("*") if path.is_file())


def _command(path: str, data: bytes, store: str, payload: Json) -> list[str]:
    argv = [str(Path(sys.executable).with_name("noetl")), "run", path, "--quiet", "--store", store]
    if _CALLS.search(data):
        argv += ["--path", "."]
    if payload is not None:
        argv += ["--payload", json.dumps(payload)]
    return argv


def _run(argv: list[str], home: Path) -> tuple[int | None, str]:
    """The exit code, None when the time was up, and what was printed."""
    files, output = home / "files", home / "output"
    path = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"
    # Nothing of this machine's environment: results are compared between machines, and no secret of ours may get into
    # a run.
    env = {"PATH": path, "HOME": str(home), "TMPDIR": str(home), "LANG": "C.UTF-8", "TZ": "UTC"}
    with open(output, "wb") as out:
        child = subprocess.Popen(
            alone(argv), cwd=files, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
        )
        try:
            code: int | None = child.wait(LIMIT)
        except subprocess.TimeoutExpired:
            code = None
            _end(child)
    return code, output.read_bytes()[:20_000].decode("utf-8", "replace")


def _end(child: subprocess.Popen[bytes]) -> None:
    # Interrupted first, so that the log is written to its end and says how far the run came.
    for number in (signal.SIGINT, signal.SIGKILL):
        try:
            os.killpg(child.pid, number)
            child.wait(_GRACE)
            return
        except (subprocess.TimeoutExpired, ProcessLookupError):
            continue


_ERROR = re.compile(r"(?m)^.*?error\[(NL\d+)\] (.*)$")


def _outcome(store: str, code: int | None, said: str) -> Outcome:
    # A traceback of the playbook's own code is an outcome like others. One of ours is a bug, whatever the log says.
    if "Traceback (most recent call last)" in said and "noetl" in said.rpartition("Traceback")[2].partition("\n\n")[0]:
        return Outcome("broken", message=said[-1500:])
    found = outcome_in(store) if (Path(store.removeprefix("sqlite:///"))).exists() else None
    if found is None:
        if error := _ERROR.search(said):
            return Outcome("refused", code=error[1], message=error[2][:300])
        return Outcome("unfinished" if code is None else "refused", message=said.strip()[-400:])
    # A run that wanted the network says nothing about the product.
    if found.status == "failed" and is_offline(found.message):
        return found._replace(status="offline")
    return found
