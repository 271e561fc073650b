"""Times source → plan bytes beside libyaml's events, and the parsing of expressions, in one fresh interpreter.

    python -m benchmarks.compiling plan FILE…
    python -m benchmarks.compiling expressions FILE…

`plan` prints {FILE: [seconds], "events FILE": [seconds]}; `expressions` prints {"seconds": [of each distinct
template]}. Files are read before any clock starts. Both sides of `plan` are processor time: they wait for nothing, so
that other programs on the machine are left out. What the compiler keeps from one file for the next would flatter
it, so that a process compiles each file once, after a file of two steps that pays for the imports.
"""

import gc
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import yaml

from benchmarks.events import deliver
from benchmarks.generate import playbook


def plans(paths: list[Path]) -> dict[str, list[float]]:
    """Each file's events delivered, then the file compiled."""
    _compiled("imports.yaml", playbook(2).encode())
    kept: dict[str, list[float]] = {}
    for path in paths:
        data = path.read_bytes()
        gc.collect()
        begun = time.process_time()
        deliver(data)
        kept[f"events {path}"] = [time.process_time() - begun]
        gc.collect()
        # Right behind the events of the same file, so that both are of the same moment.
        kept[str(path)] = [_compiled(str(path), data)]
    return kept


def _compiled(name: str, data: bytes) -> float:
    from noetl_ir.plan_format import write_plan
    from noetlc.pipeline import compile_source

    begun = time.process_time()
    written = [write_plan(plan) for plan in compile_source(name, data).plans]
    # A plan that is refused takes no time: it must end the measurement and not improve it.
    seconds = time.process_time() - begun
    return seconds if written else sys.exit(f"{name} does not compile")


def expressions(paths: list[Path]) -> dict[str, list[float]]:
    """Every distinct template of the files, each parsed once: none comes out of the cache by text."""
    from noetlc.expr.parser import parse_template

    parse_template("{{ 1 if ctx.a | int > 2 else [3] }}")  # loads the tables of the grammar
    seconds = []
    for text in dict.fromkeys(text for path in paths for text in templates(path.read_bytes())):
        begun = time.perf_counter()
        parse_template(text)
        seconds.append(time.perf_counter() - begun)
    return {"seconds": seconds}


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
    print(json.dumps(work([Path(argument) for argument in sys.argv[2:]])))
