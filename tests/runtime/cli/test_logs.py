"""`noetl logs`: what tasks printed, of a store beside us and of a server, live, after kills, and whatever it is."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from harness.running import HEAD
from harness.serving import until
from noetl.ports.output import ATTEMPT_BYTES
from noetl.store.output_files import OutputFiles

if TYPE_CHECKING:
    from conftest import Home

PRINTS = """
workflow:
  - step: start
    loop: {in: "{{ ['a', 'b'] }}", iterator: n, spec: {mode: sequential}}
    tool:
      - name: p
        kind: python
        args: {n: "{{ iter.n }}"}
        code: |
          import sys
          print("printed", n)
          print("wrong", n, file=sys.stderr)
      - {name: s, kind: shell, command: "echo shell; echo shell wrong >&2; printf 'no end'"}
    next: {arcs: [{step: last}]}
  - {step: last, tool: {kind: noop}}
"""
RETRIED = """
workflow:
  - step: start
    tool:
      name: s
      kind: shell
      command: "echo try >> tries; echo try $(wc -l < tries); test $(wc -l < tries) -gt 1"
      spec: {policy: {rules: [{when: "{{ outcome.status == 'error' }}", then: {do: retry, delay: 0.01}}]}}
"""
STANDS = """
workflow:
  - step: start
    tool: {name: s, kind: shell, command: "echo first"}
    next: {arcs: [{step: stands}]}
  - step: stands
    tool: {name: s, kind: shell, command: "echo second; until test -e go; do sleep 0.02; done; echo third"}
"""


def printed(home: "Home", *words: str) -> list[str]:
    done = home.run("logs", *words)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout.splitlines()


@pytest.fixture
def ran(home: "Home") -> "Home":
    assert home.run("run", home.plan(PRINTS)).returncode == 0
    return home


LINES = [
    "start[0] / p | printed a", "start[0] / p | wrong a", "start[0] / s | shell", "start[0] / s | shell wrong",
    "start[0] / s | no end", "start[1] / p | printed b", "start[1] / p | wrong b", "start[1] / s | shell",
    "start[1] / s | shell wrong", "start[1] / s | no end",
]  # fmt: skip


def test_what_tasks_printed_is_there_line_by_line(ran: "Home") -> None:
    lines = printed(ran, "last")
    # Two pipes are read as they are ready: which of two lines came first is not known.
    assert sorted(lines) == sorted(LINES)
    assert lines.index("start[0] / p | printed a") < lines.index("start[0] / s | shell") < lines.index(LINES[5])
    assert printed(ran, "last", "start") == lines
    done = ran.run("logs", "last", "last")
    assert (done.returncode, done.stdout, "nothing was printed by step `last`" in done.stderr) == (0, "", True)


def test_a_line_without_an_end_stands_where_it_was_printed(home: "Home") -> None:
    body = """
workflow:
  - step: start
    tool:
      - {name: one, kind: shell, command: "printf 'no end'"}
      - {name: two, kind: python, code: "print('ended'); print('nor here', end='')"}
    next: {arcs: [{step: last}]}
  - {step: last, tool: {name: s, kind: shell, command: "echo behind"}}
