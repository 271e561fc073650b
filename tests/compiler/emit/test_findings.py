"""Reports of findings: each format by what the standard or its reader demands."""

import json
import re
from xml.etree import ElementTree

import pytest

from noetl_ir.span import NOWHERE, Span
from noetlc.diag.diagnostic import Code, Diagnostic, Fix, Related, Severity
from noetlc.diag.findings import FindingsReport, Reported, fingerprints
from noetlc.emit.findings import github, gitlab, junit, markdown, sarif
from noetlc.emit.findings import json as as_json
from sarif_rules import problems

CODES = {"NL601": Code("unreachable-step", Severity.WARNING, "No token", "Why", "example", "instead")}
PLACE = Span(3, 5, 3, 9)


def found(
    message: str = "m",
    *,
    code: str = "NL601",
    severity: Severity = Severity.WARNING,
    span: Span = PLACE,
    file: str = "a.yaml",
    address: str = "workflow/step x",
    related: tuple[Related, ...] = (),
    fix: Fix | None = None,
) -> Reported:
    return Reported(file, "unreachable-step", address, Diagnostic(code, severity, message, span, "help", related, fix))


def report(*findings: Reported, files: tuple[str, ...] = ("a.yaml",)) -> FindingsReport:
    return FindingsReport(files, findings, {})


STORY = found(
    related=(Related(Span(1, 1, 1, 2), "the fork"), Related(Span(2, 1, 2, 2), "the join")),
    fix=Fix(Span(3, 5, 3, 5), "x", "write `x`"),
)


def test_sarif_has_what_the_standard_demands() -> None:
    everything = report(
        STORY, found(span=NOWHERE, address=""), found(code="NL101", file="ä b/c.yaml", related=STORY[3][5])
    )
    log = json.loads(sarif.emitted(everything, CODES))
    assert list(problems(log)) == []
    first, _, other = log["runs"][0]["results"]
    steps = first["codeFlows"][0]["threadFlows"][0]["locations"]
    assert [step["location"]["message"]["text"] for step in steps] == ["the fork", "the join", "m"]
    assert "codeFlows" not in other and len(other["relatedLocations"]) == 2
    assert other["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "%C3%A4%20b/c.yaml"
    assert list(problems(json.loads(sarif.emitted(report(), CODES)))) == []


def test_the_rules_of_sarif_find_what_is_wrong() -> None:
    log = json.loads(sarif.emitted(report(STORY), CODES))
    result = log["runs"][0]["results"][0]
    result["locations"][0]["physicalLocation"]["region"]["endColumn"] = 1
    result["level"] = "bad"
    del result["message"]
    result["codeFlows"][0]["threadFlows"] = []
    assert len(list(problems(log))) == 4


def test_fingerprints_do_not_know_lines_and_tell_like_findings_apart() -> None:
    here, there = found(), found(span=Span(90, 1, 90, 2))
    assert fingerprints(report(here)) == fingerprints(report(there))
    several = [here, there, found(code="NL602"), found(file="b.yaml"), found(address="workflow/step y")]
    assert len(set(fingerprints(report(*several)))) == len(several)


def test_github_shows_ten_of_a_level_and_counts_the_rest() -> None:
    notes = [found(f"n{i}", severity=Severity.NOTE) for i in range(11)]
    errors = [found(f"e{i}", severity=Severity.ERROR) for i in range(13)]
    lines = github.emitted(report(*notes, found("w"), *errors), CODES).splitlines()
    levels = [re.match(r"::(\w+) ", line) for line in lines]
    assert [level and level[1] for level in levels] == ["error"] * 10 + ["warning"] + ["notice"] * 10 + [None]
    assert lines[-1] == "not shown as annotations: 3 more errors, 1 more notice"


def test_github_escapes_what_it_reads_itself() -> None:
    # The characters and their escapes are those of actions/toolkit, packages/core/src/command.ts.
    line = github.emitted(report(found("50% of\r\n::set-output name=x::y", file="a,b:c%.yaml")), CODES)
    assert line == (
        "::warning file=a%2Cb%3Ac%25.yaml,line=3,endLine=3,col=5,endColumn=8,title=NL601 unreachable-step"
        "::50%25 of%0D%0A::set-output name=x::y%0Ahelp\n"
    )
    assert github.emitted(report(found(span=NOWHERE)), CODES).startswith("::warning file=a.yaml,title=")
    assert "col=" not in github.emitted(report(found(span=Span(1, 2, 4, 1))), CODES)


def test_gitlab_has_the_fields_that_gitlab_reads() -> None:
    # https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
    rows = json.loads(gitlab.emitted(report(found(), found(), found(span=NOWHERE, severity=Severity.ERROR)), CODES))
    for row in rows:
        assert row.keys() == {"description", "check_name", "fingerprint", "severity", "location"}
        assert row["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert row["location"]["lines"]["begin"] >= 1
    assert len({row["fingerprint"] for row in rows}) == 3


def test_junit_fails_for_what_fails_the_run() -> None:
    rows = found("a note", severity=Severity.NOTE), found("bad", severity=Severity.ERROR)
    text = junit.emitted(FindingsReport(("a.yaml",), rows, {"a.yaml": Severity.WARNING}), CODES)
    assert 'tests="2" failures="1"' in text and text.count("<failure ") == 1
    assert "<system-out>note: a.yaml" in text


def test_junit_counts_files_without_findings_as_passed() -> None:
    text = junit.emitted(report(found('<"&\x00\ud800>'), found("two"), files=("a.yaml", "b.yaml")), CODES)
    root = ElementTree.fromstring(text.encode())
    assert (root.get("tests"), root.get("failures")) == ("3", "2")
    assert [suite.get("name") for suite in root] == ["a.yaml", "b.yaml"]
    failure = root[0][0][0]
    assert failure.get("message") == '<"&\ufffd\ufffd>'
    assert len(root[1]) == 1 and len(root[1][0]) == 0


@pytest.mark.parametrize(
    ("message", "cell"),
    [
        ("plain", "plain"),
        ("a | b", "a \\| b"),
        ("the `x|y` of <b>", "the `x\\|y` of \\<b\\>"),
        ("one ` alone", "one \\` alone"),
        ("*bold* & [link](x)", "\\*bold\\* &amp; \\[link\\](x)"),
        ("two\nlines", "two\\\\x0alines"),
    ],
)
def test_markdown_keeps_its_table(message: str, cell: str) -> None:
    lines = markdown.emitted(report(found(message)), CODES).splitlines()
    assert lines[0] == "**1 warning** in 1 file"
    assert lines[-1] == f"| warning | a.yaml:3:5 | NL601 unreachable-step | {cell} |"


def test_markdown_of_nothing() -> None:
    assert markdown.emitted(report(files=("a", "b")), CODES) == "**Nothing found** in 2 files\n"


def test_json_has_everything() -> None:
    (row,) = json.loads(as_json.emitted(report(STORY), CODES))
    assert (row["file"], row["code"], row["address"]) == ("a.yaml", "NL601", "workflow/step x")
    assert len(row["related"]) == 2 and row["fix"]["safe"] is True
