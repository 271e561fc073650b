"""Rows about the analysis: state spaces against other explorers, and verdicts about playbooks."""

import json
from itertools import product
from pathlib import Path
from statistics import median

from benchmarks.generate import complete_graph
from benchmarks.measure import interleave, peer, peer_python, probe, process
from benchmarks.nets import NETS
from benchmarks.random_playbooks import FAMILIES, random_playbook
from benchmarks.row import ROOT, Bench, NotMeasured, Reading, limit, missing

_TIMES = {"pm4py": 50, "snakes": 100}
_FORK = 256
_WIDE = 1_024
_SEEDS, _ACYCLIC = 12, 60
"""Random playbooks of each family, and of the acyclic one, of which those with an unknown are counted."""
_WORST = (
    "one golden alone, with a settled join behind many ways: what can still come to it is counted before any question, "
    "by the markings in which its net can end"
)
_SCRIPTED = (
    "one or two of the seeds; a third of it is looking for scripts that show what is refuted, each of which goes "
    "through the turns of the engine: a finding without a run that shows it would be quicker, and worth less"
)
_MCC = ROOT / "tests" / "compiler" / "analysis" / "mcc"


def graphs(bench: Bench) -> list[Reading]:
    """The whole reachability graph, in states a second."""
    return [reading for name in NETS for reading in _one_net(bench, name)]


def _one_net(bench: Bench, name: str) -> list[Reading]:
    file = bench.file(f"{name.replace(' ', '_')}.json", json.dumps(NETS[name]))
    # All explorers must come to the same number of states. A faster one that sees fewer is no faster.
    states = {int(probe(bench, "proving", "graph", str(file))[str(file)][1])}

    def own() -> float:
        seconds, count = probe(bench, "proving", "graph", str(file))[str(file)]
        return count / seconds

    def other(peer_name: str) -> float:
        report = peer(peer_name, str(file), 0)
        states.add(int(report["count"]))
        return report["count"] / report["seconds"]

    readings = []
    for peer_name, times in _TIMES.items():
        label, bar = f"graph of {name}", f"≥ {times} ×"
        try:
            peer_python(peer_name)
        except NotMeasured as problem:
            readings.append(missing(label, bar, str(problem)))
            continue
        rate, base = interleave(bench.runs, own, lambda peer_name=peer_name: other(peer_name))
        met, remark = rate >= times * base, f"{next(iter(states)):,} states"
        if len(states) > 1:
            met, remark = False, f"they differ in the number of states: {sorted(states)}"
        readings.append(Reading(label, rate, base, "/s", peer_name, rate / base, bar, met, remark))
    return readings


def _fork(wide: int) -> str:
    """A fork of so many branches that join."""
    arcs = ", ".join(f"{{step: b{n}}}" for n in range(wide))
    rows = "".join(f"  - {{step: b{n}, tool: {{kind: noop}}, next: {{arcs: [{{step: j}}]}}}}\n" for n in range(wide))
    return (
        "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: fork, path: bench/fork}\nworkflow:\n"
        f"  - {{step: start, next: {{spec: {{mode: inclusive}}, arcs: [{arcs}]}}}}\n{rows}"
        "  - {step: j, spec: {policy: {join: all}}, tool: {kind: noop}}\n"
    )


def wide_fork(bench: Bench) -> list[Reading]:
    """All verdicts about a fork of 256 branches that join: 2^256 markings."""
    file = bench.file("fork.yaml", _fork(_FORK))
    found = [probe(bench, "proving", "sound", str(file))[f"{file}#0"] for _ in range(bench.runs)]
    # An answer that is given up sooner takes less time. It must not look like an improvement.
    if not all(proved for _, proved in found):
        raise NotMeasured("not every verdict was `proved`")
    return [limit(f"verdicts on a fork of {_FORK}", median(seconds for seconds, _ in found), 1, unit="s")]


