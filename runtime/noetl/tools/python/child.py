"""The subprocess: takes a request, runs its code, answers, and waits for the next one.

It ends when its socket closes, so that none outlives its worker while it waits. Importing it is part of every
start: nothing here imports what a plain run does not need.
"""

import builtins
import os
import sys
import time
from contextlib import suppress
from contextvars import copy_context
from types import TracebackType

from noetl.tools.python.frames import HEADER, READY, frame_of, message_of
from noetl.tools.python.program import BODY, FILE, compiled_code
from noetl.tools.python.scope import readable
from noetl.tools.python.traces import Traces, are_files_left, are_threads_left, roll_dice
from noetl.tools.python.values import UnfitResult, plain
from noetl_ir.expr import Json
from noetl_ir.registry import distribution_of, is_module, modules_of

_MISSING = object()


def main(channel: int) -> None:
    """Serve requests until the worker is gone."""
    # A program that the code starts would else keep the channel open, and could speak on it.
    os.set_inheritable(channel, False)
    streams = (sys.stdin, sys.stdout, sys.stderr)
    for stream in streams[1:]:
        stream.reconfigure(line_buffering=True, errors="backslashreplace")  # type: ignore[union-attr]
    # The words that started this process are ours, and code that reads its arguments would take them for its own.
    sys.argv = ["playbook"]
    _write(channel, READY)
    while (header := _read(channel, HEADER.size)) is not None:
        data = _read(channel, HEADER.unpack(header)[0])
        if data is None:
            break
        request = message_of(data)
        response = _respond(request)
        # The code may have replaced them, and what it printed last would stay in a buffer that nobody empties.
        sys.stdin, sys.stdout, sys.stderr = streams
        _flush()
        _write(channel, _frame(response, int(str(request["max_result_bytes"]))))


def _respond(request: dict[str, Json]) -> dict[str, Json]:
    """The response to one request: `result` or `error`, and `spent` when this process is used up."""
    environ, path = dict(os.environ), list(sys.path)
    before = Traces()
    roll_dice()
    try:
        os.chdir(str(request["cwd"]))
        environment = request["environ"]
        assert isinstance(environment, dict)
        os.environ.update({name: str(value) for name, value in environment.items()})
        _limit_memory(int(str(request["memory"])))
        # In a context of its own: that of `decimal` and the code's own variables end with it.
        response: dict[str, Json] = {"result": copy_context().run(lambda: plain(_run(request)))}
    except UnfitResult as problem:
        response = {"error": {"code": "result.type", "message": str(problem)}}
    except RecursionError as problem:
        response = {"error": _raised(problem)}
    except BaseException as problem:  # SystemExit and KeyboardInterrupt are the code's doing too
        response = {"error": _raised(problem)}
        if isinstance(problem, MemoryError):
            response["spent"] = True
    if before.are_left():
        response["spent"] = True
    # The limit is the task's. Packing the response has to work also where the code has used all of it.
    _limit_memory(None)
    if _left_something():
        response["spent"] = True
    os.environ.clear()
    os.environ.update(environ)
    if hasattr(time, "tzset"):
        time.tzset()  # the C library keeps the zone that it read last
    sys.path[:] = path
    return response


def _run(request: dict[str, Json]) -> object:
    """The value that the code gives: `result`, else what it returns, else what `main` returns."""
    code, args = str(request["code"]), request["args"]
    assert isinstance(args, dict)
    program = compiled_code(code)
    known = _known(request, args)
    names: dict[str, object] = {"__name__": "playbook", "__file__": FILE}
    _import(request["modules"], names)
    names |= known | args
    names["__builtins__"] = vars(builtins)
    if "result" in args:  # it is to be read, and tells nothing of what the code assigns
        names["__builtins__"] = vars(builtins) | {"result": names.pop("result")}
    _import(request["libs"], names)
    exec(program, names)
    returned: object = _MISSING
    if callable(body := names.get(BODY)):
        returned = body()
    result = names.get("result", _MISSING)
    if result is not _MISSING:
        return _awaited(result)
    if returned is not _MISSING:
        return _awaited(returned)
    main = names.get("main")
    return _awaited(_call(main, args, known, request["given"])) if callable(main) else None


def _known(request: dict[str, Json], args: dict[str, Json]) -> dict[str, object]:
    """The names of ours that the code reads: the playbook's state, all args under each name for them, items, `auth`."""
    state, items, inputs = request["state"], request["items"], request["inputs"]
    assert isinstance(state, dict) and isinstance(items, dict) and isinstance(inputs, list)
    known: dict[str, object] = {name: readable(name, value) for name, value in state.items()}
    if request["auth"] is not None:
        known["auth"] = request["auth"]
    every = dict(args)  # one mapping under all its names, and not the globals themselves
    known.update((str(name), every) for name in inputs)
    return known | items


