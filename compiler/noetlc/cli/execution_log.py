"""The log of an execution, as `noetl events ID --json` writes it: from a file, or by asking that program.

The compiler never imports the runtime; it runs it, as anybody could.
"""

import json
import os
import sys

import click

from noetl_ir.tallies import LogTally, NoLog, log_of
from noetlc.cli.files import read

STORE = "NOETL_STORE"


def read_log(execution: str | None, store: str | None, events: str | None) -> LogTally:
    """The counts of the log of an execution, from a store or a file. Raises UsageError where it cannot be read."""
    data = _asked(execution, store) if execution is not None else read(events or "-")
    name = f"--run {execution}" if execution is not None else f"--events {events}"
    try:
        rows = [json.loads(line) for line in data.splitlines() if line.strip()]
        return log_of(rows)
    except (NoLog, ValueError, RecursionError) as problem:
        raise click.UsageError(f"{name}: {problem}") from None


def _asked(execution: str, store: str | None) -> bytes:
    import subprocess

    # By the environment, since an address may hold a password, and arguments are seen by every user of the machine.
    environment = dict(os.environ) if store is None else {**os.environ, STORE: store}
    # The same interpreter: what is called `noetl` on the path may belong to another environment.
    command = [sys.executable, "-m", "noetl.cli", "events", "--json", "--", execution]
    done = subprocess.run(command, capture_output=True, check=False, env=environment)
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().removeprefix("error: ")
        raise click.UsageError(f"--run {execution}: {said or 'its log cannot be read'}")
    return done.stdout
