"""Rows about the compiler: source → plan bytes, the cost of an expression, and the same bytes everywhere."""

import hashlib
import shutil
from pathlib import Path
from statistics import median

from benchmarks.generate import legacy_playbook, playbook
from benchmarks.measure import peak, probe, process
from benchmarks.row import ROOT, Bench, NotMeasured, Reading, at_most, limit

_TREE = (
    "reading is one part in five, and a reader in C, a second one to keep, to fuzz and to ship, would gain 15 % at "
    "most; the rest is rules, lowering and net, each of which goes over the tree"
)
_TENFOLD = (
    "no part of it grows faster than the playbook; objects of ten times as many steps fit no cache of a processor, and "
    "the ratio was 8.4 to 11.1 from one machine to another"
)
_OLDER = (
    "thirteen passes, each over the whole tree; names and http paths, which take half of it, are looked up for what "
    "the older engines made of them, and a wrong value there would be worse than the time"
)
_SEEDS = ("0", "1", "42", "random")


def plan_bytes(bench: Bench) -> list[Reading]:
    """A thousand steps against libyaml's events; ten thousand against a thousand."""
    small = bench.file("gen_1000.yaml", playbook(1_000))
    large = bench.file("gen_10000.yaml", playbook(10_000))
    rounds = [probe(bench, "compiling", "plan", str(small), str(large)) for _ in range(bench.runs)]
    times = {name: median(kept[name][0] for kept in rounds) for name in rounds[0]}
    events, own, tenfold = times[f"events {small}"], times[str(small)], times[str(large)]
    return [
        at_most("plan of 1,000 steps", own, events, times=4, unit="s", base_name="libyaml events").beside(
            "22 ×", _TREE
        ),
        at_most("plan of 10,000 steps", tenfold, own, times=11, unit="s", base_name="plan of 1,000").beside(
            "", _TENFOLD
        ),
        _twenty_thousand(bench),
    ]


def _twenty_thousand(bench: Bench) -> Reading:
    """A compile of 20,000 steps, whole process; the runtime gives a compile 120 s and 4 GiB."""
    source, target = bench.file("gen_20000.yaml", playbook(20_000)), bench.folder / "gen_20000.ir"
    seconds, megabytes = peak([bench.noetlc, "compile", source, "-o", target])
    remark = f"{megabytes:,.0f} MB"
    return limit("compile of 20,000 steps", seconds, 120, unit="s", remark=remark).beside("refused")


def legacy_plan(bench: Bench) -> list[Reading]:
    """A thousand steps of older dialects, mixed, lowered and compiled, against as many canonical ones."""
    canonical = bench.file("gen_1000.yaml", playbook(1_000))
    legacy = bench.file("legacy_1000.yaml", legacy_playbook(1_000))
    rounds = [probe(bench, "compiling", "plan", str(canonical), str(legacy)) for _ in range(bench.runs)]
    own, base = (median(kept[str(path)][0] for kept in rounds) for path in (legacy, canonical))
    return [
        at_most("plan of 1,000 legacy steps", own, base, times=1.5, unit="s", base_name="canonical ones").beside(
            "", _OLDER
        )
    ]


def expressions(bench: Bench) -> list[Reading]:
    """The median template of the examples and goldens."""
    files = [*(ROOT / "examples").rglob("*.yaml"), *(ROOT / "golden").rglob("*.yaml")]
    names = sorted(map(str, files))
    rounds = [probe(bench, "compiling", "expressions", *names)["seconds"] for _ in range(bench.runs)]
    remark = f"{len(rounds[0])} distinct ones"
    typical = median(median(seconds) for seconds in rounds)
    return [limit("parse of an expression", typical * 1e6, 30, unit="µs", remark=remark)]


def editing(bench: Bench) -> list[Reading]:
    """Times that an editor waits for in a playbook of 1,000 steps."""
    file = bench.file("gen_1000.yaml", playbook(1_000))
    rounds = [probe(bench, "editing", str(file)) for _ in range(bench.runs)]
    found, anew, offered = (median(kept[name] for kept in rounds) for name in ("findings", "anew", "completion"))
    remark = f"after a new line, which moves all below it: {anew:.2f} s"
    return [
        limit("findings after a key, 1,000 steps", found, 0.3, unit="s", remark=remark).beside("1.0 s"),
        limit("completion, 1,000 steps", offered, 0.1, unit="s"),
    ]


def determinism(bench: Bench) -> list[Reading]:
    """Plan bytes from several hash seeds, folders and orders of files, which are to be equal."""
    digests = [_compiled(bench, seed, i) for i, seed in enumerate(_SEEDS)]
    if not digests[0]:
        raise NotMeasured("no plan was written")
    differing = sum(digest != digests[0] for digest in digests)
    remark = f"{len(digests[0])} plans, seeds {', '.join(_SEEDS)}, both orders of files"
    return [Reading("same plan bytes", float(differing), 0, "differ", "", None, "0 differ", differing == 0, remark)]


def _compiled(bench: Bench, seed: str, number: int) -> dict[str, str]:
    """File name → digest of its plan, compiled in a folder of its own; every second one in reverse order."""
    folder = bench.folder / f"seed_{number}"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(
        ROOT / "examples", folder, ignore=shutil.ignore_patterns("*.script.yaml", "*.test.yaml", "*.py", "*.md")
    )
    (folder / "generated.yaml").write_text(playbook(40))
    files = sorted(folder.rglob("*.yaml"), reverse=bool(number % 2))
    # Sets of texts have another order with every seed. A plan that depends on one would have another digest, and
    # children that are pinned by it could not be found.
    process([bench.noetlc, "compile", *files, "--path", folder], env={"PYTHONHASHSEED": seed})
    return {path.name: _digest(path) for path in sorted(folder.rglob("*.ir"))}


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
