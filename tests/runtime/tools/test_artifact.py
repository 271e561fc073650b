"""`artifact`: the stored result that a reference stands for, of its own execution and of no other (REAL.md, `_ref`)."""

import gzip
import hashlib
from pathlib import Path
from typing import Any

import pytest

from google_emulator import google
from harness.running import compiled, run
from noetl.app.composition import driver_of
from noetl.app.runtime import Runtime, Settings, open_runtime
from noetl.engine.execution import Execution
from noetl.engine.starting import Request
from noetl.tools.artifact import run as artifact
from noetl_ir.events import Event
from noetl_ir.expr import Json
from noetl_ir.outcome import is_reference, reference
from tool_doubles import FakeEnv, call_of, failed, waited

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: t, path: t/t}\n"
PAD = 70_000
"""More bytes than older engines kept in the log (64 KiB), fewer than the limit of payloads (1 MiB)."""

STORED = """workflow:
  - step: start
    tool: {kind: noop, result: {status: ok, n: 3, text: "{{ 'x' * %d }}"}}
    %s
    next: {arcs: [{step: load, when: "{{ start._ref is defined and start.status == 'ok' }}"}, {step: inline}]}
  - step: load
    tool: {kind: artifact, action: get, args: {result_ref: "{{ start._ref }}"}}
    next: {arcs: [{step: use}]}
  - step: use
    tool:
      kind: noop
      args: {n: "{{ load.n }}", data: "{{ load.data.text | length }}", tier: "{{ start._store | default('none') }}",
             shown: "{{ start._preview | length }}", all: "{{ start.text | length }}"}
  - step: inline
    tool:
      kind: noop
      args: {n: "{{ start.n }}", ref: "{{ start._ref }}", tier: "{{ start._store | default('none') }}"}
"""


def stored(tmp_path: Path, length: int, asked: str) -> Any:
    return run(HEAD + STORED % (length, asked), url=f"sqlite:///{tmp_path / 'x.db'}", real=True).execution.last_result


def slow_artifact(_: Path, url: str) -> dict[str, Json]:
    """A call that is held up by a server that never responds."""
    return {"uri": "gs://b/o", "endpoint": url}


@pytest.mark.parametrize(
    ("asked", "length", "tier"),
    [
        ("output: {store: {kind: kv}, output_select: [status]}", 10, "kv"),
        ("output: {store: object}", 10, "object"),
        ("result: {store: {kind: gcs}, output_select: [status]}", 10, "gcs"),
        ("output: {store: auto}", 10, "kv"),
        ("output: {output_select: [status]}", PAD, "kv"),
        ("result: {output_select: [status]}", 2_000_000, "object"),
        ("output: {inline_max_bytes: 100}", 200, "kv"),
        ("output: {store: inline}", 2_000_000, "inline"),
        ("desc: nothing is asked", 2_000_000, "object"),
    ],
)
def test_a_stored_result_has_a_reference_and_all_its_keys(tmp_path: Path, asked: str, length: int, tier: str) -> None:
    # {"status": "ok", "n": 3, "text": "xxxxxxxxxx"} is 46 characters
    shown = 46 if length == 10 else 200
    assert stored(tmp_path, length, asked) == {"n": 3, "data": length, "tier": tier, "shown": shown, "all": length}


@pytest.mark.parametrize(
    ("asked", "length", "tier"),
    [
        ("output: {output_select: [status]}", 10, "none"),
        ("output: {store: inline}", PAD, "inline"),
        ("output: {inline_max_bytes: 100000}", PAD, "none"),
        ("desc: nothing is asked", PAD, "none"),
    ],
)
def test_a_result_in_the_log_has_none(tmp_path: Path, asked: str, length: int, tier: str) -> None:
    assert stored(tmp_path, length, asked) == {"n": 3, "ref": None, "tier": tier}


def test_a_reference_is_there_where_the_server_reads_all_of_the_result(tmp_path: Path) -> None:
    text = STORED.replace("start.status == 'ok'", "start | length == 3")
    for length, asked in ((10, "output: {store: kv}"), (2_000_000, "desc: nothing is asked")):
        ran = run(HEAD + text % (length, asked), url=f"sqlite:///{tmp_path / f'{length}.db'}", real=True)
        assert ran.execution.last_result["n"] == 3 and ran.ran("load")


