"""container: what is asked of the engine, what becomes of its answer, and that no container is left (LANGUAGE §7).

A script stands for the engine. It takes the options that docker, podman and nerdctl share, and keeps a folder of what
runs. The real client is asked too where one is installed.
"""

import shutil
import stat
from pathlib import Path

import pytest

from noetl.tools import container
from noetl_ir.expr import Json
from noetl_ir.outcome import Outcome
from tool_doubles import FakeEnv, call_of, cancelled, failed, gone, waited

ENGINE = """#!/bin/sh
# An OCI engine without containers: the command of an image is run on this machine, in the given environment.
home=HOME_FOLDER
printf '%s\\n' "$*" >>"$home/asked"
case $1 in
rm) rm -f "$home/running/$3"; exit 0 ;;
run) shift ;;
*) exit 64 ;;
esac
input=/dev/null
while [ $# -gt 0 ]; do
  case $1 in
  --rm) ;;
  --interactive) input=/dev/stdin ;;
  --name) name=$2; shift ;;
  --env-file) cat "$2" >"$home/environment"; shift ;;
  --security-opt | --cpus | --memory | --memory-reservation | --network | --pull) shift ;;
  -*) echo "unknown flag: $1" >&2; exit 125 ;;
  *) break ;;
  esac
  shift
done
image=$1; shift
[ "$image" != no/such ] || { printf "Unable to find image\\n\\nRun 'podman run --help' for more\\n" >&2; exit 125; }
[ ! -e "$home/running/$name" ] || { echo "the name is taken" >&2; exit 125; }
: >"$home/running/$name"
set -- "$@"
if [ $# -eq 0 ]; then echo "$image"; code=0
else env -i PATH="$PATH" $(cat "$home/environment") "$@" <"$input"; code=$?; fi
rm -f "$home/running/$name"
exit $code
"""


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of an engine, which is called podman and is first on PATH."""
    home = tmp_path / "engine"
    (home / "running").mkdir(parents=True)
    place(home, "podman")
    monkeypatch.setenv("PATH", f"{home}:/usr/bin:/bin")
    return home


def place(home: Path, name: str) -> None:
    program = home / name
    program.write_text(ENGINE.replace("HOME_FOLDER", str(home)))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)


@pytest.fixture
def env(tmp_path: Path) -> FakeEnv:
    root = tmp_path / "root"
    root.mkdir()
    return FakeEnv(root)


def ran(env: FakeEnv, timeout: Json = None, /, **fields: Json) -> Outcome:
    return waited(container.run(call_of("container", {"image": "a/b:1", **fields}, timeout=timeout), env))


def asked(engine: Path) -> list[str]:
    return (engine / "asked").read_text().splitlines()


def test_the_result(engine: Path, env: FakeEnv) -> None:
    outcome = ran(env, command="echo out; echo err >&2")
    assert outcome.result == {"stdout": "out\n", "stderr": "err\n", "exit_code": 0}
    assert outcome.extras == {"container": {"engine": "podman", "exit_code": 0}}
    assert not list((engine / "running").iterdir())


def test_an_exit_code_is_an_error_that_keeps_the_output(engine: Path, env: FakeEnv) -> None:
    outcome = ran(env, command=["sh", "-c", "echo out; echo why >&2; exit 3"])
    error = failed(outcome)
    assert (error["code"], error["message"]) == ("container.exit", "the container ended with exit code 3: why")
    assert outcome.result == {"stdout": "out\n", "stderr": "why\n", "exit_code": 3}


@pytest.mark.parametrize(
    ("fields", "stdout"),
    [
        ({}, "a/b:1\n"),
        ({"command": "echo $1 $2", "arguments": ["x", 2]}, "x 2\n"),
        ({"command": ["echo", "$HOME; id"], "arguments": ["-n"]}, "$HOME; id -n\n"),
        ({"command": "echo $A,$B,${C-none}", "env": {"A": 1, "B": True, "C": None}}, "1,true,none\n"),
        ({"script": "s.sh", "arguments": ["x"]}, "from the script x\n"),
        ({"script": {"uri": "s.sh"}, "command": ["cat"]}, 'echo "from the script $1"'),
    ],
)
def test_commands(engine: Path, env: FakeEnv, fields: dict[str, Json], stdout: str) -> None:
    (Path(env.root()) / "s.sh").write_text('echo "from the script $1"')
    outcome = ran(env, **fields)
    assert isinstance(outcome.result, dict), outcome
    assert outcome.result["stdout"] == stdout


def test_what_the_engine_is_asked(engine: Path, env: FakeEnv) -> None:
    resources: Json = {"limits": {"cpu": "1500m", "memory": "512Mi"}, "requests": {"memory": "64M"}}
    ran(env, resources=resources, runtime={"network": "none", "pull": "never"}, env={"TOKEN": "s3cret-value"})
    removal, command = asked(engine)
    name = removal.removeprefix("rm --force ")
    assert command.startswith(f"run --rm --name {name} --env-file /dev/fd/")
    options = "--security-opt no-new-privileges --cpus 1.5 --memory 536870912 --memory-reservation 67108864"
    assert command.endswith(f" {options} --network none --pull never a/b:1")
    assert "s3cret" not in command
    assert (engine / "environment").read_text() == "NOETL_ACTION_ID=act-1\nTOKEN=s3cret-value\n"


def test_the_engine_that_is_asked_for(engine: Path, env: FakeEnv) -> None:
    place(engine, "nerdctl")
    assert ran(env, runtime={"engine": "nerdctl"}).extras["container"] == {"engine": "nerdctl", "exit_code": 0}


def test_no_engine(env: FakeEnv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    error = failed(ran(env))
    assert error["code"] == "container.engine"
    assert error["message"] == ("no container engine is installed: none of podman, docker, nerdctl is on PATH")


def test_an_image_that_is_not_there(engine: Path, env: FakeEnv) -> None:
    error = failed(ran(env, image="no/such"))
    assert (error["code"], error["message"]) == (
        "container.engine",
        "podman could not run the container: Unable to find image",
    )


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"image": "--privileged"}, "fields.invalid"),
        ({"image": "a b"}, "fields.invalid"),
        ({"command": ["a\0b"]}, "fields.invalid"),
        ({"command": "a\0b"}, "fields.invalid"),
        ({"env": {"A B": 1}}, "fields.invalid"),
        ({"env": {"A": "x\nDOCKER_HOST=y"}}, "fields.invalid"),
        ({"env": {"A": "x" * 70_000}}, "fields.invalid"),
        ({"resources": {"cpu": "much"}}, "fields.invalid"),
        ({"resources": {"limits": {"memory": "much"}}}, "fields.invalid"),
        ({"runtime": {"network": "host"}}, "fields.invalid"),
        ({"runtime": {"volumes": ["/:/host"]}}, "fields.invalid"),
        ({"runtime": {"engine": "/bin/sh"}}, "fields.invalid"),
        ({"script": "../outside.sh"}, "file.refused"),
    ],
)
def test_what_cannot_be_asked_for(engine: Path, env: FakeEnv, fields: dict[str, Json], code: str) -> None:
    assert failed(ran(env, **fields))["code"] == code
    assert not (engine / "asked").exists()


@pytest.mark.parametrize("limit", ["spec", "field"])
def test_a_late_container_is_removed(engine: Path, env: FakeEnv, limit: str) -> None:
    fields: dict[str, Json] = {"timeout_seconds": 0.3} if limit == "field" else {}
    outcome = ran(env, 0.3 if limit == "spec" else None, command="sleep 617", **fields)
    assert failed(outcome) == {
        "code": "timeout", "message": "the container took longer than 0.3 s", "retryable": True
    }  # fmt: skip
    assert gone("sleep 617") and not list((engine / "running").iterdir())


def test_a_cancelled_container_is_removed(engine: Path, env: FakeEnv) -> None:
    call = call_of("container", {"image": "a/b:1", "command": "sleep 619"})
    waited(cancelled(container.run(call, env), lambda: bool(list((engine / "running").iterdir()))))
    assert gone("sleep 619") and not list((engine / "running").iterdir())


def test_what_a_killed_worker_left_is_removed_first(engine: Path, env: FakeEnv) -> None:
    ran(env)
    (engine / "running" / asked(engine)[0].removeprefix("rm --force ")).touch()
    assert ran(env).status == "ok"


def test_a_real_client_says_what_is_missing(env: FakeEnv) -> None:
    """No image of this name exists; without a client the tool says that."""
    real = next((name for name in container.ENGINES if shutil.which(name)), None)
    outcome = ran(env, 60, image="localhost/noetl/no-such-image:0", runtime={"pull": "never"})
    error = failed(outcome)
    assert error["code"] == "container.engine"
    expected = "could not run the container" if real else "no container engine is installed"
    assert expected in str(error["message"])
