"""`noetlc migrate`: what it prints, what it writes, and how it ends."""

import json
import os
from functools import partial
from pathlib import Path

import pytest

from command_line import Run, put, runner
from noetlc.migrate import migration

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: t, path: t/t}\nworkflow:\n"
OLD = HEAD + "  - {step: start, next: b}   # go\n  - {step: b}\n"
NEW = HEAD + "  # go\n  - {step: start, next: {arcs: [{step: b}]}}\n  - {step: b}\n"
BAD = HEAD + "  - {step: start, next: nowhere}\n"
REVIEWED = HEAD + "  - {step: start, next: [a, b]}\n  - {step: a, next: c}\n  - {step: b, next: c}\n  - {step: c}\n"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Run:
    """Runs `noetlc migrate` in an empty folder."""
    return partial(runner(tmp_path, monkeypatch, capfdbinary), "migrate")


def test_one_file_is_printed_and_its_changes_are_told(run: Run) -> None:
    put("a.yaml", OLD)
    done = run("a.yaml")
    assert (done.status, done.out) == (0, NEW)
    assert (
        done.err
        == "a.yaml (lists of next steps): 1 change: 1 exact\n  5:25 exact lower_next: `next` → exclusive arcs\n"
    )
    assert Path("a.yaml").read_text("utf-8") == OLD


def test_a_canonical_file_is_printed_as_it_is(run: Run) -> None:
    assert run("-", stdin=NEW.encode()) == (0, NEW, "")


def test_a_check_fails_when_something_would_change(run: Run) -> None:
    put("a.yaml", OLD)
    put("b.yaml", NEW)
    assert run("--check", "a.yaml", "b.yaml") == (1, "a.yaml: would change in line 5\n", "1 of 2 files would change\n")
    assert run("--check", "b.yaml") == (0, "", "0 of 1 file would change\n")


def test_a_check_says_what_cannot_be_migrated(run: Run) -> None:
    put("bad.yaml", HEAD + "  - {step: start, nxt: b}\n")
    done = run("--check", "bad.yaml")
    assert done.status == 1
    assert done.out.startswith("bad.yaml: cannot be migrated\nbad.yaml:5:19: error[NL101]")
    assert done.err == "0 of 1 file would change, 1 cannot be migrated\n"


def test_a_check_with_a_report_lists_the_changes(run: Run) -> None:
    put("a.yaml", OLD)
    done = run("--check", "--format", "text", "a.yaml")
    assert (done.status, done.out.splitlines()[-1]) == (1, "1 file: 1 migrated; 1 change: 1 exact")


def test_a_diff_is_unified(run: Run) -> None:
    put("a.yaml", OLD)
    done = run("--diff", "a.yaml")
    assert done.status == 0
    assert done.out.startswith("--- a/a.yaml\n+++ b/a.yaml\n@@ ")
    assert "-  - {step: start, next: b}   # go\n+  # go\n+  - {step: start, next: {arcs: [{step: b}]}}\n" in done.out


def test_a_diff_names_what_is_to_be_looked_at(run: Run) -> None:
    put(
        "a.yaml",
        HEAD + "  - {step: start, next: [b, c]}\n  - {step: b, next: d}\n  - {step: c, next: d}\n  - step: d\n",
    )
    done = run("--diff", "a.yaml")
    assert done.out.startswith("--- a/a.yaml\n")
    first, *places = done.err.splitlines()
    assert first.startswith("a.yaml: ")
    assert first.endswith(" changes to review")
    assert places != []
    assert all(" review " in place for place in places)


def test_files_are_rewritten_in_place_and_bad_ones_stay(run: Run) -> None:
    put("books/a.yaml", OLD)
    put("books/bad.yaml", BAD)
    done = run("--write", "books")
    assert done.status == 1
    assert "books/bad.yaml: cannot be migrated\nbooks/bad.yaml:5:25: error[NL203]" in done.out
    assert Path("books/a.yaml").read_text("utf-8") == NEW
    assert Path("books/bad.yaml").read_text("utf-8") == BAD
    assert sorted(path.name for path in Path("books").iterdir()) == ["a.yaml", "bad.yaml"]


def test_standard_input_is_written_to_standard_output(run: Run) -> None:
    assert run("--write", "-", stdin=OLD.encode())[:2] == (0, NEW)


