"""container: an image run to its end by podman, docker or nerdctl, whichever is on PATH (LANGUAGE §7).

The container has no folder of this machine, no new privileges, and a network of its own. Its environment goes through
a pipe, so that no value stands in a command line or on a disk. It is removed when it ended, and when the task is
cancelled or late; what a killed worker left is removed by the next attempt of the same task run, whose container has
the same name.
Error codes: `container.exit` (keeps the output), `container.engine` (there is none, or it could not run the image),
`timeout`, `fields.invalid`, `file.refused`.
"""

import asyncio
import os
import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256

from noetl.clients.executables import output_limit, variables_of
from noetl.host.confined_files import FileRefused, script_text
from noetl.host.processes import ACTION_ID, Ended, ProcessLimits, bytes_of, child_environ, run_child
from noetl.host.runnable_kinds import ENGINES
from noetl.ports import Env, InvalidFields, ToolCall
from noetl_ir.expr import Json
from noetl_ir.kinds import limit_of, misfits
from noetl_ir.kinds.container import KIND
from noetl_ir.outcome import Outcome, error, ok
from noetl_ir.records import NamedTuple

ENVIRONMENT_BYTES = 60 * 1024  # a pipe holds this much without a reader
REMOVAL_SECONDS = 30.0
ENGINE_FAILED = 125  # the exit code of all three when no container came to run

_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._\-/:@]*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-]*")
_PROCESSORS = re.compile(r"(\d+)m|(\d+(?:\.\d+)?)")
_NETWORKS = ("none", "bridge")
_PULLS = ("missing", "always", "never")


class _Run(NamedTuple):
    """The command line for the engine: words after `run`, without those of the environment; its lines; a standard
    input.
    """

    options: list[str]
    words: list[str]
    environment: bytes
    stdin: bytes | None


async def run(call: ToolCall, env: Env) -> Outcome:
    """Run the image; the container is gone when this returns or is cancelled."""
    if wrong := misfits(KIND, call.fields):
        return error("fields.invalid", "; ".join(wrong))
    try:
        asked = _asked(call, env)
        engine = _engine(call.fields.get("runtime"))
    except FileRefused as problem:
        return error("file.refused", str(problem))
    except (InvalidFields, ValueError) as problem:
        return error("fields.invalid", str(problem))
    if engine is None:
        return error("container.engine", f"no container engine is installed: none of {', '.join(ENGINES)} is on PATH")
    seconds = limit_of(call.timeout if call.timeout is not None else call.fields.get("timeout_seconds"))
    try:
        ended = await _ended(engine, asked, call, ProcessLimits(seconds, output_limit(call.knobs), None), env)
    except TimeoutError:
        return error("timeout", f"the container took longer than {seconds:g} s")
    except (OSError, ValueError) as problem:
        return error("container.engine", f"{engine} cannot be started: {problem}")
    return _outcome(ended, os.path.basename(engine), env)


async def _ended(engine: str, asked: _Run, call: ToolCall, bounds: ProcessLimits, env: Env) -> Ended:
    """Run the container to its end, and leave none."""
    root = env.root()
    name = f"noetl-{sha256(f'{call.execution_id}/{call.action_id}'.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"
    # What an attempt of a killed worker left runs on under this name, and would refuse a second container of it.
    await _remove(engine, name, root)
    reader, writer = os.pipe()
    try:
        with open(writer, "wb") as pipe:
            # Written before the child reads, so it must fit into the pipe: `ENVIRONMENT_BYTES` sees to that.
            pipe.write(asked.environment)
        words = [engine, "run", "--rm", "--name", name, "--env-file", f"/dev/fd/{reader}", *asked.options, *asked.words]
        ended = await run_child(
            words,
            environ=child_environ({}),
            cwd=root,
            stdin=asked.stdin or b"",
            bounds=bounds,
            pass_fds=(reader,),
            hear=env.output,
        )
    except BaseException:  # the engine's client is dead now, and the container may not be
        # Shielded: a second cancellation would leave the container running with nobody who knows of it.
        await asyncio.shield(asyncio.ensure_future(_remove(engine, name, root)))
        raise
    finally:
        os.close(reader)
    return ended


async def _remove(engine: str, name: str, root: str) -> None:
    """Remove a container of this name if there is one."""
    with suppress(OSError, TimeoutError):  # then the next attempt removes it
        bounds = ProcessLimits(REMOVAL_SECONDS, 0, None)
        await run_child([engine, "rm", "--force", name], environ=child_environ({}), cwd=root, stdin=b"", bounds=bounds)


