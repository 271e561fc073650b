"""Slips that would go without a word: names of a payload, of a signal, entries of a script."""

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from harness.running import compiled
from noetl.engine.program import Program
from noetl.engine.unread import unread
from noetl_ir.plan_format import read_plan
from services import waited_for

if TYPE_CHECKING:
    from tests.runtime.cli.conftest import Home

PAY = "workload: {amount: 5000, pay: {to: x}}\nworkflow:\n  - {step: start, tool: {kind: noop, result: %s}}\n"


@pytest.mark.parametrize(
    ("result", "payload", "said"),
    [
        ('"{{ workload.amount }}"', {"amuont": 1}, ["nothing reads `amuont`", "did you mean `amount`?"]),
        ('"{{ workload.amount }}"', {"amount": 1, "pay": {"for": 1}}, []),
        ('"{{ workload.amount }}"', {"zebra": 1}, ["nothing reads `zebra`"]),
        # Where nothing declares inputs, the keys of `workload` are their names (EXTENSIONS.md §2).
        ('"{{ workload.zebra }}"', {"zebra": 1}, ["`zebra` is no key of `workload`: declare it there"]),
        ("\"{{ workload['zebra'] }}\"", {"zebra": 1}, ["`zebra` is no key of `workload`: declare it there"]),
        ('"{{ workload | tojson }}"', {"zebra": 1}, ["`zebra` is no key of `workload`: declare it there"]),
        ('"{{ workload | tojson }}"', {"amuont": 1}, ["did you mean `amount`?"]),
        ('"{% if workload.zebra %}1{% endif %}"', {"zebra": 1}, ["`zebra` is no key of `workload`: declare it there"]),
    ],
)
def test_names_of_a_payload_that_nothing_reads(result: str, payload: dict[str, object], said: list[str]) -> None:
    plan = read_plan(compiled(PAY % result))
    told = unread(Program(plan, ""), payload)  # type: ignore[arg-type]
    assert len(told) == bool(said) and all(part in told[0] for part in said)


def test_of_thousands_of_names_a_few_are_told() -> None:
    plan = read_plan(compiled(PAY % '"{{ workload.amount }}"'))
    payload: dict[str, object] = {f"zebra{number}" + "x" * 1000: 1 for number in range(1000)}
    told = unread(Program(plan, ""), payload)  # type: ignore[arg-type]
    assert len(told) == 21 and told[-1] == "nor does anything read 980 other names of it"
    assert max(map(len, told)) < 400


def test_older_playbooks_bring_what_they_read_without_declaring_it() -> None:
    step = 'step: start, tool: {kind: noop, result: "{{ workload.zebra }}"}, next: end'
    text = f"workload: {{n: 1}}\nworkflow:\n  - {{{step}}}\n"
    program = Program(read_plan(compiled(text)), "")
    assert unread(program, {"zebra": 1}) == () and len(unread(program, {"okapi": 1})) == 1


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("result = zebra", "is no key of"),
        ("result = workload['ze' + 'bra']", "is no key of"),
        ("result = 1", "nothing reads"),
    ],
)
def test_names_that_a_program_may_read(code: str, told: str) -> None:
    text = f"workload: {{n: 1}}\nworkflow:\n  - step: start\n    tool:\n      kind: python\n      code: {code}\n"
    if "zebra" in code:
        text += '      args: {zebra: "{{ workload.zebra }}"}\n'
    (said,) = unread(Program(read_plan(compiled(text)), ""), {"zebra": 1})
    assert told in said


def test_run_and_start_tell_a_name_that_nothing_reads(home: "Home") -> None:
    plan = home.plan(PAY % '"{{ workload.amount }}"')
    done = home.run("run", plan, "--set", "amuont=1", "--quiet")
    assert done.returncode == 0
    assert done.stderr.splitlines() == [
        "warning: nothing reads `amuont` of the payload, and `workload` has no such key; did you mean `amount`?"
    ]
    with home.serving() as (_, url):
        started = home.run("start", plan, "--server", url, "--set", "amuont=1")
        assert started.returncode == 0 and "did you mean `amount`?" in started.stderr
        assert "warning" not in home.run("start", plan, "--server", url, "--set", "amount=1").stderr


def test_a_signal_that_nothing_waits_for_is_told(home: "Home") -> None:
    plan = home.plan(
        "workflow:\n  - {step: start, tool: {kind: wait, events: [approved, rejected], timers: {late: 1h}}}\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-m", "noetl.cli", "run", plan, "--quiet"],
        cwd=home.folder,
        env=home.env,
        stdout=subprocess.DEVNULL,
    )
    home.started.append(child)  # type: ignore[arg-type]
    waited_for(lambda: (home.folder / ".noetl/noetl.db").exists() and home.json("list"), "it never begins")
    told = home.run("signal", "last", "--name", "aproved")
    assert "nothing in the playbook waits for a signal `aproved`; did you mean `approved`?" in told.stderr
    assert "(waited for: `approved`, `rejected`)" in told.stderr
    assert "warning" not in home.run("signal", "last", "--name", "approved").stderr


