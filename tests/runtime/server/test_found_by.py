"""Labels and search attributes of executions: at which moments they are asked, and what is left out."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from harness.running import HEAD, MEMORY, compiled, run
from harness.serving import Served, served, until
from noetl.app.programs import program_of
from noetl.engine.execution import Execution
from noetl.engine.found_by import search_values
from noetl.ports import Append
from noetl.ports.queries import ExecutionAttribute
from noetl.server.found_by import attributes_of
from noetl.store.memory import MemoryStore
from noetl_ir.expr import Json
from noetl_ir.plan import LONGEST_LABEL

TYPED = """
executor:
  spec:
    search:
      text: "{{ workload.v }}"
      number: {value: "{{ workload.v }}", type: number}
      bool: {value: "{{ workload.v }}", type: bool}
      time: {value: "{{ workload.v }}", type: time}
workload: {v: null}
workflow: [{step: start, tool: {kind: noop}}]
"""
WAITS = """
executor: {spec: {search: {at: "{{ ctx.at }}", first: "{{ workload.first }}"}}}
workload: {first: one}
workflow:
  - step: start
    tool:
      name: w
      kind: wait
      events: [go]
      spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {at: "{{ outcome.result.data }}"}}}}]}}
    next: {arcs: [{step: then}]}
  - step: then
    tool: {name: w, kind: wait, events: [more]}
