"""The audit of a server: who asked what, what was refused, and never a secret."""

from pathlib import Path

import pytest

from harness.running import HEAD
from harness.serving import Served, served
from noetl.api.auditing import BURST
from noetl.api.bearer_tokens import ROLES, BearerToken, digest_of
from noetl.api.refusals import without
from noetl.api.routes import ROUTES
from noetl.ports import StoreFailure
from noetl.ports.audit import DEEDS

TOKENS = [BearerToken(f"{role} of mine", role, digest_of(f"secret-{role}")) for role in ROLES]
WAITS = f"{HEAD}workflow:\n  - {{step: start, tool: {{name: w, kind: wait, events: [go]}}}}\n"
SECRET = "hidden-12345678"
WRONG_KEY = (
    "`wrong`: there is no such key "
    "(the keys are playbook_id, path, version, payload, strict_inputs, labels, traceparent)"
)


def as_role(up: Served, role: str) -> None:
    up.client.headers["authorization"] = f"Bearer secret-{role}"


def told(up: Served, **query: str) -> list[tuple[str, ...]]:
    """The audit, oldest first."""
    as_role(up, "admin")
    rows = up.client.get("/audit", params=query).json()["audit"]
    keys = ("who", "deed", "subject", "outcome", "reason")
    return [tuple(row[key] for key in keys) for row in reversed(rows)]


def test_who_did_what(tmp_path: Path) -> None:
    with served(tmp_path, *TOKENS) as up:
        as_role(up, "operator")
        assert up.client.post("/playbooks", content=WAITS).status_code == 201
        key = {"Idempotency-Key": "k"}
        body = {"path": "t/t", "payload": {"password": SECRET}}
        first = up.client.post("/executions", json=body, headers=key).json()["execution_id"]
        up.client.post("/executions", json=body, headers=key)
        second = up.client.post("/executions", json={"path": "t/t"}).json()["execution_id"]
        up.client.post(f"/executions/{first}/signal", json={"name": "other", "data": SECRET})
        up.client.post(f"/executions/{first}/pause")
        up.client.post("/executions/cancel", json={"ids": [first, second, "nobody"]})
        up.client.post("/signals", json={"key": "order 7", "name": "paid", "data": SECRET})
        as_role(up, "admin")
        up.client.post("/workers/w1/drain")
        mine = "operator of mine"
        assert told(up) == [
            (mine, "register", "t/t@1", "done", ""),
            (mine, "start", first, "done", ""),
            (mine, "start", second, "done", ""),
            (mine, "signal", first, "done", ""),
            (mine, "pause", first, "done", ""),
            (mine, "cancel", first, "done", ""),
            (mine, "cancel", second, "done", ""),
            (mine, "signal", "key order 7", "done", ""),
            ("admin of mine", "drain", "w1", "asked", ""),
            ("admin of mine", "drain", "w1", "refused", "the only worker is the server itself: stop the server"),
        ]
        assert SECRET not in up.client.get("/audit").text


def test_what_was_refused(tmp_path: Path) -> None:
    with served(tmp_path, *TOKENS) as up:
        up.client.post("/stop")
        as_role(up, "viewer")
        up.client.post("/executions/x1/cancel")
        up.client.get("/tokens")
        up.client.get("/executions/nobody")
        as_role(up, "operator")
        up.client.post("/executions", json={"path": "t/t", "payload": {"password": SECRET}, "wrong": SECRET})
        up.client.post("/executions/x1/cancel")
        up.client.post("/sign-in", json={"token": "no such"}, headers={"sec-fetch-site": "same-origin"})
        needs = "the token `viewer of mine` has the role `viewer`; this needs"
        found = told(up, outcome="refused")
        assert found == [
            ("anybody", "stop", "", "refused", "a valid token is needed: send `Authorization: Bearer TOKEN`"),
            ("viewer of mine", "cancel", "x1", "refused", f"{needs} `operator`"),
            ("viewer of mine", "GET /tokens", "", "refused", f"{needs} `admin`"),
            ("operator of mine", "start", "t/t", "refused", WRONG_KEY),
            ("operator of mine", "cancel", "x1", "refused", "there is no execution `x1`"),
            ("anybody", "sign-in", "", "refused", "no such token is known here"),
        ]


