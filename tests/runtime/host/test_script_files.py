"""Where the file of a `script` field is looked for: beside the playbook, then in each folder above it to the root."""

import os
from pathlib import Path

import pytest

from noetl.host.confined_files import FileRefused, inline_script, script_path, script_text
from noetl_ir.expr import Json


@pytest.fixture
def root(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    for name in ("a.py", "deep/a.py", "deep/b.py", "deep/er/c.py", "shared/d.py", "deep/shared/d.py"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(name)
    (tmp_path / "out.py").write_text("outside")
    return home


@pytest.mark.parametrize(
    ("folder", "script", "found"),
    [
        ("", "a.py", "a.py"),
        ("deep/er", "a.py", "deep/a.py"),
        ("deep/er", "c.py", "deep/er/c.py"),
        ("deep/er", "./b.py", "deep/b.py"),
        ("shared", "b.py", None),
        ("deep/er", "shared/d.py", "deep/shared/d.py"),
        ("deep/er", "../../shared/d.py", "shared/d.py"),
        ("deep/er", "deep/er/c.py", "deep/er/c.py"),
        ("deep", "../../out.py", None),
        ("deep", "../out.py", None),
        ("", "../out.py", None),
        ("..", "out.py", None),
        ("..", "a.py", "a.py"),
        ("no/such/folder", "a.py", "a.py"),
        ("deep", "er", None),
        ("deep", "", None),
        ("deep/er", "file://c.py", "deep/er/c.py"),
    ],
)
def test_the_nearest_file_wins_and_none_outside_of_the_root(
    root: Path, folder: str, script: str, found: str | None
) -> None:
    for written in (script, {"uri": script, "source": {"type": "file"}}, {"path": script}):
        if found is None:
            with pytest.raises(FileRefused):
                script_text(str(root), written, folder)
        else:
            assert script_text(str(root), written, folder) == found


def test_a_file_that_is_nowhere_is_told_with_all_places(root: Path) -> None:
    with pytest.raises(FileRefused) as refused:
        script_path(str(root), "gone.py", "deep/er")
    places = [os.path.realpath(root / name) for name in ("deep/er", "deep", ".")]
    assert str(refused.value) == f"there is no file 'gone.py' in {', '.join(map(repr, places))}"


def test_an_absolute_path_is_looked_for_once(root: Path) -> None:
    assert script_text(str(root), str(root / "deep/b.py"), "deep/er") == "deep/b.py"
    with pytest.raises(FileRefused, match="outside"):
        script_path(str(root), str(root.parent / "out.py"), "deep")


def test_a_link_out_of_the_root_is_not_followed(root: Path) -> None:
    (root / "deep" / "link.py").symlink_to(root.parent / "out.py")
    with pytest.raises(FileRefused):
        script_text(str(root), "link.py", "deep")


def test_code_of_the_playbook_is_taken_as_it_is() -> None:
    for script in (
        {"uri": "inline", "source": {"type": "inline", "code": "x"}},
        {"source": {"type": "inline"}, "code": "x"},
        {"source": "inline", "content": "x"},
    ):
        assert inline_script(script) == script_text("/", script) == "x"
    others: list[Json] = ["a.py", {"uri": "a.py"}, {"uri": "a.py", "source": {"type": "file", "code": "x"}}, None]
    assert [inline_script(other) for other in others] == [None] * 4
    with pytest.raises(FileRefused, match="code"):
        inline_script({"source": {"type": "inline", "code": 3}})
    with pytest.raises(FileRefused, match="'gcs'"):
        script_path("/", {"uri": "gs://x", "source": {"type": "gcs"}})


def test_a_playbook_from_outside_the_root_has_its_own_folder(root: Path) -> None:
    elsewhere = root.parent / "elsewhere" / "deep"
    elsewhere.mkdir(parents=True)
    (elsewhere / "own.py").write_text("own")
    (elsewhere.parent / "above.py").write_text("above")
    assert script_text(str(root), "own.py", str(elsewhere)) == "own"
    assert script_text(str(root), "a.py", str(elsewhere)) == "a.py"
    for path in ("above.py", "../above.py", str(elsewhere / "own.py")):
        with pytest.raises(FileRefused):
            script_text(str(root), path, str(elsewhere))
    (elsewhere.parent / ".git").mkdir()
    assert script_text(str(root), "above.py", str(elsewhere)) == "above"
    assert script_text(str(root), "../above.py", str(elsewhere)) == "above"
    for path in ("out.py", "../../out.py"):
        with pytest.raises(FileRefused):
            script_text(str(root), path, str(elsewhere))
