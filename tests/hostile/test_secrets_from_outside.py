"""A secret that comes from outside, by each way in which data reaches a log: hidden there and wherever it is shown, and
still right where a task uses it (runtime/README.md#secrets).
"""

import json
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from google_emulator import Google, account, google
from harness.running import HEAD
from harness.serving import Served, served, until
from noetl.api.routes import ROUTES
from noetl.app.runtime import Settings, open_runtime
from noetl.app.suites.recording import recorded_suite
from noetl.secrets.credentials import Credentials
from noetl_ir.expr import Json

SECRET = 'kana"ri/vögel+01~~>>?'
DATA: dict[str, Json] = {
    "plain": f"<{SECRET}>", "coded": b64encode(f"u:{SECRET}".encode()).decode(), "quoted": quote(SECRET, safe=""),
    "json": json.dumps({"s": SECRET}), SECRET: [SECRET],
}  # fmt: skip
FORMS = (
    SECRET, json.dumps(SECRET)[1:-1], json.dumps(SECRET, ensure_ascii=False)[1:-1], quote(SECRET, safe=""),
    SECRET.encode().hex(), b64encode(f"u:{SECRET}".encode()).decode()[4:-4],
)  # fmt: skip
KEYCHAIN = "keychain: [{name: c, kind: credential, credential: kept}]\n"
USES = """
      - {name: file, kind: python, args: {d: "DATA"}, code: "import json; open('got.json', 'w').write(json.dumps(d))"}
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path) as up:
        Credentials(up.runtime.secrets_path).add_credential("kept", "login", {"username": "u", "password": SECRET})
        yield up


def begin(server: Served, text: str) -> str:
    """An execution of a playbook, by its id."""
    registered = server.client.post("/playbooks?name=t.yaml", content=(HEAD + text).encode())
    assert registered.status_code == 201, registered.text
    return server.start()


def looks(server: Served, name: str) -> dict[str, str]:
    """Every answer about an execution that the API gives, and its recorded test."""
    shown = {}
    for row in ROUTES:
        if row.method == "GET" and row.path.startswith("/executions/{execution_id}"):
            path = row.path.replace("{execution_id}", name)
            shown[path] = server.client.get(path).text
    runtime = server.runtime
    execution = runtime.store.execution(name)
    assert execution is not None
    shown["--record"] = recorded_suite(runtime, execution)
    shown["the log"] = repr([event for _, event in runtime.events(name)])
    return shown


def assert_hidden(shown: dict[str, str]) -> None:
    """No form of the secret is in what is shown."""
    assert [(name, form) for name, text in shown.items() for form in FORMS if form in text] == []
    assert "[[secret:c:password:" in shown["the log"]


def used(folder: Path) -> Json:
    """The value that the tool was given."""
    found: Json = json.loads((folder / "got.json").read_text())
    return found


WAITS = (
    KEYCHAIN
    + 'workflow:\n  - step: start\n    tool:\n      - {name: w, kind: wait, events: [go], correlation: "order 7"}'
    + USES.replace("DATA", "{{ w.data }}")
)


def test_of_a_signal(server: Served, tmp_path: Path) -> None:
    name = begin(server, WAITS)
    sent = server.client.post(f"/executions/{name}/signal", json={"name": "go", "data": DATA})
    assert sent.status_code == 202
    until(lambda: server.status(name) == "completed")
    assert used(tmp_path) == DATA
    assert_hidden(looks(server, name))
    assert server.client.get(f"/executions/{name}/replay").json()["legal"] is True


@pytest.mark.parametrize("is_early", [False, True])
def test_of_a_letter(server: Served, tmp_path: Path, is_early: bool) -> None:
    letter = {"key": "order 7", "name": "go", "data": DATA}
    if is_early:
        assert server.client.post("/signals", json=letter).json()["delivered"] is False
    name = begin(server, WAITS)
    if not is_early:
        until(lambda: bool(server.runtime.store.mailbox.correspondence(name).calls))
        assert server.client.post("/signals", json=letter).json()["delivered"] is True
    until(lambda: server.status(name) == "completed")
    assert used(tmp_path) == DATA
    assert_hidden(looks(server, name))


def test_of_a_signal_that_nothing_hears(server: Served) -> None:
    name = begin(server, WAITS)
    server.client.post(f"/executions/{name}/signal", json={"name": f"other {SECRET}", "data": DATA})
    server.client.post(f"/executions/{name}/signal", json={"name": "go"})
    until(lambda: server.status(name) == "completed")
    assert_hidden(looks(server, name))


def test_of_a_signal_that_interrupts(server: Served, tmp_path: Path) -> None:
    text = KEYCHAIN + (
        "workflow:\n"
        "  - step: start\n"
        "    spec: {policy: {interrupt: {events: [stop]}}}\n"
        "    tool: {name: w, kind: wait, events: [never]}\n"
        "    next: {arcs: [{step: after, when: \"{{ event.name == 'step.failed' }}\", args: {d: 'EVENT'}}]}\n"
        "  - step: after\n    tool:" + USES.replace("DATA", "{{ args.d }}")
    )
    name = begin(server, text.replace("EVENT", "{{ event.error.event.data }}"))
    server.client.post(f"/executions/{name}/signal", json={"name": "stop", "data": DATA})
    until(lambda: server.status(name) == "completed")
    assert used(tmp_path) == DATA
    assert_hidden(looks(server, name))


def test_of_a_signal_of_a_task_that_does_not_know_it(server: Served, tmp_path: Path) -> None:
    """The secret is no secret of the child, which has it from a file."""
    (tmp_path / "data.json").write_text(json.dumps(DATA))
    child = """---
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: c, path: t/c}
workflow:
  - step: start
    tool:
      - {name: r, kind: python, code: "import json; result = json.load(open('data.json'))"}
      - {name: s, kind: signal, to: parent, signal: go, data: "{{ r }}"}
