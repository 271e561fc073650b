"""Triggers over the API and the command line: webhooks, ends of other playbooks, and what could not be started."""

import hashlib
import hmac
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from harness.processes import noetl
from harness.running import HEAD
from harness.serving import Served, served
from noetl.app.retention import Purger
from noetl.ports import Wanted
from noetl.secrets.credentials import Credentials
from services import waited_for

ECHO = (
    HEAD + "workload: {who: nobody, n: 0}\nworkflow:\n  - step: start\n"
    '    tool: {kind: noop, result: {who: "{{ workload.who }}", n: "{{ workload.n }}"}}\n'
)
FAILS = HEAD.replace("t/t", "t/fails") + (
    "workflow:\n  - step: start\n    tool: {kind: fail, code: app.broken, message: no luck}\n"
)
SECRET = "It's a Secret to Everybody"


def document(name: str = "hook", **spec: object) -> dict[str, object]:
    told = {"playbook": "t/t", **spec}
    return {"apiVersion": "noetl.io/v2", "kind": "Trigger", "metadata": {"name": name}, "spec": told}


GITHUB: dict[str, object] = {"signature": "github", "secret": "hooks"}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path) as running:
        for source in (ECHO, FAILS):
            assert running.client.post("/playbooks", content=source).status_code == 201
        Credentials(running.runtime.secrets_path).add_credential("hooks", "generic", {"secret": SECRET})
        yield running


def put(server: Served, name: str = "hook", **spec: object) -> dict[str, Any]:
    response = server.client.put(f"/triggers/{name}", json=document(name, **spec))
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


def post(server: Served, body: object, delivery: str = "", *, secret: str = SECRET, path: str = "hook") -> Any:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    sign = "sha256=" + hmac.new(secret.encode(), data, hashlib.sha256).hexdigest()
    headers = {"Content-Type": "application/json", "X-Hub-Signature-256": sign, "X-Who": "ann"}
    if delivery:
        headers["X-GitHub-Delivery"] = delivery
    return server.client.post(f"/hooks/{path}?n=7", content=data, headers=headers)


def ended(server: Served, execution_id: str) -> Any:
    waited_for(lambda: server.status(execution_id) == "completed", "it does not end")
    return server.client.get(f"/executions/{execution_id}/result").json()["result"]


def started_by(server: Served, execution_id: str) -> Any:
    return server.client.get(f"/executions/{execution_id}").json()["started_by"]


def place_behind(root: str) -> dict[str, object]:
    """The place of the first one in a chain of starts."""
    return {"execution": root, "depth": 1, "root": root, "starts": 1}


def words(fields: dict[str, object]) -> str:
    return str(sorted(fields.items()))


def status_line(server: Served, execution_id: str) -> str:
    """The line of `noetl status` that says what started an execution."""
    done = noetl(Path("."), "status", execution_id, "--store", f"sqlite:///{server.runtime.secrets_path[:-12]}")
    assert done.returncode == 0, done.stderr
    return next(line for line in done.stdout.splitlines() if line.startswith("started by "))


def look(server: Served) -> None:
    server.client.app.state.trigger_starter.look()  # type: ignore[attr-defined]


def test_a_signed_request_starts_one_execution_with_inputs_made_of_it(server: Served) -> None:
    put(server, webhook=GITHUB, inputs={"who": "{{ headers['x-who'] }}", "n": "{{ body.n + query.n | int }}"})
    first = post(server, {"n": 35}, "d1")
    assert first.status_code == 202, first.text
    name = first.json()["execution_id"]
    assert ended(server, name) == {"who": "ann", "n": 42}
    assert started_by(server, name) == {"trigger": "hook", "kind": "webhook", "request": "d1"}
    assert server.client.get(f"/executions/{name}/replay").json()["legal"] is True
    assert status_line(server, name) == "started by trigger hook, for request d1"
    assert post(server, {"n": 35}, "d1").json() == {"execution_id": name}, "a repeat"
    assert post(server, {"n": 35}, "d2").json()["execution_id"] != name
    told = server.client.get("/triggers/hook").json()
    assert told["trouble"] is None and told["last_execution"] != name


