"""`noetl test --record ID`: a case made of a real execution, which passes as it is."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.here import done_here
from harness.suites import put, run_tests
from nets import plan_of, steps
from noetl.app.suites import recording
from noetl_ir.events import Event

REAL = """
workload: {who: Ada, token: ""}
workflow:
  - step: start
    loop: {in: [1, 2], iterator: n}
    tool: {name: say, kind: shell, command: "echo {{ workload.who }} {{ iter.n }}"}
    next: {arcs: [{step: stop, when: "{{ event.name == 'loop.done' }}"}]}
  - step: stop
    tool: [{name: sum, kind: python, code: "result = 3"}, {name: bad, kind: shell, command: "exit 3"}]
    next: {arcs: [{step: mended, when: "{{ event.name == 'step.failed' }}"}]}
  - step: mended
    tool: {kind: noop, result: "{{ start[1].stdout }}"}
"""


def test_a_recorded_execution_is_a_case_that_passes(tmp_path: Path) -> None:
    put(tmp_path, "", REAL)
    (tmp_path / "orders.test.yaml").unlink()
    done = done_here(tmp_path, ["run", "orders.yaml", "--set", "who=Bo", "--quiet"])
    assert done.returncode == 0, done.stdout + done.stderr
    done = run_tests(tmp_path, "--record", "last", "-o", "orders.test.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
    text = (tmp_path / "orders.test.yaml").read_text()
    assert "payload: {who: Bo}" in text and "steps: [start, stop, mended]" in text
    # Python runs for real in a test, and nothing of it is written down.
    assert text.count("task: say") == 2 and "task: sum" not in text and "index: [1]" in text
    again = run_tests(tmp_path)
    assert again.returncode == 0, again.stdout + again.stderr
    # What the shell gave back is what the run rests on, and not the shell.
    (tmp_path / "orders.test.yaml").write_text(text.replace("Bo 2", "Bo 9", 1))
    assert run_tests(tmp_path).returncode == 1


AGAIN = """
workflow:
  - step: start
    next: {spec: {mode: inclusive}, arcs: [{step: move, args: {n: 1}}, {step: move, args: {n: 3}}, {step: slow}]}
  - step: move
    spec: {policy: {lock: one}}
    tool:
      - name: begin
        kind: noop
        spec: {policy: {rules: [{else: {then: {do: continue, set_iter: {n: "{{ args.n }}"}}}}]}}
      - name: fetch
        kind: shell
        command: "exit {{ iter.n % 2 }}"
        spec:
          policy:
            rules:
              - when: "{{ outcome.status == 'error' or iter.n > 0 }}"
                then: {do: jump, to: fetch, set_iter: {n: "{{ iter.n - 1 }}"}}
              - else: {then: {do: continue}}
  - step: slow
    spec: {policy: {interrupt: {timers: {late: 0.2}}}}
    tool: {kind: shell, command: sleep 30}
    next: {arcs: [{step: told, when: "{{ event.name == 'step.failed' }}"}]}
  - step: told
    tool: {kind: noop, result: told}
"""
"""A task that comes again, in one run and in two, and comes to something else each time; one that is stopped."""


def test_what_comes_again_and_what_is_stopped_is_recorded_apart(tmp_path: Path) -> None:
    put(tmp_path, "", AGAIN)
    (tmp_path / "orders.test.yaml").unlink()
    done = done_here(tmp_path, ["run", "orders.yaml", "--quiet"])
    assert done.returncode == 0, done.stdout + done.stderr
    done = run_tests(tmp_path, "--record", "last", "-o", "orders.test.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
    text = (tmp_path / "orders.test.yaml").read_text()
    # By hand: with n = 1 the shell ends with 1, 0; with n = 3 with 1, 0, 1, 0.
    assert text.count("task: fetch") == 6 and text.count("task: slow_task") == 1
    again = run_tests(tmp_path)
    assert again.returncode == 0, again.stdout + again.stderr


def test_secrets_are_masked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    playbook = """
keychain: [{name: door, kind: env, var: CANARY}]
workflow:
  - step: start
    tool: {name: say, kind: shell, env: {KEY: "{{ keychain.door }}"}, command: "echo $KEY"}
