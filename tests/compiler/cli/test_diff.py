"""`noetlc diff`: what it compares, how it ends, and what it refuses."""

import json
import subprocess
from pathlib import Path

import pytest

from command_line import Run, put
from nets import HEAD, steps

OLD = HEAD + steps("step: start, next: {arcs: [{step: b}]}", "step: b")
NEW = HEAD + steps("step: start")
SAME = "# said otherwise\n" + HEAD + steps("step: b", "step: start, next: {arcs: [{step: b}]}")


def git(*argv: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *argv], check=True, capture_output=True)


def test_the_same_behaviour_is_silent(run: Run) -> None:
    put("a.yaml", OLD)
    put("b.yaml", SAME)
    assert run("diff", "a.yaml", "b.yaml") == (0, "", "")
    assert run("diff", "a.yaml", "b.yaml", "--format", "markdown") == (0, "", "")
    (row,) = json.loads(run("diff", "a.yaml", "b.yaml", "--format", "json").out)
    assert (row["same"], row["resumable"], row["changes"]) == (True, True, [])


def test_another_behaviour_is_told_by_place(run: Run) -> None:
    put("a.yaml", OLD)
    put("b.yaml", NEW)
    done = run("diff", "a.yaml", "b.yaml")
    assert (done.status, done.err) == (1, "")
    lines = done.out.splitlines()
    assert "a.yaml:6:5: run - step `b`" in lines
    assert "b.yaml: run + a run, as `start`" in lines
    assert lines[-1] == "a run in flight may not be able to go on with the new plan"
    assert run("diff", "b.yaml", "a.yaml").out.splitlines()[-1] == "a run in flight can go on with the new plan"
    (row,) = json.loads(run("diff", "a.yaml", "b.yaml", "--format", "json").out)
    assert (row["same"], row["resumable"]) == (False, False)
    assert {"class": "run", "sign": "-", "message": "step `b`", "span": {"line": 6, "column": 5}} in row["changes"]
    assert "- run - step `b`\n" in run("diff", "a.yaml", "b.yaml", "--format", "markdown").out


@pytest.mark.parametrize("form", ["plan", "json"])
def test_plans_are_compared_as_their_playbooks(run: Run, form: str) -> None:
    put("a.yaml", OLD)
    run("compile", "a.yaml", "--format", form, "-o", "a.ir")
    put("b.yaml", NEW)
    put("c.yaml", SAME)
    assert run("diff", "a.ir", "c.yaml") == (0, "", "")
    assert run("diff", "a.ir", "b.yaml").out == run("diff", "a.yaml", "b.yaml").out.replace("a.yaml", "a.ir")


def test_revisions_of_git_are_compared(run: Run) -> None:
    put("in/a.yaml", OLD)
    git("init", "-q", ".")
    git("add", ".")
    git("commit", "-qm", "one")
    assert run("diff", "HEAD:in/a.yaml", "in/a.yaml").status == 0
    put("in/a.yaml", NEW)
    assert run("diff", "HEAD:in/a.yaml", "in/a.yaml").status == 1
    git("commit", "-qam", "two")
    assert "HEAD^:in/a.yaml:6:5: run - step `b`" in run("diff", "HEAD^:in/a.yaml", "HEAD:in/a.yaml").out
    for wrong in ("HEAD:gone.yaml", "no-such-revision:in/a.yaml", "--help:in/a.yaml"):
        done = run("diff", "--", wrong, "in/a.yaml")
        assert (done.status, done.out) == (2, "") and wrong in done.err


def test_documents_go_by_their_paths(run: Run) -> None:
    one, two = OLD, NEW.replace("path: t/t", "path: t/u")
    put("a.yaml", f"{one}---\n{two}")
    put("b.yaml", f"{two}---\n{one}")
    assert run("diff", "a.yaml", "b.yaml") == (0, "", "")
    put("b.yaml", two)
    done = run("diff", "a.yaml", "b.yaml")
    assert (done.status, "a.yaml:5:5: run - playbook `t/t`" in done.out) == (1, True)
    assert "run + playbook `t/t`" in run("diff", "b.yaml", "a.yaml").out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HEAD + steps("step: start, next: {arcs: [{step: nowhere}]}"), "does not compile"),
        ("", "does not compile"),
        ("\x00", "does not compile"),
        ("NOETLPLN", "b.yaml: "),
        ('{"format": "noetl-plan", "x": 1}', "b.yaml: "),
        ('{"format": "noetl-plan"', "b.yaml: "),
    ],
)
def test_what_is_no_plan_is_wrong_usage(run: Run, text: str, said: str) -> None:
    put("a.yaml", OLD)
    put("b.yaml", text)
    for argv in (("a.yaml", "b.yaml"), ("b.yaml", "a.yaml")):
        done = run("diff", *argv)
        assert (done.status, done.out) == (2, "")
        assert said in done.err and "Traceback" not in done.err


def test_misuse(run: Run) -> None:
    put("a.yaml", OLD)
    for argv in (
        ("a.yaml",),
        ("a.yaml", "gone.yaml"),
        ("-", "-"),
        ("a.yaml", "a.yaml", "--format", "xml"),
        ("a.yaml", "."),
    ):
        assert run("diff", *argv).status == 2
    assert run("diff", "a.yaml", "-", stdin=NEW.encode()).status == 1
    assert not [path for path in Path(".").iterdir() if path.name != "a.yaml"]
