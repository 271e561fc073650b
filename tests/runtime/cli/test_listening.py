"""How a server listens: TLS by itself, and whom it takes for a client where a proxy hands requests on."""

import datetime
import ipaddress
import socket
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from harness.pace import allowed

if TYPE_CHECKING:
    from conftest import Home

GUESSES = 130
"""More than one client may have wrong at once, with what comes back while they are made."""


def certificate(folder: Path, name: str) -> tuple[str, str]:
    """A certificate for 127.0.0.1 that it signed itself, and its key; the names of their files."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    made = (
        x509.CertificateBuilder()
        .subject_name(subject).issuer_name(subject).public_key(key.public_key())
        .serial_number(x509.random_serial_number()).add_extension(names, critical=False)
        .not_valid_before(now - datetime.timedelta(days=1)).not_valid_after(now + datetime.timedelta(days=1))
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    encoding, private = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    (folder / f"{name}.crt").write_bytes(made.public_bytes(encoding))
    (folder / f"{name}.key").write_bytes(key.private_bytes(encoding, private, serialization.NoEncryption()))
    return f"{name}.crt", f"{name}.key"


def test_a_server_ends_tls_by_itself(home: "Home", monkeypatch: pytest.MonkeyPatch) -> None:
    cert, key = certificate(home.folder, "one")
    with home.serving("--tls-cert", cert, "--tls-key", key) as (_, url):
        assert url.startswith("https://")
        with pytest.raises(httpx.HTTPError):
            httpx.get(url.replace("https", "http") + "/readyz")
        with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
            httpx.get(url + "/readyz")
        monkeypatch.setenv("SSL_CERT_FILE", str(home.folder / cert))
        assert httpx.get(url + "/healthz").status_code == 200
        assert home.json("list", "--server", url) == []


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--tls-key", "one.key"), 2, "give --tls-cert too"),
        (("--tls-cert", "one.key", "--tls-key", "one.key"), 1, "one.key and one.key cannot be used for TLS"),
        (("--tls-cert", "one.crt", "--tls-key", "two.key"), 1, "one.crt and two.key cannot be used for TLS"),
        (("--tls-cert", "one.crt"), 1, "one.crt and one.crt cannot be used for TLS"),
    ],
)
def test_what_is_no_certificate_is_refused_before_it_listens(
    home: "Home", words: tuple[str, ...], code: int, said: str
) -> None:
    certificate(home.folder, "one")
    certificate(home.folder, "two")
    done = home.run("server", "--port", "0", *words)
    assert (done.returncode, said in done.stderr) == (code, True), done.stderr
    assert "listening" not in done.stderr


@pytest.mark.parametrize(("words", "last"), [((), 429), (("--behind-proxy",), 401)])
def test_only_a_proxy_says_who_a_client_is(home: "Home", words: tuple[str, ...], last: int) -> None:
    """A client that names another address with each guess is one client, unless a proxy was declared."""
    home.run("token", "add", "ann", "--role", "viewer")
    with home.serving(*words) as (_, url), httpx.Client(headers={"authorization": "Bearer wrong"}) as client:
        for number in range(GUESSES):
            response = client.get(f"{url}/counts", headers={"x-forwarded-for": f"10.0.0.{number}"})
            if response.status_code == 429:
                break
        assert response.status_code == last


def test_half_sent_requests_by_the_hundred_hinder_no_client(home: "Home") -> None:
    with home.serving() as (_, url), ExitStack() as open_sockets:
        address = urlsplit(url)
        for _ in range(700):
            half = open_sockets.enter_context(socket.create_connection((address.hostname, address.port)))
            half.sendall(b"GET /executions HTTP/1.1\r\nHost: ")
        took = [httpx.get(f"{url}/readyz", timeout=15).elapsed.total_seconds() for _ in range(10)]
        assert max(took) < allowed(0.5)
        figures = dict(line.rsplit(" ", 1) for line in httpx.get(f"{url}/metrics").text.splitlines())
        assert 400 < float(figures["noetl_connections"]) <= 500
        assert float(figures["noetl_dropped_connections_total"]) >= 200
        assert home.json("list", "--server", url) == []


def test_behind_a_proxy_a_server_has_tokens(home: "Home") -> None:
    # A proxy may write the name of this machine into `Host`, and so whoever reaches it would be let in.
    refused = home.run("server", "--port", "0", "--behind-proxy")
    assert refused.returncode == 2 and "noetl token add NAME --role admin" in refused.stderr