def test_a_refusal_says_of_what_and_why(tmp_path: Path) -> None:
    quota = {"apiVersion": "noetl.io/v2", "kind": "Namespace", "metadata": {"name": "team"}}
    with served(tmp_path, *TOKENS) as up:
        as_role(up, "admin")
        up.client.post("/playbooks", content=WAITS)
        spec = {"prefix": "t/", "quotas": {"open_executions": 1}}
        assert up.client.put("/namespaces/team", json={**quota, "spec": spec}).status_code == 200
        first = up.client.post("/executions", json={"path": "t/t"}).json()["execution_id"]
        said = [
            up.client.post("/executions", json={"path": "t/t", "version": 1}),
            up.client.post("/executions", json={"path": "t/nowhere"}),
            up.client.post(f"/executions/{first}/migrate", json={"path": "t/other"}),
            up.client.post("/executions/cancel", json={"ids": ["x7"], "limit": "x"}),
            up.client.put("/schedules/nightly", json={}),
        ]
        assert [response.status_code for response in said] == [429, 404, 404, 400, 400]
        told_by = {row[2]: row[4] for row in told(up, outcome="refused")}
        assert {*told_by} == {"t/t@1", "t/nowhere", first, "x7", "nightly"}
        for response, reason in zip(said, told_by.values(), strict=True):
            assert response.json()["detail"].removeprefix("nothing was started: ") == reason


def test_a_reason_has_no_value_that_was_sent(tmp_path: Path) -> None:
    with served(tmp_path, *TOKENS) as up:
        as_role(up, "operator")
        source = f"{HEAD}workflow:\n  - {{step: start, tool: {{kind: http, password: {SECRET}}}}}\n"
        assert up.client.post("/playbooks?name=pay.yaml", content=source).status_code == 422
        spec = {"playbook": "t/t", "interval": "1h", "inputs": {}}
        document = {"apiVersion": "noetl.io/v2", "kind": "Schedule", "metadata": {"name": "n"}, "spec": spec}
        up.client.put("/schedules/n", json={**document, "spec": {**spec, "interval": SECRET}})
        up.client.post("/signals", json={"key": "k", "name": "n", "data": SECRET, "keep_for": SECRET})
        compiled, put, sent = told(up, outcome="refused")
        assert compiled[1:3] == ("register", "pay.yaml")
        assert compiled[4].startswith("it does not compile: NL1") and " at 5:" in compiled[4]
        assert put[2] == "n" and sent[2] == "key k" and sent[4].startswith("`keep_for`: ")
        assert SECRET not in compiled[4] + put[4] + sent[4]


def test_what_a_sentence_shares_with_values_is_hidden() -> None:
    # By hand: runs of four characters and more, and whole words of any length.
    assert without("`n` is 7, and 17 is not", ["7"]) == "`n` is …, and 17 is not"
    assert without("`key`: 'hunter2 is short' no", ["my hunter2 is short", "no"]) == "`key`: '…' …"
    assert without("nothing of it", []) == "nothing of it"
    assert without("x" * 512, ["x" * 70_000]) == ""


def test_playbooks_that_may_not_be_seen_are_named(tmp_path: Path) -> None:
    with served(tmp_path, *TOKENS) as up:
        up.client.get("/playbooks/pay/wages")
        (row,) = told(up, outcome="refused")
        assert row[1:3] == ("GET /playbooks/{path}", "pay/wages")


