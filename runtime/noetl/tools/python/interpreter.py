"""A warm python subprocess: one request at a time over a socket, and what it prints as it comes."""

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress

from noetl.host.processes import Hear, child_environ, end_child, has_ended, start
from noetl.tools.python.frames import HEADER, READY, message_of
from noetl_ir.expr import Json

_START = (
    "import sys; sys.path[:] = sys.argv[2].split(sys.argv[3]); "
    "from noetl.tools.python.child import main; main(int(sys.argv[1]))"
)
_FLAGS = ("-S", "-E", "-s", "-P", "-X", "utf8")
"""No site module, whose work our own search path makes needless: half of what a start costs."""


class Died(Exception):
    """The subprocess ended without a response; the text says how, and `by_signal` that it did not end by itself."""

    def __init__(self, text: str, *, by_signal: bool) -> None:
        super().__init__(text)
        self.by_signal = by_signal


class Interpreter:
    """One warm subprocess: requests go over a socket, prints come over its standard output and error.

    `ready` tells whether it has said that it can run code; what it is asked before that waits for it. `packages` is a
    folder whose packages it finds before those of this process.
    """

    def __init__(self, packages: str = "") -> None:
        self.ready = False
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        # Without the empty entry, which is the folder of the process: a file there could stand in for any module.
        path = os.pathsep.join(entry for entry in (packages, *sys.path) if entry)
        words = (sys.executable, *_FLAGS, "-c", _START, str(theirs.fileno()), path, os.pathsep)
        try:
            self._process = start(words, environ=child_environ({}), cwd="/", pass_fds=(theirs.fileno(),))
        finally:
            # Only the child holds the other end then: when it dies, reading here ends, instead of waiting for ever.
            theirs.close()
        self._socket = ours
        if self._process.stdin is not None:
            self._process.stdin.close()  # code that asks for input gets its end at once
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                os.set_blocking(stream.fileno(), False)

    def is_alive(self) -> bool:
        """Whether it can still take a request."""
        return not has_ended(self._process)

    async def ask(self, frame: bytes, hear: Hear, at_ready: Callable[[], None]) -> dict[str, Json]:
        """Send a request and wait for its response; `at_ready` is called when a fresh one says that it can run code.

        Raises EOFError or ConnectionError when it ends instead.
        """
        loop = asyncio.get_running_loop()
        printing = _Printing(self._process, hear)
        try:
            await loop.sock_sendall(self._socket, frame)
            if not self.ready:
                await self._receive(len(READY))
                self.ready = True
                at_ready()
            (size,) = HEADER.unpack(await self._receive(HEADER.size))
            return message_of(await self._receive(size))
        finally:
            printing.finish()

    async def _receive(self, size: int) -> bytes:
        data = bytearray(size)
        view = memoryview(data)
        while view:
            count = await asyncio.get_running_loop().sock_recv_into(self._socket, view)
            if not count:
                raise EOFError
            view = view[count:]
        return bytes(data)

    def kill(self) -> None:
        """End it with everything it started."""
        self._socket.close()
        end_child(self._process)

    def death(self) -> Died:
        """How it ended, once it is killed or dead."""
        code = self._process.returncode
        how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
        return Died(f"the python subprocess {how} before the code was done", by_signal=code < 0)


class _Printing:
    """Passes on what a subprocess prints, as it comes."""

    def __init__(self, process: "subprocess.Popen[bytes]", hear: Hear) -> None:
        assert process.stdout is not None and process.stderr is not None
        self._names = {process.stdout.fileno(): "stdout", process.stderr.fileno(): "stderr"}
        self._hear = hear
        for descriptor in self._names:
            asyncio.get_running_loop().add_reader(descriptor, self._read, descriptor)

    def finish(self) -> None:
        """Take what was printed so far and stop reading."""
        for descriptor, name in self._names.items():
            asyncio.get_running_loop().remove_reader(descriptor)
            # A pipe holds less than that. A process that the code left running may write on without an end.
            for _ in range(64):
                if not self._read(descriptor):
                    break
            self._hear(name, b"")

    def _read(self, descriptor: int) -> bool:
        """Take one chunk; whether there may be more."""
        try:
            chunk = os.read(descriptor, 1 << 16)
        except OSError:  # nothing there now, or closed with the subprocess
            return False
        if not chunk:
            with suppress(OSError, ValueError):
                asyncio.get_running_loop().remove_reader(descriptor)
            return False
        self._hear(self._names[descriptor], chunk)
        return True