"""
    monkeypatch.setenv("CANARY", "kanari-4711")
    put(tmp_path, "", playbook)
    done = done_here(tmp_path, ["run", "orders.yaml", "--quiet"])
    assert done.returncode == 0, done.stdout + done.stderr
    done = run_tests(tmp_path, "--record", "last")
    assert done.returncode == 0 and "stdout" in done.stdout and "kanari" not in done.stdout


def test_an_execution_that_is_not_there_is_told(tmp_path: Path) -> None:
    put(tmp_path, "", REAL)
    done = run_tests(tmp_path, "--record", "last")
    assert done.returncode == 1 and "there is no store" in done.stderr


PAID = """
workload: {order: 7}
workflow:
  - step: start
    tool:
      - {name: own, kind: signal, key: own, signal: paid, data: own}
      - {name: one, kind: wait, events: [paid], correlation: own}
      - {name: two, kind: wait, events: [paid], correlation: "order {{ workload.order }}"}
      - {name: three, kind: wait, events: [paid], correlation: "{{ workload.order }}"}
      - {name: all, kind: noop, result: "{{ [one.data, two.data, three.data] }}"}
"""


def recorded_after(tmp_path: Path, playbook: str, *letters: tuple[str, str, str]) -> tuple[str, str]:
    """Keep signals, each with key, name and data, and run a playbook that hears them: the words of the run, and the
    test that is recorded of it.
    """
    put(tmp_path, "", "workflow: [{step: start, tool: {kind: noop}}]", "first")
    put(tmp_path, "", playbook)
    (tmp_path / "orders.test.yaml").unlink()
    (tmp_path / "first.test.yaml").unlink()
    done_here(tmp_path, ["run", "first.yaml"])  # a store
    for key, name, data in letters:
        done = done_here(tmp_path, ["signal", "--key", key, "--name", name, "--data", data])
        assert done.returncode == 0, done.stdout + done.stderr
    run = done_here(tmp_path, ["run", "orders.yaml"])
    assert run.returncode == 0, run.stdout + run.stderr
    done = run_tests(tmp_path, "--record", "last", "-o", "orders.test.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
    return run.stdout, (tmp_path / "orders.test.yaml").read_text()


def test_signals_under_a_key_are_recorded_and_those_that_it_sends_itself_are_not(tmp_path: Path) -> None:
    _, text = recorded_after(tmp_path, PAID, ("order 7", "paid", "[1]"), ("7", "paid", "2"))
    assert "data: own" not in text and text.count("key:") == 2, text
    assert 'key: "7"' in text and "key: order 7" in text and "data: [1]" in text
    again = run_tests(tmp_path)
    assert again.returncode == 0, again.stdout + again.stderr
    (tmp_path / "orders.test.yaml").write_text(text.replace("data: 2", "data: 3"))
    assert run_tests(tmp_path).returncode == 1


EARLIER = """
workflow:
  - step: start
    tool:
      - {name: own, kind: signal, key: order 7, signal: paid, data: own}
      - {name: one, kind: wait, events: [paid], correlation: order 7}
      - {name: two, kind: wait, events: [paid], correlation: order 7}
      - {name: late, kind: wait, events: [sent], correlation: order 7}
      - {name: all, kind: noop, result: "{{ [one.data, two.data, late.data] }}"}
"""


def test_a_signal_that_was_kept_before_the_run_is_older_than_its_own(tmp_path: Path) -> None:
    told, text = recorded_after(tmp_path, EARLIER, ("order 7", "paid", '"kept"'), ("order 7", "sent", "1"))
    assert 'result: ["kept", "own", 1]' in told
    assert text.count("before: true") == 2 and "at:" not in text, text
    again = run_tests(tmp_path)
    assert again.returncode == 0, again.stdout + again.stderr
    # At a time of the run it comes behind the one that the run sends itself.
    (tmp_path / "orders.test.yaml").write_text(text.replace("before: true", "at: 0.1"))
    assert run_tests(tmp_path).returncode == 1


SCRIPTED = """
workflow:
  - step: start
    tool:
      - {name: own, kind: signal, key: order 7, signal: paid, data: own}
      - {name: one, kind: wait, events: [paid], correlation: order 7}
      - {name: two, kind: wait, events: [paid], correlation: order 7}
      - {name: nap, kind: wait, timers: {end: 10d}}
      - {name: late, kind: wait, events: [sent, packed], correlation: order 7}
      - {name: more, kind: wait, events: [sent, packed], correlation: order 7}
      - {name: all, kind: noop, result: "{{ [one.data, two.data, late.data, more.data] }}"}
