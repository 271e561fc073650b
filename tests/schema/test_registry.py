"""noetl_ir.registry: parts are found by file name, imported one at a time, and checked."""

import subprocess
import sys
from pathlib import Path

import pytest

from noetl_ir.registry import MissingPart, distribution_of, is_module, load, modules_of, names


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A package `parts_<n>` with two good parts, two bad ones and a private module."""
    name = f"parts_{tmp_path.name}".replace("-", "_")
    home = tmp_path / name
    home.mkdir()
    for file, text in {
        "__init__.py": "",
        "wood.py": "PART = 'wood'\n",
        "iron.py": "PART = 'iron'\n",
        "_hidden.py": "PART = 'hidden'\n",
        "needy.py": "import nothing_of_that_name\n",
        "wrong.py": "PART = 1\n",
    }.items():
        (home / file).write_text(text, encoding="utf-8")
    (home / "folder").mkdir()
    (home / "folder" / "__init__.py").write_text("PART = 'folder'\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    return name


def add_entry_points(place: Path, group: str, points: dict[str, str]) -> None:
    """Install a distribution of nothing but entry points."""
    home = place / "third_party-1.0.dist-info"
    home.mkdir()
    (home / "METADATA").write_text("Metadata-Version: 2.1\nName: third-party\nVersion: 1.0\n", encoding="utf-8")
    lines = [f"[{group}]", *(f"{name} = {value}" for name, value in points.items())]
    (home / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")


def test_names_are_sorted_and_public_and_import_nothing(package: str) -> None:
    assert names(package) == ("folder", "iron", "needy", "wood", "wrong")
    assert not [module for module in sys.modules if module.startswith(f"{package}.")]


def test_load_imports_the_one_part(package: str) -> None:
    assert load(package, "wood", "PART", str) == "wood"
    assert load(package, "folder", "PART", str) == "folder"
    assert f"{package}.iron" not in sys.modules


@pytest.mark.parametrize("name", ["stone", "_hidden", "", "wood.x", "../wood", "wo od", "os.path"])
def test_a_name_that_is_no_part_is_missing(package: str, name: str) -> None:
    with pytest.raises(MissingPart, match=package):
        load(package, name, "PART", str)


def test_a_part_of_another_type_is_refused(package: str) -> None:
    with pytest.raises(TypeError, match="wrong"):
        load(package, "wrong", "PART", str)
    with pytest.raises(TypeError, match="wood"):
        load(package, "wood", "OTHER", str)


def test_a_part_that_needs_something_missing_says_what(package: str) -> None:
    with pytest.raises(ModuleNotFoundError, match="nothing_of_that_name"):
        load(package, "needy", "PART", str)


def test_entry_points_add_parts_and_never_replace_ours(
    package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_entry_points(
        tmp_path,
        "some.group",
        {"stone": f"{package}.iron", "clay-pot": f"{package}.iron:PART", "wood": f"{package}.iron"},
    )
    monkeypatch.setattr("noetl_ir.registry.GROUPS", {package: "some.group"})
    assert load(package, "stone", "PART", str) == "iron"
    assert load(package, "clay-pot", "PART", str) == "iron"
    assert load(package, "wood", "PART", str) == "wood"
    assert {"stone", "clay-pot", "wood"} <= set(names(package, group="some.group"))
    assert "stone" not in names(package)
    with pytest.raises(MissingPart):
        load(package, "sand", "PART", str)


def test_entry_points_are_not_looked_at_while_names_are_found(package: str, tmp_path: Path) -> None:
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from noetl_ir.registry import load, names\n"
        f"load({package!r}, 'wood', 'PART', str); names({package!r})\n"
        "print('importlib.metadata' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("text", "named", "module"),
    [
        ("requests", "requests", True),
        ("google.cloud.storage", "google.cloud.storage", True),
        ("psycopg2-binary", "psycopg2-binary", False),
        ("psycopg2-binary>=2.9,<3", "psycopg2-binary", False),
        ("uvicorn[standard] == 0.30", "uvicorn", False),
        ("os; import sys", "", False),
        ("-r file", "", False),
        ("a b", "", False),
        ("", "", False),
        ("../x", "", False),
        ("x\ny", "", False),
    ],
)
def test_what_names_a_module_and_a_distribution(text: str, named: str, module: bool) -> None:
    assert (distribution_of(text), is_module(text)) == (named, module)


def test_the_modules_of_a_distribution(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, file, text in (
        ("with-list", "top_level.txt", "one\n_two\nthree\n"),
        ("with-files", "RECORD", "four/__init__.py,,\nfive.py,,\n_six.py,,\nwith_files-1.0.dist-info/RECORD,,\n"),
        ("with-nothing", "INSTALLER", "x"),
    ):
        home = tmp_path / f"{name.replace('-', '_')}-1.0.dist-info"
        home.mkdir()
        (home / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
        (home / file).write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert modules_of("With_List[extra]>=1") == ("one", "three")
    assert modules_of("with-files") == ("five", "four")
    assert modules_of("with-nothing") == modules_of("no-such-distribution") == modules_of("") == ()
