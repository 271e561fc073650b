"""`requirements` of python tasks: packages from a folder of wheels that stands in for an index."""

import asyncio
import os
import shutil
import zipfile
from pathlib import Path

import pytest

from noetl.host.python_environments import environments_folder
from noetl.tools.python import run as python
from noetl_ir.expr import Json
from noetl_ir.outcome import Outcome
from noetl_ir.requirements import is_pinned, is_requirement, normalized, package_of
from tool_doubles import FakeEnv, call_of, failed, waited


def wheel(folder: Path, name: str, version: str, text: str) -> None:
    """A wheel of one module (PyPA, binary distribution format)."""
    about = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as file:
        file.writestr(f"{name}.py", text)
        file.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        file.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(f"{about}/RECORD", "")


@pytest.fixture(autouse=True)
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of wheels, and a cache of its own for what is installed."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    for version in ("1.0", "2.0"):
        wheel(folder, "sums", version, f"VERSION = {version!r}\ndef add(a, b):\n    return a + b\n")
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("UV_FIND_LINKS", str(folder))
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder


CODE = "import sums\nresult = [sums.VERSION, sums.add(1, 2)]"


def ran(env: FakeEnv, *requirements: str, code: str = CODE) -> Outcome:
    fields: dict[str, Json] = {"code": code}
    if requirements:
        fields["requirements"] = [*requirements]
    return waited(python(call_of("python", fields), env))


def test_the_code_finds_the_packages_that_it_asks_for_and_no_others(tmp_path: Path) -> None:
    env = FakeEnv(tmp_path)
    assert ran(env, "sums==1.0").result == ["1.0", 3]
    assert ran(env, "sums").result == ["2.0", 3]
    assert ran(env, "sums==1.0").result == ["1.0", 3]
    assert failed(ran(env))["code"] == "python.exception"  # ModuleNotFoundError
    assert env.lines == ["installed sums==1.0", "installed sums==2.0"]
    locks = Path(environments_folder()).glob("*/requirements.lock")
    assert sorted(lock.read_text() for lock in locks) == ["sums==1.0\n", "sums==2.0\n"]


def test_what_was_installed_once_is_there_without_an_index_and_in_any_order(tmp_path: Path, index: Path) -> None:
    wheel(index, "more", "1.0", "")
    assert ran(FakeEnv(tmp_path), "sums==1.0", "more").result == ["1.0", 3]
    shutil.rmtree(index)
    assert ran(FakeEnv(tmp_path), "more", "sums==1.0").result == ["1.0", 3]


def test_tasks_that_ask_at_once_install_once(tmp_path: Path) -> None:
    env = FakeEnv(tmp_path)

    async def all_at_once() -> list[Outcome]:
        call = call_of("python", {"code": CODE, "requirements": ["sums==2.0"]})
        return await asyncio.gather(*(python(call, env) for _ in range(3)))

    assert [outcome.result for outcome in waited(all_at_once())] == [["2.0", 3]] * 3
    assert env.lines == ["installed sums==2.0"]


def test_a_draft_that_a_killed_process_left_is_made_anew(tmp_path: Path) -> None:
    ran(FakeEnv(tmp_path), "sums==1.0")
    (place,) = [path for path in Path(environments_folder()).iterdir() if path.is_dir()]
    os.rename(place, f"{place}.part")
    (Path(f"{place}.part") / "sums.py").unlink()
    assert ran(FakeEnv(tmp_path), "sums==1.0").result == ["1.0", 3]


def test_packages_that_cannot_be_had_are_an_error_that_says_why(tmp_path: Path, index: Path) -> None:
    (index / "built-1.0.tar.gz").write_bytes(b"")  # would run a program of its own while it is installed
    for requirement, words in (("sums==9.0", "sums==9.0"), ("built", "built")):
        error = failed(ran(FakeEnv(tmp_path), requirement))
        assert error["code"] == "python.requirements" and words in str(error["message"])
    assert not [path for path in Path(environments_folder()).iterdir() if path.is_dir()]


def test_the_operator_can_refuse_it(tmp_path: Path) -> None:
    env = FakeEnv(tmp_path)
    env.installs = False
    assert failed(ran(env, "sums"))["code"] == "requirements.refused"
    assert ran(env, code="result = 1").result == 1


@pytest.mark.parametrize("strange", ["./sums", "sums @ file:///x.whl", "--index-url=http://x", "-r x", "a" * 501])
def test_what_is_no_package_is_refused_before_anything_is_installed(tmp_path: Path, strange: str) -> None:
    assert failed(ran(FakeEnv(tmp_path), strange))["code"] == "fields.invalid"
    assert failed(ran(FakeEnv(tmp_path), *(f"s{n}" for n in range(101))))["code"] == "fields.invalid"


# What PEP 508 gives as examples, and what its grammar leaves out.
@pytest.mark.parametrize(
    ("text", "package", "pinned"),
    [
        ("name<=1", "name", False),
        ("name>=3,<2", "name", False),
        ("name [fred,bar] ; python_version=='2.7'", "name", False),
        ("A.B-C_D==1.0", "A.B-C_D", True),
        ("name==1.*", "name", False),
        ("name===1.0", "name", True),
        ("name (==1.0)", "name", True),
        ("name==1.0; python_version < '4'", "name", True),
    ],
)
def test_requirements_are_those_of_pep_508_without_addresses(text: str, package: str, pinned: bool) -> None:
    assert (is_requirement(text), package_of(text), is_pinned(text)) == (True, package, pinned)


def test_a_name_is_the_same_in_all_its_spellings() -> None:
    # PEP 503: the canonical form of "My__Package.name".
    assert normalized("My__Package.name") == "my-package-name"
