"""The JSON Schemas of playbooks, held against every playbook that this project has."""

from pathlib import Path

import jsonschema
import pytest
import yaml

from noetlc.emit.schema import dialects_schema, playbook_schema

ROOT = Path(__file__).parents[3]
CANONICAL = [
    *sorted(ROOT.glob("examples/**/*.yaml")),
    *sorted(path for stage in ("net", "plan", "run", "emit") for path in ROOT.glob(f"golden/{stage}/*.yaml")),
]
DIALECTS = [
    *CANONICAL,
    *sorted(path for stage in ("dialects", "lower", "spec", "migrate") for path in ROOT.glob(f"golden/{stage}/*.yaml")),
]
NO_PLAYBOOKS = (".script.yaml",)


def documents(paths: list[Path]) -> list[Path]:
    return [path for path in paths if not path.name.endswith(NO_PLAYBOOKS)]


def problems(path: Path, schema: dict[str, object]) -> list[str]:
    check = jsonschema.Draft202012Validator(schema)
    found = yaml.safe_load_all(path.read_text(encoding="utf-8"))
    return [error.message for document in found for error in check.iter_errors(document)]


@pytest.mark.parametrize("path", documents(CANONICAL), ids=lambda path: path.stem)
def test_the_canonical_schema_takes_every_canonical_playbook(path: Path) -> None:
    assert problems(path, playbook_schema()) == []


@pytest.mark.parametrize("path", documents(DIALECTS), ids=lambda path: path.stem)
def test_the_schema_of_all_dialects_takes_every_playbook(path: Path) -> None:
    assert problems(path, dialects_schema()) == []


@pytest.mark.parametrize("construct", ["case: []", "vars: {a: 1}", "sink: {tool: {kind: noop}}", "next: done"])
def test_only_the_second_takes_what_is_lowered(construct: str, tmp_path: Path) -> None:
    head = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: t}\nworkflow:\n"
    path = tmp_path / "a.yaml"
    path.write_text(f"{head}  - step: start\n    tool: {{kind: noop}}\n    {construct}\n", encoding="utf-8")
    assert problems(path, playbook_schema()) and not problems(path, dialects_schema())
