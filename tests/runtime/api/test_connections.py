"""Limits of connections: half-sent requests, idle ones, slow bodies, who does not read, and too many, beside a client
that does none of that.
"""

import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import uvicorn

from noetl.api import bounded
from noetl.api.bounded import BoundedProtocol, protocol_in
from noetl.api.connections import Book, ConnectionLimits, TooManyConnections
from services import waited_for

BOUNDS = ConnectionLimits(most=40, of_address=30, head=1.5, pause=1.5, grace=3.0, rate=1_000, stall=1.5)
ASKS = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
POSTS = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"
HALF = b"GET / HTTP/1.1\r\nHost: "
LARGE = 30_000_000


async def app(scope: Any, receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]) -> None:
    """Reads the body, and answers with its length; with much where the path asks for it."""
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        size, more = size + len(message["body"]), message["more_body"]
    body = b"x" * LARGE if scope["path"] == "/large" else b"%d" % size
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    for start in range(0, len(body), 1 << 20):
        await send({"type": "http.response.body", "body": body[start : start + (1 << 20)], "more_body": True})
    await send({"type": "http.response.body", "body": b""})


class Counted(Book):
    """A book that counts its sweeps."""

    sweeps = 0

    def sweep(self) -> None:
        """One more."""
        super().sweep()
        self.sweeps += 1


class Served:
    """A server on a port of its own, with its book. Its clock stands still but for `advance`: what is slow here is late
    by that clock alone.
    """

    def __init__(self, bounds: ConnectionLimits, keep_alive: int) -> None:
        self.said: list[str] = []
        self.connected: list[socket.socket] = []
        self.now = 0.0
        self.book = Counted(bounds, self.said.append, lambda: self.now)
        self.listening = socket.create_server(("127.0.0.1", 0), backlog=512)
        config = uvicorn.Config(
            app, http=protocol_in(self.book), log_config=None, lifespan="off", timeout_keep_alive=keep_alive,
            timeout_graceful_shutdown=1,
        )  # fmt: skip
        self.server = uvicorn.Server(config)

    def run(self) -> None:
        self.server.run(sockets=[self.listening])

    def connect(self, first: bytes = b"") -> socket.socket:
        """A connection that has sent something."""
        made = socket.create_connection(self.listening.getsockname(), timeout=60)
        self.connected.append(made)
        made.sendall(first)
        return made

    def protocols(self) -> list[BoundedProtocol]:
        """The open connections, the oldest first."""
        return [one for one in self.book._address if isinstance(one, BoundedProtocol)]

    def hears(self, count: int) -> None:
        """Wait until so many bytes have come on the only connection."""
        waited_for(lambda: [one._received for one in self.protocols()] == [count], f"{count} bytes never come")

    def advance(self, seconds: float) -> None:
        """Let time pass, and its connections be looked at."""
        self.now += seconds
        before = self.book.sweeps
        # One sweep may be under way that began before; without connections there are none.
        waited_for(lambda: self.book.sweeps > before + 1 or not len(self.book), "no connection is looked at")


@contextmanager
def served(bounds: ConnectionLimits = BOUNDS, keep_alive: int = 3_600) -> Iterator[Served]:
    made = Served(bounds, keep_alive)
    thread = threading.Thread(target=made.run)
    thread.start()
    try:
        yield made
    finally:
        for connection in made.connected:
            connection.close()
        made.server.should_exit = True
        thread.join(60)
        made.listening.close()


@pytest.fixture(autouse=True)
def swept_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded, "SWEEP_EVERY", 0.01)


def ends(connection: socket.socket) -> bytes:
    """The bytes that come until the server closes the connection; it does."""
    got = b""
    try:
        while part := connection.recv(65_536):
            got += part
    except ConnectionError:
        pass
    return got


def hears(connection: socket.socket, last: bytes) -> bytes:
    """The bytes that come, up to those."""
    got = b""
    while not got.endswith(last):
        part = connection.recv(65_536)
        assert part, got
        got += part
    return got


def asks(server: Served) -> None:
    """A request on a connection of its own, which is answered."""
    with server.connect(ASKS) as connection:
        assert connection.recv(1_000).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("sent", [b"", HALF])
def test_who_sends_no_whole_request_is_closed_in_time(sent: bytes) -> None:
    with served() as server, server.connect(sent) as connection:
        server.hears(len(sent))
        server.advance(BOUNDS.head)
        assert len(server.book) == 1
        server.advance(0.1)
        assert ends(connection).split(b"\r\n")[0] == {b"": b"", HALF: b"HTTP/1.1 408 Request Timeout"}[sent]
        waited_for(lambda: len(server.book) == 0, "it keeps its place")


def test_who_asks_for_nothing_more_is_closed() -> None:
    with served(keep_alive=1) as server, server.connect(ASKS) as connection:
        assert ends(connection).startswith(b"HTTP/1.1 200 OK")


def test_a_byte_now_and_then_gives_a_head_no_more_time() -> None:
    with served() as server, server.connect(HALF) as connection:
        server.hears(len(HALF))
        for number in range(7):
            server.advance(0.2)
            connection.sendall(b"x")
            server.hears(len(HALF) + number + 1)
        server.advance(0.2)
        assert ends(connection).startswith(b"HTTP/1.1 408")


def test_a_byte_after_an_answer_keeps_nothing_open() -> None:
    """Each byte stops the timer that closes an idle connection."""
    with served() as server, server.connect(ASKS) as connection:
        hears(connection, b"\r\n\r\n0")
        connection.sendall(HALF)
        server.hears(len(HALF))
        server.advance(BOUNDS.head + 0.1)
        assert ends(connection).startswith(b"HTTP/1.1 408")


