"""The commands of noetlc: exit codes, what they write and where, and that nothing half-done is left behind."""

import json
import os
import stat
from pathlib import Path

import pytest

from command_line import Run, put
from nets import HEAD, steps
from noetl_ir.plan_format import digest_of, read_plan
from noetl_ir.plan_format.json import plan_from_json
from noetl_ir.plan_sources import read_sources
from noetl_ir.words import STANDING
from noetlc.rules import every_code

GOOD = HEAD + steps("step: start")
BAD = HEAD.replace("/v2", "/v10") + steps("step: other")
WARNED = HEAD + steps("step: start", "step: lonely")


def files() -> list[str]:
    return sorted(str(path) for path in Path(".").rglob("*") if path.is_file())


def test_compile_writes_the_plan_beside_the_playbook(run: Run) -> None:
    put("a.yaml", GOOD)
    assert run("compile", "a.yaml") == (0, "", "")
    assert files() == ["a.ir", "a.yaml"]
    assert read_plan(Path("a.ir").read_bytes()).source == "a.yaml"


def test_sources_are_written_beside_the_plan_which_stays_the_same(run: Run) -> None:
    child = HEAD.replace("t/t", "t/c") + steps("step: start")
    put("c.yaml", child)
    put("a.yaml", HEAD + steps("step: start, tool: {kind: playbook, path: ./c.yaml}"))
    assert run("compile", "a.yaml", "--path", ".", "-o", "plain.ir").status == 0
    assert run("compile", "a.yaml", "--path", ".", "--sources").status == 0
    assert run("compile", "a.yaml", "--path", ".", "--sources", "--format", "json").status == 0
    assert files() == ["a.ir", "a.ir.json", "a.ir.json.sources", "a.ir.sources", "a.yaml", "c.yaml", "plain.ir"]
    data = Path("a.ir").read_bytes()
    assert data == Path("plain.ir").read_bytes()
    sources = {digest_of(data): Path("a.yaml").read_bytes(), read_plan(data).children[0].digest: child.encode()}
    assert read_sources(Path("a.ir.sources").read_bytes()) == (sources, b"")
    assert Path("a.ir.json.sources").read_bytes() == Path("a.ir.sources").read_bytes()


@pytest.mark.parametrize(
    "words", [("a.yaml", "--format", "canonical"), ("a.yaml", "-o", "-", "--format", "json"), ("-", "--format", "json")]
)
def test_sources_need_a_plan_to_lie_beside(run: Run, words: tuple[str, ...]) -> None:
    put("a.yaml", GOOD)
    done = run("compile", "--sources", *words)
    assert done.status == 2 and "--sources" in done.err
    assert files() == ["a.yaml"]


def test_the_folder_of_outputs_is_made(run: Run) -> None:
    put("a.yaml", GOOD)
    put("b.yaml", GOOD)
    assert run("compile", "a.yaml", "b.yaml", "-o", "new/out/") == (0, "", "")
    assert run("compile", "a.yaml", "-o", "one/") == (0, "", "")
    assert run("compile", "a.yaml", "b.yaml", "-o", "other/", "--sources") == (0, "", "")
    made = [name for name in files() if "/" in name]
    assert made == [
        "new/out/a.ir", "new/out/b.ir", "one/a.ir", "other/a.ir", "other/a.ir.sources", "other/b.ir",
        "other/b.ir.sources",
    ]  # fmt: skip
    done = run("compile", "a.yaml", "b.yaml", "-o", "a.yaml")
    assert done.status == 2 and "'a.yaml' is a file" in done.err
    done = run("compile", "a.yaml", "b.yaml", "-o", "none")
    assert done.status == 2 and "write 'none/' to have it made" in done.err


def test_no_folder_is_made_for_what_does_not_compile(run: Run) -> None:
    put("a.yaml", GOOD)
    put("b.yaml", BAD)
    assert run("compile", "a.yaml", "b.yaml", "-o", "out/").status == 1
    assert not Path("out").exists()


