"""A developer's script, never shipped: the tables and pictures of `schema/patterns.md`.

They are made from the files of `tests/patterns`; what others support, from `pattern_support.yaml` beside this file.
"""

from pathlib import Path
from typing import Any, NamedTuple

import yaml

from noetlc.analysis.soundness import soundness_of
from noetlc.emit.pictures import mermaid
from noetlc.emit.pictures.steps import steps_of
from noetlc.pipeline import compile_source

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "tests" / "patterns"
SUPPORT = Path(__file__).with_name("pattern_support.yaml")
WORDS = ("+", "+/-", "-", "code", "claimed")
_EVERYWHERE = 2
"""How many assumptions every verdict has; those behind them belong to the playbook."""


class Source(NamedTuple):
    """Where a value was read, on which day (ISO): in what others published, or by us in a system's documentation."""

    by: str
    title: str
    address: str
    read: str


class System(NamedTuple):
    """Another system: pattern → support and the letter of its source. What is missing was not checked."""

    name: str
    values: dict[int, tuple[str, str]]


CONTROL_FLOW = {
    1: "Sequence",
    2: "Parallel Split",
    3: "Synchronization",
    4: "Exclusive Choice",
    5: "Simple Merge",
    6: "Multi-Choice",
    7: "Structured Synchronizing Merge",
    8: "Multi-Merge",
    9: "Structured Discriminator",
    10: "Arbitrary Cycles",
    11: "Implicit Termination",
    12: "Multiple Instances without Synchronization",
    13: "Multiple Instances with a Priori Design-Time Knowledge",
    14: "Multiple Instances with a Priori Run-Time Knowledge",
    15: "Multiple Instances without a Priori Run-Time Knowledge",
    16: "Deferred Choice",
    17: "Interleaved Parallel Routing",
    18: "Milestone",
    19: "Cancel Task",
    20: "Cancel Case",
    21: "Structured Loop",
    22: "Recursion",
    23: "Transient Trigger",
    24: "Persistent Trigger",
    25: "Cancel Region",
    26: "Cancel Multiple Instance Task",
    27: "Complete Multiple Instance Activity",
    28: "Blocking Discriminator",
    29: "Cancelling Discriminator",
    30: "Structured Partial Join",
    31: "Blocking Partial Join",
    32: "Cancelling Partial Join",
    33: "Generalized AND-Join",
    34: "Static Partial Join for Multiple Instances",
    35: "Cancelling Partial Join for Multiple Instances",
    36: "Dynamic Partial Join for Multiple Instances",
    37: "Local Synchronizing Merge",
    38: "General Synchronizing Merge",
    39: "Critical Section",
    40: "Interleaved Routing",
    41: "Thread Merge",
    42: "Thread Split",
    43: "Explicit Termination",
}
"""Number → name as published. 19, 26 and 37 have the names of later editions; in 2006 they were Cancel Activity, Cancel
Multiple Instance Activity and Acyclic Synchronizing Merge."""


def support() -> tuple[dict[str, Source], list[System]]:
    """The sources by letter, and the systems in the order of their columns.

    Raises ValueError for a value without a known source, of no pattern, told twice, or in other words than `WORDS`.
    """
    document = yaml.safe_load(SUPPORT.read_text("utf-8"))
    sources = {
        letter: Source(row["by"], row["title"], row["address"], str(row["read"]))
        for letter, row in document["sources"].items()
    }
    systems = []
    for entry in document["systems"]:
        values: dict[int, tuple[str, str]] = {}
        for row in entry["values"]:
            for number in row["patterns"]:
                known = row["source"] in sources and number in CONTROL_FLOW and row["support"] in WORDS
                if not known or number in values:
                    raise ValueError(f"{SUPPORT.name}: {entry['name']}: {row}: pattern {number}")
                values[number] = (row["support"], row["source"])
        systems.append(System(entry["name"], values))
    return sources, systems


