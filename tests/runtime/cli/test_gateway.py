"""`noetl gateway`: a process before two groups, what the command line says of one that is gone, and of wrong files."""

import signal
import subprocess
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import pytest

from services import waited_for

if TYPE_CHECKING:
    from conftest import Home

PLAYBOOK = (
    "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: t, path: PATH}\n"
    "workflow: [{step: start, tool: {kind: noop, result: 7}}]\n"
)


class Processes(NamedTuple):
    """A gateway and the servers of its groups `a` and `b`, which have the playbooks `a/…` and `b/…`."""

    url: str
    gateway: "subprocess.Popen[str]"
    servers: dict[str, "subprocess.Popen[str]"]


@pytest.fixture
def running(home: "Home") -> Iterator[Processes]:
    with (
        home.serving("--store", "sqlite:///a/noetl.db") as (first, a),
        home.serving("--store", "sqlite:///b/noetl.db") as (second, b),
    ):
        tables = [
            f'[groups.{name}]\nservers = ["{url}"]\nplaybooks = ["{name}/*"]\n' for name, url in (("a", a), ("b", b))
        ]
        (home.folder / "groups.toml").write_text("".join(tables))
        with home.serving("groups.toml", command="gateway") as (gateway, url):
            home.env["NOETL_SERVER"] = url
            yield Processes(url, gateway, {"a": first, "b": second})


def test_commands_use_it_as_a_server_and_say_what_is_missing(home: "Home", running: Processes) -> None:
    for name in "ab":
        (home.folder / f"{name}.yaml").write_text(PLAYBOOK.replace("PATH", f"{name}/one"))
        done = home.run("register", f"{name}.yaml", "--server", running.url)
        assert done.returncode == 0, done.stderr
        assert home.run("start", f"{name}/one", "--server", running.url).returncode == 0
    here = ("--server", running.url)
    waited_for(lambda: home.run("list", *here).stdout.count("completed") == 2, "they do not end")
    first, second = [str(row["execution_id"]) for row in home.json("list", *here)][::-1]  # type: ignore[union-attr]
    for execution in (first, second):
        assert home.json("result", execution, *here) == 7
        assert home.run("replay", execution, *here).returncode == 0
    running.servers["b"].kill()
    running.servers["b"].wait(30)
    listed = home.run("list", *here)
    assert (listed.returncode, first in listed.stdout, second in listed.stdout) == (1, True, False)
    assert listed.stderr == "error: group b does not answer: what is there is missing here\n"
    assert home.run("status", first, *here).returncode == 0
    gone = home.run("status", second, *here)
    assert gone.returncode != 0 and "no server of group b can be reached" in gone.stderr
    assert home.run("start", "a/one", *here).returncode == 0
    refused = home.run("start", "b/one", *here)
    assert refused.returncode != 0 and "group b does not answer" in refused.stderr
    running.gateway.send_signal(signal.SIGTERM)
    assert running.gateway.wait(60) == 0


def test_a_file_is_checked_before_anything_begins(home: "Home") -> None:
    (home.folder / "groups.toml").write_text('[groups.a]\nservers = ["http://127.0.0.1:1"]\nshare = 2\n')
    checked = home.run("gateway", "groups.toml", "--check-config")
    assert (checked.returncode, checked.stdout) == (0, "a: 1 server, share 2, playbooks none by name\n")
    (home.folder / "groups.toml").write_bytes(b"\xff")
    assert "it is no UTF-8" in home.run("gateway", "groups.toml").stderr
    (home.folder / "groups.toml").write_text("[groups.a]\n")
    wrong = home.run("gateway", "groups.toml")
    assert wrong.returncode == 1 and wrong.stderr.startswith("error: groups.toml: `[groups.a]` has no servers")
    for words in (("--host", "0.0.0.0"), ("--tls-key", "groups.toml"), ("--port", "x")):
        assert home.run("gateway", "groups.toml", *words).returncode == 2
    assert home.run("gateway", "none.toml").returncode == 2
