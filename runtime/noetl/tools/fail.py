"""fail: an error outcome as the author says it. It never awaits, so the worker can run it without an event loop."""

from noetl.ports import Env, ToolCall
from noetl_ir.kinds import misfits
from noetl_ir.kinds.fail import KIND
from noetl_ir.outcome import Outcome, error

UNSAID = "the playbook fails here"


async def run(call: ToolCall, env: Env) -> Outcome:
    """An error with `code` and `message`; `fields.invalid` where the code is missing or empty."""
    fields = call.fields
    if wrong := misfits(KIND, fields):
        return error("fields.invalid", "; ".join(wrong))
    code, message = str(fields["code"]).strip(), fields.get("message")
    # Guards that ask for a code, and everything that is shown of an error, need one that is there.
    if not code:
        return error("fields.invalid", "field 'code' is empty: write a word for it, such as `orders.missing`")
    return error(code, UNSAID if message is None else str(message))
