"""`noetl run`: what it takes, what it prints, and its exit codes."""

import json
import os
import pty
import subprocess
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Home

NOOP = "workflow:\n  - step: start\n    tool: {kind: noop}\n"
WHOLE = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: whole}\n" + NOOP
ADDED = """
workload: {a: {b: 1, c: 2}, name: nobody}
workflow:
  - step: start
    tool: {kind: python, args: {all: "{{ workload }}"}, code: "result = all"}
"""
FAILING = "workflow:\n  - step: start\n    tool: {kind: python, code: \"raise ValueError(chr(27) + '[2Jboom')\"}\n"
BLOCKED = """
workflow:
  - step: start
    tool: {kind: noop}
    next: {arcs: [{step: left}, {step: right}]}
  - {step: left, tool: {kind: noop}, next: {arcs: [{step: both}]}}
  - {step: right, tool: {kind: noop}, next: {arcs: [{step: both}]}}
  - step: both
    spec: {policy: {join: all}}
    tool: {kind: noop}
"""
RETRYING = """
workflow:
  - step: start
    tool:
      - call:
          kind: python
          code: result = 1
          spec:
            policy:
              rules:
                - when: "{{ outcome.status == 'error' }}"
                  then: {do: retry, attempts: 2, delay: 60}
                - else: {then: {do: continue}}
"""
KILLED = """
workflow:
  - step: start
    tool:
      - call:
          kind: python
          code: |
            import os
            if not os.path.exists('seen'):
                open('seen', 'w').close()
                os.kill(os.getpid(), 9)
            result = 'second'
          spec:
            policy:
              rules:
                - when: "{{ outcome.error.code == 'python.died' and outcome.error.retryable }}"
                  then: {do: retry, attempts: 2, delay: 0}
                - when: "{{ outcome.status == 'error' }}"
                  then: {do: fail}
                - else: {then: {do: continue}}
"""
SCRIPT = """
outcomes:
  - {step: start, attempt: 1, takes: 1s, outcome: {status: error, error: {code: busy, message: "not \\e[31mnow"}}}
  - {step: start, attempt: 2, takes: 1s, outcome: {status: ok, result: 42}}
"""


def test_a_completed_run_is_0_and_tells_its_result_and_its_log(home: "Home") -> None:
    done = home.run("run", home.plan(ADDED), "--set", "a.b=7")
    execution = home.only()
    assert done.returncode == 0
    assert done.stderr.splitlines() == [f"{execution}: tests/tried", "start: started", "start: done"]
    first, result, log = done.stdout.splitlines()
    assert first.startswith("completed: tests/tried after ")
    assert first.endswith(", 1 task")
    assert result == 'result: {"a": {"b": 7, "c": 2}, "name": "nobody"}'
    assert log == f"log: .noetl/noetl.db, execution {execution}"


def test_the_json_of_a_run(home: "Home") -> None:
    document = home.json("run", home.plan(ADDED), "--payload", '{"a": {"b": 5}, "x": [1]}', "--set", "name=Ada")
    assert isinstance(document, dict)
    assert document.pop("execution_id") == home.only()
    assert document.pop("started") <= document.pop("ended")
    assert document == {
        "status": "completed",
        "playbook": "tests/tried",
        "result": {"a": {"b": 5, "c": 2}, "name": "Ada", "x": [1]},
        "error": None,
        "reason": None,
        "counts": {"tasks": 1, "retries": 0, "passed_errors": 0},
        "scripted": False,
    }


@pytest.mark.parametrize(("text", "value"), [("123", 123), ('"123"', "123"), ("Ada", "Ada"), ("true", True)])
def test_what_is_set_is_json_where_it_can_be_read_as_json(home: "Home", text: str, value: object) -> None:
    document = home.json("run", home.plan(ADDED), "--set", f"name={text}")
    assert isinstance(document, dict)
    assert document["result"]["name"] == value


