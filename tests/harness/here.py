"""`noetl …` in this process, as its own would be: a tenth of a start each, for tests of what it does and not of how."""

import io
import subprocess
import sys
from collections.abc import Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path

from noetl.cli import main


def done_here(folder: Path, words: Sequence[str], stdin: str = "") -> "subprocess.CompletedProcess[str]":
    """A command line to its end, in a folder and with something to read."""
    output, said, before = io.StringIO(), io.StringIO(), sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin.encode()), "utf-8")
    try:
        with chdir(folder), redirect_stdout(output), redirect_stderr(said):
            code = main(words)
    finally:
        sys.stdin = before
    return subprocess.CompletedProcess(words, code, output.getvalue(), said.getvalue())
