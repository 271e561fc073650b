"""Rows about `noetl run` on SQLite: start-up, steps and iterations a second, and memory."""

from collections.abc import Sequence
from statistics import median

from benchmarks import running
from benchmarks.generate import chain, jumps, parallel
from benchmarks.measure import interleave, pass_seconds, peer_rate
from benchmarks.row import Bench, NotMeasured, Reading, at_least, at_most, limit, missing

_WINDOW = 2_000  # steps over which a rate is taken
_FLAT = 1.1  # memory counts as flat when ten times the work takes at most this much more
_NOISE = 0.95  # a later rate this near to the first one counts as no slower
_OTHERS = {"langgraph": 2_000, "burr": 2_000, "prefect": 200}  # further peers and the steps that each does


def one_step(bench: Bench) -> list[Reading]:
    """A one-step plan, whole process, into a store that is there already."""
    compiled, address = running.plan(bench, "one", chain(1)), running.store(bench, "one")
    running.run(bench, compiled, address)

    def own() -> float:
        return running.run(bench, compiled, address).seconds

    seconds, base = interleave(bench.runs * 3, own, lambda: pass_seconds(bench))
    return [at_most("run of a one-step plan", seconds, base, times=12, unit="s", base_name="python -c pass")]


def durable_steps(bench: Bench) -> list[Reading]:
    """Sequential noop steps: the first 2,000 against DBOS, and 18,000–20,000 against the first 2,000."""
    compiled = running.plan(bench, "chain_20000", chain(20_000))
    late: list[float] = []

    def own() -> float:
        address = running.store(bench, "steps")
        running.run(bench, compiled, address)
        done = [e.at for e in running.log(bench, address) if e.name == "step.done"]
        late.append(_rate(done[-_WINDOW:]) / _rate(done[:_WINDOW]))
        return _rate(done[:_WINDOW])

    rate, base = interleave(bench.runs, own, lambda: peer_rate("dbos", "steps", _WINDOW))
    slope = median(late)
    return [
        at_least("durable steps a second", rate, base, times=8, unit="/s", base_name="DBOS, SQLite"),
        Reading("steps 18,000–20,000", rate * slope, rate, "/s", "first 2,000", slope, "≥ 1 ×", slope >= _NOISE),
        *(_other(bench, name, count, rate) for name, count in _OTHERS.items()),
    ]


def _rate(times: Sequence[float]) -> float:
    if len(times) < 2 or times[-1] <= times[0]:
        raise NotMeasured("the log has too few step.done events with their times")
    return (len(times) - 1) / (times[-1] - times[0])


def _other(bench: Bench, name: str, count: int, rate: float) -> Reading:
    """A peer that no bar is set against, for comparison."""
    label = "durable steps a second"
    try:
        (base,) = interleave(bench.runs, lambda: peer_rate(name, "steps", count))
    except NotMeasured as problem:
        return missing(label, "", str(problem))
    return Reading(label, rate, base, "/s", name, rate / base, "", None, "for comparison")


def iterations(bench: Bench) -> list[Reading]:
    """A parallel loop over 10,000 noop items against DBOS's fan-out over its queue."""
    compiled = running.plan(bench, "parallel", parallel(10_000, result_bytes=0, steps_before=1))

    def own() -> float:
        address = running.store(bench, "parallel")
        running.run(bench, compiled, address)
        events = running.log(bench, address)
        begun = next(e.at for e in events if e.name == "loop.started")
        ended = next(e.at for e in events if e.name == "loop.done")
        return 10_000 / (ended - begun)

    rate, base = interleave(bench.runs, own, lambda: peer_rate("dbos", "fanout", 1_000))
    return [at_least("iterations a second", rate, base, times=20, unit="/s", base_name="DBOS, queue")]


def loop_memory(bench: Bench) -> list[Reading]:
    """Ten thousand iterations of a 1 KB result, after 1 step run and after 10,000."""
    few = _peak(bench, "memory_1", parallel(10_000, result_bytes=1024, steps_before=1))
    many = _peak(bench, "memory_10000", parallel(10_000, result_bytes=1024, steps_before=10_000))
    return [
        limit("10,000 iterations of 1 KB", few, 200, unit="MB"),
        at_most("the same after 10,000 steps", many, few, times=_FLAT, unit="MB", base_name="after 1 step"),
    ]


def jump_loop(bench: Bench) -> list[Reading]:
    """A run of 100,000 tasks completes in the memory of one of 10,000."""
    short = _peak(bench, "jumps_10000", jumps(10_000))
    long = _peak(bench, "jumps_100000", jumps(100_000))
    return [at_most("jump loop, 100,000 tasks", long, short, times=_FLAT, unit="MB", base_name="10,000 tasks")]


def long_chain(bench: Bench) -> list[Reading]:
    """A chain of 20,000 steps completes; its plan is in memory, so the limit is the one of the loops."""
    peak = _peak(bench, "chain_20000", chain(20_000))
    return [limit("chain of 20,000 steps", peak, 200, unit="MB", note="completed; the plan included")]


def _peak(bench: Bench, name: str, source: str) -> float:
    """Peak resident memory in MB of one run; it does not vary with the load, so one is enough."""
    return running.run(bench, running.plan(bench, name, source), running.store(bench, name)).peak_mb