def test_without_a_key_the_same_signed_body_is_a_repeat_whatever_stands_beside_it(server: Served) -> None:
    put(server, webhook=GITHUB)
    first = post(server, {"n": 1}).json()
    sign = "sha256=" + hmac.new(SECRET.encode(), b'{"n": 1}', hashlib.sha256).hexdigest()
    headers = {"Content-Type": "application/json", "X-Hub-Signature-256": sign, "X-Other": "1"}
    assert server.client.post("/hooks/hook?again=1", content=b'{"n": 1}', headers=headers).json() == first
    assert post(server, {"n": 2}).json() != first


def test_who_cannot_sign_learns_nothing(server: Served) -> None:
    put(server, webhook=GITHUB)
    put(server, "behind", after={"playbook": "x"})
    refused = [
        post(server, {}, secret="wrong"),
        post(server, {}, path="nothing"),
        post(server, {}, path="behind"),
        server.client.post("/hooks/hook", content=b"{}"),
    ]
    assert {one.status_code for one in refused} == {401}
    assert len({one.text for one in refused}) == 1
    assert server.client.get("/executions").json()["executions"] == []


@pytest.mark.parametrize("first", ["nothing", "hook", "unlucky"], ids=["no name", "badly signed", "without a secret"])
def test_while_a_secret_is_lacking_who_signs_is_to_come_again(server: Served, first: str) -> None:
    put(server, webhook=GITHUB)
    put(server, "unlucky", webhook={**GITHUB, "secret": "somebody"})
    # Whichever is asked first, and whether it is there: nobody learns which one lacks its secret.
    refused = [post(server, {}, secret="wrong", path=path) for path in (first, "hook", "nothing", "unlucky")]
    refused += [post(server, {}, "d1", path="unlucky")]
    assert {one.status_code for one in refused} == {503}
    assert len({one.text for one in refused}) == 1 and refused[0].headers["retry-after"] == "1"
    assert "somebody" not in refused[0].text
    assert "no credential `somebody`" in server.client.get("/triggers/unlucky").json()["trouble"]
    assert post(server, {}, "d1").status_code == 202, "others are as they were"
    Credentials(server.runtime.secrets_path).add_credential("somebody", "generic", {"secret": SECRET})
    assert post(server, {}, "d1", path="unlucky").status_code == 202
    assert server.client.get("/triggers/unlucky").json()["trouble"] is None


def test_a_secret_that_is_not_there_is_told_when_it_is_kept(server: Served) -> None:
    assert put(server, webhook=GITHUB)["warnings"] == []
    add = "`noetl credential add nobody --secret secret`"
    why = f"there is no credential `nobody` here: {add} beside each server keeps one"
    told = put(server, webhook={"signature": "github", "secret": "nobody"})
    assert told["warnings"] == [
        {"key": ["spec", "webhook", "secret"], "text": f"it is kept, but {why}; requests get 503 until then"}
    ]
    assert server.client.get("/triggers/hook").json()["trouble"] == why
    Credentials(server.runtime.secrets_path).add_credential("nobody", "generic", {"secret": SECRET})
    assert server.client.get("/triggers/hook").json()["trouble"] is None


