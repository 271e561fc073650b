"""`noetl test --coverage`, `--fail-under`, `--picture`: counted by hand on a playbook of 14 parts."""

import json
from pathlib import Path

from harness.running import HEAD
from harness.suites import brought, case, failing, run_tests, told

ROWS = {"result": [3, 4]}
BUSY = {"status": "error", "http": {"status": 503}, "error": {"code": "http.status"}}


def test_coverage_counts_parts_that_can_happen_and_did(tmp_path: Path) -> None:
    done = told(tmp_path, case({"result": {"sum": 7}}, outcomes=brought(BUSY, ROWS)), "--coverage")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    at = lines.index("coverage of orders.yaml: 8 of 14 parts (57.1 %)")
    assert lines[at + 1] == "  steps 2 of 3, arcs 1 of 2, branches 0 of 1, outcomes 3 of 5, rules 2 of 3"
    assert lines[at + 2 : at + 9] == [
        "  not reached",
        "    orders.yaml:15:17: rule start / fetch: rule 1 (fail)",
        "    orders.yaml:22:11: branch start → store is not taken",
        "    orders.yaml:23:11: arc start → quiet",
        "    orders.yaml:25:11: outcome store / store_task: error",
        "    orders.yaml:26:5: step quiet",
        "    orders.yaml:27:11: outcome quiet / quiet_task: ok",
    ]


MENDED = """
workflow:
  - step: start
    tool: {kind: http, url: "https://example.org"}
    next: {arcs: [{step: mend, when: "{{ event.name == 'step.failed' }}"}, {step: done}]}
  - step: mend
    tool: {kind: noop}
  - step: done
    tool: {kind: noop}
"""


def test_what_only_a_missing_outcome_reached_is_not_covered(tmp_path: Path) -> None:
    text = json.dumps({"cases": [{"case": "forgotten", "expect": {"status": "completed"}}]})
    done = told(tmp_path, text, "--coverage", playbook=MENDED)
    assert done.returncode == 1
    # By hand: the step begins, and what comes behind it no case has brought about.
    assert "  steps 1 of 3, arcs 0 of 2, branches 0 of 1, outcomes 0 of 4" in done.stdout.splitlines()
    outcomes = [{"step": "start", "outcome": {"status": "error", "error": {"code": "http.status"}}}]
    failed = told(tmp_path, case({"status": "completed"}, outcomes=outcomes), "--coverage", playbook=MENDED)
    assert "  steps 2 of 3, arcs 1 of 2, branches 0 of 1, outcomes 2 of 4" in failed.stdout.splitlines()


CALLER = """
workflow:
  - step: start
    tool: {kind: playbook, path: t/child}
    next: {arcs: [{step: mend, when: "{{ event.name == 'step.failed' }}"}]}
  - step: mend
    tool: {kind: noop}
"""


def test_what_a_missing_outcome_of_a_child_reached_is_not_covered(tmp_path: Path) -> None:
    (tmp_path / "child.yaml").write_text(
        HEAD.replace("t/t", "t/child") + "workflow:\n  - {step: start, tool: {kind: shell, command: a}}\n", "utf-8"
    )
    text = json.dumps({"cases": [{"case": "forgotten", "expect": {"status": "completed"}}]})
    done = told(tmp_path, text, "--coverage", "--path", ".", playbook=CALLER)
    (message,) = failing(done)
    # In the child's file, and not at the caller's step of that name.
    assert message.startswith("no outcome fits `start / start_task` of `t/child` (child.yaml:5:25) (kind `shell`")
    assert "orders.yaml:7" not in done.stdout.partition("coverage of")[0].partition("path taken")[0]
    assert "  steps 1 of 2, arcs 0 of 1" in done.stdout


def test_too_little_coverage_fails(tmp_path: Path) -> None:
    text = case({"result": {"sum": 7}}, outcomes=brought(BUSY, ROWS))
    assert told(tmp_path, text, "--fail-under", "57").returncode == 0
    done = told(tmp_path, text, "--fail-under", "58")
    assert done.returncode == 1 and "57.1 % are less than 58 %" in done.stderr


def test_two_files_cover_one_playbook_together(tmp_path: Path) -> None:
    told(tmp_path, case({"result": {"sum": 7}}, outcomes=brought(BUSY, ROWS)))
    more = {"playbook": "orders.yaml", "cases": [
        {"case": "none", "outcomes": brought({"result": []}), "expect": {"result": "nothing"}}
    ]}  # fmt: skip
    (tmp_path / "none.test.yaml").write_text(json.dumps(more))
    done = run_tests(tmp_path, "--coverage")
    assert "coverage of orders.yaml: 12 of 14 parts (85.7 %)" in done.stdout


def test_the_picture_shows_what_ran_in_how_many_cases(tmp_path: Path) -> None:
    done = told(tmp_path, case({"result": {"sum": 7}}, outcomes=brought(BUSY, ROWS)), "--picture", "out.json")
    assert done.returncode == 0, done.stderr
    picture = json.loads((tmp_path / "out.json").read_text())
    marks = {node["title"]: node.get("mark") for node in picture["nodes"]}
    # By hand: the rule for 404 is not asked for, the guard is never false, and the store never fails.
    assert marks == {"start": "partly", "store": "partly", "quiet": "idle"}
    remarks = {node["title"]: node["notes"] for node in picture["nodes"]}
    assert remarks["start"] == ["not reached: fetch: rule 1 (fail)", "not reached: start → store is not taken"]
    assert remarks["store"] == ["not reached: store_task: error"]
    assert {edge["id"]: edge["mark"] for edge in picture["edges"]} == {"arc start 0": "partly", "arc start 1": "idle"}


def test_what_is_covered_wholly_is_painted_as_such(tmp_path: Path) -> None:
    playbook = """
workflow:
  - {step: start, tool: {kind: noop, result: 1}, next: {arcs: [{step: last}]}}
  - {step: last, tool: {kind: noop, result: 2}}
"""
    done = told(tmp_path, case({"result": 2}), "--picture", "out.json", playbook=playbook)
    assert done.returncode == 0, done.stderr
    picture = json.loads((tmp_path / "out.json").read_text())
    assert {node["mark"] for node in picture["nodes"]} == {"done"}
