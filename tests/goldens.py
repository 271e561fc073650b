"""Which goldens there are, and who prints them.

A case is an input `golden/<stage>/<case>.yaml`; beside it lie its views, `<case>.<view>`, each the text that
the view's printer makes of the case, and companions that belong to the input (`<case>.script`). Printers live
in `tests/views/<name>.py`, take a `Case` and return text that ends in a newline: canonical, without
addresses, times or absolute paths.

To add a view, add one row to `VIEWS` (every case of the stage must have it) or to `OPTIONAL` (a case of any
stage has it when the file exists: make an empty one), then run
`pytest tests/test_goldens.py --snapshot-update` and read the diff.
"""

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "golden"

VIEWS: dict[str, dict[str, str]] = {
    # Stage → view → printer.
    "source": {"diag": "views.source:diagnostics"},
    "diag": {"diag": "views.diagnostics:of_reading"},
    "rules": {"diag": "views.diagnostics:of_rules"},
    "lint": {"diag": "views.linting:findings"},
    "build": {"diag": "views.plan:findings"},
    "net": {"net": "views.plan:net"},
    "plan": {"plan": "views.plan:tables"},
    "emit": {"mermaid": "views.plan:mermaid", "dot": "views.plan:dot"},
    "run": {"events": "views.events:printed"},
    "read": {"canon": "views.diagnostics:canonical"},
    "analysis": {"verdicts": "views.analysis:verdicts"},
    "lower": {"canon": "views.lowering:canonical"},
    "migrate": {"migrated": "views.migration:source", "changes": "views.migration:changes"},
    "dialects": {"canon": "views.lowering:canonical"},
    "spec": {"canon": "views.lowering:canonical"},
}

OPTIONAL: dict[str, str] = {
    # View → printer.
    "events": "views.events:printed",
    "diag": "views.migration:problems",
}

COMPANIONS = frozenset({"script", "payload", "baseline", "same"})
"""Suffixes of files that belong to an input."""


class Case(NamedTuple):
    """One input and the place where its views lie."""

    stage: str
    name: str
    path: Path

    def beside(self, suffix: str) -> Path:
        """The file of this case with that suffix, whether or not it exists."""
        return self.path.with_name(f"{self.name}.{suffix}")


class Golden(NamedTuple):
    """One text to compare: a case seen through a view. `printer` is `module:function`."""

    case: Case
    view: str
    printer: str

    def __str__(self) -> str:
        return f"{self.case.stage}/{self.case.name}.{self.view}"

    def text(self) -> str:
        """The output of the printer for the case as it is now."""
        module, _, function = self.printer.partition(":")
        printer: Callable[[Case], str] = getattr(import_module(module), function)
        return printer(self.case)


def cases(golden: Path = GOLDEN) -> Iterator[Case]:
    """Every input, sorted by stage and name."""
    for path in sorted(golden.glob("*/*.yaml")):
        yield Case(path.parent.name, path.name.removesuffix(".yaml"), path)


def goldens(golden: Path = GOLDEN) -> Iterator[Golden]:
    """Every view that a case must have, and every optional one that it has."""
    for case in cases(golden):
        required = VIEWS.get(case.stage, {})
        for view, printer in required.items():
            yield Golden(case, view, printer)
        for view, printer in OPTIONAL.items():
            if view not in required and case.beside(view).exists():
                yield Golden(case, view, printer)


def strays(golden: Path = GOLDEN) -> Iterator[str]:
    """The faults of the files under golden/: each line names a file and says what it lacks."""
    inputs = {(case.stage, case.name) for case in cases(golden)}
    for case in cases(golden):
        if case.stage not in VIEWS:
            yield f"{case.stage}/{case.path.name}: the stage {case.stage!r} has no row in tests/goldens.py"
        for view in VIEWS.get(case.stage, {}):
            if not case.beside(view).exists():
                yield f"{case.stage}/{case.path.name}: has no .{view}; run pytest --snapshot-update"
    for path in sorted(path for path in golden.glob("**/*") if path.is_file() and path.suffix != ".yaml"):
        stage, name, view = path.parent.name, path.stem, path.suffix.removeprefix(".")
        if path.parent.parent != golden or (stage, name) not in inputs:
            yield f"{path.relative_to(golden)}: has no input {name}.yaml beside it"
        elif view not in COMPANIONS and view not in OPTIONAL and view not in VIEWS.get(stage, {}):
            yield f"{path.relative_to(golden)}: the stage {stage!r} has no view {view!r} in tests/goldens.py"