def soundness(bench: Bench) -> list[Reading]:
    """Every example and golden playbook that has a plan."""
    files = sorted(str(path) for folder in ("examples", "golden") for path in (ROOT / folder).rglob("*.yaml"))
    rounds = [probe(bench, "proving", "sound", *files) for _ in range(bench.runs)]
    seconds = {name: median(kept[name][0] for kept in rounds) for name in rounds[0]}
    worst = max(seconds, key=lambda name: seconds[name])
    remark = f"{len(seconds)} plans; pm4py's woflan took 127 ms for 100 places in a row"
    return [
        limit("soundness, the median playbook", 1e3 * median(seconds.values()), 20, unit="ms", remark=remark),
        limit("soundness, the worst playbook", 1e3 * seconds[worst], 500, unit="ms", remark=Path(worst).name).beside(
            "", _WORST
        ),
    ]


def wider_fork(bench: Bench) -> list[Reading]:
    """`noetlc analyze` of a fork of 1,024 branches, the whole process."""
    file = bench.file("wider_fork.yaml", _fork(_WIDE))
    found = [process([bench.noetlc, "analyze", file]).seconds for _ in range(bench.runs)]
    return [limit(f"analyze a fork of {_WIDE:,}", median(found), 2, unit="s").beside("16 s")]


def random_playbooks(bench: Bench) -> list[Reading]:
    """Random playbooks of up to 100 steps, most of them wrong: the slowest, and how many acyclic ones stay unknown."""
    files = {
        str(bench.file(f"random_{family}_{seed}.yaml", random_playbook(family, seed))): family
        for family in FAMILIES
        # Seeds are fixed: each run of the bench is about the same playbooks.
        for seed in range(_ACYCLIC if family == "acyclic" else _SEEDS)
    }
    found = probe(bench, "proving", "worst", *files)
    slow = {work: max(files, key=lambda name, at=at: found[name][at]) for at, work in enumerate(("analyze", "lint"))}
    acyclic = [found[name][2] for name, family in files.items() if family == "acyclic"]
    return [
        *(
            limit(
                f"{work} the slowest of {len(files)} random playbooks",
                found[name][at],
                bar,
                unit="s",
                remark=files[name],
            ).beside(before, _SCRIPTED)
            for (work, name), at, bar, before in zip(slow.items(), (0, 1), (2, 1), ("35 s", ""), strict=True)
        ),
        limit("random acyclic playbooks with an unknown", 100 * sum(acyclic) / len(acyclic), 5, unit="%").beside(
            "29 %"
        ),
    ]


def complete_graphs(bench: Bench) -> list[Reading]:
    """Each of 98 steps leads to each later one, or to each other one: 4,753 and 9,506 arcs; the slowest of eight."""
    ways = list(product((False, True), repeat=3))
    files = {
        str(
            bench.file(f"complete_{number}.yaml", complete_graph(98, back=back, inclusive=inclusive, guarded=guarded))
        ): (f"{'inclusive' if inclusive else 'exclusive'}{', guarded' * guarded}{', with a way back' * back}")
        for number, (back, inclusive, guarded) in enumerate(ways)
    }
    found = probe(bench, "proving", "worst", *files)
    unknown = sum(found[name][2] for name in files)
    readings = []
    for at, (work, bar) in enumerate((("analyze", 2), ("lint", 1))):
        name = max(files, key=lambda name, at=at: found[name][at])
        remark = files[name] if at else f"{files[name]}; {unknown:.0f} with an unknown"
        readings.append(
            limit(f"{work} the slowest of 8 complete graphs", found[name][at], bar, unit="s", remark=remark)
        )
    return readings


def published(bench: Bench) -> list[Reading]:
    """The published answers of the Model Checking Contest, unbounded nets included."""
    found = probe(bench, "proving", "mcc", str(_MCC))
    differ, remark = found["differ"][0], f"{found['nets'][0]:.0f} nets in {found['seconds'][0]:.1f} s"
    return [Reading("published answers", differ, 0, "differ", "", None, "0 differ", differ == 0, remark)]
