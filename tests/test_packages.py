"""Wheel and sdist: they hold all that the programs need, and what is installed from them runs in an environment that
knows nothing of this repository.
"""

import os
import subprocess
import sys
import tarfile
import zipfile
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

ROOT = Path(__file__).resolve().parents[1]

PACKAGES = {"noetl_ir": "schema", "noetl_cli": "schema", "noetlc": "compiler", "noetl": "runtime"}
PLAYBOOK = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: t, path: t/t}
workflow:
  - {step: start, tool: {kind: python, code: "result = 20"}, next: {arcs: [{step: last}]}}
  - {step: last, tool: {kind: noop, result: "{{ start + 1 }}"}}
"""


def built(source: Path, folder: Path, *words: str) -> Path:
    """The file that hatchling builds of a source."""
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(folder), *words]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (made,) = (path for path in folder.iterdir() if path.name.endswith((".whl", ".tar.gz")))
    return made


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this tree."""
    return built(ROOT, tmp_path_factory.mktemp("wheel"), "--target", "wheel")


class Environment(NamedTuple):
    """An environment of its own, and a folder in which its programs are called."""

    programs: Path
    folder: Path

    def run(self, program: str, *words: str) -> "subprocess.CompletedProcess[str]":
        """Call a program, with nothing of this test's own Python."""
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "NOETL_", "VIRTUAL"))
        }
        environment = {**kept, "PATH": f"{self.programs}:{os.environ['PATH']}"}
        return subprocess.run(
            [self.programs / program, *words], cwd=self.folder, env=environment, capture_output=True, text=True,
            check=False,
        )  # fmt: skip


def environment(folder: Path, wheel: Path, *, extras: str = "", beside: str = "") -> Environment:
    """A new environment with the wheel in it. What else it needs is installed, or is found in the folder `beside`."""
    made = folder / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", made], check=True)
    words = ["--no-deps", "--no-index", "--no-compile"] if beside else []
    pip = [sys.executable, "-m", "pip", "--python", made / "bin" / "python", "install", "--quiet", *words]
    subprocess.run([*pip, f"{wheel}{extras}"], check=True, capture_output=True)
    if beside:
        # As a path and no site: what is installed there as editable, this repository, is not followed.
        (packages,) = (made / "lib").glob("python*/site-packages")
        (packages / "beside.pth").write_text(f"{beside}\n")
    (folder / "t.yaml").write_text(PLAYBOOK)
    return Environment(made / "bin", folder)


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment with the wheel, and with the libraries of this one."""
    import click

    beside = str(Path(click.__file__).resolve().parents[1])
    return environment(tmp_path_factory.mktemp("installed"), wheel, beside=beside)


def test_the_wheel_has_every_file_of_the_packages(wheel: Path) -> None:
    """And nothing else: of files that git knows."""
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    wanted = {
        f"{package}{name.removeprefix(f'{folder}/{package}')}"
        for name in done.stdout.splitlines()
        for package, folder in PACKAGES.items()
        if name.startswith(f"{folder}/{package}/") and (ROOT / name).exists()
    }
    there = {name for name in contents(wheel) if ".dist-info/" not in name and ".data/" not in name}
    assert there == wanted and len(wanted) > 500


def test_the_sdist_builds_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    sdist = built(ROOT, tmp_path, "--target", "sdist")
    with tarfile.open(sdist) as archive:
        names = archive.getnames()
        archive.extractall(tmp_path, filter="data")
    assert {name.split("/")[1] for name in names} == {
        "schema", "compiler", "runtime", "docs", "README.md", "CHANGELOG.md", "LICENSE", "pyproject.toml", "PKG-INFO",
        ".gitignore",
    }  # fmt: skip
    again = built(tmp_path / names[0].split("/")[0], tmp_path / "again", "--target", "wheel")
    assert contents(again) == contents(wheel)


def test_what_is_installed_lints_compiles_and_runs(installed: Environment) -> None:
    assert installed.run("python", "-c", "import noetl; print(noetl.__file__)").stdout.startswith(str(installed.folder))
    for words in (("noetlc", "lint", "t.yaml"), ("noetlc", "compile", "t.yaml"), ("noetlc", "explain", "NL203")):
        done = installed.run(*words)
        assert done.returncode == 0, (words, done.stderr)
    done = installed.run("noetl", "run", "t.ir", "--quiet")
    assert "result: 21" in done.stdout, done.stderr
    assert installed.run("noetl", "replay", "last").stdout.startswith("a legal run")
    pages = installed.programs.parent / "share" / "man" / "man1"
    assert {path.name for path in pages.iterdir()} == {"noetl.1", "noetlc.1"}


def test_what_is_installed_serves_the_page(installed: Environment) -> None:
    command = [installed.programs / "noetl", "server", "--port", "0", "--store", "sqlite:///served/noetl.db"]
    server = subprocess.Popen(command, cwd=installed.folder, stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    try:
        url = server.stderr.readline().split()[-1]
        with closing(httpx.Client(base_url=url)) as client:
            assert client.get("/healthz").status_code == 200
            assert "<title>" in client.get("/").text
            for file in (ROOT / "runtime" / "noetl" / "page").iterdir():
                if file.suffix in (".js", ".css", ".svg"):
                    assert client.get(f"/page/{file.name}").content == file.read_bytes(), file.name
    finally:
        server.terminate()
        assert server.wait(60) == 0
        server.stderr.close()


@pytest.mark.long
def test_without_extras_it_brings_what_it_needs(wheel: Path, tmp_path: Path) -> None:
    """Installed as a user does, with what pip finds, and nothing more."""
    found = environment(tmp_path, wheel)
    assert "result: 21" in found.run("noetl", "run", "t.yaml", "--quiet").stdout
    done = found.run("noetl", "server", "--port", "0")
    assert done.returncode == 1 and "pip install 'noetlc[server]'" in done.stderr
    assert found.run("noetlc", "lint", "t.yaml").returncode == 0
