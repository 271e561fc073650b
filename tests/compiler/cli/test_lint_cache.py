"""The cache of lint: files that did not change are not checked again, and nothing wrong in it is ever believed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import Run, put
from nets import HEAD, steps
from noetlc.cli import cache, inspection
from noetlc.pipeline import Compiled, check_source

GOOD = HEAD + steps("step: start")
WARNED = HEAD + steps("step: start", "step: lonely  ")
FIXABLE = f"{HEAD}workflow:\n  - step: start  # noetl: ignore[NL601] x\n  - step: é  # noetl: ignore[NL601] by hand\n"


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that were checked."""
    names: list[str] = []

    def counting(name: str, data: bytes, *more: object) -> Compiled:
        names.append(name)
        return check_source(name, data, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(inspection, "check_source", counting)
    return names


def entries(folder: str = ".noetlc_cache") -> list[Path]:
    return sorted(path for path in Path(folder).rglob("*") if path.is_file() and len(path.parent.name) == 2)


def test_only_what_changed_is_checked_again(run: Run, looked_at: list[str]) -> None:
    put("noetlc.toml", "")
    for number in range(20):
        put(f"in/{number:02}.yaml", (GOOD, WARNED, FIXABLE)[number % 3])
    first = run("lint", "in")
    assert len(looked_at) == 20
    looked_at.clear()
    assert run("lint", "in") == first
    assert looked_at == []
    put("in/07.yaml", GOOD + "# changed\n")
    os.utime("in/08.yaml", (1, 1))  # the content counts, and no time
    run("lint", "in")
    assert looked_at == ["in/07.yaml"]
    looked_at.clear()
    for options in (("--strict",), ("--select", "NL0"), ("--format", "sarif"), ("--format", "text")):
        run("lint", "in", *options)
    assert looked_at == []


@pytest.mark.parametrize("form", ["full", "text", "json", "sarif", "github", "gitlab", "junit", "markdown"])
def test_what_is_remembered_is_what_was_found(run: Run, looked_at: list[str], form: str) -> None:
    put("a.yaml", FIXABLE)
    put(
        "b.yaml",
        f"{HEAD}workflow:\n  - step: start\n    next: {{arcs: [{{step: strat}}, {{step: start}}]}}\n  - step: a\n",
    )
    fresh = run("lint", "a.yaml", "b.yaml", "--format", form, "--no-cache")
    assert run("lint", "a.yaml", "b.yaml", "--format", form) == fresh
    looked_at.clear()
    assert run("lint", "a.yaml", "b.yaml", "--format", form) == fresh
    assert looked_at == []


def test_entries_lie_beside_a_configuration_or_where_they_are_told_to(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    put("in/a.yaml", GOOD)
    run("lint", "in", "--no-cache")
    assert not Path("xdg").exists()
    run("lint", "in")
    assert len(entries("xdg/noetlc")) == 1
    put("in/noetlc.toml", "")
    run("lint", "in")
    assert len(entries("in/.noetlc_cache")) == 1
    assert Path("in/.noetlc_cache/.gitignore").read_text() == "*\n"
    put("in/noetlc.toml", 'cache-dir = "kept"\n')
    run("lint", "in")
    assert len(entries("in/kept")) == 1
    run("lint", "in", "--cache-dir", "other")
    assert len(entries("other")) == 1
    run("lint", "-", stdin=GOOD.encode())
    assert len(entries("xdg/noetlc")) == 1


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:-1],
        lambda data: data[: len(data) // 2],
        lambda data: data.replace(b"lonely", b"lovely"),
        lambda data: data + b"x",
        lambda data: b"\x00" * len(data),
        lambda data: data.replace(b"\n", b"\n[", 1),
        lambda data: data.partition(b"\n")[0] + b'\n[0, [["x"]]]',
    ],
)
def test_damaged_entries_are_not_believed(run: Run, damage: object) -> None:
    put("noetlc.toml", "")
    put("a.yaml", WARNED)
    first = run("lint", "a.yaml")
    (entry,) = entries()
    entry.write_bytes(damage(entry.read_bytes()))  # type: ignore[operator]
    assert run("lint", "a.yaml") == first
    assert run("lint", "a.yaml") == first


def test_an_entry_of_another_file_or_program_is_not_believed(
    run: Run, looked_at: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    put("noetlc.toml", "")
    put("a.yaml", WARNED)
    put("b.yaml", WARNED)
    run("lint", "a.yaml", "b.yaml")
    one, other = entries()
    one.write_bytes(other.read_bytes())
    looked_at.clear()
    run("lint", "a.yaml", "b.yaml")
    assert len(looked_at) == 1
    looked_at.clear()
    monkeypatch.setattr(cache, "_program", lambda: b"another version")
    run("lint", "a.yaml", "b.yaml")
    assert len(looked_at) == 2


def test_a_change_of_the_program_is_seen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    place = tmp_path / "noetlc" / "cli" / "cache.py"
    place.parent.mkdir(parents=True)
    place.write_text("")
    monkeypatch.setattr(cache, "__file__", str(place))
    before = cache._program()
    assert cache._program() == before
    (tmp_path / "noetlc" / "rules.py").write_text("new")
    assert cache._program() != before


def test_nothing_fails_where_nothing_can_be_kept(run: Run) -> None:
    put("a.yaml", WARNED)
    put("file", "")
    assert run("lint", "a.yaml", "--cache-dir", "file/in") == run("lint", "a.yaml", "--no-cache")


def test_old_entries_are_forgotten_where_there_are_many(tmp_path: Path) -> None:
    for number in range(80):
        path = tmp_path / f"{number}"
        path.write_text("")
        if number < 30:
            os.utime(path, (1, 1))
    cache._forget_old(str(tmp_path))
    assert len(list(tmp_path.iterdir())) == 50


def test_runs_at_the_same_time_do_not_disturb_each_other(tmp_path: Path) -> None:
    (tmp_path / "noetlc.toml").write_text("")
    for number in range(30):
        (tmp_path / f"{number:02}.yaml").write_text((GOOD, WARNED)[number % 2])
    command = [sys.executable, "-m", "noetlc.cli", "lint", ".", "--format", "text"]
    runs = [subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(4)]
    said = {run.communicate(timeout=120) for run in runs}
    assert len(said) == 1
    assert len(entries(str(tmp_path / ".noetlc_cache"))) == 30
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=120).stdout == said.pop()[0]
