"""The text of failures: the place in the author's file, what led to it, and each failure once."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from harness.here import done_here
from harness.running import HEAD, compiled
from noetl.app.error_places import located
from noetl.app.snapshots import snapshot_of
from noetl.cli.failures import failure_text, place_text
from noetl.cli.stores import existing_runtime, row_of
from noetl.cli.ways_on import ways_on
from noetl.engine.whole import span_at
from noetl_ir.plan_format import read_plan

if TYPE_CHECKING:
    from conftest import Home

# The header that the tests put before it has three lines, so `workflow` is line 4 where it comes first.
EXHAUSTED = """
workflow:
  - step: start
    tool: {kind: noop, result: early}
    next: {arcs: [{step: call}]}
  - step: call
    tool:
      - ask:
          kind: shell
          command: "echo so it is >&2; exit 3"
          spec:
            policy:
              rules:
                - when: "{{ outcome.status == 'error' }}"
                  then: {do: retry, attempts: 2, delay: 0}
                - else: {then: {do: continue}}
"""
ARC = """
workflow:
  - step: start
    tool: {kind: noop, result: 1}
    next:
      arcs:
        - step: end
          when: "{{ event.result > 5 }}"
        - step: end
          when: "{{ event.result + 'x' }}"
"""
RULE = """
workflow:
  - step: start
    tool:
      - ask:
          kind: noop
          result: 1
          spec:
            policy:
              rules:
                - when: "{{ outcome.result > 5 }}"
                  then: {do: continue}
                - when: "{{ outcome.result == 1 }}"
                  then: {do: fail, code: too.small, message: "{{ outcome.result }} is too small"}
                - else: {then: {do: continue}}
"""
GATE = """
workflow:
  - step: start
    spec: {policy: {admit: {rules: [{when: "{{ 1 + 'x' }}", then: {allow: true}}]}}}
    tool: {kind: noop}
"""
WORKLOAD = """
workload:
  a: "{{ 1 + 'x' }}"
workflow: [{step: start, tool: {kind: noop}}]
"""
LOOP = """
workflow:
  - step: each
    loop: {in: "{{ [1, 2] }}", iterator: n}
    tool: {kind: shell, command: "echo deep trouble >&2; exit {{ n - 1 }}"}
  - step: after
    tool: {kind: noop}
"""
HANDLED = """
workflow:
  - step: start
    tool: {kind: shell, command: "echo no luck >&2; exit 1"}
    next: {arcs: [{step: tidy, when: "{{ event.name == 'step.failed' }}"}]}
  - step: tidy
    tool: {kind: noop, result: tidied}
"""
PARENT = """
workflow:
  - step: start
    tool: {kind: playbook, path: child}
"""


@pytest.mark.parametrize(
    ("body", "line", "place", "said"),
    [
        (
            EXHAUSTED,
            16,
            "call / ask",
            "retry.exhausted: task `ask` did not succeed in 2 attempts; the last: "
            "shell.exit: the program ended with exit code 3: so it is",
        ),
        (ARC, 11, "start", "guard.error: "),
        (RULE, 15, "start / ask", "too.small: 1 is too small"),
        (GATE, 5, "start", "guard.error: "),
    ],
    ids=["task", "arc", "rule", "step"],
)
def test_a_failure_names_the_place_in_the_authors_file(
    home: "Home", body: str, line: int, place: str, said: str
) -> None:
    plan = home.plan(body.lstrip("\n"))
    done = home.run("run", plan)
    assert done.returncode == 1
    [told] = [row for row in done.stdout.splitlines() if row.startswith("error: ")]
    assert told.startswith(f"error: {place} at plan.ir.yaml:{line}: ")
    assert said in told
    shown = home.run("status", "last").stdout
    assert told.replace("error: ", "failure: ", 1) in shown.splitlines()
    [story] = [row for row in shown.splitlines() if row.startswith("how it came to that: noetl ")]
    assert home.run(*story.split()[6:]).stdout.splitlines()[-1].endswith("playbook.processed")
    again = "start again, once it is mended, with: noetl run plan.ir.yaml"
    assert any(row.startswith(again) for row in shown.splitlines())
    for words in (["run", plan], ["status", "last"]):
        document = home.json(*words)
        assert isinstance(document, dict)
        at = document["error"]["at"]
        assert (at["file"], at["line"], at["column"] > 0) == ("plan.ir.yaml", line, True)


@pytest.mark.parametrize(
    ("key", "spec", "line"),
    [
        ("result", "result: BAD", 6),
        ("ctx.n.initial", "ctx: {n: {reduce: sum, initial: BAD}}", 6),
        ("concurrency.key", "concurrency: {key: BAD}", 6),
        ("policy.lifecycle.timeout_s", "policy: {lifecycle: {timeout_s: BAD}}", 6),
        ("policy.lifecycle.after_s", "finally: last\n    policy: {lifecycle: {after_s: BAD}}", 7),
    ],
)
def test_a_fault_of_the_whole_playbook_names_its_place(home: "Home", key: str, spec: str, line: int) -> None:
    # The same expression stands in a step, too, and a plan keeps equal ones once.
    body = f"""executor:
  spec:
    {spec}
