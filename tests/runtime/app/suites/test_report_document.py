"""`noetl test --json`: one document, which its schema describes."""

import json
from pathlib import Path
from typing import Any

import jsonschema

from harness.suites import brought, case, put, run_tests, told
from noetl.app.suites.document import MOST_CHARACTERS
from noetlc.emit.test_report import schema

ROWS = {"result": [3, 4]}


def document(done: Any) -> dict[str, Any]:
    """The document on standard output, which holds nothing else; as its schema has it."""
    found: dict[str, Any] = json.loads(done.stdout)
    jsonschema.Draft202012Validator(schema()).validate(found)
    return found


def test_a_case_that_passes_and_one_that_fails(tmp_path: Path) -> None:
    cases = "\n".join([
        "cases:",
        f"  - case: good\n    outcomes: {json.dumps(brought({'status': 'error', 'http': {'status': 503}}, ROWS))}",
        "    expect: {result: {sum: 7}}",
        f"  - case: bad\n    outcomes: {json.dumps(brought(ROWS))}",
        "    expect: {result: {sum: 8}, steps: [start]}",
    ])  # fmt: skip
    done = told(tmp_path, cases, "--json")
    assert done.returncode == 1 and done.stderr == ""
    found = document(done)
    assert (found["ok"], found["counts"]) == (False, {"passed": 1, "failed": 1, "unread": 0})
    (suite,) = found["suites"]
    assert (suite["file"], suite["playbook"]) == ("orders.test.yaml", "orders.yaml")
    good, bad = suite["cases"]
    assert (good["name"], good["ok"], good["status"], good["failures"]) == ("good", True, "completed", [])
    assert [step["step"] for step in good["path"]] == ["start", "store"]
    assert [(end["code"], end["directive"]) for end in good["path"][0]["ends"]] == [
        ("http.status", "retry"), (None, "continue"),
    ]  # fmt: skip
    assert good["at"] == {"file": "orders.test.yaml", "line": 2, "column": 11, "end_line": 2, "end_column": 15}
    result, steps = bad["failures"]
    assert (result["where"], result["expected"], result["actual"]) == ("result.sum", 8, 7)
    assert (result["at"]["line"], result["in_playbook"]["file"]) == (7, "orders.yaml")
    lines = (tmp_path / "orders.yaml").read_text("utf-8").splitlines()
    assert "step: store" in lines[result["in_playbook"]["line"] - 1]
    assert (steps["where"], steps["expected"], steps["actual"]) == ("steps", ["start"], ["start", "store"])


def test_what_is_missing_has_no_key_and_what_is_long_is_left_out(tmp_path: Path) -> None:
    long = "x" * (MOST_CHARACTERS + 1)
    cases = case({"result": {"sum": 7, "more": None}, "results": {"start": long}}, outcomes=brought(ROWS))
    done = told(tmp_path, cases, "--json")
    more, result = document(done)["suites"][0]["cases"][0]["failures"]
    assert (more["where"], more["expected"]) == ("result.more", None) and "actual" not in more
    assert "expected" not in result and "actual" in result and "…" in result["details"][0]


def test_every_kind_of_expectation_tells_both_sides(tmp_path: Path) -> None:
    expect = {
        "status": "blocked", "error": {"code": "x"}, "steps": ["quiet"], "not_run": ["store"], "result": 1,
        "result_includes": {"sum": 1}, "results": {"store": 1}, "ctx": {"count": 1},
        "calls": [{"step": "start", "task": "fetch", "fields": {"url": "x"}}, {"step": "start", "times": 4}],
        "events": [{"event": "step.done", "at_most": 1}], "duration": 7,
    }  # fmt: skip
    found = document(told(tmp_path, case(expect, outcomes=brought(ROWS)), "--json"))
    failures = found["suites"][0]["cases"][0]["failures"]
    assert len(failures) == 12
    # Of the error there is none, so that nothing is on the actual side.
    assert [each["where"] for each in failures if "expected" not in each] == []
    assert [each["where"] for each in failures if "actual" not in each] == ["error"]
    sides = {each["where"]: (each["expected"], each["actual"]) for each in failures if "actual" in each}
    assert sides["status"] == ("blocked", "completed") and sides["ctx.count"] == (1, 2)
    assert sides["calls"] == (4, 1) and sides["events.step.done"] == ({"at_most": 1}, 2)
    assert sides["duration"] == ({"exactly": 7}, 0)
    assert sides["fields.url"] == ("x", "https://example.org/orders?limit=10")


def test_files_that_cannot_be_read_and_coverage_are_in_it(tmp_path: Path) -> None:
    put(tmp_path, case({"result": {"sum": 7}}, outcomes=brought(ROWS)))
    put(tmp_path, "cases: []\ncase: x\n", name="wrong")
    done = run_tests(tmp_path, "--json", "--coverage", "--fail-under", "100")
    assert done.returncode == 1
    found = document(done)
    (unread,) = found["unread"]
    assert unread["file"] == "wrong.test.yaml" and "error[NL101] unknown key `case`" in unread["said"]
    assert not found["ok"] and found["counts"] == {"passed": 1, "failed": 0, "unread": 1}
    (coverage,) = found["coverage"]
    assert coverage["kinds"]["step"] == {"parts": 3, "reached": 2}
    assert coverage["reached"] + len(coverage["missing"]) == coverage["parts"]
    assert ("step", "quiet") in {(part["kind"], part["name"]) for part in coverage["missing"]}


def test_a_run_that_does_not_begin_has_no_status(tmp_path: Path) -> None:
    (one,) = document(told(tmp_path, case({"status": "failed"}, payload={"limti": 1}), "--json"))["suites"][0]["cases"]
    assert (one["ok"], one["status"], one["path"]) == (False, None, [])


def test_it_goes_with_nothing_that_writes_something_else(tmp_path: Path) -> None:
    put(tmp_path, case({"status": "completed"}))
    for words in (["--watch"], ["--generate", "orders.yaml"], ["--record", "last"]):
        done = run_tests(tmp_path, "--json", *words)
        assert done.returncode == 2 and "--json is one document about cases that are run" in done.stderr
