"""Rows about servers and workers over PostgreSQL and NATS, all on this machine, which they share with each other.

With 100 executions at once every worker is busy, and the wait of a step says how many stand before it, not what it
costs: the time that is added to a step is read where there is one execution. A loaded machine shows in the rates; what
does not depend on it is the processor time that a step takes, which stands beside them.
"""

from statistics import median
from typing import NamedTuple

from benchmarks import running
from benchmarks.generate import WAITS, chain
from benchmarks.generate import waiting as waiting_for
from benchmarks.measure import probe
from benchmarks.row import Bench, NotMeasured, Reading, limit, missing

_WORKERS = 4
_GROWING = ((1, 1), (1, 10), (1, 100), (1, 1_000), (2, 100), (4, 1), (4, 10), (4, 100), (4, 1_000))
"""Workers and executions."""

_MANY = 10_000
_COSTS = {
    "memory": "{:.1f} KB each",
    "rate": "{:.0f} starts/s",
    "start": "{:.0f} µs of processor time each",
    "idle": "then {:.1f} % of a core",
    "list": "a list takes {:.0f} ms",
    "resume": "a signal {:.0f} ms",
    "restart": "a restart {:.1f} s of processor time",
    "meanwhile": "while which a list takes {:.0f} ms at most",
}
_STEPS = 20  # of each execution
_ALONE = 200  # of one that is alone
_SECONDS = 30
_RATE = 1_800.0


class _Figures(NamedTuple):
    """Steps a second, what is added to a step in ms, and processor time in µs a step."""

    rate: float
    p50: float
    p99: float
    commits: float
    server: float
    workers: float
    nats: float
    postgres: float

    @property
    def spent(self) -> float:
        """The processor time of all parts, in ms a step."""
        return (self.server + self.workers + self.nats + self.postgres) / 1_000

    @property
    def told(self) -> str:
        """The processor time that a step takes, as a note."""
        parts = (self.server, self.workers, self.nats, self.postgres)
        names = ("server", "workers", "NATS", "PostgreSQL")
        each = ", ".join(f"{name} {part:.0f}" for name, part in zip(names, parts, strict=True))
        return f"µs of processor time a step: {each}, together {sum(parts):.0f}"


def steps(bench: Bench) -> list[Reading]:
    """Steps a second over 100 executions, and the time that is added to a step where nothing else runs."""
    many = [_measured(bench, _WORKERS, 100) for _ in range(bench.runs)]
    alone = [_measured(bench, _WORKERS, 1) for _ in range(bench.runs)]
    rate = median(figures.rate for figures in many)
    spent = median(figures.spent for figures in many)
    return [
        Reading(
            "steps/s, 4 workers, 100 executions", rate, _RATE, "/s", "limit", rate / _RATE, f"≥ {_RATE:g} /s",
            rate >= _RATE, many[0].told, "811 /s",
        ),
        limit("processor time a step, all parts", spent, 1.0, unit="ms").beside("1.9 ms"),
        limit("transactions a step", median(figures.commits for figures in many), 0.1, unit="each").beside("1"),
        limit("added to a step, p50", median(figures.p50 for figures in alone), 5, unit="ms"),
        limit("added to a step, p99", median(figures.p99 for figures in alone), 50, unit="ms"),
    ]  # fmt: skip


def growth(bench: Bench) -> list[Reading]:
    """How the rate grows with workers and with executions; one run each."""
    found = []
    for workers, executions in _GROWING:
        figures = _measured(bench, workers, executions)
        label = f"{workers} workers, {executions:,} executions"
        found.append(Reading(label, figures.rate, None, "/s", "", None, "", None, figures.told))
    return found


def groups(bench: Bench) -> list[Reading]:
    """The rate of one group and of two behind a gateway, which share the machine; one run each."""
    plan = running.plan(bench, f"cluster_{_STEPS}", chain(_STEPS))
    found = []
    for count in (1, 2):
        told: dict[str, object] = dict(probe(bench, "grouping", str(plan), str(count), str(_SECONDS)))
        parts = {name: float(str(told[name])) for name in ("rate", "gateway", "server", "workers", "lost")}
        remark = (
            f"µs of processor time: gateway {parts['gateway']:.0f} a start, "
            f"server {parts['server']:.0f} and workers {parts['workers']:.0f} a step"
        )
        label = f"steps/s, {count} group{'s' if count > 1 else ''} behind a gateway"
        found.append(Reading(label, parts["rate"], None, "/s", "", None, "0 lost", not parts["lost"], remark))
    return found


def waiting(bench: Bench) -> list[Reading]:
    """Cost for a server of executions that wait, by what they wait for; one run each."""
    found = []
    for where in ("sqlite", "cluster"):
        for what in WAITS:
            plans = [running.plan(bench, f"wait_{each}", waiting_for(each)) for each in dict.fromkeys(("signal", what))]
            label = f"{_MANY:,} wait for a {what}, {where}"
            try:
                told: dict[str, object] = dict(probe(bench, "waiting", what, where, str(_MANY), *map(str, plans)))
            except NotMeasured as problem:  # the others are measured all the same
                found.append(missing(label, "none", str(problem)))
                continue
            figures = {name: float(str(told[name])) for name in _COSTS if name in told}
            remark = ", ".join(_COSTS[name].format(figure) for name, figure in figures.items())
            found.append(Reading(label, figures["memory"], None, "KB", "", None, "", None, remark))
    return found


def _measured(bench: Bench, workers: int, executions: int) -> _Figures:
    length = _ALONE if executions == 1 else _STEPS
    plan = running.plan(bench, f"cluster_{length}", chain(length))
    told: dict[str, object] = dict(probe(bench, "clustering", str(plan), str(workers), str(executions)))
    return _Figures(*(float(str(told[name])) for name in _Figures._fields))