workload: {{a: x, b: false}}
workflow:
  - {{step: start, next: {{arcs: [{{step: same, when: "{{{{ workload.b }}}}"}}]}}}}
  - {{step: same, tool: {{kind: noop, result: BAD}}}}
"""
    body += "  - {step: last, tool: {kind: noop, result: BAD}}\n" if "last" in spec else ""
    done = home.run("run", home.plan(body.replace("BAD", '"{{ workload.a + 1 }}"')))
    [told] = [row for row in done.stdout.splitlines() if row.startswith("error: ")]
    assert told.startswith(f"error: at plan.ir.yaml:{line}: ") and f": `executor.spec.{key}`" in told


@pytest.mark.parametrize(
    ("workload", "line"),
    [
        ("  a: x\n  b: BAD", 6),
        ("  a: x\n  deep:\n    - 1\n    - {b: BAD}\n  c: BAD", 7),
        ("  c: BAD\n  a: x\n  d: BAD", 5),
    ],
)
def test_a_fault_in_the_workload_names_its_place(home: "Home", workload: str, line: int) -> None:
    # The same expression stands in a step and in another key, and a plan keeps equal ones once.
    body = f"workload:\n{workload}\nworkflow:\n  - {{step: start, tool: {{kind: noop, result: BAD}}}}\n"
    done = home.run("run", home.plan(body.replace("BAD", '"{{ workload.a + 1 }}"')))
    [told] = [row for row in done.stdout.splitlines() if row.startswith("error: ")]
    assert told.startswith(f"error: at plan.ir.yaml:{line}: ") and ": `workload." in told, told


def test_what_a_plan_knows_of_the_places_of_its_keys() -> None:
    head = "executor: {spec: {inputs: {day: {type: string}, n: {}}}}\n"
    data = compiled(
        head + 'workload:\n  n: 1\n  day: "{{ workload.n }}"\nworkflow:\n  - {step: start, tool: {kind: noop}}\n'
    )
    plan = read_plan(data)
    first = plan.steps[0].span.line - 5
    keys = ("workload.n", "workload.day", "workload.x", "executor.spec.inputs.day", "executor.spec.result", "x")
    places = {key: span_at(plan, key) for key in keys}
    # A value that is written out has no fault, and no place.
    assert {key: span.line - first for key, span in places.items() if span} == {
        "workload.day": 3, "executor.spec.inputs.day": 0,
    }  # fmt: skip
    # A plan from before does not have them.
    before = plan._replace(templates=plan.templates[:-1], template_spans=plan.template_spans[:-1])
    assert span_at(before, "workload.day") is None


@pytest.mark.parametrize(
    ("body", "reason"),
    [(EXHAUSTED, "the last: shell.exit"), (LOOP, "deep trouble"), (HANDLED, "no luck"), (ARC, "guard.error")],
    ids=["task", "loop", "handled", "arc"],
)
def test_a_failure_is_told_once(home: "Home", body: str, reason: str) -> None:
    done = home.run("run", home.plan(body.replace("step: each", "step: start")))
    assert (done.stdout + done.stderr).count(reason) == 1, done.stdout + done.stderr


def test_a_workload_without_a_value_is_named_by_its_key(home: "Home") -> None:
    done = home.run("run", home.plan(WORKLOAD))
    assert (done.returncode, "\nerror: at plan.ir.yaml:6: template.error: `workload.a`: " in done.stdout) == (1, True)


def test_what_an_earlier_step_came_to_is_no_outcome_of_a_failed_run(home: "Home") -> None:
    plan = home.plan(EXHAUSTED)
    assert "early" not in home.run("run", plan).stdout
    document = home.json("run", plan)
    assert isinstance(document, dict)
    assert document["result"] is None
    said = home.run("result", "last")
    assert said.returncode == 1 and "the execution is failed and has no result" in said.stderr
    assert home.json("result", "last", "start") == "early"


def test_a_child_says_why_and_its_caller_where_it_was_called(home: "Home") -> None:
    head = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: child, path: child}\n"
    (home.folder / "child.yaml").write_text(head + EXHAUSTED.lstrip("\n"))
    done = home.run("run", home.plan(PARENT.lstrip("\n")), "--path", ".")
    assert "child: call: failed at child.yaml:16: retry.exhausted: " in done.stderr
    told = done.stdout.splitlines()[1]
    assert told.startswith(
        "error: start / start_task at plan.ir.yaml:6: playbook.failed: playbook `child` ended failed"
    )
    assert told.endswith("; the last: shell.exit: the program ended with exit code 3: so it is")


def test_an_error_without_a_place_stays_as_it_is(home: "Home") -> None:
    from noetl.engine.program import Program
    from noetl_ir.plan_format import read_plan

    data = (home.folder / home.plan(PARENT)).read_bytes()
    program = Program(read_plan(data), "0" * 64, data)
    for error in (None, "text", {"code": "a"}, {"code": "a", "step": "nowhere"}):
        assert located(program, error) == error  # type: ignore[arg-type]
    assert (place_text(None), place_text({"step": "a"}), place_text({})) == ("", "a: ", "")


def test_causes_end_somewhere() -> None:
    error: dict[str, object] = {"code": "end"}
    for number in range(50):
        error = {"code": f"e{number}", "cause": error}
    assert failure_text(error) == "e49; cause: e48; cause: e47; cause: e46; cause: e45"  # type: ignore[arg-type]
    assert failure_text({"code": "a", "cause": {"status": "ok"}}) == "a"
    exhausted = {"code": "retry.exhausted", "cause": {"status": "ok", "error": None}}
    assert failure_text(exhausted) == "retry.exhausted; the last: an outcome that was ok"
    assert failure_text({}) == "without a reason"


@pytest.mark.parametrize("words", [("run", "bad.yaml"), ("run", "junk.ir"), ("status", "nothing")])
def test_who_asks_for_json_gets_the_reason_as_json_too(home: "Home", words: tuple[str, ...]) -> None:
    (home.folder / "bad.yaml").write_text("apiVersion: noetl.io/v2\nworkflow: [{step: start, tool: {kind: nop}}]\n")
    (home.folder / "junk.ir").write_bytes(b"junk")
    done = home.run(*words, "--json", "--store", "sqlite:////dev/null/no.db")
    assert done.returncode == 1
    assert json.loads(done.stdout)["error"]["message"] in done.stderr.replace("error: ", "")


PASTED = """
workload: {n: 1, who: x, home: "{{ env.GREETING }}"}
workflow:
  - step: start
    tool:
      kind: python
      args: {n: "{{ workload.n }}", who: "{{ workload.who }}"}
      code: "raise ValueError(f'{n} {who}')"
