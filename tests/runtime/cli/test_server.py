"""`noetl server` as a process of its own, and the commands that speak to it."""

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import httpx
import pytest

from noetl.cli import following as following_module
from noetl.cli.text import Stopped
from noetl.store.http import ServerUnreachable

if TYPE_CHECKING:
    from conftest import Home

WAITS = """
workload: {who: nobody}
workflow:
  - {step: start, tool: {name: w, kind: wait, events: [go]}, next: {arcs: [{step: last}]}}
  - {step: last, tool: {kind: noop, result: {hello: "{{ workload.who }}"}}}
"""
SLOW = """
workflow:
  - step: start
    tool: {name: s, kind: shell, command: "echo 1 > begun; until test -e go; do sleep 0.02; done; echo ended > ended"}
    next: {arcs: [{step: more}]}
  - step: more
    tool: {name: s, kind: shell, command: "echo more >> ended"}
"""


def playbook(home: "Home", body: str) -> str:
    head = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: t, path: t/t}\n"
    (home.folder / "t.yaml").write_text(head + body)
    return "t.yaml"


def started(home: "Home", url: str, *words: str) -> str:
    document = home.json("start", *words, "--server", url)
    assert isinstance(document, dict)
    return str(document["execution_id"])


def test_a_server_is_asked_as_a_local_store(home: "Home") -> None:
    file = playbook(home, WAITS)
    with home.serving() as (_, url):
        execution = started(home, url, file, "--set", "who=me")
        assert home.json("list", "--server", url) == home.json("list", "--store", "sqlite:///.noetl/noetl.db")
        sent = home.run("signal", execution, "--name", "go", "--server", url)
        assert "sent to the process that drives it" in sent.stdout
        followed = home.run("events", execution, "--follow", "--json", "--server", url)
        assert '"playbook.processed"' in followed.stdout.splitlines()[-1]
        for words in [("status",), ("events",), ("result",), ("replay",), ("result", "last")]:
            here = home.run(words[0], execution, *words[1:], "--json")
            there = home.run(words[0], execution, *words[1:], "--json", "--server", url)
            assert (there.returncode, there.stdout) == (0, here.stdout), words
        assert home.json("result", execution, "--server", url) == {"hello": "me"}
        again = home.run("resume", execution, "--retry-fault", "--server", url)
        assert (again.returncode, "did not end by engine.fault: it is completed" in again.stderr) == (1, True)


def test_a_killed_server_goes_on_when_it_is_started_again(home: "Home") -> None:
    file = playbook(home, WAITS)
    with home.serving() as (child, url):
        execution = started(home, url, file)
        child.send_signal(signal.SIGKILL)
        child.wait(60)
    gone = home.run("status", execution, "--server", url)
    assert (gone.returncode, "cannot be reached" in gone.stderr) == (1, True)
    with home.serving() as (_, url):
        home.run("signal", execution, "--name", "go", "--server", url)
        assert home.run("events", execution, "--follow", "--server", url).returncode == 0
        assert home.json("status", execution, "--server", url)["status"] == "completed"  # type: ignore[index,call-overload]


@pytest.mark.parametrize("how", ["signal", "command"])
def test_what_is_in_flight_finishes_when_it_stops(home: "Home", how: str) -> None:
    file = playbook(home, SLOW)
    with home.serving() as (child, url):
        execution = started(home, url, file)
        home.run("events", execution, "--server", url)
        while not (home.folder / "begun").exists():
            assert child.poll() is None
        if how == "signal":
            child.send_signal(signal.SIGTERM)
            while "cannot be reached" not in home.run("list", "--server", url).stderr:
                assert child.poll() is None
        else:
            assert home.run("server", "stop", "--server", url).stdout == "stopping\n"
        (home.folder / "go").touch()
        assert child.wait(60) == 0
    assert (home.folder / "ended").read_text() == "ended\n"
    assert home.json("resume", execution)["status"] == "completed"  # type: ignore[index,call-overload]
    assert (home.folder / "ended").read_text() == "ended\nmore\n"


