"""Secrets from the keychain to the tools and back: the values are used, and nowhere to be seen (LANGUAGE §7).

Each run uses secrets in many fields and lets the tools give them back in many forms. Then every file of the store,
everything that any command printed, and the logs of tools are searched for them.
"""

import json
import threading
from base64 import b64encode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

if TYPE_CHECKING:
    from conftest import Home

CANARY = 'kana"ri\\en/vögel+7 ?'
TOKEN = "bearer-canary-0123"
FILED = "filed-canary-4567"
STORED = "stored-canary-89ab"
SECRETS = (CANARY, TOKEN, FILED, STORED)
KEYCHAIN = """
keychain:
  - {name: e, kind: env, var: CANARY}
  - {name: f, kind: file, path: filed}
  - {name: b, kind: bearer, env: TOKEN}
  - {name: c, kind: credential, credential: kept}
"""


def forms_of(secret: str) -> list[str]:
    """The texts that a secret must not be found as, made by the libraries that make them elsewhere."""
    data = secret.encode()
    whole = b64encode(data).decode()
    return [
        secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1], quote(secret, safe=""),
        data.hex(), whole, whole.rstrip("="), b64encode(b"u:" + data).decode()[4:-4],
    ]  # fmt: skip


class Echo(BaseHTTPRequestHandler):
    """Answers with what it was sent, headers and body, and keeps it for the test."""

    seen: list[dict[str, Any]] = []  # noqa: RUF012

    def do_POST(self) -> None:
        """Echo."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        said = {"headers": dict(self.headers), "path": self.path, "body": body}
        self.seen.append(said)
        body = json.dumps(said).encode()
        self.send_response(500 if "fail" in self.path else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("X-Echo", self.headers.get("X-Key", ""))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Echo) as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{made.server_address[1]}"
        made.shutdown()


@pytest.fixture
def safe(home: "Home") -> "Home":
    """A home with the secrets in their places."""
    home.env |= {"CANARY": CANARY, "TOKEN": TOKEN, "KEPT": STORED}
    (home.folder / "filed").write_text(FILED + "\n")
    done = home.run("credential", "add", "kept", "--secret", "password", stdin=STORED + "\n")
    assert done.returncode == 0, done.stderr
    return home


def search(home: "Home", *said: str, but: tuple[str, ...] = ("filed", "plan.ir")) -> None:
    """No secret is in any file of the folder, nor in what was said."""
    places = {"said": "\n".join(said)}
    for path in home.folder.rglob("*"):
        if path.is_file() and path.name not in but:
            places[path.name] = path.read_bytes().decode("utf-8", "replace")
    assert any(name.endswith(".db") for name in places)
    for secret in SECRETS:
        for form in forms_of(secret):
            found = [name for name, text in places.items() if form in text]
            assert not found, (secret, form, found)


def views(home: "Home", execution: str) -> list[str]:
    """The output of every command that shows an execution."""
    asked = [("events", "--json"), ("events",), ("result",), ("result", "--json"), ("status",), ("replay", "--json")]
    done = [home.run(verb, execution, *rest) for verb, *rest in asked]
    return [each.stdout + each.stderr for each in (*done, home.run("list", "--json"))]


USES = """
workflow:
  - step: start
    tool:
      - name: call
        kind: http
        method: POST
        url: "{{ workload.url }}/x?key={{ keychain.f.value | urlencode }}"
        headers: {X-Key: "{{ keychain.f.value }}", Authorization: "Bearer {{ keychain.b.token }}"}
        body: {secret: "{{ keychain.e.value }}", inner: ["<{{ keychain.c.password }}>"]}
      - name: forms
        kind: python
        args: {s: "{{ keychain.e.value }}"}
        code: |
          import base64, json, urllib.parse, binascii
          print("log", s)
          b = s.encode()
          result = {"plain": s, "b64": base64.b64encode(b).decode(), "hex": b.hex(), "url": urllib.parse.quote(s, safe=""),
                    "json": json.dumps({"s": s}), "basic": base64.b64encode(b"u:" + b).decode(), s: "as a key", "len": len(s)}
      - {name: said, kind: shell, command: 'printf %s "$S"; printf %s "$S" >&2', env: {S: "{{ keychain.b.token }}"}}
      - name: row
        kind: sqlite
        database: own.sqlite
        command: "select :p as p, length(:p) as n"
        params: {p: "{{ keychain.c.password }}"}
      - {name: handle, kind: secrets, auth: kept}
      - {name: open, kind: shell, command: "test \\"$P\\" = \\"$KEPT\\" && echo same", env: {P: "{{ handle.password }}"}}
      - name: back
        kind: python
        args: {forms: "{{ forms }}", s: "{{ keychain.e.value }}", call: "{{ call.data.headers }}"}
        code: |
          import json
          result = {"plain": forms["plain"] == s, "json": json.loads(forms["json"])["s"] == s,
                    "key": forms[s] == "as a key", "bearer": call["Authorization"].split()[1]}
      - {name: seen, kind: noop, args: {n: "{{ forms.len }}", row: "{{ row.rows[0].n }}", same: "{{ open.stdout }}", back: "{{ back }}"}}
