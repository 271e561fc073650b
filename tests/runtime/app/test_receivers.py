"""Receivers of notifications: those that want no more, that say when to come again, and that look at a test."""

from datetime import datetime
from pathlib import Path

import pytest

from harness.receivers import FAILS, delivery, hooked, outbox_of, put, run, told
from harness.serving import served
from noetl.app.outbox_delivery import OutboxDelivery
from noetl.ports.outbox import WantedOutbox


class SetClock:
    """A clock that stands still."""

    def __init__(self, time: int) -> None:
        self._time = time

    def now(self) -> int:
        return self._time


def test_a_receiver_that_is_gone_is_asked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noetl.app.outbox_delivery.FIRST_PAUSE", 600_000_000)  # nothing is due again meanwhile
    # RFC 9110 §15.5.11: gone, and likely for good. Other refusals are mended: they are tried again.
    with hooked() as hook, served(tmp_path) as up:
        put(up, {"webhook": {"url": hook.url}})
        tells, outbox = delivery(up), outbox_of(up)
        for status in (400, 401, 403, 404, 405, 422, 302, 500):
            hook.refused[0], hook.refusals[0] = status, 1
            assert up.client.post("/notifications/oncall/test").status_code == 202
            told(up, tells)
            (row,) = outbox.outbox_rows(WantedOutbox())
            assert (row.tries, row.is_dead, row.trouble) == (1, False, f"http.status_{status}")
            outbox.settle_outbox(row.number)
        hook.refused[0], hook.refusals[0] = 410, 1
        run(up, FAILS)
        told(up, tells)
        (dead,) = up.client.get("/dead-letters").json()["dead_letters"]
        assert (dead["reason"], dead["tries"]) == ("http.status_410: the receiver wants no more of it", 1)
        assert hook.refusals == [0] and hook.bodies == []
        assert up.client.post(f"/dead-letters/{dead['number']}/retry").status_code == 202
        told(up, tells)
        assert [each["event"] for each in hook.bodies] == ["failed"]


@pytest.mark.parametrize(
    ("status", "said", "waits"),
    [(429, "120", 120), (503, "90", 90), (503, "86400", 3_600), (429, "0", 2), (404, "120", 2), (429, "soon", 2)],
)
def test_a_receiver_says_when_to_come_again(tmp_path: Path, status: int, said: str, waits: int) -> None:
    # RFC 9110 §10.2.3; an hour at most, and not sooner than without it.
    with hooked() as hook, served(tmp_path) as up:
        put(up, {"webhook": {"url": hook.url}})
        hook.refused[0], hook.refusals[0], hook.headers["Retry-After"] = status, 1, said
        assert up.client.post("/notifications/oncall/test").status_code == 202
        (before,) = outbox_of(up).outbox_rows(WantedOutbox())
        clock = SetClock(before.due)
        OutboxDelivery(outbox_of(up), delivery(up)._tellers, clock, up.said.append).look()
        (row,) = outbox_of(up).outbox_rows(WantedOutbox())
        assert row.due - before.due == waits * 1_000_000


@pytest.mark.parametrize("on", [["failed"], ["blocked", "late"], ["late"], ["recovered"], ["completed", "cancelled"]])
def test_a_test_has_the_shape_of_what_is_sent(tmp_path: Path, on: list[str]) -> None:
    late = {"late_after": "1h"} if "late" in on else {}
    with hooked() as hook, served(tmp_path) as up:
        put(up, {"webhook": {"url": hook.url}}, on=on, page="https://noetl.example.org", playbooks=["etl/*"], **late)
        assert up.client.post("/notifications/oncall/test").status_code == 202
        told(up, delivery(up))
        (body,) = hook.bodies
        assert (body["notification"], body["event"], body["playbook"]) == ("oncall", "test", "etl/example")
        assert up.client.get(f"/executions/{body['execution_id']}").status_code == 404
        assert body["link"] == f"https://noetl.example.org/#/executions/{body['execution_id']}"
        began = datetime.fromisoformat(body["started"])
        assert body["ended"] is None if on == ["late"] else datetime.fromisoformat(body["ended"]) > began
        fails, recovers = on[0] in ("failed", "blocked"), on == ["recovered"]
        assert ("code" in body, "message" in body, "failing_since" in body) == (fails, fails, recovers)
        status = {"late": "running", "recovered": "completed"}.get(on[0], "cancelled" if "cancelled" in on else on[0])
        assert body["status"] == status