def test_a_value_outside_the_log_is_fetched_through_the_server(home: "Home") -> None:
    limits = "executor: {spec: {policy: {limits: {max_payload_bytes: 1000}}}}\n"
    file = playbook(home, limits + 'workflow: [{step: start, tool: {kind: python, code: "result = [7] * 5000"}}]\n')
    with home.serving() as (_, url):
        execution = started(home, url, file)
        assert home.run("events", execution, "--follow", "--server", url).returncode == 0
        assert home.json("result", execution, "--server", url) == [7] * 5000
    assert (home.folder / ".noetl" / "noetl.db.blobs").exists()


SAID = re.compile(r"[0-9]{19}|after [0-9.]+ s")


@pytest.mark.parametrize(
    ("tool", "code"),
    [('kind: shell, command: "exit 3"', 1), ("kind: noop, result: 7", 0)],
)
def test_a_start_that_is_followed_tells_what_a_run_tells(home: "Home", tool: str, code: int) -> None:
    file = playbook(home, f"workflow: [{{step: start, tool: {{name: s, {tool}}}}}]\n")
    here = home.run("run", file)
    with home.serving() as (_, url):
        there = home.run("start", file, "--follow", "--server", url)
        document = home.run("start", file, "--follow", "--json", "--server", url)
    assert here.returncode == there.returncode == document.returncode == code
    assert SAID.sub("", there.stdout).replace(url, ".noetl/noetl.db") == SAID.sub("", here.stdout)
    assert SAID.sub("", there.stderr).splitlines()[1:] == SAID.sub("", here.stderr).splitlines()[1:]
    assert json.loads(document.stdout)["status"] == here.stdout.partition(":")[0]


@contextmanager
def following(home: "Home", *words: str) -> Iterator["subprocess.Popen[str]"]:
    """A command that follows, killed in the end; it has said that the first step runs."""
    with home.begin(*words) as child:
        try:
            stream = child.stdout if words[0] == "events" else child.stderr
            assert stream is not None
            while "start: started" not in (line := stream.readline()) and "step.started" not in line:
                assert child.poll() is None
            yield child
        finally:
            child.kill()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_who_follows_goes_on_with_the_next_server_at_the_address(home: "Home", how: signal.Signals) -> None:
    file = playbook(home, WAITS)
    with home.serving() as (child, url):
        with following(home, "start", file, "--follow", "--server", url) as start:
            execution = home.json("list", "--server", url)[0]["execution_id"]  # type: ignore[index,call-overload]
            with following(home, "events", str(execution), "--follow", "--server", url) as events:
                child.send_signal(how)
                assert events.stderr is not None and start.stderr is not None
                for stream in (events.stderr, start.stderr):
                    assert re.fullmatch(r"note: http.*; trying again\n", stream.readline())
                child.wait(60)
                with home.serving("--port", url.rpartition(":")[2]) as (_, again):
                    assert again == url
                    assert home.run("signal", str(execution), "--name", "go", "--server", url).returncode == 0
                    said, _ = start.communicate(timeout=60)
                    assert (start.returncode, said.startswith("completed: t/t after ")) == (0, True)
                    log, _ = events.communicate(timeout=60)
                    assert (events.returncode, "playbook.processed" in log) == (0, True)
        positions = [int(line.split()[0]) for line in log.splitlines()]
        assert positions == [*range(positions[0], positions[-1] + 1)], "each event once"


def test_a_server_that_stops_ends_what_is_followed_and_what_is_followed_does_not_hold_it_up(home: "Home") -> None:
    file = playbook(home, WAITS)
    with home.serving() as (child, url):
        execution = started(home, url, file)
        stream, lines = {"accept": "text/event-stream"}, list[str]()
        with httpx.stream("GET", f"{url}/executions/{execution}/events", headers=stream, timeout=60) as following:
            for line in following.iter_lines():  # an end that is cut off would be an error here
                lines.append(line)
                if line == "event: step.started":
                    child.send_signal(signal.SIGTERM)
        assert lines[-4:] == [lines[-4], "event: again", "data: {}", ""] and lines[-4].startswith("id: ")
        assert child.wait(60) == 0