"""


def test_signals_of_a_script_are_recorded_for_when_and_for_how_long_they_were_kept(tmp_path: Path) -> None:
    put(tmp_path, "", SCRIPTED)
    (tmp_path / "orders.test.yaml").unlink()
    # One at the time 0 comes behind what the run sends then.
    (tmp_path / "s.yaml").write_text("""signals:
  - {at: 0, key: order 7, name: paid, data: outside}
  - {at: 5s, key: order 7, name: sent, data: kept for long, keep_for: 30d}
  - {before: true, key: order 7, name: packed, data: kept for longer, keep_for: 30d}
""")
    done = done_here(tmp_path, ["run", "orders.yaml", "--script", "s.yaml"])
    assert 'result: ["own", "outside", "kept for longer", "kept for long"]' in done.stdout, done.stdout + done.stderr
    done = run_tests(tmp_path, "--record", "last", "-o", "orders.test.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
    again = run_tests(tmp_path)
    assert again.returncode == 0, (tmp_path / "orders.test.yaml").read_text() + again.stdout + again.stderr


@pytest.mark.parametrize(("timeout", "takes"), [("2", 2), ("3", 2.01), ("'{{ workload.k }}'", 2.01), ("", 2.01)])
def test_an_attempt_that_was_done_just_in_time_is_no_timeout_in_the_test(timeout: str, takes: float) -> None:
    """A worker measures until it looks at what is done, which a busy one does late."""
    limit = f", spec: {{timeout: {timeout}}}" if timeout else ""
    plan = plan_of(f"workload: {{k: 2}}\n{steps(f'step: start, tool: {{kind: shell, command: x{limit}}}')}")
    done = Event("e", "task.done", 0, 0, "r", 0, data={"outcome": {"status": "ok", "meta": {"duration": 2.01}}})
    there: Any = SimpleNamespace(program=SimpleNamespace(plan=plan))
    nowhere: Any = None
    assert recording._outcome(nowhere, there, done) == {"takes": takes, "outcome": {"status": "ok"}}


CALLER = """
workflow:
  - step: start
    tool: {kind: playbook, path: t/child}
"""
CHILD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: c, path: t/child}\nworkflow:\n"


def test_that_children_are_not_recorded_is_told(tmp_path: Path) -> None:
    put(tmp_path, "", CALLER)
    (tmp_path / "orders.test.yaml").unlink()
    (tmp_path / "child.yaml").write_text(CHILD + "  - {step: ask, tool: {kind: shell, command: echo 1}}\n")
    done = done_here(tmp_path, ["run", "orders.yaml", "--path", ".", "--quiet"])
    assert done.returncode == 0, done.stdout + done.stderr
    done = run_tests(tmp_path, "--record", "last", "-o", "orders.test.yaml")
    assert done.returncode == 0 and "is not recorded: write their outcomes" in done.stderr
    text = (tmp_path / "orders.test.yaml").read_text()
    assert "# It called playbooks whose logs are their own: `t/child` (step `start`)." in text
    assert run_tests(tmp_path, "--path", ".").returncode == 1
    # By hand, as the remark says.
    outcomes = "    outcomes: [{step: ask, outcome: {result: {stdout: one}}}]\n    # As it was"
    (tmp_path / "orders.test.yaml").write_text(text.replace("    # As it was", outcomes).partition("      result:")[0])
    again = run_tests(tmp_path, "--path", ".")
    assert again.returncode == 0, again.stdout + again.stderr
