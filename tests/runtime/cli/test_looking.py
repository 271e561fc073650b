"""The commands that look at executions: list, status, events, replay, result; and credential."""

import json
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from zlib import crc32

import jsonschema
import pytest

from noetl.ports import ExecutionRow
from noetl.store.sqlite import open_store
from noetl_ir.envelope import envelope_schema
from noetl_ir.events import read_event, write_event
from services import waited_for

if TYPE_CHECKING:
    from conftest import Home

STEPS = """
workflow:
  - step: start
    tool: {kind: python, code: "result = 'one'"}
    next: {arcs: [{step: each}]}
  - step: each
    loop: {in: "{{ [1, 2, 3] }}", iterator: n}
    tool: {kind: python, args: {n: "{{ iter.n }}"}, code: "result = n * 10"}
    next: {arcs: [{step: never, when: "{{ false }}"}]}
  - {step: never, tool: {kind: noop}}
"""
WAITING = """
workflow:
  - step: start
    tool: {kind: noop}
    next: {spec: {mode: inclusive}, arcs: [{step: each}, {step: gated}]}
  - step: each
    loop: {in: "{{ [1, 2, 3, 4] }}", iterator: n, spec: {mode: parallel, max_in_flight: 2}}
    tool:
      - call:
          kind: shell
          command: "exit 1"
          spec:
            policy:
              rules:
                - when: "{{ outcome.status == 'error' }}"
                  then: {do: retry, attempts: 2, delay: 3600}
                - else: {then: {do: continue}}
  - step: gated
    spec: {policy: {admit: {rules: [{when: "{{ ctx.open | default(false) }}", then: {allow: true}}], on_deny: wait}}}
    tool: {kind: noop}
"""
LARGE = """
executor: {spec: {policy: {limits: {max_payload_bytes: 1024}}}}
workflow:
  - step: start
    tool: {kind: python, code: "result = {'text': 'x' * 5000}"}
"""


@contextmanager
def altering(home: "Home") -> Iterator[sqlite3.Connection]:
    """The database without what keeps its log append-only."""
    database = sqlite3.connect(home.folder / ".noetl/noetl.db")
    with database:
        for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            database.execute(f"DROP TRIGGER {name}")
        yield database
    database.close()


def test_a_store_that_is_not_there_is_not_made(home: "Home") -> None:
    for words in (
        ["list"],
        ["status"],
        ["playbooks"],
        ["signals"],
        ["status", "x"],
        ["events", "x"],
        ["replay", "x"],
        ["result", "x"],
        ["resume", "x"],
        ["cancel", "x"],
    ):
        done = home.run(*words)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == "error: there is no store at .noetl/noetl.db\n"
    assert list(home.folder.iterdir()) == []


def test_executions_are_listed_newest_first(home: "Home") -> None:
    plan = home.plan(STEPS)
    ids = [home.json("run", plan)["execution_id"] for _ in range(2)]  # type: ignore[index]
    rows = home.json("list")
    assert isinstance(rows, list)
    assert [row["execution_id"] for row in rows] == ids[::-1]
    assert {row["status"] for row in rows} == {"completed"}
    keys = {
        "execution_id",
        "status",
        "owned",
        "playbook",
        "plan_digest",
        "started",
        "ended",
        "parent",
        "rerun_of",
        "error",
    }
    assert set(rows[0]) == keys
    head, *lines = home.run("list").stdout.splitlines()
    assert head.split() == ["EXECUTION", "STATUS", "STARTED", "TOOK", "PLAYBOOK"]
    assert [line.split()[:2] for line in lines] == [[name, "completed"] for name in ids[::-1]]
    assert home.run("status").stdout == "2 completed\n"
    summary = home.json("status")
    assert isinstance(summary, dict)
    assert (summary["counts"]["completed"], summary["unfinished"]) == (2, [])
    assert [row["execution_id"] for row in home.json("list", "--limit", "1")] == ids[1:]  # type: ignore[attr-defined]
    assert home.json("list", "--status", "failed") == []
    assert len(home.json("list", "--status", "completed", "--limit", "5")) == 2  # type: ignore[arg-type]
    assert home.run("list", "--status", "done").returncode == 2


