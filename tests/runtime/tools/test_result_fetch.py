"""`result_fetch`: a stored result of the same execution, or parts of it, by its reference (spec v10 §10)."""

from pathlib import Path

import pytest

from harness.running import run
from noetl.tools.result_fetch import run as result_fetch
from noetl_ir.expr import Json
from noetl_ir.outcome import reference
from tool_doubles import FakeEnv, call_of, failed, waited

REF = reference(store="memory", key="e1/00", size=1, checksum="00")
WHOLE: Json = {"rows": [{"id": 1}, {"id": 2}], "n": None, "a.b": 3}


@pytest.mark.parametrize(
    ("select", "result"),
    [
        (None, WHOLE),
        ("rows.1.id", 2),
        ("rows.0", {"id": 1}),
        ("n", None),
        (["rows.0.id", "n"], {"rows.0.id": 1, "n": None}),
        ([], {}),
    ],
)
@pytest.mark.parametrize("place", ["ref", "result_ref", "args"])
def test_what_it_gives(tmp_path: Path, select: Json, result: Json, place: str) -> None:
    env = FakeEnv(tmp_path)
    env.kept["e1/00"] = WHOLE
    call = call_of("result_fetch", {"select": select}, args={"ref": REF})
    if place != "args":
        call = call_of("result_fetch", {"select": select, place: REF})
    assert waited(result_fetch(call, env)).result == result


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({}, "ref.missing"),
        ({"ref": {"key": "e1/00"}}, "ref.missing"),
        ({"ref": REF, "result_ref": REF}, "fields.invalid"),
        ({"ref": REF, "select": [1]}, "fields.invalid"),
        *(
            ({"ref": REF, "select": path}, "select.missing")
            for path in ("x", "rows.2", "rows.-1", "rows.x", "n.y", "", "a.b")
        ),
    ],
)
def test_what_is_not_there_is_an_error(tmp_path: Path, fields: dict[str, Json], code: str) -> None:
    env = FakeEnv(tmp_path)
    env.kept["e1/00"] = WHOLE
    assert failed(waited(result_fetch(call_of("result_fetch", fields), env)))["code"] == code


def test_a_playbook_reads_a_part_of_a_stored_result(tmp_path: Path) -> None:
    text = """workflow:
  - step: start
    tool: {kind: noop, result: {rows: [{id: 7}, {id: 8}]}, spec: {inline_max_bytes: 0}}
    next: {arcs: [{step: part}]}
  - {step: part, tool: {kind: result_fetch, ref: "{{ ref(start) }}", select: rows.1.id}}
"""
    assert run(text, url=f"sqlite:///{tmp_path / 'x.db'}", real=True).execution.last_result == 8
