"""Every example compiles without a finding and runs to the result that its comments promise.

The expected results are worked out by hand from the examples and from what `examples/server.py` serves.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
PLAYBOOKS = sorted(
    path.relative_to(EXAMPLES).as_posix()
    for path in EXAMPLES.rglob("*.yaml")
    if not path.name.endswith((".script.yaml", ".test.yaml"))
)
SCRIPTS = sorted(path.name for path in EXAMPLES.glob("*.script.yaml"))
PROGRAMS = Path(sys.executable).parent

STREAMED = {
    "endpoints": [
        {"endpoint": "/api/assessments", "pages": 3, "items": 25, "missing": 0},
        {"endpoint": "/api/reports", "pages": 3, "items": 12, "missing": 0},
        {"endpoint": "/api/retired", "pages": 0, "items": 0, "missing": 0},
    ],
    "items": 37,
    "pages": 6,
    "not_found": 1,
}
NAMES = ["anvil", "bellows", "chisel", "drill", "edger", "file", "gimlet", "hammer", "iron"]

# Example, further arguments, and the result of a step: None where it must not run.
RUNS = [
    ("hello.yaml", ["--set", "name=Ada"], "start", {"greeting": "Hello, Ada!"}),
    (
        "declared_inputs.yaml",
        ["--set", "day=2026-01-31", "--set", "limit=2"],
        "start",
        {"load": "north on 2026-01-31", "rows": 2},
    ),
    ("streaming_pagination.yaml", [], "summary", STREAMED),
    ("parallel_http.yaml", [], "report", {"total": 10, "ok": 9, "failed": 1, "names": NAMES}),
    ("nested_paging.yaml", [], "report", {"rooms_by_city": {"Lisbon": 13, "Oslo": 6}, "rooms": 19}),
    ("nightly_import.yaml", ["--set", "day=2026-03-01"], "store", {"orders": 3, "total": 60}),
    ("retry_backoff.yaml", [], "done", {"received": 42, "attempts": 3}),
    (
        "failure_cleanup.yaml",
        [],
        "cleanup",
        {"published": 0, "reason": "prices above 50: [75.0]"},
    ),
    ("failure_cleanup.yaml", ["--set", "max_price=100"], "publish", {"published": 3}),
    ("fork_join_all.yaml", [], "quote", {"total": 52.65, "available": True}),
    (
        "optional_branches_taken.yaml",
        [],
        "record",
        {"sent": {"email": "e-mail to Ada", "sms": "text message to Ada"}, "channels": 2},
    ),
    (
        "optional_branches_taken.yaml",
        ["--set", "sms=false"],
        "record",
        {"sent": {"email": "e-mail to Ada"}, "channels": 1},
    ),
    (
        "child_playbook.yaml",
        ["--path", str(EXAMPLES)],
        "collect",
        {"greetings": ["Good morning, Ada!", "Good morning, Grace!", "Good morning, Edsger!"]},
    ),
    ("children/greet.yaml", [], "start", {"text": "Hello, nobody!"}),
    (
        "etl_sqlite_duckdb.yaml",
        [],
        "load",
        {
            "rows": [
                {"region": "east", "orders": 1, "total": 42.25},
                {"region": "north", "orders": 1, "total": 120.5},
                {"region": "south", "orders": 2, "total": 99.75},
            ],
            "row_count": 3,
            "columns": ["region", "orders", "total"],
        },
    ),
    ("order_checks.yaml", [], "backorder", {"missing": 2}),
    ("order_checks.yaml", ["--set", "wanted=2"], "ship", {"shipped": 2}),
    (
        "order_checks.yaml",
        ["--set", "wanted=-1"],
        "refuse",
        {"refused": "order.invalid: an order of -1 pieces is none"},
    ),
    ("claim_check.yaml", [], "decide", {"covered": 900, "expert": "repair"}),
    ("claim_check.yaml", ["--set", "damage=200"], "decide", {"covered": 200, "photos": "clear"}),
    ("claim_check.yaml", ["--set", "stolen=true"], "decide", {"covered": 900, "police": "report"}),
    ("admission.yaml", [], "ship", {"shipped": True}),
    ("admission.yaml", [], "review", {"reviewed": 1200}),
    ("admission.yaml", ["--set", "amount=250"], "review", None),
]

# Example, step, a part of its result, and the seconds that the run takes on the virtual clock.
SCRIPTED = [
    # The second endpoint decides: a busy answer, the pause, the page, the row, and then the count.
    ("streaming_pagination", "summary", {"items": 4, "pages": 3, "not_found": 1}, 0.05 + 0.5 + 0.3 + 0.01 + 0.01),
    ("parallel_http", "report", {"total": 10, "ok": 9, "failed": 1}, 3.0),
    # The first city decides: its first hotel has two pages, its second hotel one.
    ("nested_paging", "report", {"rooms_by_city": {"Lisbon": 4, "Oslo": 1}, "rooms": 5}, 0.1 + 3 * 0.3),
    # The mirror answers after two seconds; the archive, which would take a minute, is stopped.
    ("first_answer", "found", {"from": "mirror", "rows": 2}, 2.0),
    # The shops in their order, the slowest first; the busy one is asked again, and one is closed.
    ("price_survey", "report", {"shops": ["north", "south", "east"], "cheapest": 9, "average": 12.0}, 4.0),
    # The third order comes after ten minutes and takes one.
    ("late_orders", "report", {"orders": 3, "total": 35}, 660.0),
    # The step goes on after two seconds; the third replica is awaited by the end.
    ("quorum", "written", {"replicas": 2}, 60.0),
    # The refunds have the staging area from 1 s to 31 s, then the orders for 3 s.
    ("shared_staging", "report", {"orders": 2, "refunds": 1}, 1 + 30 + 3.0),
    # Withdrawn after a quarter of an hour; the packing, which would end at 25 min, is stopped.
    ("withdrawn_order", "refund", {"data": {"refunded": True}}, 15 * 60 + 2.0),
    # Two hosts of 20 minutes each are done; the third is stopped after 50.
    ("rollout", "halted", {"released": ["a.example", "b.example"], "why": "interrupted"}, 50 * 60.0),
    # A hold, two bookings, and none for the car; three are undone one after the other, and the hold is lifted.
    ("trip_booking", "lift_hold", {"trip": "failed", "why": "http.status"}, 1 + 2 + 1 + 3 + 3 * 1 + 1),
    ("approval", "spend", {"spent": 1200, "by": "Ada"}, 15 * 60),
    # The payment comes after an hour.
    ("payment", "ship", {"order": 42, "paid": 120}, 60 * 60),
    ("retry_backoff", "done", {"received": 42, "attempts": 3}, 5 + 0.2 + 0.1 + 0.4 + 0.1 + 0.1),
]
FAILING = {"trip_booking"}
"""Examples whose script has them fail: they show what follows then."""


def program(name: str, *arguments: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    """One of our programs as a user starts it, without what may be set in this environment."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("NOETL_")}
    return subprocess.run(
        [PROGRAMS / name, *arguments],
        cwd=cwd,
        env=env,
        text=True,
        capture_output=True,
        timeout=120,
        check=False,
    )


