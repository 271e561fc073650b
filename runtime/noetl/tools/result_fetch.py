"""result_fetch: a stored result of its own execution, or parts of it. It never awaits, as noop.

Error codes: `fields.invalid`, `ref.missing`, `select.missing`.
"""

from noetl.clients.stored_results import stored
from noetl.ports import Env, ToolCall
from noetl_ir.expr import Json
from noetl_ir.kinds import misfits
from noetl_ir.kinds.result_fetch import KIND
from noetl_ir.outcome import Outcome, error, ok

_NAMES = ("ref", "result_ref")


async def run(call: ToolCall, env: Env) -> Outcome:
    """The stored value, or what `select` says of it."""
    if wrong := misfits(KIND, call.fields):
        return error("fields.invalid", "; ".join(wrong))
    found = (at[name] for at in (call.fields, call.args) for name in _NAMES if at.get(name) is not None)
    whole = stored(next(found, None), "ref", env)
    if isinstance(whole, Outcome):
        return whole
    wanted = call.fields.get("select")
    if wanted is None:
        return ok(whole)
    paths = wanted if isinstance(wanted, list) else [wanted]
    parts: dict[str, Json] = {}
    for path in map(str, paths):
        try:
            parts[path] = _part(whole, path)
        except (LookupError, ValueError):
            return error("select.missing", f"the stored value has nothing at `{path[:200]}`")
    return ok(parts if isinstance(wanted, list) else parts[str(wanted)])


def _part(value: Json, path: str) -> Json:
    """The value at a path of keys and indexes, joined by dots. Raises LookupError, ValueError."""
    for name in path.split("."):
        match value:
            case dict():
                value = value[name]
            case list() if name.isascii() and name.isdigit() and len(name) < 10:
                value = value[int(name)]
            case _:
                raise LookupError(name)
    return value
