"""A developer's script, never shipped: the tables of `schema/patterns.md`, made from the files of `tests/patterns`.

What others support is what published evaluations say, and nothing else:

- `YAWL`: Russell and ter Hofstede, *The Language: Rationale and Fundamentals*, table 2.5, in: Modern Business Process
  Automation (Springer 2010). It names what is not supported and what is in part, and counts 31 and three in part.
- `BPMN`: workflowpatterns.com, *Standard Evaluations*, the column of BPMN 1.0. The copy at hand ends behind pattern 32.
"""

from pathlib import Path
from typing import Any, NamedTuple

import yaml

from noetlc.analysis.soundness import soundness_of
from noetlc.pipeline import compile_source

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "tests" / "patterns"
_EVERYWHERE = 2
"""How many assumptions every verdict has; those behind them belong to the playbook."""


class Published(NamedTuple):
    """A pattern as it is published: its name, and what YAWL and BPMN 1.0 support of it."""

    name: str
    yawl: str
    bpmn: str


CONTROL_FLOW = {
    1: Published("Sequence", "+", "+"),
    2: Published("Parallel Split", "+", "+"),
    3: Published("Synchronization", "+", "+"),
    4: Published("Exclusive Choice", "+", "+"),
    5: Published("Simple Merge", "+", "+"),
    6: Published("Multi-Choice", "+", "+"),
    7: Published("Structured Synchronizing Merge", "+", "+"),
    8: Published("Multi-Merge", "+", "+"),
    9: Published("Structured Discriminator", "+", "+/-"),
    10: Published("Arbitrary Cycles", "+", "+"),
    11: Published("Implicit Termination", "-", "+"),
    12: Published("Multiple Instances without Synchronization", "+", "+"),
    13: Published("Multiple Instances with a Priori Design-Time Knowledge", "+", "+"),
    14: Published("Multiple Instances with a Priori Run-Time Knowledge", "+", "+"),
    15: Published("Multiple Instances without a Priori Run-Time Knowledge", "+", "-"),
    16: Published("Deferred Choice", "+", "+"),
    17: Published("Interleaved Parallel Routing", "+", "-"),
    18: Published("Milestone", "+", "-"),
    19: Published("Cancel Task", "+", "+"),
    20: Published("Cancel Case", "+", "+"),
    21: Published("Structured Loop", "+/-", "+"),
    22: Published("Recursion", "+", "-"),
    23: Published("Transient Trigger", "-", "-"),
    24: Published("Persistent Trigger", "-", "+"),
    25: Published("Cancel Region", "+", "+/-"),
    26: Published("Cancel Multiple Instance Task", "+", "+"),
    27: Published("Complete Multiple Instance Activity", "+/-", "-"),
    28: Published("Blocking Discriminator", "-", "+/-"),
    29: Published("Cancelling Discriminator", "+", "+"),
    30: Published("Structured Partial Join", "-", "+/-"),
    31: Published("Blocking Partial Join", "-", "+/-"),
    32: Published("Cancelling Partial Join", "-", "+/-"),
    33: Published("Generalized AND-Join", "+", ""),
    34: Published("Static Partial Join for Multiple Instances", "+", ""),
    35: Published("Cancelling Partial Join for Multiple Instances", "+", ""),
    36: Published("Dynamic Partial Join for Multiple Instances", "+/-", ""),
    37: Published("Local Synchronizing Merge", "+", ""),
    38: Published("General Synchronizing Merge", "+", ""),
    39: Published("Critical Section", "+", ""),
    40: Published("Interleaved Routing", "+", ""),
    41: Published("Thread Merge", "-", ""),
    42: Published("Thread Split", "-", ""),
    43: Published("Explicit Termination", "+", ""),
}
"""Number → pattern. 19, 26 and 37 have the names of later editions; in 2006 they were Cancel Activity, Cancel Multiple
Instance Activity and Acyclic Synchronizing Merge."""

MISSING = {
    39: "planned: `lock: {name, through: [STEP, …]}`",
}
"""Number → what is said of a pattern that has no file."""


def control_flow() -> str:
    """All control-flow patterns by number.

    Raises ValueError for a file that does not name its pattern as published, and KeyError for a pattern of which
    nothing is known.
    """
    found = {asked["number"]: (path, asked) for path, asked in _read(FOLDER)}
    wrong = [path.name for number, (path, asked) in found.items() if asked["name"] != CONTROL_FLOW[number].name]
    if wrong:
        raise ValueError(f"not named as published: {', '.join(wrong)}")
    lines = ["| | pattern | construct | verdict | YAWL | BPMN 1.0 |", "|---|---|---|---|---|---|"]
    for number, published in CONTROL_FLOW.items():
        if number in found:
            path, asked = found[number]
            name, construct, verdict = _link(published.name, path), asked["construct"], _verdict(path)
            if "findings" in asked:
                verdict += f"; lint says {', '.join(asked['findings'])}"
        else:
            name, construct, verdict = published.name, MISSING[number], "not supported yet"
        lines.append(_row(str(number), name, construct, verdict, published.yawl, published.bpmn))
    lines += ["", f"{len(found)} of {len(CONTROL_FLOW)} have a file."]
    return "\n".join(lines) + "\n"


def exceptions() -> str:
    """The exception patterns that have a file."""
    lines = ["| exception | strategy | construct | verdict |", "|---|---|---|---|"]
    for path, asked in _read(FOLDER / "exceptions"):
        name = _link(asked["exception"], path)
        lines.append(_row(name, asked["strategy"], asked["construct"], _verdict(path)))
    return "\n".join(lines) + "\n"


def _read(folder: Path) -> list[tuple[Path, dict[str, Any]]]:
    """The patterns of a folder with their `x-pattern`; further documents of a file are playbooks that it calls."""
    paths = sorted(folder.glob("*.yaml"))
    return [(path, next(yaml.safe_load_all(path.read_text("utf-8")))["x-pattern"]) for path in paths]


def _verdict(path: Path) -> str:
    """What is proved of the playbook of a file, and what the proof assumes beyond what all do."""
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