def test_who_follows_is_told_when_no_server_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following_module, "LOST_AFTER", 0.0)

    def take() -> int:
        raise ServerUnreachable("nobody is there")

    with pytest.raises(Stopped, match=r"again with: noetl events e1 --follow --server http://127\.0\.0\.1:1$"):
        following_module._Follower("http://127.0.0.1:1", "e1", take).hear()


def test_versions_of_a_path_are_started_by_number(home: "Home") -> None:
    file = playbook(home, "workflow: [{step: start, tool: {kind: noop, result: one}}]\n")
    with home.serving() as (_, url):
        first = home.run("register", file, "--server", url)
        assert first.stdout.startswith("registered: t/t@1, plan ")
        playbook(home, "workflow: [{step: start, tool: {kind: noop, result: two}}]\n")
        assert home.json("register", file, "--server", url)["version"] == 2  # type: ignore[index,call-overload]
        for name, result in [("t/t@1", "one"), ("t/t", "two"), ("t/t@2", "two")]:
            execution = started(home, url, name)
            assert home.run("events", execution, "--follow", "--server", url).returncode == 0
            assert home.json("result", execution, "--server", url) == result
        wrong = home.run("start", "t/t@3", "--server", url)
        assert (wrong.returncode, "the newest is 2" in wrong.stderr) == (1, True)
        odd = home.run("start", "t/t@new", "--server", url)
        assert (odd.returncode, "t/t@2" in odd.stderr) == (1, True)


def test_the_catalogue_is_listed_as_that_of_a_local_store(home: "Home") -> None:
    assert "there is no store" in home.run("playbooks").stderr
    with home.serving() as (_, url):
        assert "no playbooks" in home.run("playbooks", "--server", url).stderr
        for word in ("first", "second"):
            home.run("register", playbook(home, WAITS.replace("hello", word)), "--server", url)
        (newest,) = home.json("playbooks", "--server", url)  # type: ignore[misc]
        assert (newest["path"], newest["version"]) == ("t/t", 2)  # type: ignore[index]
        both = home.json("playbooks", "t/t", "--server", url)
        assert isinstance(both, list)
        assert both[0] == newest and [row["version"] for row in both] == [2, 1]  # type: ignore[index,call-overload]
        assert home.json("playbooks", "t/t", "--limit", "1", "--server", url) == [newest]
        for words in ((), ("t/t",)):
            assert home.run("playbooks", *words, "--server", url).stdout == home.run("playbooks", *words).stdout
        nothing = home.run("playbooks", "t/u", "--server", url)
        assert (nothing.returncode, "there is no playbook `t/u`" in nothing.stderr) == (1, True)


def test_what_a_server_does_not_know_is_said_as_it_was_meant(home: "Home") -> None:
    (home.folder / "folder").mkdir()
    with home.serving() as (_, url):
        home.run("register", playbook(home, WAITS), "--server", url)
        for what, said in (
            ("nofile.yaml", "error: there is no file `nofile.yaml`; URL: no playbook `nofile.yaml` is registered"),
            ("./nofile", "error: there is no file `./nofile`; URL: no playbook `./nofile` is registered"),
            ("folder", "error: `folder` is a folder; URL: no playbook `folder` is registered"),
            ("t/x", "error: URL: no playbook `t/x` is registered; did you mean `t/t`?"),
            ("t/t@7", "error: URL: playbook `t/t` has no version 7: the newest is 1"),
            ("t/t@x", "error: `t/t@x`: there is no such file, and the version of a path is a number, as in t/t@2"),
        ):
            done = home.run("start", what, "--server", url)
            assert (done.returncode, done.stderr.strip()) == (1, said.replace("URL", url))


