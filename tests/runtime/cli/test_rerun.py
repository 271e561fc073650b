"""`noetl rerun` with real tools, in a folder and by a server."""

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from conftest import Home

BODY = """
workload: {region: eu, n: 3}
workflow:
  - step: start
    tool: {kind: shell, cmd: "echo ran >> ran.txt"}
    next: {arcs: [{step: big}]}
  - step: big
    tool: {kind: python, args: {n: "{{ workload.n }}"}, code: "result = list(range(n))", spec: {inline_max_bytes: 0}}
    next: {arcs: [{step: charge}]}
  - step: charge
    tool: {kind: shell, cmd: "test -e ok"}
    next: {arcs: [{step: last}]}
  - step: last
    tool: {kind: python, args: {b: "{{ big }}", r: "{{ workload.region }}"}, code: "result = [len(b), r]"}
"""


@pytest.fixture
def failed(home: "Home") -> str:
    """The id of an execution that has failed in `charge`."""
    assert home.run("run", home.plan(BODY), "--quiet").returncode == 1
    return home.only()


def runs_of_start(home: "Home") -> int:
    return (home.folder / "ran.txt").read_text().count("ran")


def test_an_effect_is_not_repeated_and_a_stored_value_is_kept(home: "Home", failed: str) -> None:
    (home.folder / "ok").touch()
    done = home.run("rerun", failed, "--quiet")
    assert done.returncode == 0, done.stderr
    assert 'result: [3, "eu"]' in done.stdout and runs_of_start(home) == 1
    newest: Any = home.json("status", "last")
    assert (newest["status"], newest["rerun_of"]) == ("completed", failed)
    assert f"a rerun of {failed}" in home.run("status", "last").stdout
    assert home.run("replay", "last").stdout.startswith("a legal run")
    assert "rerun_of" not in home.json("status", failed)  # type: ignore[operator]
    assert f"reruns of it: {newest['execution_id']}" in home.run("status", failed).stdout
    assert [row["rerun_of"] for row in home.json("list")] == [failed, None]  # type: ignore[attr-defined]
    assert f"tests/tried (a rerun of {failed})" in home.run("list").stdout


def test_values_outside_of_the_log_outlive_the_old_execution(home: "Home", failed: str) -> None:
    assert home.run("rerun", failed, "--quiet").returncode == 1  # it fails once more, and begins with what is kept
    newest: Any = home.json("status", "last")
    blobs = home.folder / ".noetl" / "noetl.db.blobs"
    for file in (blobs / failed).iterdir():
        file.unlink()
    (home.folder / "ok").touch()
    done = home.run("rerun", newest["execution_id"], "--quiet")
    assert 'result: [3, "eu"]' in done.stdout, done.stderr
    # The old one has lost what it came to, and says so.
    lost = home.run("rerun", failed, "--quiet")
    assert lost.returncode == 1 and "a value of it is gone" in lost.stderr


def test_the_status_of_one_that_failed_says_how(home: "Home", failed: str) -> None:
    told = f"go on from there, once its cause is mended, with what ran before: noetl rerun {failed}\n"
    assert told in home.run("status", failed).stdout


def test_a_dry_run_says_what_is_kept_and_starts_nothing(home: "Home", failed: str) -> None:
    done = home.run("rerun", failed, "--dry-run")
    assert (done.returncode, done.stdout) == (
        0,
        f"rerun of {failed}, from `charge`\ngoes on at: charge\nkept:\n  start, with effects\n  big, with effects\n"
        "runs again:\n  charge, with effects\n",
    )
    told: Any = home.json("rerun", failed, "--dry-run", "--from", "big")
    assert [row["step"] for row in told["kept"]] == ["start"] and told["from"] == ["big", "charge"]
    assert home.only() == failed