"""


def test_the_command_that_starts_again_can_be_pasted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a shell, from the folder where the run was started: the same file, values and variables."""
    monkeypatch.setenv("GREETING", "hi")
    folder = tmp_path / "play books"
    folder.mkdir()
    (folder / "-a b.yaml").write_text(HEAD + PASTED, "utf-8")
    who = 'it\'s "ü"\n$HOME'
    words = ["run", "play books/-a b.yaml", "--set", "n=3", "--set", f"who={json.dumps(who)}", "--env", "GREETING"]
    assert done_here(tmp_path, words).returncode == 1
    shown = done_here(tmp_path, ["status", "last"]).stdout
    assert f"ValueError: 3 {who.splitlines()[0]}" in shown
    command = shown.partition("start again, once it is mended, with: ")[2].splitlines()[0]
    assert "; not in it" not in command
    environ = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    again = subprocess.run(["bash", "-c", command], cwd=tmp_path, env=environ, capture_output=True, text=True)
    assert again.returncode == 1 and f"ValueError: 3 {who.splitlines()[0]}" in again.stdout, again.stderr


def test_what_the_command_lacks_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(HEAD + PASTED.replace(', home: "{{ env.GREETING }}"', ""), "utf-8")
    (tmp_path / "script.yaml").write_text("outcomes: [{step: start, outcome: {status: error}}]", "utf-8")
    words = ["run", "a.yaml", "--script", "script.yaml", "--set", f"who={'x' * 5000}"]
    assert done_here(tmp_path, words).returncode == 1
    (tmp_path / "a.yaml").unlink()
    [told] = [row for row in done_here(tmp_path, ["status", "last"]).stdout.splitlines() if row.startswith("start ")]
    assert told == (
        "start again, once it is mended, with: noetl run a.yaml; not in it: its payload, which is too long for a line, "
        "its script (`--script`), the folder, since `a.yaml` is not here"
    )


def test_a_server_has_to_be_given_the_mended_file_first(tmp_path: Path) -> None:
    """Servers keep the file as it was registered: a start by path alone would run the fault again."""
    (tmp_path / "a.yaml").write_text(HEAD + PASTED.replace(', home: "{{ env.GREETING }}"', ""), "utf-8")
    assert done_here(tmp_path, ["run", "a.yaml", "--set", "n=2"]).returncode == 1
    with existing_runtime(f"sqlite:///{tmp_path}/.noetl/noetl.db") as runtime:
        look = snapshot_of(runtime, row_of(runtime, "last"))
        *_, told = ways_on(runtime, look, "http://127.0.0.1:1")
    assert told.startswith(
        "start again, once the mended file is registered (`noetl register FILE`), with: "
        "noetl start t/t --payload '{\"n\": 2}'"
    )
