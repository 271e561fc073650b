"""Notifications: who is told of which ends, once, whatever is away or dies, over HTTP and SMTP, and no secret."""

import hmac
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from email import message_from_bytes, policy
from email.message import EmailMessage
from hashlib import sha256
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, LoginPassword

from harness.receivers import FAILS, SECRET, delivery, document, hooked, outbox_of, put, run, told
from harness.running import HEAD
from harness.serving import served, until
from noetl.app.mailing import NotMailed, mail_of
from noetl.app.notification_book import NotificationBook
from noetl.app.notifying import ENDS
from noetl.app.outbox_delivery import TRIES
from noetl.app.telling import deliveries_of
from noetl.ports import Record
from noetl.ports.notifications import NotificationRow
from noetl.ports.outbox import OutboxRow, WantedOutbox
from noetl.secrets.credentials import Credentials
from noetl.server.checked_documents import BadDocument
from noetl.server.notifications.deciding import EndedRun, told_of
from noetl.server.notifications.document import Recipient, notification_of

WORKS = f"{HEAD}workflow:\n  - {{step: start, tool: {{kind: noop}}}}\n"
WAITS = f"{HEAD}workflow:\n  - {{step: start, tool: {{name: w, kind: wait, events: [go]}}}}\n"


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deliveries for which no row that failed is due again while they still tell others."""
    monkeypatch.setattr("noetl.app.outbox_delivery.FIRST_PAUSE", 600_000_000)


def test_a_failure_and_its_recovery_are_told_once_each(tmp_path: Path) -> None:
    with hooked() as hook, served(tmp_path) as up:
        Credentials(up.runtime.secrets_path).add_credential("hook", "generic", {"url": hook.url, "secret": SECRET})
        put(up, {"webhook": {"credential": "hook"}}, quiet="1h", page="https://noetl.example.org/")
        tells = delivery(up)
        run(up, WORKS)
        first = run(up, FAILS)
        told(up, tells)
        (message,) = hook.bodies
        assert (message["event"], message["playbook"], message["execution_id"]) == ("failed", "t/t", first)
        assert (message["code"], message["message"]) == ("python.exception", "no <b>")
        assert message["link"] == f"https://noetl.example.org/#/executions/{first}"
        headers, body = hook.requests[0]
        signature = hmac.new(SECRET.encode(), body, sha256).hexdigest()
        assert headers["x-noetl-signature-256"] == f"sha256={signature}"
        run(up, FAILS)
        run(up, FAILS)
        told(up, tells)
        assert len(hook.bodies) == 1, "the same failure within the hour"
        last = run(up, WORKS)
        run(up, WORKS)
        told(up, tells)
        assert [each["event"] for each in hook.bodies] == ["failed", "recovered"]
        assert hook.bodies[1]["execution_id"] == last and hook.bodies[1]["failing_since"] == message["ended"]
        run(up, FAILS)
        told(up, tells)
        assert [each["event"] for each in hook.bodies] == ["failed", "recovered", "failed"]
        assert outbox_of(up).outbox_rows(WantedOutbox()) == ()
        shown = up.client.get("/notifications/oncall").json()
        assert (shown["waiting"], shown["dead"], shown["trouble"], shown["to"]) == (0, 0, None, "webhook")


def test_what_it_is_not_about_is_not_told(tmp_path: Path) -> None:
    with hooked() as hook, served(tmp_path) as up:
        put(up, {"webhook": {"url": hook.url}}, playbooks=["etl/*"])
        tells = delivery(up)
        run(up, FAILS)
        told(up, tells)
        put(up, {"webhook": {"url": hook.url}}, codes=["http.*"])
        run(up, FAILS)
        told(up, tells)
        up.client.post("/notifications/oncall/pause")
        put(up, {"webhook": {"url": hook.url}})
        run(up, FAILS)
        told(up, tells)
        assert hook.bodies == []
        up.client.post("/notifications/oncall/resume")
        run(up, FAILS)
        told(up, tells)
        assert len(hook.bodies) == 1


def test_the_log_of_an_end_that_nobody_is_told_of_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with hooked() as hook, served(tmp_path) as up:
        put(up, {"webhook": {"url": hook.url}}, playbooks=["etl/*"])
        tells, one, read, asked = delivery(up), run(up, FAILS), up.runtime.store.read, list[str]()

        def counted(execution_id: str, after: int = 0) -> Iterator[Record]:
            asked.append(execution_id)
            return read(execution_id, after)

        monkeypatch.setattr(up.runtime.store, "read", counted)
        told(up, tells)
        assert one not in asked and outbox_of(up).outbox_rows(WantedOutbox()) == ()


def test_one_that_is_replaced_while_it_is_paused_keeps_its_new_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(tmp_path) as up:
        put(up, {"webhook": {"url": "http://127.0.0.1:1/old"}})
        row_of = NotificationBook.row

        def row_before_another(book: NotificationBook, name: str) -> NotificationRow:
            found = row_of(book, name)
            monkeypatch.undo()
            put(up, {"webhook": {"url": "http://127.0.0.1:1/new"}})
            return found

        monkeypatch.setattr(NotificationBook, "row", row_before_another)
        shown = up.client.post("/notifications/oncall/pause").json()
        assert (shown["paused"], shown["document"]["spec"]["to"]["webhook"]["url"]) == (True, "http://127.0.0.1:1/new")
        up.client.post("/notifications/oncall/resume")
        deeds = [row["deed"] for row in up.client.get("/audit").json()["audit"]]
        assert deeds[:3] == ["notification-resume", "notification-pause", "notification-put"]


def test_one_that_is_late_is_told_once_and_when_it_is_over(tmp_path: Path) -> None:
    with hooked() as hook, served(tmp_path) as up:
        put(up, {"webhook": {"url": hook.url}}, on=["late", "recovered"], late_after="1s")
        assert up.client.post("/playbooks", content=WAITS).status_code == 201
        one = up.start()

        def looked() -> bool:
            told(up, delivery(up))  # anew each time: one server looks every 15 s
            return bool(hook.bodies)

        until(looked, 30)
        for _ in range(3):
            told(up, delivery(up))
        (message,) = hook.bodies
        assert (message["event"], message["execution_id"], message["status"]) == ("late", one, "running")
        up.client.post(f"/executions/{one}/signal", json={"name": "go"})
        until(lambda: up.status(one) == "completed")
        told(up, delivery(up))
        assert [each["event"] for each in hook.bodies] == ["late", "recovered"]


def test_what_is_refused_is_tried_again_and_then_dead_with_a_way_back(tmp_path: Path) -> None:
    with hooked() as hook, served(tmp_path) as up:
        Credentials(up.runtime.secrets_path).add_credential("hook", "generic", {"url": hook.url})
        put(up, {"webhook": {"credential": "hook"}})
        tells, outbox = delivery(up), outbox_of(up)
        hook.refusals[0] = TRIES
        run(up, FAILS)
        told(up, tells)
        for number in range(1, TRIES):
            (row,) = outbox.outbox_rows(WantedOutbox())
            assert (row.tries, row.trouble, row.is_dead) == (number, "http.status_503", False)
            outbox.put_off_outbox(row.number, 0, row.trouble)
            assert tells.look()
        (dead,) = up.client.get("/dead-letters").json()["dead_letters"]
        assert dead["reason"] == "http.status_503" and dead["topic"] == "notify:oncall"
        assert any("noetl dead-letters" in line for line in up.said)
        assert up.client.get("/notifications/oncall").json()["dead"] == 1
        assert "\nnoetl_dead_letters 1.0\n" in up.client.get("/metrics").text
        assert up.client.post(f"/dead-letters/{dead['number']}/retry").status_code == 202
        told(up, tells)
        assert len(hook.bodies) == 1 and up.client.get("/dead-letters").json()["dead_letters"] == []
        assert up.client.post(f"/dead-letters/{dead['number']}/retry").status_code == 404


def test_no_trouble_tells_the_address_that_is_a_secret(tmp_path: Path) -> None:
    with served(tmp_path) as up:
        url = f"http://127.0.0.1:9/{SECRET}"
        Credentials(up.runtime.secrets_path).add_credential("hook", "generic", {"url": url})
        put(up, {"slack": {"credential": "hook"}})
        run(up, FAILS)
        told(up, delivery(up))
        (row,) = outbox_of(up).outbox_rows(WantedOutbox())
        assert row.tries == 1 and row.trouble.startswith("http.connect") and SECRET not in row.trouble
        put(up, {"slack": {"credential": "nobody"}})
        delivery(up)._tell(row)
        (row,) = outbox_of(up).outbox_rows(WantedOutbox())
        assert "no credential `nobody`" in row.trouble


def test_a_server_that_died_between_the_end_and_the_message(tmp_path: Path) -> None:
    with hooked() as hook:
        with served(tmp_path) as up:
            put(up, {"webhook": {"url": hook.url}})
            run(up, FAILS)
        with served(tmp_path) as up:
            tells = delivery(up)
            end = tells._taken()
            assert end is not None
            tells._tell(end)  # it becomes a message, and the server dies
        assert hook.bodies == []
        with served(tmp_path) as up:
            told(up, delivery(up))
            assert [each["event"] for each in hook.bodies] == ["failed"]


def test_a_message_in_the_shape_of_slack(tmp_path: Path) -> None:
    with hooked() as hook, served(tmp_path) as up:
        put(up, {"slack": {"url": hook.url}}, page="https://noetl.example.org")
        one = run(up, FAILS)
        told(up, delivery(up))
        link = f"<https://noetl.example.org/#/executions/{one}|execution {one}>"
        assert hook.bodies == [{"text": f":x: t/t is failed: python.exception: no &lt;b&gt;\n{link}"}]


def test_a_test_message(tmp_path: Path) -> None:
    with hooked() as hook, served(tmp_path) as up:
        put(up, {"slack": {"url": hook.url}})
        assert up.client.post("/notifications/oncall/test").status_code == 202
        told(up, delivery(up))
        assert hook.bodies == [{"text": ":wave: this is a test: notifications come through"}]


def test_a_notification_says_when_its_last_message_was_sent(tmp_path: Path) -> None:
    with hooked() as hook, served(tmp_path) as up:
        put(up, {"webhook": {"url": "http://127.0.0.1:9/"}})
        begun = time.time()

        def last() -> object:
            return up.client.get("/notifications/oncall").json()["last_told"]

        run(up, FAILS)
        told(up, delivery(up))
        assert last() is None, "nobody was reached"
        put(up, {"webhook": {"url": hook.url}})
        assert up.client.post("/notifications/oncall/test").status_code == 202
        told(up, delivery(up))
        at = last()
        assert begun - 1 <= datetime.fromisoformat(str(at)).timestamp() <= time.time()
        put(up, {"webhook": {"url": "http://127.0.0.1:9/"}})
        assert last() == at, "it is the same notification"
        deeds = {row["deed"] for row in up.client.get("/audit").json()["audit"]}
        assert deeds == {"register", "start", "notification-put", "notification-test"}


class Mails:
    def __init__(self) -> None:
        self.found: list[EmailMessage] = []
        self.users: list[str] = []

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        self.found.append(message_from_bytes(envelope.content, policy=policy.default))  # type: ignore[arg-type]
        return "250 OK"

    def login(self, server: Any, session: Any, envelope: Any, mechanism: str, data: Any) -> AuthResult:
        assert isinstance(data, LoginPassword)
        self.users.append(data.login.decode())
        return AuthResult(success=data.password == SECRET.encode(), handled=False)


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


@pytest.fixture
def mails() -> Iterator[tuple[Mails, int]]:
    """A mail server that asks for a password."""
    kept = Mails()
    controller = Controller(
        kept,
        hostname="127.0.0.1",
        port=free_port(),
        authenticator=kept.login,
        auth_required=True,
        auth_require_tls=False,
    )
    controller.start()
    try:
        yield kept, controller.port
    finally:
        controller.stop()


@pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS")
def test_a_mail(tmp_path: Path, mails: tuple[Mails, int]) -> None:
    kept, port = mails
    fields = {"host": "127.0.0.1", "port": port, "security": "none", "from": "noetl@example.org"}
    with served(tmp_path) as up:
        secrets = Credentials(up.runtime.secrets_path)
        secrets.add_credential("smtp", "generic", {**fields, "username": "ann", "password": "wrong"})
        to = {"to": ["ops@example.org", "night@example.org"], "credential": "smtp", "subject": "Night"}
        put(up, {"mail": to})
        one = run(up, FAILS)
        told(up, delivery(up))
        (row,) = outbox_of(up).outbox_rows(WantedOutbox())
        assert row.trouble == "the mail server refuses it (535)" and kept.found == []
        secrets.replace("smtp", "generic", {**fields, "username": "ann", "password": SECRET})
        delivery(up)._tell(row)
        (mail,) = kept.found
        assert mail["Subject"] == "Night: t/t is failed: python.exception: no <b>"
        assert (mail["To"], mail["From"]) == ("ops@example.org, night@example.org", "noetl@example.org")
        assert f"execution_id: {one}" in mail.get_content() and set(kept.users) == {"ann"}
        delivery(up)._tell(row)
        assert kept.found[1]["Message-ID"] == mail["Message-ID"], "a repeat is the same mail"
        assert SECRET not in up.client.get("/notifications").text


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"on": []}, "`spec.on` is a list of"),
        ({"on": ["fail"]}, "`spec.on` has no `fail`"),
        ({"on": ["late"]}, "late_after"),
        ({"late_after": "1h"}, "late_after"),
        ({"to": {}}, "`spec.to` has one of"),
        ({"to": {"webhook": {}}}, "has `url`, or a `credential`"),
        ({"to": {"webhook": {"url": "ftp://x"}}}, "begins with https://"),
        ({"to": {"mail": {"to": ["x"], "credential": "c"}}}, "`x` is no address"),
        ({"to": {"mail": {"to": ["a@b\nBcc: c@d"], "credential": "c"}}}, "no address of mail"),
        ({"to": {"mail": {"to": ["x@y.z>,<evil@q"], "credential": "c"}}}, "no address of mail"),
        ({"to": {"mail": {"to": ["a@b,c@d"], "credential": "c"}}}, "no address of mail"),
        ({"to": {"mail": {"to": ["a@b"], "credential": "c", "subject": "a\nBcc: c@d"}}}, "a text of one line"),
        ({"to": {"mail": {"to": ["a@b"]}}}, "and `credential`"),
        ({"to": {"slak": {}}}, "did you mean `slack`?"),
        ({"playbooks": "etl/*"}, "`spec.playbooks` is a list"),
        ({"quiet": "soon"}, "`spec.quiet` is a duration"),
        ({"page": "noetl"}, "`spec.page` is an address"),
    ],
)
def test_documents_that_are_none(spec: dict[str, Any], why: str) -> None:
    with pytest.raises(BadDocument) as problem:
        notification_of(document({"webhook": {"url": "https://x"}}) | {"spec": {**WHOLE, **spec}})
    assert why in str(problem.value)


WHOLE: dict[str, Any] = {"on": ["failed"], "to": {"webhook": {"url": "https://x"}}}


def test_what_is_left_out_is_counted_and_another_failure_is_told() -> None:
    rule = notification_of(document({"webhook": {"url": "https://x"}}, quiet="1h"))
    ended = EndedRun("7", "t/t", "failed", 0, 1, "a", "no")
    first = told_of(rule, ended, None, None, 1_000_000)
    assert first.message is not None and first.state is not None
    second = told_of(rule, ended, first.state, None, 2_000_000)
    assert second.message is None and second.state == {**first.state, "left_out": 1}
    other = told_of(rule, ended._replace(code="b"), second.state, None, 3_000_000)
    assert other.message is not None and other.message["left_out"] == 1
    after = told_of(rule, ended, second.state, None, 3_700_000_000)
    assert after.message is not None and after.message["left_out"] == 1
    assert after.state is not None and after.state["left_out"] == 0
    assert told_of(rule, ended._replace(status="completed", code=""), None, None, 5).message is None


def test_failures_that_alternate_are_told_once_each() -> None:
    rule = notification_of(document({"webhook": {"url": "https://x"}}, quiet="1h"))
    state, codes = None, []
    for second, code in enumerate("ABABA", 1):
        found = told_of(rule, EndedRun("7", "t/t", "failed", 0, 1, code, "no"), state, None, second * 1_000_000)
        state = found.state
        codes += [found.message["code"]] if found.message is not None else []
    assert codes == ["A", "B"]
    hour = 3_600_000_000
    again = told_of(rule, EndedRun("7", "t/t", "failed", 0, 1, "A", "no"), state, None, 1_000_000 + hour)
    assert again.message is not None and again.message["left_out"] == 3
    assert again.state is not None and again.state["others"] == [["failed", "B", 2_000_000]]
    assert "B" not in str(told_of(rule, EndedRun("7", "t/t", "failed", 0, 1, "C"), state, None, 9 * hour).state)


@contextmanager
def dripping(pause: float, first: bytes, rest: bytes) -> Iterator[int]:
    """A server that sends the bytes of its answer one by one, each after a pause; the port it listens at."""
    with socket.create_server(("127.0.0.1", 0)) as bound:
        ended = Event()

        def drip(connection: socket.socket) -> None:
            with connection, suppress(OSError):
                connection.sendall(first)
                for byte in rest:
                    if ended.wait(pause):
                        return
                    connection.sendall(bytes([byte]))

        def accept() -> None:
            with suppress(OSError):
                while True:
                    Thread(target=drip, args=(bound.accept()[0],), daemon=True).start()

        Thread(target=accept, daemon=True).start()
        try:
            yield bound.getsockname()[1]
        finally:
            ended.set()
            bound.shutdown(socket.SHUT_RDWR)


def test_a_mail_server_that_drips_is_left_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noetl.app.mailing.WITHIN", 0.5)
    with dripping(0.05, b"2", b"2" * 400) as port, served(tmp_path) as up:
        fields = {"host": "127.0.0.1", "port": port, "security": "none", "from": "noetl@example.org"}
        Credentials(up.runtime.secrets_path).add_credential("smtp", "generic", fields)
        put(up, {"mail": {"to": ["ops@example.org"], "credential": "smtp"}})
        run(up, FAILS)
        begun = monotonic()
        told(up, delivery(up))
        assert monotonic() - begun < 8, "the whole drip takes 20 s"
        (row,) = outbox_of(up).outbox_rows(WantedOutbox())
        assert (row.tries, row.trouble) == (1, "the mail server cannot be used (SMTPServerDisconnected)")


def test_one_that_hangs_holds_up_no_other_and_its_tries_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noetl.app.notifying.WITHIN", 600.0)  # it hangs until all has been looked at
    with hooked() as hook, dripping(1, b"HTTP/1.1 200 OK\r\nX: ", b"x" * 600) as port, served(tmp_path) as up:
        put(up, {"webhook": {"url": hook.url}})
        hanging = document({"webhook": {"url": f"http://127.0.0.1:{port}/"}})
        hanging["metadata"]["name"] = "hangs"
        assert up.client.put("/notifications/hangs", json=hanging).status_code == 200
        tells, outbox = delivery(up), outbox_of(up)
        tells.start()
        try:
            for _ in range(3):
                run(up, FAILS)
            until(lambda: len(hook.bodies) == 3, 60)
            rows = outbox.outbox_rows(WantedOutbox(prefix="notify:hangs"))
            assert [row.tries for row in rows] == [1, 0, 0], "one at a time, so that no lease ends before its turn"
        finally:
            tells.end_soon()
            tells.join()


def test_a_row_that_kills_whoever_tells_it_is_dead_at_last(tmp_path: Path) -> None:
    with served(tmp_path) as up:
        tells, outbox = delivery(up), outbox_of(up)
        outbox.put_outbox([OutboxRow(0, ENDS, "x", None, 0, 0)])
        for number in range(TRIES):
            assert outbox.take_outbox([ENDS], number, number + 1, 1)
        told(up, tells)
        (row,) = outbox.outbox_rows(WantedOutbox())
        assert row.is_dead and row.trouble == "each server that tried it died"


@pytest.mark.parametrize("sender", ["<", "ops", "a@b, c@d", "a@", ""])
def test_a_sender_that_is_none(sender: str) -> None:
    with pytest.raises(NotMailed, match="credential `smtp`: `from` is no address of mail"):
        mail_of(Recipient("mail", "", "smtp", ("a@b",)), sender, {"event": "test"}, "x")


def test_a_mail_about_half_of_a_character() -> None:
    message: dict[str, Any] = {"event": "failed", "code": "\ud800x", "message": "é😀\udc00"}
    mail = mail_of(Recipient("mail", "", "smtp", ("a@b",)), "NoETL <n@x.org>", message, "x")
    assert "code: \ufffdx\nmessage: é😀\ufffd\n" in mail.get_content() and mail.as_bytes()


def test_a_credential_with_half_of_a_character(tmp_path: Path) -> None:
    with served(tmp_path) as up:
        fields = {"url": "http://127.0.0.1:9/", "secret": "\ud800"}
        Credentials(up.runtime.secrets_path).add_credential("hook", "generic", fields)
        put(up, {"webhook": {"credential": "hook"}})
        run(up, FAILS)
        told(up, delivery(up))
        (row,) = outbox_of(up).outbox_rows(WantedOutbox())
        assert row.trouble.startswith("the credential `hook`: `secret` has half of a character") and up.said == []


def test_what_is_wrong_with_one_row_keeps_no_other_from_being_told(tmp_path: Path) -> None:
    with hooked() as hook, served(tmp_path) as up:
        put(up, {"webhook": {"url": hook.url}})
        first, second = run(up, FAILS), run(up, FAILS)
        (found,) = deliveries_of(up.runtime, up.said.append)
        tell = found._tellers[ENDS]

        def fails(row: OutboxRow) -> None:
            if row.subject == first:
                raise ValueError("a mistake of ours")
            tell(row)

        found._tellers = {**found._tellers, ENDS: fails}
        told(up, found)
        assert [each["execution_id"] for each in hook.bodies] == [second]
        (row,) = outbox_of(up).outbox_rows(WantedOutbox())
        assert (row.subject, row.tries, row.trouble) == (first, 1, "internal error: ValueError")
        assert any("please report" in line for line in up.said)
