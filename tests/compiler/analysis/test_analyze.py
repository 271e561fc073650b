"""The command `noetlc analyze`: its inputs, its exit codes, its JSON."""

import json
from pathlib import Path

import pytest

from nets import HEAD, plan_of, steps
from noetl_ir.plan_format import write_plan
from noetlc.analysis.crowding import beside_of
from noetlc.analysis.effort import STANDARD, Effort
from noetlc.analysis.report import report_of, with_census
from noetlc.cli import main
from noetlc.emit import pnml
from noetlc.pipeline import compile_source
from petri_nets import net_of

SOUND = HEAD + steps("step: start, next: {arcs: [{step: last}]}", "step: last")
LOST = SOUND + "  - {step: lost}\n"
NEVER = HEAD + steps('step: start, next: {arcs: [{step: a, when: "{{ workload.x != workload.x }}"}]}', "step: a")


def run(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], text: str | bytes, *args: str, name: str = "t.yaml"
) -> tuple[int, str]:
    (tmp_path / name).write_bytes(text.encode() if isinstance(text, str) else text)
    code = main(["analyze", str(tmp_path / name), *args])
    return code, capfd.readouterr().out


def test_folders_and_globs_are_their_playbooks(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "below").mkdir()
    for name, text in {"a.yaml": SOUND, "below/b.yml": LOST, "values.yaml": "a: 1\n", "c.yaml": NEVER}.items():
        (tmp_path / name).write_text(text)
    for paths in ([str(tmp_path)], [str(tmp_path / "**/*.y*ml")], [str(tmp_path / "a.yaml"), str(tmp_path)]):
        assert main(["analyze", *paths, "--format", "json"]) == 1
        files = [Path(row["file"]).name for row in json.loads(capfd.readouterr().out)]
        assert sorted(files) == ["a.yaml", "b.yml", "c.yaml"]
    # One that does not compile is told, and the others are asked all the same.
    (tmp_path / "below/b.yml").write_text(SOUND.replace("step: last}", "step: gone}", 1))
    assert main(["analyze", str(tmp_path), "--query", "reachable(start)"]) == 1
    found = capfd.readouterr()
    assert "NL" in found.err and found.out.count("reachable(start)") == 2
    # A name that one of several has not is an error that says which.
    assert main(["analyze", str(tmp_path), "--query", "reachable(last)"]) == 2
    assert "c.yaml: there is no step `last`" in capfd.readouterr().err
    assert main(["analyze", str(tmp_path / "gone.yaml")]) == 2


@pytest.mark.parametrize(
    ("text", "args", "code"),
    [
        (SOUND, (), 0),
        (SOUND, ("--query", "reachable(last)"), 0),
        (SOUND, ("--query", "never(last and last)", "--query", "at most 0 of last"), 1),
        (SOUND, ("--query", "what?"), 2),
        (SOUND, ("--query", "reachable(gone)"), 2),
        (LOST, (), 1),
        (NEVER, ("--query", "reachable(a)"), 0),
        (NEVER, ("--query", "reachable(a)", "--require-proof"), 4),
        ("kind: Playbook\n", (), 1),
        (b"NOETLPLN broken", (), 2),
    ],
)
def test_exit_codes(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], text: str | bytes, args: tuple[str, ...], code: int
) -> None:
    assert run(tmp_path, capfd, text, *args)[0] == code


