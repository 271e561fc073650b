"""Child executions across crashes of the process that runs them and their caller."""

from pathlib import Path

import pytest

from harness.killing import finish, left_in, run_killed, statuses
from harness.running import HEAD, compiled

CHILD = (
    "---\n"
    + HEAD.replace("t/t", "t/c")
    + """workload: {who: nobody}
workflow:
  - {step: start, tool: {name: a, kind: http, url: "http://x/%s"}, next: {arcs: [{step: last}]}}
  - {step: last, tool: {kind: noop, args: {who: "{{ workload.who }}"}}}
"""
)
POINTS = [("create.before_commit", 2), ("create.after_commit", 2), *(("append.after_commit", n) for n in (1, 2, 3, 4))]


@pytest.mark.parametrize(("point", "turn"), POINTS)
def test_a_child_keeps_what_it_was_called_with(point: str, turn: int, tmp_path: Path) -> None:
    plan = compiled(f"""
workflow:
  - {{step: start, tool: {{name: c, kind: playbook, path: t/c, args: {{who: me}}}}}}
{CHILD % "a"}""")
    assert run_killed(tmp_path, plan, point, turn)
    assert finish(tmp_path, plan) == "completed"
    assert left_in(tmp_path).execution.last_result == {"who": "me"}
    assert statuses(tmp_path) == {"t/t": "completed", "t/c": "completed"}


@pytest.mark.parametrize(("point", "turn"), POINTS)
def test_a_child_that_nobody_waits_for_goes_on_with_its_caller(point: str, turn: int, tmp_path: Path) -> None:
    plan = compiled(f"""
workflow:
  - {{step: start, tool: {{name: c, kind: playbook, path: t/c, wait: false}}}}
{CHILD % "slow"}""")
    assert run_killed(tmp_path, plan, point, turn)
    assert finish(tmp_path, plan) == "completed"
    assert statuses(tmp_path) == {"t/t": "completed", "t/c": "completed"}


@pytest.mark.parametrize("turn", [1, 2, 3])
def test_a_child_whose_caller_gave_up_is_cancelled(turn: int, tmp_path: Path) -> None:
    """Killed between the commit that gave it up and its own end, it is cancelled when the caller is taken up."""
    plan = compiled(f"""
workflow:
  - step: start
    spec: {{policy: {{lifecycle: {{timeout_s: 1}}}}}}
    tool: {{name: c, kind: playbook, path: t/c}}
    next: {{arcs: [{{step: end, when: "{{{{ event.error.code == 'timeout' }}}}"}}]}}
{CHILD % "ages"}""")
    assert run_killed(tmp_path, plan, "append.after_commit", turn)
    assert finish(tmp_path, plan) == "completed"
    assert statuses(tmp_path) == {"t/t": "completed", "t/c": "cancelled"}
