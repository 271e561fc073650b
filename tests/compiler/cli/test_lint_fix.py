"""`lint --fix`: what is changed, what never is, and what a file keeps."""

import codecs
import os
import stat
from pathlib import Path

import pytest

from command_line import Run, put
from goldens import GOLDEN
from harness.samples import first
from nets import HEAD
from noetl_ir.span import Span
from noetlc.cli import fixing
from noetlc.cli.cache import CachedFile
from noetlc.cli.fixing import mended
from noetlc.cli.inspection import found_in
from noetlc.diag.diagnostic import Diagnostic, Fix, Severity
from noetlc.diag.findings import Reported

SPELT = (
    f"{HEAD}workload: {{alpha: 1}}\nworkflow:\n"
    '  - step: start\n    tool: {kind: noop, result: "{{ workload.alhpa }}"}\n'
)
COMMENT = "  - step: start  # noetl: ignore[NL601] it is reached\n"
IDLE = f"{HEAD}workflow:\n{COMMENT}"
MENDED = f"{HEAD}workflow:\n  - step: start\n"


def test_safe_fixes_are_applied_and_the_rest_is_told(run: Run) -> None:
    put("a.yaml", IDLE + '    tool: {kind: noop, result: "{{ workload.alhpa }}"}\n')
    done = run("lint", "--fix", "a.yaml")
    assert Path("a.yaml").read_text() == MENDED + '    tool: {kind: noop, result: "{{ workload.alhpa }}"}\n'
    assert done.err == "nothing found in 1 file, 1 fixed\n"


def test_unsafe_fixes_are_asked_for(run: Run) -> None:
    put("a.yaml", SPELT)
    assert "1 warning in 1 file\n" in run("lint", "--fix", "a.yaml").err
    assert Path("a.yaml").read_text() == SPELT
    assert run("lint", "--fix", "--unsafe-fixes", "a.yaml").err == "nothing found in 1 file, 1 fixed\n"
    assert Path("a.yaml").read_text() == SPELT.replace("alhpa", "alpha")


def test_a_diff_changes_nothing(run: Run) -> None:
    put("a.yaml", IDLE)
    done = run("lint", "--diff", "a.yaml")
    assert (done.status, done.err) == (1, "1 fix would change 1 file\n")
    assert done.out.splitlines()[:2] == ["--- a/a.yaml", "+++ b/a.yaml"]
    assert [line for line in done.out.splitlines()[2:] if line[0] in "+-"] == ["-" + COMMENT[:-1], "+  - step: start"]
    assert Path("a.yaml").read_text() == IDLE
    put("a.yaml", MENDED)
    assert run("lint", "--diff", "a.yaml") == (0, "", "0 fixes would change 0 files\n")


@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_encoding_and_line_ends_stay(run: Run, mark: bytes, newline: str) -> None:
    encoding = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}.get(mark, "utf-8")

    def written(text: str) -> bytes:
        return mark + f"# é𝄞\n{text}".replace("\n", newline).encode(encoding)

    Path("a.yaml").write_bytes(written(IDLE))
    os.chmod("a.yaml", 0o640)
    assert run("lint", "--fix", "a.yaml").status == 0
    assert Path("a.yaml").read_bytes() == written(MENDED)
    assert stat.S_IMODE(os.stat("a.yaml").st_mode) == 0o640
    # A fix of several lines, too: an entry step is declared above the document.
    Path("a.yaml").write_bytes(written(f"{HEAD}workflow:\n  - step: begin\n"))
    assert run("lint", "--fix", "--unsafe-fixes", "a.yaml").status == 0
    after = Path("a.yaml").read_bytes().removeprefix(mark).decode(encoding)
    assert "entry_step: begin" in after and after.count("\n") == after.count(newline)


def test_standard_input_comes_out_mended(run: Run) -> None:
    done = run("lint", "--fix", "-", stdin=IDLE.encode())
    assert (done.status, done.out, done.err) == (0, MENDED, "nothing found in 1 file, 1 fixed\n")
    done = run("lint", "--fix", "-", "--format", "json", stdin=SPELT.encode())
    assert done.out == SPELT and '"NL403"' in done.err
    assert run("lint", "--fix", "-", "--format", "json", "-o", "r.json", stdin=SPELT.encode()).out == SPELT
    assert '"NL403"' in Path("r.json").read_text()