def control_flow() -> str:
    """All control-flow patterns by number, and what others support of each.

    Raises ValueError for a file that does not name its pattern as published, and KeyError for a pattern without one.
    """
    found = {asked["number"]: (path, asked) for path, asked in _read(FOLDER)}
    wrong = [path.name for number, (path, asked) in found.items() if asked["name"] != CONTROL_FLOW[number]]
    if wrong:
        raise ValueError(f"not named as published: {', '.join(wrong)}")
    _, systems = support()
    heads = ["", "pattern", "construct", "verdict", *(system.name for system in systems)]
    lines = [_row(*heads), "|---" * len(heads) + "|"]
    for number, published in CONTROL_FLOW.items():
        path, asked = found[number]
        verdict = _verdict(path)
        if "findings" in asked:
            verdict += f"; lint says {', '.join(asked['findings'])}"
        here, name = f"[{number}](#{_anchor(number)})", _link(published, path)
        lines.append(_row(here, name, asked["construct"], verdict, *(_support(system, number) for system in systems)))
    lines += ["", f"{len(found)} of {len(CONTROL_FLOW)} have a file."]
    return "\n".join(lines) + "\n"


def sources() -> str:
    """Where each value of the table was read."""
    found, _ = support()
    lines = []
    for letter, source in found.items():
        ours = "" if source.by == "published" else "by us, from "
        lines.append(f"- {letter}: {ours}[{source.title}]({source.address}), read {source.read}")
    return "\n".join(lines) + "\n"


def pictures() -> str:
    """A picture of each pattern that has a file."""
    lines: list[str] = []
    for path, asked in _read(FOLDER):
        heading = f"### {asked['number']} {asked['name']}"
        lines += [heading, "", asked["construct"], "", "```mermaid", _drawn(path), "```", ""]
    return "\n".join(lines)


def exceptions() -> str:
    """The exception patterns that have a file."""
    lines = ["| exception | strategy | construct | verdict |", "|---|---|---|---|"]
    for path, asked in _read(FOLDER / "exceptions"):
        name = _link(asked["exception"], path)
        lines.append(_row(name, asked["strategy"], asked["construct"], _verdict(path)))
    return "\n".join(lines) + "\n"


def _support(system: System, number: int) -> str:
    word, source = system.values.get(number, ("", ""))
    return f"{word} <sup>{source}</sup>" if word else "not checked"


def _anchor(number: int) -> str:
    """The anchor that GitHub gives the heading of a picture."""
    kept = [char for char in f"{number} {CONTROL_FLOW[number]}".lower() if char.isalnum() or char in " -"]
    return "".join(kept).replace(" ", "-")


def _drawn(path: Path) -> str:
    """The steps of a playbook, as GitHub draws them."""
    playbook = compile_source(path.name, path.read_bytes()).documents[0].playbook
    if playbook is None:
        raise ValueError(f"{path.name} does not compile")
    return mermaid.emitted(steps_of(playbook)).rstrip()


def _read(folder: Path) -> list[tuple[Path, dict[str, Any]]]:
    """The patterns of a folder with their `x-pattern`; further documents of a file are playbooks that it calls."""
    paths = sorted(folder.glob("*.yaml"))
    return [(path, next(yaml.safe_load_all(path.read_text("utf-8")))["x-pattern"]) for path in paths]


def _verdict(path: Path) -> str:
    """Proofs about the playbook of a file, and what each assumes beyond what all do."""
    plan = compile_source(path.name, path.read_bytes()).plans[0]
    verdicts = soundness_of(plan)
    status = {verdict.status.value for verdict in verdicts}
    told = "sound" if status == {"proved"} else ", ".join(f"{one.question}: {one.status.value}" for one in verdicts)
    more = verdicts[0].assumptions[_EVERYWHERE:]
    return f"{told}, if {' and '.join(more)}" if more else told


def _link(name: str, path: Path) -> str:
    return f"[{name}](../{path.relative_to(ROOT).as_posix()})"


def _row(*cells: str) -> str:
    # A bar would end the cell of the table.
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
