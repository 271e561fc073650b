"""The packages that commands import, where a smaller install than the default one lints, compiles and draws, and
of ours.
"""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from goldens import ROOT

CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
OTHERS = next(each["forbidden_modules"] for each in CONTRACTS if each["name"].startswith("every third-party library"))
NEEDED = {"click", "yaml", "msgpack"}
"""The packages that the compiler's README promises are enough."""


@pytest.mark.parametrize(
    "line",
    [
        "lint",
        "lint --format sarif",
        "analyze",
        "compile -o /dev/null",
        "migrate",
        "graph --format html",
        "graph --format svg --boxes 2",
        "graph --format mermaid --level net",
    ],
)
def test_three_packages_are_enough(line: str) -> None:
    words = [*line.split(), str(ROOT / "examples" / "retry_backoff.yaml")]
    source = (
        f"import sys; sys.modules.update(dict.fromkeys({sorted({*OTHERS} - NEEDED)!r}))\n"
        f"from noetlc.cli import main; sys.exit(main({words!r}))"
    )
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_lint_of_a_playbook_with_one_token_loads_nothing_of_plans_and_nets(tmp_path: Path) -> None:
    """Start-up is what people wait for at each save; a module costs 0.1 to 0.5 ms of it."""
    file = tmp_path / "t.yaml"
    file.write_text(
        "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: t}\nworkflow:\n"
        "- {step: start, tool: [{name: a, kind: noop}], next: {arcs: [{step: end}]}}\n"
        "- {step: end, tool: {kind: noop}}\n"
    )
    source = (
        f"import sys; from noetlc.cli import main; main(['lint', '--no-cache', {str(file)!r}])\n"
        "heavy = ('noetl_ir.plan', 'noetl_ir.net', 'noetl_ir.assembly', 'noetlc.analysis.petri', 'click', 'lark',"
        " 'noetlc.expr.lalr')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == "[]", done.stdout + done.stderr
