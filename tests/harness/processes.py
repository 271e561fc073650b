"""Commands as processes of their own, as a user starts them."""

import subprocess
import sys
from pathlib import Path


def noetl(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command of `noetl` in a folder to its end."""
    return subprocess.run(
        [sys.executable, "-m", "noetl.cli", *words],
        cwd=folder, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
