"""Limits of pools where server and worker are one process: over all executions, and in a run."""

from typing import TYPE_CHECKING

import pytest

from noetl_ir.expr import Json
from services import waited_for

if TYPE_CHECKING:
    from conftest import Home

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: t, path: t/NAME}\n"
BUSY = """
workflow:
  - step: start
    spec: {pool: POOL}
    loop: {in: "{{ range(6) | list }}", iterator: n, spec: {mode: parallel}}
    tool: {name: s, kind: shell, command: "echo +NAME >> calls; sleep 0.1; echo -NAME >> calls"}
"""


def playbook(home: "Home", name: str, pool: str) -> str:
    """A file with a playbook that is six times at once in a pool, as far as it may."""
    (home.folder / f"{name}.yaml").write_text((HEAD + BUSY).replace("NAME", name).replace("POOL", pool))
    return f"{name}.yaml"


def at_once(home: "Home", name: str) -> tuple[int, int]:
    """How many began, and how many were at work together at most."""
    now, most, begun = 0, 0, 0
    for line in (home.folder / "calls").read_text().split():
        if line[1:] == name:
            now += 1 if line[0] == "+" else -1
            begun += line[0] == "+"
            most = max(most, now)
    return begun, most


@pytest.mark.parametrize(
    ("limits", "pool", "most"),
    [(("narrow=2",), "narrow", 2), (("narrow=1", "default=3"), "default", 3), (("narrow=1",), "other", 6)],
)
def test_a_run_keeps_the_limit_of_a_pool(home: "Home", limits: tuple[str, ...], pool: str, most: int) -> None:
    words = [word for limit in limits for word in ("--pool-limit", limit)]
    assert home.run("run", playbook(home, "a", pool), *words).returncode == 0
    begun, together = at_once(home, "a")
    assert begun == 6
    assert together == most if most < 6 else together > 3


def test_a_server_keeps_it_over_all_executions(home: "Home") -> None:
    with home.serving("--pool-limit", "narrow=2") as (_, url):
        for name, pool in (("a", "narrow"), ("b", "wide")):
            file = playbook(home, name, pool)
            for _ in range(3):
                assert home.run("start", file, "--server", url).returncode == 0
        waited_for(lambda: _counts(home, url)["completed"] == 6, "they do not end", 120)
    assert at_once(home, "a") == (18, 2)
    begun, together = at_once(home, "b")
    assert begun == 18 and together > 2, "those of other pools do not wait"


def test_status_says_how_many_are_at_work_and_why_the_others_are_not(home: "Home") -> None:
    file = playbook(home, "a", "narrow")
    text = (home.folder / file).read_text()
    (home.folder / file).write_text(text.replace("sleep 0.1;", "until test -e go; do sleep 0.05; done;"))
    with home.serving("--pool-limit", "narrow=2") as (_, url):
        document = home.json("start", file, "--server", url)
        assert isinstance(document, dict)
        execution = str(document["execution_id"])
        line = "start: 0 of 6, 2 at work, 4 to run; at most 2 of pool `narrow` run at once"
        waited_for(lambda: line in home.run("status", execution, "--server", url).stdout, "it is not said")
        here = home.run("status", execution).stdout
        assert "start: 0 of 6, 2 at work, 4 to run\n" in here, "beside the store nobody knows of limits"
        (home.folder / "go").touch()
        waited_for(lambda: _counts(home, url)["completed"] == 1, "it does not end")


def _counts(home: "Home", url: str) -> dict[str, int]:
    document = home.json("status", "--server", url)
    assert isinstance(document, dict)
    counts: Json = document["counts"]
    assert isinstance(counts, dict)
    return {name: int(str(count)) for name, count in counts.items()}


@pytest.mark.parametrize("limit", ["narrow", "narrow=0", "=2", "narrow=x"])
def test_a_limit_that_is_none_is_refused(home: "Home", limit: str) -> None:
    done = home.run("run", playbook(home, "a", "narrow"), "--pool-limit", limit)
    assert (done.returncode, "POOL=N" in done.stderr) == (2, True)
