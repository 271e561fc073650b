"""The JSON Schemas of playbooks, held against every playbook that this project has."""

import re
from pathlib import Path

import jsonschema
import jsonschema_rs
import pytest
import yaml

from noetlc.diag.diagnostic import Severity
from noetlc.emit.schema import dialects_schema, playbook_schema
from noetlc.pipeline import compile_source
from noetlc.source.nodes import value_of
from noetlc.source.yaml_reader import read_yaml

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
NO_PLAYBOOKS = (".script.yaml", ".test.yaml")


def documents(paths: list[Path]) -> list[Path]:
    return [path for path in paths if not path.name.endswith(NO_PLAYBOOKS)]


def problems(path: Path, schema: dict[str, object]) -> list[str]:
    check = jsonschema_rs.Draft202012Validator(schema)
    # By our own reader: to PyYAML the key `on` is a truth value.
    found = [node for node in read_yaml(path.name, path.read_bytes()).documents if node is not None]
    return [error.message for node in found for error in check.iter_errors(value_of(node))]


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


def described(schema: object, path: str = "") -> list[str]:
    """The keys of a schema that say nothing of what they are for."""
    if isinstance(schema, list):
        return [found for number, one in enumerate(schema) for found in described(one, f"{path}/{number}")]
    if not isinstance(schema, dict):
        return []
    keys = schema.get("properties", {})
    # What `if` asks is no key that people write.
    silent = [f"{path}/{key}" for key, one in keys.items() if isinstance(one, dict) and not one.get("description")]
    inner = [
        found for key, one in schema.items() if key not in ("if", "anyOf") for found in described(one, f"{path}/{key}")
    ]
    return silent + inner


def test_every_key_of_the_canonical_schema_has_a_sentence() -> None:
    assert described(playbook_schema()) == []


REFERENCE = re.findall(
    r"^```yaml\n(.*?)^```$", (ROOT / "schema/playbook.md").read_text("utf-8"), re.MULTILINE | re.DOTALL
)


@pytest.mark.parametrize("block", REFERENCE, ids=lambda block: block.partition("\n")[0][:40])
def test_the_canonical_schema_takes_every_playbook_of_the_reference(block: str, tmp_path: Path) -> None:
    whole = ("" if "apiVersion:" in block else HEAD.removesuffix("workflow:\n")) + block
    path = tmp_path / "a.yaml"
    path.write_text(whole if "workflow:" in whole else f"{whole}workflow: [{{step: start}}]\n", encoding="utf-8")
    assert problems(path, playbook_schema()) == []


@pytest.mark.parametrize(
    ("step", "place"),
    [
        ("tool: {kind: http, url: x, metod: GET}", ["tool"]),
        ("tool: {kind: http, url: x, follow_redirects: 7}", ["tool", "follow_redirects"]),
        ("tool: {kind: nop}", ["tool", "kind"]),
        ("tool: [{kind: noop}, {kind: python, code: [1]}]", ["tool", 1, "code"]),
        ("tool: [{name: w, while: {when: '{{ 1 }}', then: [{kind: nop}]}}]", ["tool", 0, "while", "then", 0, "kind"]),
        ("tool: [{a: {kind: nop}}]", ["tool", 0, "a", "kind"]),
        (
            "tool: {kind: noop, spec: {policy: {rules: [{else: {then: {do: retry, attempts: three}}}]}}}",
            ["tool", "spec", "policy", "rules", 0, "else", "then", "attempts"],
        ),
        (
            "tool: {kind: noop, spec: {policy: {rules: [{when: '{{ 1 }}', then: {do: retry, backoff: expo}}]}}}",
            ["tool", "spec", "policy", "rules", 0, "then", "backoff"],
        ),
        ("spec: {policy: {lifecycle: 5}}", ["spec", "policy", "lifecycle"]),
        ("next: {arcs: [{step: a, wen: x}]}", ["next", "arcs", 0]),
    ],
)
def test_what_is_refused_is_refused_at_its_place(step: str, place: list[str | int]) -> None:
    document = yaml.safe_load(f"{HEAD}  - step: start\n    {step}\n")
    found = list(jsonschema.Draft202012Validator(playbook_schema()).iter_errors(document))
    assert [list(error.absolute_path) for error in found] == [["workflow", 0, *place]]


def test_a_schema_has_an_address_of_its_own() -> None:
    addresses = [schema()["$id"] for schema in (playbook_schema, dialects_schema)]
    assert len(set(addresses)) == 2
    assert all(str(one).startswith("https://") for one in addresses)
