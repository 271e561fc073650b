"""secrets: a handle to a credential; what it stands for is put in where a task field uses it (LANGUAGE §7).

The handle names the credential and its fields and holds no value. Before it is stored the worker puts a marker
under each field, authenticated, so that a look-alike from outside opens nothing.
"""

from noetl.ports import Env, ToolCall
from noetl_ir.kinds import misfits
from noetl_ir.kinds.secrets import KIND
from noetl_ir.outcome import HANDLE_KEY, Handle, Outcome, error, ok


async def run(call: ToolCall, env: Env) -> Outcome:
    """Look the credential up, so that a missing one fails here; error code `credential.missing`."""
    if wrong := misfits(KIND, call.fields):
        return error("fields.invalid", "; ".join(wrong))
    fields = call.fields
    names = ("auth", "credential", "secret", "secret_name")
    name = str(next(fields[key] for key in names if fields.get(key) is not None))
    try:
        found = await env.credential(name)
    except KeyError as problem:
        return error("credential.missing", str(problem.args[0] if problem.args else problem))
    wanted = fields.get("key")
    if wanted is not None and str(wanted) not in found:
        return error("credential.missing", f"credential {name!r} has no field {wanted!r}")
    shown = sorted(found) if wanted is None else [str(wanted)]
    # The names of the fields only: whoever uses the handle is given the value of that moment, also after a rotation.
    return ok(Handle({HANDLE_KEY: name, **dict.fromkeys(shown)}))
