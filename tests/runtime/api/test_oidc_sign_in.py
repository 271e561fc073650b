"""Signing in to the page by OpenID Connect, against a provider of this machine, and what others try (RFC 9700)."""

import contextlib
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from harness.oidc import CLIENT, SECRET, Provider, Reply, RsaSigner, providing, token_of
from harness.serving import Served, served
from noetl.api import oidc_sign_in
from noetl.api.auditing import Auditor
from noetl.api.bearer_tokens import BearerToken, digest_of
from noetl.api.oidc_sign_in import MOST_AT_ONCE
from noetl.api.page_sessions import LASTS
from noetl.api.people import People
from noetl.api.role_rules import RulesFile
from noetl.clients import oidc_provider
from noetl.clients.oidc_provider import RelyingParty

HOST = "http://noetl.example"
ADMIN = BearerToken("root", "admin", digest_of("secret"))
RULES = """
[[roles]]
claim = "email"
value = "ann@example.org"
role = "operator"
[[roles]]
claim = "groups"
value = "look"
role = "viewer"
paths = ["team-a/"]
"""


@pytest.fixture
def provider() -> Iterator[Provider]:
    with providing() as up:
        yield up


@contextlib.contextmanager
def serving(
    folder: Path, provider: Provider, rules: str = RULES, secret: str = SECRET, **more: Any
) -> Iterator[Served]:
    folder.mkdir(exist_ok=True)
    (folder / "roles.toml").write_text(rules)
    party = RelyingParty(provider.url, CLIENT, secret, ("groups",))
    people = People(party, RulesFile(str(folder / "roles.toml"), lambda said: None))
    with served(folder, ADMIN, host=HOST, people=people, **more) as server:
        server.client.follow_redirects = False
        yield server


def query_of(url: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}


def at_provider(server: Served, **query: str) -> str:
    """The address to which the provider sends a browser back that began here, below that of the page."""
    begun = server.client.get("/sign-in/oidc", params=query)
    assert begun.status_code == 303, begun.text
    back = httpx.get(begun.headers["location"]).headers["location"]
    assert back.startswith(f"{HOST}/sign-in/return?")
    return str(back).removeprefix(HOST)


def signs_in(server: Served, **query: str) -> str:
    """Where a browser is in the end that signs in."""
    done = server.client.get(at_provider(server, **query))
    assert done.status_code == 303, done.text
    return str(done.headers["location"])


def failed(response: httpx.Response) -> str:
    """Why no sign-in came of it, as the page is told; and it has no session then."""
    assert response.status_code == 303 and "noetl_" not in response.headers.get("set-cookie", "")
    where, _, reason = response.headers["location"].partition("?failed=")
    assert where == "../#/sign-in"
    return reason


def me(server: Served) -> dict[str, Any]:
    response = server.client.get("/me")
    return dict(response.json()) if response.status_code == 200 else {"status": response.status_code}


def audited(server: Served) -> list[tuple[str, str, str, str, str]]:
    rows = server.client.get("/audit?deed=sign-in", headers={"authorization": "Bearer secret"}).json()["audit"]
    return [tuple(row[name] for name in ("who", "via", "outcome", "subject", "reason")) for row in rows]


def test_somebody_signs_in_and_out(tmp_path: Path, provider: Provider) -> None:
    with serving(tmp_path, provider) as server:
        assert server.client.get("/sign-in").json() == {"tokens": True, "oidc": {"issuer": provider.url}}
        assert me(server) == {"status": 401}
        assert signs_in(server) == "../#/executions"
        found = me(server)
        assert (found["name"], found["role"], found["issuer"]) == ("ann@example.org", "operator", provider.url)
        assert found["operates"] is True and (found["paths"], found["pools"]) == ([], [])
        assert server.client.post("/executions/e/cancel", json={}).status_code == 404
        assert server.client.post("/stop", json={}).status_code == 403
        (row,) = [row for row in audited(server) if row[2] == "done"]
        assert row == ("ann@example.org", "api", "done", f"{provider.url}#248289761001", "")
        query, form = provider.queries[0], provider.forms[0]
        assert set(query["scope"].split()) == {"openid", "email", "groups"}
        assert query["redirect_uri"] == form["redirect_uri"] == f"{HOST}/sign-in/return"
        assert {len(query["state"]), len(query["nonce"]), len(form["code_verifier"])} == {43}
        assert len({query["state"], query["nonce"], form["code_verifier"]}) == 3
        assert "client_secret" not in form
        gone = server.client.post("/sign-out", json={}).json()
        assert gone["signed_in"] is False and me(server) == {"status": 401}
        assert gone["end_session"].startswith(f"{provider.url}/leave?")
        assert query_of(gone["end_session"]) == {"client_id": CLIENT, "post_logout_redirect_uri": f"{HOST}/"}
        assert server.said == []