def test_what_hinders_is_told_and_nothing_is_started(home: "Home", failed: str) -> None:
    done = home.run("rerun", failed, "--set", "n=4")
    assert done.returncode == 1
    assert "step `big` ran, and reads `workload.n`, which is another value: begin at it (`--from big`)" in done.stderr
    dry = home.run("rerun", failed, "--set", "n=4", "--dry-run")
    assert dry.returncode == 1
    assert dry.stdout.splitlines() == [
        f"rerun of {failed}, from `charge`: nothing would be started",
        "hinders: step `big` ran, and reads `workload.n`, which is another value:"
        " begin at it (`--from big`) or start anew",
    ]
    assert home.only() == failed
    (home.folder / "ok").touch()
    assert '[3, "us"]' in home.run("rerun", failed, "--set", "region=us", "--quiet").stdout
    assert '[4, "eu"]' in home.run("rerun", failed, "--set", "n=4", "--from", "big", "--quiet").stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--from", "bgi"], "the playbook has no step `bgi`; did you mean `big`?"),
        (["--from", "last"], "step `last` never ran in it: there is nothing to begin at"),
        (["--from", "big:2"], "step `big` ran once: there is nothing to begin at"),
        (["--script", "-"], "no script stood in for its tools"),
    ],
)
def test_what_cannot_be_meant_is_told(home: "Home", failed: str, words: list[str], told: str) -> None:
    done = home.run("rerun", failed, *words, stdin="{}")
    assert done.returncode in (1, 2) and told in done.stderr


def versions(home: "Home") -> list[Any]:
    found: Any = home.json("playbooks", "tests/tried")
    return [row["version"] for row in found]


def test_resume_of_what_has_ended_names_the_rerun(home: "Home", failed: str) -> None:
    done = home.run("resume", failed)
    assert f"nothing is left to resume; noetl rerun {failed} begins again where it stood\n" in done.stderr
    (home.folder / "ok").touch()
    assert home.run("rerun", failed, "--quiet").returncode == 0
    assert "nothing is left to resume\n" in home.run("resume", "last").stderr  # it completed


def test_a_mended_playbook_goes_on(home: "Home", failed: str) -> None:
    mended = home.plan(BODY.replace("test -e ok", "true"), "mended.ir")
    assert '[3, "eu"]' in home.run("rerun", failed, "--plan", mended, "--quiet").stdout
    other = home.plan(BODY.replace("list(range(n))", "list(range(n + 1))"), "other.ir")
    assert len(versions(home)) == 2
    assert home.run("rerun", failed, "--plan", other, "--dry-run").returncode == 1
    done = home.run("rerun", failed, "--plan", other)
    assert len(versions(home)) == 2  # what did not begin is no version that a start by path would take
    assert done.returncode == 1 and "step `big` ran, and is another one in the other plan" in done.stderr
    assert runs_of_start(home) == 1


def test_a_key_begins_one(home: "Home", failed: str) -> None:
    (home.folder / "ok").touch()
    assert home.run("rerun", failed, "--key", "once", "--quiet").returncode == 0
    again = home.run("rerun", failed, "--key", "once", "--quiet")
    assert again.returncode == 1 and "the key started execution" in again.stderr
    assert len(home.json("list")) == 2  # type: ignore[arg-type]


def test_a_server_begins_it(home: "Home", failed: str) -> None:
    (home.folder / "ok").touch()
    with home.serving() as (_, url):
        dry: Any = home.json("rerun", failed, "--dry-run", "--server", url)
        assert [row["step"] for row in dry["again"]] == ["charge"]
        done = home.run("rerun", failed, "--server", url, "--set", "region=us", "--key", "once")
        assert f"a rerun of {failed}" in done.stdout, done.stderr
        assert (
            f"reruns of it: {done.stdout.split()[2].rstrip(',')}" in home.run("status", failed, "--server", url).stdout
        )
        again = home.run("rerun", failed, "--server", url, "--set", "region=us", "--key", "once")
        assert again.stdout == done.stdout
        execution = done.stdout.split()[2].rstrip(",")
        assert home.run("events", execution, "--follow", "--server", url).returncode == 0
        assert home.json("result", execution, "--server", url) == [3, "us"]
        assert "reads `workload.n`" in home.run("rerun", failed, "--server", url, "--set", "n=4").stderr
        mended = home.plan(BODY.replace("test -e ok", "true"), "mended.ir")
        for words in (["--dry-run"], ["--set", "n=4"], []):
            assert home.run("rerun", failed, "--server", url, "--plan", mended, *words).returncode == (
                words[:1] == ["--set"]
            )
            assert versions(home) == [1], "a server makes versions of what is registered alone"
    assert runs_of_start(home) == 1