"""
DAY = 1_796_083_200_000_000.0  # 2026-12-01T00:00:00Z, by `date -u -d 2026-12-01 +%s`


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (None, {}),
        ("eu", {"text": ("string", "eu", None)}),
        ("", {"text": ("string", "", None)}),
        (12, {"text": ("string", "12", None), "number": ("number", "12", 12.0)}),
        (1.5, {"text": ("string", "1.5", None), "number": ("number", "1.5", 1.5)}),
        (True, {"text": ("string", "true", None), "bool": ("bool", "true", 1.0)}),
        ("2026-12-01", {"text": ("string", "2026-12-01", None), "time": ("time", "2026-12-01T00:00:00.000000Z", DAY)}),
        (
            "2026-12-01T01:00:00+01:00",
            {
                "text": ("string", "2026-12-01T01:00:00+01:00", None),
                "time": ("time", "2026-12-01T00:00:00.000000Z", DAY),
            },
        ),
        (2**53, {"text": ("string", str(2**53), None), "number": ("number", str(2**53), 2.0**53)}),
        (2**53 + 1, {"text": ("string", str(2**53 + 1), None)}),  # its column would be another number
        ("x" * LONGEST_LABEL, {"text": ("string", "x" * LONGEST_LABEL, None)}),
        ("x" * (LONGEST_LABEL + 1), {}),
        ("a\0b", {}),
        ("\ud800", {}),
        ("[[secret:db:password:text:0123456789abcdef0123456789abcdef]]", {}),
        (["eu"], {}),
        ({"a": 1}, {}),
    ],
)
def test_a_value_is_kept_where_it_has_its_type(value: Json, found: dict[str, tuple[str, str, float | None]]) -> None:
    program = program_of(compiled(HEAD + TYPED))
    execution = Execution("e1", program)
    execution.workload = {"v": value}
    expected = [ExecutionAttribute(f"search.{name}", *rest) for name, rest in sorted(found.items())]
    assert attributes_of(program, execution) == tuple(expected)


def test_what_is_too_much_work_is_left_out_and_stops_nothing() -> None:
    text = "{{ (range(workload.n) | list | length) ~ '' }}"
    names = ", ".join(f'a{number}: "{text}"' for number in range(32))
    program = program_of(
        compiled(
            HEAD + f"executor: {{spec: {{search: {{{names}}}}}}}\nworkload: {{n: 100000}}\n"
            "workflow: [{step: start, tool: {kind: noop}}]\n"
        )
    )
    execution = Execution("e1", program)
    execution.workload = {"n": 100_000}
    assert 0 < len(search_values(program, execution)) < 32
    execution.workload = {"n": 10**12}
    assert search_values(program, execution) == {}


@pytest.fixture
def up(tmp_path: Path) -> "Served":  # type: ignore[misc]
    with served(tmp_path) as up:
        yield up


def test_they_are_asked_at_the_start_and_when_ctx_changes(up: Served) -> None:
    source = (HEAD.replace("path: t/t", "path: t/t, labels: {team: data, tier: 1}") + WAITS).encode()
    digest = up.client.post("/playbooks?name=t.yaml", content=source).json()["playbook_id"]
    body = {"playbook_id": digest, "payload": {"first": "two"}, "labels": {"team": "ops", "why": "a try"}}
    name = up.client.post("/executions", json=body).json()["execution_id"]

    def row() -> Json:
        found = up.client.get("/executions", params={"query": "label.team:ops search.first:two"}).json()["executions"]
        return found[0] if found else None  # type: ignore[no-any-return]

    labels = {"team": "ops", "tier": "1", "why": "a try"}
    assert row()["labels"] == labels and row()["search"] == {"first": "two"}  # type: ignore[index,call-overload]
    up.client.post(f"/executions/{name}/signal", json={"name": "go", "data": "the bridge"})
    until(lambda: row()["search"].get("at") == "the bridge")  # type: ignore[index,call-overload,union-attr]
    whole = up.client.get(f"/executions/{name}").json()
    assert (whole["labels"], whole["search"]) == (labels, {"first": "two", "at": "the bridge"})
    assert not up.client.get("/executions", params={"query": "label.team:data"}).json()["executions"]
    assert up.client.get("/counts/search.at").json()["counts"] == [{"value": "the bridge", "count": 1}]


def test_what_is_as_it_was_is_not_stored_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The keys of `ctx` that a step sets are mostly others than those that its playbook is found by."""
    stored, append_all = list[tuple[ExecutionAttribute, ...]](), MemoryStore.append_all

    def watched(store: MemoryStore, appends: Sequence[Append]) -> None:
        stored.extend(append.attributes for append in appends if append.attributes is not None)
        append_all(store, appends)

    monkeypatch.setattr(MemoryStore, "append_all", watched)
    names = ("start", "second", "third", "last")
    steps = "".join(
        f"  - step: {name}\n"
        f"    tool: {{name: t, kind: python, code: 'result = {number}', spec: {{policy: {{rules: [{{else: {{then: "
        f"{{do: continue, set_ctx: {{{key}: '{{{{ outcome.result }}}}'}}}}}}}}]}}}}}}\n"
        f"    next: {{arcs: [{{step: {names[number + 1]}}}]}}\n"
        for number, (name, key) in enumerate(zip(names[:3], ("other", "at", "other"), strict=True))
    )
    last = "  - {step: last, tool: {kind: noop}}\n"
    ran = run(HEAD + "executor: {spec: {search: {at: '{{ ctx.at }}'}}}\nworkflow:\n" + steps + last, real=True)
    assert (ran.status, ran.execution.ctx) == ("completed", {"other": 2, "at": 1})
    assert stored == [(ExecutionAttribute("search.at", "string", "1"),)]


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        ({"a b": "x"}, "a label cannot be named `a b`"),
        ({"a": "x" * 256}, "more than 255 characters"),
        ({"a": "\0"}, "a character that cannot be kept"),
        ({f"a{number}": "x" for number in range(33)}, "at most 32 are kept"),
    ],
)
def test_a_start_with_labels_that_cannot_be_is_refused(up: Served, labels: dict[str, str], told: str) -> None:
    response = up.client.post("/executions", json={"path": "t/t", "labels": labels})
    assert response.status_code == 400 and told in response.json()["detail"]


def test_a_playbook_without_them_keeps_nothing() -> None:
    ran = run(HEAD + "workflow: [{step: start, tool: {kind: noop}}]\n", url=MEMORY)
    assert ran.status == "completed"
    assert "labels" not in ran.log[0].data
