"""Starts plans through `noetl` and reads their logs back, for the rows of the runtime."""

import json
import shutil
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from benchmarks.measure import Process, probe, process
from benchmarks.row import Bench, NotMeasured


class Event(NamedTuple):
    """An event's name and time in seconds since the epoch."""

    name: str
    at: float


def plan(bench: Bench, name: str, source: str) -> Path:
    """Compile a playbook once; the file of its plan."""
    target = bench.folder / f"{name}.ir"
    if not target.exists():
        process([bench.noetlc, "compile", bench.file(f"{name}.yaml", source), "-o", target])
    return target


def store(bench: Bench, name: str) -> str:
    """The address of a fresh store in a folder of its own."""
    folder = bench.folder / "stores" / name
    # A store grows with each run. A fresh one makes the rounds alike.
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return f"sqlite:///{folder}/log.sqlite"


def words(bench: Bench, compiled: Path, address: str, *options: str) -> list[str | Path]:
    """The command line that runs a plan to completion, quietly and durably."""
    return [bench.noetl, "run", compiled, "--quiet", "--store", address, *options]


def run(bench: Bench, compiled: Path, address: str, *options: str) -> Process:
    """Run a plan to completion, quietly and durably."""
    return process(words(bench, compiled, address, *options))


def commits(bench: Bench, compiled: Path, address: str) -> int:
    """How many transactions a run of a plan takes, its start included."""
    told: object = probe(bench, "counting", str(compiled), address)
    return int(str(told))


def status(bench: Bench, address: str) -> Process:
    """How the newest execution of a store stands."""
    return process([bench.noetl, "status", "last", "--store", address])


def log(bench: Bench, address: str) -> list[Event]:
    """The events of the newest execution of a store."""
    listed = process([bench.noetl, "list", "--json", "--store", address])
    rows = json.loads(listed.output)
    if not rows:
        raise NotMeasured("the store lists no execution")
    told = process([bench.noetl, "events", rows[0]["execution_id"], "--json", "--store", address])
    return list(_events(told.output))


def _events(text: str) -> Iterator[Event]:
    for line in text.splitlines():
        event = json.loads(line)
        yield Event(event["event_type"], _seconds(event["ts"]))


def _seconds(stamp: str | int | float) -> float:
    """A time as ISO text or as microseconds since the epoch."""
    return datetime.fromisoformat(stamp).timestamp() if isinstance(stamp, str) else stamp / 1e6
