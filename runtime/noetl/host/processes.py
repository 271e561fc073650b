"""Child processes that never outlive their reason: at an end, a timeout, a cancellation or our own death.

Every child leads a process group of its own, and the whole group is killed with it. When this process
itself is killed with signal 9, a watchdog kills them: a small shell that holds the other end of a pipe, is
told the groups that live, and ends them when the pipe closes. A child starts its program only after the
watchdog knows it. A descendant that opens a session of its own leaves the group and is not followed.

asyncio is imported where it is used: who compiles needs the environment of a child alone, and starts without it.
"""

import atexit
import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TypeAlias

from noetl_ir.records import NamedTuple

_WATCHDOG = """
while read -r sign group; do
  case $sign in
    +) groups="$groups $group" ;;
    -) kept=; for g in $groups; do [ "$g" = "$group" ] || kept="$kept $g"; done; groups=$kept ;;
  esac
done
for g in $groups; do kill -s KILL -- "-$g" 2>/dev/null; done
"""
_GATE = 'read -r _ || exit 125; [ -z "$0" ] || ulimit -v "$0" || exit 125; exec "$@"'
"""The prelude of a child: wait for a line, limit memory (`$0`, in KiB or empty), become the program."""

_PRIVATE = ("NOETL_", "PG")
"""How the variables begin that are the engine's own: tokens, the URL of the store with its password, libpq's."""

ACTION_ID = "NOETL_ACTION_ID"
"""The variable that tells a program of a task the task's `action_id`, unless its `env` says something else."""


Hear: TypeAlias = Callable[[str, bytes], None]
"""Hears what a program writes to `stdout` or `stderr`, and nothing when that has ended."""


class ProcessLimits(NamedTuple):
    """Limits of a child: `seconds`, bytes of each output, bytes of address space; None for none."""

    seconds: float | None
    output: int
    memory: int | None


class Ended(NamedTuple):
    """How a child ended. `exit_code` is negative for a signal; `cut` tells of output over the bound."""

    exit_code: int
    stdout: bytes
    stderr: bytes
    cut: bool


