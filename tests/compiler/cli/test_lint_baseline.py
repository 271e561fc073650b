"""`lint --baseline`: known findings are found again by code and place in the document."""

import json
from pathlib import Path

import pytest

from command_line import Run, put
from nets import HEAD

KNOWN = f"{HEAD}workflow:\n  - step: start\n  - step: lonely\n  - step: other\n"


def codes(run: Run, *argv: str) -> list[tuple[str, str]]:
    """File and code of what is reported."""
    return [(row["file"], row["code"]) for row in json.loads(run("lint", "--format", "json", *argv).out)]


@pytest.fixture
def baseline(run: Run) -> str:
    """A baseline of a file with two findings."""
    put("in/a.yaml", KNOWN)
    done = run("lint", "in", "--write-baseline", "known.json")
    assert (done.status, done.out) == (0, "") and "2 findings" in done.err
    return "known.json"


def test_known_findings_are_not_told_again(run: Run, baseline: str) -> None:
    done = run("lint", "in", "--strict", "--baseline", baseline)
    assert (done.status, done.out) == (0, "")
    assert done.err == "nothing found in 1 file, 2 in the baseline\n"


@pytest.mark.parametrize(
    "text",
    [
        "# a comment\n\n" + KNOWN,  # lines move
        KNOWN.replace("  - step: lonely\n  - step: other\n", "  - step: other\n  - step: lonely\n"),  # order
        KNOWN.replace("step: lonely", '"step":   "lonely"'),  # writing
        KNOWN.replace("- step: start\n", "- step: start\n    desc: more\n"),
    ],
)
def test_a_finding_is_known_wherever_its_lines_are(run: Run, baseline: str, text: str) -> None:
    put("in/a.yaml", text)
    assert codes(run, "in", "--baseline", baseline) == []


def test_new_findings_are_told_beside_known_ones(run: Run, baseline: str) -> None:
    put("in/a.yaml", KNOWN + "  - step: third\n")
    put("in/b.yaml", KNOWN)
    new = [("in/a.yaml", "NL601"), ("in/b.yaml", "NL601"), ("in/b.yaml", "NL601")]
    assert codes(run, "in", "--baseline", baseline) == new


def test_an_entry_knows_one_finding(run: Run) -> None:
    text = HEAD + 'workload: {x: 1}\nworkflow:\n  - step: start\n    tool: {kind: noop, result: "{{ workload.xx1 }}"}\n'
    put("a.yaml", text.replace("workload.xx1", "gone"))
    assert run("lint", "a.yaml", "--write-baseline", "b.json").status == 0
    assert codes(run, "a.yaml", "--baseline", "b.json") == []
    put("a.yaml", text.replace("workload.xx1", "gone + away"))
    assert codes(run, "a.yaml", "--baseline", "b.json") == [("a.yaml", "NL303")]


def test_entries_that_match_nothing_are_findings(run: Run, baseline: str) -> None:
    put("in/a.yaml", KNOWN.replace("  - step: lonely\n", ""))
    put("in/b.yaml", f"{HEAD}workflow:\n  - step: start\n")
    done = run("lint", "in", "--baseline", baseline, "--format", "text")
    assert done.out == "known.json:4:1: note[NL025] in/a.yaml has no NL601 at workflow/step lonely/step any more\n"
    assert done.status == 0
    assert run("lint", "in", "--baseline", baseline, "--strict").status == 1
    # Files that were not looked at may still have theirs; one that is gone has none.
    assert codes(run, "in/b.yaml", "--baseline", baseline) == []
    Path("in/a.yaml").unlink()
    assert codes(run, "in/b.yaml", "--baseline", baseline) == [("known.json", "NL025")] * 2


def test_an_entry_of_a_code_that_is_not_selected_is_not_stale(run: Run, baseline: str) -> None:
    assert codes(run, "in", "--baseline", baseline, "--select", "NL0,NL2") == []


def test_a_configured_baseline_lies_beside_the_configuration(run: Run, baseline: str) -> None:
    Path(baseline).rename("in/known.json")
    put("in/noetlc.toml", 'baseline = "known.json"\n')
    assert len(codes(run, "in")) == 4  # the names in it are from its folder, which is another one now
    assert run("lint", "in", "--write-baseline", "in/known.json").status == 0
    assert codes(run, "in") == []
    assert json.loads(Path("in/known.json").read_text())["findings"][0]["file"] == "a.yaml"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"format": "other", "findings": []}',
        '{"format": "noetlc-baseline/1"}',
        "\x00",
        "[" * 100_000,
        '{"format": "noetlc-baseline/1", "findings": [{"file": "a", "code": "b"}]}',
        '{"format": "noetlc-baseline/1", "findings": [{"file": 1, "code": "b", "address": ""}]}',
    ],
)
def test_what_is_no_baseline_is_wrong_usage(run: Run, text: str) -> None:
    put("a.yaml", KNOWN)
    put("b.json", text)
    done = run("lint", "a.yaml", "--baseline", "b.json")
    assert (done.status, done.out) == (2, "")
    assert "b.json is no baseline of noetlc" in done.err
