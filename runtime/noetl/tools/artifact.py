"""artifact: reads a stored result of its own execution. It never awaits, as noop.

A reference comes from expressions, so from data: where it leads to another execution it is as good as none.
"""

from noetl.ports import Call, Env
from noetl_ir.expr import Json
from noetl_ir.kinds import misfits
from noetl_ir.kinds.artifact import KIND
from noetl_ir.outcome import Outcome, error, is_reference, ok

_REF = "result_ref"


async def run(call: Call, env: Env) -> Outcome:
    """The value of `result_ref`, a field or an arg: `{data: whole}` and the keys of a mapping beside it.

    Errors: `fields.invalid`, `kind.unavailable` for other actions than `get`, `ref.missing`.
    """
    if wrong := misfits(KIND, call.fields):
        return error("fields.invalid", "; ".join(wrong))
    action = call.fields.get("action", "get")
    if action != "get":
        return error("kind.unavailable", f"`artifact` with `action: {action}` is not available in this version")
    reference = call.fields.get(_REF, call.args.get(_REF))
    if not isinstance(reference, dict) or not is_reference(reference):
        return error("ref.missing", f"`{_REF}` is no reference: give `ref(step)` of a step whose result is stored")
    try:
        whole = env.stored(reference)
    except KeyError as problem:
        return error("ref.missing", str(problem.args[0] if problem.args else problem))
    keys: dict[str, Json] = whole if isinstance(whole, dict) else {}
    return ok({**keys, "data": whole})
