"""Start a program, and print its seconds and its peak resident memory in kB as JSON, the only line on standard output.

Linux counts to the peak of a process what the process that started it had in memory at that time. The bench has more
than what it measures, so this small one stands in between. Ends with the program's exit code.
"""

import json
import os
import sys
import time

if __name__ == "__main__":
    begun = time.perf_counter()
    nowhere = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    child = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, file_actions=nowhere)
    _, status, usage = os.wait4(child, 0)
    print(json.dumps({"seconds": time.perf_counter() - begun, "peak_kb": usage.ru_maxrss}))
    sys.exit(os.waitstatus_to_exitcode(status))