def test_entries_of_a_script_that_fit_nothing_are_told(home: "Home") -> None:
    plan = home.plan(
        'workflow:\n  - step: start\n    loop: {in: "{{ [1, 2] }}", iterator: n}\n    tool: {kind: shell, command: x}\n'
        "    next: {arcs: [{step: summary}]}\n  - {step: summary, tool: {kind: noop}}\n"
    )
    (home.folder / "s.yaml").write_text(
        "outcomes: [{step: sumary}, {step: start, index: 99}, {step: start, index: 0}, {step: start}]\n"
    )
    done = home.run("run", plan, "--script", "s.yaml", "--quiet")
    assert done.returncode == 0
    assert done.stderr.splitlines() == [
        "warning: outcome 0 of the script was never used: there is no step `sumary`; did you mean `summary`?",
        "warning: outcome 1 of the script was never used",
    ]


WAITING = """
workflow:
  - {step: start, tool: {kind: wait, events: [order]}, next: {arcs: [{step: z}]}}
  - {step: z, tool: {kind: shell, command: x}}
"""


def test_signals_of_a_script_that_nothing_hears_or_that_come_too_late_are_told(home: "Home") -> None:
    (home.folder / "s.yaml").write_text(
        "outcomes: [{step: z, takes: 2}]\n"
        "signals: [{at: 1, name: odrer}, {at: 1, name: order}, {at: 2, name: order}, {at: 9, name: order}]\n"
    )
    done = home.run("run", home.plan(WAITING), "--script", "s.yaml", "--quiet")
    assert done.returncode == 0
    # The one at 2 s came while the run went on, and was kept for a wait that there is none of.
    assert "nothing took these signals: odrer; order\n" in done.stdout
    assert done.stderr.splitlines() == [
        "warning: nothing in the playbook waits for a signal `odrer`; did you mean `order`? (waited for: `order`)",
        "warning: signal `order` of the script comes too late, at 9 s: the run is over then",
    ]
    document = home.json("run", "plan.ir", "--script", "s.yaml")
    assert isinstance(document, dict) and document["unheard_signals"] == {"odrer": 1, "order": 1}


def test_a_run_whose_signals_are_all_heard_tells_nothing_of_them(home: "Home") -> None:
    (home.folder / "s.yaml").write_text("outcomes: [{step: z}]\nsignals: [{at: 1, name: order}]\n")
    done = home.run("run", home.plan(WAITING), "--script", "s.yaml", "--quiet")
    assert (done.returncode, done.stderr) == (0, "") and "nothing took" not in done.stdout
    assert "unheard_signals" not in home.json("run", "plan.ir", "--script", "s.yaml")  # type: ignore[operator]


def test_signals_of_a_script_under_a_key_that_no_wait_got_are_told(home: "Home") -> None:
    (home.folder / "s.yaml").write_text(
        "signals: [{at: 1, key: order, name: go}, {at: 1, key: odrer, name: go}, {at: 9, key: order, name: go}]\n"
    )
    home.plan("workflow:\n  - {step: start, tool: {name: w, kind: wait, events: [go], correlation: order}}\n")
    done = home.run("run", "plan.ir", "--script", "s.yaml")
    assert done.returncode == 0
    assert [line for line in done.stderr.splitlines() if line.startswith("warning")] == [
        "warning: no wait took the signal `go` under the key `odrer`; did you mean `order`? (is waited under `order`)",
        "warning: signal `go` under the key `order` comes too late, at 9 s: the run is over then",
    ]
    (home.folder / "s.yaml").write_text("signals: [{key: odrer, name: go}]\n")
    done = home.run("run", "plan.ir", "--script", "s.yaml")
    assert done.returncode == 5 and "did you mean `order`?" in done.stderr, "it waits for ever"
    (home.folder / "s.yaml").write_text("signals: [{key: odrer, name: go}, {at: 5, key: order, name: go}]\n")
    done = home.run("resume", "last", "--script", "s.yaml")
    assert done.returncode == 0, done.stderr


def test_signals_of_a_script_that_cannot_be_read_are_told(home: "Home") -> None:
    home.plan("workflow:\n  - {step: start, tool: {name: w, kind: wait, events: [go], correlation: order}}\n")
    for signal, why in (
        ("{name: a, keep_for: 1d}", "`keep_for` goes with `key`"),
        ("{name: a, key: ''}", "`key` is empty"),
        ("{name: a, key: [1]}", "`key` is no text"),
        ("{name: a, key: k, keep_for: soon}", "`keep_for` is no duration"),
        ("{name: a, kay: k}", "unknown key `kay`; known are at, before, name, data, key, keep_for"),
        ("{name: a, before: true}", "`before` goes with `key`: a run that has not begun hears nothing"),
        ("{name: a, key: k, at: 1s, before: true}", "`before` does not go with `at`"),
        ("{name: a, key: k, before: 1}", "`before` is true or false"),
    ):
        (home.folder / "s.yaml").write_text(f"signals: [{signal}]\n")
        done = home.run("run", "plan.ir", "--script", "s.yaml")
        assert done.returncode == 2 and why in done.stderr, done.stderr


DIVIDING = """
workload: {amount: 0}
workflow:
  - {step: start, tool: {kind: python, args: {n: "{{ workload.amount }}"}, code: result = 1 / n}}
"""


def test_a_rerun_tells_slips_as_a_run_does(home: "Home") -> None:
    assert home.run("run", home.plan(DIVIDING), "--quiet").returncode == 1
    told = home.run("rerun", "last", "--set", "amuont=7", "--dry-run").stderr
    assert "nothing reads `amuont`" in told and "did you mean `amount`?" in told
