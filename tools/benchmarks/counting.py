"""Runs a plan in this process and prints how many transactions its store made.

python -m benchmarks.counting PLAN STORE
"""

import sys
from collections.abc import Callable
from pathlib import Path

from noetl.app.composition import driver_of
from noetl.app.runtime import Settings, open_runtime
from noetl.engine.starting import Request
from noetl.store.sqlite import SqliteStore


def main(plan: Path, address: str) -> int:
    """Run a plan; the transactions from its start to its end."""
    count = 0
    transact = SqliteStore._transact

    def counted(self: SqliteStore, operation: str, work: Callable[..., object]) -> object:
        nonlocal count
        count += 1
        return transact(self, operation, work)

    # Every way into the store goes through this one method. The product needs no counter of its own for the bench.
    SqliteStore._transact = counted  # type: ignore[method-assign, assignment]
    with open_runtime(address, Settings(), _no_catalogue) as runtime:
        program = runtime.programs.add_plan(plan.read_bytes())
        execution_id, count = runtime.new_execution_id(), 0
        with driver_of(runtime, execution_id, lambda *_: None) as driver:
            status = driver.embedded.start(program, execution_id, Request({}))
    if status != "completed":
        raise SystemExit(f"the run is {status}")
    return count


def _no_catalogue(path: Path) -> bytes:
    raise AssertionError(path)


if __name__ == "__main__":
    print(main(Path(sys.argv[1]), sys.argv[2]))