"""
    assert home.run("run", home.plan(body)).returncode == 0
    lines = ["start / one | no end", "start / two | ended", "start / two | nor here", "last / s | behind"]
    assert printed(home, "last") == printed(home, "last", "--follow") == lines
    assert printed(home, "last", "start") == lines[:3]


def test_json_has_the_pieces_each_with_its_place(ran: "Home") -> None:
    rows = [json.loads(line) for line in printed(ran, "last", "--json")]
    assert {row["stream"] for row in rows} == {"stdout", "stderr"}
    own = [row for row in rows if row["task"] == "p" and row["path"] == [1]]
    assert "".join(row["text"] for row in own if row["stream"] == "stderr") == "wrong b\n"
    assert [row["position"] for row in rows] == sorted({row["position"] for row in rows})


def test_attempts_are_told_apart_and_chosen(home: "Home") -> None:
    home.run("run", home.plan(RETRIED))
    assert printed(home, "last") == ["start / s | try 1", "start / s, attempt 2 | try 2"]
    assert printed(home, "last", "start", "--attempt", "2") == ["start / s, attempt 2 | try 2"]
    assert "write --attempt 1 or 2" in home.run("logs", "last", "--attempt", "3").stderr


def test_what_is_not_there_is_told_with_what_was_meant(ran: "Home") -> None:
    for words, told in (
        (("nobody",), "there is no execution `nobody`"),
        (("last", "strat"), "the playbook has no step `strat`; did you mean `start`?"),
    ):
        done = ran.run("logs", *words)
        assert (done.returncode, done.stdout, told in done.stderr) == (1, "", True)
    assert ran.run("logs", "last", "--attempt", "0").returncode == 2


HOSTILE = {
    "ansi": r"\033[31mred\033[0m \033]0;title\007",
    "bytes": r"\377\376 \001\002\b\b\b \303",
    "return": r"hidden\rshown\r\n",
    "separators": r"\342\200\250 \342\200\256 \302\205",
    "tab": r"a\tb",
}


def shell(command: str) -> str:
    return f"\nworkflow:\n  - step: start\n    tool:\n      kind: shell\n      command: |\n        {command}\n"


@pytest.mark.parametrize("what", HOSTILE)
def test_nothing_that_a_terminal_obeys_reaches_it(home: "Home", what: str) -> None:
    assert home.run("run", home.plan(shell(f"printf '{HOSTILE[what]}'"))).returncode == 0
    done = home.run("logs", "last")
    assert done.stdout and all(line.isprintable() for line in done.stdout.split("\n")), done.stdout
    assert all(line.isprintable() for line in home.run("logs", "last", "--json").stdout.split("\n"))
    for path in (home.folder / ".noetl" / "noetl.db.output").iterdir():
        assert path.read_bytes().isascii()


def test_a_line_without_an_end_is_printed_as_one_with_an_end(home: "Home") -> None:
    home.run("run", home.plan(shell(r"printf 'a\tb\r\na\tb\r'")))
    assert printed(home, "last") == ["start / start_task | a       b"] * 2


def test_ten_megabytes_in_one_line_are_cut_with_a_mark(home: "Home") -> None:
    home.run("run", home.plan(shell("head -c 10000000 /dev/zero | tr '\\000' x")))
    line, mark = printed(home, "last")
    assert len(line) == ATTEMPT_BYTES + len("start / start_task | ")
    assert "1,048,576 bytes; the rest was dropped" in mark


def test_a_secret_is_in_no_output_also_where_it_comes_in_pieces(home: "Home") -> None:
    secret = "canary-of-the-output-8315"
    home.env["CANARY"] = secret
    body = """
keychain: [{name: e, kind: env, var: CANARY}]
workflow:
  - step: start
    tool:
      - name: p
        kind: python
        args: {word: "{{ keychain.e.value }}"}
        code: |
          import sys, time
          for part in ("in ", word[:9], word[9:], " one"):
              sys.stdout.write(part)
              sys.stdout.flush()
              time.sleep(0.1)
      - name: s
        kind: shell
        env: {W: "{{ keychain.e.value }}"}
        command: "printf $W; sleep 0.1; printf '\\n'; printf $W | od -An -tx1 | tr -d ' \\n'"
