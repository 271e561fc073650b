"""From each example one thing at a time is broken, and a finding must name the line where it was.

Every key is misspelt, every name that leads to a step, a task or a declared value is changed, every kind is made
another word, and every guard is broken. Lines of code, of SQL and of data mean nothing to the compiler and are left,
and so are the keys of `metadata`, which are free, and those under `workload.`, where the payload may add any.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from noetlc.diag.diagnostic import Severity
from playbooks import linted

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PLAYBOOKS = sorted(path for path in EXAMPLES.rglob("*.yaml") if not path.name.endswith((".script.yaml", ".test.yaml")))

KEY = re.compile(r"(?<![\w.'\"])([a-zA-Z_]\w*):(?=\s|$)")
DATA = frozenset(
    {
        "metadata",
        "workload",
        "args",
        "set_ctx",
        "set_iter",
        "headers",
        "params",
        "payload",
        "env",
        "result",
        "body",
        "timers",
    }
)
"""Keys under which every key is the author's own."""


@cache
def text_of(path: Path) -> str:
    """An example."""
    return path.read_text("utf-8")


def code_lines(text: str) -> Iterator[tuple[int, str, bool]]:
    """(line number, line, whether its keys are data): comments, code and other block scalars are left out."""
    block, data = -1, -1
    for number, line in enumerate(text.split("\n"), 1):
        indent = len(line) - len(line.lstrip(" "))
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if block >= 0 and indent > block:
            continue
        block = indent if re.search(r":\s*[|>][+-]?\s*$", line) else -1
        if data >= 0 and indent <= data:
            data = -1
        yield number, line, data >= 0
        opened = re.match(r"\s*(?:- )?(\w+):\s*$", line)
        if opened and opened[1] in DATA and data < 0:
            data = indent + (2 if line.lstrip().startswith("- ") else 0)


def mutants(path: Path) -> Iterator[tuple[int, str]]:
    """(line, that line broken in one place)."""
    for number, line, is_data in code_lines(text_of(path)):
        if not is_data:
            yield from ((number, broken) for broken in misspelt(line))
        for pattern, by in CHANGES:
            for found in re.finditer(pattern, line):
                yield number, line[: found.start(1)] + by + line[found.end(1) :]


def misspelt(line: str) -> Iterator[str]:
    """The line with one key misspelt, for each of its keys that is no data."""
    for found in KEY.finditer(line):
        before = line[: found.start()]
        if before.count("{{") > before.count("}}") or any(_is_open(before[at:]) for at in _openings(before)):
            continue
        yield f"{before}{found[1]}q{line[found.end(1) :]}"


def _openings(before: str) -> Iterator[int]:
    """Where the braces of data begin."""
    yield from (found.end() - 1 for found in re.finditer(r"(\w+): \{", before) if found[1] in DATA)


def _is_open(text: str) -> bool:
    """Whether the brace that a text begins with is not closed in it."""
    return text.count("{") > text.count("}")


CHANGES = [
    (r"\b(?:- step|to): ([\w-]+)", "nowhere_to_go"),
    (r"\bkind: (http|noop|python|shell|sqlite|duckdb|playbook|script)\b", "htpp"),
    (r"\bdo: (\w+)", "dance"),
    (r"\bmode: (\w+)", "sideways"),
    (r"\bjoin: (\w+)", "sometimes"),
    (r"when: \"\{\{ ?([^}]*?) ?\}\}\"", "1 +"),
    (r"when: \"(\{\{)", "{"),
    (r"\{\{[^}]*?\b(workload)\.", "worklod"),
    (r"\{\{[^}]*?\b(iter)\.", "itr"),
    (r"\{\{[^}]*?\b(args)\.", "arg"),
    (r"\{\{[^}]*?\b(ctx)\.", "cxt"),
    (r"\{\{[^}]*?\b(event)\.", "evnt"),
    (r"\{\{[^}]*?\b(outcome)\.", "outcom"),
    (r"event\.(name|status|error|result)\b", "nothing_such"),
]
"""(what to find, with the part to replace as its group; what to put there)."""


def lines_of(text: str) -> set[int]:
    """The lines that errors and warnings name, in themselves or as related."""
    found = [finding for finding in linted(text) if finding.severity >= Severity.WARNING]
    return {line for each in found for line in (each.span.line, *(other.span.line for other in each.related))}


@pytest.mark.parametrize("path", PLAYBOOKS, ids=lambda path: path.stem)
def test_what_is_broken_is_named_with_its_line(path: Path) -> None:
    assert lines_of(text_of(path)) == set()
    lines = text_of(path).split("\n")
    missed = []
    for number, broken in mutants(path):
        changed = "\n".join([*lines[: number - 1], broken, *lines[number:]])
        if number not in lines_of(changed):
            missed.append(f"{number}: {broken.strip()}")
    assert not missed, "\n".join(missed)


def test_every_way_to_break_something_is_used() -> None:
    lines = [line for path in PLAYBOOKS for line in text_of(path).split("\n")]
    for pattern, _ in CHANGES:
        assert any(re.search(pattern, line) for line in lines), pattern
    assert sum(1 for path in PLAYBOOKS for _ in mutants(path)) > 500
