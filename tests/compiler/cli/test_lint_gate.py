"""The findings that lint reports, and when it fails: selection, configuration, comments that ignore, and misuse."""

import json
from pathlib import Path

import pytest

from command_line import Run, put
from nets import HEAD, steps
from noetlc.diag.selection import Selection

WARNED = HEAD + steps("step: start", "step: lonely")  # NL601
BAD = HEAD.replace("/v2", "/v10") + steps("step: other")  # NL202
MIXED = HEAD + steps("step: start, tool: {kind: gone}", "step: lonely")  # NL107 and NL601


def codes(run: Run, *argv: str) -> list[str]:
    """The codes that are reported."""
    return [row["code"] for row in json.loads(run("lint", "--format", "json", *argv).out)]


@pytest.mark.parametrize(
    ("select", "ignore", "taken"),
    [
        # The more exact selector decides, and of equal ones the one that ignores.
        (("",), (), True),
        (("",), ("NL6",), False),
        (("NL601",), ("NL6",), True),
        (("NL6",), ("NL601",), False),
        (("NL6",), ("NL6",), False),
        (("NL2",), (), False),
    ],
)
def test_the_more_exact_selector_decides(select: tuple[str, ...], ignore: tuple[str, ...], taken: bool) -> None:
    assert Selection(select, ignore).takes("NL601") is taken


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ((), ["NL107", "NL601"]),
        (("--select", "NL6"), ["NL601"]),
        (("--select", "unknown-kind"), ["NL107"]),
        (("--select", "nl107,unreachable_step"), ["NL107", "NL601"]),
        (("--select", "ALL", "--ignore", "NL107"), ["NL601"]),
        (("--ignore", "NL1", "--ignore", "unreachable-step"), []),
        (("--ignore", "NL", "--select", "NL107"), ["NL107"]),
    ],
)
def test_codes_are_selected_and_ignored(run: Run, options: tuple[str, ...], found: list[str]) -> None:
    put("a.yaml", MIXED)
    assert codes(run, "a.yaml", *options) == found
    assert run("lint", "a.yaml", *options).status == (1 if "NL107" in found else 0)


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("--select", "unknown-kinds"), "unknown-kind"),
        (("--ignore", "XX1"), "there is no code 'XX1'"),
        (("--ignore", ""), "there is no code ''"),
        (("--unsafe-fixes",), "needs --fix or --diff"),
        (("--fix", "--write-baseline", "b.json"), "exclude each other"),
        (("--baseline", "b.json", "--write-baseline", "b.json"), "exclude each other"),
        (("--diff", "--format", "json"), "--diff prints a diff"),
        (("--no-cache", "--cache-dir", "c"), "exclude each other"),
        (("--baseline", "none.json"), "none.json"),
        (("--config", "none.toml"), "none.toml"),
        (("--output", "no/where.json"), "there is no folder 'no'"),
        (("--output", "."), "Is a directory"),
        (("--format", "xml"), "'xml' is not one of"),
        (("--fail-on", "fatal"), "'fatal' is not one of"),
        (("--baseline", ""), "--baseline needs a name"),
        (("--cache-dir", ""), "--cache-dir needs a name"),
        (("--output", ""), "--output needs a name"),
        (("--fix", "-"), "--fix writes what it makes of standard input"),
    ],
)
def test_misuse_is_told_and_nothing_is_written(run: Run, argv: tuple[str, ...], said: str) -> None:
    put("a.yaml", WARNED)
    done = run("lint", "a.yaml", *argv)
    assert (done.status, done.out) == (2, "")
    assert said in done.err and "Traceback" not in done.err
    assert [str(path) for path in Path(".").iterdir()] == ["a.yaml"]


@pytest.mark.parametrize("file", ["noetlc.toml", "pyproject.toml"])
def test_the_nearest_configuration_above_a_file_counts(run: Run, file: str) -> None:
    head = "[tool.noetlc]\n" if file == "pyproject.toml" else ""
    put(file, f'{head}ignore = ["NL107"]\nfail-on = "warning"\n')
    put("in/deep/a.yaml", MIXED)
    assert codes(run, "in") == ["NL601"]
    assert run("lint", "in").status == 1
    assert run("lint", "in", "--fail-on", "error").status == 0
    assert codes(run, "in", "--ignore", "NL601") == ["NL107"]  # the command line replaces
    put(f"in/{file}", f"{head}strict = true\n")
    assert codes(run, "in") == ["NL107", "NL601"]
    put("other.toml", 'select = ["NL9"]\n')
    assert codes(run, "in", "--config", "other.toml") == []


def test_a_pyproject_of_others_is_passed_by(run: Run) -> None:
    put("noetlc.toml", 'ignore = ["NL601"]\n')
    put("in/pyproject.toml", '[tool.other]\nselect = "x"\n')
    put("in/a.yaml", WARNED)
    assert codes(run, "in") == []


def test_files_are_called_as_other_programs_call_them(run: Run) -> None:
    put("in/a.yaml", WARNED)
    for path in (".", "./in", "./in/a.yaml"):
        (row,) = json.loads(run("lint", path, "--format", "json").out)
        assert row["file"] == "in/a.yaml"


def test_files_have_their_own_configuration(run: Run) -> None:
    put("one/noetlc.toml", "strict = true\n")
    put("one/a.yaml", HEAD + steps("step: start"))
    put("two/a.yaml", WARNED)
    assert run("lint", "one", "two").status == 0
    put("one/a.yaml", WARNED)
    assert run("lint", "one", "two").status == 1