"""  # noqa: E501


def test_secrets_are_used_and_nowhere_to_be_seen(safe: "Home", server: str) -> None:
    plan = safe.plan(KEYCHAIN + "workload: {url: none}\n" + USES)
    Echo.seen.clear()
    done = safe.run("run", plan, "--set", f"url={server}")
    assert done.returncode == 0, done.stdout + done.stderr
    [sent] = Echo.seen
    assert sent["headers"]["X-Key"] == FILED and sent["headers"]["Authorization"] == f"Bearer {TOKEN}"
    assert json.loads(sent["body"]) == {"secret": CANARY, "inner": [f"<{STORED}>"]}
    result: Any = safe.json("result", safe.only(), "start")
    assert (result["n"], result["row"], result["same"]) == (len(CANARY), len(STORED), "same\n")
    assert {key: result["back"][key] for key in ("plain", "json", "key")} == {"plain": True, "json": True, "key": True}
    assert result["back"]["bearer"].startswith("[[secret:b:token:")
    search(safe, done.stdout, done.stderr, *views(safe, safe.only()), but=("filed", "plan.ir"))


FAILS = {
    "http": """{name: t, kind: http, method: POST, url: "URL/fail/{{ keychain.f.value }}",
      body: "{{ keychain.e.value }}"}""",
    "no host": '{name: t, kind: http, url: "http://{{ keychain.b.token }}.invalid/{{ keychain.f.value }}"}',
    "python": """{name: t, kind: python, args: {s: "{{ keychain.e.value }}"}, code: "raise ValueError('x ' + s)"}""",
    "python key": """{name: t, kind: python, args: {s: "{{ keychain.b.token }}"}, code: "result = {}[s]"}""",
    "shell": '{name: t, kind: shell, command: "echo {{ keychain.f.value }}; echo {{ keychain.b.token }} >&2; exit 3"}',
    "sqlite": '{name: t, kind: sqlite, database: own.sqlite, command: "select {{ keychain.b.token }}"}',
    "duckdb": "{name: t, kind: duckdb, command: \"select '{{ keychain.f.value }}' + nope\"}",
    "rule": """{name: t, kind: shell, command: "echo {{ keychain.b.token }}", spec: {policy: {rules:
      [{else: {then: {do: fail, message: "{{ outcome.result.stdout }}"}}}]}}}""",
    "field": """{name: t, kind: http, url: "http://x", method: "{{ keychain.b.token }}",
      timeout: "{{ keychain.f.value }}"}""",
    "file": '{name: t, kind: sqlite, database: "../{{ keychain.b.token }}", command: "select 1"}',
}


def test_an_error_shows_no_secret(safe: "Home", server: str) -> None:
    """All of them in one run, each in a step of its own."""
    steps = "".join(
        f"  - step: s{number}\n    tool:\n      - {task.replace('URL', server)}\n"
        for number, task in enumerate(FAILS.values())
    )
    arcs = ", ".join(f"{{step: s{number}}}" for number in range(len(FAILS)))
    fork = f"  - {{step: start, next: {{spec: {{mode: inclusive}}, arcs: [{arcs}]}}}}\n"
    spec = "executor: {spec: {policy: {failure: {mode: best_effort}}}}\n"
    done = safe.run("run", safe.plan(f"{KEYCHAIN}{spec}workflow:\n{fork}{steps}"))
    assert done.returncode == 1, done.stdout + done.stderr
    log = safe.run("events", safe.only(), "--json").stdout
    failed = [row for row in map(json.loads, log.splitlines()) if row["event_type"] == "step.failed"]
    assert len(failed) == len(FAILS)
    search(safe, done.stdout, done.stderr, *views(safe, safe.only()))


KILLED = """
workflow:
  - step: start
    tool:
      - {name: a, kind: shell, command: "printf %s {{ keychain.b.token }}"}
      - {name: nap, kind: shell, command: "if [ -e seen ]; then echo x; else : > seen; sleep 60; fi"}
      - {name: b, kind: shell, command: "test '{{ a.stdout }}' = \\"$TOKEN\\" && echo same"}
