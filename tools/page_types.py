"""A developer's script, never shipped: checks the types of the page's scripts, which stand in their comments.

The tests run it; by hand it is `.venv/bin/python tools/page_types.py`. TypeScript comes by npm into `.venv/typescript`,
as the lock file in `tools/typescript` names it, and is brought again when that changes.
"""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "tools" / "typescript"
BUILD = ROOT / ".venv" / "typescript"


def has_tools() -> bool:
    """Whether Node and npm are there."""
    return shutil.which("node") is not None and shutil.which("npm") is not None


def problems(project: Path = SOURCE / "tsconfig.json") -> list[str]:
    """The lines that the compiler says of a project, none where all types fit. Raises CalledProcessError."""
    _bring()
    compiler = BUILD / "node_modules" / "typescript" / "bin" / "tsc"
    words = ["node", str(compiler), "--project", str(project), "--pretty", "false"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=ROOT)
    return (done.stdout + done.stderr).splitlines() if done.returncode else []


def _bring() -> None:
    lock, had = SOURCE / "package-lock.json", BUILD / "package-lock.json"
    if had.exists() and had.read_bytes() == lock.read_bytes() and (BUILD / "node_modules").exists():
        return
    shutil.copytree(SOURCE, BUILD, dirs_exist_ok=True)
    # Without scripts: what is brought is run by this check alone.
    command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]
    subprocess.run(command, cwd=BUILD, check=True)


if __name__ == "__main__":
    found = problems()
    print("\n".join(found) or "the types of the page fit")
    sys.exit(1 if found else 0)