def test_what_is_not_reported_is_not_mended(run: Run) -> None:
    put("a.yaml", IDLE)
    run("lint", "--write-baseline", "b.json", "a.yaml")
    assert run("lint", "--fix", "--ignore", "NL022", "a.yaml").err == "nothing found in 1 file\n"
    assert run("lint", "--fix", "--baseline", "b.json", "a.yaml").err == "nothing found in 1 file, 1 in the baseline\n"
    put("a.yaml", SPELT.replace('alhpa }}"}\n', 'alhpa }}"}  # noetl: ignore[NL403] of the payload\n'))
    before = Path("a.yaml").read_text()
    assert run("lint", "--fix", "--unsafe-fixes", "a.yaml").err == "nothing found in 1 file, 1 ignored\n"
    assert Path("a.yaml").read_text() == before


def test_mending_goes_on_until_nothing_is_left(run: Run) -> None:
    # Syntax first; only then the misspelt key can be seen, and then the misspelt key of the workload.
    put("a.yaml", SPELT.replace("tool:", "tol:").replace("step: start", "step:start"))
    done = run("lint", "--fix", "--unsafe-fixes", "a.yaml")
    assert done.err == "nothing found in 1 file, 3 fixed\n"
    assert Path("a.yaml").read_text() == SPELT.replace("alhpa", "alpha")


def fake(monkeypatch: pytest.MonkeyPatch, rows: dict[str, list[tuple[str, Fix | None]]]) -> None:
    """Makes findings a table: text → its findings, each a code and a fix."""

    def found_in(name: str, data: bytes) -> CachedFile:
        found = rows.get(data.decode(), [("NL202", None)])
        severity = {"NL4": Severity.WARNING}
        return CachedFile(
            tuple(
                Reported(
                    name, "x", "",
                    Diagnostic(code, severity.get(code[:3], Severity.ERROR), "m", Span(1, 1, 1, 1), "", (), fix),
                )
                for code, fix in found
            ),
            0,
        )  # fmt: skip

    monkeypatch.setattr(fixing, "found_in", found_in)


def at(start: int, end: int, text: str) -> Fix:
    """A fix in the first line, from column 1 on."""
    return Fix(Span(1, start, 1, end), text, "t")


def mend(text: str) -> tuple[bytes, int]:
    made = mended("t", text.encode(), lambda one: True, (), "safe")
    return made.data, made.fixes


def test_fixes_that_overlap_wait_for_the_next_round(monkeypatch: pytest.MonkeyPatch) -> None:
    fake(
        monkeypatch,
        {
            "abcd": [("NL401", at(1, 3, "X")), ("NL402", at(2, 4, "Y")), ("NL403", at(1, 3, "X"))],
            "Xcd": [("NL402", at(2, 3, "Z"))],
            "XZd": [],
        },
    )
    assert mend("abcd") == (b"XZd", 2)


def test_a_fix_that_makes_errors_is_left_out_and_the_others_are_applied(monkeypatch: pytest.MonkeyPatch) -> None:
    fake(monkeypatch, {"abc": [("NL401", at(1, 2, "X")), ("NL402", at(3, 4, "Y"))], "abY": [("NL401", at(1, 2, "X"))]})
    assert mend("abc") == (b"abY", 1)


def test_a_fix_may_uncover_errors_of_later_stages_only(monkeypatch: pytest.MonkeyPatch) -> None:
    later: list[tuple[str, Fix | None]] = [("NL203", None), ("NL303", None)]
    fake(monkeypatch, {"a": [("NL003", at(1, 2, "b"))], "b": later})
    assert mend("a") == (b"b", 1)
    fake(monkeypatch, {"a": [("NL303", at(1, 2, "b"))], "b": [("NL003", None)]})
    assert mend("a") == (b"a", 0)


