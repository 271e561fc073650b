"""Work shared out among processes: copies of this one, each with every n-th piece, whose records come over pipes.

Copies, since all that they need is here already: a plan that is read, modules that are imported. A record is JSON and
nothing else.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Any

from noetl.tools.python.pool import close
from noetl_ir.expr import Json

_Work = Callable[[int], Json]
"""Does the piece of a number, and gives its record."""


def shared_out(pieces: list[int], processes: int, work: _Work) -> Iterator[tuple[int, Any]]:
    """The number and the record of each piece, as they come. A piece whose process ended before is missing.

    With one process, or where a process cannot be copied, all is done here.
    """
    if processes <= 1 or len(pieces) <= 1 or not hasattr(os, "fork"):
        for piece in pieces:
            yield piece, work(piece)
        return
    # What is buffered would be written by each copy once more.
    sys.stdout.flush()
    sys.stderr.flush()
    children: list[int] = []
    with selectors.DefaultSelector() as selector:
        try:
            for number in range(min(processes, len(pieces))):
                ours, theirs = os.pipe()
                child = os.fork()
                if child == 0:
                    # Where all who read are gone, a write fails, and this process ends: itself it must not be one.
                    for reader in (ours, *(key.fd for key in selector.get_map().values())):
                        os.close(reader)
                    _work_off(theirs, pieces[number::processes], work)
                os.close(theirs)
                children.append(child)
                selector.register(ours, selectors.EVENT_READ, bytearray())
            while selector.get_map():
                for key, _ in selector.select():
                    data = os.read(key.fd, 1 << 16)
                    if not data:
                        selector.unregister(key.fd)
                        os.close(key.fd)
                        continue
                    key.data.extend(data)
                    *lines, rest = bytes(key.data).split(b"\n")
                    key.data[:] = rest
                    for line in lines:
                        piece, record = json.loads(line)
                        yield piece, record
        finally:
            for child in children:
                if selector.get_map():  # somebody stopped reading before the end
                    os.kill(child, signal.SIGTERM)
                os.waitpid(child, 0)


def _work_off(pipe: int, pieces: list[int], work: _Work) -> None:
    """Do the pieces in a copy of the process, and end it."""
    code = 1
    try:
        with os.fdopen(pipe, "wb") as out:
            for piece in pieces:
                out.write(json.dumps([piece, work(piece)]).encode() + b"\n")
                out.flush()
        code = 0
    finally:
        close()  # the interpreters of python tasks
        # Not `sys.exit`: what our caller has open is the other process's to close.
        os._exit(code)
