"""A developer's script, never shipped: lints and runs the tests of what was changed, in seconds.

Run it as `tools/affected [COMMIT]`. A changed module is tested by the tests that import it, by the test of its name
in the folder of `tests/` that mirrors its own, by the suite of its contract, and by the goldens of its room, or all of
that folder where there are none. A script of the page is tested by its types and by the views that show it. A changed
test is tested by itself. It is a choice and no proof: before a commit reaches others, `tools/check` runs everything.
"""

import ast
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import goldens  # noqa: E402  # a module of the tests, which are no package

GOLDEN_TEST = "tests/test_goldens.py::test_a_view_is_what_its_printer_makes_of_the_input"
PACKAGES = {
    "compiler/noetlc": "tests/compiler",
    "runtime/noetl": "tests/runtime",
    "schema/noetl_ir": "tests/schema",
    "schema/noetl_cli": "tests",
}
MANY = 12
"""What more test files than this import is not tested by them."""

GOLDENS = {
    "noetlc.older": ("dialects", "lower"),
    "noetlc.lower": ("lower",),
    "noetlc.rules": ("rules",),
    "noetlc.diag": ("diag",),
    "noetlc.reading": ("read", "diag"),
    "noetlc.emit": ("emit", "plan"),
    "noetlc.codegen": ("plan", "net"),
    "noetlc.migrate": ("migrate",),
    "noetlc.source": ("source",),
    "noetlc.analysis": ("analysis",),
    "noetl.engine": ("run",),
}
"""The goldens that show what a room does, by their stages."""

CONTRACTS = {
    "runtime/noetl/tools/": "tests/contracts/test_tool.py",
    "schema/noetl_ir/kinds/": "tests/contracts/test_tool.py",
    "runtime/noetl/bus/": "tests/contracts/test_bus.py",
    "runtime/noetl/store/": "tests/contracts/test_store.py",
}
"""The suites that find what they test by its folder: they import it by no name of its own."""

PAGE = "runtime/noetl/page/"
VIEWS = {
    "execution": ("execution.js", "log.js", "frames.js", "picture.js", "actions.js", "failures.js", "children.js"),
    "catalogue": ("playbooks.js", "workers.js", "signals.js", "forms.js", "app.js", "app.css", "index.html"),
    "list": ("executions.js", "counts.js", "times.js", "dom.js", "server.js"),
    "versions": ("findings.js", "differences.js", "source.js"),
    "timeline": ("timeline.js",),
    "output": ("output.js",),
    "items": ("items.js",),
    "moments": ("step.js",),
    "addresses": ("lists.js",),
    "reruns": ("reruns.js",),
    "moves": ("moves.js",),
    "schedules": ("schedules.js", "triggers.js"),
    "notifications": ("notifications.js", "audit.js"),
    "starting": ("starting.js",),
    "numbers": ("numbers.js",),
    "picture": ("viewport.js",),
    "scopes": ("scopes.js",),
    "signing": ("signing.js",),
}
"""The tests of the page, and what of it each looks at."""
TYPES = "tests/page/test_types.py::test_the_types_of_all_scripts_fit"


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


@cache
def imports_of_tests() -> dict[str, set[str]]:
    """The modules that each test file imports, by its name."""
    tests = sorted((ROOT / "tests").rglob("test_*.py"))
    return {test.relative_to(ROOT).as_posix(): imported_by(test) for test in tests}


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
    """The tests for changed files, and the stages of goldens."""
    imports = imports_of_tests()
    chosen, stages = set[str](), set[str]()
    for name in names:
        if name in imports:
            chosen.add(name)
        if name.startswith(PAGE):
            chosen |= of_page(name)
        package = next((each for each in PACKAGES if name.startswith(f"{each}/")), None)
        if package is None or not name.endswith(".py"):
            continue
        inside = Path(name).relative_to(Path(package).parent).with_suffix("")
        module = ".".join(inside.parts).removesuffix(".__init__")
        importing = [test for test, found in imports.items() if module in found]
        shown = GOLDENS.get(".".join(inside.parts[:2]), ())
        # A module that everything imports would run everything. Its own test says most about it, and `tools/check`
        # the rest.
        chosen |= {*(importing if len(importing) <= MANY else ()), *mirrored(package, name, has_goldens=bool(shown))}
        chosen |= {suite for folder, suite in CONTRACTS.items() if name.startswith(folder)}
        stages |= set(shown)
    return sorted(chosen), sorted(stages)


def of_page(name: str) -> set[str]:
    """The tests of a file of the page."""
    file = name.removeprefix(PAGE)
    views = {f"tests/page/test_{view}.py" for view, files in VIEWS.items() if file in files}
    return views | {TYPES} if file.endswith(".js") else views


def calls_for(names: Sequence[str]) -> list[list[str]]:
    """The commands that lint and test changed files, in order; what is marked `long` is for `tools/check --all`."""
    code = [name for name in names if name.endswith(".py")]
    tests, stages = tests_of(names)
    calls = [["ruff", "check", *code], ["ruff", "format", "--check", *code]] if code else []
    if scripts := [name for name in names if name.endswith(".js")]:
        calls.append(["oxlint", *scripts])
    # One call, so that the checks of the house, which are one long test, run beside the others. Goldens go by their
    # ids: with `-k` they would need a call of their own.
    shown = [f"{GOLDEN_TEST}[{golden}]" for golden in goldens.goldens() if golden.case.stage in stages]
    return [*calls, ["pytest", "-q", "-x", "-m", "not long", "-n", "2", "tests/test_tidy.py", *tests, *shown]]


def short(call: Sequence[str]) -> list[str]:
    """A command as it is shown: of many goldens their number."""
    words = [word for word in call if not word.startswith(GOLDEN_TEST)]
    left = len(call) - len(words)
    return [*words, f"(and {left} goldens)"] if left else words


def main(words: list[str]) -> int:
    """Lint what was changed, then test it; the exit code of what failed first."""
    if len(words) > 1 or (words[:1] and words[0].startswith("-")):
        print("usage: tools/affected [COMMIT]", file=sys.stderr)
        return 2
    for call in calls_for(changed(words[0] if words else "main")):
        print("==", *short(call), flush=True)
        if result := subprocess.run(call, cwd=ROOT, check=False).returncode:
            return result
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
