"""script: a file inside the worker's root, or text of the playbook, run by its interpreter (LANGUAGE §7)."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from noetl.clients.executables import run_program
from noetl.host.confined_files import FileRefused, inline_script, script_path
from noetl.ports import Env, ToolCall
from noetl_ir.expr import Json
from noetl_ir.kinds import misfits
from noetl_ir.kinds.script import KIND
from noetl_ir.outcome import Outcome, error

_INTERPRETERS = {".py": sys.executable, ".sh": "sh", ".bash": "bash"}
ARGS = "NOETL_ARGS"
"""The variable that has the task's args as JSON, where there are any."""


async def run(call: ToolCall, env: Env) -> Outcome:
    """Run the script; error codes as in `clients.executables`, and `file.refused` for one outside of the root."""
    if wrong := misfits(KIND, call.fields):
        return error("fields.invalid", "; ".join(wrong))
    fields = call.fields
    named = next(fields[name] for name in ("file", "path", "uri", "script") if fields.get(name) is not None)
    script: Json = named if isinstance(named, dict) else {"uri": named, "source": fields.get("source")}
    words = fields.get("arguments") or []
    if not isinstance(words, list) or any(isinstance(word, dict | list) or "\0" in str(word) for word in words):
        return error("fields.invalid", "arguments must be words")
    if call.args:
        own = fields.get("env")
        # The author's `env` wins over what is given of itself.
        variables = {ARGS: json.dumps(call.args), **(own if isinstance(own, dict) else {})}
        call = call._replace(fields={**fields, "env": variables})
    try:
        with _file(script, call, env) as (path, name):
            interpreter = fields.get("interpreter")
            if interpreter is None:
                interpreter = next((known for end, known in _INTERPRETERS.items() if name.endswith(end)), None)
            # A file may begin with `#!` and be run as it is; text that is written to a temporary file has no right to
            # be.
            if interpreter is None and name != path:
                return error("fields.invalid", "a script of type inline needs `interpreter`: python3, sh, …")
            program = [path] if interpreter is None else [str(interpreter), path]
            return await run_program([*program, *map(str, words)], call, env)
    except FileRefused as problem:
        return error("file.refused", str(problem))


@contextmanager
def _file(script: Json, call: ToolCall, env: Env) -> Iterator[tuple[str, str]]:
    """The script as a file, and the name that tells its interpreter; one of type inline is gone afterwards.

    Raises FileRefused.
    """
    code = inline_script(script)
    if code is None:
        path = script_path(env.root(), script, call.folder)
        yield path, path
        return
    from tempfile import mkstemp

    handle, path = mkstemp(prefix="noetl-script-")
    try:
        # `mkstemp` has made it for the owner alone: the code may hold what no other user is to read.
        with open(handle, "w", encoding="utf-8", errors="surrogatepass") as file:
            file.write(code)
        yield path, str(script.get("uri")) if isinstance(script, dict) else ""
    finally:
        os.unlink(path)
