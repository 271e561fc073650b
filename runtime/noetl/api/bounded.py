"""HTTP on a connection that may not dally: uvicorn's protocol, with the limits of a `Book`."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from noetl.api.connections import Book

LATE = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
REFUSED = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
SWEEP_EVERY = 1.0


class BoundedProtocol(H11Protocol):
    """A connection in `book`, a class attribute that a class of one server sets (`protocol_in`)."""

    book: Book
    sweeper: _Sweeper

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        # Counted before TLS stands: nobody knows yet whose it is, but a handshake costs more than any request.
        self._number = self.book.arrive()
        self._is_in = False
        self._works = False
        self._since = self._heard = 0.0
        self._received = 0
        self._stalled: float | None = None
        self._closing: float | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, or refuse, where there are too many."""
        self.book.arrived(self._number)
        self._since = self.book.now()
        peer = transport.get_extra_info("peername")
        self._is_in = self.book.enter(self, str(peer[0]) if peer else "")
        if not self._is_in:
            # A refusal that says when to come again is better than a closed connection, which clients take for a
            # broken server.
            transport.write(REFUSED)
            transport.close()
            return
        self.sweeper.begin_sweeping(self.loop)
        super().connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Let the place of a request that is over go to another one."""
        self.book.leave(self)
        if self._is_in:
            super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Some of a request."""
        # What comes after the refusal, or after the time was over, is not even parsed.
        if not self._is_in or self.transport.is_closing():
            return
        super().data_received(data)
        self._begin_request()
        self._heard = self.book.now()
        self._received += len(data)

    def on_response_complete(self) -> None:
        """The connection waits for the next request, if that is not here already."""
        self._works = False
        self._since, self._received = self.book.now(), 0
        self.book.wait(self)
        super().on_response_complete()
        self._begin_request()

    def pause_writing(self) -> None:
        """Who is answered does not take what is sent as it comes."""
        self._stalled = self.book.now()
        self.flow.pause_writing()

    def resume_writing(self) -> None:
        """Some of it was taken."""
        self._stalled = None
        self.flow.resume_writing()

    def check(self, now: float) -> None:
        bounds = self.book.bounds
        if self.transport.is_closing():
            self._closing = now if self._closing is None else self._closing
            # A closed transport still waits for its client to take what is buffered; who takes nothing would hold the
            # place for ever.
            if now - self._closing > bounds.head:
                self.transport.abort()
        elif self._stalled is not None and now - self._stalled > bounds.stall:
            self.transport.abort()
        elif not self._works:
            if now - self._since > bounds.head:
                self._end_late()
        # Where reading is paused, it is the handler that does not take more: that is not the client's fault.
        elif self.cycle.more_body and not self.flow.read_paused:
            took = now - self._since
            # The pause alone is no limit: a byte every 14 seconds would hold a connection for weeks (slowloris).
            is_slow = took > bounds.grace and self._received < took * bounds.rate
            if is_slow or now - max(self._heard, self._since) > bounds.pause:
                self._end_late()

    def drop(self) -> None:
        """One that is idle is closed as if its time were over, which its client expects."""
        # Half a request has been heard: there is nothing to be saved by an orderly end, and `close` would wait until
        # all that was written is taken.
        if self._received:
            self.transport.abort()
        else:
            self.transport.close()

    def _begin_request(self) -> None:
        """Whether there is a request on it now."""
        if not self._works and self.cycle is not None and not self.cycle.response_complete:
            self._works = True
            self._since, self._received = self.book.now(), 0
            self.book.work(self)

    def _end_late(self) -> None:
        has_responded = self._works and self.cycle.response_started
        if self._received and not has_responded:  # who has asked for nothing waits for no response
            self.transport.write(LATE)
        self.transport.close()


class _Sweeper:
    """Looks at the connections of a book each second, as long as there are any."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._is_due = False

    def begin_sweeping(self, loop: asyncio.AbstractEventLoop) -> None:
        if not self._is_due:
            self._is_due = True
            loop.call_later(SWEEP_EVERY, self._sweep, loop)

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        self._is_due = False
        self._book.sweep()
        # The sweep ends with the last connection and begins with the next: an idle server wakes for nothing.
        if len(self._book):
            self.begin_sweeping(loop)


def protocol_in(book: Book) -> type[asyncio.Protocol]:
    """The protocol of a server whose connections are in `book`."""
    # uvicorn makes its protocols by calling a class with arguments of its own, so what belongs to one server has to
    # be in the class.
    return type("BookedProtocol", (BoundedProtocol,), {"book": book, "sweeper": _Sweeper(book)})
