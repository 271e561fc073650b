"""Times how a stored plan is made ready to run, in one fresh interpreter.

    python -m benchmarks.opening PLAN STORE RUNS

Prints {"first": [seconds], "again": [seconds, …]}: the first time the plan is verified and the store notes it; every
other time a store is opened anew and what an execution and the run of one step ask of the net is made. Processor time:
it waits for nothing.
"""

import json
import sys
import time
from pathlib import Path


def main(plan: str, address: str, runs: int) -> dict[str, list[float]]:
    """The seconds of each opening."""
    from noetl.app.programs import Programs
    from noetl.engine.execution import Execution
    from noetl.store.sqlite import open_store
    from noetl_ir.plan_format import digest_of

    data = Path(plan).read_bytes()
    store = open_store(address)
    store.put_plan(digest_of(data), "bench/opening", data)
    store.close()
    seconds = []
    # One round more than asked for: the first one verifies, and is told apart.
    for _ in range(runs + 1):
        begun = time.process_time()
        store = open_store(address)
        program = Programs(store, (), lambda path: (b"", {})).load(digest_of(data))
        Execution("1", program)
        program.choices(program.plan.net.transitions[program.transition("begin", program.plan.entry)].outputs[0].place)
        seconds.append(time.process_time() - begun)
        store.close()
        # The next opening must not find what this one made.
        del program
    return {"first": seconds[:1], "again": seconds[1:]}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2], int(sys.argv[3]))))
