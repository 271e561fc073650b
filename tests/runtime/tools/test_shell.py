"""shell and script: real processes, their outputs, and that none outlives its task (LANGUAGE §7)."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from noetl.tools import script, shell
from noetl_ir.codec import pack
from noetl_ir.expr import Json
from noetl_ir.outcome import Outcome
from tool_doubles import FakeEnv, call_of, cancelled, failed, gone, running, waited


@pytest.fixture
def env(tmp_path: Path) -> FakeEnv:
    return FakeEnv(tmp_path)


def ran(
    env: FakeEnv, command: Json, *, knobs: dict[str, Json] | None = None, timeout: Json = None, **fields: Json
) -> Outcome:
    call = call_of("shell", {"command": command, **fields}, knobs=knobs, timeout=timeout)
    return waited(shell.run(call, env))


def slow_shell(_: Path, url: str) -> dict[str, Json]:
    """A call that is held up by a process, which has one of its own."""
    return {"command": "sleep 613 & sleep 613"}


def slow_script(_: Path, url: str) -> dict[str, Json]:
    """A call of `script` that is held up like `slow_shell`."""
    return {"file": "slow.sh"}


def scripted(env: FakeEnv, **fields: Json) -> Outcome:
    return waited(script.run(call_of("script", fields), env))


def test_the_result(env: FakeEnv) -> None:
    outcome = ran(env, "echo out; echo err >&2")
    assert outcome.result == {"stdout": "out\n", "stderr": "err\n", "exit_code": 0}
    assert outcome.extras == {"shell": {"exit_code": 0, "signal": None}}


def test_an_exit_code_is_an_error_that_keeps_the_output(env: FakeEnv) -> None:
    outcome = ran(env, "echo out; echo why >&2; exit 3")
    error = failed(outcome)
    assert (error["code"], error["message"]) == ("shell.exit", "the program ended with exit code 3: why")
    assert outcome.result == {"stdout": "out\n", "stderr": "why\n", "exit_code": 3}
    killed = ran(env, "kill -TERM $$")
    assert killed.extras == {"shell": {"exit_code": -15, "signal": 15}}


@pytest.mark.parametrize(
    ("fields", "stdout"),
    [
        ({"cmds": ["echo a", "echo b"]}, "a\nb\n"),
        ({"cmds": ["x=1", "echo $x"]}, "1\n"),
        ({"cmds": "echo a\necho b"}, "a\nb\n"),
        ({"cmd": "cat", "input": "é"}, "é"),
        ({"command": "cat"}, ""),
        ({"command": "echo $A,$B,${HOME-none}", "env": {"A": 1, "B": True, "HOME": None}}, "1,true,none\n"),
        ({"command": "pwd -P", "cwd": "deep"}, "DEEP\n"),
        ({"command": "n=(1 2); echo ${#n[@]} {{.ID}} {% x %}"}, "2 {{.ID}} {% x %}\n"),
        ({"command": "echo $0", "shell": "sh"}, "sh\n"),
    ],
)
def test_commands(env: FakeEnv, tmp_path: Path, fields: dict[str, Json], stdout: str) -> None:
    (tmp_path / "deep").mkdir()
    outcome = waited(shell.run(call_of("shell", fields), env))
    assert isinstance(outcome.result, dict), outcome
    assert outcome.result["stdout"] == stdout.replace("DEEP", str((tmp_path / "deep").resolve()))


def test_commands_stop_at_the_first_that_fails(env: FakeEnv) -> None:
    outcome = waited(shell.run(call_of("shell", {"cmds": ["echo a", "false", "echo b"]}), env))
    assert outcome.result == {"stdout": "a\n", "stderr": "", "exit_code": 1}


def test_scenario_68_text_is_data_even_when_it_looks_like_a_file(env: FakeEnv, tmp_path: Path) -> None:
    assert ran(env, "touch out.sql").status == "ok"
    assert (tmp_path / "out.sql").exists()
    (tmp_path / "run.sh").write_text("echo from the file")
    assert failed(ran(env, "run.sh"))["code"] == "shell.exit"


def test_scenario_68_only_explicit_keys_load_files_inside_the_root(env: FakeEnv, tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text("echo $1 $(pwd -P)")
    (tmp_path / "run.py").write_text("import sys; print(sys.argv[1:], sys.stdin.read())")
    outside = tmp_path.parent / "outside.sh"
    outside.write_text("echo no")
    (tmp_path / "link.sh").symlink_to(outside)
    found = scripted(env, file="run.sh", arguments=["x y"])
    assert found.result == {"stdout": f"x y {tmp_path.resolve()}\n", "stderr": "", "exit_code": 0}
    found = scripted(env, uri="file://run.py", source={"type": "file"}, arguments=["a b", 1], input="in")
    assert found.result == {"stdout": "['a b', '1'] in\n", "stderr": "", "exit_code": 0}
    for refused in ("../outside.sh", str(outside), "link.sh", "https://example.test/x.sh", "a\0b"):
        assert failed(scripted(env, file=refused))["code"] == "file.refused", refused
    assert failed(scripted(env, uri="run.sh", source={"type": "s3"}))["code"] == "file.refused"
    assert failed(scripted(env, file="missing.sh"))["code"] == "file.refused"
    assert failed(scripted(env, file="run.sh", interpreter="no-such-program"))["code"] == "shell.exit"
    outside.unlink()


def test_a_script_of_the_playbook_itself(env: FakeEnv) -> None:
    text: Json = {"uri": "a.sh", "source": {"type": "inline", "code": "echo $1"}}
    assert scripted(env, script=text, arguments=["x y"]).result == {"stdout": "x y\n", "stderr": "", "exit_code": 0}
    code: Json = {"uri": "inline", "source": {"type": "inline", "code": "import sys; print(sys.argv[1:])"}}
    found = scripted(env, script=code, interpreter=sys.executable, arguments=[1]).result
    assert isinstance(found, dict) and found["stdout"] == "['1']\n"
    assert "interpreter" in str(failed(scripted(env, script=code))["message"])
    assert failed(scripted(env, script={"source": {"type": "inline"}}))["code"] == "file.refused"


def test_a_script_finds_its_args_in_its_environment(env: FakeEnv, tmp_path: Path) -> None:
    (tmp_path / "a.sh").write_text('echo "$NOETL_ARGS,$A"')
    call = call_of("script", {"script": "a.sh", "env": {"A": "b"}}, args={"x": [1, None]})
    found = waited(script.run(call, env)).result
    assert isinstance(found, dict) and found["stdout"] == '{"x": [1, null]},b\n'
    found = scripted(env, script="a.sh").result
    assert isinstance(found, dict) and found["stdout"] == ",\n"


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"cmds": []}, "fields.invalid"),
        ({"cmds": ["a", 1]}, "fields.invalid"),
        ({"command": "a\0b"}, "fields.invalid"),
        ({"command": "true", "cwd": ".."}, "file.refused"),
        ({"command": "true", "cwd": "missing"}, "shell.start"),
        ({"command": "true", "env": {"A=B": "c"}}, "shell.start"),
        ({"command": "true", "env": {"A": "\0"}}, "shell.start"),
        ({}, "fields.invalid"),
    ],
)
def test_what_cannot_be_run(env: FakeEnv, fields: dict[str, Json], code: str) -> None:
    assert failed(waited(shell.run(call_of("shell", fields), env)))["code"] == code


def test_output_is_bounded_and_any_bytes_are_text(env: FakeEnv) -> None:
    outcome = ran(env, "yes | head -c 1000000; printf '\\377\\0'", knobs={"max_output_bytes": 100})
    assert isinstance(outcome.result, dict) and outcome.result["stdout"] == "y\n" * 50
    assert env.lines == ["the output was longer than max_output_bytes; the rest was dropped"]
    outcome = ran(env, "printf 'a\\377\\0'")
    assert isinstance(outcome.result, dict) and outcome.result["stdout"] == "a\ufffd\0"
    pack(outcome.as_json())


def test_memory_is_bounded(env: FakeEnv) -> None:
    command = f"{sys.executable} -c \"x = 'a' * 10**9\""
    outcome = ran(env, command, knobs={"memory": "200M"})
    assert isinstance(outcome.result, dict) and "MemoryError" in str(outcome.result["stderr"])
    assert failed(ran(env, "true", knobs={"memory": "lots"}))["code"] == "fields.invalid"


@pytest.mark.parametrize("name", ["NOETL_CREDENTIAL_KEY", "NOETL_TOKEN", "NOETL_STORE", "NOETL_BUS", "PGPASSWORD"])
def test_what_is_ours_is_not_in_its_environment(env: FakeEnv, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "k")
    outcome = ran(env, f"echo ${{{name}-unset}}")
    assert isinstance(outcome.result, dict) and outcome.result["stdout"] == "unset\n"
    fields: dict[str, Json] = {"command": f"echo ${name}", "env": {name: "given"}}
    outcome = waited(shell.run(call_of("shell", fields), env))
    assert isinstance(outcome.result, dict) and outcome.result["stdout"] == "given\n"


def test_the_action_is_in_its_environment_unless_the_task_says_another(env: FakeEnv) -> None:
    outcome = ran(env, "echo $NOETL_ACTION_ID")
    assert isinstance(outcome.result, dict) and outcome.result["stdout"] == "act-1\n"
    fields: dict[str, Json] = {"command": "echo $NOETL_ACTION_ID", "env": {"NOETL_ACTION_ID": "mine"}}
    outcome = waited(shell.run(call_of("shell", fields), env))
    assert isinstance(outcome.result, dict) and outcome.result["stdout"] == "mine\n"


def test_a_timeout_kills_the_whole_group(env: FakeEnv) -> None:
    error = failed(ran(env, "sleep 612.1 & sleep 612.1", timeout="200ms"))
    assert (error["code"], error["retryable"]) == ("timeout", True)
    assert gone("sleep 612.1")


def test_a_cancellation_kills_the_whole_group(env: FakeEnv) -> None:
    tool = shell.run(call_of("shell", {"command": "sleep 612.2 & sleep 612.2"}), env)
    waited(cancelled(tool, lambda: len(running("sleep 612.2")) > 2))
    assert gone("sleep 612.2")


def test_what_is_left_in_the_background_is_killed_and_not_waited_for(env: FakeEnv) -> None:
    outcome = ran(env, "sleep 612.3 & echo done")
    assert outcome.result == {"stdout": "done\n", "stderr": "", "exit_code": 0}
    assert gone("sleep 612.3")


def test_it_dies_with_a_worker_that_is_killed(tmp_path: Path) -> None:
    program = f"""
import asyncio, sys
sys.path[:] = {sys.path!r}
from pathlib import Path
from noetl.tools import shell
from tool_doubles import FakeEnv, call_of
call = call_of("shell", {{"command": "sleep 612.4 & sleep 612.4"}})
asyncio.run(shell.run(call, FakeEnv(Path({str(tmp_path)!r}))))
"""
    worker = subprocess.Popen([sys.executable, "-c", program.replace("612.4", "612." + "4")])
    try:
        while len(running("sleep 612.4")) < 4:  # the worker's own command line has the words too
            assert worker.poll() is None
    finally:
        worker.send_signal(signal.SIGKILL)
        worker.wait()
    assert gone("sleep 612.4")
