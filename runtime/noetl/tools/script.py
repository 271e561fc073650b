"""script: a file inside the worker's root, run by its interpreter (LANGUAGE §7)."""

import sys

from noetl.executables import run_program
from noetl.files import Refused, script_path
from noetl.ports import Call, Env
from noetl_ir.kinds import misfits
from noetl_ir.kinds.script import KIND
from noetl_ir.outcome import Outcome, error

_INTERPRETERS = {".py": sys.executable, ".sh": "sh", ".bash": "bash"}


async def run(call: Call, env: Env) -> Outcome:
    """Run the file; error codes as in `noetl.executables`, and `file.refused` for one outside the root."""
    if wrong := misfits(KIND, call.fields):
        return error("fields.invalid", "; ".join(wrong))
    fields = call.fields
    named = next(fields[name] for name in ("file", "path", "uri") if fields.get(name) is not None)
    try:
        path = script_path(env.root(), {"uri": named, "source": fields.get("source")})
    except Refused as problem:
        return error("file.refused", str(problem))
    interpreter = fields.get("interpreter")
    if interpreter is None:
        interpreter = next((known for end, known in _INTERPRETERS.items() if path.endswith(end)), None)
    words = fields.get("arguments") or []
    if not isinstance(words, list) or any(isinstance(word, dict | list) or "\0" in str(word) for word in words):
        return error("fields.invalid", "arguments must be words")
    program = [path] if interpreter is None else [str(interpreter), path]
    return await run_program([*program, *map(str, words)], call, env)
