"""Limits of connections: half-sent requests, idle ones, slow bodies, who does not read, and too many, beside a client
that does none of that.
"""

import socket
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import uvicorn

from harness.pace import allowed
from noetl.api.bounded import protocol_in
from noetl.api.connections import Book, ConnectionLimits, TooManyConnections

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


class Served:
    """A server on a port of its own, with its book."""

    def __init__(self, bounds: ConnectionLimits) -> None:
        self.said: list[str] = []
        self.connected: list[socket.socket] = []
        self.book = Book(bounds, self.said.append)
        self.listening = socket.create_server(("127.0.0.1", 0), backlog=512)
        config = uvicorn.Config(
            app, http=protocol_in(self.book), log_config=None, lifespan="off", timeout_keep_alive=1,
            timeout_graceful_shutdown=1,
        )  # fmt: skip
        self.server = uvicorn.Server(config)

    def run(self) -> None:
        self.server.run(sockets=[self.listening])

    def connect(self, first: bytes = b"") -> socket.socket:
        made = socket.create_connection(self.listening.getsockname(), timeout=10)
        self.connected.append(made)
        made.sendall(first)
        return made


@contextmanager
def served(bounds: ConnectionLimits = BOUNDS) -> Iterator[Served]:
    made = Served(bounds)
    thread = threading.Thread(target=made.run)
    thread.start()
    try:
        yield made
    finally:
        for connection in made.connected:
            connection.close()
        made.server.should_exit = True
        thread.join(20)
        made.listening.close()


def ends(connection: socket.socket, within: float) -> tuple[bytes, float]:
    """The bytes that come until the server closes the connection, and how many seconds that took."""
    began, got = time.monotonic(), b""
    connection.settimeout(within)
    try:
        while part := connection.recv(65_536):
            got += part
    except ConnectionError:
        pass
    return got, time.monotonic() - began


def asks(server: Served) -> float:
    """A request on a connection of its own, and how long it took."""
    began = time.monotonic()
    with server.connect(ASKS) as connection:
        assert connection.recv(1_000).startswith(b"HTTP/1.1 200")
    return time.monotonic() - began


@pytest.mark.parametrize("sent", [b"", HALF, ASKS])
def test_who_sends_no_whole_request_is_closed_in_time(sent: bytes) -> None:
    with served() as server, server.connect(sent) as connection:
        got, took = ends(connection, BOUNDS.head + 10)
        assert took < BOUNDS.head + allowed(1.25)
        assert took > (0.5 if sent == ASKS else 1)
        assert (
            got.split(b"\r\n")[0] == {b"": b"", HALF: b"HTTP/1.1 408 Request Timeout", ASKS: b"HTTP/1.1 200 OK"}[sent]
        )
        assert len(server.book) == 0


def test_a_byte_now_and_then_gives_a_head_no_more_time() -> None:
    with served() as server, server.connect(HALF) as connection:
        began = time.monotonic()
        with pytest.raises(ConnectionError):
            while time.monotonic() - began < 10:
                time.sleep(0.2)
                connection.sendall(b"x")
        assert time.monotonic() - began < BOUNDS.head + allowed(1)


def test_a_byte_after_an_answer_keeps_nothing_open() -> None:
    """Each byte stops the timer that closes an idle connection."""
    with served() as server, server.connect(ASKS) as connection:
        time.sleep(0.3)
        connection.sendall(HALF)
        _, took = ends(connection, 10)
        assert took < BOUNDS.head + allowed(1)


def test_a_body_that_stops_ends_and_one_that_is_slow_goes_on() -> None:
    with served() as server:
        with server.connect(POSTS % 5_000 + b"x" * 1_000) as connection:
            got, took = ends(connection, BOUNDS.pause + 10)
            assert got.startswith(b"HTTP/1.1 408") and took > BOUNDS.pause - 0.5
        with server.connect(POSTS % 9_000) as connection:
            for _ in range(9):
                connection.sendall(b"x" * 1_000)
                time.sleep(0.5)
            assert b"\r\n\r\n9000" in connection.recv(1_000)


def test_a_body_of_drops_ends() -> None:
    with served() as server, server.connect(POSTS % 5_000) as connection:
        began = time.monotonic()
        with pytest.raises(ConnectionError):
            while time.monotonic() - began < 10:
                connection.sendall(b"x")
                time.sleep(0.4)
        assert BOUNDS.grace - 1 < time.monotonic() - began < BOUNDS.grace + allowed(1.25)


def test_who_takes_nothing_of_the_answer_is_closed_and_who_is_slow_is_not() -> None:
    with served() as server:
        lazy, slow = (server.connect(ASKS.replace(b"/ ", b"/large ")) for _ in range(2))
        got, began = 0, time.monotonic()
        while got < LARGE and (part := slow.recv(1 << 20)):
            got += len(part)
            time.sleep(0.05 if time.monotonic() - began < BOUNDS.stall + 2 else 0)
        assert got >= LARGE
        time.sleep(max(0, began + BOUNDS.stall + 2 - time.monotonic()))
        left, _ = ends(lazy, 5)
        assert len(left) < LARGE


def test_half_sent_requests_by_the_hundred_hinder_nobody() -> None:
    bounds = ConnectionLimits(most=200, of_address=150)
    with served(bounds) as server:
        for _ in range(400):
            server.connect(HALF)
        assert max(asks(server) for _ in range(20)) < allowed(0.5)
        assert len(server.book) <= bounds.of_address
        assert server.book.dropped >= 250
        assert server.said[0].startswith("there are 150 connections, 150 of them from 127.0.0.1")
        assert len(server.said) < 12


def test_where_all_are_at_work_the_next_one_is_refused() -> None:
    with served(BOUNDS._replace(of_address=5, pause=20, grace=20)) as server:
        open_sockets = [server.connect(POSTS % 100 + b"x") for _ in range(5)]
        time.sleep(0.3)
        with server.connect(ASKS) as connection:
            got, _ = ends(connection, 3)
            assert got.startswith(b"HTTP/1.1 503") and b"Retry-After" in got
        open_sockets.pop().close()
        time.sleep(0.3)
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