def test_a_plan_is_judged_like_its_playbook(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    data = write_plan(compile_source("t.yaml", SOUND.encode()).plans[0])
    code, text = run(tmp_path, capfd, data, "--format", "json", name="t.ir")
    expected = run(tmp_path, capfd, SOUND, "--format", "json")[1]
    assert code == 0
    assert {**json.loads(text), "file": ""} == {**json.loads(expected), "file": ""}


def test_states_add_the_numbers_of_the_whole_space(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    net = net_of("a + b → 3·c; c → ", "a + b")
    _, text = run(tmp_path, capfd, pnml.document(net), "--states", "--format", "json", name="n.pnml")
    found = json.loads(text)
    keys = ("states", "edges", "max_token_in_place", "max_token_per_marking")
    assert [found[key] for key in keys] == [5, 4, 3, 3]
    assert not set(keys) & set(json.loads(run(tmp_path, capfd, SOUND, "--format", "json")[1]))


def test_an_unbounded_net_has_inf_states_and_is_refuted(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    text = pnml.document(net_of("a → a + b", "a"))
    code, out = run(tmp_path, capfd, text, "--states", "--format", "json", name="n.pnml")
    found = json.loads(out)
    assert code == 1 and found["states"] == "inf"
    [bounded] = [each for each in found["verdicts"] if each["question"] == "every place is bounded"]
    assert bounded["status"] == "refuted" and bounded["story"]["run"]


@pytest.mark.parametrize("text", ["<pnml>", "<pnml><net id='n'><arc id='a' type='inhibitor'/></net></pnml>"])
def test_a_file_that_is_no_net_is_wrong_usage(tmp_path: Path, capfd: pytest.CaptureFixture[str], text: str) -> None:
    assert run(tmp_path, capfd, text, name="n.pnml")[0] == 2


def test_asserts_of_the_playbook_are_asked(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code, out = run(tmp_path, capfd, SOUND + "x-assert: [at most 0 of last]\n")
    assert code == 1 and "refuted  at most 0 of last" in out


def test_promises_of_a_plans_playbook_are_asked(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    promised = SOUND + "x-assert: [at most 0 of last]\nx-budget: {attempts: 1}\n"
    data = write_plan(compile_source("t.yaml", promised.encode()).plans[0])
    (tmp_path / "t.yaml").write_text(promised)
    code, text = run(tmp_path, capfd, data, "--source", str(tmp_path / "t.yaml"), "--format", "json", name="t.ir")
    expected = run(tmp_path, capfd, promised, "--format", "json")[1]
    assert code == 1 and "at most 0 of last" in text
    assert {**json.loads(text), "file": ""} == {**json.loads(expected), "file": ""}
    # Without it the plan promises nothing, with another playbook there is a mistake, and a playbook has its own.
    assert run(tmp_path, capfd, data, name="t.ir")[0] == 0
    (tmp_path / "other.yaml").write_text(promised.replace("path: t/t", "path: t/other"))
    for words in (["t.ir", "--source", "other.yaml"], ["t.yaml", "--source", "t.yaml"]):
        assert main(["analyze", *(word if word == "--source" else str(tmp_path / word) for word in words)]) == 2
        assert "--source" in capfd.readouterr().err


def test_each_verdict_lists_what_it_takes_for_granted(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    waits = HEAD + steps("step: start, tool: {name: w, kind: wait, events: [go]}")
    found = json.loads(run(tmp_path, capfd, waits, "--query", "reachable(start)", "--format", "json")[1])
    assert all("what `start` waits for in `w` comes" in each["assumptions"] for each in found["verdicts"])


def test_bounds_are_shown_and_a_budget_that_is_not_proved_stays_open(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    body = HEAD + "workload: {items: []}\nx-budget: {attempts: 5, sizes: {items: 4}}\n"
    looped = body + steps('step: start, loop: {in: "{{ workload.items }}", iterator: i}')
    found = json.loads(run(tmp_path, capfd, looped, "--format", "json")[1])
    assert found["bounds"]["events"] == {
        "formula": "10 + 4·|items|",
        "terms": [{"number": 10, "sizes": []}, {"number": 4, "sizes": ["items"]}],
        "unbounded": None,
    }
    assert found["verdicts"][-1]["status"] == "proved"
    assert run(tmp_path, capfd, looped.replace("attempts: 5", "attempts: 3"), "--require-proof")[0] == 4
    assert run(tmp_path, capfd, looped.replace("attempts: 5", "tasks: 3"))[0] == 2


def test_steps_that_a_count_keeps_apart_are_not_beside_each_other() -> None:
    rows = (
        "step: start, next: {spec: {mode: inclusive}, arcs: [{step: p}, {step: q}]}",
        "step: p, tool: {kind: noop}, next: {arcs: [{step: j}]}",
        "step: q, tool: {kind: noop}, next: {arcs: [{step: j}]}",
        "step: j, spec: {policy: {join: 2}}, tool: {kind: noop}",
    )
    plan = plan_of(steps(*rows))
    assert {each.step: each.beside for each in report_of(plan).extents} == {
        "start": (), "p": ("q",), "q": ("p",), "j": (),
    }  # fmt: skip
    assert beside_of(plan, Effort(STANDARD))["p"] == {"q"}


def test_a_guard_that_is_true_excludes_the_other_way() -> None:
    rows = (
        "step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}",
        'step: a, next: {arcs: [{step: j, when: "{{ true }}"}]}',
        "step: b, next: {arcs: [{step: j}]}",
        "step: j, spec: {policy: {join: all}}",
    )
    assert {each.status.value for each in report_of(plan_of(steps(*rows))).verdicts} == {"proved"}


def test_states_without_end_of_what_is_bounded_in_every_run_are_explained() -> None:
    plan = plan_of(steps('step: start, next: {spec: {mode: inclusive}, arcs: [{step: start, when: "{{ ctx.x }}"}]}'))
    report = with_census(report_of(plan), plan)
    assert report.census is not None and (report.census.pump is None) == (report.census.why == "")


def test_a_promise_that_cannot_be_asked_takes_no_other_away(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    promised = SOUND + "x-assert: [reachable(lsat), reachable(last), nonsense]\nx-budget: {tries: 1}\n"
    code, text = run(tmp_path, capfd, promised, "--format", "json")
    found = {row["question"]: (row["status"], row["detail"]) for row in json.loads(text)["verdicts"]}
    assert code == 2 and found["reachable(last)"][0] == "proved"
    for question, said in (
        ("reachable(lsat)", "did you mean `last`?"), ("nonsense", "is no query"), ("x-budget", "has no key `tries`"),
    ):  # fmt: skip
        status, detail = found[question]
        assert status == "unknown" and detail.startswith("this promise cannot be asked") and said in detail
    (tmp_path / "p.yaml").write_text(promised)
    assert main(["analyze", str(tmp_path / "p.yaml")]) == 2
    assert "error: 3 of the promises cannot be asked" in capfd.readouterr().err
