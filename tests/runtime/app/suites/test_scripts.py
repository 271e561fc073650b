"""Scripts that stand in for tools: `times`, kinds that run for real, attempts without an entry, entries never used."""

import json
from pathlib import Path

import pytest

from harness.here import done_here
from harness.suites import FETCH, brought, case, failing, put, run_tests, told

ROWS = {"result": [3, 4]}
BUSY = {"status": "error", "http": {"status": 503}, "error": {"code": "http.status"}}
TWICE = [
    {"step": "start", "times": 2, "outcome": BUSY},
    {"step": "start", "outcome": ROWS},
]


def test_an_outcome_with_times_makes_room_for_the_next(tmp_path: Path) -> None:
    done = told(tmp_path, case({"result": {"sum": 7}, "duration": 4}, outcomes=TWICE))
    assert done.returncode == 0, done.stdout


def test_what_is_not_used_as_often_as_it_says_fails(tmp_path: Path) -> None:
    rows = [{**TWICE[0], "times": 3}, TWICE[1]]
    # The third failure is the last try, so that the run fails and nothing is left for the second outcome.
    done = told(tmp_path, case({"status": "failed"}, outcomes=rows))
    assert failing(done) == ["the outcome was never used: no attempt came to it, or an entry above fits first"]
    rows = [{**TWICE[0], "times": 5}]
    done = told(tmp_path, case({"status": "failed"}, outcomes=rows))
    assert failing(done) == [
        "the outcome was used only 3 of 5 times: no attempt came to it, or an entry above fits first"
    ]


def test_a_shared_outcome_is_used_by_one_case_at_least(tmp_path: Path) -> None:
    cases = [
        {"case": "a", "outcomes": [{"step": "start", "outcome": {"result": []}}], "expect": {"result": "nothing"}},
        {"case": "b", "expect": {"result": {"sum": 7}}},
    ]
    shared = [{"step": "start", "outcome": ROWS}]
    assert told(tmp_path, json.dumps({"outcomes": shared, "cases": cases})).returncode == 0
    done = told(tmp_path, json.dumps({"outcomes": shared, "cases": cases[:1]}))
    assert failing(done) == ["the outcome was never used: no attempt came to it, or an entry above fits first"]
    # Whether the others would have used it is not known of some of the cases.
    assert told(tmp_path, json.dumps({"outcomes": shared, "cases": cases}), "-k", "a").returncode == 0


def test_what_has_an_effect_outside_is_never_real_unless_said(tmp_path: Path) -> None:
    done = told(tmp_path, case({"status": "failed"}))
    # Asked three times, and told once.
    (message,) = failing(done)
    assert message.startswith("no outcome fits `start / fetch` (kind `http`, attempt 1)")
    assert "`- {step: start, task: fetch, outcome: {result: …}}`" in message


def test_a_missing_outcome_is_one_failure_whatever_is_expected(tmp_path: Path) -> None:
    expected = {"status": "completed", "steps": ["start", "store"], "result": {"sum": 7}, "ctx": {"count": 2}}
    error = {"status": "failed", "error": {"code": "orders.none", "step": "start", "task": "fetch"}}
    for each in (expected, error):
        (message,) = failing(told(tmp_path, case(each)))
        assert message.startswith("no outcome fits `start / fetch` (kind `http`, attempt 1)")


def test_a_failure_arc_does_not_hide_that_an_outcome_is_missing(tmp_path: Path) -> None:
    playbook = """
workflow:
  - step: start
    tool: {name: ask, kind: http, url: "https://example.org"}
    next: {arcs: [{step: mend, when: "{{ event.name == 'step.failed' }}"}]}
  - step: mend
    tool: {kind: noop}
"""
    done = told(tmp_path, case({"status": "completed"}), playbook=playbook)
    assert failing(done)[0].startswith("no outcome fits `start / ask`")


def test_python_can_be_answered_too(tmp_path: Path) -> None:
    outcomes = [*brought(ROWS), {"step": "store", "outcome": {"result": {"sum": 1}}}]
    assert told(tmp_path, case({"result": {"sum": 1}}, outcomes=outcomes)).returncode == 0
    done = told(tmp_path, case({"result": {"sum": 7}}, outcomes=brought(ROWS), real=[]))
    assert failing(done)[0].startswith("no outcome fits `store / store_task` (kind `python`, attempt 1)")


