"""Command lines of noetlc in an empty folder, and the files they are about."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from noetlc.cli import main


class Done(NamedTuple):
    """How a command line ended."""

    status: int
    out: str
    err: str


Run = Callable[..., Done]


def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Run:
    """Runs a command line in an empty folder; `stdin` is what it may read."""
    monkeypatch.chdir(tmp_path)

    def call(*argv: str, stdin: bytes = b"") -> Done:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        status = main(argv)
        out, err = capfdbinary.readouterr()
        return Done(status, out.decode(errors="replace"), err.decode(errors="replace"))

    return call


def put(name: str, text: str) -> None:
    """Write a file, its folders too."""
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