def test_patterns_ignore_codes_in_files(run: Run) -> None:
    put("noetlc.toml", '[per-file-ignores]\n"old/**" = ["NL107", "NL601"]\n"b.yaml" = ["unreachable-step"]\n')
    for name in ("old/deep/a.yaml", "new/b.yaml", "new/c.yaml"):
        put(name, MIXED)
    assert codes(run, "old") == []
    assert codes(run, "new/b.yaml") == ["NL107"]
    assert codes(run, "new/c.yaml") == ["NL107", "NL601"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('\nselct = ["NL1"]\n', "noetlc.toml:2: unknown key `selct`; did you mean `select`?"),
        ('[lint]\nselect = ["NL1"]\n', "noetlc.toml:1: unknown key `lint`"),
        ('select = "NL1"\n', "noetlc.toml:1: `select` must be a list"),
        ("ignore = [1]\n", "noetlc.toml:1: `ignore` must be a list"),
        ('\n\nstrict = "yes"\n', "noetlc.toml:3: `strict` must be true or false"),
        ('fail-on = "never"\n', "noetlc.toml:1: `fail-on` must be one of error, warning, note"),
        ("baseline = 1\n", "noetlc.toml:1: `baseline` must be a path"),
        ('cache-dir = "a\\u0000b"\n', "noetlc.toml:1: `cache-dir` must be a path"),
        ("select = " + "[" * 100_000, "noetlc.toml: "),
        ("per-file-ignores = []\n", "noetlc.toml:1: `per-file-ignores` must be a table"),
        ('[per-file-ignores]\n"x.yaml" = "NL1"\n', "noetlc.toml"),
        ('select = ["NL1"\n', "noetlc.toml: "),
        ('ignore = ["no-such-thing"]\n', "noetlc.toml: there is no code 'no-such-thing'"),
    ],
)
def test_a_wrong_configuration_is_told_with_its_place(run: Run, text: str, said: str) -> None:
    put("noetlc.toml", text)
    put("a.yaml", WARNED)
    done = run("lint", "a.yaml")
    assert (done.status, done.out) == (2, "")
    assert said in done.err


def test_comments_take_findings_back(run: Run) -> None:
    put(
        "a.yaml",
        f"""{HEAD}workflow:
  - step: start
  - step: one  # noetl: ignore[NL601] started by hand
  # noetl: ignore[unreachable-step, NL802] started by hand

  # and a remark
  - {{step: two, tool: {{kind: python, code: "result = gone"}}}}
  - step: three
    tool:
      kind: python
      code: |  # noetl: ignore[NL802] the host gives it
        x = 1
        # noetl: ignore[NL802] this is Python, and no comment of YAML
        result = gone + x
""",
    )
    found = [(row["span"]["line"], row["code"]) for row in json.loads(run("lint", "a.yaml", "--format", "json").out)]
    assert found == [(11, "NL601")]
    assert "4 ignored" in run("lint", "a.yaml").err


@pytest.mark.parametrize(
    ("comment", "found"),
    [
        ("# noetl: ignore[NL601] started by hand", []),
        ("# noetl: ignore[NL601]", ["NL023"]),
        ("# noetl: ignore[NL601, NL203] why not", ["NL022"]),
        ("# noetl: ignore[NL203] why not", ["NL022", "NL601"]),
        ("# noetl: ignore[NL999] why not", ["NL024", "NL601"]),
        ("# noetl: ignore[] why not", ["NL024", "NL601"]),
        ("# noetl: ignore all of it", ["NL024", "NL601"]),
        ("# noetl: ignored by all", ["NL601"]),
        ("# see noetl: ignore[NL601] why", ["NL601"]),
    ],
)
def test_a_comment_that_does_nothing_or_says_nothing_is_a_finding(run: Run, comment: str, found: list[str]) -> None:
    put("a.yaml", f"{HEAD}workflow:\n  - step: start\n  - step: lonely  {comment}\n")
    assert sorted(codes(run, "a.yaml")) == found


def test_text_that_looks_like_a_comment_is_none(run: Run) -> None:
    text = HEAD + steps("step: start", 'step: lonely, desc: "# noetl: ignore[NL601] in quotes"')
    put("a.yaml", text)
    assert "NL601" in codes(run, "a.yaml")


def test_a_used_comment_stays_used_when_its_code_is_not_selected(run: Run) -> None:
    put("a.yaml", f"{HEAD}workflow:\n  - step: start\n  - step: lonely  # noetl: ignore[NL601] by hand\n")
    assert codes(run, "a.yaml", "--select", "NL0") == []


@pytest.mark.parametrize("form", ["full", "text", "json", "sarif", "github", "gitlab", "junit", "markdown"])
def test_a_report_goes_to_a_file_as_it_goes_to_the_terminal(
    run: Run, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put("a.yaml", MIXED)
    put("b.yaml", WARNED)
    printed = run("lint", "a.yaml", "b.yaml", "--format", form)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    done = run("lint", "a.yaml", "b.yaml", "--format", form, "--output", "report")
    assert (done.status, done.out) == (1, "")
    assert Path("report").read_text() == printed.out
    assert done.err == "1 error, 2 warnings in 2 files\n"
    assert run("lint", "a.yaml", "--format", form, "--output", "/dev/null").status == 1