def test_a_secret_that_has_come_is_found_in_time(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    put(server, "unlucky", webhook={**GITHUB, "secret": "somebody"})
    monkeypatch.setattr("noetl.api.hooks._LOOK", 0.0)
    assert post(server, {}, path="nothing").status_code == 503
    Credentials(server.runtime.secrets_path).add_credential("somebody", "generic", {"secret": SECRET})
    assert post(server, {}, path="nothing").status_code == 401


def test_the_key_and_the_wish_are_expressions(server: Served) -> None:
    put(server, webhook={**GITHUB, "key": "{{ body.id }}"}, when="{{ body.ref == 'main' }}")
    first = post(server, {"id": 5, "ref": "main"}, "d1").json()
    assert first["execution_id"]
    assert post(server, {"id": 5, "ref": "main", "more": 1}, "d2").json() == first
    assert post(server, {"id": 6, "ref": "other"}).json() == {"execution_id": None}
    assert post(server, {"ref": "main"}).status_code == 400


def test_what_cannot_be_mapped_is_told_and_kept_until_it_can(server: Served) -> None:
    put(server, webhook=GITHUB, inputs={"n": "{{ body.order.n }}"})
    response = post(server, {"order": {}}, "d1")
    assert response.status_code == 400 and "`inputs.n`" in response.json()["detail"]
    assert post(server, {"order": {}}, "d1").status_code == 400
    (letter,) = server.client.get("/triggers/hook").json()["dead_letters"]
    assert letter["what"]["body"] == {"order": {}} and "x-hub-signature-256" not in letter["what"]["headers"]
    again = server.client.post("/triggers/hook/retry", json={}).json()["letters"]
    assert [row["execution_id"] for row in again] == [None] and "`inputs.n`" in again[0]["reason"]
    put(server, webhook=GITHUB, inputs={"n": "{{ body.order.n | default(3) }}"})
    (row,) = server.client.post("/triggers/hook/retry", json={}).json()["letters"]
    deeds = [one["deed"] for one in server.client.get("/audit").json()["audit"]]
    assert deeds[:3] == ["start", "trigger-retry", "trigger-put"], "nobody paused or resumed it"
    assert ended(server, row["execution_id"]) == {"who": "nobody", "n": 3}
    assert started_by(server, row["execution_id"])["again"] is True
    assert server.client.get("/triggers/hook").json()["dead_letters"] == []
    assert post(server, {"order": {}}, "d1").json()["execution_id"] == row["execution_id"], "it has had its start"
    post(server, {}, secret="wrong")
    lines = server.client.get("/metrics").text.splitlines()
    assert 'noetl_triggers{kind="webhook",state="active"} 1.0' in lines
    assert 'noetl_trigger_starts_total{kind="webhook"} 1' in lines
    assert 'noetl_trigger_refusals_total{kind="webhook",reason="dead"} 2' in lines
    assert 'noetl_trigger_refusals_total{kind="webhook",reason="unsigned"} 1' in lines


def test_a_key_that_cannot_be_stored_is_the_senders_mistake(server: Served) -> None:
    put(server, webhook={**GITHUB, "key": "{{ body.k }}"})
    response = post(server, b'{"k": "\\ud800"}', "d1")
    assert response.status_code == 400 and "half of a character" in response.json()["detail"]
    assert server.client.get("/triggers/hook").json()["trouble"] is None
    assert post(server, {"k": "\U0001f600"}).status_code == 202


def test_long_keys_that_differ_at_their_end_are_two(server: Served) -> None:
    put(server, webhook=GITHUB)
    first, second = (post(server, {}, "k" * 1_000 + end).json()["execution_id"] for end in "ab")
    assert first != second
    assert post(server, {}, "k" * 1_000 + "b").json()["execution_id"] == second
    assert started_by(server, second)["request"] == "k" * 1_000


@pytest.mark.parametrize(
    ("data", "text"), [(b"{", "the body is no application/json"), (b"\xff", "the body is no"), (b"[" * 9_999, "deep")]
)
def test_a_body_that_is_none_is_refused(server: Served, data: bytes, text: str) -> None:
    put(server, webhook=GITHUB)
    response = post(server, data)
    assert response.status_code == 400 and text in response.json()["detail"]


def test_forms_and_texts_are_bodies_and_long_ones_are_refused(server: Served) -> None:
    put(server, webhook={"signature": "token", "secret": "hooks", "max_bytes": 40}, inputs={"who": "{{ body.a }}"})
    put(server, "text", webhook={"signature": "token", "secret": "hooks"}, inputs={"who": "{{ body }}"})
    headers = {"X-Gitlab-Token": SECRET}
    form = server.client.post("/hooks/hook", data={"a": "b c"}, headers=headers)
    assert ended(server, form.json()["execution_id"])["who"] == "b c"
    text = server.client.post("/hooks/text", content="hello", headers={**headers, "Content-Type": "text/plain"})
    assert ended(server, text.json()["execution_id"])["who"] == "hello"
    assert server.client.post("/hooks/hook", content=b"x" * 41, headers=headers).status_code == 413


def test_what_cannot_be_started_now_is_asked_for_again(server: Served) -> None:
    kept = put(server, webhook=GITHUB, playbook="t/later")
    assert kept["warnings"] == [{"key": ["spec", "playbook"], "text": "no playbook `t/later` is registered"}]
    response = post(server, {}, "d1")
    assert (response.status_code, response.headers["retry-after"]) == (503, "1")
    assert "t/later" in server.client.get("/triggers/hook").json()["trouble"]
    server.client.post("/playbooks", content=ECHO.replace("t/t", "t/later"))
    assert post(server, {}, "d1").status_code == 202
    assert server.client.get("/triggers/hook").json()["trouble"] is None
    assert server.client.post("/triggers/hook/pause").json()["paused"] is True
    assert post(server, {}, "d2").status_code == 503
    assert server.client.post("/triggers/hook/resume").json()["paused"] is False
    assert post(server, {}, "d2").status_code == 202


def test_the_end_of_another_playbook_starts_one_execution(server: Served) -> None:
    put(
        server, "next", playbook="t/next", after={"playbook": "t/t"},
        inputs={"who": "{{ result.who }}", "n": "{{ result.n + 1 }}"},
    )  # fmt: skip
    put(
        server, "alarm", playbook="t/next", after={"playbook": "t/f*", "status": ["failed"]},
        inputs={"who": "{{ error.code }} of {{ playbook }}"},
    )  # fmt: skip
    server.client.post("/playbooks", content=ECHO.replace("t/t", "t/next"))
    first = server.start(path="t/t", payload={"who": "ann", "n": 1})
    failed = server.start(path="t/fails")
    waited_for(lambda: server.status(failed) == "failed", "it does not fail")
    ended(server, first)
    for _ in range(3):
        look(server)
    rows = server.client.get("/executions?text=t/next").json()["executions"]
    lines = {status_line(server, row["execution_id"]) for row in rows}
    assert lines == {
        f"started by trigger next, behind execution {first} (completed)",
        f"started by trigger alarm, behind execution {failed} (failed)",
    }
    found = {words(started_by(server, row["execution_id"])): ended(server, row["execution_id"]) for row in rows}
    behind = {"trigger": "next", "kind": "after", "status": "completed", **place_behind(first)}
    alarm = {"trigger": "alarm", "kind": "after", "status": "failed", **place_behind(failed)}
    assert found == {
        words(behind): {"who": "ann", "n": 2},
        words(alarm): {"who": "app.broken of t/fails", "n": 0},
    }


def test_a_circle_is_told_and_comes_to_its_end(server: Served) -> None:
    server.client.post("/playbooks", content=ECHO.replace("t/t", "t/other"))
    put(server, "there", playbook="t/other", after={"playbook": "t/t", "depth": 3})
    told = put(server, "back", playbook="t/t", after={"playbook": "t/o*", "depth": 3})
    assert told["warnings"] == [
        {
            "key": ["spec", "after", "playbook"],
            "text": "it starts itself again (back -> there -> back), 3 times at most (`depth`)",
        }
    ]
    server.start()

    def is_quiet() -> bool:
        look(server)
        letters = [server.client.get(f"/triggers/{name}").json()["dead_letters"] for name in ("there", "back")]
        return any(letters)

    waited_for(is_quiet, "it never ends")
    rows = server.client.get("/executions").json()["executions"]
    assert len(rows) == 1 + 3
    (letter,) = server.client.get("/triggers/back").json()["dead_letters"]
    assert "a chain of 3 starts led here" in letter["reason"]


def test_ends_before_and_during_a_pause_are_none_of_its(server: Served) -> None:
    ended(server, server.start())
    put(server, "next", after={"playbook": "t/t"}, playbook="t/fails")
    server.client.post("/triggers/next/pause")
    ended(server, server.start())
    server.client.post("/triggers/next/resume")
    look(server)
    assert server.client.get("/executions?text=t/fails").json()["executions"] == []
    ended(server, server.start())
    look(server)
    assert len(server.client.get("/executions?text=t/fails").json()["executions"]) == 1


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({}, "`spec` has one of `webhook`, `after`, `nats`"),
        ({"webhook": GITHUB, "after": {"playbook": "x"}}, "`spec` has one of"),
        ({"webhook": {"signature": "md5", "secret": "x"}}, "`spec.webhook.signature` is one of hmac, github"),
        ({"webhook": {"signature": "github"}}, "`spec.webhook.secret` is missing"),
        ({"webhook": {**GITHUB, "header": "x"}}, "`spec.webhook.header` does not go with `signature: github`"),
        ({"webhook": {**GITHUB, "tolerance": "1m"}}, "`spec.webhook.tolerance` needs a time that is signed"),
        ({"webhook": {**GITHUB, "key": "id"}}, "`spec.webhook.key` is an expression, as in `{{ body.id }}`"),
        (
            {"webhook": {**GITHUB, "key": "{{ bdy.id }}"}},
            "`spec.webhook.key`: there is no `bdy` here: did you mean `body`",
        ),
        ({"webhook": GITHUB, "inputs": {"n": "{{ result }}"}}, "`spec.inputs.n`: there is no `result` here: known are"),
        ({"webhook": GITHUB, "inputs": {"n": "{{ body | nope }}"}}, "`spec.inputs.n`: there is no filter `nope`"),
        ({"webhook": GITHUB, "inputs": {"n": "{% if 1 %}{% endif %}"}}, "`spec.inputs.n`: `{% %}` is not known here"),
        ({"webhook": GITHUB, "inputs": {"n": "{{ body."}}, "`spec.inputs.n`:"),
        ({"after": {"playbook": "x", "status": "over"}}, "`spec.after.status` is one or some of completed, failed"),
        ({"after": {"playbook": "x", "depth": 0}}, "`spec.after.depth` is a whole number from 1 to 100"),
        ({"after": {"playbok": "x"}}, "`spec.after` has no key `playbok`; did you mean `playbook`?"),
        ({"nats": {"subject": "a..b"}}, "`spec.nats.subject` is a subject"),
        ({"nats": {"subject": "a.>", "deliver": "some"}}, "`spec.nats.deliver` is one of new, all"),
    ],
)
def test_what_is_wrong_is_told_with_its_key(server: Served, spec: dict[str, object], text: str) -> None:
    response = server.client.put("/triggers/hook", json=document(**spec))
    assert response.status_code == 400 and text in response.json()["detail"], response.text


