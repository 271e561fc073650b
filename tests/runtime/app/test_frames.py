"""Frames, timelines and prospects of executions: against the fold of each prefix of the log, and by hand."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.running import HEAD
from harness.serving import Served, served, until
from noetl.app import frames
from noetl.app.snapshots import events_of, program_of, snapshot_until
from noetl.ports import ExecutionRow
from noetl_ir.envelope import envelope_of, origin_of
from noetl_ir.events import Event
from noetl_ir.expr import Json
from noetl_ir.tallies import tallied_envelope, tallied_event

MIXED = """
workload: {n: 3}
workflow:
  - step: start
    next: {spec: {mode: inclusive}, arcs: [{step: many, args: {each: "{{ workload.n }}"}}, {step: choose}]}
  - step: many
    loop: {in: "{{ [1, 2, 3] }}", iterator: i, spec: {mode: parallel}}
    tool:
      name: t
      kind: noop
      result: "{{ iter.i }}"
      spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {"seen": "{{ workload.n }}"}}}}]}}
  - step: choose
    tool: {name: w, kind: wait, events: [go]}
    next:
      spec: {mode: exclusive}
      arcs: [{step: high, when: "{{ workload.n > 2 }}"}, {step: low}]
  - {step: high, tool: {kind: noop}, next: {arcs: [{step: both}]}}
  - {step: low, tool: {kind: noop}, next: {arcs: [{step: both}]}}
  - step: both
    tool:
      name: f
      kind: fail
      code: no.luck
      message: none today
      spec:
        policy:
          rules: [{when: "{{ _attempt < 2 }}", then: {do: retry, delay: 0.05}}, {else: {then: {do: fail}}}]
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path) as up:
        yield up


def mixed(server: Served) -> str:
    """An execution of the playbook above, which waits."""
    assert server.client.post("/playbooks?name=t.yaml", content=(HEAD + MIXED).encode()).status_code == 201
    name = str(server.client.post("/executions", json={"path": "t/t"}).json()["execution_id"])
    until(lambda: any(row["what"] == "wait" for row in server.client.get(f"/executions/{name}").json()["now"]))
    return name


def ended(server: Served) -> str:
    """A mixed execution that has come to its end."""
    name = mixed(server)
    server.client.post(f"/executions/{name}/signal", json={"name": "go"})
    until(lambda: server.client.get(f"/executions/{name}/row").json()["ended"] is not None)
    return name


def _row(server: Served, name: str) -> ExecutionRow:
    row = server.runtime.store.execution(name)
    assert row is not None
    return row


def states(server: Served, name: str, size: int) -> list[dict[str, Json]]:
    """The state behind each event, put together from frames in ranges of a size, as the page does."""
    cache, row = frames.FrameCache(server.runtime), _row(server, name)
    found: list[dict[str, Json]] = []
    while True:
        document = cache.frames(row, len(found), size)
        state = {part: dict(values) for part, values in document["state"].items()}  # type: ignore[union-attr,call-overload,arg-type]
        rows: list[list[Json]] = document["frames"]  # type: ignore[assignment]
        for _, changes in rows:
            for part, values in changes.items():  # type: ignore[union-attr]
                state[part] = {k: v for k, v in {**state[part], **values}.items() if v is not None}  # type: ignore[dict-item]
            found.append({part: dict(values) for part, values in state.items()})
        if len(rows) < size:
            return found


def test_frames_are_the_fold_of_each_prefix_however_they_are_cut(server: Served) -> None:
    name = ended(server)
    row = _row(server, name)
    whole = states(server, name, 1_000)
    assert whole == states(server, name, 7) == states(server, name, 1)
    for position, state in enumerate(whole, 1):
        program, execution = snapshot_until(server.runtime, row, position)[1:]
        places = program.plan.net.places
        tokens = {places[n].id: sum(keys.values()) for n, keys in execution.marking.tokens.items() if keys}
        initial = {places[n].id for n, _ in program.plan.net.initial}
        shown = {k: v for k, v in state["marking"].items() if k not in initial}  # type: ignore[union-attr]
        assert shown == {k: v for k, v in tokens.items() if k not in initial}
        assert state["is"]["status"] == execution.status  # type: ignore[index,call-overload]
        assert state["ctx"].keys() == execution.ctx.keys()  # type: ignore[union-attr]
    assert server.client.get(f"/executions/{name}/frames?after=3&limit=2").json()["frames"] != []


