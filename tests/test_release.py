"""`tools/release`: it refuses a tree that is not that of a release, and makes files that others can check."""

import json
import subprocess
import tomllib
from pathlib import Path

import pytest

import release
from test_packages import built

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository that could be released as 1.2.3."""
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "x"\nversion = "1.2.3"\n')
    chart = tmp_path / "deploy" / "helm" / "noetl"
    chart.mkdir(parents=True)
    (chart / "Chart.yaml").write_text('apiVersion: v2\nversion: 1.2.3\nappVersion: "1.2.3"\nkubeVersion: ">=1.25"\n')
    (tmp_path / "CHANGELOG.md").write_text(
        "# Changelog\n\n## 1.2.3 (2026-12-01)\n\n- One.\n- Two.\n\n## 1.2.2 (2026-11-01)\n\n- Old.\n"
    )
    for words in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "x")):
        git(tmp_path, *words)
    return tmp_path


def git(tree: Path, *words: str) -> None:
    settings = ("-c", "user.name=x", "-c", "user.email=x@example.org")
    subprocess.run(["git", *settings, *words], cwd=tree, check=True, capture_output=True)


def changed(tree: Path, name: str, old: str, new: str) -> None:
    path = tree / name
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    git(tree, "commit", "-q", "-a", "-m", "x")


def test_a_tree_that_can_be_released(tree: Path) -> None:
    assert [*release.hindrances("1.2.3", tree)] == []
    assert release.changes_of("1.2.3", tree) == "- One.\n- Two.\n"
    assert release.changes_of("1.2.2", tree) == "- Old.\n"
    assert release.changes_of("1.2", tree) == ""


def test_what_hinders_is_told(tree: Path) -> None:
    told = " ".join(release.hindrances("1.2.4", tree))
    assert "pyproject.toml has the version 1.2.3" in told and "no part `## 1.2.4`" in told and "the chart" in told
    (tree / "new").write_text("x")
    assert [*release.hindrances("1.2.3", tree)] == ["not all is committed"]
    (tree / "new").unlink()
    git(tree, "switch", "-q", "-c", "other")
    assert [*release.hindrances("1.2.3", tree)] == ["it is not `main`"]
    git(tree, "switch", "-q", "main")
    changed(tree, "deploy/helm/noetl/Chart.yaml", 'appVersion: "1.2.3"', 'appVersion: "1.2.2"')
    assert [*release.hindrances("1.2.3", tree)] == ["the chart has another version, or appVersion, in Chart.yaml"]
    changed(tree, "deploy/helm/noetl/Chart.yaml", 'appVersion: "1.2.2"', 'appVersion: "1.2.3"')
    changed(tree, "CHANGELOG.md", "(2026-12-01)", "(unreleased)")
    (told,) = release.hindrances("1.2.3", tree)
    assert told.startswith("CHANGELOG.md says `## 1.2.3 (unreleased)`: write the date")
    changed(tree, "CHANGELOG.md", "(unreleased)", "(2026-12-01)")
    git(tree, "tag", "v1.2.3")
    assert [*release.hindrances("1.2.3", tree)] == ["there is a tag v1.2.3 already"]


def test_the_checksums_are_those_that_sha256sum_reads(tmp_path: Path) -> None:
    (tmp_path / "a.whl").write_bytes(b"one")
    (tmp_path / "b").write_bytes(b"")
    for _ in range(2):  # the second time its own file is no part of them
        sums = release.sum_up(tmp_path)
    done = subprocess.run(["sha256sum", "--check", sums], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "a.whl: OK\nb: OK\n"


@pytest.mark.long
def test_wheel_and_sdist_have_the_same_bytes_again(tmp_path: Path) -> None:
    assert [path.name for path in release.build(tmp_path)] == ["noetlc-0.1.0-py3-none-any.whl", "noetlc-0.1.0.tar.gz"]


@pytest.mark.long
def test_the_sbom_has_what_is_installed(tmp_path: Path) -> None:
    wheel = built(ROOT, tmp_path, "--target", "wheel")
    count = release.list_components(wheel, tmp_path / "sbom.json")
    document = json.loads((tmp_path / "sbom.json").read_text())
    names = {component["name"].lower().replace("_", "-") for component in document["components"]}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert document["bomFormat"] == "CycloneDX" and count == len(document["components"])
    assert {"click", "httpx", "pyyaml", "msgpack", "jinja2", "psycopg", "nats-py", "starlette", "obstore"} <= names
    assert not names & {"pip", "cyclonedx-bom", "pytest"}
    assert document["metadata"]["component"]["name"] == project["name"]
    assert "file:" not in (tmp_path / "sbom.json").read_text()
