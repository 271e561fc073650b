"""Sources of children that are compiled in with their callers: where one fails, its line is shown, as its caller's."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from harness.bodies import DIVIDES
from harness.serving import until
from noetl.clients.compiler import compile_playbook
from noetl.store.http import Connection
from noetl.store.http.sent_plans import sent_plan
from noetl_ir.plan_format import digest_of, read_plan
from noetl_ir.plan_sources import ENDING, read_sources, write_sources
from tool_doubles import JsonHandler, http_server

if TYPE_CHECKING:
    from conftest import Home

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: tried, path: jobs/%s}\n"
CALLS = HEAD + "workload: {which: jobs/%s}\nworkflow:\n  - {step: call, tool: {kind: playbook, path: %s}}\n"
FAILS = HEAD % "bottom" + DIVIDES.lstrip()
LINE = """\
   |
10 |         result = total / 0
   |         ^^^^^^^^^^^^^^^^^^
"""


@pytest.fixture
def family(home: "Home") -> Path:
    """A folder in which `top.yaml` calls a playbook that calls another one, which fails."""
    for name, called in (("top", "middle"), ("middle", "bottom")):
        (home.folder / f"{name}.yaml").write_text(CALLS % (name, called, f"jobs/{called}"))
    (home.folder / "bottom.yaml").write_text(FAILS)
    return home.folder


def ids(home: "Home", *words: str) -> dict[str, str]:
    rows: Any = home.json("list", *words)
    return {row["playbook"]: row["execution_id"] for row in rows}


def test_the_line_of_a_child_is_shown_where_it_failed(home: "Home", family: Path) -> None:
    done = home.run("run", "top.yaml", "--path", ".")
    assert done.returncode == 1
    assert "divide: failed at bottom.yaml:10:9: python.exception: " in done.stderr
    found = ids(home)
    _, error, *rest = done.stdout.splitlines()
    assert error.startswith("error: call / call_task at top.yaml:6: playbook.failed: ")
    assert rest[0] == (
        f"in jobs/middle, execution {found['jobs/middle']}: call / call_task at middle.yaml:6: playbook.failed:"
        " playbook `jobs/bottom` ended failed: division by zero"
    )
    assert rest[1].startswith(
        f"in jobs/bottom, execution {found['jobs/bottom']}: divide / divide_task at bottom.yaml:10:9: "
    )
    assert "\n".join(rest[2:5]) + "\n" == LINE
    for path in ("jobs/top", "jobs/bottom"):
        assert LINE in home.run("status", found[path]).stdout
    document: Any = home.json("status", found["jobs/top"])
    middle, bottom = document["failed_children"]
    assert middle["playbook"] == "jobs/middle" and middle["error"]["at"]["file"] == "middle.yaml"
    assert bottom["execution_id"] == found["jobs/bottom"]
    assert bottom["error"]["at"] == {"file": "bottom.yaml", "line": 10, "column": 9, "end_line": 10, "end_column": 27}
    # Said once, and not again with what it is a part of.
    assert "failed_children" not in json.dumps(home.json("status", found["jobs/bottom"]))


def test_a_child_that_is_found_when_it_is_called_keeps_its_source(home: "Home", family: Path) -> None:
    (family / "top.yaml").write_text(CALLS % ("top", "middle", '"{{ workload.which }}"'))
    assert LINE in home.run("run", "top.yaml", "--path", ".").stdout
    for name in ("top", "middle", "bottom"):
        (family / f"{name}.yaml").unlink()
    assert LINE in home.run("status", ids(home)["jobs/bottom"]).stdout


def test_a_plan_takes_along_the_sources_that_lie_beside_it(home: "Home", family: Path) -> None:
    made = compile_playbook(family / "top.yaml", [family])
    (family / "p.ir").write_bytes(made.plan)
    assert LINE not in home.run("run", "p.ir", "--store", "sqlite:///a.db").stdout
    (family / "p.ir.sources").write_bytes(write_sources(made.sources))
    assert LINE in home.run("run", "p.ir", "--store", "sqlite:///b.db").stdout
    # Of another plan they say nothing, and no plan is told to be of a source that is not its own.
    (family / "p.ir.sources").write_bytes(write_sources({"0a" * 32: b"a: 1"}))
    done = home.run("run", "p.ir", "--store", "sqlite:///c.db")
    assert LINE not in done.stdout
    assert done.stderr.splitlines()[0] == (
        "warning: p.ir.sources: the sources are of other plans, and are passed over: "
        "write both again with `noetlc compile --sources`"
    )
    (family / "p.ir.sources").write_bytes(b"NOETLSRC\x01\0\0\0\x01")
    done = home.run("run", "p.ir")
    assert done.returncode == 1
    assert done.stderr == (
        "error: p.ir.sources: they are cut off; write it again with `noetlc compile --sources`, or remove it\n"
    )
    assert not (family / ".noetl").exists()


def test_sources_are_registered_with_the_plan(home: "Home", family: Path) -> None:
    made = compile_playbook(family / "top.yaml", [family])
    (family / "p.ir").write_bytes(made.plan)
    (family / f"p.ir{ENDING}").write_bytes(write_sources(made.sources))
    middle = read_plan(made.plan).children[0]
    bottom = read_plan(middle.data).children[0]
    with home.serving() as (_, url):
        assert home.run("register", "p.ir", "--server", url).returncode == 0
        # Before any of them has run.
        for digest, name in ((digest_of(made.plan), "top"), (middle.digest, "middle"), (bottom.digest, "bottom")):
            assert httpx.get(f"{url}/plans/{digest}/source").content == (family / f"{name}.yaml").read_bytes()
        assert [row["path"] for row in httpx.get(f"{url}/playbooks").json()["playbooks"]] == ["jobs/top"]
        started: Any = home.json("start", "jobs/top", "--server", url)
        until(lambda: bool(httpx.get(f"{url}/executions/{started['execution_id']}").json()["status"] == "failed"))
        assert LINE in home.run("status", started["execution_id"], "--server", url).stdout
        for wrong in (b"NOETLSRC", b"NOETLSRC\x09" + made.plan, write_sources(made.sources), write_sources({}, b"x")):
            response = httpx.post(f"{url}/playbooks", content=wrong)
            assert response.status_code == 422, response.text


def test_a_server_compiles_the_children_of_its_folders_with_their_sources(home: "Home", family: Path) -> None:
    with home.serving("--path", ".") as (_, url):
        row = httpx.post(f"{url}/playbooks?name=top.yaml", content=(family / "top.yaml").read_bytes()).json()
        middle = read_plan(httpx.get(f"{url}/plans/{row['playbook_id']}").content).children[0]
        assert httpx.get(f"{url}/plans/{middle.digest}/source").content == (family / "middle.yaml").read_bytes()


class OlderServer(JsonHandler):
    """Takes plans, and no sources with them: the requests that it got, and what it made of them."""

    asked: list[tuple[str, str, bytes]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.asked.append(("POST", self.path, body))
        is_plan = body.startswith(b"NOETLPLN")
        self.respond(
            {"playbook_id": "d" * 64} if is_plan else {"detail": "this is no playbook"}, 201 if is_plan else 422
        )

    def do_PUT(self) -> None:
        self.asked.append(("PUT", self.path, self.rfile.read(int(self.headers["content-length"]))))
        self.respond({})


def test_an_older_server_gets_the_plan_and_its_own_source(home: "Home", family: Path) -> None:
    made = compile_playbook(family / "top.yaml", [family])
    OlderServer.asked = []
    with http_server(OlderServer) as url:
        row = sent_plan(Connection(url), "/playbooks", made.plan, made.sources)
    assert row == {"playbook_id": "d" * 64}
    first, *others = OlderServer.asked
    assert read_sources(first[2]) == (made.sources, made.plan)
    assert others == [
        ("POST", "/playbooks", made.plan),
        ("PUT", f"/plans/{'d' * 64}/source", (family / "top.yaml").read_bytes()),
    ]