SECRET = """
keychain:
  - {name: login, kind: credential, credential: login}
workflow:
  - step: start
    tool: {kind: shell, cmd: "echo 'x {{ keychain.login.token }}'", spec: {inline_max_bytes: SIZE}}
    next: {arcs: [{step: charge}]}
  - step: charge
    tool: {kind: shell, cmd: "test -e ok"}
    next: {arcs: [{step: last}]}
  - step: last
    tool: {kind: python, args: {t: "{{ start.stdout }}"}, code: "open('told', 'w').write(t); result = len(t)"}
"""


@pytest.mark.parametrize("size", [100_000, 0])
def test_a_secret_that_is_kept_can_be_used(home: "Home", size: int) -> None:
    token = "tok-123456789-secret"
    assert home.run("credential", "add", "login", "--field", f"token={token}").returncode == 0
    body = SECRET.replace("SIZE", str(size))
    assert home.run("run", home.plan(body), "--quiet").returncode == 1
    failed = home.only()
    (home.folder / "ok").touch()
    done = home.run("rerun", failed, "--quiet")
    assert done.returncode == 0, done.stderr + done.stdout
    assert (home.folder / "told").read_text() == f"x {token}\n"
    assert token not in home.run("events", "last", "--json").stdout and token not in done.stdout
    other = home.plan(body.replace("credential: login}", "credential: other}"), "other.ir")
    refused = home.run("rerun", failed, "--plan", other)
    assert refused.returncode == 1 and "step `start`" in refused.stderr


PARTS = """
workflow:
  - step: start
    tool:
      kind: python
      code: "result = {'rows': [1] * 9, 'ok': True, 'others': {'n': 7}}"
      spec: {inline_max_bytes: 0}
    next: {arcs: [{step: charge, when: "{{ start.ok }}"}]}
  - step: charge
    tool: {kind: shell, cmd: "test -e ok"}
    next: {arcs: [ARCS]}
  - step: good
    tool: {kind: noop}
  - step: bad
    tool: {kind: noop}
"""


@pytest.mark.parametrize(
    ("guard", "goes"),
    [
        ("start.others.n == 7", "good"),
        ("(start.others | default({})).n == 7", "good"),
        ("start.rows | length == 9", "good"),
        ("start | length == 3", "good"),
        ("not start.others", "bad"),
    ],
)
def test_what_the_new_plan_reads_of_a_value_outside_of_the_log_is_there(home: "Home", guard: str, goes: str) -> None:
    """Of it the log has what the old plan reads. Here a rerun would go the wrong way, and complete."""
    assert home.run("run", home.plan(PARTS.replace("ARCS", "{step: good}, {step: bad}")), "--quiet").returncode == 1
    (home.folder / "ok").touch()
    arcs = f'{{step: good, when: "{{{{ {guard} }}}}"}}, {{step: bad}}'
    done = home.run("rerun", "last", "--plan", home.plan(PARTS.replace("ARCS", arcs), "new.ir"))
    assert done.returncode == 0, done.stderr
    assert f"{goes}: done" in done.stderr and "start: done" not in done.stderr
    other = {"good": "bad", "bad": "good"}[goes]
    assert f"{other}: done" not in done.stderr
    assert home.run("replay", "last").stdout.startswith("a legal run")
    again = home.run("rerun", "last", "--from", goes)
    assert again.returncode == 0 and f"{goes}: done" in again.stderr, again.stderr
