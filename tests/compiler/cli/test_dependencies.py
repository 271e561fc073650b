"""What the commands need of other packages: a smaller install than the default one lints, compiles and draws."""

import subprocess
import sys
import tomllib

import pytest

from goldens import ROOT

CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
OTHERS = next(each["forbidden_modules"] for each in CONTRACTS if each["name"].startswith("every third-party library"))
NEEDED = {"click", "yaml", "msgpack"}
"""What the compiler's README promises is enough."""


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