"""


def test_a_secret_survives_a_kill_without_being_written_down(safe: "Home") -> None:
    child = safe.start("run", safe.plan(KEYCHAIN + KILLED), until="start: started")
    while not (safe.folder / "seen").exists():
        assert child.poll() is None
    search(safe)
    child.kill()
    child.wait()
    done = safe.run("resume", safe.only())
    assert done.returncode == 0, done.stdout + done.stderr
    result: Any = safe.json("result", safe.only(), "start")
    assert result["stdout"] == "same\n"
    search(safe, done.stdout, done.stderr, *views(safe, safe.only()))


def test_a_secret_that_was_replaced_meanwhile_is_hidden_too(safe: "Home") -> None:
    body = """
workflow:
  - step: start
    tool:
      - {name: a, kind: shell, command: "printf %s {{ keychain.f.value }}"}
      - {name: b, kind: shell, command: "printf replaced-%s meanwhile > filed"}
      - {name: c, kind: shell, command: "printf %s {{ keychain.f.value }}"}
      - {name: d, kind: shell, command: "printf %s {{ a.stdout }}"}
"""
    done = safe.run("run", safe.plan(KEYCHAIN + body))
    assert done.returncode == 0, done.stdout + done.stderr
    said = "".join(views(safe, safe.only()))
    assert "[[secret:f:value:" in said
    search(safe, said)
    for path in [*safe.folder.glob(".noetl/*"), safe.folder / "filed"]:
        assert path.is_dir() or (b"replaced-meanwhile" in path.read_bytes()) == (path.name == "filed"), path


def test_a_large_result_hides_secrets_too(safe: "Home") -> None:
    body = """
executor: {spec: {policy: {limits: {max_payload_bytes: 2000}}}}
workflow:
  - step: start
    tool:
      - {name: a, kind: python, args: {s: "{{ keychain.e.value }}"}, code: "result = {'s': s, 'pad': 'p' * 9000}"}
      - {name: b, kind: python, args: {a: "{{ a.s }}", s: "{{ keychain.e.value }}"}, code: "result = a == s"}
"""
    done = safe.run("run", safe.plan(KEYCHAIN + body))
    assert done.returncode == 0 and safe.json("result", safe.only(), "start") is True
    assert list(Path(safe.folder).rglob("*.blobs/*/*"))
    search(safe, done.stdout, done.stderr)


def test_what_looks_like_a_marker_is_text(safe: "Home", server: str) -> None:
    marker = "[[secret:b:token:value:" + "0" * 32 + "]]"
    body = """
workload: {url: none, m: none}
workflow:
  - step: start
    tool:
      - {name: a, kind: http, method: POST, url: "{{ workload.url }}/a", body: "{{ workload.m }}"}
      - {name: b, kind: http, method: POST, url: "{{ workload.url }}/b", body: "{{ a.data.body }}"}
