"""The kind `fail` (EXTENSIONS §6): it fails with the author's code and message, and nothing lets it succeed."""

from pathlib import Path

import pytest

from nets import plan_of
from noetl.tools.fail import run
from noetl_ir.expr import Json
from noetl_ir.net import Transition
from tool_doubles import FakeEnv, call_of, failed, waited


@pytest.mark.parametrize(
    ("fields", "code", "message"),
    [
        ({"code": "order.rejected", "message": "too many"}, "order.rejected", "too many"),
        ({"code": "order.rejected"}, "order.rejected", "the playbook fails here"),
        ({"code": "order.rejected", "message": None}, "order.rejected", "the playbook fails here"),
        ({"code": 404, "message": 7}, "404", "7"),
        ({"code": "a", "message": ""}, "a", ""),
        ({"code": "  "}, "fields.invalid", "field 'code' is empty: write a word for it, such as `orders.missing`"),
        ({"code": None}, "fields.invalid", "field 'code' is missing"),
        ({"code": ["a"]}, "fields.invalid", "field 'code' must be text, not a list"),
    ],
)
def test_what_it_fails_with(tmp_path: Path, fields: dict[str, Json], code: str, message: str) -> None:
    error = failed(waited(run(call_of("fail", fields), FakeEnv(tmp_path))))
    assert (error["code"], error["message"], error["retryable"]) == (code, message, False)


WAYS = """
workflow:
  - step: start
    tool:
      - {name: plain, kind: fail, code: a}
      - {name: ruled, kind: fail, code: b, spec: {policy: {rules: [{else: {then: {do: continue}}}]}}}
      - {name: other, kind: noop}
"""


def test_no_transition_of_its_net_is_a_success() -> None:
    plan = plan_of(WAYS)
    rows = {task.name: row for row, task in enumerate(plan.tasks)}

    def outcomes(name: str) -> set[str]:
        found: list[Transition] = [t for t in plan.net.transitions if t.task == rows[name]]
        return {t.outcome for t in found if t.outcome}

    assert outcomes("plain") == {"error"} and outcomes("ruled") == {"error"}
    assert outcomes("other") == {"ok", "error"}