def test_a_failed_compile_writes_nothing(run: Run) -> None:
    put("a.yaml", GOOD)
    put("b.yaml", BAD)
    done = run("compile", "a.yaml", "b.yaml")
    assert done.status == 1
    assert "b.yaml:" in done.err and "NL202" in done.err
    assert files() == ["a.yaml", "b.yaml"]


def test_warnings_fail_a_strict_compile_only(run: Run) -> None:
    put("a.yaml", WARNED)
    assert run("compile", "a.yaml", "-o", "x.ir").status == 0
    assert run("compile", "a.yaml", "-o", "y.ir", "--strict").status == 1
    assert run("compile", "a.yaml", "-o", "y.ir", "--fail-on", "warning").status == 1
    assert files() == ["a.yaml", "x.ir"]


def test_standard_input_goes_to_standard_output(run: Run) -> None:
    done = run("compile", "-", "--format", "json", stdin=GOOD.encode())
    assert done.status == 0
    assert plan_from_json(json.loads(done.out)).source == "<stdin>"


def test_several_documents_are_numbered(run: Run) -> None:
    put("a.yaml", f"{GOOD}---\n{GOOD}")
    assert run("compile", "a.yaml").status == 0
    assert files() == ["a.0.ir", "a.1.ir", "a.yaml"]
    assert run("compile", "a.yaml", "--format", "json", "-o", "out.json").status == 0
    assert files()[-2:] == ["out.0.json", "out.1.json"]
    assert run("compile", "a.yaml", "-o", "-").status == 2


def test_several_files_go_into_a_folder(run: Run) -> None:
    put("in/a.yaml", GOOD)
    put("in/b.yaml", GOOD)
    Path("out").mkdir()
    assert run("compile", "in", "-o", "out").status == 0
    assert files() == ["in/a.yaml", "in/b.yaml", "out/a.ir", "out/b.ir"]
    assert run("compile", "in", "-o", "one.ir").status == 2


def test_a_pipe_is_written_into_and_a_link_stays_one(run: Run) -> None:
    put("a.yaml", GOOD)
    run("compile", "a.yaml")
    plan = Path("a.ir").read_bytes()
    os.mkfifo("pipe")
    Path("target.ir").write_bytes(b"old")
    Path("link.ir").symlink_to("target.ir")
    reader = os.open("pipe", os.O_RDWR)  # the pipe holds a plan of this size until it is read
    try:
        assert run("compile", "a.yaml", "-o", "pipe").status == 0
        assert os.read(reader, len(plan) + 1) == plan
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(os.stat("pipe").st_mode)
    assert run("compile", "a.yaml", "-o", "link.ir").status == 0
    assert Path("link.ir").is_symlink()
    assert Path("target.ir").read_bytes() == plan


def test_canonical_source_compiles_to_the_same_net(run: Run) -> None:
    put("a.yaml", GOOD)
    assert run("compile", "a.yaml", "--format", "canonical").status == 0
    assert run("compile", "a.canonical.yaml", "-o", "b.ir").status == 0
    assert run("compile", "a.yaml", "-o", "a.ir").status == 0
    first, second = read_plan(Path("a.ir").read_bytes()), read_plan(Path("b.ir").read_bytes())
    assert [t.id for t in first.net.transitions] == [t.id for t in second.net.transitions]


@pytest.mark.parametrize("named", ["jobs/child", "child.yaml", "child"])
def test_children_are_found_by_their_path_and_then_by_their_file(run: Run, named: str) -> None:
    put("cat/deep/other.yaml", GOOD.replace("t/t", "jobs/child"))
    put("cat/child.yaml", GOOD.replace("t/t", ""))
    put("a.yaml", HEAD + steps(f"step: start, tool: {{kind: playbook, path: {named}}}"))
    assert run("compile", "a.yaml", "--path", "cat").err == ""
    assert [child.path for child in read_plan(Path("a.ir").read_bytes()).children] == [named]
    assert "NL690" in run("compile", "--strict", "a.yaml").err
    assert run("compile", "a.yaml", "--path", "nowhere").status == 2


