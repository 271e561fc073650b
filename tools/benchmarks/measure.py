"""Timing: interleaved runs of several works, and processes with their wall time or peak memory."""

import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.row import BENCH, Bench, NotMeasured, Pair

_TIME_LIMIT = 900.0  # seconds for one process


class Process(NamedTuple):
    """A process that ended: wall time in seconds, exit code, standard output."""

    seconds: float
    code: int
    output: str


def process(
    argv: Sequence[str | Path], *, codes: tuple[int, ...] = (0,), env: Mapping[str, str] | None = None
) -> Process:
    """Run a program to its end; NotMeasured when it is missing, too slow, or ends with a code not in `codes`.

    Output goes to files, so that nothing has to be read while it runs and the time is the program's own.
    """
    # A pipe that nobody empties stops the program when it is full, and emptying it would take time from the other
    # core.
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        begun = time.perf_counter()
        try:
            child = subprocess.Popen(list(argv), stdout=out, stderr=err, env={**os.environ, **(env or {})})
        except FileNotFoundError as problem:
            raise NotMeasured(f"{argv[0]} is not there") from problem
        code, seconds = _wait(child, begun)
        out.seek(0)
        err.seek(0)
        if code not in codes:
            raise NotMeasured(f"{_called(argv)} ended with {code}: {_last_line(err.read() or out.read())}")
        return Process(seconds, code, out.read().decode(errors="replace"))


def _wait(child: subprocess.Popen[bytes], begun: float) -> tuple[int, float]:
    """Exit code and seconds."""
    # A descriptor can be waited for with a limit and without looking again and again, as `Popen.wait` does.
    pidfd = os.pidfd_open(child.pid)
    try:
        # Without a limit one program that hangs would hold up the whole table.
        if not select.select([pidfd], [], [], _TIME_LIMIT)[0]:
            child.kill()
    finally:
        os.close(pidfd)
    return child.wait(), time.perf_counter() - begun


def peak(argv: Sequence[str | Path]) -> tuple[float, float]:
    """Run a program to its end: its seconds, and its peak resident memory in MB (`benchmarks.launching`)."""
    launcher = Path(__file__).with_name("launching.py")
    report = json.loads(process([sys.executable, "-I", "-S", launcher, *argv]).output)
    return report["seconds"], report["peak_kb"] / 1024


def _called(argv: Sequence[str | Path]) -> str:
    return " ".join([Path(argv[0]).name, *map(str, argv[1:3])])


def _last_line(text: bytes) -> str:
    lines = text.decode(errors="replace").strip().splitlines()
    return lines[-1][:160] if lines else "no output"


def interleave(runs: int, *works: Callable[[], float]) -> tuple[float, ...]:
    """The median figure of each work, after `runs` rounds in which each ran once, in turn."""
    figures: list[list[float]] = [[] for _ in works]
    for _ in range(runs):
        # In turn, so that a slow minute of the machine slows all of them. The median leaves out the rounds in which
        # one was disturbed.
        for kept, work in zip(figures, works, strict=True):
            kept.append(work())
    return tuple(median(kept) for kept in figures)


_STEADY = 2.0  # the rounds' ratios may differ by this factor before the line says that they do


def paired(runs: int, product: Callable[[], float], base: Callable[[], float]) -> Pair:
    """Rounds of two short works, one right after the other.

    The ratio is taken in each round: a disk or machine that is slow for some seconds then slows both, while two
    medians could come from different moments.
    """
    rounds = [(product(), base()) for _ in range(runs)]
    ratios = [own / other for own, other in rounds]
    wide = max(ratios) > _STEADY * min(ratios)
    remark = f"NOISY: {min(ratios):.2f} to {max(ratios):.2f} over {runs} rounds" if wide else ""
    return Pair(median(own for own, _ in rounds), median(other for _, other in rounds), median(ratios), remark)


def peer_python(name: str) -> Path:
    """The interpreter of a peer's own environment; NotMeasured when it is not installed."""
    path = BENCH / name / "bin" / "python"
    if not path.exists():
        raise NotMeasured(f"{name} is not installed (tools/bench --peers)")
    return path


def peer(name: str, work: str, count: int) -> dict[str, float]:
    """Run a peer's workload `peers/<name>.py`; its report `{seconds, count, peak_kb}`."""
    script = Path(__file__).parent / "peers" / f"{name}.py"
    # `-P` keeps the script's folder out of the path, where a module of the bench could stand for one of the peer's.
    done = process([peer_python(name), "-P", "-W", "ignore", script, work, str(count)])
    return json.loads(done.output.strip().splitlines()[-1])


def peer_rate(name: str, work: str, count: int) -> float:
    """Steps that a peer does in a second."""
    report = peer(name, work, count)
    return report["count"] / report["seconds"]


def probe(bench: Bench, module: str, *arguments: str) -> dict[str, list[float]]:
    """Run a module of this package in a fresh interpreter of the project; its last line, read as JSON."""
    tools = Path(__file__).resolve().parents[1]
    done = process([bench.python, "-m", f"benchmarks.{module}", *arguments], env={"PYTHONPATH": str(tools)})
    return json.loads(done.output.strip().splitlines()[-1])


def pass_seconds(bench: Bench) -> float:
    """The time of `python -c pass`, the unit of the start-up bars."""
    return process([bench.python, "-c", "pass"]).seconds
