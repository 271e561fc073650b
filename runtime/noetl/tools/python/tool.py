"""From a task's fields to a request for the subprocess, and from its response to an outcome.

Error codes: `python.exception` (the code raised `error.type`; `error.line` is the line in it), `python.syntax`,
`python.import` (a lib is missing), `python.died` (retryable where a signal ended the subprocess), `result.type`,
`result.size`, `timeout`, `fields.invalid`, `file.refused`, `credential.missing`,
`python.requirements` (packages cannot be installed), `requirements.refused` (the operator does not allow it).
Code runs in the worker's root.
"""

import builtins
import os
from base64 import b64decode
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial

from noetl.clients.auth import name_in
from noetl.host.confined_files import FileRefused, script_text
from noetl.host.processes import ACTION_ID, bytes_of
from noetl.ports import Env, ToolCall
from noetl.tools.python.interpreter import Died
from noetl.tools.python.pool import pool_of
from noetl_ir.expr import Json
from noetl_ir.kinds import limit_of, misfits
from noetl_ir.kinds.python import KIND
from noetl_ir.outcome import Outcome, error, ok
from noetl_ir.python_names import CONTEXT, INPUTS, MODULES, STATE, python_reads
from noetl_ir.requirements import MOST, is_requirement
from noetl_ir.scopes.values import Fault

MEMORY = 4 * 1024**3
RESULT_BYTES = 64 * 1024**2


async def run_code(call: ToolCall, env: Env) -> Outcome:
    """Run the code of one attempt; its prints are the task's output."""
    if wrong := misfits(KIND, call.fields):
        return error("fields.invalid", "; ".join(wrong))
    try:
        request = await _request(call, env)
    except FileRefused as problem:
        return error("file.refused", str(problem))
    except Fault as problem:  # a stored result or a secret that is gone
        return error(problem.code, problem.message)
    except KeyError as problem:
        return error("credential.missing", str(problem.args[0] if problem.args else problem))
    except ValueError as problem:
        return error("fields.invalid", str(problem))
    limit = limit_of(call.timeout)
    packages = await _packages(call.fields.get("requirements"), env)
    if isinstance(packages, Outcome):
        return packages
    try:
        response = await pool_of(packages).ask(request, partial(env.output, told=True), limit)
    except TimeoutError:
        return error("timeout", f"the code took longer than {limit:g} s")
    except Died as problem:
        # A signal is mostly the system's, for want of memory, and may not come again. Code that calls `os._exit` does
        # so each time.
        return error("python.died", str(problem), retryable=problem.by_signal)
    return _outcome(response)


async def _packages(requirements: Json, env: Env) -> str | Outcome:
    """The folder with the packages of a task, empty where it asks for none; else why there is none.

    The time that the task allows is for its code: how long an installation takes is not the author's to know.
    """
    wanted = requirements if isinstance(requirements, list) else []
    if not wanted:
        return ""
    texts = [str(text) for text in wanted]
    if len(texts) > MOST:
        return error("fields.invalid", f"there are {len(texts)} requirements, and at most {MOST} may be")
    for text in texts:
        if not is_requirement(text):
            return error("fields.invalid", f"`{text[:100]}` is no requirement: write a package's name and version")
    if not env.may_install():
        return error("requirements.refused", "the operator does not allow `requirements` here (--allow-requirements)")
    # Few tasks ask for packages, and every process that runs python starts here.
    from noetl.host.python_environments import PackagesUnavailable, packages_of

    try:
        return await packages_of(texts, env.log)
    except PackagesUnavailable as problem:
        message = f"the requirements {', '.join(texts)[:300]} cannot be installed: {problem}"
        return error("python.requirements", message, retryable=problem.retryable)


async def _request(call: ToolCall, env: Env) -> dict[str, Json]:
    """Everything that the subprocess is told. Raises FileRefused, KeyError, ValueError."""
    code = _code(call, env)
    memory = call.knobs.get("memory")
    size = MEMORY if memory is None else bytes_of(memory)
    if size is None:
        raise ValueError("memory must be bytes or text like 512M")
    most = call.knobs.get("max_result_bytes")
    auth = await _auth(call.fields.get("auth"), env)
    return {
        "code": code,
        "args": call.args,
        **await env.met(lambda: _names(code, call)),
        "auth": auth,
        "libs": call.fields.get("libs"),
        "memory": size,
        "max_result_bytes": most if isinstance(most, int) and not isinstance(most, bool) else RESULT_BYTES,
        "environ": {ACTION_ID: call.action_id},
        "cwd": os.path.abspath(env.root()),  # the subprocess is started elsewhere
    }


def _names(code: str, call: ToolCall) -> dict[str, Json]:
    """The names that the code may read beside its args: only what it names, and nothing that has the name of an arg.

    `state` and the `items` of loops are globals, `given` what parameters of `main` ask for of `context`, `inputs` and
    `modules` names alone.
    """
    # Values are sent over a socket, and a name may mean a result of many megabytes: only what the code mentions is
    # fetched.
    reads, args, scope = python_reads(code), call.args, call.scope
    items = _found({name for name in call.iterators if name in code and _is_free(name)} - args.keys(), args, scope)
    free = reads.words - args.keys() - items.keys()
    state: dict[str, Json] = {name: scope.get(name) for name in STATE if name in free}
    if CONTEXT in free:
        state[CONTEXT] = _found([*scope, *args] if reads.keys is None else reads.keys, args, scope)
    asked = reads.parameters - args.keys() - {*INPUTS, *STATE, CONTEXT} - items.keys()
    return {
        "state": state,
        "items": items,
        "given": _found(asked, args, scope),
        "inputs": [name for name in INPUTS if name in free],
        "modules": [name for name in MODULES if name in free],
    }


def _is_free(name: str) -> bool:
    """Whether a name is not Python's own, but for those that mean something else here anyhow."""
    return not hasattr(builtins, name) or name in INPUTS


def _found(names: Iterable[str], args: dict[str, Json], scope: Mapping[str, Json]) -> dict[str, Json]:
    """The names that mean something, with what they mean."""
    found: dict[str, Json] = {}
    for name in names:
        # A word in the code need not be a name of the playbook: it may be a variable of the code, or stand in a text.
        with suppress(KeyError):
            found[name] = args[name] if name in args else scope[name]
    return found


def _code(call: ToolCall, env: Env) -> str:
    if call.fields.get("script") is not None:
        return script_text(env.root(), call.fields["script"], call.folder)
    encoded = call.fields.get("code_b64")
    if encoded is None:
        return str(call.fields["code"])
    try:
        return b64decode(str(encoded), validate=True).decode("utf-8")
    except ValueError:
        raise ValueError("code_b64 is not base64 of UTF-8 text") from None


async def _auth(auth: Json, env: Env) -> Json:
    """The fields of the named credential, or of each of several by their alias; None where none is named."""
    match auth:
        case str():
            return await env.credential(auth)
        case dict():
            return {alias: await env.credential(name_in(name) or str(name)) for alias, name in auth.items()}
    return None


def _outcome(response: dict[str, Json]) -> Outcome:
    problem = response.get("error")
    if not isinstance(problem, dict):
        return ok(response.get("result"))
    outcome = error(str(problem["code"]), str(problem["message"]))
    if (raised := problem.get("type")) is not None:
        outcome.extras["py"] = {"exception_type": raised}
        outcome = outcome.with_detail(type=raised)
    return outcome.with_detail(line=problem["line"]) if problem.get("line") is not None else outcome