def test_fixes_that_go_round_in_a_circle_end(monkeypatch: pytest.MonkeyPatch) -> None:
    fake(monkeypatch, {"a": [("NL401", at(1, 2, "b"))], "b": [("NL401", at(1, 2, "a"))]})
    assert mend("a")[0] in (b"a", b"b")


def test_bytes_that_are_no_text_stay(run: Run) -> None:
    Path("a.yaml").write_bytes(b"\xff" + IDLE.encode())
    assert run("lint", "--fix", "--unsafe-fixes", "a.yaml").status == 1
    assert Path("a.yaml").read_bytes() == b"\xff" + IDLE.encode()


def test_nothing_is_written_before_all_can_be_read(run: Run) -> None:
    put("a.yaml", IDLE)
    put("b.ir", "NOETLPLN")
    assert run("lint", "--fix", "a.yaml", "b.ir").status == 2
    assert Path("a.yaml").read_text() == IDLE


PARTS = 12
"""In how many parts the goldens are mended."""


@pytest.mark.parametrize("share", first(1, range(PARTS)))
def test_fixes_of_every_golden_make_no_errors_and_come_to_an_end(share: int) -> None:
    changed = 0
    for path in sorted(GOLDEN.glob("*/*.yaml"))[share::PARTS]:
        data = path.read_bytes()
        before = found_in(path.name, data)
        if any(one.diagnostic.fix is not None for one in before.findings):
            made = mended(path.name, data, lambda one: True, (), "any")
            assert errors(found_in(path.name, made.data)) <= errors(before), path
            assert mended(path.name, made.data, lambda one: True, (), "any") == (made.data, 0), path
            changed += made.data != data
    assert changed > 20 // PARTS


def errors(kept: CachedFile) -> list[int]:
    """How many errors there are of each stage, the earlier ones first."""
    codes = [one.diagnostic.code for one in kept.findings if one.diagnostic.severity is Severity.ERROR]
    return [sum(code.startswith(f"NL{stage}") for code in codes) for stage in range(10)]


LEGACY = (
    f"{HEAD}workflow:\n  - step: start\n    type: noop   # first\n    next: b\n  - step: b\n    tool: {{kind: noop}}\n"
)
FORKED = (
    f"{HEAD}workflow:\n  - step: start\n    tool: {{kind: noop}}\n    next: [{{step: a}}, {{step: b}}]\n"
    "  - {step: a, tool: {kind: noop}, next: [{step: c}]}\n  - {step: b, tool: {kind: noop}, next: [{step: c}]}\n"
    "  - {step: c, tool: {kind: noop}}\n"
)


def fixes_of(text: str) -> list[Fix | None]:
    return [one.diagnostic.fix for one in found_in("a.yaml", text.encode()).findings]


def test_notes_about_older_forms_share_the_migration_of_the_file(run: Run) -> None:
    fixes = fixes_of(LEGACY)
    assert len(fixes) == 2 and len(set(fixes)) == 1 and fixes[0] is not None and fixes[0].safe
    put("a.yaml", LEGACY)
    wanted = run("migrate", "a.yaml").out
    done = run("lint", "--fix", "--no-cache", "a.yaml")
    assert (done.status, done.err) == (0, "nothing found in 1 file, 1 fixed\n")
    assert Path("a.yaml").read_text() == wanted and "# first" in wanted


def test_a_migration_that_asks_for_a_look_is_unsafe(run: Run) -> None:
    assert {fix is not None and fix.safe for fix in fixes_of(FORKED)} == {False}
    put("a.yaml", FORKED)
    assert run("lint", "--diff", "a.yaml").status == 0
    done = run("lint", "--diff", "--unsafe-fixes", "a.yaml")
    assert done.status == 1 and "join: all" in done.out
    assert Path("a.yaml").read_text() == FORKED


def test_a_migration_leaves_alone_what_is_not_reported(run: Run) -> None:
    ignored = LEGACY.replace("next: b", "next: b  # noetl: ignore[NL910] it stays")
    assert fixes_of(ignored) == [None]
    put("a.yaml", FORKED)
    assert "0 fixes" in run("lint", "--diff", "--unsafe-fixes", "--select", "NL912", "a.yaml").err
    assert "1 fix" in run("lint", "--diff", "--unsafe-fixes", "--select", "NL9", "a.yaml").err