def test_a_result_of_http_keeps_its_names() -> None:
    """`fetch._ref` is no key of the body."""
    text = """workflow:
  - step: start
    tool: {name: t, kind: http, url: "http://x", output: {store: s3}}
    next: {arcs: [{step: use, when: "{{ start._ref is defined and start.n == 7 }}"}]}
  - {step: use, tool: {kind: noop, args: {tier: "{{ start._store }}", n: "{{ start.n }}"}}}
"""
    script = {"outcomes": [{"task": "t", "outcome": {"result": {"status_code": 200, "data": {"n": 7}}}}]}
    assert run(HEAD + text, script).execution.last_result == {"tier": "s3", "n": 7}


def test_a_task_of_the_pipeline_has_a_reference_too() -> None:
    text = """workflow:
  - step: start
    tool:
      - {name: a, kind: noop, result: {n: 1}, output: {store: db}}
      - {name: b, kind: noop, args: {there: "{{ a._ref is defined }}", tier: "{{ a._store }}", n: "{{ a.n }}"}}
"""
    assert run(HEAD + text).execution.last_result == {"there": True, "tier": "db", "n": 1}


def test_a_result_that_is_a_value_stays_one() -> None:
    text = (
        'workflow:\n  - {step: start, tool: {kind: noop, args: {n: 1}}, result: {store: north, n: "{{ result.n }}"}}\n'
    )
    assert run(HEAD + text).execution.last_result == {"store": "north", "n": 1}


REF = reference(store="memory", key="e1/00", size=1, checksum="00")


@pytest.mark.parametrize(
    ("whole", "result"),
    [
        ({"a": 1, "data": 2}, {"a": 1, "data": {"a": 1, "data": 2}}),
        ([1, 2], {"data": [1, 2]}),
        ("text", {"data": "text"}),
    ],
)
@pytest.mark.parametrize("place", ["fields", "args"])
def test_what_it_gives(tmp_path: Path, whole: Json, result: Json, place: str) -> None:
    env = FakeEnv(tmp_path)
    env.kept["e1/00"] = whole
    fields: dict[str, Json] = {"result_ref": REF}
    call = call_of("artifact", fields) if place == "fields" else call_of("artifact", {"action": "get"}, args=fields)
    assert waited(artifact(call, env)).result == result


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({}, "ref.missing"),
        ({"result_ref": None}, "ref.missing"),
        ({"result_ref": {"key": "e1/00"}}, "ref.missing"),
        ({"result_ref": REF}, "ref.missing"),
        ({"action": "put", "key": "k", "data": 1}, "fields.invalid"),
        ({"action": "put", "uri": "a.json"}, "fields.invalid"),
        ({"action": "put", "uri": "a.gz", "data": 1, "compress": False}, "fields.invalid"),
        ({"uri": "s3://b/a"}, "fields.invalid"),
        ({"uri": "a.json", "result_ref": REF}, "fields.invalid"),
        ({"uri": "../a.json"}, "file.refused"),
        ({"uri": "nothing.json"}, "file.refused"),
        ({"action": "put", "uri": "artifact://localfs/a.json", "data": 1}, "file.refused"),
    ],
)
def test_what_cannot_be_done_is_an_error(tmp_path: Path, fields: dict[str, Json], code: str) -> None:
    assert failed(waited(artifact(call_of("artifact", fields), FakeEnv(tmp_path))))["code"] == code


# The digests are those of coreutils' sha256sum over the bytes.
@pytest.mark.parametrize(
    ("uri", "more", "data", "written", "digest"),
    [
        ("a/b.json", {}, {"n": 1, "data": 2}, ("a/b.json", b'{"n": 1, "data": 2}'), "2178"),
        ("file://t.txt", {}, "text", ("t.txt", b"text"), "982d"),
        ("artifact://bucket/t", {}, "123", ("bucket/t", b"123"), "a665"),
        ("c.json.gz", {}, [1], ("c.json.gz", b"[1]"), "080a"),
        ("d", {"compress": True}, [1], ("d.gz", b"[1]"), "080a"),
    ],
)
def test_a_value_is_written_to_a_file_and_read_again(
    tmp_path: Path, uri: str, more: dict[str, Json], data: Json, written: tuple[str, bytes], digest: str
) -> None:
    env = FakeEnv(tmp_path)
    put: Any = waited(artifact(call_of("artifact", {"action": "put", "uri": uri, "data": data, **more}), env)).result
    name, content = written
    kept = (tmp_path / name).read_bytes()
    assert (gzip.decompress(kept) if name.endswith(".gz") else kept) == content
    assert put["sha256"].startswith(digest) and put["sha256"] == hashlib.sha256(content).hexdigest()
    assert (put["size_bytes"], put["compressed"]) == (len(kept), name.endswith(".gz"))
    got: Any = waited(artifact(call_of("artifact", {"uri": put["uri"]}), env)).result
    # What looks like JSON is read as JSON: `put` keeps text as it is.
    assert got["data"] == (123 if data == "123" else data) and got["uri"] == put["uri"]
    assert got.get("n") == (1 if isinstance(data, dict) else None)


