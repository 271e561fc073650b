"""DBOS on SQLite: sequential noop steps of one workflow, and a fan-out of noop workflows over a queue.

    python -P dbos.py steps|fanout N

Prints {"seconds": …, "count": N, "peak_kb": …} as its only line on standard output. `-P` keeps this file's
folder off the path, where it would hide the package of its name.
"""

import json
import os
import resource
import sys
import tempfile
import time

from dbos import DBOS, SetWorkflowID


@DBOS.step()
def noop() -> None:
    return None


@DBOS.workflow()
def steps(count: int) -> None:
    for _ in range(count):
        noop()


@DBOS.workflow()
def one() -> None:
    noop()


@DBOS.workflow()
def fanout(count: int) -> None:
    for handle in [DBOS.enqueue_workflow("bench", one) for _ in range(count)]:
        handle.get_result()


def main(work: str, count: int) -> float:
    with SetWorkflowID("bench"):
        begun = time.perf_counter()
        (steps if work == "steps" else fanout)(count)
        return time.perf_counter() - begun


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        database = f"sqlite:///{folder}/dbos.sqlite"
        DBOS(config={"name": "bench", "system_database_url": database, "log_level": "ERROR"})
        DBOS.launch()
        DBOS.register_queue("bench", worker_concurrency=32, polling_interval_sec=0.05)
        seconds = main(sys.argv[1], int(sys.argv[2]))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(json.dumps({"seconds": seconds, "count": int(sys.argv[2]), "peak_kb": peak}), flush=True)
        os._exit(0)  # the queue's threads would be waited for
