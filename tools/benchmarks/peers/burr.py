"""Burr with its SQLite persister: one noop action that runs N times, its state saved after each.

    python -P burr.py steps N

Prints {"seconds": …, "count": N, "peak_kb": …} as its only line on standard output. `-P` keeps this file's
folder off the path, where it would hide the package of its name.
"""

import json
import resource
import sys
import tempfile
import time

from burr.core import ApplicationBuilder, State, action, expr
from burr.core.persistence import SQLLitePersister


@action(reads=["done"], writes=["done"])
def noop(state: State) -> State:
    return state.update(done=state["done"] + 1)


@action(reads=["done"], writes=[])
def finish(state: State) -> State:
    return state


def main(count: int, database: str) -> float:
    persister = SQLLitePersister(db_path=database, table_name="bench")
    persister.initialize()
    program = (
        ApplicationBuilder()
        .with_actions(noop=noop, finish=finish)
        .with_transitions(("noop", "noop", expr(f"done < {count}")), ("noop", "finish"))
        .with_state(done=0)
        .with_entrypoint("noop")
        .with_identifiers(app_id="bench", partition_key="bench")
        .with_state_persister(persister)
        .build()
    )
    begun = time.perf_counter()
    program.run(halt_after=["finish"])
    return time.perf_counter() - begun


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        seconds = main(int(sys.argv[2]), f"{folder}/burr.sqlite")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"seconds": seconds, "count": int(sys.argv[2]), "peak_kb": peak}))
