"""Rows about what a task costs beside what it does: python code in loops, and HTTP requests."""

from statistics import median

from benchmarks import running
from benchmarks.generate import python_loop
from benchmarks.measure import interleave, probe
from benchmarks.row import Bench, Reading, at_most, limit

_TRIVIAL, _SLEEPS = "result = n + 1", "import time; time.sleep(0.5)"
_CORES = "on two cores that nobody else uses"


def python_loops(bench: Bench) -> list[Reading]:
    """A thousand trivial iterations at once against the same one by one, and eight that sleep half a second."""

    def seconds(items: int, code: str, mode: str):
        compiled = running.plan(bench, f"python_{mode}_{items}", python_loop(items, code, mode=mode))
        return lambda: running.run(bench, compiled, running.store(bench, f"python_{mode}_{items}")).seconds

    works = (seconds(1000, _TRIVIAL, "parallel"), seconds(1000, _TRIVIAL, "sequential"))
    at_once, singly, asleep = interleave(bench.runs, *works, seconds(8, _SLEEPS, "parallel"))
    return [
        at_most("1,000 python iterations at once", at_once, singly, times=1, unit="s", base_name="one by one").beside(
            "5 ×"
        ),
        limit("the same", at_once, 2.5, unit="s", remark=_CORES).beside("13 s"),
        limit("8 that sleep 0.5 s each", asleep, 1.5, unit="s", remark=_CORES),
    ]


def http_calls(bench: Bench) -> list[Reading]:
    """Processor time of a request by the tool, the engine aside, against httpx with a client that it keeps."""
    figures = probe(bench, "requesting", str(bench.runs))
    own, base = (median(figures[name]) * 1e6 for name in ("tool", "httpx"))
    return [at_most("an http call", own, base, times=2, unit="µs", base_name="httpx, one client").beside("5 ×")]
