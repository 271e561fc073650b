"""`noetlc graph`: what it draws, what it paints, what it refuses, and an execution out of a real log."""

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from command_line import Run, put
from nets import HEAD, compiled, steps
from noetl_ir.tallies import NoLog, duration, log_of, micros_of
from noetlc.analysis.census import census_of
from noetlc.analysis.petri import petri_of
from noetlc.analysis.skeleton import whole_skeleton
from noetlc.source.pnml_reader import read_pnml

STUCK = HEAD + steps(
    "step: start, next: {arcs: [{step: a, when: '{{ workload.x }}'}, {step: b}]}",
    "step: a, next: {arcs: [{step: j}]}",
    "step: b, next: {arcs: [{step: j}]}",
    "step: j, spec: {policy: {join: all}}",
)
RUNS = HEAD + steps(
    "step: start, next: {spec: {mode: inclusive}, arcs: [{step: work}, {step: never, when: '{{ false }}'}]}",
    "step: work, loop: {in: '{{ [1, 2, 3] }}', iterator: n}, tool: {kind: noop}, next: {arcs: [{step: after}]}",
    "step: after",
    "step: never",
)

ASKS = """apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: t, path: t/t}
workflow:
  - step: start
    tool:
      - {name: begin, kind: noop, result: 3}
      - name: pick
        choose:
          - when: "{{ _prev > 0 }}"
            then:
              - name: ready
                until:
                  when: "{{ iter.n == 3 }}"
                  max_iterations: 9
                  then:
                    - name: ask
                      kind: noop
                      spec: {policy: {rules: [{else: {then: {do: continue, set_iter: {
                        n: "{{ (iter.n | default(0)) + 1 }}"}}}}]}}
          - else: {then: [{name: nothing, kind: noop}]}
      - {name: after, kind: noop}
"""
FAILS = f"""{HEAD}workflow:
  - step: start
    tool: {{name: t, kind: python, code: "result = 1 / 0"}}
    next: {{arcs: [{{step: c, when: "{{{{ event.name == 'step.failed' }}}}"}}]}}
  - step: c
"""


def picture(run: Run, *argv: str) -> dict[str, object]:
    done = run("graph", *argv, "--format", "json")
    assert (done.status, done.err) == (0, "")
    found = json.loads(done.out)
    assert isinstance(found, dict)
    return found


def marks(found: dict[str, object]) -> dict[str, str]:
    elements = [*found["nodes"], *found["edges"]]  # type: ignore[misc]
    return {each["id"]: each["mark"] for each in elements if each["mark"]}


@pytest.mark.parametrize("level", ["steps", "tasks", "net", "states"])
@pytest.mark.parametrize("form", ["mermaid", "dot", "svg", "html", "json"])
def test_every_level_has_every_form(run: Run, level: str, form: str) -> None:
    put("a.yaml", RUNS)
    done = run("graph", "a.yaml", "--level", level, "--format", form)
    assert (done.status, done.err) == (0, "") and "start" in done.out
    assert done == run("graph", "a.yaml", "--level", level, "--format", form)


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("a.svg", b"<?xml"),
        ("a.png", b"\x89PNG"),
        ("a.html", b"<!doctype"),
        ("a.pnml", b"<?xml"),
        ("a.mmd", b"flowchart"),
    ],
)
def test_the_name_of_the_output_says_the_form(run: Run, name: str, start: bytes) -> None:
    put("a.yaml", RUNS)
    assert run("graph", "a.yaml", "-o", name) == (0, "", "")
    assert Path(name).read_bytes().startswith(start)


def test_pnml_is_the_net(run: Run) -> None:
    put("a.yaml", RUNS)
    written = petri_of(read_pnml(run("graph", "a.yaml", "--format", "pnml").out.encode()))
    plan = compiled(RUNS.removeprefix(HEAD)).plans[0]
    net = whole_skeleton(plan).net
    assert (len(written.places), len(written.transitions)) == (len(net.places), len(net.transitions))
    counted, direct = census_of(written, 10_000), census_of(net, 10_000)
    assert (counted.states, counted.edges) == (direct.states, direct.edges)
    assert run("graph", "a.yaml", "--format", "pnml", "--level", "steps").status == 2


def test_the_run_of_a_proof_is_painted(run: Run) -> None:
    put("a.yaml", STUCK + "workload: {x: true}\n")
    found = picture(run, "a.yaml", "--finding", "stuck")
    assert found["captions"][0].startswith("nothing can get stuck: refuted")  # type: ignore[index]
    painted = marks(found)
    assert painted["step j"] == "bad" and painted["step start"] == "told"
    told = {id for id in painted if id.startswith("arc ")}
    assert told in ({"arc start 0", "arc a 0"}, {"arc start 1", "arc b 0"})
    assert [edge["facts"] for edge in found["edges"] if edge["mark"]] == [["(1)"], ["(2)"]]  # type: ignore[attr-defined]
    whole = picture(run, "a.yaml", "--level", "states", "--finding", "stuck")
    assert sum(mark == "told" for mark in marks(whole).values()) > 4
    net = picture(run, "a.yaml", "--level", "net", "--finding", "stuck")
    assert marks(net)["transition begin start"] == "told"


