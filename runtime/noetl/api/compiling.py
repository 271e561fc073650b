"""Playbooks that come as sources: the server compiles them, and tells what is wrong with one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from noetl.api.problems import Faulty

if TYPE_CHECKING:
    from noetl.clients.compiler import CompiledPlaybook


def compiled_source(data: bytes, name: str, folders: Sequence[Path]) -> CompiledPlaybook:
    """Compile the source of a playbook. Raises Faulty with what the compiler found."""
    from noetl.clients.compiler import CompileError, compile_source

    try:
        return compile_source(data, name, folders)
    except CompileError as problem:
        raise Faulty(str(problem)) from None
