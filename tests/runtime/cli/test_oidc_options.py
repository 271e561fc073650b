"""Options of the sign-in by OpenID Connect: what goes together, what `--check-config` says, and a server with them."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from harness.oidc import CLIENT, SECRET, Reply, providing
from noetl.cli.oidc_options import OidcOptions, OidcTrouble
from noetl.clients.oidc_provider import faulty_issuer

if TYPE_CHECKING:
    from conftest import Home

RULES = '[[roles]]\neverybody = true\nrole = "viewer"\n'


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--oidc-client", "x"), "--oidc-client is of the sign-in by OpenID Connect: give --oidc-issuer too"),
        (("--oidc-scope", "x"), "--oidc-scope is of the sign-in by OpenID Connect"),
        (("--oidc-issuer", "https://i.example"), "needs --oidc-client"),
        (("--oidc-issuer", "https://i.example", "--oidc-client", "x"), "needs --oidc-roles FILE"),
        (("--oidc-issuer", "http://i.example"), "it must be https://"),
        (("--oidc-issuer", "i.example"), "write https://HOST"),
        (("--public-url", "http://n.example"), "it must be https://"),
        (("--public-url", "n.example/x"), "write https://HOST"),
        (("--public-url", "https://n.example/?x"), "has no user, query"),
        (
            ("--oidc-issuer", "https://i.example", "--oidc-client", "x", "--oidc-roles", "r", "--behind-proxy"),
            "needs --public-url",
        ),
    ],
)
def test_options_that_do_not_go_together(home: "Home", words: tuple[str, ...], said: str) -> None:
    done = home.run("server", "--port", "0", *words)
    assert done.returncode == 2 and said in " ".join(done.stderr.split()), done.stderr
    checked = home.run("server", "--check-config", "--port", "0", *words)
    assert checked.returncode == 1 and said in checked.stdout


@pytest.mark.parametrize(
    ("url", "is_good"),
    [
        ("https://i.example", True), ("https://i.example:8443/realms/a", True), ("http://127.0.0.1:1", True),
        ("http://localhost:1", True), ("http://[::1]:1", True), ("http://10.0.0.1", False), ("https://", False),
        ("https://u:p@i.example", False), ("https://i.example/?a", False), ("https://i.example/#", False),
        ("ftp://i.example", False), ("https://i.example:x", False), ("https://é.example", False), ("", False),
        ("https://i.example\n", False), ("http://localhost.evil.example", False),
    ],
)  # fmt: skip
def test_issuers(url: str, is_good: bool) -> None:
    assert (faulty_issuer(url) == "") is is_good


@pytest.mark.parametrize(
    ("host", "proxy", "page", "is_good"),
    [
        ("127.0.0.1", False, None, True), ("0.0.0.0", False, None, False), ("127.0.0.1", True, None, False),
        ("0.0.0.0", True, "https://n.example/noetl/", True), ("n.example", False, "https://n.example:8082", True),
    ],
)  # fmt: skip
def test_where_the_page_is(host: str, proxy: bool, page: str | None, is_good: bool) -> None:
    oidc = OidcOptions("https://i.example", "x", None, "r", (), page)
    assert (oidc.wrong(host, behind_proxy=proxy) is None) is is_good


def files(home: "Home", secret: str = SECRET + "\n", rules: str = RULES) -> tuple[str, ...]:
    (home.folder / "secret").write_text(secret)
    (home.folder / "roles.toml").write_text(rules)
    return "--oidc-client", CLIENT, "--oidc-secret-file", "secret", "--oidc-roles", "roles.toml"


def test_a_server_is_checked_with_its_provider(home: "Home") -> None:
    with providing() as provider:
        words = ("server", "--check-config", "--port", "0", "--oidc-issuer", provider.url, *files(home))
        done = home.run(*words, "--public-url", "https://n.example/noetl/")
        assert done.returncode == 0, done.stdout
        page = "https://n.example/noetl/sign-in/return"
        assert f"ok     oidc: {provider.url}, which is to send browsers back to {page}\n" in done.stdout
        assert "ok     tokens: none: commands cannot ask it" in done.stdout
        provider.keys = []
        done = home.run(*words)
        assert done.returncode == 1 and f"wrong  oidc: {provider.url}/keys has no key in `keys`" in done.stdout
        faults = home.run(*words, "--oidc-secret-file", "lacking", "--public-url", "ftp://n.example").stdout
        assert "--public-url ftp://n.example: write https://HOST" in faults
        assert "; --oidc-secret-file lacking: it cannot be read" in faults
        provider.metadata["issuer"] = "https://other.example"
        done = home.run(*words)
        assert done.returncode == 1
        assert "wrong  oidc: the provider calls itself `https://other.example`, which is otherwise" in done.stdout
        provider.metadata["issuer"] = "https://other.example/\x1b[31m"
        assert "wrong  oidc: the provider calls itself otherwise than" in home.run(*words).stdout
        provider.instead["/.well-known/openid-configuration"] = Reply(200, b"<html>")
        assert "answered with no JSON object" in home.run(*words).stdout
    done = home.run(*words)
    assert done.returncode == 1 and "no connection" in done.stdout
    for secret, rules, said in (
        ("", RULES, "one line, the secret"), ("a\nb", RULES, "one line, the secret"),
        (SECRET, RULES.replace("viewer", "worker"), "roles.toml: rule 1: `role` is one of"),
    ):  # fmt: skip
        files(home, secret, rules)
        done = home.run(*words)
        assert done.returncode == 1 and said in done.stdout and SECRET not in done.stdout
        begun = home.run("server", *words[2:])
        assert begun.returncode == 1 and said in begun.stderr and "Traceback" not in begun.stderr
    files(home)
    (home.folder / "secret").unlink()
    assert "--oidc-secret-file secret: it cannot be read: No such file" in home.run(*words).stdout


def test_the_secret_may_be_a_variable(home: "Home", monkeypatch: pytest.MonkeyPatch) -> None:
    rules = home.folder / "roles.toml"
    rules.write_text(RULES)
    oidc = OidcOptions("https://i.example", CLIENT, None, str(rules), (), None)
    for value, secret in ((f"{SECRET}\n", SECRET), ("", "")):
        monkeypatch.setenv("NOETL_OIDC_SECRET", value)
        people = oidc.people(print)
        assert people is not None and people.party.secret == secret
    monkeypatch.setenv("NOETL_OIDC_SECRET", "two\nlines")
    with pytest.raises(OidcTrouble, match="NOETL_OIDC_SECRET: it is to have one line"):
        oidc.people(print)


def test_a_server_that_signs_people_in(home: "Home") -> None:
    """A real one, by its file of settings; without a token, and closed all the same."""
    files(home)
    with providing() as provider:
        (home.folder / "noetl.toml").write_text(
            f'[server]\nport = 0\noidc-issuer = "{provider.url}"\noidc-client = "{CLIENT}"\n'
            'oidc-secret-file = "secret"\noidc-roles = "roles.toml"\noidc-scope = ["groups", "profile"]\n'
        )
        words = [sys.executable, "-m", "noetl.cli", "server", "--settings", "noetl.toml"]
        environment = {**os.environ, "NO_COLOR": "1"}
        up = subprocess.Popen(words, cwd=home.folder, env=environment, stderr=subprocess.PIPE, text=True)
        try:
            assert up.stderr is not None
            found = re.search(r"listening on (http://127\.0\.0\.1:\d+)", up.stderr.readline())
            assert found is not None
            with httpx.Client(base_url=found[1], timeout=30) as browser:
                assert browser.get("/executions").status_code == 401
                begun = browser.get("/sign-in/oidc", params={"place": "/workers"})
                back = httpx.get(begun.headers["location"]).headers["location"]
                assert back.startswith(f"{found[1]}/sign-in/return?")
                assert provider.queries[0]["scope"] == "openid email groups profile"
                done = browser.get(back)
                assert (done.status_code, done.headers["location"]) == (303, "../#/workers")
                assert browser.get("/me").json()["name"] == "ann@example.org"
                # What it says of itself never has the secret, also where the provider refuses it.
                provider.instead["/token"] = Reply(401, b'{"error": "invalid_client"}')
                begun = browser.get("/sign-in/oidc")
                browser.get(httpx.get(begun.headers["location"]).headers["location"])
        finally:
            up.send_signal(signal.SIGTERM)
            _, said = up.communicate(timeout=60)
    assert up.returncode == 0 and "invalid_client" in said and SECRET not in said
    kept = b"".join(path.read_bytes() for path in Path(home.folder, ".noetl").rglob("*") if path.is_file())
    assert SECRET.encode() not in kept and provider.forms[0]["code_verifier"].encode() not in kept