def test_a_token_is_asked_for_where_there_are_any(home: "Home", monkeypatch: pytest.MonkeyPatch) -> None:
    token = home.json("token", "add", "ann", "--role", "viewer")["token"]  # type: ignore[index,call-overload]
    file = playbook(home, WAITS)
    with home.serving() as (_, url):
        none = home.run("list", "--server", url)
        assert (none.returncode, "Authorization: Bearer" in none.stderr) == (1, True)
        monkeypatch.setenv("NOETL_TOKEN", token)
        assert home.json("list", "--server", url) == []
        refused = home.run("start", file, "--server", url)
        assert (refused.returncode, "`ann` has the role `viewer`" in refused.stderr) == (1, True)


def test_a_token_is_replaced_only_when_that_is_said(home: "Home") -> None:
    first = home.run("token", "add", "ann", "--role", "viewer").stdout
    taken = home.run("token", "add", "ann", "--role", "admin")
    assert (taken.returncode, taken.stdout) == (1, "")
    assert "a token `ann` already, with the role `viewer`; --replace makes a new one" in taken.stderr
    second = home.run("token", "add", "ann", "--role", "admin", "--replace")
    assert (second.returncode, second.stdout != first) == (0, True)
    assert "is refused from now on; its role was `viewer` and is `admin`" in second.stderr
    unlimited = {"expires": None, "paths": [], "pools": []}
    assert home.json("token", "list") == [{"name": "ann", "role": "admin", **unlimited}]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("server", "--host", "0.0.0.0"), 2, "tokens are needed"),
        (("server", "--host", "256.0.0.1", "--tokens", "some", "--behind-proxy"), 1, "cannot be listened on"),
        (("server", "--port", "70000"), 2, "70000"),
        (("list", "--server", "localhost:1"), 2, "http://HOST:PORT"),
        (("list", "--server", "http://127.0.0.1:1"), 1, "cannot be reached"),
        (("list", "--server", "http://127.0.0.1:1", "--store", "sqlite:///x"), 2, "either"),
        (("start", "x", "--server", "http://127.0.0.1:1"), 1, "cannot be reached"),
        (("register", "nowhere.yaml"), 2, "nowhere.yaml"),
        (("register", "bad.yaml"), 1, "bad.yaml does not compile; nothing was registered\n"),
        (("start", "bad.yaml"), 1, "bad.yaml does not compile; nothing was started\n"),
        (("run", "bad.yaml"), 1, "bad.yaml does not compile; nothing was started\n"),
        (("token", "delete", "nobody"), 1, "no token `nobody`"),
    ],
)
def test_what_is_wrong_is_said(home: "Home", words: tuple[str, ...], code: int, said: str) -> None:
    home.run("token", "add", "some", "--role", "admin", "--tokens", "some")
    (home.folder / "bad.yaml").write_text("apiVersion: noetl.io/v2\n")
    done = home.run(*words)
    assert (done.returncode, said in done.stderr) == (code, True), done.stderr
    assert "Traceback" not in done.stderr
    assert os.environ.get("NOETL_TOKEN") is None


def test_a_worker_with_a_token_is_told_where_to_send_it(home: "Home", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOETL_TOKEN", "canary")
    unnamed = home.run("worker", "--bus", "nats://127.0.0.1:9")
    assert unnamed.returncode == 2
    assert "give --server URL (or NOETL_SERVER): anybody on the bus can say that he is a server" in unnamed.stderr
    monkeypatch.setenv("NOETL_SERVER", "http://127.0.0.1:9 nonsense")
    odd = home.run("worker", "--bus", "nats://127.0.0.1:9")
    assert (odd.returncode, "is `nonsense`: write it as http://HOST:PORT" in odd.stderr) == (2, True)
    assert "canary" not in unnamed.stderr + odd.stderr
