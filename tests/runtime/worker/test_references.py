"""Results stored outside the log mean what they would mean inside it (LANGUAGE §2, §8; v10 §10).

Every expression is asked twice, with a limit that the result exceeds and with one that it does not.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from harness.running import Ran, compiled, run
from noetl.app.composition import driver_of
from noetl.app.runtime import Settings, open_runtime
from noetl.engine.starting import Request
from noetl.worker.scripted import read_script
from noetl_ir.expr import Json
from noetl_ir.outcome import is_reference

LIMIT = "executor: {spec: {policy: {limits: {max_payload_bytes: %d}}}}\n"
PAD = "p" * 5000
BIG = {"n": 7, "deep": {"x": 1, "y": [1, {"z": 2}]}, "pad": PAD, "none": None}
NESTED = {"data": {"n": 1}, "result": 2, "n": 3, "pad": PAD}
ONE = """workflow:
  - step: start
    tool: {name: t, kind: python, code: "result = 1"}
    next: {arcs: [{step: good, when: "{{ %s }}"}, {step: bad}]}
  - {step: good}
  - {step: bad}
"""
LOOP = ONE.replace("    tool", '    loop: {in: "{{ range(3) | list }}", iterator: i, spec: {mode: parallel}}\n    tool')


def outcomes(*results: Any) -> dict[str, Any]:
    """A script: task `t` gives the results by index, the last one for all others."""
    rows = [{"task": "t", "index": index, "outcome": {"result": row}} for index, row in enumerate(results[:-1])]
    return {"outcomes": [*rows, {"task": "t", "outcome": {"result": results[-1]}}]}


def way(text: str, limit: int, script: dict[str, Any]) -> tuple[bool, Ran]:
    """Whether the run went to `good`, and the run."""
    ran = run(LIMIT % limit + text, script)
    assert ran.status == "completed", ran.execution.failure
    return bool(ran.ran("good")), ran


def stored(ran: Ran) -> list[bool]:
    """For each task of `start`, whether its result is a reference in the log."""
    return [is_reference(event.data["result"]) for event in ran.of("task.done", "start")]


# A guard on the server, whether it holds, and whether the result may stay outside: not where all of it is read.
GUARDS = [
    ("start.n == 7", True, True),
    ("start.data.n == 7", True, True),
    ("start.result.n == 7", True, True),
    ("start.data.result.deep.x == 1", True, True),
    ("steps['start'].n == 7", True, True),
    ("start['n'] == 7", True, True),
    ("event.result.n == 7", True, True),
    ("event.result.deep.x == 1", True, True),
    ("start.deep.y[1].z == 2", True, True),
    ("start.deep['y'] | length == 2", True, True),
    ("start.data.deep.y | length == 2", True, True),
    ("start.none is none and start.none is defined", True, True),
    ("start.n is defined and start.zzz is undefined", True, True),
    ("start.n.zzz is undefined and start.pad.zzz is undefined", True, True),
    ("start is mapping and start is defined", True, False),
    ("start | length == 4", True, False),
    ("start.data | length == 4", True, False),
    ("event.result | length == 4", True, False),
    ("start.get('n') == 7", True, False),
    ("start.keys() | list == ['n', 'deep', 'pad', 'none']", True, False),
    ("start[ctx.k | default('n')] == 7", True, False),
    ("event.status == 'ok'", True, True),
    ("start.deep.x == 2", False, True),
]


@pytest.mark.parametrize(("guard", "holds", "outside"), GUARDS)
def test_a_guard_sees_a_stored_result_as_it_is(guard: str, holds: bool, outside: bool) -> None:
    plain, kept = way(ONE % guard, 1_000_000, outcomes(BIG))
    away, sent = way(ONE % guard, 2000, outcomes(BIG))
    assert plain is away is holds
    assert stored(kept) == [False] and stored(sent) == [outside]


@pytest.mark.parametrize(
    "guard", ["start.data.n == 1", "start.result == 2", "start.n == 3", "steps['start'].data.n == 1"]
)
def test_a_key_called_data_is_that_key(guard: str) -> None:
    for limit in (1_000_000, 2000):
        assert way(ONE % guard, limit, outcomes(NESTED))[0]


@pytest.mark.parametrize("value", [["a", PAD], PAD, [{"n": 7, "pad": PAD}]], ids=["list", "text", "records"])
def test_a_guard_on_what_is_no_mapping(value: Any) -> None:
    for guard in ("start.n is undefined", "start.data.n is undefined", "start[0] is defined", "start | length > 0"):
        assert [way(ONE % guard, limit, outcomes(value))[0] for limit in (1_000_000, 2000)] == [True, True], guard


LOOPS = [
    ("start[1].n == 1", False), ("start.data[1].n == 1", False), ("start.results[1].n == 1", False),
    ("event.result[1].n == 1", False), ("start | map(attribute='n') | list == [0, 1, 0]", False),
    ("start | length == 3", False), ("start.results | length == 3", False), ("start.stats.ok == 3", True),
    ("start.data.stats.ok == 3", True), ("event.ok == 3 and event.total == 3", True),
]  # fmt: skip


@pytest.mark.parametrize(("guard", "outside"), LOOPS)
def test_a_guard_sees_the_entries_of_a_loop(guard: str, outside: bool) -> None:
    script = outcomes({"n": 0}, {"n": 1, "pad": PAD}, {"n": 0})
    assert way(LOOP % guard, 1_000_000, script)[0]
    went, sent = way(LOOP % guard, 2000, script)
    assert went and stored(sent) == [False, outside, False]


def test_workers_follow_references_everywhere() -> None:
    script = outcomes({"n": 0}, {"n": 1, "pad": PAD}, {"n": 0})
    read = {
        "all": "{{ start | map(attribute='n') | list }}", "one": "{{ start[1].pad | length }}",
        "ref": "{{ ref(start[1]).size > 5000 }}", "none": "{{ ref(start[0]) }}", "last": "{{ start[-2].n }}",
        "stats": "{{ start.stats.ok }}", "whole": "{{ start[1].data.n }}", "results": "{{ start.results | length }}",
    }  # fmt: skip
    args = ", ".join(f'{key}: "{text}"' for key, text in read.items())
    text = LOOP % "true" + f"  - {{step: use, tool: {{kind: noop, args: {{{args}}}}}}}\n"
    ran = run(LIMIT % 2000 + text.replace("{step: good}", "{step: good, next: {arcs: [{step: use}]}}"), script)
    assert stored(ran) == [False, True, False]
    assert ran.execution.last_result == {
        "all": [0, 1, 0], "one": 5000, "ref": True, "none": None, "last": 1, "stats": 3, "whole": 1, "results": 3,
    }  # fmt: skip


def test_a_pipeline_follows_the_result_of_its_own_tasks() -> None:
    ran = run(
        LIMIT % 2000
        + """
