"""A secret that a server fetches and uses, in every form, and every place that could show it: the API's answers, its
metrics and errors, the log, the files of the store, what was said (LANGUAGE §7).
"""

import json
from base64 import b64encode
from pathlib import Path
from urllib.parse import quote

import pytest

from google_emulator import Google, account, google
from harness.serving import Served, served, until
from noetl.api.routes import ROUTES
from noetl.secrets.credentials import Credentials
from noetl_ir.codec import unpack
from noetl_ir.expr import Json

CLIENT = "s3cret-of-the-client"
TOKEN = "client-token-"  # and a number
MANAGED = 'kana"ri/vögel+01~~>>??ÿÿ ?'  # its base64 has + and /, which the URL-safe one has not
STORED = "stored-canary-89ab"
SECRETS = (CLIENT, MANAGED, STORED)

PLAYBOOK = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: canary, path: hostile/canary}
keychain:
  - {name: o, kind: oauth2, token_url: "URL/token", credential: client}
  - {name: m, kind: secret_manager, provider: google, project: p, endpoint: "URL", credential: robot}
  - {name: c, kind: credential, credential: kept}
executor: {spec: {policy: {failure: {mode: best_effort}, limits: {max_payload_bytes: 3000}}}}
workflow:
  - step: start
    next: {spec: {mode: inclusive}, arcs: [{step: forms}, {step: fails}, {step: waits}, {step: echo}, {step: sends}]}
  - step: forms
    tool:
      - name: forms
        kind: python
        args: {t: "{{ keychain.o.token }}", m: "{{ keychain.m.value }}", c: "{{ keychain.c.password }}"}
        code: |
          import base64, json, urllib.parse
          print("in the log:", t, m, c)
          result = {"pad": "x" * 9000}
          for name, s in {"t": t, "m": m, "c": c}.items():
              b = s.encode()
              result[name] = [s, base64.b64encode(b).decode(), base64.urlsafe_b64encode(b).decode(), b.hex(),
                              urllib.parse.quote(s, safe=""), urllib.parse.quote_plus(s), json.dumps(s), {s: 1}]
          ctx_value = t
        spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {seen: "{{ outcome.result.t }}"}}}}]}}
      - {name: small, kind: noop, args: {again: "{{ forms.m }}"}}
  - step: fails
    tool:
      - name: fails
        kind: shell
        command: 'echo "$M" >&2; exit 3'
        env: {M: "{{ keychain.m.value }} {{ keychain.o.token }}"}
  - step: sends
    tool:
      - {name: s, kind: signal, key: k, signal: told, data: ["{{ keychain.c.password }}", "{{ keychain.o.token }}"]}
      - {name: k, kind: signal, key: "a {{ keychain.m.value }}", signal: told}
  - step: waits
    tool: {name: w, kind: wait, events: [go]}
  - step: echo
    tool:
      - name: e
        kind: http
        url: "URL/v1/projects/p/{{ keychain.o.token }}?x={{ keychain.m.value | urlencode }}"
        auth: c
"""


def forms_of(secret: str) -> list[str]:
    """The texts that a secret must not be found as."""
    data = secret.encode()
    whole = b64encode(data).decode()
    return [
        secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1], quote(secret, safe=""),
        data.hex(), whole, whole.rstrip("="), whole.replace("+", "-").replace("/", "_"),
        b64encode(b"u:" + data).decode()[4:-4],
    ]  # fmt: skip


def responses(server: Served, execution: str) -> dict[str, str]:
    """The responses, with their headers, of every operation that looks, and of some that refuse."""
    values = {"execution_id": execution, "path:path": "hostile/canary", "digest": "0" * 64, "worker": "w"}
    found = {}
    for row in ROUTES:
        if row.method == "GET":
            path = row.path
            for name, value in values.items():
                path = path.replace(f"{{{name}}}", value)
            steps = ["?step=forms", "?step=echo", ""] if path.endswith("/result") else [""]
            for query in steps:
                done = server.client.get(path + query)
                found[path + query] = done.content.decode("utf-8", "replace") + str(done.headers)
    for record in server.runtime.store.read(execution):
        for reference in references(unpack(record.body)):
            asked = {name: part for name, part in reference.items() if name != "projected"}
            blob = server.client.post("/blobs", json={"reference": asked})
            assert blob.status_code == 200, blob.text
            found[f"blob {reference['key']}"] = blob.content.decode("utf-8", "replace")
    for mistake in ("/executions/no", "/executions?limit=x", "/playbooks/no"):
        found[mistake] = server.client.get(mistake).text
    return found


def references(value: Json) -> list[dict[str, Json]]:
    """The references in some JSON."""
    if isinstance(value, dict):
        return ([value] if value.get("__ref__") is True else []) + [
            r for part in value.values() for r in references(part)
        ]
    return [r for part in value for r in references(part)] if isinstance(value, list) else []


@pytest.fixture
def canaries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Credentials:
    monkeypatch.delenv("NOETL_CREDENTIAL_KEY", raising=False)
    return Credentials(str(tmp_path / "credentials.db"))


def test_a_secret_is_used_by_a_server_and_shows_up_nowhere(tmp_path: Path, canaries: Credentials) -> None:
    with google() as url:
        Google.secrets["projects/p/secrets/m/versions/latest"] = MANAGED.encode()
        with served(tmp_path) as server:
            canaries = Credentials(server.runtime.secrets_path)
            canaries.add_credential("client", "oauth2", {"client_id": "id", "client_secret": CLIENT})
            canaries.add_credential("kept", "login", {"username": "u", "password": STORED})
            canaries.add_credential("robot", "google", account(url))
            text = PLAYBOOK.replace("URL", url)
            assert server.client.post("/playbooks?name=canary.yaml", content=text).status_code == 201
            canaries.delete("kept")
            refused = server.client.post("/executions", json={"path": "hostile/canary"})
            assert refused.status_code == 409, "what cannot be resolved starts nothing"
            assert "keychain entry 'c'" in refused.json()["detail"] and TOKEN not in refused.text
            canaries.add_credential("kept", "login", {"username": "u", "password": STORED})
            assert server.client.get("/executions").json()["executions"] == []
            done = server.client.post("/executions", json={"path": "hostile/canary"})
            assert done.status_code == 201, done.text
            execution = done.json()["execution_id"]
            looked = f"/executions/{execution}/events?limit=500"
            until(lambda: server.client.get(looked).text.count("step.failed") >= 3)
            assert "field 'key' holds a secret" in server.client.get(looked).text
            until(lambda: "small" in server.client.get(looked).text)
            texts = responses(server, execution)
            server.client.post(f"/executions/{execution}/signal", json={"name": "go", "data": {"a": 1}})
            until(lambda: server.client.get(f"/executions/{execution}/row").json()["status"] != "running")
            texts |= {f"after {name}": text for name, text in responses(server, execution).items()}
            said = list(server.said)
        sent, issued = [asked["path"] for asked in Google.asked], tuple(Google.tokens)
    assert any(path.startswith(f"/v1/projects/p/{TOKEN}") for path in sent), "the tool did not get the secret"
    assert any(token.startswith(TOKEN) for token in issued)
    assert any("[[secret:" in text for name, text in texts.items() if "blob" in name)
    places = {**texts, "said": "\n".join(said)}
    for path in tmp_path.rglob("*"):
        if path.is_file():
            places[str(path)] = path.read_bytes().decode("utf-8", "replace")
    for secret in (*SECRETS, *issued):
        for form in forms_of(secret):
            assert [name for name, text in places.items() if form in text] == [], form