@pytest.mark.parametrize(
    ("text", "options", "status"),
    [
        (GOOD, (), 0),
        (WARNED, (), 0),
        (WARNED, ("--strict",), 1),
        (WARNED, ("--fail-on", "warning"), 1),
        (WARNED, ("--fail-on", "error"), 0),
        (BAD, (), 1),
    ],
)
def test_the_exit_code_of_lint(run: Run, text: str, options: tuple[str, ...], status: int) -> None:
    put("a.yaml", text)
    assert run("lint", "a.yaml", *options).status == status


def test_lint_shows_text_or_json(run: Run) -> None:
    put("a.yaml", WARNED)
    text = run("lint", "a.yaml")
    assert "a.yaml:6:12: warning[NL601]" in text.out
    assert "1 warning in 1 file" in text.err
    (row,) = json.loads(run("lint", "a.yaml", "--format", "json").out)
    assert (row["file"], row["code"], row["slug"]) == ("a.yaml", "NL601", "unreachable-step")
    assert row["span"]["line"] == 6


LOGINS = "apiVersion: noetl.io/v1\nkind: Credential\ncredentials: [{key: shop}]\n"


def test_lint_takes_files_folders_globs_and_standard_input(run: Run) -> None:
    put("in/a.yaml", GOOD)
    put("in/deep/b.yml", GOOD)
    put("in/.hidden/c.yaml", BAD)
    put("in/readme.txt", "x")
    put("in/deep/run.script.yaml", "outcomes: []\n")
    put("in/deep/manifest.yaml", "apiVersion: v1\nkind: Pod\n")
    put("in/deep/logins.yaml", LOGINS)
    for kind in STANDING:
        put(f"in/deep/{kind}.yaml", f"apiVersion: noetl.io/v2\nkind: {kind}\nmetadata: {{name: n}}\nspec: {{}}\n")
    assert "in 2 files" in run("lint", "in").err
    assert "in 1 file" in run("lint", "in/*.yaml", "in/a.yaml").err
    assert "in 2 files" in run("lint", "in/**/[ab].y*ml").err
    assert "NL106" in run("lint", "in/deep/logins.yaml").out
    Path("wide").mkdir()
    Path("wide/a.yaml").write_bytes(GOOD.encode("utf-16"))
    assert "in 1 file" in run("lint", "wide").err
    assert run("lint", "in/deep/run.script.yaml").status == 1
    assert run("lint", "-", stdin=BAD.encode()).out.startswith("<stdin>:")
    assert run("lint", "nothing*.yaml").status == 2
    Path("empty").mkdir()
    assert run("lint", "empty").status == 2


def test_a_glob_leaves_out_what_is_no_playbook(run: Run) -> None:
    put("in/a.yaml", GOOD)
    put("in/a.script.yaml", "outcomes: []\n")
    assert run("lint", "in/*.yaml") == (0, "", "nothing found in 1 file\n")
    assert run("lint", "in/*.script.yaml").status == run("compile", "in/*.script.yaml").status == 2
    assert run("compile", "in/*.yaml").status == 0
    assert files() == ["in/a.ir", "in/a.script.yaml", "in/a.yaml"]


@pytest.mark.parametrize("command", ["compile", "lint", "dump"])
@pytest.mark.parametrize("name", ["a.ir", "a.ir.json"])
def test_a_plan_is_no_playbook(run: Run, command: str, name: str) -> None:
    put("a.yaml", GOOD)
    assert run("compile", "a.yaml").status == run("compile", "a.yaml", "--format", "json").status == 0
    done = run(command, name)
    assert done.status == 2
    assert f"{name} is a compiled plan" in done.err