BAD = """\
apiVersion: noetl.io/v2
kind: Trigger
metadata: {name: hook}
spec:
  playbook: t/t
  inputs:
    who: "{{ bdy.who }}"
  webhook: {signature: github, secret: hooks}
"""


def test_the_commands(tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text(ECHO)
    (tmp_path / "hook.yaml").write_text(BAD)
    done = noetl(tmp_path, "triggers", "put", "hook.yaml")
    assert done.stderr == "error: hook.yaml:7:5: `spec.inputs.who`: there is no `bdy` here: did you mean `body`?\n"
    (tmp_path / "hook.yaml").write_text(BAD.replace("bdy", "body").replace("    who", "    whu"))
    assert noetl(tmp_path, "run", "t.yaml", "--quiet").returncode == 0
    done = noetl(tmp_path, "triggers", "put", "hook.yaml")
    assert done.returncode == 0, done.stderr
    assert "warning: hook.yaml:7:5: nothing reads `whu`" in done.stderr
    assert done.stdout.splitlines()[1].split() == [
        "hook", "POST", "/hooks/hook,", "signed", "as", "github", "says", "t/t",
    ]  # fmt: skip
    assert noetl(tmp_path, "triggers", "list").stdout == done.stdout
    shown = noetl(tmp_path, "triggers", "show", "hook").stdout
    assert 'inputs  {"whu": "{{ body.who }}"}\n' in shown
    assert " paused " in noetl(tmp_path, "triggers", "pause", "hook").stdout
    assert " paused " not in noetl(tmp_path, "triggers", "resume", "hook").stdout
    assert "did you mean `hook`?" in noetl(tmp_path, "triggers", "show", "hok").stderr
    assert "--server" in noetl(tmp_path, "triggers", "retry", "hook").stderr
    assert noetl(tmp_path, "triggers", "delete", "hook").stdout == "deleted hook\n"
    assert noetl(tmp_path, "triggers", "list").stderr == "no triggers\n"


def test_what_a_trigger_has_not_dealt_with_is_not_purged(server: Served) -> None:
    """Neither the execution whose end is to start something, nor what was started and is not known to be yet."""
    put(server, "next", after={"playbook": "t/t"}, playbook="t/later")
    first = server.start()
    ended(server, first)
    look(server)
    purger = Purger(server.runtime)
    row = server.runtime.store.execution(first)
    assert row is not None
    (kept,) = purger.purge([row]).kept
    assert (kept.execution_id, kept.why) == (first, "the trigger next has not dealt with its end yet")
    server.client.post("/playbooks", content=ECHO.replace("t/t", "t/later"))
    look(server)
    assert purger.purge([row]).kept == ()


def test_however_many_ends_wait_what_belongs_to_one_of_them_is_not_purged(server: Served, tmp_path: Path) -> None:
    put(server, "next", after={"playbook": "t/t"}, playbook="t/later")
    server.client.post("/playbooks", content=ECHO.replace("t/t", "t/later"))
    first = server.start()
    ended(server, first)
    look(server)
    (started,) = server.runtime.store.executions(Wanted(text="t/later"))
    ended(server, started.execution_id)
    file = sqlite3.connect(tmp_path / "noetl.db")
    with closing(file), file:
        file.execute(
            "WITH RECURSIVE each(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM each WHERE n < 10000) "
            "INSERT INTO trigger_ends (trigger_name, execution_id, ended) SELECT 'next', 'other' || n, n FROM each"
        )
        # As if the server had died behind the start, before it could say that the end was dealt with.
        file.execute("INSERT INTO trigger_ends (trigger_name, execution_id, ended) VALUES ('next', ?, 1)", (first,))
    rows = [row for name in (started.execution_id, first) if (row := server.runtime.store.execution(name))]
    assert [(each.execution_id, each.why) for each in Purger(server.runtime).purge(rows).kept] == [
        (started.execution_id, "the trigger next has not moved on behind it yet"),
        (first, "the trigger next has not dealt with its end yet"),
    ]


def test_the_end_of_a_run_beside_the_store_waits_for_a_server(server: Served, tmp_path: Path) -> None:
    put(server, "next", after={"playbook": "t/t"}, playbook="t/fails")
    (tmp_path / "t.yaml").write_text(ECHO)
    done = noetl(tmp_path, "run", "t.yaml", "--quiet", "--store", f"sqlite:///{tmp_path}/noetl.db")
    assert done.returncode == 0, done.stderr
    assert server.client.get("/executions?text=t/fails").json()["executions"] == []
    look(server)
    assert len(server.client.get("/executions?text=t/fails").json()["executions"]) == 1
