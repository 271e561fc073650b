"""The fixture for command lines."""

from pathlib import Path

import pytest

from command_line import Run, runner


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Run:
    """Runs a command line in an empty folder; `stdin` is what it may read."""
    return runner(tmp_path, monkeypatch, capfdbinary)