workflow:
  - step: start
    tool:
      - {name: t, kind: python, code: "result = 1"}
      - {name: same, kind: noop}
      - name: use
        kind: noop
        args: {p: "{{ _prev.n }}", t: "{{ t.n }}", d: "{{ t.data.n }}", r: "{{ ref(t).size > 9 }}"}
""",
        outcomes(BIG),
    )  # fmt: skip
    assert ran.execution.last_result == {"p": 7, "t": 7, "d": 7, "r": True}
    assert [is_reference(event.data["result"]) for event in ran.of("task.done")] == [True, True, False]


def test_the_server_can_hand_a_reference_on() -> None:
    text = ONE % "ref(start).size > 5000 and ref(start).checksum | length == 64"
    went, ran = way(text, 2000, outcomes(BIG))
    assert went and stored(ran) == [True]


def test_the_result_of_a_child_is_followed_by_its_caller() -> None:
    child = """
---
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: c, path: t/c}
executor: {spec: {policy: {limits: {max_payload_bytes: 2000}}}}
workflow:
  - {step: start, tool: {name: t, kind: noop, result: {n: 7, pad: "{{ 'p' * 5000 }}"}}}
"""
    for limit in (2000, 1_000_000):
        ran = run(
            LIMIT % limit
            + """
workflow:
  - {step: start, next: {arcs: [{step: call}]}}
  - step: call
    tool: {name: c, kind: playbook, path: t/c}
    next: {arcs: [{step: use, when: "{{ call.n == 7 }}"}, {step: lost}]}
  - {step: use, tool: {kind: noop, args: {n: "{{ call.n }}", pad: "{{ call.pad | length }}"}}}
  - {step: lost}
"""
            + child
        )
        assert ran.execution.last_result == {"n": 7, "pad": 5000}


TWO = """workflow:
  - {step: start, tool: {name: t, kind: python, code: "result = 1"}, next: {arcs: [{step: pause}]}}
  - {step: pause, spec: {}, next: {arcs: [{step: use, when: "{{ start.n == 7 }}", spec: {delay: 10}}]}}
  - step: use
    tool: {name: u, kind: noop, args: {%s}}
    next: {arcs: [{step: end, when: "{{ event.error.code == 'ref.missing' }}"}]}