def _asked(call: ToolCall, env: Env) -> _Run:
    """The command line of a task. Raises InvalidFields, ValueError, FileRefused."""
    fields = call.fields
    image = str(fields["image"])
    if _IMAGE.fullmatch(image) is None:
        raise InvalidFields("image is no name of an image")
    stdin = None if fields.get("script") is None else script_text(env.root(), fields["script"], call.folder).encode()
    options = ["--security-opt", "no-new-privileges", *_limits(fields.get("resources"))]
    options += _where(fields.get("runtime")) + (["--interactive"] if stdin is not None else [])
    command, arguments = fields.get("command"), _words(fields.get("arguments") or [], "arguments")
    match command:
        case list():
            words = [*_words(command, "command"), *arguments]
        # A script without a command is read by the image's shell from standard input, so that no file of this machine
        # is mounted.
        case None if stdin is not None:
            words = ["/bin/sh", "-s", "--", *arguments]
        case None:
            words = arguments
        case _:
            words = ["/bin/sh", "-c", *_words([command], "command"), "sh", *arguments]
    return _Run(options, [image, *words], _lines({ACTION_ID: call.action_id, **variables_of(fields.get("env"))}), stdin)


def _words(value: Json, field: str) -> list[str]:
    if not isinstance(value, list) or any(isinstance(word, dict | list) or "\0" in str(word) for word in value):
        raise InvalidFields(f"{field} must be words")
    return [str(word) for word in value]


def _lines(variables: Mapping[str, str | None]) -> bytes:
    """The environment as the engines read it from a file: a line each, nothing quoted."""
    lines = []
    for name, value in variables.items():
        if _VARIABLE.fullmatch(name) is None:
            raise InvalidFields(f"the environment variable {name!r} cannot be set")
        # A line end would begin a variable of the value's own choice.
        if value is not None and ("\n" in value or "\r" in value):
            raise InvalidFields(f"the environment variable {name!r} has several lines, which the engines cannot take")
        if value is not None:
            lines.append(f"{name}={value}\n")
    data = "".join(lines).encode("utf-8", "surrogatepass")
    if len(data) > ENVIRONMENT_BYTES:
        raise InvalidFields(f"the environment has more than {ENVIRONMENT_BYTES} bytes")
    return data


def _limits(resources: Json) -> list[str]:
    """Options for the most processor and memory, and the memory that is kept for it."""
    if not isinstance(resources, dict):
        return []
    limits = resources.get("limits", resources)
    requests = resources.get("requests", {})
    if not isinstance(limits, dict) or not isinstance(requests, dict):
        raise InvalidFields("resources must be {cpu, memory}, or {limits, requests} with these")
    options = []
    if (cpu := limits.get("cpu")) is not None:
        found = _PROCESSORS.fullmatch(str(cpu))
        if found is None or not float(found[1] or found[2]):
            raise InvalidFields("resources: cpu must be a number of processors, or text like 500m")
        options += ["--cpus", f"{int(found[1]) / 1000:g}" if found[1] else found[2]]
    for name, wanted in (("--memory", limits), ("--memory-reservation", requests)):
        if (memory := wanted.get("memory")) is not None:
            if (count := bytes_of(memory)) is None:
                raise InvalidFields("resources: memory must be bytes or text like 512M")
            options += [name, str(count)]
    return options


def _where(runtime: Json) -> list[str]:
    """Options for the network and the image's origin."""
    if not isinstance(runtime, dict):
        return []
    if unknown := [name for name in runtime if name not in ("engine", "network", "pull")]:
        raise InvalidFields(f"runtime has no {unknown[0]!r}")
    options = []
    for name, values in (("network", _NETWORKS), ("pull", _PULLS)):
        if (value := runtime.get(name)) is not None:
            if value not in values:
                raise InvalidFields(f"runtime: {name} must be {' or '.join(values)}")
            options += [f"--{name}", str(value)]
    return options


def _engine(runtime: Json) -> str | None:
    """The path of the engine that is asked for, else of the first that is there; None when there is none."""
    wanted = runtime.get("engine") if isinstance(runtime, dict) else None
    if wanted is not None and wanted not in ENGINES:
        raise InvalidFields(f"runtime: engine must be {' or '.join(ENGINES)}")
    names = ENGINES if wanted is None else (str(wanted),)
    return next((path for name in names if (path := shutil.which(name)) is not None), None)


_ADVICE = ("Run '", "See '")
"""How the last line of an engine begins that says nothing of what is wrong."""


def _outcome(ended: Ended, engine: str, env: Env) -> Outcome:
    stdout, stderr = (data.decode("utf-8", "replace") for data in (ended.stdout, ended.stderr))
    if ended.cut:
        env.log("the output was longer than max_output_bytes; the rest was dropped")
    code = ended.exit_code
    extra: dict[str, Json] = {"engine": engine, "exit_code": code}
    said = [line for line in stderr.splitlines() if line.strip() and not line.startswith(_ADVICE)]
    last = said[-1].strip()[:500] if said else ""
    if code == ENGINE_FAILED or code < 0:
        why = last or (f"it was ended by signal {-code}" if code < 0 else "it does not say why")
        return error("container.engine", f"{engine} could not run the container: {why}", container=extra)
    result: dict[str, Json] = {"stdout": stdout, "stderr": stderr, "exit_code": code}
    if code == 0:
        return ok(result, container=extra)
    message = f"the container ended with exit code {code}{': ' if last else ''}{last}"
    return error("container.exit", message, result=result, container=extra)
