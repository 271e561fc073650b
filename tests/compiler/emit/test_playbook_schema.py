"""The JSON Schemas of playbooks, held against every playbook that this project has."""

from pathlib import Path

import jsonschema
import pytest
import yaml

from noetlc.diag.diagnostic import Severity
from noetlc.emit.schema import dialects_schema, playbook_schema
from noetlc.pipeline import compile_source

ROOT = Path(__file__).parents[3]
BLOCKS = [path for name in ("choose", "while", "until") for path in sorted(ROOT.glob(f"golden/lower/{name}*.yaml"))]
CANONICAL = [
    *BLOCKS,
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


HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: t}\nworkflow:\n"
POLICY = "  - step: start\n    tool: {{kind: noop, spec: {{policy: {{rules: [{{else: {{then: {{{}}}}}}}]}}}}}}\n"


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (POLICY.format("do: retry, attempts: 3"), POLICY.format("do: retry, attempts: three")),
        (POLICY.format("do: retry, attempts: 1"), POLICY.format("do: retry, attempts: 0")),
        (POLICY.format("do: retry, backoff: linear"), POLICY.format("do: retry, backoff: expo")),
        (POLICY.format("do: retry, multiplier: 1.5"), POLICY.format("do: retry, multiplier: 0")),
        (POLICY.format("do: retry, jitter: true"), POLICY.format("do: retry, jitter: 1")),
        (
            "  - {step: start, spec: {policy: {lifecycle: {timeout_s: 5m}}}}\n",
            "  - {step: start, spec: {policy: {lifecycle: 5}}}\n",
        ),
        (
            "  - {step: start, spec: {policy: {lifecycle: {timeout_s: 5}}}}\n",
            "  - {step: start, spec: {policy: {lifecycle: {timeout_s: [5]}}}}\n",
        ),
        (
            "  - {step: start, next: {arcs: [{step: end, spec: {priority: 1}}]}}\n",
            "  - {step: start, next: {arcs: [{step: end, spec: {priority: x}}]}}\n",
        ),
        (
            "  - step: start\n    tool: [{name: w, until: {when: '{{ 1 }}', then: [{name: n, kind: noop}]}}]\n",
            "  - step: start\n    tool: [{name: w, until: {then: [{name: n, kind: noop}]}}]\n",
        ),
        (
            "  - {step: start, tool: [{choose: [{when: '{{ 1 }}', then: [{kind: noop}]}, {else: [{kind: noop}]}]}]}\n",
            "  - {step: start, tool: [{choose: [{when: '{{ 1 }}', then: [{kind: noop}]}, {else: {kind: noop}}]}]}\n",
        ),
    ],
)
def test_what_the_compiler_refuses_at_its_place_the_schema_refuses(right: str, wrong: str, tmp_path: Path) -> None:
    found = []
    for text in (right, wrong):
        path = tmp_path / "a.yaml"
        path.write_text(HEAD + text, encoding="utf-8")
        errors = compile_source("a.yaml", (HEAD + text).encode()).count_of(Severity.ERROR)
        found.append((problems(path, playbook_schema()) != [], errors > 0))
    assert found == [(False, False), (True, True)]