def test_findings_are_painted_where_they_are(run: Run) -> None:
    put("a.yaml", HEAD + steps("step: start", "step: lost"))
    for name in ("NL601", "unreachable-step", "all"):
        assert marks(picture(run, "a.yaml", "--finding", name))["step lost"] == "warned"
    assert picture(run, "a.yaml", "--finding", "NL203")["captions"] == ["No finding NL203."]
    assert run("graph", "a.yaml", "--finding", "nothing-such").status == 2


def test_questions_are_painted(run: Run) -> None:
    put("a.yaml", RUNS)
    found = picture(run, "a.yaml", "--finding", "reachable(after)")
    assert {"step start", "step work", "arc start 0"} <= set(marks(found))


def test_analysis_says_what_runs_how_often(run: Run) -> None:
    put("a.yaml", HEAD + steps("step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: a}]}", "step: a"))
    found = picture(run, "a.yaml", "--analysis")
    facts = {node["title"]: node["facts"] for node in found["nodes"]}  # type: ignore[attr-defined]
    assert facts["a"] == ["up to 2 runs", "2 at once"] and facts["start"] == []


def test_several_playbooks_are_chosen_from(run: Run) -> None:
    put("a.yaml", f"{RUNS}---\n{STUCK}workload: {{x: 1}}\n")
    assert run("graph", "a.yaml", "--format", "svg").status == 2
    assert "join: all" in run("graph", "a.yaml", "--format", "svg", "--document", "2").out
    assert run("graph", "a.yaml", "--document", "3").status == 2
    assert run("graph", "a.yaml", "--format", "html").out.count('<svg class="view"') == 2
    assert len(json.loads(run("graph", "a.yaml", "--format", "json").out)) == 2


def test_large_pictures_are_folded_and_say_so(run: Run) -> None:
    chain = [f"step: s{n}, next: {{arcs: [{{step: s{n + 1}}}]}}" for n in range(300)]
    put("a.yaml", HEAD + "executor: {spec: {entry_step: s0}}\n" + steps(*chain, "step: s300"))
    found = ElementTree.fromstring(run("graph", "a.yaml", "--format", "svg").out.encode())
    assert len([each for each in found.iter() if each.get("data-n")]) <= 80
    assert "301 boxes in all" in run("graph", "a.yaml", "--format", "svg").out
    whole = ElementTree.fromstring(run("graph", "a.yaml", "--format", "svg", "--boxes", "0").out.encode())
    assert len([each for each in whole.iter() if each.get("data-n")]) == 301


