"""A developer's script, never shipped: checks the types of the page's scripts, which stand in their comments.

The tests run it; by hand it is `.venv/bin/python tools/page_types.py`. TypeScript comes by npm into `.venv/typescript`,
as the lock file in `tools/typescript` names it, and is brought again when that changes.
"""

import subprocess
import sys
from pathlib import Path

from node_packages import bring

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "tools" / "typescript"
BUILD = ROOT / ".venv" / "typescript"


def problems(project: Path = SOURCE / "tsconfig.json") -> list[str]:
    """The lines that the compiler says of a project, none where all types fit. Raises CalledProcessError."""
    bring(SOURCE, BUILD)
    compiler = BUILD / "node_modules" / "typescript" / "bin" / "tsc"
    words = ["node", str(compiler), "--project", str(project), "--pretty", "false"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=ROOT)
    return (done.stdout + done.stderr).splitlines() if done.returncode else []


if __name__ == "__main__":
    found = problems()
    print("\n".join(found) or "the types of the page fit")
    sys.exit(1 if found else 0)