def test_a_body_that_stops_ends_and_one_that_is_slow_goes_on() -> None:
    with served() as server:
        head = POSTS % 5_000
        with server.connect(head + b"x" * 1_000) as connection:
            server.hears(len(head) + 1_000)
            server.advance(BOUNDS.pause)
            assert len(server.book) == 1
            server.advance(0.1)
            assert ends(connection).startswith(b"HTTP/1.1 408")
        waited_for(lambda: len(server.book) == 0, "it keeps its place")
        head = POSTS % 9_000
        with server.connect(head) as connection:
            for number in range(9):
                server.hears(len(head) + number * 1_000)
                server.advance(0.5)
                connection.sendall(b"x" * 1_000)
            hears(connection, b"\r\n\r\n9000")


def test_a_body_of_drops_ends() -> None:
    head = POSTS % 5_000
    with served() as server, server.connect(head) as connection:
        for number in range(7):
            server.hears(len(head) + number)
            server.advance(0.4)
            connection.sendall(b"x")
        server.hears(len(head) + 7)  # after 2.8 s
        server.advance(0.4)
        assert ends(connection).startswith(b"HTTP/1.1 408")


def test_who_takes_nothing_of_the_answer_is_closed_and_who_is_slow_is_not() -> None:
    with served() as server:
        large = ASKS.replace(b"/ ", b"/large ")
        lazy = server.connect(large)
        waited_for(lambda: server.protocols() and server.protocols()[0]._stalled is not None, "all of it is taken")
        slow, got = server.connect(large), 0
        waited_for(lambda: len(server.book) == 2, "it does not connect")
        _, taken = server.protocols()
        for _ in range(5):
            some = 0
            while some < LARGE // 6 and (part := slow.recv(1 << 20)):
                some += len(part)
            got += some
            # What was taken makes room, so that more is written, until there is none again.
            waited_for(lambda: taken._stalled in (None, server.now), "nothing more is written")
            server.advance(0.5)
        assert ends(lazy) and len(server.book) == 1
        while got < LARGE and (part := slow.recv(1 << 20)):
            got += len(part)
        assert got >= LARGE


def test_half_sent_requests_by_the_hundred_hinder_nobody() -> None:
    bounds = ConnectionLimits(most=200, of_address=150)
    with served(bounds) as server:
        for _ in range(400):
            server.connect(HALF)
        for _ in range(20):
            asks(server)
        assert len(server.book) <= bounds.of_address
        assert server.book.dropped >= 250
        assert server.said[0].startswith("there are 150 connections, 150 of them from 127.0.0.1")
        assert len(server.said) < 12


def test_where_all_are_at_work_the_next_one_is_refused() -> None:
    with served(BOUNDS._replace(of_address=5, pause=20, grace=20)) as server:
        open_sockets = [server.connect(POSTS % 100 + b"x") for _ in range(5)]
        waited_for(lambda: len(server.book) == 5 and not server.book._waiting, "not all are at work")
        with server.connect(ASKS) as connection:
            got = ends(connection)
            assert got.startswith(b"HTTP/1.1 503") and b"Retry-After" in got
        open_sockets.pop().close()
        waited_for(lambda: len(server.book) == 4, "it keeps its place")
        asks(server)


class Connected:
    """A connection that is only counted."""

    def __init__(self) -> None:
        self.is_dropped = False

    def check(self, now: float) -> None:
        raise AssertionError

    def drop(self) -> None:
        self.is_dropped = True


def test_the_address_that_has_most_makes_room() -> None:
    book = Book(ConnectionLimits(most=6, of_address=4))
    many, few = [Connected() for _ in range(4)], [Connected() for _ in range(2)]
    for connection in many:
        assert book.enter(connection, "10.0.0.1")
    for connection in few:
        assert book.enter(connection, "10.0.0.2")
    book.work(many[0])
    assert book.enter(Connected(), "10.0.0.3")
    assert [connection.is_dropped for connection in (*many, *few)] == [False, True, False, False, False, False]
    book.leave(many[2])
    assert len(book) == 5


def test_one_host_has_one_count_whatever_it_calls_itself() -> None:
    book = Book(ConnectionLimits(most=10, of_address=1))
    for address, is_more in [
        ("2001:db8:1:2::1", True), ("2001:db8:1:2:ffff::9", False), ("2001:db8:1:3::1", True),
        ("10.0.0.1", True), ("::ffff:10.0.0.1", False), ("fe80::1%eth0", True), ("", True),
    ]:  # fmt: skip
        connection = Connected()
        before = len(book)
        assert book.enter(connection, address)
        assert (len(book) > before) is is_more, address


def test_what_is_only_opened_is_bounded_for_as_long_as_that_may_take() -> None:
    now = [0.0]
    book = Book(ConnectionLimits(arriving=3, handshake=10), clock=lambda: now[0])
    numbers = [book.arrive() for _ in range(3)]
    with pytest.raises(TooManyConnections):
        book.arrive()
    book.arrived(numbers[1])
    now[0] = 9.0
    book.arrive()
    with pytest.raises(TooManyConnections):
        book.arrive()
    now[0] = 11.5
    assert len({*numbers, book.arrive(), book.arrive()}) == 5
    with pytest.raises(TooManyConnections):
        book.arrive()
    assert book.dropped == 3