def _call(main: object, args: dict[str, Json], known: dict[str, object], fields: Json) -> object:
    """Call `main` with args by name, else with names of ours and of `context`, else with its defaults.

    Raises TypeError, which names the argument that is nowhere.
    """
    from inspect import Parameter, signature

    assert callable(main) and isinstance(fields, dict)
    words: dict[str, object] = {}
    first: list[object] = []
    rest = dict(args)
    for name, parameter in signature(main).parameters.items():
        if parameter.kind is Parameter.VAR_KEYWORD:
            words.update(rest)
        elif parameter.kind is not Parameter.VAR_POSITIONAL:
            value = next((each[name] for each in (rest, known, fields) if name in each), parameter.default)
            rest.pop(name, None)
            if value is Parameter.empty:
                raise TypeError(f"main() lacks the argument `{name}`: no arg and no name of `context` is called so")
            if parameter.kind is Parameter.POSITIONAL_ONLY:
                first.append(value)
            else:
                words[name] = value
    return main(*first, **words)


def _awaited(value: object) -> object:
    """The value of a coroutine, run to its end; any other value as it is."""
    if not hasattr(value, "__await__"):
        return value
    import asyncio

    async def wait() -> object:
        return await value

    return asyncio.run(wait())


class NotInstalled(ModuleNotFoundError):
    """`libs` names something that is not there."""


def _import(libs: Json, names: dict[str, object]) -> None:
    """Bind `libs`: alias to module or to `{from, import}`; a list of modules, or of such mappings.

    A name may be that of a distribution too, whose modules are meant then. Raises NotInstalled.
    """
    listed = [(None, lib) for lib in libs] if isinstance(libs, list) else []
    entries = list(libs.items()) if isinstance(libs, dict) else listed
    for key, lib in entries:
        source = lib.get("from") if isinstance(lib, dict) else None
        wanted = lib.get("import") if isinstance(lib, dict) else lib
        alias = lib.get("as", key) if isinstance(lib, dict) else key
        if not isinstance(wanted, str) or (alias is not None and not str(alias).isidentifier()):
            raise ValueError(f"libs has an entry that names no module: {lib!r}")
        if source is not None and not (is_module(str(source)) and wanted.isidentifier()):
            raise ValueError(f"libs has an entry that names no module: {lib!r}")
        if source is not None:
            _execute(f"from {source} import {wanted}", alias, names)
        else:
            _import_named(wanted, alias, names)


def _import_named(name: str, alias: object, names: dict[str, object]) -> None:
    """Import a module, else the modules of the distribution of that name, the first alone where there is an alias."""
    if is_module(name):
        try:
            _execute(f"import {name}", alias, names)
        except ModuleNotFoundError as problem:
            missing = problem.name is not None and f"{name}.".startswith(f"{problem.name}.")
            if not missing or not modules_of(name):
                raise
        else:
            return
    elif not distribution_of(name):
        raise ValueError(f"libs has an entry that names no module: {name!r}")
    found = modules_of(name)
    if not found:
        raise NotInstalled(f"libs names the distribution {name!r}, which is not installed where this worker runs")
    for module in found[: 1 if alias else None]:
        _execute(f"import {module}", alias, names)


def _execute(statement: str, alias: object, names: dict[str, object]) -> None:
    exec(compile(f"{statement} as {alias}" if alias else statement, "<libs>", "exec"), names)


def _raised(problem: BaseException) -> dict[str, Json]:
    """An exception as an error: its message is the code's own and may hold any text."""
    kind = ModuleNotFoundError if isinstance(problem, NotInstalled) else type(problem)
    name = (
        kind.__qualname__ if kind.__module__ in ("builtins", "playbook") else f"{kind.__module__}.{kind.__qualname__}"
    )
    try:
        message = str(problem) or name
    except Exception:
        message = name
    if isinstance(problem, SyntaxError) and problem.filename == FILE:
        return {"code": "python.syntax", "message": message, "type": name, "line": problem.lineno}
    line, in_libs = _line(problem.__traceback__)
    missing = isinstance(problem, NotInstalled) or (in_libs and isinstance(problem, ImportError))
    code = "python.import" if missing else "python.exception"
    return {"code": code, "message": message, "type": name, "line": line}


def _line(trace: TracebackType | None) -> tuple[int | None, bool]:
    """The last line of the playbook's code that an exception passed, and whether it came from `libs`."""
    line, in_libs = None, False
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if file == FILE:
            line = trace.tb_lineno
        in_libs = in_libs or file == "<libs>"
        trace = trace.tb_next
    return line, in_libs


def _left_something() -> bool:
    """Whether the code left threads or children that go on without it, or too many open files."""
    if are_threads_left() or are_files_left():
        return True
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def _limit_memory(size: int | None) -> None:
    """Bound the address space; None for what the system allows."""
    try:
        import resource
    except ImportError:  # not on this system
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    soft = hard if size is None else size if hard == resource.RLIM_INFINITY else min(size, hard)
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # closed by the code: its prints are lost, its response is not
            stream.flush()


def _frame(response: dict[str, Json], most: int) -> bytes:
    frame = frame_of(response)
    if len(frame) - HEADER.size <= most:
        return frame
    message = f"the result has more than {most} bytes"
    return frame_of({"error": {"code": "result.size", "message": message}, "spent": response.get("spent", False)})


def _read(channel: int, size: int) -> bytes | None:
    """Exactly `size` bytes, or None when the worker is gone."""
    parts = bytearray()
    while len(parts) < size:
        chunk = os.read(channel, min(size - len(parts), 1 << 20))
        if not chunk:
            return None
        parts += chunk
    return bytes(parts)


def _write(channel: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(channel, view) :]
