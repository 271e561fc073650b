"""Times source → plan bytes beside libyaml's events, and the parsing of expressions, inside one interpreter.

    python -m benchmarks.compiling plan RUNS FILE…
    python -m benchmarks.compiling expressions RUNS FILE…

`plan` prints {FILE: [seconds of each run], "events FILE": […]}; `expressions` prints {"median": [seconds of
one expression, by run], "count": [how many]}. Files are read before any clock starts.
"""

import gc
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import yaml

from benchmarks.events import timed


def plans(runs: int, paths: list[Path]) -> dict[str, list[float]]:
    """Each file compiled and its events delivered, in turn."""
    from noetlc.pipeline import compile_source

    kept: dict[str, list[float]] = {}
    for _ in range(runs):
        for path in paths:
            data = path.read_bytes()
            gc.collect()
            kept.setdefault(f"events {path}", []).append(timed(data))
            gc.collect()
            begun = time.perf_counter()
            compiled = compile_source(str(path), data)
            kept.setdefault(str(path), []).append(time.perf_counter() - begun)
            del compiled
    return kept


def expressions(runs: int, paths: list[Path]) -> dict[str, list[float]]:
    """The median over every template of the files, each file parsed from cold caches."""
    from noetlc.expr.parser import parse_template

    files = [list(templates(path.read_bytes())) for path in paths]
    medians = []
    for _ in range(runs):
        seconds = []
        for texts in files:
            getattr(parse_template, "cache_clear", lambda: None)()
            for text in texts:
                begun = time.perf_counter()
                parse_template(text)
                seconds.append(time.perf_counter() - begun)
        medians.append(median(seconds))
    return {"median": medians, "count": [float(sum(map(len, files)))]}


def templates(data: bytes) -> Iterator[str]:
    """Every scalar of a YAML file that holds an expression."""
    try:
        for event in yaml.parse(data, Loader=yaml.CLoader):
            if isinstance(event, yaml.ScalarEvent) and "{{" in event.value and event.style != "|":
                yield event.value
    except yaml.YAMLError:
        return  # goldens of the reader are broken on purpose


if __name__ == "__main__":
    work = {"plan": plans, "expressions": expressions}[sys.argv[1]]
    print(json.dumps(work(int(sys.argv[2]), [Path(argument) for argument in sys.argv[3:]])))
