"""A mistake of ours: one part of the answer is missing, with a number for the report; everything else is there."""

from collections.abc import Callable, Iterator

import pytest

from command_line import Run, put
from nets import HEAD
from noetlc import rules
from noetlc.analysis import report, soundness
from noetlc.cli import inspection
from noetlc.diag.diagnostic import Severity
from noetlc.diag.internal import bug_of
from noetlc.pipeline import Compiled
from noetlc.rules import LintRule, Unit

FORK = (
    f"{HEAD}workflow:\n  - {{step: start, tool: {{kind: noop}}, "
    "next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}}\n"
    "  - {step: a, tool: {kind: noop}}\n  - {step: b, tool: {kind: noop}}\n  - {step: lost, tool: {kind: noop}}\n"
)


def failing(*_: object) -> None:
    raise KeyError("two\nlines")


def failing_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = rules.rules_for

    def check(unit: Unit) -> None:
        raise KeyError("x")

    broken = ("sql-template", LintRule("NL801", Severity.ERROR, "ast", check))  # type: ignore[arg-type]

    def rules_for(unit: Unit, level: str, at_least: Severity, *, partial: bool) -> Iterator[tuple[str, LintRule]]:
        yield from (broken,) if level == "ast" else ()
        yield from asked(unit, level, at_least, partial=partial)

    monkeypatch.setattr(rules, "rules_for", rules_for)


def test_a_rule_that_fails_is_a_finding_and_the_others_go_on(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    failing_rule(monkeypatch)
    put("a.yaml", FORK)
    done = run("lint", "--format", "text", "a.yaml", "--cache-dir", "kept")
    assert done.status == 3 and "Traceback" not in done.err + done.out
    first, second = done.out.splitlines()
    assert first.startswith("a.yaml: error[NL000] an internal error in `sql-template`: KeyError: 'x' (bug ")
    assert "NL601" in second
    assert run("lint", "--ignore", "ALL", "a.yaml").status == 3
    assert run("lint", "--write-baseline", "b.json", "a.yaml").status == 1
    assert run("compile", "a.yaml").status == 3
    monkeypatch.undo()


def test_nothing_of_it_is_remembered(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    put("a.yaml", FORK)
    with monkeypatch.context() as patch:
        failing_rule(patch)
        assert run("lint", "a.yaml", "--cache-dir", "kept").status == 3
    assert run("lint", "a.yaml", "--cache-dir", "kept").status == 0


def test_a_file_that_cannot_be_checked_does_not_keep_the_others(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    check = inspection.check_source

    def fails_on_a(name: str, data: bytes, *more: object) -> Compiled:
        if name == "a.yaml":
            raise RecursionError("deep")
        return check(name, data, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(inspection, "check_source", fails_on_a)
    put("a.yaml", FORK)
    put("b.yaml", FORK)
    done = run("lint", "--format", "text", "--no-cache", "a.yaml", "b.yaml")
    assert done.status == 3 and "a.yaml: error[NL000] an internal error in the compiler: RecursionError" in done.out
    assert "b.yaml:8:" in done.out and "NL601" in done.out


@pytest.mark.parametrize(
    ("part", "question"),
    [
        ("_stuck", "nothing can get stuck"),
        ("_cycles", "every cycle has an exit"),
        ("_dead", "every part can run"),
        ("_bounded", "tokens are bounded"),
    ],
)
def test_a_question_that_fails_is_unknown(run: Run, monkeypatch: pytest.MonkeyPatch, part: str, question: str) -> None:
    monkeypatch.setattr(soundness, part, failing)
    put("a.yaml", FORK.replace("  - {step: lost, tool: {kind: noop}}\n", ""))
    done = run("analyze", "a.yaml", "--query", "never(a and start)")
    told = [line for line in done.out.splitlines() if "bug" in line]
    assert done.status == 3 and len(told) == 1
    assert told[0].startswith(f"  unknown  {question}: an internal error: KeyError: 'two\\nlines' (bug ")
    assert done.out.count("  proved ") == 4
    done = run("lint", "--no-cache", "--format", "text", "a.yaml")
    assert done.status == 3 and f'an internal error in the analysis of "{question}"' in done.out


@pytest.mark.parametrize("part", ["extents_of", "bounds_of", "check_query", "census_of"])
def test_other_answers_go_on(run: Run, monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    monkeypatch.setattr(report, part, failing)
    put("a.yaml", FORK.replace("  - {step: lost, tool: {kind: noop}}\n", ""))
    done = run("analyze", "a.yaml", "--states", "--query", "never(a and start)")
    assert done.status == 3 and done.out.count("(bug ") == 1 and done.out.count("  proved ") >= 4


def test_a_net_that_fails_is_unknown(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    put("a.yaml", FORK)
    put("n.pnml", run("graph", "a.yaml", "--format", "pnml").out)
    monkeypatch.setattr(report, "census_of", failing)
    done = run("analyze", "n.pnml", "--states")
    assert done.status == 3 and done.out.count("  unknown  ") == 4


def test_one_mistake_has_one_number() -> None:
    def number(fail: Callable[[], object]) -> str:
        try:
            fail()
        except Exception as error:
            return bug_of(error).number
        return ""

    assert number(lambda: {}["a"]) == number(lambda: {}["b"]) != number(lambda: [][1])
    with pytest.raises(MemoryError):
        bug_of(MemoryError())
