"""Packages that npm brings for tools: whole, and once."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import CalledProcessError

import pytest

from node_packages import bring

NPM = """#!/bin/sh
echo "$PWD" >> {calls}
mkdir node_modules && sleep 0.2 && touch node_modules/tsc
test ! -e {broken} && touch node_modules/.package-lock.json
"""


class Bringing:
    """A folder to bring packages from, one to bring them to, and an npm that counts its calls."""

    def __init__(self, folder: Path) -> None:
        self.source, self.build, self.broken = folder / "source", folder / ".venv" / "build", folder / "broken"
        self._calls = folder / "calls"
        self.source.mkdir()
        self.lock("one")
        (self.source / "package.json").write_text("{}")
        (folder / "bin").mkdir()
        (folder / "bin" / "npm").write_text(NPM.format(calls=self._calls, broken=self.broken))
        (folder / "bin" / "npm").chmod(0o755)

    def lock(self, text: str) -> None:
        (self.source / "package-lock.json").write_text(text)

    def bring(self) -> None:
        bring(self.source, self.build)
        assert (self.build / "node_modules" / "tsc").exists()

    def calls(self) -> int:
        calls = self._calls.read_text().splitlines()
        assert set(calls) == {str(self.build)}
        return len(calls)


@pytest.fixture
def case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bringing:
    monkeypatch.setenv("PATH", f"{tmp_path}/bin{os.pathsep}{os.environ['PATH']}")
    return Bringing(tmp_path)


def test_who_comes_while_it_is_brought_waits_until_it_is_there(case: Bringing) -> None:
    with ThreadPoolExecutor(3) as several:
        for one in [several.submit(case.bring) for _ in range(3)]:
            one.result()
    assert case.calls() == 1


def test_it_is_brought_again_for_another_lock_and_where_it_was_broken_off(case: Bringing) -> None:
    case.bring()
    case.lock("two")
    case.broken.touch()
    with pytest.raises(CalledProcessError):
        case.bring()
    case.broken.unlink()
    case.bring()
    case.bring()
    assert case.calls() == 3
