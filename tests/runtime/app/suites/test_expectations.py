"""`noetl test`: each expectation holds where it should and fails where it should; expected values are by hand."""

from pathlib import Path

import pytest

from harness.suites import brought, case, failing, told

ROWS = {"result": [3, 4]}
BUSY = {"status": "error", "http": {"status": 503}, "error": {"code": "http.status"}}
GONE = {"status": "error", "http": {"status": 404}, "error": {"code": "http.status"}}
URL = "https://example.org/orders?limit=10"

# What is expected of a run whose request is busy once and then brings two rows; the message where it is not met.
EXPECTED: list[tuple[dict[str, object], str]] = [
    ({"status": "completed"}, ""),
    ({"status": "failed"}, "the run is `completed`, and `failed` is expected"),
    ({"error": {"code": "x"}}, "the run is `completed` without an error, and one is expected"),
    ({"steps": ["start", "store"]}, ""),
    ({"steps": ["start"]}, "other steps ran"),
    ({"steps": ["store", "start"]}, "other steps ran"),
    ({"steps_in_any_order": ["store", "start"]}, ""),
    ({"steps_in_any_order": ["store", "start", "start"]}, "other steps ran"),
    ({"not_run": ["quiet"]}, ""),
    ({"not_run": ["store"]}, "step `store` ran once, and is expected not to"),
    ({"result": {"sum": 7}}, ""),
    ({"result": {"sum": 7.0}}, ""),
    ({"result": {"sum": "7"}}, "the result is another one"),
    ({"result": {"sum": True}}, "the result is another one"),
    ({"result": {}}, "the result is another one"),
    ({"result_includes": {}}, ""),
    ({"result_includes": {"sum": 8}}, "the result is another one"),
    ({"results": {"store": {"sum": 7}}}, ""),
    ({"results": {"store": {"sum": 8}}}, "the result of step `store` is another one"),
    ({"results": {"quiet": "nothing"}}, "step `quiet` has not succeeded, and a result is expected"),
    ({"ctx": {"count": 2}}, ""),
    ({"ctx": {"count": 3}}, "`ctx.count` is another one"),
    ({"ctx": {"counts": 2}}, "`ctx.counts` is another one"),
    ({"calls": [{"step": "start", "times": 2}]}, ""),
    ({"calls": [{"step": "start", "times": 1}]}, "2 of 2 calls of `start` fit, and one is expected to"),
    ({"calls": [{"step": "start", "attempt": 2, "fields": {"url": URL}}]}, ""),
    ({"calls": [{"step": "start", "fields": {"url": "x"}}]},
     "none of 2 calls of `start` fit, and at least one is expected to"),
    ({"calls": [{"step": "store", "args": {"rows": [3, 4]}}]}, ""),
    ({"calls": [{"step": "store", "args": {"rows": [3]}}]},
     "none of 1 calls of `store` fit, and at least one is expected to"),
    ({"calls": [{"step": "quiet", "times": 0}]}, ""),
    ({"calls": [{"step": "quiet"}]}, "none of 0 calls of `quiet` fit, and at least one is expected to"),
    ({"events": [{"event": "retry.started", "times": 1}]}, ""),
    ({"events": [{"event": "retry.started", "step": "start", "at_most": 1}]}, ""),
    ({"events": [{"event": "retry.started", "never": True}]},
     "`retry.started` happened once, and is expected never"),
    ({"events": [{"event": "retry.started", "at_least": 2}]},
     "`retry.started` happened once, and is expected at least 2 times"),
    ({"events": [{"event": "step.scheduled", "at_most": 1}]},
     "`step.scheduled` happened 2 times, and is expected at most once"),
    ({"events": [{"event": "step.scheduled", "step": "store", "at_most": 1}]}, ""),
    ({"duration": "2s"}, ""),
    ({"duration": {"at_least": 1, "at_most": 2}}, ""),
    ({"duration": {"at_most": "1.5s"}}, "the run took 2 s on its clock, and at most 1.5 s are expected"),
    ({"duration": 3}, "the run took 2 s on its clock, and 3 s are expected"),
]  # fmt: skip


@pytest.mark.parametrize(("expect", "message"), EXPECTED)
def test_an_expectation_is_met_or_told(expect: dict[str, object], message: str, tmp_path: Path) -> None:
    done = told(tmp_path, case(expect, outcomes=brought(BUSY, ROWS)))
    if message:
        # A run that is held against an error alone was expected to fail.
        assert failing(done) == [message]
    else:
        assert (done.returncode, done.stdout.splitlines()[0]) == (0, "ok    orders.test.yaml:2:14 one"), done.stdout


def test_a_run_that_fails_by_surprise_fails_its_case(tmp_path: Path) -> None:
    done = told(tmp_path, case({"not_run": ["store"]}, outcomes=brought(GONE)))
    assert failing(done) == ["the run is `failed`, and `completed` is expected"]
    assert "it failed by `orders.none` at start / fetch: There are no orders" in done.stdout


def test_an_error_is_compared_key_by_key(tmp_path: Path) -> None:
    right = {"code": "orders.none", "step": "start", "task": "fetch"}
    assert told(tmp_path, case({"error": right}, outcomes=brought(GONE))).returncode == 0
    done = told(tmp_path, case({"error": {**right, "code": "other"}}, outcomes=brought(GONE)))
    assert failing(done) == ["the error's `code` is another one"]
    assert '= expected `error.code`: "other"' in done.stdout and '=   actual `error.code`: "orders.none"' in done.stdout


def test_a_failure_shows_both_files_and_the_path(tmp_path: Path) -> None:
    expect = {"steps": ["start", "quiet"]}
    done = told(tmp_path, f"cases:\n- case: one\n  outcomes: {brought(BUSY, ROWS)}\n  expect: {expect}\n")
    assert done.stdout.splitlines()[:-1] == [
        "FAILED orders.test.yaml:2:9 one",
        "orders.test.yaml:4:21: other steps ran",
        "   |",
        " 4 |   expect: {'steps': ['start', 'quiet']}",
        "   |                     ^^^^^^^^^^^^^^^^^^",
        "   = expected: start → [quiet]",
        "   =   actual: start → [store]",
        "   = orders.yaml:24:5: in the playbook",
        "   |",
        "24 |   - step: store",
        "   |     ^^^^^^^^^^^",
        '25 |     tool: {kind: python, args: {rows: "{{ start.data }}"}, code: "result = {\'sum\': sum(rows)}"}',
        "   |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^",
        "  = path: orders.yaml",
        "      7:5 start: fetch error http.status → retry, fetch ok",
        "      24:5 store: store_task ok",
        "",
    ]