def noetl(*argv: str) -> bytes:
    done = subprocess.run([sys.executable, "-m", "noetl.cli", *argv], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_execution_is_painted(run: Run) -> None:
    put("a.yaml", RUNS)
    noetl("run", "a.yaml", "--quiet", "--store", "sqlite:///log.db")
    found = picture(run, "a.yaml", "--run", "last", "--store", "sqlite:///log.db")
    painted = marks(found)
    assert (painted["step work"], painted["step never"]) == ("done", "idle")
    assert (painted["arc start 0"], painted["arc start 1"]) == ("done", "idle")
    facts = {node["title"]: node["facts"] for node in found["nodes"]}  # type: ignore[attr-defined]
    assert facts["work"][1] == "3 of 3 items" and facts["never"] == []
    assert len(found["captions"]) == 1 and ": completed, " in found["captions"][0]  # type: ignore[arg-type,index]
    Path("log.jsonl").write_bytes(noetl("events", "last", "--json", "--store", "sqlite:///log.db"))
    assert picture(run, "a.yaml", "--events", "log.jsonl") == found
    tasks = picture(run, "a.yaml", "--level", "tasks", "--events", "log.jsonl")
    (inner,) = [node["inner"] for node in tasks["nodes"] if node["title"] == "work"]  # type: ignore[attr-defined]
    assert inner["nodes"][0]["facts"][0].startswith("3 runs")
    put("b.yaml", RUNS + "  - {step: more}\n")
    assert "another version" in picture(run, "b.yaml", "--events", "log.jsonl")["captions"][1]  # type: ignore[index]
    put("c.yaml", RUNS.replace("path: t/t", "path: other/one"))
    refused = run("graph", "c.yaml", "--events", "log.jsonl")
    assert (refused.status, refused.out) == (2, "")
    assert "is one of `t/t`, and this is `other/one`: nothing of it can be painted" in refused.err
    # In a file with both it is painted on its own.
    put("both.yaml", f"{Path('c.yaml').read_text()}---\n{Path('a.yaml').read_text()}")
    drawn = run("graph", "both.yaml", "--events", "log.jsonl", "--format", "json")
    other, own = json.loads(drawn.out)
    assert "one of another playbook" in other["captions"][1] and "done" not in marks(other).values()
    assert marks(own)["step work"] == "done"
    lines = Path("log.jsonl").read_text().splitlines(keepends=True)
    begun = next(number for number, line in enumerate(lines) if json.loads(line)["event_type"] == "loop.started")
    put("cut.jsonl", "".join(lines[: begun + 1]))
    assert marks(picture(run, "a.yaml", "--events", "cut.jsonl"))["step work"] == "running"


FAULTY = HEAD + steps(
    "step: start, tool: {kind: noop, result: {a: 1}}, next: {arcs: [{step: end, when: '{{ event.result.a == 2 }}'}, "
    "{step: last, args: {b: '{{ event.result.c }}'}}]}",
    "step: last",
)


def test_an_arc_that_failed_is_painted(run: Run) -> None:
    put("a.yaml", FAULTY)
    words = ["run", "a.yaml", "--quiet", "--store", "sqlite:///log.db"]
    assert subprocess.run([sys.executable, "-m", "noetl.cli", *words], capture_output=True, check=False).returncode == 1
    found = picture(run, "a.yaml", "--run", "last", "--store", "sqlite:///log.db")
    painted = marks(found)
    assert (painted["step start"], painted["arc start 0"], painted["arc start 1"]) == ("failed", "idle", "failed")


def test_ways_between_tasks_are_painted(run: Run) -> None:
    put("a.yaml", ASKS)
    noetl("run", "a.yaml", "--quiet", "--store", "sqlite:///log.db")
    found = picture(run, "a.yaml", "--level", "tasks", "--run", "last", "--store", "sqlite:///log.db")
    (step,) = found["nodes"]  # type: ignore[misc]
    titles = {node["id"]: node["title"] for node in step["inner"]["nodes"]}
    said = {(titles[edge["source"]], titles[edge["target"]]): edge for edge in step["inner"]["edges"]}
    # Asked three times, of which the last one leads on; never is nothing to do.
    assert {ends: (edge["mark"], edge["facts"]) for ends, edge in said.items()} == {
        ("begin", "ask"): ("done", []),
        ("begin", "nothing"): ("idle", []),
        ("ask", "ask"): ("done", ["× 2"]),
        ("ask", "after"): ("done", []),
        ("nothing", "after"): ("idle", []),
    }
    drawn = run("graph", "a.yaml", "--level", "tasks", "--run", "last", "--store", "sqlite:///log.db").out
    assert drawn.count("linkStyle") == 2  # taken and not taken, inside of the box


def test_the_run_of_a_proof_is_painted_between_tasks(run: Run) -> None:
    put(
        "a.yaml",
        ASKS + "    next: {arcs: [{step: fine, when: '{{ workload.x }}'}]}\n  - {step: fine, tool: {kind: noop}}\n",
    )
    found = picture(run, "a.yaml", "--level", "tasks", "--finding", "every run reaches fine")
    told = [edge for edge in found["nodes"][0]["inner"]["edges"] if edge["mark"] == "told"]  # type: ignore[index]
    assert {edge["source"] for edge in told} >= {"task start begin"}


def test_what_failed_is_painted_as_failed(run: Run) -> None:
    put("a.yaml", FAILS)
    noetl("run", "a.yaml", "--quiet", "--store", "sqlite:///log.db")
    found = picture(run, "a.yaml", "--level", "tasks", "--run", "last", "--store", "sqlite:///log.db")
    assert marks(found) == {"step start": "failed", "step c": "done", "arc start 0": "done"}
    start = found["nodes"][0]  # type: ignore[index]
    (task,) = start["inner"]["nodes"]
    assert task["mark"] == "failed" and task["facts"][-1] == "failed"
    assert start["notes"] == ["t: python.exception: division by zero"]


def test_what_is_no_log_is_refused(run: Run) -> None:
    put("a.yaml", RUNS)
    event = '{"ts": "2026-11-28T04:12:00Z", "execution_id": "x", "event_type": "step.done", "step": "work"'
    parts = ("", ', "fired": 1, "payload": {}', ', "fired": [], "payload": 1', ', "fired": [{}], "payload": {}')
    for text in ("", "{", "[1]", '{"ts": 1}', "null\n", *(f"{event}{part}}}" for part in parts)):
        put("log", text)
        assert run("graph", "a.yaml", "--events", "log").status == 2
    assert run("graph", "a.yaml", "--run", "none", "--store", "sqlite:///nothing.db").status == 2
    assert run("graph", "a.yaml", "--run", "x", "--events", "log").status == 2


def test_times() -> None:
    assert micros_of("1970-01-01T00:00:01.500000Z") == 1_500_000
    assert micros_of("2026-11-28T04:12:00Z") == 1_795_839_120_000_000
    assert [duration(each) for each in (0, 10, 1_500, 2_500_000, 150_000_000, 8_000_000_000)] == [
        "0 s",
        "< 1 ms",
        "2 ms",
        "2.5 s",
        "2 min",
        "2 h 13 min",
    ]
    with pytest.raises(NoLog):
        log_of([])
