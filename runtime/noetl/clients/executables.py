"""A program that a task runs: from the task's fields to its outcome (LANGUAGE §7, shell and script)."""

from collections.abc import Sequence

from noetl.host.confined_files import FileRefused, inside
from noetl.host.processes import ACTION_ID, Ended, ProcessLimits, bytes_of, child_environ, run_child
from noetl.ports import Env, ToolCall
from noetl_ir.expr import Json
from noetl_ir.kinds import limit_of
from noetl_ir.outcome import Outcome, error, ok

OUTPUT_BYTES = 8 * 1024 * 1024


async def run_program(words: Sequence[str], call: ToolCall, env: Env) -> Outcome:
    """Run a program with the task's `env cwd input`, its knobs and its timeout.

    Error codes: `shell.exit` (keeps the output), `timeout`, `shell.start`, `fields.invalid`, `file.refused`.
    The bytes of an output are read as UTF-8, with U+FFFD for what is none.
    """
    memory = call.knobs.get("memory")
    bounds = ProcessLimits(limit_of(call.timeout), output_limit(call.knobs), bytes_of(memory))
    if memory is not None and bounds.memory is None:
        return error("fields.invalid", "memory must be bytes or text like 512M")
    text = call.fields.get("input")
    try:
        environ = child_environ({ACTION_ID: call.action_id, **variables_of(call.fields.get("env"))})
        folder = inside(env.root(), str(call.fields.get("cwd") or "."))
        ended = await run_child(
            words,
            environ=environ,
            cwd=folder,
            stdin=b"" if text is None else str(text).encode("utf-8", "surrogatepass"),
            bounds=bounds,
            hear=env.output,
        )
    except FileRefused as problem:
        return error("file.refused", str(problem))
    except TimeoutError:
        return error("timeout", f"the program took longer than {bounds.seconds:g} s")
    except (OSError, ValueError) as problem:
        return error("shell.start", f"the program cannot be started: {problem}")
    return _outcome(ended, env)


def _outcome(ended: Ended, env: Env) -> Outcome:
    # A program may write anything; a byte that is no text must not cost the outcome of an effect that has happened.
    stdout, stderr = (data.decode("utf-8", "replace") for data in (ended.stdout, ended.stderr))
    if ended.cut:
        env.log("the output was longer than max_output_bytes; the rest was dropped")
    code = ended.exit_code
    result: dict[str, Json] = {"stdout": stdout, "stderr": stderr, "exit_code": code}
    extra: dict[str, Json] = {"exit_code": code, "signal": -code if code < 0 else None}
    if code == 0:
        return ok(result, shell=extra)
    ending = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
    # Programs say last why they end. The whole text is in the result; a message is shown in lists.
    last = stderr.strip().rsplit("\n", 1)[-1][:500]
    return error("shell.exit", f"the program {ending}{': ' if last else ''}{last}", result=result, shell=extra)


def variables_of(fields: Json) -> dict[str, str | None]:
    """Environment variables from a mapping: numbers and booleans as text, null removes. Raises ValueError."""
    found: dict[str, str | None] = {}
    for name, value in fields.items() if isinstance(fields, dict) else ():
        # The system would cut the text at the zero byte, or set another variable.
        if not name or "=" in name or "\0" in name or "\0" in str(value):
            raise ValueError(f"the environment variable {name!r} cannot be set")
        found[name] = str(value).lower() if isinstance(value, bool) else None if value is None else str(value)
    return found


def output_limit(knobs: dict[str, Json]) -> int:
    """How many bytes of each output are kept, by the knob `max_output_bytes`."""
    limit = knobs.get("max_output_bytes")
    return limit if isinstance(limit, int) and not isinstance(limit, bool) and limit >= 0 else OUTPUT_BYTES