def test_a_failed_run_is_1_and_nothing_reaches_the_terminal_raw(home: "Home") -> None:
    done = home.run("run", home.plan(FAILING))
    assert done.returncode == 1
    assert done.stderr.splitlines()[1:] == ["start: started", "start: failed"]
    said = (
        "error: start / start_task at plan.ir.yaml:6: python.exception: ValueError: \\x1b[2Jboom (line 1 of its code)"
    )
    assert done.stdout.splitlines()[1] == said
    assert "\x1b" not in done.stdout + done.stderr


def test_a_blocked_run_is_4_and_says_why(home: "Home") -> None:
    done = home.run("run", home.plan(BLOCKED), "--quiet")
    assert (done.returncode, done.stderr) == (4, "")
    assert "reason: the join of step `both` still waits for `right`" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere.yaml"], "nowhere.yaml cannot be read: No such file or directory"),
        (["plan.ir", "--set", "a"], "write it as name=value"),
        (["plan.ir", "--set", "a=1", "--set", "a.b=1"], "`a` is a value already"),
        (["plan.ir", "--payload", "{"], "--payload is no JSON"),
        (["plan.ir", "--payload", "NaN"], "--payload is no JSON"),
        (["plan.ir", "--payload", "[" * 9999], "--payload is no JSON"),
        (["plan.ir", "--payload", "[1]"], "--payload must be a JSON object"),
        (["plan.ir", "--payload", "@nowhere"], "nowhere cannot be read"),
        (["-", "--payload", "@-"], "standard input can be read only once"),
        (["plan.ir", "--slots", "0"], "--slots"),
        (["plan.ir", "--script", "script"], "`outcomes` and `signals`"),
        (["plan.ir", "--path", "nowhere"], "--path nowhere: there is no such folder"),
        (["plan.ir", "--store", "o2.db"], "is `o2.db`: write it as sqlite:///PATH, as in sqlite:///o2.db"),
        (["plan.ir", "--store", "bogus"], "is `bogus`: write it as sqlite:///PATH"),
        (["plan.ir", "--store", "mysql://u:pa/s@s@x"], "is `mysql://u@x`: write it as sqlite:///PATH or postgresql://"),
        (["plan.ir", "--store", "sqlite:///"], "is `sqlite:///`: write it as sqlite:///PATH"),
        (["nowhere.yaml", "--path", "nowhere"], "--path nowhere: there is no such folder"),
        ([], "Missing argument"),
    ],
)
def test_wrong_usage_is_2_and_starts_nothing(home: "Home", words: list[str], said: str) -> None:
    home.plan(NOOP)
    (home.folder / "script").write_text('{"outcome": []}')
    done = home.run("run", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert not (home.folder / ".noetl").exists()


def test_a_playbook_is_compiled_first_also_from_standard_input(home: "Home") -> None:
    (home.folder / "book.yaml").write_text(WHOLE)
    assert home.run("run", "book.yaml").stdout.startswith("completed: whole")
    assert home.run("run", "-", stdin=WHOLE).stdout.startswith("completed: whole")


def test_what_does_not_compile_is_1_with_the_findings_of_the_compiler(home: "Home") -> None:
    done = home.run("run", "-", stdin=WHOLE.replace("noop", "nope"))
    assert (done.returncode, done.stdout) == (1, "")
    assert "<stdin>:6:18: error[NL" in done.stderr
    assert done.stderr.endswith("error: - does not compile; nothing was started\n")


def test_several_documents_are_refused(home: "Home") -> None:
    (home.folder / "book.yaml").write_text(f"{WHOLE}---\n{WHOLE}")
    done = home.run("run", "book.yaml")
    assert (done.returncode, done.stdout) == (1, "")
    assert "several documents" in done.stderr


def test_a_plan_in_json_form_runs(home: "Home") -> None:
    from noetl_ir.plan_format import read_plan
    from noetl_ir.plan_format.json import plan_to_json

    plan = read_plan((home.folder / home.plan(NOOP)).read_bytes())
    (home.folder / "plan.json").write_text(json.dumps(plan_to_json(plan)))
    assert home.run("run", "plan.json").returncode == 0
    for change, said in (({"entry": 99}, "not sound"), ({"name": "other"}, "the plan was altered")):
        (home.folder / "plan.json").write_text(json.dumps({**plan_to_json(plan), **change}))
        done = home.run("run", "plan.json")
        assert done.returncode == 1
        assert "not a plan that this version runs" in done.stderr
        assert said in done.stderr


def test_a_damaged_plan_is_1(home: "Home") -> None:
    path = home.folder / home.plan(NOOP)
    path.write_bytes(path.read_bytes()[:-3])
    done = home.run("run", "plan.ir")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "error: plan.ir: not a plan that this version runs: the plan is truncated\n"


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_a_script_replaces_tools_and_time(home: "Home", form: str) -> None:
    script = SCRIPT
    if form == "json":
        import yaml

        script = json.dumps(yaml.safe_load(SCRIPT))
    (home.folder / "script").write_text(script)
    document = home.json("run", home.plan(RETRYING), "--script", "script")
    assert isinstance(document, dict)
    # one second for each attempt, and a minute between them
    assert (document["started"], document["ended"]) == ("1970-01-01T00:00:00.000000Z", "1970-01-01T00:01:02.000000Z")
    assert (document["result"], document["counts"]["retries"], document["scripted"]) == (42, 1, True)


def test_a_scripted_run_stands_in_lists_when_it_was_and_says_that_its_clock_is_virtual(home: "Home") -> None:
    before = datetime.now(UTC).isoformat()
    (home.folder / "script").write_text(SCRIPT)
    shown = home.run("run", home.plan(RETRYING), "--script", "script").stdout
    assert "completed: tests/tried after 1 m 02 s on a virtual clock, 1 task, 1 retry\n" in shown
    [row] = home.json("list")  # type: ignore[misc]
    assert before <= row["started"] <= row["ended"] <= datetime.now(UTC).isoformat()
    assert "\non a virtual clock, took 1 m 02 s\n" in home.run("status", "last").stdout
    first = json.loads(home.run("events", "last", "--json").stdout.splitlines()[0])
    assert (first["ts"], first["payload"]["scripted"]) == ("1970-01-01T00:00:00.000000Z", True)


def test_a_scripted_run_goes_on_only_with_a_script(home: "Home") -> None:
    lines = SCRIPT.splitlines(keepends=True)
    (home.folder / "half").write_text("".join(lines[:3]).replace("attempt: 1", "attempt: 9"))
    (home.folder / "script").write_text(SCRIPT)
    waiting = "workflow:\n  - step: start\n    tool:\n      - {name: w, kind: wait, events: [go]}\n"
    assert home.run("run", home.plan(waiting), "--script", "half").returncode == 5
    done = home.run("resume", "last")
    assert (done.returncode, done.stdout) == (2, "")
    assert "say with --script FILE" in done.stderr
    assert home.run("status", "last").stdout.splitlines()[1] == "on a virtual clock, for 0.0 s"
    assert home.run("cancel", "last").returncode == 0
    assert home.run("status", "last").stdout.splitlines()[1] == "on a virtual clock, took 0.0 s"


def test_a_script_that_is_no_yaml_is_2_with_its_place(home: "Home") -> None:
    (home.folder / "script").write_text("outcomes: [\n")
    done = home.run("run", home.plan(RETRYING), "--script", "script")
    assert done.returncode == 2
    assert "script:" in done.stderr


def test_a_keychain_that_cannot_be_resolved_is_1_and_starts_nothing(home: "Home") -> None:
    plan = home.plan("keychain:\n  - {name: token, kind: env, var: NOT_SET_ANYWHERE}\n" + NOOP)
    done = home.run("run", plan)
    assert (done.returncode, done.stdout) == (1, "")
    assert "'NOT_SET_ANYWHERE' is not set" in done.stderr
    assert home.json("list") == []
    home.env["NOT_SET_ANYWHERE"] = "x"
    assert home.run("run", plan).returncode == 0


def test_a_store_that_cannot_be_opened_is_1(home: "Home") -> None:
    plan = home.plan(NOOP)
    for url in ("sqlite:///plan.ir", "sqlite:///plan.ir/below"):
        done = home.run("run", plan, "--store", url)
        assert (done.returncode, done.stdout) == (1, ""), done
        assert done.stderr.startswith("error: ")


def test_python_runs_in_the_folder_of_the_caller(home: "Home") -> None:
    code = "import os; open('made.txt', 'w').write('here'); result = os.getcwd()"
    document = home.json("run", home.plan(f'workflow:\n  - step: start\n    tool: {{kind: python, code: "{code}"}}\n'))
    assert isinstance(document, dict)
    assert document["result"] == str(home.folder.resolve())
    assert (home.folder / "made.txt").read_text() == "here"


def test_the_rules_may_retry_a_python_subprocess_that_was_killed(home: "Home") -> None:
    document = home.json("run", home.plan(KILLED))
    assert isinstance(document, dict)
    assert (document["status"], document["result"], document["counts"]["retries"]) == ("completed", "second", 1)


def test_running_loads_nothing_that_it_does_not_need(home: "Home") -> None:
    """Modules that cost start-up time: none of these is needed for a plan of tools without effects."""
    plan = home.plan(NOOP)
    program = (
        "import sys; from noetl.cli import main\n"
        f"assert main(['run', {plan!r}, '--quiet']) == 0\n"
        "print([name for name in ('asyncio', 'logging', 'http', 'jinja2', 'jsonschema', 'shutil', 'subprocess',"
        " 'tempfile', 'signal', 'difflib', 'cryptography', 'noetlc', 'shlex', 'noetl.worker.scripted',"
        " 'noetl_ir.kinds.wait', 'dataclasses', 'inspect', 'noetl.app.failed_templates') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=home.folder, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "['signal']"


def test_a_terminal_shows_retries_counting_down_in_place(home: "Home") -> None:
    body = RETRYING.replace("python", "shell").replace("code: result = 1", 'command: "exit 1"')
    plan = home.plan(body.replace("delay: 60", "delay: 0.5"))
    leader, follower = pty.openpty()
    words = [sys.executable, "-m", "noetl.cli", "run", plan]
    with subprocess.Popen(
        words, cwd=home.folder, env={**home.env, "TERM": "xterm"}, stdout=subprocess.PIPE, stderr=follower
    ) as child:
        os.close(follower)
        shown = b""
        while True:
            try:
                shown += os.read(leader, 4096)
            except OSError:  # how a pseudo-terminal ends
                break
        child.communicate()
    os.close(leader)
    assert child.returncode == 1
    text = shown.decode()
    assert "\x1b[J" in text
    assert "start / call: attempt 2 in 0." in text
    assert "tests/tried: " in text
    assert text.splitlines()[-1].endswith("start: failed")


def test_a_run_with_a_key_runs_once(home: "Home") -> None:
    plan = home.plan("workload: {n: 1}\nworkflow:\n  - {step: start, tool: {kind: shell, command: echo x >> ran}}\n")
    first = home.run("run", plan, "--key", "k", "--json")
    assert first.returncode == 0 and home.run("run", plan, "--key", "k", "--json").stdout == first.stdout
    other = home.run("run", plan, "--key", "k", "--set", "n=2")
    assert other.returncode == 1 and "with another playbook or payload" in other.stderr
    assert home.run("run", plan, "--key", "").returncode == 2
    assert (home.folder / "ran").read_text() == "x\n"
    assert home.run("run", plan, "--key", "k2").returncode == 0
    assert (home.folder / "ran").read_text() == "x\nx\n"
