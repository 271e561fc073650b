"""Compiling playbooks: `noetlc compile` in a process of its own, bounded in time and memory.

The runtime never imports the compiler: a source is untrusted, and what the compiler does with it cannot touch the
process that owns executions.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

SECONDS = 120
MEMORY = 4 << 30
"""Limits of one compile: wall-clock seconds, bytes of address space."""


class CompileError(Exception):
    """The playbook does not compile; the text is the compiler's own, `code` its exit code (1 findings, 2 usage)."""

    def __init__(self, text: str, code: int) -> None:
        super().__init__(text)
        self.code = code


def compile_playbook(source: Path, folders: Sequence[Path]) -> tuple[bytes, str]:
    """The plan bytes of a playbook file, and what the compiler said about it. Raises CompileError."""
    with tempfile.TemporaryDirectory(prefix="noetl-") as folder:
        target = Path(folder) / "plan.ir"
        words = [sys.executable, "-m", "noetlc.cli", "compile", str(source), "-o", str(target)]
        for catalogue in folders:
            words += ["--path", str(catalogue)]
        try:
            done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS, preexec_fn=_limit())
        except subprocess.TimeoutExpired:
            raise CompileError(f"{source}: the compiler was stopped after {SECONDS} s", 1) from None
        if done.returncode != 0:
            raise CompileError((done.stderr or done.stdout).strip(), done.returncode)
        return target.read_bytes(), done.stderr.strip()


def _limit() -> Callable[[], None] | None:
    """Bound the child's memory where the system can."""
    try:
        import resource
    except ImportError:
        return None
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)) if os.name == "posix" else None
