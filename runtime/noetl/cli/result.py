"""result: what an execution or one of its steps came to."""

from __future__ import annotations

import click

from noetl.app.runtime import Runtime
from noetl.cli.stores import Look, existing, json_option, look_at, row_of, store_option
from noetl.cli.text import Problem, json_text
from noetl.engine.execution import Execution
from noetl.engine.program import Program
from noetl.engine.views import plain_result
from noetl.ports import ExecutionRow
from noetl_ir.events import Event
from noetl_ir.expr import Json
from noetl_ir.outcome import is_reference


@click.command("result", short_help="Print the result of an execution or step.")
@click.argument("execution", metavar="ID")
@click.argument("step", required=False, metavar="[STEP]")
@store_option
@json_option
def result(execution: str, step: str | None, url: str, as_json: bool) -> int:
    """Print the result of an execution: that of the step which succeeded last, or of STEP's latest success.

    The result is JSON, on one line with --json; a value that is stored outside of the log is fetched. ID may be the
    beginning of an id, or `last`. Exit code 1 when there is no result.
    """
    with existing(url) as runtime:
        row = row_of(runtime, execution)
        look, value = _latest(runtime, row, step)
        followed = _follow(runtime, look, value)
    click.echo(json_text(followed, indent=None if as_json else 2))
    return 0


def _latest(runtime: Runtime, row: ExecutionRow, step: str | None) -> tuple[Look, Json]:
    """The result as the log has it, and the execution folded."""
    latest: list[object] = []

    def attend(program: Program, execution: Execution, event: Event) -> None:
        """Results that no expression reads are not kept: take each as it is made."""
        over = event.event_type in ("step.done", "loop.done") and not event.data.get("level")
        if over and (step is None or program.plan.steps[event.step].name == step):
            latest[:] = [execution.last_result]

    look = look_at(runtime, row, attend)
    if step is not None and step not in look.program.step_numbers:
        raise Problem(_unknown(look.program, step))
    if not latest:
        raise Problem(f"step `{step}` has not succeeded" if step is not None else "no step has succeeded")
    return look, plain_result(latest[0])


def _unknown(program: Program, step: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(step, program.step_numbers, n=1)
    return f"the playbook has no step `{step}`" + (f"; did you mean `{near[0]}`?" if near else "")


def _follow(runtime: Runtime, look: Look, value: Json) -> Json:
    """A result with its references fetched: itself one, or of a loop those of its entries."""
    if isinstance(value, list):
        return [_follow(runtime, look, entry) for entry in value]
    if not isinstance(value, dict) or not is_reference(value):
        return value
    from noetl.worker.results import Results
    from noetl_ir.evaluate import Fault

    results = Results(look.program.plan, look.row.execution_id, runtime.blobs, lambda inner: inner)
    try:
        return results.fetch(value)
    except Fault as fault:
        raise Problem(fault.message) from None


COMMAND = result
