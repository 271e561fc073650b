"""`POST /signals`: to the wait under a key, once, kept, full, and refused in words."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from harness.running import HEAD
from harness.serving import Served, served, until

WAITS = """
workload: {order: 7}
workflow:
  - {step: start, tool: {name: w, kind: wait, events: [paid], correlation: "order {{ workload.order }}"}}
"""
PAID = {"key": "order 7", "name": "paid", "data": {"n": 1}}


@pytest.fixture
def server(tmp_path: Path):  # type: ignore[no-untyped-def]
    with served(tmp_path) as up:
        up.client.post("/playbooks?name=t.yaml", content=(HEAD + WAITS).encode()).raise_for_status()
        yield up


def ended(server: Served, name: str) -> bool:
    """Whether an execution is completed."""
    return server.status(name) == "completed"


def test_it_finds_the_wait_that_nobody_named(server: Served) -> None:
    name = server.start()
    until(lambda: bool(server.runtime.store.mailbox.correspondence(name).calls))
    (wait,) = [row for row in server.client.get(f"/executions/{name}").json()["now"] if row["what"] == "wait"]
    assert (wait["correlation"], wait["signals"]) == ("order 7", ["paid"])
    sent = server.client.post("/signals", json=PAID)
    assert (sent.status_code, sent.json()) == (202, {"key": "order 7", "name": "paid", "delivered": True})
    until(lambda: ended(server, name))
    assert server.client.get(f"/executions/{name}/result").json()["result"] == {"name": "paid", "data": {"n": 1}}
    assert server.client.get(f"/executions/{name}/replay").json()["legal"] is True
    assert server.runtime.store.mailbox.correspondence(name) == ((), ())


def test_what_is_kept_is_for_the_next_and_one_key_sends_once(server: Served) -> None:
    for _ in (1, 2):
        sent = server.client.post("/signals", json={**PAID, "data": 1}, headers={"Idempotency-Key": "a"})
        assert sent.json()["delivered"] is False
    first, second = server.start(), server.start()
    until(lambda: ended(server, first) or ended(server, second))
    server.client.post("/signals", json={**PAID, "data": 3, "keep_for": "1h"})
    until(lambda: ended(server, first) and ended(server, second))
    results = [server.client.get(f"/executions/{name}/result").json()["result"]["data"] for name in (first, second)]
    assert sorted(results) == [1, 3]


def test_what_is_kept_and_who_waits_is_listed(server: Served) -> None:
    server.client.post("/signals", json=PAID | {"key": "order 6", "keep_for": "1h"})
    server.client.post("/signals", json=PAID | {"key": "order 6", "keep_for": "2h"})
    name = server.start()
    until(lambda: bool(server.runtime.store.mailbox.correspondence(name).calls))
    response = server.client.get("/signals?prefix=order")
    kept, awaited = response.json()["signals"]
    assert "data" not in kept and '"n"' not in response.text
    since, last = (datetime.fromisoformat(kept.pop(key)) for key in ("since", "until"))
    assert timedelta(minutes=59) < last - datetime.now(UTC) < timedelta(hours=1) == last - since
    assert kept == {"key": "order 6", "name": "paid", "kept": 2, "waiting": 0, "waits": []}
    assert awaited == {
        "key": "order 7", "name": "paid", "kept": 0, "since": None, "until": None, "waiting": 1, "waits": [name],
    }  # fmt: skip
    assert server.client.get("/signals?key=order 7").json() == {"signals": [awaited], "next": None}
    assert server.client.get("/signals?key=order").json() == {"signals": [], "next": None}


@pytest.mark.parametrize("is_taken", [False, True])
def test_another_signal_with_the_same_idempotency_key_is_refused(server: Served, *, is_taken: bool) -> None:
    def post(**others: object) -> tuple[int, object]:
        sent = server.client.post("/signals", json={**PAID, **others}, headers={"Idempotency-Key": "a"})
        return sent.status_code, sent.json().get("detail")

    assert post()[0] == 202
    if is_taken:
        name = server.start()
        until(lambda: ended(server, name) and server.runtime.store.mailbox.correspondence(name) == ((), ()))
    refused = (409, "another signal was sent with that key")
    others: list[dict[str, object]] = [
        {"key": "order 8"},
        {"name": "also"},
        {"data": {"n": 1.0}},
        {"data": {"n": True}},
    ]
    assert [post(**other) for other in others] == [refused] * 4
    assert (post()[0], post(keep_for="1h")[0]) == (202, 202), "the same one is sent again"


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ({"name": "paid"}, "key"),
        ({**PAID, "key": ""}, "key"),
        ({**PAID, "key": "x" * 501}, "key"),
        ({**PAID, "key": 7}, "key"),
        ({**PAID, "keep_for": "soon"}, "write seconds, or text like"),
        ({**PAID, "keep_for": -1}, "write seconds, or text like"),
        ({**PAID, "keep_for": True}, "`keep_for`: write seconds, or text like"),
        ({**PAID, "keep_for": 10**400}, "`keep_for`: write seconds, or text like"),
        ({**PAID, "execution_id": "e1"}, "execution_id"),
        ({**PAID, "key": "a\ud800"}, "unicode string"),
    ],
)
def test_what_is_wrong_is_told(server: Served, body: dict[str, object], why: str) -> None:
    import json

    headers = {"content-type": "application/json"}
    refused = server.client.post("/signals", content=json.dumps(body).encode(), headers=headers)
    assert refused.status_code == 400 and why in refused.json()["detail"], refused.text
    assert server.said == []


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"[]", "the body has to be a mapping"),
        (b'{"data": ' + b"9" * 5_000 + b"}", "a number has too many digits"),
        (b'{"data": 1e999}', "1e999 is too large a number"),
        (b'{"data": NaN}', "NaN is no number"),
        (b"\xff\xfe{", "it is not UTF-8"),
        (b"[" * 100_000, "it is nested too deeply"),
    ],
)
def test_what_no_body_can_be_is_told_without_words_of_python(server: Served, body: bytes, why: str) -> None:
    refused = server.client.post("/signals", content=body, headers={"content-type": "application/json"})
    assert refused.status_code == 400 and str(refused.json()["detail"]).endswith(why), refused.text


def test_no_more_are_kept_than_may_be(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noetl.clients.mailbox_rows.MOST_KEPT", 1)
    assert server.client.post("/signals", json=PAID).status_code == 202
    full = server.client.post("/signals", json=PAID)
    assert (full.status_code, full.json()["detail"]) == (409, "1 signals are kept under that key already")