"""
    text = KEYCHAIN + (
        "workflow:\n"
        "  - step: start\n    next: {spec: {mode: inclusive}, arcs: [{step: call}, {step: hear}]}\n"
        "  - step: call\n    tool: {name: c, kind: playbook, path: t/c}\n"
        "  - step: hear\n    tool:\n      - {name: w, kind: wait, events: [go]}" + USES.replace("DATA", "{{ w.data }}")
    )
    assert server.client.post("/playbooks?name=c.yaml", content=child.removeprefix("---\n").encode()).status_code == 201
    name = begin(server, text)
    until(lambda: server.status(name) == "completed")
    assert used(tmp_path) == DATA
    assert_hidden(looks(server, name))


def test_of_the_result_of_a_child_that_does_not_know_it(server: Served, tmp_path: Path) -> None:
    (tmp_path / "data.json").write_text(json.dumps(DATA))
    child = HEAD.replace("t/t", "t/c") + (
        "workflow:\n"
        "  - step: start\n"
        "    tool: {name: r, kind: python, code: \"import json; result = json.load(open('data.json'))\"}\n"
    )
    text = KEYCHAIN + (
        "workflow:\n  - step: start\n    tool:\n      - {name: c, kind: playbook, path: t/c}"
        + USES.replace("DATA", "{{ c }}")
    )
    assert server.client.post("/playbooks?name=c.yaml", content=child.encode()).status_code == 201
    name = begin(server, text)
    until(lambda: server.status(name) == "completed")
    assert used(tmp_path) == DATA
    assert_hidden(looks(server, name))


def test_of_a_credential_that_a_later_task_asks_for(server: Served) -> None:
    """No entry declares it: the playbook names it in `auth` alone."""
    text = (
        "workflow:\n  - step: start\n    tool:\n      - {name: w, kind: wait, events: [go]}\n"
        "      - {name: late, kind: python, auth: kept, code: 'result = len(auth[\"password\"])'}\n"
    )
    name = begin(server, text)
    server.client.post(f"/executions/{name}/signal", json={"name": "go", "data": DATA})
    until(lambda: server.status(name) == "completed")
    shown = looks(server, name)
    assert [(where, form) for where, text in shown.items() for form in FORMS if form in text] == []
    assert "[[secret:kept:password:" in shown["the log"]


def test_of_an_input_which_stays_in_clear_and_is_warned_of(server: Served) -> None:
    """A workload is what keychain and guards are evaluated over: there is nothing to hide it with yet."""
    text = KEYCHAIN + "workload: {token: none}\nworkflow:\n  - {step: start, tool: {name: n, kind: noop}}\n"
    begin(server, text)
    started = server.client.post("/executions", json={"path": "t/t", "payload": {"token": f"<{SECRET}>"}})
    (warning,) = started.json()["warnings"]
    assert "`workload.token` holds the secret `c.password`" in warning and "{{ keychain.c.password }}" in warning
    assert SECRET not in warning
    name = started.json()["execution_id"]
    until(lambda: server.status(name) == "completed")
    execution = server.runtime.store.execution(name)
    assert execution is not None
    recorded = recorded_suite(server.runtime, execution)
    assert SECRET not in recorded and "invented c password" in recorded, "a test of it is no place for the secret"


def test_what_has_to_be_fetched_first_holds_a_signal_back_and_no_other(tmp_path: Path) -> None:
    fetched = "keychain: [{name: c, kind: secret_manager, provider: google, project: p, endpoint: 'URL', "
    fetched += "map: {password: m}, credential: robot}]\n"
    with google() as url:
        Google.secrets["projects/p/secrets/m/versions/latest"] = SECRET.encode()
        with served(tmp_path) as server:
            Credentials(server.runtime.secrets_path).add_credential("robot", "google", account(url))
            name = begin(server, fetched.replace("URL", url) + WAITS.removeprefix(KEYCHAIN))
            for data in (DATA, None):
                server.client.post(f"/executions/{name}/signal", json={"name": "go", "data": data})
            until(lambda: server.status(name) == "completed")
            shown = looks(server, name)
    assert used(tmp_path) == DATA, "in the order in which they came"
    assert_hidden(shown)


def test_of_a_signal_that_came_while_nobody_drove(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        Credentials(server.runtime.secrets_path).add_credential("kept", "login", {"password": SECRET})
        name = begin(server, WAITS)
        until(lambda: '"what":"wait"' in server.client.get(f"/executions/{name}").text)
    with open_runtime(f"sqlite:///{tmp_path}/noetl.db", Settings(root=tmp_path), lambda path: (b"", {})) as runtime:
        runtime.store.post(name, "signal", {"name": "go", "data": DATA})
    with served(tmp_path) as server:
        until(lambda: server.status(name) == "completed")
        assert used(tmp_path) == DATA
        assert_hidden(looks(server, name))