def test_deeds_are_a_list_of_what_there_is(tmp_path: Path) -> None:
    with served(tmp_path, *TOKENS) as up:
        as_role(up, "operator")
        up.client.post("/playbooks", content=WAITS)
        first = up.client.post("/executions", json={"path": "t/t"}).json()["execution_id"]
        up.client.post(f"/executions/{first}/pause")
        assert [row[1] for row in told(up, deed="pause, register")] == ["register", "pause"]
        assert told(up, deed="GET /tokens") == []
        wrong = up.client.get("/audit?deed=start,cancl")
        assert wrong.status_code == 400
        assert wrong.json()["detail"] == "there is no deed `cancl`: did you mean `cancel`?"
    page = (Path(__file__).parents[3] / "runtime" / "README.md").read_text()
    deeds = {row.deed for row in ROUTES if row.deed}
    assert deeds <= {*DEEDS}
    named = page.partition("| `deed` |")[2].partition("\n")[0]
    for deed in DEEDS:
        assert deed in named or f"{deed.partition('-')[0]}-" in named, deed


def test_who_signs_in_to_the_page(tmp_path: Path) -> None:
    with served(tmp_path, *TOKENS) as up:
        own = {"sec-fetch-site": "same-origin"}
        assert up.client.post("/sign-in", json={"token": "secret-operator"}, headers=own).status_code == 200
        up.client.post("/playbooks", content=WAITS, headers={**own, "content-type": "application/yaml"})
        as_role(up, "admin")
        rows = up.client.get("/audit").json()["audit"]
        assert [(row["who"], row["via"], row["deed"], row["address"]) for row in rows] == [
            ("operator of mine", "page", "register", "testclient"),
            ("operator of mine", "page", "sign-in", "testclient"),
        ]


def test_whoever_has_no_token_fills_no_store(tmp_path: Path) -> None:
    with served(tmp_path, *TOKENS) as up:
        for _ in range(BURST + 50):
            up.client.post("/stop")
        assert BURST <= len(told(up, limit="1000")) < BURST + 50


def test_pages_and_what_cannot_be_asked(tmp_path: Path) -> None:
    with served(tmp_path, *TOKENS) as up:
        as_role(up, "operator")
        for number in range(5):
            up.client.post("/signals", json={"key": f"k{number}", "name": "n"})
        as_role(up, "admin")
        first = up.client.get("/audit?limit=3").json()
        rest = up.client.get(f"/audit?limit=3&before={first['next']}").json()
        found = [row["subject"] for row in (*first["audit"], *rest["audit"])]
        assert found == [f"key k{number}" for number in (4, 3, 2, 1, 0)]
        assert rest["next"] is None
        since = rest["audit"][0]["at"]
        assert len(up.client.get("/audit", params={"since": since}).json()["audit"]) == 4
        assert up.client.get("/audit?since=yesterday").status_code == 400
        for role in ("viewer", "operator", "worker"):
            as_role(up, role)
            assert up.client.get("/audit").status_code == 403


def test_nothing_is_done_that_cannot_be_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise StoreFailure("away")

    with served(tmp_path, *TOKENS) as up:
        as_role(up, "admin")
        for module in ("deed_rows", "audit_rows"):
            monkeypatch.setattr(f"noetl.clients.{module}.add_deed", fails)
        assert up.client.post("/stop").status_code == 503
        assert not up.service.standing().stopping
        as_role(up, "operator")
        assert up.client.post("/signals", json={"key": "k", "name": "n"}).status_code == 503
        assert up.client.get("/signals").json()["signals"] == []


def test_all_that_changes_something_has_a_deed() -> None:
    beside = {
        "/executions/{execution_id}", "/blobs", "/blobs/{execution_id}", "/logs", "/plans", "/plans/{digest}/source",
        "/sign-out", "/sessions", "/sessions/validate", "/sessions/activity", "/sessions/invalidate",
        "/hooks/{name:path}",
    }  # fmt: skip
    without = {row.path for row in ROUTES if row.method != "GET" and not row.deed}
    assert without <= beside, (
        "what workers and webhooks send, sessions of an application's own users, plans that nothing starts"
    )