def test_last_has_many_children_and_many_are_not_over(home: "Home") -> None:
    """More than are looked at together, and than fit on a terminal."""
    home.run("run", home.plan(STEPS))
    store = open_store(f"sqlite:///{home.folder}/.noetl/noetl.db")
    only = store.executions()[0]
    for number in range(250):
        row = ExecutionRow(
            f"c{number}", "t/c", only.plan_digest, "running", only.execution_id, only.started + 1 + number, None
        )
        store.create(row)
    store.close()
    assert home.json("result", "last") == home.json("result", only.execution_id)
    lines = home.run("status").stdout.splitlines()
    assert lines[0] == "250 running, 1 completed"
    assert (len(lines), lines[-1]) == (52, "  … and 200 more (noetl list --status STATUS shows all)")


def test_last_is_the_newest_that_nobody_called(home: "Home") -> None:
    done = home.run("status", "last")
    assert done.stderr == "error: there is no store at .noetl/noetl.db\n"
    head = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: child, path: child}\n"
    (home.folder / "child.yaml").write_text(head + "workflow:\n  - step: start\n    tool: {kind: noop}\n")
    home.run("run", home.plan(STEPS))
    caller = home.plan("workflow:\n  - step: start\n    tool: {kind: playbook, path: child}\n", "caller.ir")
    execution = home.json("run", caller, "--path", ".")["execution_id"]  # type: ignore[index]
    assert len(home.json("list")) == 3  # type: ignore[arg-type]
    for command in ("status", "events", "replay", "result", "resume"):
        assert home.run(command, "last").returncode == 0
    assert home.run("status", "last").stdout.split("\n")[0].endswith(execution)


def test_resuming_what_has_ended_says_that_nothing_runs_again(home: "Home") -> None:
    home.run("run", home.plan(LARGE))
    execution = home.only()
    told = f"execution {execution} has ended (completed): nothing is left to resume"
    assert told in home.run("resume", execution).stderr
    assert f"{told}, and it did not end by engine.fault" in home.run("resume", execution, "--retry-fault").stderr


def test_a_store_can_be_named_once_for_all_commands(home: "Home", monkeypatch: pytest.MonkeyPatch) -> None:
    home.env["NOETL_STORE"] = "sqlite:///kept.db"
    home.run("run", home.plan(LARGE))
    monkeypatch.setenv("NOETL_STORE", "sqlite:///kept.db")
    execution = home.only()
    assert f"(noetl result {execution})" in home.run("resume", execution).stdout
    monkeypatch.setenv("NOETL_STORE", "kept.db")
    done = home.run("list")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith(
        "Error: --store (or NOETL_STORE) is `kept.db`: write it as sqlite:///PATH, as in sqlite:///kept.db, "
        "or postgresql://HOST/DATABASE\n"
    )


def test_an_unknown_id_names_the_nearest_and_a_beginning_is_enough(home: "Home") -> None:
    home.run("run", home.plan(STEPS))
    execution = home.only()
    wrong = execution[:-1] + ("0" if execution[-1] != "0" else "1")
    done = home.run("status", wrong)
    assert done.returncode == 1
    assert done.stderr == f"error: there is no execution `{wrong}` in this store; did you mean {execution}?\n"
    assert home.run("status", execution[:8]).stdout.startswith("completed: tests/tried, execution")
    home.run("run", "plan.ir")
    done = home.run("status", execution[:2])
    assert "2 executions begin with" in done.stderr
    done = home.run("status", "\x1b[31m")
    assert "`\\x1b[31m`" in done.stderr
    assert "did you mean" not in done.stderr