def test_other_fixes_come_before_a_migration(run: Run) -> None:
    put("a.yaml", LEGACY + "    desc: x  # noetl: ignore[NL601] it is reached\n")
    assert run("lint", "--fix", "a.yaml").err == "nothing found in 1 file, 2 fixed\n"
    assert "ignore" not in Path("a.yaml").read_text()


def test_what_is_kept_of_a_migration_is_what_was_found(run: Run) -> None:
    put("a.yaml", FORKED)
    first = run("lint", "--format", "json", "a.yaml").out
    assert run("lint", "--format", "json", "a.yaml").out == first and '"edits"' in first


def test_a_file_that_cannot_be_read_or_mended_is_a_finding_and_the_others_are_mended(run: Run) -> None:
    put("a.yaml", IDLE)
    put("protected.yaml", IDLE)
    Path("protected.yaml").chmod(0o444)
    Path("gone.yaml").symlink_to("nowhere")
    done = run("lint", "--fix", "--format", "text", ".")
    assert done.status == 1
    assert "gone.yaml:1:1: error[NL026] the file cannot be read: No such file or directory" in done.out
    assert "protected.yaml:1:1: error[NL026] the file cannot be written: the file is write-protected" in done.out
    assert Path("protected.yaml").read_text("utf-8") == IDLE
    assert Path("a.yaml").read_text("utf-8") == MENDED


@pytest.mark.parametrize("text", ["v: &x yes", "v: !!str &x yes", "{v: &x yes}", "- &x yes", "v: &x 007 # why"])
def test_a_fix_of_a_value_leaves_its_anchor(text: str) -> None:
    text = f"a: &x first\nb:\n  {text}\nc: *x\n"
    source = f"{HEAD}workload:\n  " + text.replace("\n", "\n  ").rstrip() + "\nworkflow: [{step: start}]\n"
    made = mended("t.yaml", source.encode(), lambda one: one.diagnostic.code == "NL016", (), "any").data.decode()
    assert made == source.replace("&x yes", '&x "yes"' if "!!" not in text else "&x yes").replace("007", '"007"')


@pytest.mark.parametrize(
    ("tabbed", "spaced"),
    [
        ("  - step: start\n    tool:\n\t  kind: noop\n", "  - step: start\n    tool:\n      kind: noop\n"),
        ("\t- step: start\n\t  tool:\n\t\tkind: noop\n\t\tresult: 1\n",
         "  - step: start\n    tool:\n      kind: noop\n      result: 1\n"),
        ("  - step: start\n\ttool: {kind: noop}\n", "  - step: start\n    tool: {kind: noop}\n"),
        ("  - step: start\n    tool:\n\t    - kind: noop\n\t    - kind: noop\n\t      result: 1\n",
         "  - step: start\n    tool:\n      - kind: noop\n      - kind: noop\n        result: 1\n"),
    ],
)  # fmt: skip
def test_tabs_become_the_depth_that_was_meant(tabbed: str, spaced: str) -> None:
    made = mended("t.yaml", f"{HEAD}workflow:\n{tabbed}".encode(), lambda _: True, (), "any").data.decode()
    assert made == f"{HEAD}workflow:\n{spaced}"


def test_a_fix_of_what_is_no_yaml_that_leaves_it_so_is_left_out() -> None:
    """Both are one error in the first stage: the new one stands where the old one stood."""
    place = Span(1, 1, 1, 2)
    fix = Fix(place, "[", "break it", safe=False)

    def broken(name: str, data: bytes) -> CachedFile:
        code = "NL003" if data[:1] == b"[" else "NL021"
        return CachedFile((Reported(name, code, "", Diagnostic(code, Severity.ERROR, code, place, fix=fix)),), 0)

    assert mended("t.yaml", b"\ta", lambda _: True, (), "any", broken).data == b"\ta"
