"""A developer's script, never shipped: lints and runs the tests of what was changed, in seconds.

Run it as `tools/affected [COMMIT]`. A changed module is tested by the tests that import it, by the test of its name
in the folder of `tests/` that mirrors its own, by the suite of its contract, and by the goldens of its room, or all of
that folder where there are none. A changed test is tested by itself. It is a choice and no proof: before a commit
reaches others, `tools/check` runs everything.
"""

import ast
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = {
    "compiler/noetlc": "tests/compiler",
    "runtime/noetl": "tests/runtime",
    "schema/noetl_ir": "tests/schema",
    "schema/noetl_cli": "tests",
}
MANY = 12
"""What more test files than this import is not tested by them."""

GOLDENS = {"older": "dialects or lower", "lower": "lower", "rules": "rules", "diag": "diag", "reading": "read or diag",
           "emit": "emit or plan", "codegen": "plan or net", "migrate": "migrate", "source": "source", "analysis":
           "analysis"}  # fmt: skip
"""The goldens that show what a room of the compiler does, as `pytest -k` takes them."""

CONTRACTS = {
    "runtime/noetl/tools/": "tests/contracts/test_tool.py",
    "schema/noetl_ir/kinds/": "tests/contracts/test_tool.py",
    "runtime/noetl/bus/": "tests/contracts/test_bus.py",
    "runtime/noetl/store/": "tests/contracts/test_store.py",
}
"""The suites that find what they test by its folder: they import it by no name of its own."""


def changed(since: str) -> list[str]:
    """The files that differ from a commit, and those that are not known to git yet."""
    # Three dots: what this branch changed since it left the other, not what the other has done meanwhile.
    diff = ["git", "diff", "--name-only", "--diff-filter=d", f"{since}..."], ["git", "diff", "--name-only", "HEAD"]
    new = ["git", "ls-files", "--others", "--exclude-standard"]
    said = [
        subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout for words in (*diff, new)
    ]
    return sorted({name for text in said for name in text.split("\n") if name and (ROOT / name).exists()})


def imported_by(test: Path) -> set[str]:
    """The modules that a test file imports, by their full names."""
    found = set()
    for node in ast.walk(ast.parse(test.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


def mirrored(package: str, name: str, *, has_goldens: bool) -> Iterator[str]:
    """The test of a module's name, else the folder of `tests/` that mirrors its own, where no goldens do that."""
    inside, tests = Path(name).relative_to(package), Path(PACKAGES[package])
    named = tests / inside.parent / f"test_{inside.stem}.py"
    if (ROOT / named).exists():
        yield named.as_posix()
    elif not has_goldens and (folder := tests / inside.parent) != tests and (ROOT / folder).exists():
        # Goldens of the room test a module without a test of its own. Where there are none, all of the folder does.
        yield folder.as_posix()


def tests_of(names: Iterable[str]) -> tuple[list[str], list[str]]:
    """The test files and folders for changed files, and what of the goldens (`-k`)."""
    tests = sorted((ROOT / "tests").rglob("test_*.py"))
    imports = {test.relative_to(ROOT).as_posix(): imported_by(test) for test in tests}
    chosen, goldens = set[str](), set[str]()
    for name in names:
        if name in imports:
            chosen.add(name)
        package = next((each for each in PACKAGES if name.startswith(f"{each}/")), None)
        if package is None or not name.endswith(".py"):
            continue
        inside = Path(name).relative_to(Path(package).parent).with_suffix("")
        module = ".".join(inside.parts).removesuffix(".__init__")
        importing = [test for test, found in imports.items() if module in found]
        shown = GOLDENS.get(inside.parts[1]) if package == "compiler/noetlc" else None
        # A module that everything imports would run everything. Its own test says most about it, and `tools/check`
        # the rest.
        chosen |= {*(importing if len(importing) <= MANY else ()), *mirrored(package, name, has_goldens=bool(shown))}
        chosen |= {suite for folder, suite in CONTRACTS.items() if name.startswith(folder)}
        goldens |= {shown} if shown else set()
    return sorted(chosen), sorted(goldens)


def calls_for(names: Sequence[str]) -> list[list[str]]:
    """The commands that lint and test changed files, in order; what is marked `long` is for `tools/check --all`."""
    code = [name for name in names if name.endswith(".py")]
    tests, goldens = tests_of(names)
    calls = [["ruff", "check", *code], ["ruff", "format", "--check", *code]] if code else []
    pytest = ["pytest", "-q", "-x", "-m", "not long"]
    if tests:
        calls.append([*pytest, "-n", "2", *tests])
    if goldens:
        calls.append([*pytest, "-n", "2", "tests/test_goldens.py", "-k", " or ".join(goldens)])
    return [*calls, [*pytest, "tests/test_tidy.py"]]


def main(words: list[str]) -> int:
    """Lint what was changed, then test it; the exit code of what failed first."""
    for call in calls_for(changed(words[0] if words else "main")):
        print("==", *call, flush=True)
        if result := subprocess.run(call, cwd=ROOT, check=False).returncode:
            return result
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