def test_results_of_the_execution_and_of_its_steps(home: "Home") -> None:
    home.run("run", home.plan(STEPS))
    execution = home.only()
    assert home.json("result", execution) == [10, 20, 30]
    assert home.json("result", execution, "start") == "one"
    assert home.run("result", execution, "each").stdout == "[\n  10,\n  20,\n  30\n]\n"
    for step, said in (("never", "step `never` has not succeeded"), ("strat", "did you mean `start`?")):
        done = home.run("result", execution, step)
        assert (done.returncode, done.stdout) == (1, "")
        assert said in done.stderr


def test_a_result_that_is_stored_outside_is_followed(home: "Home") -> None:
    document = home.json("run", home.plan(LARGE))
    assert isinstance(document, dict)
    assert document["result"]["__ref__"] is True
    execution = home.only()
    assert home.json("result", execution) == {"text": "x" * 5000}
    assert "stored outside of the log (noetl result" in home.run("resume", execution).stdout
    for path in home.folder.glob(".noetl/*.blobs/**/*"):
        if path.is_file():
            path.write_bytes(b"altered")
    done = home.run("result", execution)
    assert (done.returncode, done.stdout) == (1, "")
    assert "is gone or altered" in done.stderr


def test_status_tells_what_goes_on(home: "Home") -> None:
    child = home.start("run", home.plan(WAITING), until="exit code 1")
    execution = home.only()
    while len([row for row in home.json("status", execution)["now"] if row["what"] == "retry"]) < 2:  # type: ignore[index]
        assert child.poll() is None
    document = home.json("status", execution)
    assert isinstance(document, dict)
    assert (document["status"], document["owned"]) == ("running", True)
    step, *retries, gate = document["now"]
    assert step["iterations"] == {"done": 0, "total": 4, "failed": 0, "running": 0, "to_run": 0, "waiting": 2}
    assert [(row["what"], row["iteration"], row["attempt"]) for row in retries] == [
        ("retry", [0], 2),
        ("retry", [1], 2),
    ]
    assert (gate["what"], gate["step"]) == ("gate", "gated")
    shown = home.run("status", execution).stdout
    assert shown.startswith("running: tests/tried")
    assert "\n  each: 0 of 4, 2 waiting\n" in shown
    assert "\n  each[0] / call: attempt 2 in 59 m " in shown or "\n  each[0] / call: attempt 2 in 1 h 00 m" in shown
    assert "\n  gated: a token waits at the gate\n" in shown
    child.kill()
    child.wait()
    shown = home.run("status", execution).stdout
    assert shown.startswith("running (no owner): ")
    assert "\n  each: 0 of 4, 2 waiting\n" in shown
    assert home.run("list").stdout.splitlines()[1].split()[1:4] == ["running", "(no", "owner)"]
    assert home.json("list")[0]["owned"] is False  # type: ignore[index]


def test_events_are_envelopes_that_fit_their_schema(home: "Home") -> None:
    home.run("run", home.plan(STEPS))
    execution = home.only()
    lines = [json.loads(line) for line in home.run("events", execution, "--json").stdout.splitlines()]
    for line in lines:
        jsonschema.validate(line, envelope_schema())
    assert [line["position"] for line in lines] == [*range(1, len(lines) + 1)]
    assert {line["execution_id"] for line in lines} == {execution}
    done = [line for line in lines if line["event_type"] == "task.done" and line["step"] == "each"]
    assert [(line["iteration"], line["payload"]["result"], line["status"]) for line in done] == [
        ([0], 10, "success"),
        ([1], 20, "success"),
        ([2], 30, "success"),
    ]
    shown = home.run("events", execution).stdout.splitlines()
    assert len(shown) == len(lines)
    assert shown[-1].split()[3:] == ["playbook.processed"]


def test_events_are_whole_when_they_are_piped(home: "Home") -> None:
    home.run("run", home.plan(LARGE.replace("1024", "100000")))
    assert f'"result": {{"text": "{"x" * 5000}"}}' in home.run("events", "last").stdout