async def run_child(
    words: Sequence[str],
    *,
    environ: Mapping[str, str],
    cwd: str,
    stdin: bytes,
    bounds: ProcessLimits,
    pass_fds: Sequence[int] = (),
    hear: Hear = lambda stream, data: None,
) -> Ended:
    """Run a program to its end, `stdin` on its standard input; whatever it left running is killed with it.

    `hear` is called with what it writes, whatever the bound of that is, as it comes.
    Raises TimeoutError when the time is over and OSError when the program cannot be started. On these and on
    cancellation the group is gone before the exception leaves.
    """
    import asyncio

    limit = "" if bounds.memory is None else str(max(1, bounds.memory // 1024))
    # The gate's shell sets the memory limit and becomes the program, so that nothing of Python runs between fork and
    # exec.
    gate = ("/bin/sh", "-c", _GATE, limit, *words)
    with started_child(gate, environ=environ, cwd=cwd, pass_fds=pass_fds) as child:
        async with asyncio.timeout(bounds.seconds):
            return await _converse(child, b"\n" + stdin, bounds.output, hear)


@contextmanager
def started_child(
    words: Sequence[str], *, environ: Mapping[str, str], cwd: str, pass_fds: Sequence[int] = ()
) -> Iterator["subprocess.Popen[bytes]"]:
    """A child with pipes for its standard streams, watched and killed with its group on leaving."""
    child = start(words, environ=environ, cwd=cwd, pass_fds=pass_fds)
    try:
        yield child
    finally:
        end_child(child)


def start(
    words: Sequence[str], *, environ: Mapping[str, str], cwd: str, pass_fds: Sequence[int] = ()
) -> "subprocess.Popen[bytes]":
    """Start a child in a group of its own and tell the watchdog. The caller must `end` it."""
    pipe = subprocess.PIPE
    # A session of its own, so that one kill reaches all that the program starts, and Ctrl-C in a terminal does not
    # reach it before us.
    child = subprocess.Popen(
        words, stdin=pipe, stdout=pipe, stderr=pipe, env=dict(environ), cwd=cwd, pass_fds=pass_fds,
        start_new_session=True,
    )  # fmt: skip
    # In `run_child` the gate holds the program back until a line comes (`_converse`), so no crash of ours lies
    # between the first effect and the watchdog.
    _watchdog.tell("+", child.pid)
    return child


def end_child(child: "subprocess.Popen[bytes]") -> None:
    """Kill a child with its whole group, reap it and close its pipes."""
    if child.returncode is None:
        kill_group(child)
        _watchdog.tell("-", child.pid)  # before reaping: the number may be another process's afterwards
        child.wait()
    for stream in (child.stdin, child.stdout, child.stderr):
        if stream is not None:
            with suppress(OSError):
                stream.close()


def kill_group(child: "subprocess.Popen[bytes]") -> None:
    """Kill all that is left of the group of a child that is not reaped yet."""
    # The group may be gone already; macOS says EPERM for one of which only zombies are left.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)


def has_ended(child: "subprocess.Popen[bytes]") -> bool:
    """Whether a child has ended, without reaping it."""
    if child.returncode is not None:
        return True
    return os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None


def child_environ(extra: Mapping[str, str | None]) -> dict[str, str]:
    """This process's environment without what is the engine's own, with `extra` over it; None removes a variable."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_PRIVATE)}
    return {name: value for name, value in {**kept, **extra}.items() if value is not None}


def bytes_of(size: object) -> int | None:
    """A size in bytes from a number or text like `512M`, `2G`, `64 KiB`; None where it is none."""
    if isinstance(size, int) and not isinstance(size, bool):
        return size if size > 0 else None
    if isinstance(size, str):
        number, unit = size.strip().upper().removesuffix("B").removesuffix("I"), 1
        for power, letter in enumerate("KMGT", start=1):
            if number.endswith(letter):
                number, unit = number[:-1], 1024**power
        if number.strip().isascii() and number.strip().isdigit():
            return int(number) * unit or None
    return None


async def exited(child: "subprocess.Popen[bytes]") -> int:
    """Wait for a child's end without a thread and without reaping it; returns its exit code."""
    import asyncio

    # A thread for each child that waits would be a thread for each slot, and a handler of SIGCHLD belongs to the
    # whole process.
    if hasattr(os, "pidfd_open"):
        handle = os.pidfd_open(child.pid)
        try:
            loop = asyncio.get_running_loop()
            await _ready(handle, loop.add_reader, loop.remove_reader)
        finally:
            os.close(handle)
    while True:
        found = os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
        if found is not None:
            # Not reaped yet (WNOWAIT): its number, and with it the group, stays its own until all of it is killed.
            return found.si_status if found.si_code == os.CLD_EXITED else -found.si_status
        await asyncio.sleep(0.005)  # where the system cannot tell: ask again


async def _converse(child: "subprocess.Popen[bytes]", stdin: bytes, limit: int, hear: Hear) -> Ended:
    """Feed and drain a child until it ended, then kill what is left of its group and read the rest."""
    import asyncio

    assert child.stdin and child.stdout and child.stderr
    out = _Sink(child.stdout.fileno(), limit, partial(hear, "stdout"))
    err = _Sink(child.stderr.fileno(), limit, partial(hear, "stderr"))
    feeding = asyncio.ensure_future(_feed(child.stdin.fileno(), stdin, child.stdin.close))
    try:
        exit_code = await exited(child)
        # The program has ended, but what it left in the background has its pipes open and may still write: that ends
        # too.
        kill_group(child)
    finally:
        feeding.cancel()
        out.finish()
        err.finish()
    return Ended(exit_code, bytes(out.kept), bytes(err.kept), out.cut or err.cut)


class _Sink:
    """Reads a pipe as data comes and keeps what is under the limit."""

    def __init__(self, descriptor: int, limit: int, hear: Callable[[bytes], None]) -> None:
        import asyncio

        self._hear = hear
        self.kept = bytearray()
        self.cut = False
        self._descriptor = descriptor
        self._limit = limit
        os.set_blocking(descriptor, False)
        asyncio.get_running_loop().add_reader(descriptor, self._read)

    def _read(self) -> bool:
        """Take one chunk; whether there may be more."""
        import asyncio

        try:
            chunk = os.read(self._descriptor, 1 << 16)
        except BlockingIOError:
            return False
        room = self._limit - len(self.kept)
        # What is over the limit is read all the same, and dropped: a program whose pipe is full would stop and never
        # end.
        self.kept += chunk[:room]
        self.cut = self.cut or len(chunk) > room
        if chunk:
            self._hear(chunk)
        else:
            asyncio.get_running_loop().remove_reader(self._descriptor)
        return bool(chunk)

    def finish(self) -> None:
        """Take what is in the pipe now and stop reading: nobody who holds its other end is waited for."""
        import asyncio

        asyncio.get_running_loop().remove_reader(self._descriptor)
        for _ in range(64):  # a pipe holds less than this; a writer that fled the group could go on for ever
            if not self._read():
                break
        self._hear(b"")


async def _feed(descriptor: int, data: bytes, close: Callable[[], None]) -> None:
    """Write all of `data` into a pipe, then close it; a reader that is gone is no error."""
    import asyncio

    os.set_blocking(descriptor, False)
    view = memoryview(data)
    # A program may end, or close its input, without reading all of it (`head`).
    with suppress(BrokenPipeError):
        while view:
            try:
                view = view[os.write(descriptor, view) :]
            except BlockingIOError:
                loop = asyncio.get_running_loop()
                await _ready(descriptor, loop.add_writer, loop.remove_writer)
        close()


async def _ready(
    descriptor: int, add: Callable[[int, Callable[[], None]], None], remove: Callable[[int], bool]
) -> None:
    """Wait until the loop finds a descriptor ready, by its `add_…` and `remove_…`."""
    import asyncio

    ready = asyncio.Event()
    add(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        remove(descriptor)


class _Watchdog:
    """The one watchdog of this process, started with its first child and started again if it is gone."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0
        self._groups: set[int] = set()

    def tell(self, sign: str, group: int) -> None:
        """Say that a group lives (`+`) or is done with (`-`)."""
        if self._owner != os.getpid():  # after a fork the pipe is our parent's
            if self._process is not None:
                self._process.returncode = 0  # not ours to wait for
            self._process, self._owner, self._groups = None, os.getpid(), set()
        (self._groups.add if sign == "+" else self._groups.discard)(group)
        # The watchdog may have been killed by somebody who tidied up. A new one is told of all groups that live.
        if self._process is None or not self._write(f"{sign} {group}\n"):
            self._start()

    def close(self) -> None:
        """End it, with what it still guards. One whose pipe a process that we forked holds too ends with that one."""
        if self._process is None or self._owner != os.getpid() or self._process.stdin is None:
            return
        self._process.stdin.close()
        try:
            self._process.wait(1)
        except subprocess.TimeoutExpired:
            self._process.returncode = 0  # not waited for

    def _write(self, text: str) -> bool:
        assert self._process is not None and self._process.stdin is not None
        try:
            os.write(self._process.stdin.fileno(), text.encode())
        except BrokenPipeError:
            return False
        return True

    def _start(self) -> None:
        if self._process is not None:
            self._process.wait()
        self._process = subprocess.Popen(
            ("/bin/sh", "-c", _WATCHDOG), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            # In a session of its own, so that a signal to our group leaves it alive; in `/`, so that it keeps no disk
            # from being unmounted.
            stderr=subprocess.DEVNULL, start_new_session=True, cwd="/", env=child_environ({}),
        )  # fmt: skip
        self._write("".join(f"+ {group}\n" for group in sorted(self._groups)))


_watchdog = _Watchdog()
atexit.register(_watchdog.close)
