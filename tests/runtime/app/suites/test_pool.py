"""Work that processes share."""

import subprocess
import sys

# It reads one record and no more, and each record is more than a pipe takes.
STANDS_STILL = """
import sys
from noetl.app.suites.pool import shared_out

for piece, _ in shared_out([*range(100)], 2, lambda piece: "x" * 100_000):
    print(piece, flush=True)
    sys.stdin.read()
"""


def test_who_shares_the_work_ends_with_who_shared_it_out() -> None:
    """The standard output is theirs, too: its end comes when the last of them has ended."""
    words = [sys.executable, "-c", STANDS_STILL]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        assert program.stdout is not None
        assert program.stdout.readline().strip() in (b"0", b"1")
        program.kill()
        assert program.communicate(timeout=60) == (b"", None)