def test_events_are_followed_to_the_end(home: "Home") -> None:
    child = home.start("run", home.plan(WAITING), until="exit code 1")
    execution = home.only()
    words = [sys.executable, "-m", "noetl.cli", "events", execution, "--follow"]
    with subprocess.Popen(words, cwd=home.folder, env=home.env, stdout=subprocess.PIPE, text=True) as follower:
        assert follower.stdout is not None
        assert "playbook.execution.requested" in follower.stdout.readline()
        home.run("cancel", execution)
        rest = follower.stdout.read().splitlines()
        assert follower.wait(timeout=60) == 0
    assert rest[-1].split()[3:] == ["playbook.processed"]
    child.wait()


def test_replay_prints_the_state_and_refuses_what_was_no_run(home: "Home") -> None:
    home.run("run", home.plan(STEPS))
    execution = home.only()
    document = home.json("replay", execution)
    assert isinstance(document, dict)
    assert (document["legal"], document["status"], document["marking"]) == (True, "completed", {})
    with altering(home) as database:
        chain = 0
        for key, event_id, body in database.execute("SELECT key, event_id, body FROM events ORDER BY key").fetchall():
            event = read_event(body)
            if event.event_type == "loop.done":
                body = write_event(event._replace(data={**event.data, "stats": {"total": 3, "ok": 1}}))
            chain = crc32(body, crc32(event_id.encode(), chain))
            database.execute("UPDATE events SET body = ?, chain = ? WHERE key = ?", (body, chain, key))
    done = home.run("replay", execution)
    assert done.returncode == 1
    assert "not a legal run: event " in done.stdout
    assert "`loop.done`: data is" in done.stdout
    refused = home.json("replay", execution)
    assert isinstance(refused, dict)
    assert refused["legal"] is False
    assert f"event {refused['position']}: " in done.stdout


def test_a_damaged_log_is_told_without_a_traceback(home: "Home") -> None:
    home.run("run", home.plan(STEPS))
    execution = home.only()
    with altering(home) as database:
        database.execute("UPDATE events SET body = x'00' WHERE key & 4294967295 = 3")
    for command in ("status", "events", "replay", "result"):
        done = home.run(command, execution)
        assert done.returncode == 1
        assert "event 3" in done.stderr
        assert "Traceback" not in done.stderr


def test_credentials_are_kept_and_never_printed(home: "Home") -> None:
    pytest.importorskip("cryptography")
    assert home.json("credential", "list") == []
    done = home.run(
        "credential", "add", "db", "--type", "postgres", "--field", "host=h", "--secret", "password", stdin="s3cret\n"
    )
    assert (done.returncode, done.stdout) == (0, "stored: db\n")
    (home.folder / "fields.json").write_text('{"token": "t0ken"}')
    assert home.run("credential", "add", "api", "--json-file", "fields.json").returncode == 0
    rows = home.json("credential", "list")
    assert isinstance(rows, list)
    assert [(row["name"], row["type"]) for row in rows] == [("api", "generic"), ("db", "postgres")]
    said = home.run("credential", "list")
    assert "s3cret" not in said.stdout
    from noetl.secrets.credentials import Credentials

    kept = Credentials(str(home.folder / ".noetl/noetl.db.credentials"))
    assert kept.fields("db") == {"host": "h", "password": "s3cret"}
    assert kept.fields("api") == {"token": "t0ken"}
    done = home.run("credential", "delete", "dbb")
    assert (done.returncode, done.stderr) == (1, "error: there is no credential `dbb`; did you mean `db`?\n")
    taken = home.run("credential", "add", "db", "--secret", "pin")
    assert (taken.returncode, taken.stdout) == (1, "")
    assert (
        taken.stderr
        == "error: there is a credential `db` already, of type postgres; --replace stores this one instead\n"
    )
    assert kept.fields("db") == {"host": "h", "password": "s3cret"}
    done = home.run("credential", "add", "db", "--replace", "--field", "host=h", "--secret", "pin", stdin="1234\n")
    assert done.stdout == "replaced: db\n"
    assert (kept.fields("db"), kept.type_of("db")) == ({"host": "h", "pin": "1234"}, "postgres")
    assert done.stderr.startswith("warning: `pin` has fewer than 8 characters")
    assert "1234" not in done.stderr
    assert home.run("credential", "add", "mailer", "--field", "security=none", "--field", "host=h").stderr == ""
    assert home.run("credential", "add", "new", "--replace", "--secret", "pin", stdin="12345678\n").stderr == ""
    assert home.run("credential", "delete", "db").returncode == 0
    assert home.run("credential", "delete", "db").returncode == 1