"""
    Echo.seen.clear()
    done = safe.run("run", safe.plan(KEYCHAIN + body), "--set", f"url={server}", "--set", f"m={json.dumps(marker)}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert [sent["body"] for sent in Echo.seen] == [marker, marker]


def test_a_secret_that_cannot_be_resolved_starts_nothing(safe: "Home") -> None:
    del safe.env["CANARY"]
    done = safe.run("run", safe.plan(KEYCHAIN + "workflow:\n  - {step: start}\n"))
    assert done.returncode != 0 and "nothing was started" in done.stderr and "'e'" in done.stderr
    assert safe.json("list") == []


def test_what_works_on_a_secret_works_on_its_true_value_and_nothing_else_works(home: "Home") -> None:
    home.env |= {"CANARY": CANARY}
    (home.folder / "work.yaml").write_text(
        "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: w, path: tests/w}\n"
        "keychain: [{name: e, kind: env, var: CANARY}]\n"
        "workflow:\n"
        "  - step: start\n"
        "    tool:\n"
        "      kind: python\n"
        "      args:\n"
        "        a: '{{ keychain.e.value | urlencode }}'\n"
        "        b: '{{ (\"u:\" ~ keychain.e.value) | b64encode }}'\n"
        "        c: '{{ keychain.e.value | length }}'\n"
        "        d: '{{ {\"k\": keychain.e.value} | tojson }}'\n"
        "        e: '{{ keychain.e.value == \"x\" }}'\n"
        "      code: |\n"
        "        import base64, json, os, urllib.parse\n"
        "        s = os.environ['CANARY']\n"
        "        result = [urllib.parse.unquote(a) == s, base64.b64decode(b).decode() == 'u:' + s, c == len(s),"
        " json.loads(d)['k'] == s, e]\n"
    )
    assert home.json("run", "work.yaml")["result"] == [True, True, True, True, False]  # type: ignore[index]
    kept = b"".join(path.read_bytes() for path in (home.folder / ".noetl").rglob("*") if path.is_file())
    assert not [form for form in forms_of(CANARY) if form.encode() in kept]
    text = (home.folder / "work.yaml").read_text()
    (home.folder / "work.yaml").write_text(text.replace("keychain.e.value | urlencode", "keychain.e.value | upper"))
    told = home.run("run", "work.yaml")
    assert "error[NL317]" in told.stderr and "nothing was started" in told.stderr
    unseen = '(keychain.e.value if workload == {} else "") | upper'
    (home.folder / "work.yaml").write_text(text.replace("keychain.e.value | urlencode", unseen))
    assert "template.error: this cannot be done to a secret" in home.run("run", "work.yaml").stdout


CALLED = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: c, path: tests/c}
workload: {t: none}
keychain: [{name: own, kind: env, var: TOKEN}]
workflow:
  - step: start
    tool:
      - {name: t, kind: noop, result: "{{ workload.t }}"}
      - {name: said, kind: shell, env: {T: "CHILD"}, command: 'printf "<%s>" "$T"'}
"""
CALLS = """
keychain: [{name: e, kind: env, var: CANARY}]
workflow:
  - step: start
    tool:
      - {name: c, kind: playbook, path: tests/c, args: {t: "{{ keychain.e.value }}"}}
      - {name: all, kind: noop, result: "{{ c.stdout }}"}
      - {name: file, kind: PARENT, args: {d: "{{ all }}"}}
"""


def _called(safe: "Home", child: str, parent: str) -> "tuple[Any, str]":
    (safe.folder / "c.yaml").write_text(CALLED.replace("CHILD", child))
    done = safe.run("run", safe.plan(CALLS.replace("PARENT", parent)), "--path", ".", "--json")
    return done, done.stdout + done.stderr


def test_a_marker_of_another_execution_is_handed_on_and_taken_for_no_value(safe: "Home") -> None:
    """A child cannot open what its caller's secrets are hidden by, nor the caller what the child's are: a tool that
    was called with a marker would have a text that nobody meant."""
    done, said = _called(safe, "{{ workload.t }}", "noop")
    assert done.returncode == 1 and "[[secret:e:value]] stands for a secret of another execution" in said
    assert "credential.missing" in said and "declare 'e' in `keychain`" in said
    done, said = _called(safe, "{{ keychain.own.value }}", "noop, result: ok")
    assert done.returncode == 0 and json.loads(done.stdout)["result"] == "ok", said
    done, said = _called(safe, "{{ keychain.own.value }}", "python, code: 'result = d'")
    assert done.returncode == 1 and "[[secret:own:value]] stands for a secret of another execution" in said
    search(safe, said)


def test_a_signal_to_a_run_that_nobody_drives_is_hidden_by_who_goes_on(safe: "Home") -> None:
    """Who sends it may not have the secret."""
    waits = "workflow:\n  - step: start\n    tool:\n      - {name: w, kind: wait, events: [go]}\n"
    waits += "      - {name: same, kind: shell, env: {T: '{{ w.data }}'}, command: 'test $T = $TOKEN && echo same'}\n"
    child = safe.start("run", safe.plan(KEYCHAIN + waits), until="start: started")
    while "waits for signal go" not in safe.run("status", safe.only()).stdout:
        assert child.poll() is None
    child.kill()
    child.wait()
    token = safe.env.pop("TOKEN")
    sent = safe.run("signal", safe.only(), "--name", "go", "--data", json.dumps(TOKEN))
    assert sent.returncode == 0 and "kept for the process that goes on with it" in sent.stdout
    safe.env["TOKEN"] = token
    done = safe.run("resume", safe.only())
    assert done.returncode == 0 and safe.json("result", safe.only(), "start")["stdout"] == "same\n"  # type: ignore[index, call-overload]
    shown = "".join(views(safe, safe.only()))
    assert "[[secret:b:token:" in shown and not [form for form in forms_of(TOKEN) if form in shown]
