"""shell: command text for a shell, run in the worker's root (LANGUAGE §7).

Text is data: nothing here opens a file because a text looks like one (only the shell does, when told to).
"""

import shutil

from noetl.clients.executables import run_program
from noetl.ports import Env, ToolCall
from noetl_ir.expr import Json
from noetl_ir.kinds import misfits
from noetl_ir.kinds.shell import KIND
from noetl_ir.outcome import Outcome, error


async def run(call: ToolCall, env: Env) -> Outcome:
    """Run the commands; the error codes are those of `noetl.clients.executables`, and `fields.invalid`."""
    if wrong := misfits(KIND, call.fields):
        return error("fields.invalid", "; ".join(wrong))
    fields = call.fields
    value = next(fields[name] for name in ("command", "cmd", "cmds") if fields.get(name) is not None)
    text = command_text(value)
    if text is None or "\0" in text:
        return error("fields.invalid", "commands must be texts without NUL characters")
    # Commands are mostly written for bash; a small image may have no more than sh.
    shell = fields.get("shell") or ("bash" if shutil.which("bash") else "sh")
    return await run_program((str(shell), "-c", text), call, env)


def command_text(value: Json) -> str | None:
    """One script of a text or a list of texts, where each command runs only if those before it succeeded."""
    if not isinstance(value, list):
        return str(value)
    if not value or not all(isinstance(command, str) for command in value):
        return None
    # Not `set -e`, which would change what the commands themselves mean, and not `&&`, which a comment at the end of
    # a command would swallow.
    return "\n".join(f"{command}\n__code=$?; [ $__code -eq 0 ] || exit $__code" for command in value)
