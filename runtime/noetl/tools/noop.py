"""noop: hands its values on. It never awaits, so that the worker can run it without an event loop."""

from noetl.ports import Env, ToolCall
from noetl_ir.kinds import misfits
from noetl_ir.kinds.noop import KIND
from noetl_ir.outcome import Outcome, error, ok


async def run(call: ToolCall, env: Env) -> Outcome:
    """`result` where it is given, else the args; without either the worker gives `_prev`."""
    if wrong := misfits(KIND, call.fields):
        return error("fields.invalid", "; ".join(wrong))
    return ok(call.fields["result"] if "result" in call.fields else dict(call.args))
