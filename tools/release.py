"""Makes what a release has, in `dist/VERSION`, and says which commands publish it: nothing leaves this machine.

    tools/release VERSION [--draft]

- wheel and sdist, each built twice to the same bytes;
- `CHANGES.md`, the part of the changelog that is about the version;
- `sbom.cdx.json`, all that an installation with all extras has, as CycloneDX;
- the chart, packaged by Helm, where Helm can be had;
- `SHA256SUMS` of all, and `SHA256SUMS.asc` where gpg has a key to sign with.

The version is that of `pyproject.toml` and of the chart, its part of the changelog has a date, and all is committed on
`main`, where `tools/check --all` has passed before. `--draft` asks for none of this.
"""

import argparse
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

import charts

ROOT = Path(__file__).resolve().parent.parent
CHART = ROOT / "deploy" / "helm" / "noetl"
SBOM_TOOL = "cyclonedx-bom>=7,<8"


def hindrances(version: str, root: Path = ROOT) -> Iterator[str]:
    """Why a tree is not that of a release, in sentences."""
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    if project["version"] != version:
        yield f"pyproject.toml has the version {project['version']}"
    chart = (root / "deploy" / "helm" / "noetl" / "Chart.yaml").read_text("utf-8")
    if re.findall(r'^(?:version|appVersion): "?([^"\n]*)"?$', chart, re.MULTILINE) != [version, version]:
        yield "the chart has another version, or appVersion, in Chart.yaml"
    heading = _heading(version, root)
    if heading is None:
        yield f"CHANGELOG.md has no part `## {version}`"
    elif not re.search(r"\(\d{4}-\d\d-\d\d\)$", heading):
        yield f"CHANGELOG.md says `{heading}`: write the date, as in `## {version} (2026-12-01)`"
    if _git(root, "status", "--porcelain"):
        yield "not all is committed"
    if _git(root, "rev-parse", "--abbrev-ref", "HEAD").strip() != "main":
        yield "it is not `main`"
    if _git(root, "tag", "--list", f"v{version}").strip():
        yield f"there is a tag v{version} already"


def changes_of(version: str, root: Path = ROOT) -> str:
    """The part of the changelog about a version, without its heading."""
    text = (root / "CHANGELOG.md").read_text("utf-8")
    heading = _heading(version, root)
    if heading is None:
        return ""
    return text.partition(f"{heading}\n")[2].partition("\n## ")[0].strip() + "\n"


def _heading(version: str, root: Path) -> str | None:
    text = (root / "CHANGELOG.md").read_text("utf-8")
    found = re.search(rf"^## {re.escape(version)}( .*)?$", text, re.MULTILINE)
    return None if found is None else found.group()


def _git(root: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True).stdout


def build(folder: Path) -> list[Path]:
    """Wheel and sdist. Raises SystemExit where a second build has other bytes."""
    with tempfile.TemporaryDirectory(prefix="noetl-release-") as name:
        for place in (folder, Path(name)):
            words = [sys.executable, "-m", "hatchling", "build", "--directory", str(place)]
            subprocess.run(words, cwd=ROOT, check=True, capture_output=True)
        found = sorted(path for path in folder.iterdir() if path.name.endswith((".whl", ".tar.gz")))
        for path in found:
            if path.read_bytes() != (Path(name) / path.name).read_bytes():
                raise SystemExit(f"{path.name}: a second build of it has other bytes")
    return found


def list_components(wheel: Path, path: Path) -> int:
    """Write the SBOM of an environment that has the wheel with all extras; returns how many components it has."""
    with tempfile.TemporaryDirectory(prefix="noetl-sbom-") as name:
        programs = {}
        for kind, wanted in (("installed", f"{wheel}[all]"), ("lister", SBOM_TOOL)):
            subprocess.run([sys.executable, "-m", "venv", f"{name}/{kind}"], check=True)
            programs[kind] = Path(name) / kind / "bin"
            subprocess.run([programs[kind] / "pip", "install", "--quiet", wanted], check=True)
        # What lists the environment has one of its own, and is no part of it; neither is pip.
        subprocess.run(
            [programs["installed"] / "python", "-m", "pip", "uninstall", "--quiet", "--yes", "pip"], check=True
        )
        words = ["environment", "--of", "JSON", "--output-reproducible", "--pyproject", ROOT / "pyproject.toml"]
        listed = [programs["lister"] / "cyclonedx-py", *words, "-o", path, programs["installed"] / "python"]
        subprocess.run(listed, check=True, capture_output=True)
    document = json.loads(path.read_text("utf-8"))
    # Where it was built is nobody's business, and would make two builds differ.
    for component in document["components"]:
        there = component.pop("externalReferences", [])
        if kept := [one for one in there if not str(one["url"]).startswith("file:")]:
            component["externalReferences"] = kept
    path.write_text(json.dumps(document, indent=2) + "\n")
    return len(document["components"])


def package_chart(folder: Path) -> Path | None:
    """The chart as one file; None where Helm cannot be had."""
    try:
        subprocess.run([charts.helm(), "package", CHART, "--destination", folder], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return next(folder.glob("noetl-*.tgz"))


def sum_up(folder: Path) -> Path:
    """Write the checksums of all files of a folder, as `sha256sum --check` reads them."""
    path = folder / "SHA256SUMS"
    files = sorted(each for each in folder.iterdir() if not each.name.startswith("SHA256SUMS"))
    lines = [f"{hashlib.sha256(each.read_bytes()).hexdigest()}  {each.name}\n" for each in files]
    path.write_text("".join(lines))
    return path


def sign(sums: Path) -> bool:
    """Sign the checksums; whether gpg is there and has a key."""
    if shutil.which("gpg") is None:
        return False
    words = ["gpg", "--batch", "--yes", "--armor", "--detach-sign", str(sums)]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Make what a release has.")
    parser.add_argument("version")
    parser.add_argument("--draft", action="store_true", help="of a tree that is not that of a release yet")
    arguments = parser.parse_args()
    version = arguments.version
    found = [*hindrances(version)]
    if found and not arguments.draft:
        print("\n".join(["this is no release yet:", *found]), file=sys.stderr)
        return 1
    folder = ROOT / "dist" / version
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (sdist, wheel) = sorted(build(folder), key=lambda path: path.name.endswith(".whl"))
    (folder / "CHANGES.md").write_text(changes_of(version))
    count = list_components(wheel, folder / "sbom.cdx.json")
    chart = package_chart(folder)
    sums = sum_up(folder)
    signed = sign(sums)
    print(f"{folder.relative_to(ROOT)}: {wheel.name}, {sdist.name}, an SBOM of {count} components")
    print(chart.name if chart is not None else "no chart: there is neither helm nor npm, which has it")
    print("signed" if signed else "not signed: gpg is not there, or has no key")
    print("next, by hand:")
    print(f"  git tag --sign v{version} --message 'NoETL {version}' && git push origin v{version}")
    print(f"  docker build -f deploy/Dockerfile -t noetl:{version} .")
    print(f"  python -m twine upload {wheel.relative_to(ROOT)} {sdist.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
