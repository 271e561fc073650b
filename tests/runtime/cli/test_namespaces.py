"""`noetl namespaces`, and what `noetl run`, `start` and `rerun` say where there is no place."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Home

GOOD = """\
apiVersion: noetl.io/v2
kind: Namespace
metadata: {name: team-a}
spec:
  prefix: tests/
  weight: 2
  quotas:
    open_executions: 5
    starts_per_minute: 1
"""
FAILS = "workflow:\n  - {step: start, tool: {name: f, kind: fail, code: stock.empty, message: none left}}\n"


def kept(home: "Home", text: str = GOOD) -> str:
    (home.folder / "team.yaml").write_text(text)
    return "team.yaml"


def test_namespaces_are_kept_told_of_and_deleted(home: "Home") -> None:
    assert home.run("namespaces", "put", kept(home)).stdout.splitlines() == [
        "NAMESPACE  OPEN    STARTS LEFT  WEIGHT  PREFIX",
        "team-a     0 of 5  1 of 1       2       tests/",
    ]
    with home.serving() as (_, url):
        for place in ((), ("--server", url)):
            (row,) = home.json("namespaces", "list", *place)  # type: ignore[misc]
            assert (row["name"], row["prefix"], row["weight"]) == ("team-a", "tests/", 2)
            assert "paused" in home.run("namespaces", "pause", "team-a", *place).stdout
            home.run("namespaces", "resume", "team-a", *place)
            assert "burst  1" in home.run("namespaces", "show", "team-a", *place).stdout
        put = home.run("namespaces", "put", kept(home, GOOD.replace("open_ex", "ex")), "--server", url)
        assert (put.returncode, "team.yaml:8:5: `spec.quotas` has no key `executions`" in put.stderr) == (1, True)
        assert home.run("namespaces", "delete", "team-a", "--server", url).returncode == 0
    assert "no namespaces" in home.run("namespaces", "list").stderr


def test_where_there_is_no_place_it_is_said_with_a_code_of_its_own(home: "Home") -> None:
    plan = home.plan(FAILS)
    home.run("namespaces", "put", kept(home))
    assert home.run("run", plan).returncode == 1
    failed = home.only()
    text = "namespace `team-a` has had its 1 starts a minute (`quotas.starts_per_minute`)"
    for words in (("run", plan), ("rerun", failed)):
        done = home.run(*words)
        assert (done.returncode, text in done.stderr, "nothing was started: try again in" in done.stderr) == (
            5,
            True,
            True,
        )
    many = home.run("rerun", "--query", "status:failed")
    assert (many.returncode, f"not rerun: {failed}: {text}" in many.stderr) == (1, True)
    with home.serving() as (_, url):
        done = home.run("start", plan, "--server", url)
        assert (done.returncode, text in done.stderr, "try again in" in done.stderr) == (5, True, True)
    assert home.only() == failed


def test_a_backfill_says_how_far_it_came(home: "Home") -> None:
    plan = home.plan(FAILS)
    home.run("namespaces", "put", kept(home, GOOD.replace("per_minute: 1", "per_minute: 2")))
    (home.folder / "nightly.yaml").write_text(
        "apiVersion: noetl.io/v2\nkind: Schedule\nmetadata: {name: nightly}\n"
        "spec: {playbook: tests/tried, cron: 0 2 * * *}\n"
    )
    with home.serving() as (_, url):
        there = ("--server", url)
        assert home.run("register", plan, *there).returncode == 0
        assert home.run("schedules", "put", "nightly.yaml", *there).returncode == 0
        words = (
            "schedules",
            "backfill",
            "nightly",
            "--from",
            "2026-03-01T00:00:00Z",
            "--until",
            "2026-03-05T00:00:00Z",
        )
        done = home.run(*words, *there)
        assert (done.returncode, done.stdout.splitlines()[-1]) == (5, "2 times")
        text = (
            "those from 2026-03-03T02:00:00+00:00 on were not started: namespace `team-a` has had its 2 starts a minute"
        )
        assert text in done.stderr
        again = home.run(*words, *there)
        assert (again.returncode, again.stdout.count("was started before")) == (5, 2)
        none = home.run(*words[:-3], "2026-03-03T00:00:00Z", *words[-2:], *there)
        assert (none.returncode, none.stdout) == (5, "")
        assert len(home.json("list", *there)) == 2  # type: ignore[arg-type]
