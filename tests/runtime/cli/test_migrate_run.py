"""`noetl migrate-run`: an execution that waits goes on under another plan, in a folder and at a server."""

import sqlite3
import time
from typing import TYPE_CHECKING, Any

import pytest

from harness.bodies import WAITING

if TYPE_CHECKING:
    from conftest import Home

MENDED = WAITING.replace("v + 1", "v + 100")
"""What has not run is another: 3 * 2 + 100."""
REWRITTEN = WAITING.replace("n * 2", "n * 3")
WHY = "step `start` ran, and does something else in the new plan"


def waiting(home: "Home") -> str:
    """The id of an execution that waits, and that nobody drives."""
    with home.serving() as (_, url):
        return waiting_at(home, url)


def waiting_at(home: "Home", url: str) -> str:
    home.run("start", home.plan(WAITING), "--server", url)
    found = home.only()
    until(lambda: "hold" in str(home.json("status", found)))
    return found


def until(done: Any) -> None:
    end = time.monotonic() + 60
    while not done():
        assert time.monotonic() < end
        time.sleep(0.05)


def versions(home: "Home") -> list[int]:
    found: Any = home.json("playbooks", "tests/tried")
    return [row["version"] for row in found]


def kinds(home: "Home", execution: str) -> list[str]:
    lines: Any = home.run("events", execution, "--json").stdout.splitlines()
    return [word for line in lines for word in ("playbook.migrated", "migration.refused") if f'"{word}"' in line]


def test_one_that_nobody_drives_is_moved_and_goes_on_as_the_new_plan_says(home: "Home") -> None:
    name = waiting(home)
    dry = home.run("migrate-run", name, "--plan", home.plan(MENDED, "mended.ir"), "--dry-run")
    assert (dry.returncode, dry.stdout) == (0, f"execution {name} can be moved\n")
    assert kinds(home, name) == []
    done = home.run("migrate-run", name, "--plan", "mended.ir")
    assert done.returncode == 0 and f"moved: execution {name}" in done.stdout, done.stderr
    assert kinds(home, name) == ["playbook.migrated"]
    [move] = home.json("status", name)["moved"]  # type: ignore[index, call-overload]
    [row] = home.json("list")  # type: ignore[misc]
    assert move["from"] != row["plan_digest"] and len(move["from"]) == 64
    assert f"moved from the plan {move['from'][:12]} at " in home.run("status", name).stdout
    assert home.run("replay", name).stdout.startswith("a legal run")
    again = home.run("migrate-run", name, "--plan", "mended.ir")
    assert again.returncode == 1 and "it runs this plan already" in again.stderr
    assert home.run("signal", name, "--name", "go").returncode == 0
    assert "result: 106" in home.run("resume", name).stdout
    over = home.run("migrate-run", name, "--plan", "mended.ir").stderr
    assert "it is over" in over and "it runs this plan already" not in over
    assert home.run("replay", name).stdout.startswith("a legal run")
    assert home.run("store", "check").returncode == 0


def test_what_hinders_is_told_and_nothing_is_changed(home: "Home") -> None:
    name = waiting(home)
    before = home.run("events", name, "--json").stdout
    done = home.run("migrate-run", name, "--plan", home.plan(REWRITTEN, "other.ir"))
    assert done.returncode == 1 and done.stderr.startswith(f"error: it stays with its plan:\n{WHY}"), done.stderr
    dry = home.run("migrate-run", name, "--plan", "other.ir", "--dry-run", "--json")
    assert dry.returncode == 1 and '"code": "task"' in dry.stdout
    assert home.run("events", name, "--json").stdout == before
    with sqlite3.connect(home.folder / ".noetl" / "noetl.db") as database:
        versions = database.execute("SELECT count(*) FROM plans").fetchall()
    assert versions == [(1,)], "whoever is refused leaves no version behind"


@pytest.mark.parametrize("is_beside", [False, True])
def test_one_that_a_server_drives_is_moved_by_it(home: "Home", is_beside: bool) -> None:
    with home.serving() as (server, url):
        name = waiting_at(home, url)
        where = [] if is_beside else ["--server", url]
        refused = home.run("migrate-run", name, "--plan", home.plan(REWRITTEN, "other.ir"), *where)
        assert refused.returncode == 1 and WHY in refused.stderr, refused.stderr
        mended = home.plan(MENDED, "mended.ir")
        assert home.run("migrate-run", name, "--plan", mended, "--dry-run", *where).returncode == 0
        assert versions(home) == [1], "who only looks, or is refused, changes nothing of what the next start takes"
        assert home.run("migrate-run", name, "--plan", mended, *where).returncode == 0
        assert versions(home) == [1] or is_beside, "a server makes versions of what is registered alone"
        assert kinds(home, name) == ["playbook.migrated"]
        status: Any = home.json("status", name, "--server", url)
        assert "hold" in str(status), "it is looked at under its new plan"
        server.kill()
        server.wait(60)
    with home.serving() as (_, url):  # another process goes on with it
        assert home.run("signal", name, "--name", "go", "--server", url).returncode == 0
        until(lambda: home.run("result", name, "--server", url).stdout.strip() == "106")
        assert home.run("replay", name, "--server", url).stdout.startswith("a legal run")
    deeds: Any = home.run("audit", "--deed", "migrate", "--json").stdout
    assert deeds.count('"subject"') >= 1 and name in deeds