def run(example: str, arguments: list[str], folder: Path, status: str = "completed") -> dict[str, object]:
    """Run an example in a folder of its own; what `noetl run --json` says."""
    store = f"sqlite:///{folder}/log.sqlite"
    done = program("noetl", "run", str(EXAMPLES / example), "--json", "--store", store, *arguments, cwd=folder)
    assert done.returncode == (status != "completed"), done.stdout + done.stderr
    document = json.loads(done.stdout)
    assert document["status"] == status
    return document


def result_of(execution_id: object, step: str, folder: Path) -> object:
    """The result of a step; None where it did not run."""
    store = f"sqlite:///{folder}/log.sqlite"
    done = program("noetl", "result", str(execution_id), step, "--json", "--store", store, cwd=folder)
    return json.loads(done.stdout) if done.returncode == 0 else None


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of the examples' server."""
    with subprocess.Popen(
        [sys.executable, EXAMPLES / "server.py", "--port", "0"], stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        yield child.stdout.readline().split()[-1]
        child.terminate()
        assert child.wait(60) == 0


@pytest.mark.parametrize("example", PLAYBOOKS)
def test_an_example_has_no_finding(example: str, tmp_path: Path) -> None:
    plan = str(tmp_path / "plan.ir")
    done = program(
        "noetlc", "compile", str(EXAMPLES / example), "--path", str(EXAMPLES), "--strict", "-o", plan, cwd=tmp_path
    )
    assert done.returncode == 0, done.stdout + done.stderr
    checked = program("noetlc", "lint", "--strict", "--format", "json", str(EXAMPLES / example), cwd=EXAMPLES)
    assert (checked.returncode, json.loads(checked.stdout)) == (0, [])


@pytest.mark.parametrize(("example", "arguments", "step", "expected"), RUNS)
def test_an_example_gives_its_result(
    example: str, arguments: list[str], step: str, expected: object, server: str, tmp_path: Path
) -> None:
    if "api_url" in (EXAMPLES / example).read_text():
        arguments = [*arguments, "--set", f"api_url={server}"]
    document = run(example, arguments, tmp_path)
    assert result_of(document["execution_id"], step, tmp_path) == expected


def test_a_declared_result_is_that_of_the_execution(tmp_path: Path) -> None:
    document = run("declared_inputs.yaml", ["--set", "day=2026-01-31", "--set", "limit=2"], tmp_path)
    assert document["result"] == {"loaded": 2, "of": "north on 2026-01-31", "note": None}


def test_a_large_result_is_kept_beside_the_log(tmp_path: Path) -> None:
    document = run("large_result.yaml", [], tmp_path)
    report = result_of(document["execution_id"], "report", tmp_path)
    assert isinstance(report, dict)
    assert (report["count"], report["highest"]["value"]) == (5000, 100)
    assert report["highest"]["minute"] == next(i for i in range(5000) if i * 7 % 101 == 100)
    assert report["stored_bytes"] > 16384


def test_a_payment_that_comes_first_is_kept_for_its_order(tmp_path: Path) -> None:
    store = ["--store", f"sqlite:///{tmp_path}/log.sqlite"]
    run("hello.yaml", [], tmp_path)  # makes the store
    for order, amount in ((41, 7), (42, 120)):
        paid = ["--key", f"order {order}", "--name", "paid", "--data", json.dumps({"amount": amount})]
        assert program("noetl", "signal", *paid, *store, cwd=tmp_path).returncode == 0
    document = run("payment.yaml", ["--set", "order=42"], tmp_path)
    assert result_of(document["execution_id"], "ship", tmp_path) == {"order": 42, "paid": 120}


def test_the_tests_of_the_examples_pass(tmp_path: Path) -> None:
    done = subprocess.run([PROGRAMS / "noetl", "test", "--quiet", EXAMPLES], cwd=tmp_path, capture_output=True)
    assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()


def test_every_script_has_its_example() -> None:
    assert [name.removesuffix(".script.yaml") for name in SCRIPTS] == sorted(row[0] for row in SCRIPTED)


@pytest.mark.parametrize(("name", "step", "expected", "seconds"), SCRIPTED)
def test_a_script_fixes_result_and_time(
    name: str, step: str, expected: dict[str, object], seconds: float, tmp_path: Path
) -> None:
    script = ["--script", str(EXAMPLES / f"{name}.script.yaml")]
    document = run(f"{name}.yaml", script, tmp_path, "failed" if name in FAILING else "completed")
    result = result_of(document["execution_id"], step, tmp_path)
    assert isinstance(result, dict)
    assert {key: result[key] for key in expected} == expected
    began, ended = (datetime.fromisoformat(str(document[key])) for key in ("started", "ended"))
    assert (ended - began).total_seconds() == pytest.approx(seconds)
