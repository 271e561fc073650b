"""A server's http tool reaches public addresses and what was allowed, however the address is dressed."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import ClassVar

import pytest

from noetl.clients.egress import BadNetwork, Egress, networks_of
from noetl.tools import http
from noetl_cli.lazy_click import real_command
from noetl_ir.expr import Json
from noetl_ir.outcome import Outcome
from noetl_ir.registry import load
from tool_doubles import FakeEnv, call_of, http_server, waited

REFUSED = [
    "127.0.0.1", "127.255.255.254", "0.0.0.0", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1",
    "169.254.169.254", "100.64.0.1", "192.0.2.1", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255",
    "::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "ff02::1", "2001:db8::1",
    "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe",
    "2002:7f00:1::", "2002:a9fe:a9fe::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "junk", "",
]  # fmt: skip


@pytest.mark.parametrize("address", REFUSED)
def test_what_is_not_public_is_refused(address: str) -> None:
    assert Egress().refusal(address) is not None


@pytest.mark.parametrize("address", ["1.1.1.1", "93.184.216.34", "2606:4700:4700::1111", "64:ff9b::101:101"])
def test_what_is_public_is_not(address: str) -> None:
    assert Egress().refusal(address) is None


def test_what_is_allowed_is_let_through_and_nothing_beside_it() -> None:
    egress = Egress(networks_of(["10.1.0.0/16", "::1"]))
    assert egress.refusal("10.1.2.3") is egress.refusal("::1") is None
    assert egress.refusal("10.2.0.1") is not None
    assert egress.refusal("127.0.0.1") is not None


@pytest.mark.parametrize("process", ["server", "worker"])
def test_who_is_refused_is_told_what_to_start_otherwise(process: str) -> None:
    command = real_command(load("noetl.cli", process, "COMMAND", object))
    words = ["--bus", "nats://127.0.0.1:1"] if process == "worker" else []
    fence = command.make_context(process, words).params["fence"]
    assert f"start the {process} with `--allow-address 10.2.0.1`" in fence("10.2.0.1")


@pytest.mark.parametrize("text", ["10.0.0.1/8", "localhost", "", "1.2.3.4/33"])
def test_what_is_no_network_is_said(text: str) -> None:
    with pytest.raises(BadNetwork, match=r"10\.0\.0\.0/8"):
        networks_of([text])


def fetched(root: Path, url: str, *allowed: str, **fields: Json) -> Outcome:
    around = FakeEnv(root)
    around.fenced = Egress(networks_of(allowed)).refusal
    return waited(http.run(call_of("http", {"url": url, **fields}), around))


def code_of(outcome: Outcome) -> Json:
    return (outcome.error or {}).get("code")


class Recording(BaseHTTPRequestHandler):
    """Answers nothing, or leads on; keeps what it was asked."""

    asked: ClassVar[list[tuple[str, str]]] = []
    location = ""

    def do_GET(self) -> None:
        self.asked.append((self.headers["Host"], self.path))
        self.send_response(302 if self.location else 200)
        if self.location:
            self.send_header("Location", self.location)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None: ...


@contextmanager
def asked(location: str = "") -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The port of a server here, and what it is asked."""
    handler = type("Handler", (Recording,), {"asked": [], "location": location})
    with http_server(handler) as url:
        yield url.rpartition(":")[2].strip("/"), handler.asked


def test_names_and_numbers_that_lead_inside_are_refused_before_anything_is_sent(tmp_path: Path) -> None:
    with asked() as (port, seen):
        for host in ("localhost", "2130706433", "0x7f.1", "127.1", "[::ffff:127.0.0.1]", "0"):
            outcome = fetched(tmp_path, f"http://{host}:{port}/x")
            assert code_of(outcome) in ("http.refused", "http.request", "http.connect"), host
        assert code_of(fetched(tmp_path, f"http://127.0.0.1:{port}/x")) == "http.refused"
    assert seen == []


def test_a_redirect_inside_is_refused(tmp_path: Path) -> None:
    """The first server is allowed by its address; it sends on to one that is not."""
    with asked("http://127.0.0.2:1/secret") as (port, seen):
        outcome = fetched(tmp_path, f"http://127.0.0.1:{port}/", "127.0.0.1", follow_redirects=True)
    assert code_of(outcome) == "http.refused"
    assert "127.0.0.2" in str((outcome.error or {})["message"])
    assert len(seen) == 1


def test_the_host_is_told_as_it_was_written_and_redirects_stay_with_it(tmp_path: Path) -> None:
    with asked() as (port, seen):
        assert fetched(tmp_path, f"http://localhost:{port}/a", "127.0.0.1", "::1").error is None
    assert seen == [(f"localhost:{port}", "/a")]
    with asked("/again") as (port, seen):
        looped = fetched(tmp_path, f"http://localhost:{port}/a", "127.0.0.1", "::1", follow_redirects=True)
    assert code_of(looped) == "http.redirects"
    assert {host for host, _ in seen} == {f"localhost:{port}"}


def test_no_proxy_of_the_environment_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with asked() as (port, seen):
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{port}")
        assert code_of(fetched(tmp_path, "http://169.254.169.254/latest")) == "http.refused"
    assert seen == []