def test_a_bucket_is_an_address_too(tmp_path: Path) -> None:
    with google() as url:
        fields: dict[str, Json] = {"uri": "gs://b/r.json.gz", "endpoint": url}
        put: Any = waited(
            artifact(call_of("artifact", {**fields, "action": "put", "data": {"n": 1}}), FakeEnv(tmp_path))
        )
        assert put.error is None and put.result["compressed"] is True
        got: Any = waited(artifact(call_of("artifact", fields), FakeEnv(tmp_path)))
        assert (got.result["n"], got.result["data"]) == (1, {"n": 1})
        missing = failed(waited(artifact(call_of("artifact", {**fields, "uri": "gs://b/no"}), FakeEnv(tmp_path))))
        assert missing["code"] == "gcs.not_found"


def test_a_packed_file_that_would_fill_the_memory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(bytes(50_000_000)))
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b"[1, 2, 3]")[:-6])
    (tmp_path / "plain.gz").write_bytes(b"[1, 2, 3]")
    for name, words in (("bomb", "more than 1000000 bytes"), ("cut", "too early"), ("plain", "incorrect header")):
        call = call_of("artifact", {"uri": f"{name}.gz"}, knobs={"max_bytes": 1_000_000})
        error = failed(waited(artifact(call, FakeEnv(tmp_path))))
        assert error["code"] == "content.invalid" and words in str(error["message"])


OWNER = """workflow:
  - step: start
    tool: {kind: noop, result: {secret: theirs}, output: {store: kv}}
    next: {arcs: [{step: give}]}
  - {step: give, tool: {kind: noop, args: {r: "{{ start._ref }}"}}}
"""
FORGER = """workflow:
  - step: start
    tool: %s
    next: {arcs: [{step: use}, {step: refused, when: "{{ event.error.code == 'ref.missing' }}"}]}
  - {step: use, tool: {kind: noop, args: {seen: "{{ start.secret | default('nothing') }}"}}}
  - {step: refused}
"""


@pytest.mark.parametrize("store", ["sqlite:///{}/x.db", "memory:///x"])
@pytest.mark.parametrize(
    ("tool", "to", "seen"),
    [
        ('{kind: artifact, result_ref: "{{ workload.r }}"}', "refused", None),
        ('{kind: noop, result: "{{ workload.r }}"}', "use", {"seen": "nothing"}),
        ('{kind: python, args: {r: "{{ workload.r }}"}, code: "result = r"}', "use", {"seen": "nothing"}),
    ],
)
def test_a_reference_of_another_execution_reads_nothing(
    tmp_path: Path, store: str, tool: str, to: str, seen: Json
) -> None:
    with open_runtime(store.format(tmp_path), Settings(root=tmp_path), lambda path: (b"", {})) as runtime:
        payload: Any = ended(runtime, HEAD + OWNER, "e1", {})[0].last_result
        assert is_reference(payload["r"])
        execution, names = ended(runtime, HEAD + "workload: {r: null}\n" + FORGER % tool, "e2", payload)
    assert to in names, execution.failure
    assert execution.last_result == seen


def ended(runtime: Runtime, text: str, execution_id: str, payload: dict[str, Json]) -> tuple[Execution, set[str]]:
    """An execution that is over, and the steps that ran in it."""
    program = runtime.programs.add_plan(compiled(text))
    ran: set[str] = set()
    last: list[Execution] = []

    def observe(execution: Execution, _: object, event: Event) -> None:
        last[:] = [execution]
        if event.event_type == "task.done":
            ran.add(program.plan.steps[event.step].name)

    with driver_of(runtime, execution_id, observe) as driver:
        assert driver.embedded.start(program, execution_id, Request(payload)) == "completed"
    return last[0], ran