def test_tokens_go_on_beside_it(tmp_path: Path, provider: Provider) -> None:
    with serving(tmp_path, provider) as server:
        head = {"authorization": "Bearer secret"}
        assert server.client.get("/me", headers=head).json()["issuer"] is None
        assert server.client.post("/sign-in", json={"token": "secret"}).status_code == 200
        assert me(server)["name"] == "root"
        assert server.client.post("/sign-out", json={}).json()["end_session"] is None
        signs_in(server)
        assert server.client.get("/me", headers=head).json()["name"] == "root", "a token that is sent is what counts"
        assert server.client.get("/me", headers={"authorization": "Bearer wrong"}).status_code == 401
    assert provider.asks.count("/.well-known/openid-configuration") == 1


def test_without_a_token_it_is_closed_all_the_same(tmp_path: Path, provider: Provider) -> None:
    rules = tmp_path / "roles.toml"
    rules.write_text(RULES)
    people = People(RelyingParty(provider.url, CLIENT, SECRET), RulesFile(str(rules), print))
    with served(tmp_path, people=people) as server:
        assert server.client.get("/executions").status_code == 401
    with served(tmp_path) as server:
        assert server.client.get("/sign-in").json() == {"tokens": True, "oidc": None}
        assert {server.client.get(f"/sign-in/{path}").status_code for path in ("oidc", "return")} == {404}


def test_the_scopes_of_a_rule_hold(tmp_path: Path, provider: Provider) -> None:
    provider.person = {"sub": "7", "groups": ["x", "look"]}
    with serving(tmp_path, provider) as server:
        signs_in(server)
        found = me(server)
        assert (found["name"], found["role"], found["paths"]) == (f"{provider.url}#7", "viewer", ["team-a/"])
        refused = server.client.get("/metrics")
        assert refused.status_code == 403 and refused.json()["detail"].startswith(f"`{provider.url}#7` is for some")


def test_somebody_of_a_team_sees_the_executions_of_that_team(tmp_path: Path, provider: Provider) -> None:
    provider.person = {"sub": "7", "groups": "look"}
    with serving(tmp_path, provider) as server:
        head = {"authorization": "Bearer secret"}
        for path in ("team-a/x", "team-ab/x"):
            source = f"apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {{name: p, path: {path}}}\n"
            source += "workflow: [{step: start, tool: {kind: noop}}]\n"
            server.client.post("/playbooks?name=p.yaml", content=source, headers=head).raise_for_status()
            server.client.post("/executions", json={"path": path}, headers=head).raise_for_status()
        signs_in(server)
        seen = server.client.get("/executions").json()["executions"]
        assert [row["playbook"] for row in seen] == ["team-a/x"]


def test_another_server_of_the_store_finishes_a_sign_in(tmp_path: Path, provider: Provider) -> None:
    """Nothing of one that was begun is kept but in its browser: here the first server has been stopped since."""
    with serving(tmp_path, provider) as server:
        back = at_provider(server)
        cookie = "; ".join(f"{one.name}={one.value}" for one in server.client.cookies.jar)
    with serving(tmp_path, provider) as server:
        done = server.client.get(back, headers={"cookie": cookie})
        assert done.headers["location"] == "../#/executions" and me(server)["name"] == "ann@example.org"


