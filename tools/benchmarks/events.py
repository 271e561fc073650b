"""The base of the front-end bars: libyaml's events for every file of a folder, in one process.

    python -m benchmarks.events FOLDER

Prints {"seconds": [S]}. The files are read before the clock starts.
"""

import json
import sys
import time
from pathlib import Path

import yaml


def deliver(data: bytes) -> None:
    """Take every event of a document and drop it."""
    for _ in yaml.parse(data, Loader=yaml.CLoader):
        pass


def timed(data: bytes) -> float:
    """Seconds that libyaml needs for the events of one document."""
    begun = time.perf_counter()
    deliver(data)
    return time.perf_counter() - begun


if __name__ == "__main__":
    documents = [path.read_bytes() for path in sorted(Path(sys.argv[1]).glob("*.yaml"))]
    print(json.dumps({"seconds": [sum(timed(data) for data in documents)]}))