def test_frames_behind_those_that_are_kept_are_the_same(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long a log is, and wherever in it somebody looks, no more of it is kept than that."""
    name = ended(server)
    whole = states(server, name, 7)
    monkeypatch.setattr(frames, "LONGEST", 20)
    longest: list[int] = []
    read = frames.Reel.read

    def counted(reel: frames.Reel, event: Event) -> None:
        read(reel, event)
        longest.append(len(reel.frames))

    monkeypatch.setattr(frames.Reel, "read", counted)
    assert states(server, name, 7) == whole
    assert len(whole) > 20 and max(longest) <= 20
    assert frames.FrameCache(server.runtime).frames(_row(server, name), 10**6, 7)["state"] == whole[-1]


def test_the_page_and_a_picture_on_paper_count_the_same(server: Served) -> None:
    """A page counts events as they are stored, and the compiler counts them as they are shown."""
    name = ended(server)
    plan = program_of(server.runtime, name).plan
    events = [event for _, event in events_of(server.runtime, name)]
    origin = origin_of(name, events[0])
    stored = [tallied_event(plan, name, event) for event in events]
    shown = [tallied_envelope(envelope_of(plan, origin, event, at)) for at, event in enumerate(events, 1)]
    assert stored == shown
    assert any(one.iteration for one in stored) and any(one.fired for one in stored)


def test_items_that_were_skipped_are_not_told_as_done(server: Served) -> None:
    source = """
workflow:
  - step: start
    loop: {in: [1, 2, 3], iterator: i, spec: {mode: sequential}}
    tool:
      - {name: t, kind: fail, code: no.luck, message: none, spec: {policy: {rules: [
          {when: "{{ iter.i < workload.from }}", then: {do: continue}}, {else: {then: {do: fail}}}]}}}
"""
    assert server.client.post("/playbooks?name=t.yaml", content=(HEAD + source).encode()).status_code == 201
    for first, told in ((1, "0 of 3 items, 1 failed, 2 skipped"), (2, "1 of 3 items, 1 failed, 1 skipped")):
        begun = server.client.post("/executions", json={"path": "t/t", "payload": {"from": first}})
        name = str(begun.json()["execution_id"])
        until(lambda name=name: server.client.get(f"/executions/{name}/row").json()["ended"] is not None)
        steps: dict[str, list[str]] = states(server, name, 100)[-1]["steps"]  # type: ignore[assignment]
        assert told in steps["start"] and steps["start"][0] == "failed"


def test_the_paint_at_the_end_by_hand(server: Served) -> None:
    last = states(server, ended(server), 100)[-1]
    steps: dict[str, list[str]] = last["steps"]  # type: ignore[assignment]
    assert {name: mark for name, (mark, *_) in steps.items()} == {
        "start": "done", "many": "done", "choose": "done", "high": "done", "both": "failed",
    }  # fmt: skip
    assert "3 of 3 items" in steps["many"] and "low" not in steps
    assert last["ctx"] == {"seen": "3"}
    assert {"arc start 0", "arc start 1", "arc choose 0"} <= last["arcs"].keys()  # type: ignore[union-attr]
    assert "arc choose 1" not in last["arcs"]  # type: ignore[operator]


def test_a_branch_that_was_not_taken_can_no_longer_run(server: Served) -> None:
    name = mixed(server)
    before = server.client.get(f"/executions/{name}/moment?position=100000").json()
    assert {"high", "low", "both"} <= {*before["to_come"]} and "start" not in before["to_come"]
    many = server.client.get(f"/executions/{name}/moment?position=100000&step=many").json()
    assert many["args"] == {"each": 3} and before["args"] is None
    assert [row["place"] for row in before["now"] if row["what"] == "wait"] == ["choose / w"]
    server.client.post(f"/executions/{name}/signal", json={"name": "go"})
    until(lambda: server.client.get(f"/executions/{name}/row").json()["ended"] is not None)
    events = server.client.get(f"/executions/{name}/events?limit=1000").json()["events"]
    taken = next(e["position"] for e in events if e["event_type"] == "next.selected" and e["step"] == "choose")
    after = server.client.get(f"/executions/{name}/moment?position={taken}").json()
    assert "high" in after["to_come"] and "low" not in after["to_come"]
    assert server.client.get(f"/executions/{name}/moment?position={len(events)}").json()["to_come"] == []
    assert server.client.get(f"/executions/{name}/moment?position=0").json()["status"] == "new"


def test_the_newest_moment_is_that_of_the_last_event(server: Served) -> None:
    """The newest moment is kept, and any other is folded from the beginning."""
    name = mixed(server)
    for _ in range(2):
        last = len(server.client.get(f"/executions/{name}/events?limit=1000").json()["events"])
        at_last = server.client.get(f"/executions/{name}/moment?position={last}&step=none").json()
        assert at_last["position"] == last
        for position in (last, last + 1, 1 << 53):
            assert server.client.get(f"/executions/{name}/moment?position={position}").json() == at_last
        before = server.client.get(f"/executions/{name}/moment?position={last - 1}").json()
        assert before["position"] == last - 1
        server.client.post(f"/executions/{name}/signal", json={"name": "go"})
        until(lambda: server.client.get(f"/executions/{name}/row").json()["ended"] is not None)


def test_a_timeline_has_attempts_waits_and_retries(server: Served) -> None:
    name = ended(server)
    whole = server.client.get(f"/executions/{name}/timeline").json()
    bars = [bar for bar in whole["bars"] if bar["step"] == "both"]
    task = (HEAD + MIXED).splitlines().index("  - step: both") + 3
    first = [bar for bar in bars if bar["run"] == bars[0]["run"] and bar["kind"] != "step"]
    assert [(bar["kind"], bar["attempt"]) for bar in first][:3] == [("task", 1), ("retry", 1), ("task", 2)]
    assert first[0]["ok"] is False and first[0]["error"]["code"] == "no.luck"
    assert (first[0]["error"]["at"]["file"], first[0]["error"]["at"]["line"]) == ("t.yaml", task)
    assert first[1]["to"] - first[1]["from"] >= 50
    assert first[0]["to"] <= first[1]["from"] <= first[1]["to"] <= first[2]["from"]
    waits = [bar for bar in whole["bars"] if bar["kind"] == "wait"]
    assert [(bar["step"], bar["ok"]) for bar in waits] == [("choose", True)]
    items = sorted(bar["iteration"] for bar in whole["bars"] if bar["step"] == "many" and bar["kind"] == "task")
    assert items == [[0], [1], [2]]
    assert all(bar["to"] is not None for bar in whole["bars"])
    rest = server.client.get(f"/executions/{name}/timeline?after={whole['position']}").json()
    assert rest == {"position": whole["position"], "bars": [], "left_out": 0}


def test_the_picture_of_a_plan_bears_the_names_of_its_steps_and_arcs(server: Served) -> None:
    mixed(server)
    digest = server.client.get("/playbooks").json()["playbooks"][0]["playbook_id"]
    response = server.client.get(f"/plans/{digest}/picture")
    assert response.headers["content-type"].startswith("image/svg+xml")
    for text in ('data-id="step both"', 'data-id="arc choose 1"', "<metadata>"):
        assert text in response.text
    assert "<style" not in response.text and "sandbox" in response.headers["content-security-policy"]
    assert server.client.get("/plans/none/picture").status_code == 404