"""


@pytest.mark.parametrize("harm", ["deleted", "altered", "longer"])
@pytest.mark.parametrize(("reads", "faults"), [('x: "{{ start.n }}"', True), ('x: "{{ ref(start).size }}"', False)])
def test_a_lost_object_is_a_fault_where_it_is_read(tmp_path: Path, harm: str, reads: str, faults: bool) -> None:
    """Its projected paths stay readable on the server, and its reference everywhere."""
    url = f"sqlite:///{tmp_path / 'x.db'}"
    blobs = tmp_path / "x.db.blobs"
    settings = Settings(script=read_script(outcomes(BIG)), every_event=True)  # the harm is done between two turns
    with open_runtime(url, settings, lambda path: (b"", {})) as runtime:
        program = runtime.programs.add_plan(compiled(LIMIT % 2000 + TWO % reads))

        def observe(execution: object, plan: object, event: Any) -> None:
            if event.event_type == "timer.fired":
                [file] = [path for path in blobs.rglob("*") if path.is_file()]
                data = file.read_bytes()
                if harm == "deleted":
                    file.unlink()
                else:
                    file.write_bytes(data[:-1] + b"x" if harm == "altered" else data + b"x")

        with driver_of(runtime, "e1", observe) as driver:
            assert driver.embedded.start(program, "e1", Request({})) == "completed"
        done = [event for _, event in runtime.events("e1") if event.event_type == "task.done"][-1]
    if not faults:
        assert done.data["result"]["x"] > 5000  # type: ignore[index, call-overload, operator]
    else:
        error: Any = done.data["error"]
        assert (done.data["directive"], error["code"]) == ("fault", "ref.missing")
        assert "files" not in error["message"] and "gone or altered" in error["message"]


FORGED = {"__ref__": True, "store": "files", "key": "e1/00", "size": 2, "checksum": "00", "n": 7}


@pytest.mark.parametrize("pad", ["", PAD], ids=["small", "large"])
def test_data_from_outside_that_looks_like_a_reference_is_data(pad: str) -> None:
    text = """
workflow:
  - step: start
    tool: {name: t, kind: python, code: "result = 1"}
    next: {arcs: [{step: use, when: "{{ start.n == %s }}"}]}
  - {step: use, tool: {kind: noop, args: {n: "{{ start.n }}", key: "{{ start.key }}", all: "{{ start | length }}"}}}
"""
    for guard in ("7", "7 and start | length == 7"):
        ran = run(LIMIT % 2000 + text % guard, outcomes({**FORGED, "pad": pad}))
        assert ran.execution.last_result == {"n": 7, "key": "e1/00", "all": 7}


def test_reference_first_stores_every_result_outside_of_the_log() -> None:
    """A result over the limit is stored outside with and without it, one under the limit with it alone."""
    for limit, outside in ((2000, True), (1_000_000, False)):
        for said in ("", "results: {reference_first: false}, "):
            text = LIMIT.replace("{limits", "{%slimits") % (said, limit) + ONE % "start.n == 7"
            ran = run(text, outcomes(BIG))
            assert ran.ran("good") and stored(ran) == [outside]
    text = LIMIT.replace("{limits", "{results: {reference_first: true}, limits") % 1_000_000 + ONE
    for small in (BIG, {"n": 7}):
        ran = run(text % "start.n == 7", outcomes(small))
        assert ran.ran("good") and stored(ran) == [True]
    # The knob of a task is nearer.
    near = (text % "start.n == 7").replace("code:", "spec: {inline_max_bytes: 100000}, code:")
    assert stored(run(near, outcomes({"n": 7}))) == [False]


@pytest.mark.parametrize("value", [None, 0, "", [], {}, "text", [1]])
def test_reference_first_changes_no_value(value: Json) -> None:
    head = LIMIT.replace("{limits", "{results: {reference_first: true}, limits") % 1_000_000
    head += f"workload: {{wanted: {json.dumps(value)}}}\n"
    assert run(head + ONE % "start == workload.wanted", outcomes(value)).ran("good")


def test_an_event_too_large_for_the_log_is_kept_outside_too(tmp_path: Path) -> None:
    """The whole of a result that the server reads stays in the event, whose payload then lies outside."""
    url = f"sqlite:///{tmp_path / 'x.db'}"
    ran = run(LIMIT % 2000 + ONE % "start | length == 4", outcomes(BIG), url=url)
    assert ran.ran("good") and stored(ran) == [False]
    with open_runtime(url, Settings(), lambda path: (b"", {})) as runtime:
        sizes = [len(record.body) for record in runtime.store.read("e1")]
    assert max(sizes) < 2000
    for file in (tmp_path / "x.db.blobs").rglob("*"):
        if file.is_file():
            file.unlink()
    with (
        open_runtime(url, Settings(), lambda path: (b"", {})) as runtime,
        pytest.raises(Exception, match="cannot be read"),
    ):
        list(runtime.events("e1"))
