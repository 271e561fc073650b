"""The texts of a bus over NATS: addresses without secrets, names of anything, frames of a bounded size."""

import asyncio
import socket
import threading
import time
import zlib

import pytest

from noetl.bus import BusFailure
from noetl.bus.nats import codec as codec_module
from noetl.bus.nats import connection as connection_module
from noetl.bus.nats import open_bus
from noetl.bus.nats.codec import packed_body, unpacked_body
from noetl.bus.nats.fenced_loop import FencedLoop
from noetl.bus.nats.names import address_in, header_of, text_of, token_of
from noetl.clients.egress import Egress, NotAllowed, networks_of
from noetl.messages.encoding import UnreadableMessage


def test_a_frame_that_would_fill_the_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec_module, "MAX_BYTES", 1_000_000)
    for size, fits in ((999_999, True), (1_000_000, True), (1_000_001, False), (50_000_000, False)):
        frame = b"\x01" + zlib.compress(b"x" * size)
        if fits:
            assert len(unpacked_body(frame)) == size
        else:
            with pytest.raises(UnreadableMessage):
                unpacked_body(frame)
    for data in (b"", b"x", b"x" * 10_000):
        assert unpacked_body(packed_body(data, 0)) == data
    with pytest.raises(UnreadableMessage):
        unpacked_body(packed_body(b"x" * 10_000, 0)[:-1])


def test_a_server_that_is_not_up_yet_is_tried_many_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver's own wait, two seconds, would make one attempt in this time."""
    monkeypatch.setattr(connection_module, "CONNECT_WITHIN", 1.5)
    attempts: list[float] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def refuse() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                attempts.append(time.monotonic())
                connection.close()

        refusing = threading.Thread(target=refuse)
        refusing.start()
        with pytest.raises(BusFailure, match="cannot be reached"):
            open_bus(f"nats://joe:hunter22@127.0.0.1:{listener.getsockname()[1]}", {})
        listener.shutdown(socket.SHUT_RDWR)
    refusing.join()
    assert len(attempts) >= 3


def test_a_bus_says_where_it_is_without_its_secrets() -> None:
    place = address_in("nats://joe:hunt%2Fer22@h1:1,h2:2/team-1?creds=/x/y.creds")
    assert place.servers == ("nats://joe:hunt%2Fer22@h1:1", "nats://joe:hunt%2Fer22@h2:2")
    assert (place.prefix, place.shown, place.credentials) == ("team-1", "nats://h1:1,h2:2/team-1", "/x/y.creds")
    assert address_in("tls://h").prefix == "noetl"
    for url in ("http://joe:hunter22@h", "nats://", "nats://joe:hunt/er22@h", "nats://joe:hunter22@h/a.b", "nats://[x"):
        with pytest.raises(BusFailure) as raised:
            address_in(url)
        assert "er22" not in str(raised.value)


@pytest.mark.parametrize("host", ["host:abc", "h1:4222,h2:70000", "host:0", ":4222", "joe:hunter22@host:x"])
def test_a_port_that_is_none_is_told(host: str) -> None:
    """The driver would say so by an AssertionError, when it is closed before it began."""
    with pytest.raises(BusFailure, match="with a port from 1 to 65535") as raised:
        open_bus(f"nats://{host}/x", {})
    assert "hunter22" not in str(raised.value)


def test_the_driver_stays_inside_the_fence_wherever_it_is_told_to_connect() -> None:
    """Servers tell their clients of others, which no check of the first address sees."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        for allowed in (True, False):
            loop = FencedLoop(Egress(networks_of(["127.0.0.0/8"]) if allowed else ()).refusal)
            for host in ("127.0.0.1", "localhost"):
                work = loop.create_connection(asyncio.Protocol, host, port)
                if allowed:
                    transport, _ = loop.run_until_complete(work)
                    transport.close()
                else:
                    with pytest.raises(NotAllowed, match="not public"):
                        loop.run_until_complete(work)
            loop.run_until_complete(asyncio.sleep(0))
            loop.close()


@pytest.mark.parametrize("text", ["", "plain_1", "e:7/0:1.*>", "a\r\nb", "ü 🙂", "x" * 300, "\ud800"])
def test_any_text_has_a_token_and_a_header(text: str) -> None:
    token = token_of(text)
    assert token and len(token) <= 60 and not set(token) & set(" .*>\r\n")
    assert text_of(header_of(text)) == text and header_of(text).isascii() and "\n" not in header_of(text)