def test_a_report_for_programs_has_everything(run: Run) -> None:
    put("a.yaml", OLD)
    put("bad.yaml", BAD)
    done = run("--format", "json", ".")
    report = json.loads(done.out)
    assert done.status == 1
    assert report["constructs"] == {"`next`": 1}
    assert report["dialects"] == {"lists of next steps": 2}
    assert report["classes"] == {"exact": 1, "safe": 0, "review": 0}
    assert [(file["file"], file["status"]) for file in report["files"]] == [
        ("a.yaml", "migrated"), ("bad.yaml", "refused"),
    ]  # fmt: skip
    assert report["files"][0]["changes"] == [
        {
            "pass": "lower_next",
            "class": "exact",
            "construct": "`next`",
            "became": "exclusive arcs",
            "span": [5, 25, 5, 26],
        }
    ]
    assert report["files"][1]["problems"][0]["code"] == "NL203"


def test_a_report_for_reviews_says_what_to_look_at(run: Run) -> None:
    put("a.yaml", REVIEWED)
    put("bad.yaml", BAD)
    lines = run("--format", "markdown", ".").out.splitlines()
    assert "| a.yaml | lists of next steps | migrated | 3 | 0 | 1 |" in lines
    assert "- a.yaml:8: a fork that meets → `join: all`: it waits for every branch" in lines
    assert lines[-1] == "- bad.yaml:5: the arc leads to `nowhere`, and there is no such step"


def test_a_mistake_of_ours_is_told_and_nothing_is_written(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    put("a.yaml", OLD)
    monkeypatch.setattr(
        migration, "rewritten_document", lambda *_: NEW.replace("arcs:", "spec: {mode: inclusive}\n      arcs:")
    )
    done = run("--write", "a.yaml")
    assert done.status == 3
    assert "error[NL905]" in done.out
    assert Path("a.yaml").read_text("utf-8") == OLD


@pytest.mark.parametrize("argv", [("--check", "--write", "a.yaml"), ("none.yaml",), ("--to", "v1", "a.yaml"), (".",)])
def test_wrong_usage(run: Run, argv: tuple[str, ...]) -> None:
    assert run(*argv).status == 2


def test_many_files_are_migrated_over_the_cores(run: Run) -> None:
    for number in range(30):
        put(f"{number:02}.yaml", OLD)
    done = run("--check", ".")
    assert (done.status, done.err) == (1, "30 of 30 files would change\n")


def _unusable_ones() -> None:
    put("a.yaml", OLD)
    put("protected.yaml", OLD)
    Path("protected.yaml").chmod(0o444)
    Path("gone.yaml").symlink_to("nowhere")


def test_a_file_that_cannot_be_read_or_written_keeps_no_other_from_being_migrated(run: Run) -> None:
    _unusable_ones()
    done = run("--check", ".")
    assert done.status == 1
    assert "gone.yaml:1:1: error[NL026] the file cannot be read: No such file or directory" in done.out
    assert done.err == "2 of 3 files would change, 1 cannot be migrated\n"
    done = run("--write", ".")
    assert done.status == 1
    assert "protected.yaml:1:1: error[NL026] the file cannot be written: the file is write-protected" in done.out
    assert "3 files: 1 migrated, 2 refused" in done.out
    assert (Path("a.yaml").read_text("utf-8"), Path("protected.yaml").read_text("utf-8")) == (NEW, OLD)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="makes a POSIX pipe")
def test_a_pipe_in_a_folder_is_not_waited_for(run: Run) -> None:
    put("a.yaml", NEW)
    os.mkfifo("pipe.yaml")
    assert run("--check", ".") == (0, "", "0 of 1 file would change\n")


def test_a_file_and_the_links_to_it_are_one(run: Run) -> None:
    Path("d").mkdir()
    put("d/b.yaml", OLD)
    Path("d/a.yaml").symlink_to("b.yaml")
    Path("d/c.yaml").symlink_to(Path("d/b.yaml").resolve())
    done = run("--check", "d", "d/a.yaml")
    assert (done.status, done.out) == (1, "d/b.yaml: would change in line 5\n")
    assert done.err == "1 of 1 file would change\n"
    named = run("--check", "d/a.yaml")
    assert named.out == "d/a.yaml: would change in line 5\n"
