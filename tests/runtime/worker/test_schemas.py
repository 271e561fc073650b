"""Results against the JSON Schemas that `schema_hint` names (v10 §10)."""

import json
from pathlib import Path

import pytest

from harness.running import Ran, run
from noetl.worker.schemas import checked_by
from noetl_ir.expr import Json
from noetl_ir.outcome import Outcome, ok
from playbooks import codes, linted
from tool_doubles import call_of

ORDER: Json = {
    "type": "object",
    "required": ["id", "lines"],
    "properties": {
        "id": {"type": "integer", "minimum": 1},
        "lines": {"type": "array", "items": {"$ref": "/common/line"}},
    },
}
LINE: Json = {"type": "object", "properties": {"price": {"type": "number"}}, "additionalProperties": False}
HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: t, path: t/t}\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, schema in {
        "orders.v1": ORDER,
        "common/line": LINE,
        "no-schema": {"type": "nothing"},
        "list": [],
        "lost": {"$ref": "/nowhere"},
        "remote": {"$ref": "http://127.0.0.1:1/x.json"},
        "outside": {"$ref": "/../secret"},
        "endless": {"$ref": "#"},
        "any": True,
    }.items():
        path = tmp_path / "schemas" / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(schema))
    (tmp_path / "schemas" / "broken.json").write_text("{")
    return tmp_path


def validated(root: Path, name: Json, result: Json) -> Outcome:
    """The outcome that a success with that result becomes."""
    check = checked_by(call_of("noop", {}, knobs={"schema_hint": name}), str(root))
    return (
        check
        if isinstance(check, Outcome)
        else ok(result, http={"status": 200})
        if check is None
        else check(ok(result))
    )


GOOD: Json = {"id": 1, "lines": [{"price": 2.5}, {}]}


def test_a_result_that_is_as_it_should_be(root: Path) -> None:
    outcome = validated(root, "orders.v1", GOOD)
    assert (outcome.status, outcome.result, outcome.extras) == ("ok", GOOD, {"schema_hint": "orders.v1"})
    assert validated(root, "any", None).status == "ok"


@pytest.mark.parametrize(
    ("result", "told"),
    [
        ({"id": "s3cret-value", "lines": []}, "at id, type must be integer"),
        ({"id": 0, "lines": []}, "at id, minimum must be 1"),
        ({"id": 1}, "at the top, the key `lines` is missing"),
        ({"id": 1, "lines": [{}, {"price": "s3cret-value"}]}, "at lines/1/price, type must be number"),
        ({"id": 1, "lines": [{"s3cret-value": 1}]}, "at lines/0, additionalProperties does not hold"),
        ("s3cret-value", "at the top, type must be object"),
    ],
)
def test_a_result_that_is_not_says_where_and_no_value(root: Path, result: Json, told: str) -> None:
    outcome = validated(root, "orders.v1", result)
    assert outcome.error is not None and outcome.result == result
    assert outcome.error["code"] == "result.schema"
    assert outcome.error["message"] == f"the result is not what the schema 'orders.v1' says: {told}"


def test_many_faults_are_told_shortly(root: Path) -> None:
    outcome = validated(root, "orders.v1", {"id": 1, "lines": [1, 2, 3, 4, 5]})
    assert outcome.error is not None and str(outcome.error["message"]).endswith(
        "at lines/2, type must be object; and more"
    )


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("nowhere", "schema.missing"),
        ("../secret", "schema.invalid"),
        ("/etc/passwd", "schema.invalid"),
        ("a\0b", "schema.invalid"),
        (5, "schema.invalid"),
        ("no-schema", "schema.invalid"),
        ("broken", "schema.invalid"),
        ("list", "schema.invalid"),
        ("lost", "schema.invalid"),
        ("remote", "schema.invalid"),
        ("outside", "schema.invalid"),
        ("endless", "schema.invalid"),
    ],
)
def test_a_schema_that_cannot_be_used(root: Path, name: Json, code: str) -> None:
    outcome = validated(root, name, GOOD)
    assert outcome.error is not None and outcome.error["code"] == code


def ran(root: Path, task: str) -> Ran:
    return run(f"{HEAD}workflow:\n  - step: start\n    tool:\n      - {task}\n", real=True, root=root)


@pytest.mark.parametrize("kind", ["noop, result: {id: 0}", "python, code: \"result = {'id': 0}\""])
def test_rules_see_the_error_and_the_result(root: Path, kind: str) -> None:
    rule = """{when: "{{ outcome.error.code == 'result.schema' }}",
            then: {do: continue, set_ctx: {seen: "{{ outcome.result.id }}"}}}"""
    done = ran(root, f"{{name: a, kind: {kind}, spec: {{schema_hint: orders.v1, policy: {{rules: [{rule}]}}}}}}")
    assert done.status == "completed" and done.execution.ctx == {"seen": 0}


def test_a_task_with_a_schema_that_is_not_there_does_not_run(root: Path) -> None:
    done = ran(root, '{name: a, kind: shell, command: "touch ran", spec: {schema_hint: nowhere}}')
    assert done.execution.failure is not None and done.execution.failure["code"] == "schema.missing"
    assert not (root / "ran").exists()


def test_the_reference_of_a_large_result_names_its_schema(root: Path) -> None:
    code = "result = {'id': 1, 'lines': [{'price': n} for n in range(100000)]}"
    done = ran(root, f'{{name: a, kind: python, code: "{code}", spec: {{schema_hint: orders.v1}}}}')
    assert done.status == "completed", done.execution.failure
    (event,) = [event for event in done.log if event.event_type == "task.done"]
    assert isinstance(event.data["result"], dict) and event.data["result"]["schema_hint"] == "orders.v1"


def test_where_it_may_stand() -> None:
    def found(step: str) -> list[str]:
        return codes(linted(f"{HEAD}workflow:\n  - step: start\n    {step}\n"))

    assert found("tool: {name: a, kind: noop, spec: {schema_hint: x}}") == []
    assert "NL101" in found("tool: {name: a, kind: wait, events: [e], spec: {schema_hint: x}}")
    assert "NL101" in found("spec: {schema_hint: x}\n    tool: {name: a, kind: noop}")
