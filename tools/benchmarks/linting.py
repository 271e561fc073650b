"""Rows about `noetlc lint` and `migrate` as a whole process, against the linters that people run in CI."""

from pathlib import Path

from benchmarks.generate import cloudformation, legacy_playbook, playbook
from benchmarks.measure import interleave, pass_seconds, peer_python, probe, process
from benchmarks.row import Bench, NotMeasured, Reading, at_most, missing

IMPORTS = (
    "nearly all of it is imports, 0.2 ms a module: no pattern is compiled, no data class and no named tuple made by "
    "them, click comes for help only, the collector looks seldom (without it 4 % less)"
)
_FINDINGS = (0, 1)  # lint ends with 1 when it found errors
_PEER_CODES = tuple(range(17))  # cfn-lint's exit code is a set of bits, one for each severity
_SIZES = (10, 100, 1000)
_TAKEN = {  # peers that PyPI does not have: seconds measured once on a machine of this kind
    "actionlint": {10: 0.99, 100: 0.96, 1000: 1.43},
    "bpmnlint": {10: 0.16, 100: 0.26},
}
_FILES = 400
_LEGACY_FILES = 500
_FILE_STEPS = 20


def _lint(bench: Bench, *paths: Path) -> float:
    """Nothing is remembered: a second run over the same files would only read them."""
    return process([bench.noetlc, "lint", "--no-cache", *paths], codes=_FINDINGS).seconds


def sizes(bench: Bench) -> list[Reading]:
    """Playbooks of 10, 100 and 1,000 steps, each linter on a file of as many items."""
    return [reading for size in _SIZES for reading in _one_size(bench, size)]


def _one_size(bench: Bench, size: int) -> list[Reading]:
    own = bench.file(f"lint_{size}.yaml", playbook(size))
    files = {"yamllint": own, "cfn-lint": bench.file(f"stack_{size}.yaml", cloudformation(size))}
    works = {name: _peer_lint(name, path) for name, path in files.items() if _installed(name)}
    # All linters in one round, each beside the others.
    seconds, *others = interleave(bench.runs, lambda: _lint(bench, own), *works.values())
    readings = [_faster(size, seconds, base, name) for name, base in zip(works, others, strict=True)]
    readings += [
        missing(f"lint {size} steps vs {name}", "faster", f"{name} is not installed (tools/bench --peers)")
        for name in files
        if name not in works
    ]
    taken = [(name, figures[size]) for name, figures in _TAKEN.items() if size in figures]
    return readings + [_faster(size, seconds, base, f"{name} (taken from the bars)") for name, base in taken]


def _installed(name: str) -> bool:
    try:
        peer_python(name)
    except NotMeasured:
        return False
    return True


def _peer_lint(name: str, path: Path):
    program = peer_python(name).parent / name
    return lambda: process([program, path], codes=_PEER_CODES).seconds


def _faster(size: int, seconds: float, base: float, name: str) -> Reading:
    return at_most(f"lint {size} steps", seconds, base, times=1, unit="s", base_name=name)


def small_file(bench: Bench) -> list[Reading]:
    """Start-up: one small file."""
    path = bench.file("small.yaml", playbook(2))
    own, base = interleave(bench.runs * 3, lambda: _lint(bench, path), lambda: pass_seconds(bench))
    return [
        at_most("lint one small file", own, base, times=6, unit="s", base_name="python -c pass").beside(
            "8.9 ×", IMPORTS
        )
    ]


def many_files(bench: Bench) -> list[Reading]:
    """Four hundred files in one call, the net's analysis on, against libyaml's events for them in one process."""
    folder = bench.folder / "many"
    folder.mkdir(exist_ok=True)
    for i in range(_FILES):
        # Each file has a name of its own: equal ones could be checked once.
        text = playbook(_FILE_STEPS).replace(f"gen_{_FILE_STEPS}", f"gen_{_FILE_STEPS}_{i}")
        (folder / f"{i}.yaml").write_text(text)

    def events() -> float:
        return probe(bench, "events", str(folder))["seconds"][0]

    own, base = interleave(bench.runs, lambda: _lint(bench, folder), events)
    return [at_most(f"lint {_FILES} files", own, base, times=6, unit="s", base_name="libyaml events")]


def migrated_files(bench: Bench) -> list[Reading]:
    """Five hundred files of older dialects checked in one call, against libyaml's events for the same files."""
    folder = bench.folder / "legacy"
    folder.mkdir(exist_ok=True)
    for i in range(_LEGACY_FILES):
        text = legacy_playbook(_FILE_STEPS).replace(f"gen_{_FILE_STEPS}", f"gen_{_FILE_STEPS}_{i}")
        (folder / f"{i}.yaml").write_text(text)

    def migrate() -> float:
        return process([bench.noetlc, "migrate", "--check", folder], codes=_FINDINGS).seconds

    own, base = interleave(bench.runs, migrate, lambda: probe(bench, "events", str(folder))["seconds"][0])
    return [at_most(f"migrate --check {_LEGACY_FILES} files", own, base, times=4, unit="s", base_name="libyaml events")]
