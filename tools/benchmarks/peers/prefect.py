"""Prefect with a local server of its own on SQLite: one flow that calls a noop task N times.

    python -P prefect.py steps N

Prints {"seconds": …, "count": N, "peak_kb": …} as its only line on standard output. `-P` keeps this file's
folder off the path, where it would hide the package of its name.
"""

import json
import os
import resource
import sys
import tempfile
import time


def main(count: int) -> float:
    """Run the flow; seconds of the calls alone, without the start of server and flow."""
    from prefect import flow, task

    @task
    def noop() -> None:
        return None

    @flow
    def steps() -> float:
        noop()  # the first call connects to the server
        begun = time.perf_counter()
        for _ in range(count):
            noop()
        return time.perf_counter() - begun

    return steps()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        # Prefect reads its settings when it is imported, which is why main imports it.
        os.environ |= {
            "PREFECT_HOME": folder,
            "PREFECT_LOGGING_LEVEL": "CRITICAL",
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
            "DO_NOT_TRACK": "1",
        }
        seconds = main(int(sys.argv[2]))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(json.dumps({"seconds": seconds, "count": int(sys.argv[2]), "peak_kb": peak}))