"""
    done = home.run("run", home.plan(body))
    assert done.returncode == 0, done.stderr
    shown = "\n".join(printed(home, "last"))
    assert "in [[secret:e:" in shown and "] one" in shown
    kept = b"".join(path.read_bytes() for path in (home.folder / ".noetl" / "noetl.db.output").iterdir())
    for text in (secret, secret.encode().hex()):
        assert text not in shown and text.encode() not in kept and text not in done.stderr


def lines_of(child: "subprocess.Popen[str]") -> Iterator[str]:
    assert child.stdout is not None
    yield from child.stdout


def test_output_is_followed_while_it_is_printed(home: "Home") -> None:
    run = home.start("run", home.plan(STANDS), until="start: done")
    child = home.begin("logs", "last", "--follow")
    lines = lines_of(child)
    assert [next(lines), next(lines)] == ["start / s | first\n", "stands / s | second\n"]
    (home.folder / "go").touch()
    assert ([*lines], child.wait(60)) == (["stands / s | third\n"], 0)
    run.wait(60)


def test_output_is_followed_by_a_server_and_read_from_it(home: "Home") -> None:
    (home.folder / "t.yaml").write_text(HEAD + STANDS)
    with home.serving() as (_, url):
        execution = home.json("start", "t.yaml", "--server", url)["execution_id"]  # type: ignore[index,call-overload]
        child = home.begin("logs", execution, "--server", url, "--follow")
        lines = lines_of(child)
        assert [next(lines), next(lines)] == ["start / s | first\n", "stands / s | second\n"]
        (home.folder / "go").touch()
        assert ([*lines], child.wait(60)) == (["stands / s | third\n"], 0)
        there = printed(home, execution, "--server", url)
        assert there == printed(home, execution) and len(there) == 3
        for words in (("strat",), ("start", "--attempt", "7")):
            assert (
                home.run("logs", execution, *words, "--server", url).stderr
                == home.run("logs", execution, *words).stderr
            )
        assert "no execution `nobody`" in home.run("logs", "nobody", "--server", url).stderr


def test_after_a_kill_the_output_of_what_was_done_is_there_and_nothing_twice(home: "Home") -> None:
    plan = home.plan(STANDS)
    child = home.start("run", plan, until="stands: started")
    until(lambda: (home.folder / ".noetl" / "noetl.db.output").exists() and "second" in home.run("logs", "last").stdout)
    child.send_signal(signal.SIGKILL)
    child.wait(60)
    assert printed(home, "last") == ["start / s | first", "stands / s | second"]
    (home.folder / "go").touch()
    assert home.run("resume", home.only()).returncode == 0
    assert printed(home, "last") == [
        "start / s | first", "stands / s | second", "stands / s, claim 2 | second", "stands / s, claim 2 | third",
    ]  # fmt: skip


def test_output_that_cannot_be_kept_fails_no_task(home: "Home") -> None:
    home.run("run", home.plan(PRINTS))
    for file in (home.folder / ".noetl" / "noetl.db.output").iterdir():
        file.unlink()
    (home.folder / ".noetl" / "noetl.db.output").rmdir()
    (home.folder / ".noetl" / "noetl.db.output").write_text("in its place")
    begun = time.monotonic()
    assert home.run("run", home.plan(PRINTS)).returncode == 0
    assert time.monotonic() - begun < 30
    done = home.run("logs", "last")
    assert (done.returncode, "the output cannot be kept or read" in done.stderr) == (1, True)


def test_pieces_that_are_missing_are_told(home: "Home", tmp_path: Path) -> None:
    home.run("run", home.plan(RETRIED))
    outputs = OutputFiles(str(home.folder / ".noetl" / "noetl.db.output"))
    last: Any = outputs.read(home.only())[-1].chunk
    outputs.add_chunks([last._replace(offset=last.until + 50, text="behind\n")])
    assert printed(home, "last")[-2:] == [
        "start / s, attempt 2 | … some output is missing here: it was not kept", "start / s, attempt 2 | behind",
    ]  # fmt: skip


def test_a_run_that_prints_nothing_makes_no_folder(home: "Home") -> None:
    home.run("run", home.plan("\nworkflow:\n  - {step: start, tool: {kind: shell, command: 'true'}}\n"))
    assert not [name for name in os.listdir(home.folder / ".noetl") if "output" in name]


def test_children_that_printed_are_named_where_the_caller_printed_nothing(home: "Home") -> None:
    (home.folder / "child.yaml").write_text(HEAD.replace("t/t", "t/child") + shell("echo hello"))
    (home.folder / "quiet.yaml").write_text(HEAD.replace("t/t", "t/quiet") + shell("true"))
    calls = "\nworkflow:\n  - step: start\n    tool:\n" + "".join(
        f"      - {{name: {name}, kind: playbook, path: t/{name}}}\n" for name in ("child", "quiet")
    )
    (home.folder / "t.yaml").write_text(HEAD + calls)
    assert home.run("run", "t.yaml", "--path", ".").returncode == 0
    (caller,) = [row for row in home.json("list") if row["parent"] is None]  # type: ignore[union-attr,call-overload,index]
    done = home.run("logs", caller["execution_id"])  # type: ignore[index,arg-type,call-overload]
    (child,) = [row for row in home.json("list") if row["playbook"] == "t/child"]  # type: ignore[union-attr,call-overload,index]
    assert done.stderr == (
        f"note: nothing was printed by its tasks; children did: `t/child` (noetl logs {child['execution_id']})\n"  # type: ignore[index,call-overload]
    )
    assert home.run("logs", child["execution_id"]).stdout == "start / start_task | hello\n"  # type: ignore[index,arg-type,call-overload]