def test_a_terminal_gets_no_binary_plan(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    put("a.yaml", GOOD)
    assert run("compile", "a.yaml", "-o", "-").status == 0
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    done = run("compile", "a.yaml", "-o", "-")
    assert done.status == run("compile", "-", stdin=GOOD.encode()).status == 2
    assert done.out == "" and "--format json" in done.err
    assert run("compile", "a.yaml", "-o", "-", "--format", "json").status == 0


def test_colours_are_for_terminals_that_want_them(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    put("a.yaml", WARNED)
    assert "\x1b[" not in run("lint", "a.yaml").out
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[" in run("lint", "a.yaml").out and "\x1b[" in run("compile", "--strict", "a.yaml").err
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in run("lint", "a.yaml").out + run("compile", "a.yaml").err


def test_many_files_give_the_same_as_each_alone(run: Run) -> None:
    for number in range(40):
        put(f"in/{number:02}.yaml", (GOOD, WARNED, BAD)[number % 3])
    together = run("lint", "in")
    assert together.status == 1
    alone = [run("lint", name).out for name in files()]
    assert together.out == "".join(alone)


@pytest.mark.parametrize("form", ["mermaid", "dot"])
def test_graph_draws_every_document(run: Run, form: str) -> None:
    put("a.yaml", f"{GOOD}---\n{GOOD}")
    done = run("graph", "a.yaml", "--format", form)
    assert done.status == 0
    assert done.out.count("flowchart TD" if form == "mermaid" else "digraph") == 2
    put("b.yaml", BAD)
    assert run("graph", "b.yaml").status == 1


def test_explain_finds_codes_by_number_and_by_name(run: Run) -> None:
    assert run("explain", "nl650").out == run("explain", "taken-without-fork").out != ""
    assert run("explain", "NL601").out == run("explain", "unreachable-step").out != ""
    done = run("explain", "unknown-stp")
    assert done.status == 2
    assert "unknown-step" in done.err
    listed = run("explain").out.splitlines()
    assert len(listed) == len(every_code()) and listed == sorted(listed)
    assert "NL203  unknown-step" in "\n".join(listed)


def test_explain_knows_the_codes_of_errors_of_runs(run: Run) -> None:
    told = run("explain", "pg.error").out
    assert told.startswith("pg.error (error of a run)\n") and "these kinds may have it: postgres." in told
    assert "Tasks of any kind" in run("explain", "timeout").out and "A step may" in run("explain", "loop.in").out


@pytest.mark.parametrize("subject", ["playbook", "plan"])
def test_schema_prints_what_is_kept_in_the_repository(run: Run, subject: str) -> None:
    done = run("schema", subject)
    assert json.loads(done.out)["$schema"].endswith("2020-12/schema")


def test_dump_shows_a_stage(run: Run) -> None:
    put("a.yaml", GOOD)
    assert "[enter start @entry]" in run("dump", "a.yaml", "--after", "build").out
    assert "apiVersion: noetl.io/v2" in run("dump", "a.yaml", "--after", "read").out
    assert run("dump", "a.yaml", "--after", "nothing").status == 2


@pytest.mark.parametrize("command", ["compile", "lint", "graph", "dump"])
@pytest.mark.parametrize("data", [b"", b"\x00\xff", b"a: [", b"\xef\xbb\xbf- &a [*a]"])
def test_no_bytes_give_a_traceback(run: Run, command: str, data: bytes) -> None:
    Path("a.yaml").write_bytes(data)
    done = run(command, "a.yaml")
    assert done.status == 1
    assert "Traceback" not in done.err and "internal" not in done.err
    assert files() == ["a.yaml"]


def test_a_missing_file_is_wrong_usage(run: Run) -> None:
    for command in ("compile", "lint", "graph", "dump"):
        assert run(command, "nowhere.yaml").status == 2


def test_where_tells_the_line_of_an_element(run: Run) -> None:
    put("a.yaml", GOOD)
    assert run("compile", "a.yaml").status == 0
    line = next(number for number, text in enumerate(GOOD.splitlines(), 1) if "step: start" in text)
    assert run("where", "a.ir", "begin start").out.startswith(f"a.yaml:{line}:")
    unknown = run("where", "a.ir", "begin strat")
    assert (unknown.status, "did you mean `begin start`?" in unknown.err) == (1, True)
    assert run("where", "a.yaml", "start").status == 2