def test_the_longest_name_has_room_in_a_cookie(tmp_path: Path, provider: Provider) -> None:
    """Browsers take 4,096 bytes (RFC 6265 §6.1), and drop longer ones without a word."""
    rule = '[[roles]]\neverybody = true\nrole = "viewer"\n'
    for more in ({}, {"email": "é" * 254, "email_verified": True}):
        provider.person = {"sub": "s" * 255, **more}
        with serving(tmp_path, provider) as server:
            (tmp_path / "roles.toml").write_text(rule * 200)
            done = server.client.get(at_provider(server))
            session = next(value for value in done.headers.get_list("set-cookie") if "_sign_in=" not in value)
            assert len(session.encode()) < 4_096 and me(server)["role"] == "viewer"


def test_a_session_ends(tmp_path: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    """By time, by another file of rules, by another issuer, and never by a restart; one that was changed is none."""
    with serving(tmp_path, provider) as server:
        signs_in(server)
        (name, value), *_ = [(one.name, one.value) for one in server.client.cookies.jar if one.value]
        assert value is not None
    cookie = {"cookie": f"{name}={value}"}
    with serving(tmp_path, provider) as server:
        assert server.client.get("/me", headers=cookie).status_code == 200
        end, who, code = value.removeprefix("p").split(".")
        later, other = f"p{int(end) + 1}.{who}.{code}", f"p{end}.{who[:-2]}AA.{code}"
        for text in (later, other, f"p{end}.{who}.", f"p{end}.{who}", "p", "p..", f"{end}.{code}", f"p{end}..{code}"):
            assert server.client.get("/me", headers={"cookie": f"{name}={text}"}).status_code == 401, text
        (tmp_path / "roles.toml").write_text(RULES + "# changed\n")
        assert server.client.get("/me", headers=cookie).status_code == 401
    with serving(tmp_path, provider) as server:
        assert server.client.get("/me", headers=cookie).status_code == 200
        now = time.time()
        monkeypatch.setattr(server.client.app.state.authorization.sessions, "_now", lambda: now + LASTS - 5)  # type: ignore[attr-defined]
        assert server.client.get("/me", headers=cookie).status_code == 200
        monkeypatch.setattr(server.client.app.state.authorization.sessions, "_now", lambda: now + LASTS + 1)  # type: ignore[attr-defined]
        assert server.client.get("/me", headers=cookie).status_code == 401
    with serving(tmp_path / "other", provider) as server:
        assert server.client.get("/me", headers=cookie).status_code == 401
    with providing() as another, serving(tmp_path, another) as server:
        assert server.client.get("/me", headers=cookie).status_code == 401


def test_rules_that_are_changed_while_somebody_signs_in(
    tmp_path: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first rule is another one then, and gives another role: nobody gets it for having fitted the one before."""
    provider.person = {"sub": "7", "email": "ann@example.org", "email_verified": True}
    with serving(tmp_path, provider) as server:
        record = Auditor.record

        async def changing(self: Auditor, *words: Any) -> None:
            (tmp_path / "roles.toml").write_text('[[roles]]\nclaim = "sub"\nvalue = "1"\nrole = "admin"\n')
            await record(self, *words)

        monkeypatch.setattr(Auditor, "record", changing)
        signs_in(server)
        assert me(server) == {"status": 401}


def test_the_cookies_are_for_this_server_and_no_script(tmp_path: Path, provider: Provider) -> None:
    with serving(tmp_path, provider, page="https://noetl.example/team/") as server:
        begun = server.client.get("/sign-in/oidc")
        pending = {part.strip() for part in begun.headers["set-cookie"].split(";")}
        # `Lax`, as the browser comes back from another site. Without a path it is that of the request: RFC 6265 §5.1.4.
        assert {"HttpOnly", "SameSite=lax", "Max-Age=600"} <= pending and not any("Path" in part for part in pending)
        assert begun.headers["cache-control"] == "no-store" and begun.headers["referrer-policy"] == "no-referrer"
        back = httpx.get(begun.headers["location"]).headers["location"]
        assert back.startswith("https://noetl.example/team/sign-in/return?")
        done = server.client.get(f"/sign-in/return?{urlsplit(back).query}")
        session = next(value for value in done.headers.get_list("set-cookie") if "_sign_in=" not in value)
        assert {"HttpOnly", "SameSite=strict", "Path=/team"} <= {part.strip() for part in session.split(";")}
        for secret in ("ann", "code", *provider.forms[0].values()):
            assert secret not in done.headers["location"]


@pytest.mark.parametrize(
    ("place", "fragment"),
    [
        ("/executions/7?step=a&tab=log", "#/executions/7?step=a&tab=log"), ("", "#/executions"),
        ("//evil.example", "#//evil.example"), ("https://evil.example", "#/executions"), ("\\evil", "#/executions"),
        ("/a\r\nSet-Cookie: x=y", "#/a%0D%0ASet-Cookie:%20x=y"), ("/é#x", "#/%C3%A9%23x"),
        ("/" * 2_000, "#" + "/" * 1_000),
        ("/sign-in?failed=role", "#/executions"), ("javascript:alert(1)", "#/executions"),
    ],
)  # fmt: skip
def test_it_goes_on_where_it_was_and_nowhere_else(
    tmp_path: Path, provider: Provider, place: str, fragment: str
) -> None:
    """An address of another site would make the sign-in one of its tricks (RFC 9700 §4.11)."""
    with serving(tmp_path, provider) as server:
        assert signs_in(server, place=place) == f"../{fragment}"


def test_who_has_no_role_is_told_so_and_not_sent_round(tmp_path: Path, provider: Provider) -> None:
    with serving(tmp_path, provider) as server:
        for person in (
            {"sub": "7", "email": "bob@example.org", "email_verified": True},
            {"sub": "8", "email": "ann@example.org", "email_verified": False},
            {"sub": "9", "email": "ann@example.org"},
        ):
            provider.person = person
            assert failed(server.client.get(at_provider(server))) == "role"
            assert me(server) == {"status": 401}
        assert audited(server)[-1][2:] == (
            "refused", "", "no rule gives a role to bob@example.org (`sub` 7)",
        )  # fmt: skip
        provider.person = {"sub": "7", "email": "ann@example.org", "email_verified": True}
        assert signs_in(server, afresh="true") == "../#/executions"
        assert provider.queries[-1]["prompt"] == "login" and "prompt" not in provider.queries[0]


class TestWhatComesBack:
    """The response of the provider, as others would have it."""

    def test_another_browser_cannot_finish_it(self, tmp_path: Path, provider: Provider) -> None:
        """RFC 9700 §4.7: else whoever began it signs somebody else in as himself."""
        with serving(tmp_path, provider) as server:
            mine = at_provider(server)
            server.client.cookies.clear()
            assert failed(server.client.get(mine)) == "state"
            at_provider(server)  # another browser, with a sign-in of its own
            assert failed(server.client.get(mine)) == "state"
            assert provider.forms == []
            assert {row[4] for row in audited(server)} == {
                "no sign-in was begun in this browser within the last ten minutes"
            }

    def test_what_is_sent_twice_or_altered(self, tmp_path: Path, provider: Provider) -> None:
        with serving(tmp_path, provider) as server:
            back = at_provider(server)
            query = query_of(back)
            for text in (
                back + "&code=another", back + "&state=x", back + "&iss=x", back.replace(query["state"], "x"),
                back.replace("state=", "sttae="), back.replace("iss=", "sis="), f"{back}&error=x",
                "/sign-in/return?state=%C3%A9&code=1", "/sign-in/return",
            ):  # fmt: skip
                assert failed(server.client.get(text)) in ("state", "provider"), text
            evil = "/sign-in/return?" + str(httpx.QueryParams({**query, "iss": "https://evil.example"}))
            assert failed(server.client.get(evil)) == "state"  # RFC 9207: of another provider
            assert provider.forms == []
            assert failed(server.client.get(back.replace(query["code"], ""))) == "provider"
            assert failed(server.client.get(back.replace(query["code"], "a" * 5_000))) == "provider"
            assert provider.forms == []

    def test_a_code_counts_once(self, tmp_path: Path, provider: Provider) -> None:
        with serving(tmp_path, provider) as server:
            back = at_provider(server)
            kept = {one.name: one.value or "" for one in server.client.cookies.jar}
            assert server.client.get(back).headers["location"] == "../#/executions"
            server.client.post("/sign-out", json={})
            assert failed(server.client.get(back)) == "state", "the cookie of the sign-in is gone"
            server.client.cookies.update(kept)
            assert failed(server.client.get(back)) == "provider"

    def test_somebody_elses_code_is_refused(self, tmp_path: Path, provider: Provider) -> None:
        """RFC 9700 §4.5: it is of another sign-in, whose verifier only that one has, and its token another nonce."""
        with serving(tmp_path, provider) as server:
            theirs = query_of(at_provider(server))["code"]
            server.client.cookies.clear()
            mine = at_provider(server)
            assert failed(server.client.get(mine.replace(query_of(mine)["code"], theirs))) == "provider"
            assert "answered 400 (invalid_grant)" in server.said[0] and theirs not in "".join(server.said)

    def test_a_sign_in_has_ten_minutes(
        self, tmp_path: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with serving(tmp_path, provider) as server:
            back, now = at_provider(server), time.time()
            pending = server.client.app.state.oidc.pending  # type: ignore[attr-defined]
            monkeypatch.setattr(pending, "_now", lambda: now + 601)
            assert failed(server.client.get(back)) == "state"
            monkeypatch.setattr(pending, "_now", lambda: now + 590)
            assert server.client.get(back).headers["location"] == "../#/executions"

    @pytest.mark.parametrize(
        ("error", "reason"), [("access_denied", "denied"), ("server_error", "provider"), ("<script>", "provider")]
    )
    def test_the_provider_refuses(self, tmp_path: Path, provider: Provider, error: str, reason: str) -> None:
        provider.denied = error
        with serving(tmp_path, provider) as server:
            assert failed(server.client.get(at_provider(server))) == reason
            assert "script" not in audited(server)[0][4]


class TestWhatTheTokenSays:
    """A token that proves nothing lets nobody in."""

    @pytest.mark.parametrize(
        "more",
        [
            {"iss": "https://evil.example"}, {"aud": "other"}, {"aud": [CLIENT, "other"]}, {"azp": "other"},
            {"exp": 1}, {"iat": 1}, {"iat": 9_999_999_999}, {"nonce": "of another sign-in"}, {"sub": ""},
        ],
    )  # fmt: skip
    def test_claims(self, tmp_path: Path, provider: Provider, more: dict[str, Any]) -> None:
        provider.made = lambda claims: token_of({**claims, **more}, provider.signer)
        with serving(tmp_path, provider) as server:
            assert failed(server.client.get(at_provider(server))) == "token"
            assert me(server) == {"status": 401} and "proves nothing" in server.said[0]

    def test_a_signature(self, tmp_path: Path, provider: Provider) -> None:
        forger = RsaSigner("one")
        with serving(tmp_path, provider) as server:
            for made in (
                lambda claims: token_of(claims, forger),
                lambda claims: token_of(claims, provider.signer).rpartition(".")[0] + ".",
                lambda claims: token_of(claims, forger, alg="none").rpartition(".")[0] + ".",
            ):
                provider.made = made
                assert failed(server.client.get(at_provider(server))) == "token"

    def test_keys_that_were_changed(self, tmp_path: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
        """Core §10.1.1: a token under a name that is not known has the keys asked for again, now and then."""
        with serving(tmp_path, provider) as server:
            signs_in(server)
            signs_in(server)
            assert provider.asks.count("/keys") == 1
            provider.signer = RsaSigner("two")
            provider.keys = [provider.signer.jwk()]
            assert failed(server.client.get(at_provider(server))) == "token", "they were asked for a moment ago"
            assert provider.asks.count("/keys") == 1
            monkeypatch.setattr(oidc_provider, "AGAIN", 0.0)
            assert signs_in(server) == "../#/executions"
            assert provider.asks.count("/keys") == 2
            provider.made = lambda claims: token_of(claims, RsaSigner("three"))
            assert failed(server.client.get(at_provider(server))) == "token"
            assert provider.asks.count("/keys") == 3


class TestAProviderThatErrs:
    """A provider that is away, slow, or says what cannot be used: the page says so, and the server's log says more."""

    def test_it_is_away(self, tmp_path: Path) -> None:
        with providing() as gone:
            pass
        with serving(tmp_path, gone) as server:
            for _ in range(3):
                assert failed(server.client.get("/sign-in/oidc")) == "provider"
            assert "no connection" in server.said[0]
            assert server.client.get("/me", headers={"authorization": "Bearer secret"}).status_code == 200

    def test_it_comes_back(self, tmp_path: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
        discovery = "/.well-known/openid-configuration"
        provider.instead[discovery] = Reply(503)
        with serving(tmp_path, provider) as server:
            assert failed(server.client.get("/sign-in/oidc")) == "provider"
            assert failed(server.client.get("/sign-in/oidc")) == "provider"
            assert provider.asks == [discovery], "one that failed is left alone for some seconds"
            monkeypatch.setattr(oidc_provider, "AGAIN", 0.0)
            provider.instead.clear()
            assert signs_in(server) == "../#/executions"

    def test_it_is_slow(self, tmp_path: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
        gone_on = threading.Event()

        def slow() -> Reply:
            gone_on.wait(300)
            return Reply(200)

        with serving(tmp_path, provider) as server:
            back = at_provider(server)
            provider.instead["/token"] = slow
            monkeypatch.setattr(oidc_provider, "SECONDS", 0.2)
            assert failed(server.client.get(back)) == "provider"
            gone_on.set()
            assert "in time" in server.said[0]

    def test_it_is_slow_each_time(self, tmp_path: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
        """Whoever waits behind others for the same keys does not wait for all of them."""

        gone_on = threading.Event()

        def slow() -> Reply:
            gone_on.wait(300)
            return Reply(500)

        with serving(tmp_path, provider) as server:
            back = at_provider(server)
            provider.instead["/keys"] = slow
            monkeypatch.setattr(oidc_sign_in, "SECONDS_IN_ALL", 0.2)
            assert failed(server.client.get(back)) == "provider"
            gone_on.set()
            assert "more than 0.2 s" in server.said[0]

    @pytest.mark.parametrize("path", ["/.well-known/openid-configuration", "/token", "/keys"])
    @pytest.mark.parametrize(
        ("reply", "why"),
        [
            (Reply(200, b"[" * 300_000), "more than 262144 bytes"), (Reply(200, b"<html>"), "no JSON object"),
            (Reply(200, b"[]"), "no JSON object"), (Reply(500, b"\xff"), "answered 500"),
            (Reply(200, b'{"a": NaN}'), "no JSON object"), (Reply(200, b"[" * 100_000), "no JSON object"),
            (Reply(302, b"", (("Location", "http://127.0.0.1:9/"),)), "answered 302"),
            (Reply(400, b'{"error": "a secret: with +signs/"}'), "answered 400"), (Reply(200, b"{}"), ""),
        ],
        ids=lambda value: "" if isinstance(value, Reply) else value[:12],
    )  # fmt: skip
    def test_what_it_says_cannot_be_used(
        self, tmp_path: Path, provider: Provider, path: str, reply: Reply, why: str
    ) -> None:
        provider.instead[path] = reply
        with serving(tmp_path, provider) as server:
            begun = server.client.get("/sign-in/oidc")
            if path.startswith("/."):
                assert failed(begun) == "provider"
            else:
                back = httpx.get(begun.headers["location"]).headers["location"].removeprefix(HOST)
                assert failed(server.client.get(back)) == "provider"
            (line,) = server.said
            assert why in line and SECRET not in line

    @pytest.mark.parametrize(
        "more",
        [
            {"issuer": "https://evil.example"}, {"issuer": None}, {"token_endpoint": None}, {"jwks_uri": "keys"},
            {"token_endpoint": "http://evil.example/token"}, {"authorization_endpoint": "javascript:alert(1)"},
            {"end_session_endpoint": "file:///etc/passwd"}, {"jwks_uri": "https://[::1/keys"},
            {"authorization_endpoint": "https://h.example/a\r\nX: y"}, {"jwks_uri": "https://h.example/#x"},
        ],
    )  # fmt: skip
    def test_metadata_that_lead_elsewhere(self, tmp_path: Path, provider: Provider, more: dict[str, Any]) -> None:
        provider.metadata |= more
        with serving(tmp_path, provider) as server:
            assert failed(server.client.get("/sign-in/oidc")) == "provider"

    def test_many_wait_for_it(self, tmp_path: Path, provider: Provider) -> None:
        with serving(tmp_path, provider) as server:
            back = at_provider(server)
            oidc = server.client.app.state.oidc  # type: ignore[attr-defined]
            oidc._at_once = MOST_AT_ONCE
            assert failed(server.client.get(back)) == "busy"
            oidc._at_once = 0
            assert server.client.get(back).headers["location"] == "../#/executions"
            assert oidc._at_once == 0


def test_a_provider_that_wants_the_secret_in_the_body(tmp_path: Path, provider: Provider) -> None:
    provider.metadata["token_endpoint_auth_methods_supported"] = ["client_secret_post", "private_key_jwt"]
    with serving(tmp_path, provider) as server:
        assert signs_in(server) == "../#/executions"
        assert provider.forms[0]["client_secret"] == SECRET


def test_a_public_client_has_no_secret(tmp_path: Path, provider: Provider) -> None:
    """PKCE is what keeps its codes to it (RFC 7636)."""
    provider.metadata["token_endpoint_auth_methods_supported"] = ["none"]
    with serving(tmp_path, provider, secret="") as server:
        assert signs_in(server) == "../#/executions"
        assert "client_secret" not in provider.forms[0] and provider.forms[0]["client_id"] == CLIENT


def test_a_provider_that_does_not_name_itself(tmp_path: Path, provider: Provider) -> None:
    """RFC 9207 §2.4: what it sends all the same has to be right."""
    del provider.metadata["authorization_response_iss_parameter_supported"]
    with serving(tmp_path, provider) as server:
        query = query_of(at_provider(server))
        evil = httpx.QueryParams({**query, "iss": "https://evil.example"})
        assert failed(server.client.get(f"/sign-in/return?{evil}")) == "state"
        query = {name: value for name, value in query_of(at_provider(server)).items() if name != "iss"}
        done = server.client.get("/sign-in/return", params=query)
        assert done.headers["location"] == "../#/executions"


def test_a_wrong_secret_is_told_in_the_log(tmp_path: Path, provider: Provider) -> None:
    with serving(tmp_path, provider, secret="of yesterday") as server:
        assert failed(server.client.get(at_provider(server))) == "provider"
        assert "answered 401 (invalid_client)" in server.said[0] and "of yesterday" not in server.said[0]


def test_a_provider_without_a_place_to_sign_out(tmp_path: Path, provider: Provider) -> None:
    del provider.metadata["end_session_endpoint"]
    with serving(tmp_path, provider) as server:
        signs_in(server)
        assert server.client.post("/sign-out", json={}).json() == {"signed_in": False, "end_session": None}
        assert me(server) == {"status": 401}


def test_another_site_signs_nobody_out(tmp_path: Path, provider: Provider) -> None:
    with serving(tmp_path, provider) as server:
        signs_in(server)
        for head in ({"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}):
            assert server.client.post("/sign-out", json={}, headers=head).status_code == 403
            assert server.client.post("/executions/e/cancel", json={}, headers=head).status_code == 403
        assert me(server)["name"] == "ann@example.org"


def test_what_is_recorded_has_no_secrets(tmp_path: Path, provider: Provider) -> None:
    with serving(tmp_path, provider) as server:
        back = at_provider(server)
        server.client.get(back)
        rows = json.dumps(audited(server))
        for secret in (query_of(back)["code"], query_of(back)["state"], provider.forms[0]["code_verifier"], SECRET):
            assert secret not in rows
