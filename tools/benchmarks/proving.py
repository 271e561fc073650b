"""Times the analysis in one fresh interpreter of the project.

python -m benchmarks.proving graph FILE…     the reachability graph of each net: {FILE: [seconds, states]}
python -m benchmarks.proving sound FILE…     the verdicts about each plan: {FILE: [seconds, proved or not]}
python -m benchmarks.proving worst FILE…     {FILE: [seconds to analyze, seconds to lint, an unknown question or not]}
python -m benchmarks.proving mcc FOLDER      the published answers: {"nets": [n], "differ": [n], "seconds": [s]}
"""

import gc
import json
import sys
import tarfile
import time
from pathlib import Path


def graphs(paths: list[Path]) -> dict[str, list[float]]:
    """Every marking and every labelled edge."""
    from noetlc.analysis.petri import Petri, arcs_of
    from noetlc.analysis.reachability import graph_of

    found: dict[str, list[float]] = {}
    for path in paths:
        document = json.loads(path.read_text())
        sides = [[arcs_of([(place, 1) for place in side]) for side in row] for row in document["transitions"]]
        marked = set(document["initial"])
        net = Petri(
            path.name,
            tuple(f"p{number}" for number in range(document["places"])),
            tuple(f"t{number}" for number in range(len(sides))),
            tuple(takes for takes, _ in sides),
            tuple(makes for _, makes in sides),
            tuple(int(number in marked) for number in range(document["places"])),
        )
        # What an earlier net left behind must not be collected in this one's time.
        gc.collect()
        begun = time.perf_counter()
        graph = graph_of(net, 10_000_000)
        found[str(path)] = [time.perf_counter() - begun, len(graph.markings)]
    return found


def verdicts(paths: list[Path]) -> dict[str, list[float]]:
    """Both passes, with the scripts of what is refuted; the first plan pays for the imports and does not count."""
    from noetlc.analysis.effort import STANDARD, Effort
    from noetlc.analysis.report import sound
    from noetlc.analysis.verdict import Status
    from noetlc.pipeline import compile_source

    plans = [
        (f"{path}#{number}", plan)
        for path in paths
        for number, plan in enumerate(compile_source(str(path), path.read_bytes()).plans)
    ]
    found: dict[str, list[float]] = {}
    # The first plan runs twice, and its second time is the one that stays.
    for name, plan in [*plans[:1], *plans]:
        begun = time.perf_counter()
        verdicts = sound(plan, Effort(STANDARD))
        seconds = time.perf_counter() - begun
        found[name] = [seconds, float(all(each.status is Status.PROVED for each in verdicts))]
    return found


def worst(paths: list[Path]) -> dict[str, list[float]]:
    """The whole report and all rules, in processor time; a question with a refutation is not unknown."""
    from noetlc.analysis.report import report_of
    from noetlc.analysis.verdict import Status
    from noetlc.pipeline import check_source, compile_source

    found: dict[str, list[float]] = {}
    for path in [*paths[:1], *paths]:
        data = path.read_bytes()
        [plan] = compile_source(str(path), data).plans
        # Processor time: a bar on the slowest of many would otherwise be missed by any disturbance.
        begun = time.process_time()
        verdicts = report_of(plan).verdicts
        analysed = time.process_time()
        check_source(str(path), data)
        # A question may have several verdicts. One run that replays answers it, whatever the doubts beside it.
        refuted = {each.question for each in verdicts if each.status is Status.REFUTED}
        unknown = any(each.status is Status.UNKNOWN and each.question not in refuted for each in verdicts)
        found[str(path)] = [analysed - begun, time.process_time() - analysed, float(unknown)]
    return found


def published(folder: Path) -> dict[str, list[float]]:
    """Each published answer about each net."""
    from noetlc.analysis.census import census_of
    from noetlc.analysis.petri import petri_of
    from noetlc.source.pnml_reader import read_pnml

    with tarfile.open(folder / "models.tar.xz") as archive:
        files = {member.name.rpartition("/")[2]: archive.extractfile(member) for member in archive}
        models = {name: content.read() for name, content in files.items() if content is not None}
    published = json.loads((folder / "answers.json").read_text("utf-8"))["nets"]
    differ = 0
    begun = time.perf_counter()
    for row in published:
        found = census_of(petri_of(read_pnml(models[row["file"]])), 100_000)
        own = {
            "states": "inf" if found.pump is not None else found.states,
            "edges": found.edges,
            "max_token_in_place": found.max_token_in_place,
            "max_token_per_marking": found.max_token_per_marking,
            "quasi_live": not found.dead,
            "live": found.live,
            "stable_marking": bool(found.stable),
            "deadlock": found.deadlock is not None,
        }
        # The contest does not publish every answer of every net.
        differ += any(row[key] != value for key, value in own.items() if key in row)
    return {"nets": [len(published)], "differ": [differ], "seconds": [time.perf_counter() - begun]}


if __name__ == "__main__":
    work, paths = sys.argv[1], [Path(argument) for argument in sys.argv[2:]]
    print(
        json.dumps(
            published(paths[0]) if work == "mcc" else {"graph": graphs, "sound": verdicts, "worst": worst}[work](paths)
        )
    )
