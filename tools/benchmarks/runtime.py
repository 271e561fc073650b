"""Rows about `noetl run` on SQLite: start-up, steps and iterations a second, and memory."""

from collections.abc import Sequence
from pathlib import Path
from statistics import median

from benchmarks import running
from benchmarks.generate import chain, jumps, parallel, playbook, python_chain
from benchmarks.linting import IMPORTS
from benchmarks.measure import interleave, paired, pass_seconds, peak, peer_rate, probe
from benchmarks.row import Bench, NotMeasured, Pair, Reading, at_most, limit, missing, reaches

_STEPS = "the events of a step are made, folded, packed and written, and half of the time left is the engine's own"
_EACH = "two thirds of it are SQLite's transactions, one a step"
_WINDOW = 2_000  # steps of a short run
_PYTHON = 200  # python steps of a run
_A_STEP = 1.05  # transactions that a python step may take, those of the beginning and end with it
_STRETCH = 100  # steps over which a rate inside a long run is taken
_FLAT = 1.1  # memory counts as flat when ten times the work takes at most this much more
_NOISE = 0.95  # a later rate this near to the first one counts as no slower
_DBOS_STEPS, _DBOS_FANOUT = 360, 119  # a second, as the bars found DBOS on a quiet machine
_OTHERS = {"langgraph": 2_000, "burr": 2_000, "prefect": 200}  # further peers and the steps that each does


def one_step(bench: Bench) -> list[Reading]:
    """A one-step plan, whole process, into a store that is there already."""
    compiled, address = running.plan(bench, "one", chain(1)), running.store(bench, "one")
    # The first run makes the store and verifies the plan, which the row is not about.
    running.run(bench, compiled, address)

    def own() -> float:
        return running.run(bench, compiled, address).seconds

    seconds, base = interleave(bench.runs * 3, own, lambda: pass_seconds(bench))
    reading = at_most("run of a one-step plan", seconds, base, times=6, unit="s", base_name="python -c pass")
    return [reading.beside("8.7 ×", IMPORTS)]


def opening(bench: Bench) -> list[Reading]:
    """A plan of 10,000 canonical steps made ready to run: by the first who opens it, and by all others."""
    compiled, address = running.plan(bench, "canonical_10000", playbook(10_000)), running.store(bench, "opening")
    seconds = probe(bench, "opening", str(compiled), address, str(bench.runs))
    first, again = median(seconds["first"]), median(seconds["again"])
    return [
        limit("a verified plan of 10,000 steps opened", again, 0.4, unit="s").beside("4.3 s"),
        Reading("the same by the first", first, None, "s", "", None, "", None, "verified once by each version"),
    ]


def status(bench: Bench) -> list[Reading]:
    """How an execution of 30,000 events stands, whole process: its log is folded."""
    compiled, address = running.plan(bench, "chain_5000", chain(5_000)), running.store(bench, "status")
    running.run(bench, compiled, address)
    (seconds,) = interleave(bench.runs, lambda: running.status(bench, address).seconds)
    return [limit("status of 30,000 events", seconds, 0.5, unit="s").beside("1.3 s")]


def durable_steps(bench: Bench) -> list[Reading]:
    """Sequential noop steps in short runs beside each peer's; then whether a long run gets slower."""
    pair = _steps_beside(bench, "dbos", _WINDOW)
    each = _steps_beside(bench, "dbos", _WINDOW, "--durability", "every-event")
    name = "DBOS, SQLite"
    strict = reaches("the same, every event before the next step", each, times=8, known=_DBOS_STEPS, base_name=name)
    return [
        reaches("durable steps a second", pair, times=10, known=_DBOS_STEPS, base_name=name).beside("5.4 ×", _STEPS),
        strict.beside("5.4 ×", _EACH),
        _commits(bench),
        _slope(bench),
        *(_other(bench, name, count) for name, count in _OTHERS.items()),
    ]


def _commits(bench: Bench) -> Reading:
    """Transactions of a chain of python steps, for each step; they are counted, so one run is enough."""
    compiled = running.plan(bench, f"python_{_PYTHON}", python_chain(_PYTHON))
    commits = running.commits(bench, compiled, running.store(bench, "python"))
    return limit("transactions a step, python chain", commits / _PYTHON, _A_STEP, unit="each").beside("2")


def _steps_beside(bench: Bench, peer: str, count: int, *options: str) -> Pair:
    compiled = running.plan(bench, f"chain_{_WINDOW}", chain(_WINDOW))

    def own() -> float:
        return _rate(_done(bench, compiled, *options))

    return paired(bench.runs, own, lambda: peer_rate(peer, "steps", count))


def _slope(bench: Bench) -> Reading:
    """The last 5,000 of 20,000 steps against the first, by their typical stretch."""
    compiled = running.plan(bench, "chain_20000", chain(20_000))
    rounds = []
    for _ in range(bench.runs):
        done = _done(bench, compiled)
        # The median of short stretches: one pause of the machine spoils one stretch, and not the rate of the whole
        # run.
        rates = [_rate(done[at : at + _STRETCH]) for at in range(0, len(done) - _STRETCH + 1, _STRETCH)]
        rounds.append((median(rates[: len(rates) // 4]), median(rates[-len(rates) // 4 :])))
    ratios = [late / early for early, late in rounds]
    wide = max(ratios) > 2 * min(ratios)
    remark = f"NOISY: {min(ratios):.2f} to {max(ratios):.2f} over {bench.runs} rounds" if wide else ""
    early, late = (median(side) for side in zip(*rounds, strict=True))
    ratio = median(ratios)
    return Reading("steps 15,000–20,000", late, early, "/s", "first 5,000", ratio, "≥ 1 ×", ratio >= _NOISE, remark)


def _done(bench: Bench, compiled: Path, *options: str) -> list[float]:
    """When each step of a fresh run was done, in seconds."""
    address = running.store(bench, "steps")
    running.run(bench, compiled, address, *options)
    return [event.at for event in running.log(bench, address) if event.name == "step.done"]


def _rate(times: Sequence[float]) -> float:
    if len(times) < 2 or times[-1] <= times[0]:
        raise NotMeasured("the log has too few step.done events with their times")
    return (len(times) - 1) / (times[-1] - times[0])


def _other(bench: Bench, name: str, count: int) -> Reading:
    """A peer that no bar is set against, for comparison."""
    label = "durable steps a second"
    try:
        pair = _steps_beside(bench, name, count)
    except NotMeasured as problem:
        return missing(label, "", str(problem))
    remark = "; ".join(filter(None, ("for comparison", pair.remark)))
    return Reading(label, pair.product, pair.base, "/s", name, pair.ratio, "", None, remark)


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

    pair = paired(bench.runs, own, lambda: peer_rate("dbos", "fanout", 1_000))
    return [reaches("iterations a second", pair, times=20, known=_DBOS_FANOUT, base_name="DBOS, queue")]


def loop_memory(bench: Bench) -> list[Reading]:
    """Ten thousand iterations of a 1 KB result, after 1 step run and after 10,000."""
    # Two sizes and their ratio: memory that grows with the work shows there, whatever the interpreter itself takes.
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
    return [limit("chain of 20,000 steps", peak, 200, unit="MB", remark="completed; the plan included")]


def _peak(bench: Bench, name: str, source: str) -> float:
    """Peak resident memory in MB of one run; it does not vary with the load, so one is enough."""
    return peak(running.words(bench, running.plan(bench, name, source), running.store(bench, name)))[1]