FILES = """
workflow:
  - step: start
    tool:
      kind: sqlite
      database: data/orders.db
      command: "create table t (n integer); insert into t values (1), (2); select sum(n) as n from t"
    next: {arcs: [{step: read}]}
  - step: read
    tool: {kind: python, code: "result = open('notes/a.txt').read()"}
"""


def test_a_case_has_a_folder_of_its_own_with_the_files_that_it_names(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("hello")
    (tmp_path / "data").mkdir()
    cases = {"files": ["notes"], "cases": [
        {"case": name, "files": ["data"], "expect": {"result": "hello"}} for name in ("first", "second")
    ]}  # fmt: skip
    done = told(tmp_path, json.dumps(cases), playbook=FILES)
    # The second one would find the table of the first in one folder for both.
    assert done.returncode == 0, done.stdout
    assert [path.name for path in (tmp_path / "data").iterdir()] == []


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    done = told(tmp_path, case({"status": "completed"}, files=["gone.csv"], outcomes=brought(ROWS)))
    assert failing(done)[0].startswith("the folder of the case cannot be made")


def test_real_tools_beside_each_other_end_in_the_order_in_which_they_began(tmp_path: Path) -> None:
    playbook = """
workflow:
  - step: start
    loop: {in: [0.2, 0.0, 0.1], iterator: pause, spec: {mode: parallel, max_in_flight: 3}}
    tool:
      kind: python
      args: {pause: "{{ iter.pause }}"}
      code: "import time; time.sleep(pause); result = pause"
"""
    done = told(tmp_path, case({"duration": 1}), playbook=playbook)
    assert failing(done) == ["the run took 0 s on its clock, and 1 s are expected"]
    # By the clock of the wall the first item is done last.
    assert "start: start_task[0] ok, start_task[1] ok, start_task[2] ok\n" in done.stdout


WAIT = """
workflow:
  - step: start
    tool: {name: ask, kind: wait, events: [approved]}
"""


def test_a_signal_that_nothing_hears_is_a_slip(tmp_path: Path) -> None:
    done = told(tmp_path, case({"status": "waiting"}, signals=[{"at": "1s", "name": "aproved"}]), playbook=WAIT)
    (line,) = failing(done)
    assert line.startswith("nothing in the playbook waits for a signal `aproved`; did you mean `approved`?"), line


def test_an_error_needs_no_status(tmp_path: Path) -> None:
    outcomes = [{"step": "start", "outcome": {"error": {"code": "http.connect"}}}]
    done = told(tmp_path, case({"status": "failed", "error": {"code": "retry.exhausted"}}, outcomes=outcomes))
    assert done.returncode == 0, done.stdout + done.stderr


UNDER_KEY = """
workload: {order: 7}
workflow:
  - step: start
    next: {arcs: [{step: pay, spec: {delay: 60}}]}
  - step: pay
    tool: {name: w, kind: wait, events: [paid, declined], correlation: "order {{ workload.order }}", timers: {late: 1h}}
    next:
      arcs:
        - {step: ship, when: "{{ event.result.name == 'paid' }}", args: {n: "{{ event.result.data }}"}}
        - {step: drop}
  - {step: ship, tool: {kind: noop, result: "{{ args.n }}"}}
  - {step: drop, tool: {kind: noop, result: dropped}}
"""


@pytest.mark.parametrize(
    ("signals", "expected"),
    [
        ([{"at": "10s", "key": "order 7", "name": "paid", "data": 1}], {"result": 1, "duration": 60}),
        ([{"at": "70s", "key": "order 7", "name": "paid", "data": 2}], {"result": 2, "duration": 70}),
        ([{"at": 10, "key": "order 7", "name": "declined", "keep_for": 51}], {"result": "dropped", "duration": 60}),
        ([{"at": 10, "key": "order 7", "name": "paid", "keep_for": 40}, {"at": 90, "name": "paid", "data": 3}],
         {"result": 3, "duration": 90}),
    ],
)  # fmt: skip
def test_a_signal_under_a_key_is_kept_for_the_wait_that_comes(
    tmp_path: Path, signals: list[object], expected: dict[str, object]
) -> None:
    done = told(tmp_path, case(expected, signals=signals), playbook=UNDER_KEY)
    lost = [line for line in done.stdout.splitlines() if "no wait took" in line]
    # Of the last one the first signal goes before its wait comes, and that is told.
    assert (done.returncode, len(lost)) == ((1, 1) if len(signals) > 1 else (0, 0)), done.stdout + done.stderr
    assert "expected `result" not in done.stdout and "the run took" not in done.stdout


@pytest.mark.parametrize(
    ("signal", "why"),
    [
        ({"key": "oder 7", "name": "paid"}, "; did you mean `order 7`? (is waited under `order 7`)"),
        (
            {"key": "order 7", "name": "payed"},
            "; did you mean `paid`? (under that key is waited for `declined`, `paid`)",
        ),
        ({"key": 7, "name": "paid"}, " (is waited under `order 7`)"),
    ],
)
def test_a_signal_under_a_key_that_no_wait_got_is_a_slip(tmp_path: Path, signal: dict[str, object], why: str) -> None:
    text = case({"result": "dropped"}, signals=[signal])
    done = told(tmp_path, text, playbook=UNDER_KEY)
    assert failing(done) == [f"no wait took the signal `{signal['name']}` under the key `{signal['key']}`{why}"]
    assert (
        f"orders.test.yaml:{1 + text.splitlines().index(next(one for one in text.splitlines() if 'key' in one))}"
        in (done.stdout)
    )


@pytest.mark.parametrize("keep_for", [0, 1, "1h"])
def test_a_signal_that_came_back_from_its_wait_was_not_taken(tmp_path: Path, keep_for: object) -> None:
    """One that comes when the timer is due finds the wait listed, and the timer is first: kept for no time more, it is
    gone then, and kept for longer, until the run is over.
    """
    signal = {"at": 3660, "key": "order 7", "name": "paid", "keep_for": keep_for}
    done = told(tmp_path, case({"result": "dropped"}, signals=[signal]), playbook=UNDER_KEY)
    [said] = failing(done)
    assert said.startswith("no wait took the signal `paid` under the key `order 7`"), done.stdout


def test_a_wait_with_timers_alone_is_none_that_a_signal_could_be_meant_for(tmp_path: Path) -> None:
    playbook = UNDER_KEY.replace("[paid, declined]", "\"{{ workload.get('nothing') }}\"")
    done = told(tmp_path, case({"result": "dropped"}, signals=[{"key": "order 7", "name": "paid"}]), playbook=playbook)
    assert failing(done) == ["no wait took the signal `paid` under the key `order 7`: nothing waits under a key"]


def test_one_that_comes_when_the_run_is_over_is_a_slip_and_one_of_all_cases_is_not(tmp_path: Path) -> None:
    late = {"key": "order 7", "name": "paid", "at": "2h"}
    done = told(tmp_path, case({"result": "dropped"}, signals=[late]), playbook=UNDER_KEY)
    assert failing(done) == [
        "signal `paid` under the key `order 7` comes too late, at 7200 s: the run is over then",
    ]
    of_all = """
signals: [{key: order 7, name: paid, data: 7}, {key: order 8, name: paid, data: 8}]
cases:
  - {case: seven, expect: {result: 7}}
  - {case: eight, payload: {order: 8}, expect: {result: 8}}
"""
    done = told(tmp_path, of_all, playbook=UNDER_KEY)
    assert done.returncode == 0, done.stdout
    done = told(tmp_path, of_all.replace("order 8, name: paid", "order 8, name: pay"), playbook=UNDER_KEY)
    assert any("no wait took the signal `pay` under the key `order 8`" in line for line in failing(done))


CALLS = """
workflow:
  - {step: start, tool: {name: c, kind: playbook, path: t/child}}
---
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: c, path: t/child}
workflow:
  - {step: start, tool: {name: w, kind: wait, events: [go], correlation: there}}
"""


def test_a_signal_under_a_key_reaches_the_wait_of_a_child(tmp_path: Path) -> None:
    result = {"name": "go", "data": 4}
    signals = [{"at": 3, "key": "there", "name": "go", "data": 4}]
    put(tmp_path, case({"result": result, "duration": 3}, signals=signals), CALLS.partition("---")[0])
    (tmp_path / "child.yaml").write_text(CALLS.partition("---")[2], "utf-8")
    done = run_tests(tmp_path, "orders.test.yaml", "--path", ".")
    assert done.returncode == 0, done.stdout + done.stderr
    (tmp_path / "orders.test.yaml").write_text(case({"status": "waiting"}, signals=[{**signals[0], "key": "ther"}]))
    done = run_tests(tmp_path, "orders.test.yaml", "--path", ".")
    assert "did you mean `there`?" in done.stdout


def test_signals_come_at_their_time(tmp_path: Path) -> None:
    signals = [{"at": "90s", "name": "approved", "data": {"by": "Ada"}}]
    done = told(tmp_path, case({"duration": 90}, signals=signals), playbook=WAIT)
    assert done.returncode == 0, done.stdout


def test_a_run_that_waits_for_ever_says_for_what(tmp_path: Path) -> None:
    assert told(tmp_path, case({"status": "waiting"}), playbook=WAIT).returncode == 0
    done = told(tmp_path, case({"status": "completed"}), playbook=WAIT)
    assert failing(done) == ["the run is `waiting`, and `completed` is expected"]
    assert "= it waits: start / ask: waits for signal approved" in done.stdout


POLL = """
workflow:
  - step: start
    tool: {name: look, kind: http, url: "https://example.org"}
    next: {arcs: [{step: start, when: "{{ not start.data }}"}]}
"""


def test_a_scripted_loop_that_never_ends_is_stopped_with_its_cause(tmp_path: Path) -> None:
    outcomes = [{"step": "start", "outcome": {"result": False}}]
    done = told(tmp_path, case({"steps": []}, outcomes=outcomes, limits={"events": 2000}), playbook=POLL)
    message = failing(done)[0]
    assert message.startswith("it was stopped after 2000 events (`limits: {events: …}`); in the last of them")
    assert "`start / look` was done" in message and "give it `times`" in message


def test_a_tool_that_never_ends_is_stopped(tmp_path: Path) -> None:
    playbook = """
workflow:
  - step: start
    tool: {kind: python, code: "while True: pass"}
"""
    done = told(tmp_path, case({"status": "failed"}, limits={"seconds": 0.5}), playbook=playbook)
    assert failing(done)[0].startswith("it was stopped after 0.5 s of real time")


def test_a_payload_with_a_name_that_nothing_reads_is_no_test(tmp_path: Path) -> None:
    done = told(tmp_path, case({"status": "completed"}, payload={"limt": 3}, outcomes=brought(ROWS)))
    assert "limt" in failing(done)[0]


def test_a_script_with_times_cannot_go_on_with_a_run(tmp_path: Path) -> None:
    put(tmp_path, case({}), WAIT)
    (tmp_path / "s.json").write_text(json.dumps({"outcomes": [{"step": "start", "times": 1}]}))
    assert done_here(tmp_path, ["run", "orders.yaml", "--script", "s.json"]).returncode == 5
    done = done_here(tmp_path, ["resume", "last", "--script", "s.json"])
    assert done.returncode == 2 and "a script with `times` cannot go on with a run" in done.stderr


def test_cases_are_the_same_in_several_processes(tmp_path: Path) -> None:
    url = "https://example.org/orders?limit={{ row.n }}"
    expect = {"result": {"sum": "{{ row.n }}"}, "calls": [{"step": "start", "fields": {"url": url}}]}
    rows = [{"n": number} for number in range(40)]
    keys = {"table": rows, "payload": {"limit": "{{ row.n }}"}, "outcomes": brought({"result": ["{{ row.n }}"]})}
    put(tmp_path, json.dumps({"cases": [{"case": "limit {{ row.n }}", **keys, "expect": expect}]}), FETCH)
    alone, beside = (run_tests(tmp_path, "--jobs", jobs) for jobs in ("1", "3"))
    assert (alone.returncode, beside.returncode) == (0, 0), alone.stdout + beside.stdout
    assert alone.stdout.splitlines()[:-1] == beside.stdout.splitlines()[:-1]
    assert len(alone.stdout.splitlines()) == 41