@pytest.mark.parametrize(
    "words", [[], ["--field", "x"], ["--secret", "x"], ["--json-file", "nowhere"], ["--json-file", "list.json"]]
)
def test_a_credential_needs_fields(home: "Home", words: list[str]) -> None:
    (home.folder / "list.json").write_text('["s3cret"]')
    done = home.run("credential", "add", "db", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert "s3cret" not in done.stderr


DUE = """
workflow:
  - {step: start, tool: {kind: wait, events: [go], timers: {late: 0.6}}}
"""


def test_a_timer_that_was_due_before_a_signal_came_ends_the_wait(home: "Home") -> None:
    """Nobody drove the execution when it was due; its time is in the log."""
    child = home.start("run", home.plan(DUE), until="start: started")
    waited_for(lambda: "task.started" in home.run("events", "last").stdout, "it never waits")
    child.kill()
    child.wait()
    time.sleep(0.7)
    home.run("signal", "last", "--name", "go")
    home.run("resume", "last")
    document = home.json("result", "last")
    assert isinstance(document, dict) and document["name"] != "go"


def test_a_log_whose_end_is_gone_is_no_legal_run(home: "Home") -> None:
    home.run("run", home.plan("workflow:\n  - {step: start, tool: {kind: noop, result: 1}}\n"))
    assert home.run("replay", "last").returncode == 0
    with sqlite3.connect(home.folder / ".noetl/noetl.db") as store:
        store.execute("DROP TRIGGER events_never_go")
        store.execute("DELETE FROM events WHERE key > (SELECT max(key) FROM events) - 2")
    for command in ("replay", "status", "resume", "result", "events"):
        done = home.run(command, "last")
        assert done.returncode not in (0, 3) and "the end of the log of" in done.stderr, (command, done)


def test_a_run_that_a_script_stood_in_for_is_replayed(home: "Home") -> None:
    (home.folder / "x.script").write_text("outcomes: [{task: start_task, outcome: {result: {stdout: a}}}]\n")
    plan = home.plan("workflow:\n  - {step: start, tool: {kind: shell, command: x}}\n")
    assert home.run("run", plan, "--script", "x.script").returncode == 0
    assert home.run("replay", "last").returncode == 0


APART = """
workflow:
  - step: start
    next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}
  - {step: a, tool: {kind: noop, result: A}}
  - {step: b, tool: {kind: noop, result: B}, next: {arcs: [{step: c}]}}
  - {step: c, tool: {kind: noop, result: C}}
"""


@pytest.mark.parametrize(
    ("declared", "result"),
    [("", "A"), ('executor: {spec: {result: "{{ [c, a] }}"}}', ["C", "A"]), ("executor: {spec: {result: null}}", "A")],
)
def test_every_command_gives_the_result_of_the_execution(home: "Home", declared: str, result: object) -> None:
    # The line goes by `a`, the first arc that fired, though `c` ends last (EXTENSIONS.md §2).
    ended = json.loads(home.run("run", home.plan(declared + APART), "--json", "--quiet").stdout)
    assert ended["result"] == home.json("result", "last") == result
    with home.serving() as (_, url):
        assert home.json("result", ended["execution_id"], "--server", url) == result
        started = home.run("start", home.plan(declared + APART), "--server", url, "--follow", "--json")
        assert json.loads(started.stdout)["result"] == result


INTERRUPTED = """
workflow:
  - step: start
    spec: {policy: {interrupt: {events: [stop, halt], timers: {window: 1h, patience: 2h}}}}
    tool: {name: w, kind: wait, events: [go]}
    next: {arcs: [{step: after}]}
  - step: after
    tool: {name: w, kind: wait, events: [end], correlation: "order 7"}
"""


def test_what_may_interrupt_and_what_interrupted_is_told(home: "Home") -> None:
    source = INTERRUPTED.replace("{step: after}", "{step: after, when: \"{{ event.name == 'step.failed' }}\"}")
    child = home.start("run", home.plan(source), until="start: started")
    execution = home.only()
    while "waits for signal go" not in (shown := home.run("status", execution).stdout):
        assert child.poll() is None
    (line,) = [line for line in shown.splitlines() if "interrupted" in line]
    assert line.startswith("  start: may be interrupted by signal stop, halt or timer window, patience in ")
    document = home.json("status", execution)
    assert isinstance(document, dict) and "interrupted" not in document
    (row,) = [row for row in document["now"] if row["what"] == "interrupt"]
    assert (row["step"], row["signals"], [*row["timers"]]) == ("start", ["stop", "halt"], ["window", "patience"])
    assert row["due"] == row["timers"]["window"] < row["timers"]["patience"]
    home.run("signal", execution, "--name", "halt")
    while "waits for signal end, also under the key `order 7`" not in (shown := home.run("status", execution).stdout):
        assert child.poll() is None
    (line,) = [line for line in shown.splitlines() if "interrupted" in line]
    document = home.json("status", execution)
    assert isinstance(document, dict) and [row["what"] for row in document["now"]] == ["step", "wait"]
    ((step, by, name, at),) = [[row[key] for key in ("step", "by", "name", "at")] for row in document["interrupted"]]
    assert (step, by, name) == ("start", "signal", "halt")
    log = [json.loads(each) for each in home.run("events", execution, "--json").stdout.splitlines()]
    assert [each["ts"] for each in log if each["event_type"] == "step.interrupted"] == [at]
    assert line == f"interrupted: start: by signal halt, at {at[:10]} {at[11:19]}Z"
    assert home.json("list")[0]["status"] == "running"  # type: ignore[index, call-overload]
    child.kill()
    child.wait()


def test_of_many_interruptions_the_last_are_told(home: "Home") -> None:
    """Twelve runs that a timer interrupts, each after a second of the script's clock."""
    loop = """
workload: {n: 0}
workflow:
  - step: start
    spec: {policy: {interrupt: {timers: {late: 1s}}}}
    tool: {name: w, kind: wait, events: [go]}
    next: {arcs: [{step: again}]}
  - step: again
    tool:
      kind: noop
      result: 1
      spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {n: "{{ ctx.n | default(0) + 1 }}"}}}}]}}
    next: {spec: {mode: exclusive}, arcs: [{step: start, when: "{{ ctx.n < 12 }}"}, {step: last}]}
  - {step: last, tool: {kind: noop}}
"""
    source = loop.replace("arcs: [{step: again}]", "arcs: [{step: again, when: \"{{ event.name == 'step.failed' }}\"}]")
    (home.folder / "s.yaml").write_text("outcomes: []\n")
    home.plan(source)
    assert home.run("run", "plan.ir", "--script", "s.yaml").returncode == 0
    lines = [line for line in home.run("status", "last").stdout.splitlines() if "interrupt" in line]
    assert lines[0] == "2 interruptions before these (--json shows them)"
    assert lines[1] == "interrupted: start: by timer late, after 3.0 s" and len(lines) == 11