def test_whoever_asks_an_owner_for_what_hinders_has_its_answer_in_the_log(home: "Home") -> None:
    """A request may be overtaken: what did not hinder when it was made does when it is read."""
    from noetl.app.adapters import open_store
    from noetl.server.migrations import asks_to_migrate
    from noetl_ir.plan_format import digest_of

    with home.serving() as (_, url):
        name = waiting_at(home, url)
        home.plan(REWRITTEN, "other.ir")
        data = (home.folder / "other.ir").read_bytes()
        store = open_store(f"sqlite:///{home.folder}/.noetl/noetl.db")
        store.keep_plan(digest_of(data), "tests/tried", data)
        for digest in (digest_of(data), "f" * 64):
            store.post(name, "migrate", asks_to_migrate(digest))
        store.close()
        until(lambda: kinds(home, name) == ["migration.refused"] * 2)
        told = home.run("events", name, "--json").stdout
        assert WHY in told and f"the store has no plan with digest {'f' * 64}" in told
        assert home.run("replay", name, "--server", url).stdout.startswith("a legal run")
    with home.serving() as (_, url):  # and is read once
        assert home.run("signal", name, "--name", "go", "--server", url).returncode == 0
        until(lambda: home.run("result", name, "--server", url).stdout.strip() == "7")
        assert kinds(home, name) == ["migration.refused"] * 2


AT_WORK = """
workflow:
  - step: start
    tool: {kind: shell, cmd: "until test -e ok; do sleep 0.05; done; echo 7"}
    loop: {in: "{{ [1, 2, 3] }}", iterator: one, spec: {mode: parallel, max_in_flight: 2}}
    next: {arcs: [{step: last}]}
  - step: last
    tool: {kind: python, args: {v: "{{ start }}"}, code: "result = len(v)"}
"""


def test_what_is_at_work_goes_on_and_its_end_counts(home: "Home") -> None:
    """Two items run, one waits for a slot: their orders name the old plan, in which they are the same."""
    with home.serving() as (_, url):
        home.run("start", home.plan(AT_WORK), "--server", url)
        name = home.only()
        until(lambda: home.run("events", name, "--json").stdout.count('"task.started"') == 2)
        new = home.plan(AT_WORK.replace("len(v)", "len(v) * 100"), "new.ir")
        assert home.run("migrate-run", name, "--plan", new, "--server", url).returncode == 0
        (home.folder / "ok").touch()
        until(lambda: home.run("result", name, "--server", url).stdout.strip() == "300")
        told = home.run("events", name, "--json").stdout
        assert told.count('"task.started"') == 4 and "task.lost" not in told
        assert home.run("replay", name, "--server", url).stdout.startswith("a legal run")


POOLED = """
workflow:
  - step: start
    spec: {pool: narrow}
    tool: {kind: shell, cmd: "until test -e ok; do sleep 0.05; done; echo 7"}
"""


def test_what_waits_for_a_pool_waits_for_that_of_the_new_plan(home: "Home") -> None:
    """The only slot of its pool is taken: moved out of it, its task begins."""
    with home.serving("--pool-limit", "narrow=1") as (_, url):
        plan = home.plan(POOLED)
        home.run("start", plan, "--server", url)
        first = home.only()
        started = lambda name: '"task.started"' in home.run("events", name, "--json").stdout  # noqa: E731
        until(lambda: started(first))
        told = home.run("start", plan, "--server", url).stdout
        second = told.split()[2]
        time.sleep(0.5)
        assert not started(second)
        new = home.plan(POOLED.replace("    spec: {pool: narrow}\n", ""), "new.ir")
        assert home.run("migrate-run", second, "--plan", new, "--server", url).returncode == 0
        until(lambda: started(second))
        (home.folder / "ok").touch()
        for name in (first, second):
            until(lambda name=name: "completed" in home.run("status", name, "--server", url).stdout)
            assert home.run("replay", name, "--server", url).stdout.startswith("a legal run")
            assert home.run("events", name, "--json").stdout.count('"task.started"') == 1
