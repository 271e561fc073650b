"""The page at `/`: its files, the policy that holds for them, and its sessions."""

import gzip
import re
import shutil
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path

import pytest
from starlette.requests import HTTPConnection
from starlette.responses import Response

from goldens import ROOT
from harness.pace import allowed
from harness.serving import Served, served
from noetl.api.bearer_tokens import ROLES, BearerToken, digest_of
from noetl.api.page_sessions import LASTS, PageSessions
from noetl.api.static_page import FILES, POLICY

FOLDER = ROOT / "runtime" / "noetl" / "page"
UNLIMITED = {"expires": None, "paths": [], "pools": [], "issuer": None}
TOKENS = [BearerToken(role, role, digest_of(f"secret-{role}")) for role in ROLES]
SCRIPTS = sorted(path.name for path in FOLDER.glob("*.js"))
COMPRESSED = 150_000
"""The most bytes that the whole page may have, compressed."""


def code(name: str) -> str:
    """A script without its comments and texts."""
    text = (FOLDER / name).read_text(encoding="utf-8")
    return re.sub(r"/\*.*?\*/|//.*|'(?:[^'\\\n]|\\.)*'", "", text, flags=re.DOTALL | re.ASCII)


def test_every_file_of_the_folder_is_served_and_no_other(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        assert sorted(FILES) == sorted(path.name for path in FOLDER.iterdir())
        for name in FILES:
            response = server.client.get(f"/page/{name}")
            assert response.content == (FOLDER / name).read_bytes()
            assert response.headers["content-security-policy"] == POLICY
            assert response.headers["x-content-type-options"] == "nosniff"
        assert server.client.get("/").content == (FOLDER / "index.html").read_bytes()
        for name in ("", "..%2f__init__.py", "%2e%2e%2f__init__.py", "app", "app.js%00", "__init__.py"):
            assert server.client.get(f"/page/{name}", follow_redirects=False).status_code == 404, name


def test_files_are_asked_for_again_and_not_sent_again(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        first = server.client.get("/page/app.js", headers={"accept-encoding": "br, gzip;q=0.8"})
        assert first.headers["content-encoding"] == "gzip" and first.headers["cache-control"] == "no-cache"
        again = server.client.get("/page/app.js", headers={"if-none-match": first.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        plain = server.client.get("/page/app.js", headers={"accept-encoding": "identity"})
        assert "content-encoding" not in plain.headers and plain.content == first.content


def test_the_page_is_small_and_loads_nothing_from_elsewhere() -> None:
    assert sum(len(gzip.compress((FOLDER / name).read_bytes())) for name in FILES) < COMPRESSED
    for name in FILES:
        text = (FOLDER / name).read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://|//\w+\.\w|@import|url\(", text), name
        assert not re.search(r"(?:src|href)=\"/", text), f"{name}: an address that begins with / leaves a prefix"


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_only_ever_set_text(name: str) -> None:
    words = set(re.findall(r"[A-Za-z_$][\w$]*", code(name)))
    assert words.isdisjoint({"innerHTML", "outerHTML", "insertAdjacentHTML", "srcdoc", "eval", "Function", "var"})
    assert words.isdisjoint({"localStorage", "sessionStorage", "cookie", "WebSocket"})
    assert not re.search(r"document\.write|(?<![=!])==(?!=)|!=(?!=)", code(name))


@pytest.mark.parametrize("name", SCRIPTS)
@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_scripts_parse(name: str) -> None:
    words = ["node", "--input-type=module", "--check"]
    done = subprocess.run(words, input=(FOLDER / name).read_bytes(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


def signed_in(server: Served, role: str) -> str:
    """Sign the client in; the header that did it."""
    response = server.client.post("/sign-in", json={"token": f"secret-{role}"})
    assert response.status_code == 200, response.text
    return str(response.headers["set-cookie"])


def test_a_token_becomes_a_cookie_that_no_script_and_no_other_site_has(tmp_path: Path) -> None:
    with served(tmp_path, *TOKENS, host="https://noetl.example/") as server:
        header = signed_in(server, "viewer")
        assert {"HttpOnly", "SameSite=strict", "Secure"} <= {part.strip() for part in header.split(";")}
        # RFC 6265 §5.1.4: without a path it is that of the request, which has a proxy's prefix in it.
        assert "path" not in header.lower() and "secret" not in header
        assert server.client.get("/me").json() == {"name": "viewer", "role": "viewer", "operates": False, **UNLIMITED}
    with served(tmp_path / "plain", *TOKENS) as server:
        assert "secure" not in signed_in(server, "admin").lower()
        assert server.client.get("/me").json()["operates"] is True


@pytest.mark.parametrize(("scheme", "encrypted"), [("http", True), ("https", False), ("https", True)])
def test_what_is_sent_over_tls_is_sent_over_nothing_else(scheme: str, encrypted: bool) -> None:
    """Behind a proxy the scheme is what that says, and most say nothing, or are not on this machine."""
    sessions, response = PageSessions(lambda: b"k" * 32, encrypted=encrypted), Response()
    asked = HTTPConnection({"type": "http", "headers": [], "scheme": scheme, "path": "/", "server": ("h", 80)})
    sessions.begin_session(response, asked, TOKENS[0])
    assert "Secure" in response.headers["set-cookie"].split("; ")


@pytest.mark.parametrize("role", ROLES)
def test_a_session_may_what_its_token_may(tmp_path: Path, role: str) -> None:
    with served(tmp_path, *TOKENS) as server:
        asks = (("GET", "/executions"), ("POST", "/executions/e/cancel"), ("PUT", "/blobs/e"))
        head = {"authorization": f"Bearer secret-{role}"}
        by_token = [server.client.request(*one, headers=head).status_code for one in asks]
        assert {server.client.request(*one).status_code for one in asks} == {401}
        signed_in(server, role)
        assert [server.client.request(*one).status_code for one in asks] == by_token
        wrong = {"authorization": "Bearer wrong"}
        assert server.client.get("/executions", headers=wrong).status_code == 401, "a token that is sent is what counts"
        assert server.client.post("/executions/e/cancel", headers={"origin": "http://x.example"}).status_code == 403


def test_a_session_ends(tmp_path: Path) -> None:
    """By signing out, with its token, and by time; and one of another store, or a changed one, is none."""
    with served(tmp_path, *TOKENS) as server:
        name, value = signed_in(server, "viewer").partition(";")[0].split("=")
        assert server.client.get("/me").status_code == 200
        server.client.post("/sign-out", json={})
        assert server.client.get("/me").status_code == 401
        end, code = value.split(".")
        later = f"{int(end) + 1}.{code}"
        for text in (later, f"{end}.", f"{end}.{code[:-1]}", "", ".", f"{'9' * 30}.{code}", f"x.{code}", f"٣.{code}"):
            cookie = f"{name}={text}".encode()
            assert server.client.get("/me", headers={"cookie": cookie}).status_code == 401, text  # type: ignore[dict-item]
        assert server.client.get("/me", headers={"cookie": f"{name}={value}"}).status_code == 200
    with served(tmp_path, *TOKENS) as server:  # started again
        assert server.client.get("/me", headers={"cookie": f"{name}={value}"}).status_code == 200
    with served(tmp_path, *TOKENS[1:]) as server:  # without the viewer's token
        assert server.client.get("/me", headers={"cookie": f"{name}={value}"}).status_code == 401
    with served(tmp_path / "other", *TOKENS) as server:
        assert server.client.get("/me", headers={"cookie": f"{name}={value}"}).status_code == 401


def test_a_session_lasts_for_its_hours_and_no_longer() -> None:
    now = [1_000_000.0]
    sessions = PageSessions(lambda: b"k" * 32, lambda: now[0])

    class Sent:
        cookie = ""

        def set_cookie(self, name: str, value: str, **_: object) -> None:
            self.cookie = f"{name}={value}"

    sent = Sent()
    bare = HTTPConnection({"type": "http", "headers": [], "scheme": "http", "path": "/", "server": ("h", 80)})
    sessions.begin_session(sent, bare, TOKENS[0])  # type: ignore[arg-type]
    back = HTTPConnection({"type": "http", "headers": [(b"cookie", sent.cookie.encode())]})
    assert sessions.token_of(back, TOKENS) == TOKENS[0]
    now[0] += LASTS - 1
    assert sessions.token_of(back, TOKENS) == TOKENS[0]
    now[0] += 1
    assert sessions.token_of(back, TOKENS) is None


def test_the_key_of_sessions_is_asked_once() -> None:
    """Every request without a token is looked up among the sessions: it must not cost a question to the store."""
    asked: list[bytes] = []

    def key() -> bytes:
        asked.append(b"k" * 32)
        return asked[-1]

    sessions = PageSessions(key)
    nobody = HTTPConnection({"type": "http", "headers": [(b"cookie", b"x=y")]})
    assert [sessions.token_of(nobody, TOKENS) for _ in range(3)] == [None] * 3
    assert len(asked) == 1


def test_guessing_a_token_is_slowed_down(tmp_path: Path) -> None:
    with served(tmp_path, *TOKENS) as server:
        codes = {server.client.post("/sign-in", json={"token": f"guess {n}"}).status_code for n in range(120)}
        assert codes == {401, 429}
        assert server.client.post("/sign-in", json={"token": "secret-viewer"}).status_code == 200


def test_without_tokens_nobody_signs_in(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        assert server.client.get("/me").json() == {"name": None, "role": "admin", "operates": True, **UNLIMITED}
        assert server.client.post("/sign-in", json={"token": "x"}).status_code == 401


def test_a_page_of_10_000_executions_is_listed_in_200_ms_of_a_processor(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        with closing(sqlite3.connect(tmp_path / "noetl.db")) as there, there:  # one commit, not one for each
            there.executemany(
                "INSERT INTO executions (execution_id, playbook, plan_digest, status, started, ended)"
                " VALUES (?, ?, 'd', 'completed', ?, ?)",
                [(f"{n:019}", f"shop/{n % 7}", n, n + 5) for n in range(10_000)],
            )
        for query in ("", "&status=failed", "&text=shop/3", "&top=true", f"&before={5_000:019}", "&text=nowhere"):
            took = []
            for _ in range(3):
                began = time.process_time()
                found = server.client.get(f"/executions?limit=100&now=true{query}").json()["executions"]
                took.append(time.process_time() - began)
            assert len(found) == (0 if "failed" in query or "nowhere" in query else 100)
            assert min(took) < allowed(0.1), query
