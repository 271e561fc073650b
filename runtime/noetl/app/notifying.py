"""The notifications of a server: ends and late executions become messages in the outbox, and those are sent."""

from __future__ import annotations

import hmac
import json
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import sha256

from noetl.app.clock import WallClock
from noetl.app.mailing import NotMailed, send_mail
from noetl.app.outbox_delivery import WITHIN, NotTold
from noetl.app.runtime import Runtime
from noetl.clients.http import HttpRequest, HttpResponse, RequestLimits, exchange_now
from noetl.engine.refused_ends import END
from noetl.ports import Clock, ExecutionRow, StoreFailure, Wanted
from noetl.ports.notifications import Notifications, ToldState
from noetl.ports.outbox import OutboxRow
from noetl.secrets.credentials import CredentialProblem, Credentials
from noetl.server.checked_documents import BadDocument
from noetl.server.notifications.deciding import TEST, EndedRun, late_message, sentence_of, told_of
from noetl.server.notifications.document import FAILING, Notification, Recipient, notification_of
from noetl.server.stored_events import hydrate
from noetl_ir.correlation import HALF, is_storable
from noetl_ir.expr import Json
from noetl_ir.responses import retry_after_of

ENDS = "notify"
"""The topic of ends that notifications are held against."""

MESSAGES = "notify:"
"""How topics of messages begin: behind it stands the name of the notification."""

LOOK_EVERY = 15_000_000
"""Microseconds between two looks for executions that are late."""

GONE = 410
"""The status by which a receiver says that it wants nothing more (RFC 9110 §15.5.11, Standard Webhooks)."""

_ASK_TO_WAIT = (429, 503)
"""Statuses that may say when to come again (RFC 9110 §10.2.3, RFC 6585 §4)."""

_PAGE = 500
_MOST = 1 << 20
_TRIES = 5


class EndTeller:
    """Holds ends against all notifications, and puts what is to be told."""

    def __init__(self, runtime: Runtime, kept: Notifications, clock: Clock) -> None:
        self._runtime = runtime
        self._kept = kept
        self._clock = clock

    def __call__(self, row: OutboxRow) -> None:
        """Put the messages about the end of an execution. Raises NotTold, StoreFailure."""
        found = self._runtime.store.execution(row.subject)
        if found is None or found.ended is None:
            return
        rules = [rule for rule in known(self._kept) if rule.is_about(found.playbook)]
        if not rules or self._runtime.was_scripted(row.subject):
            return
        run = ended_run(self._runtime, found)
        for _ in range(_TRIES):
            states, rows = self._decided(rules, run)
            if self._kept.decide_told(states, rows, instead_of=row.number):
                return
        raise NotTold("what was told of the playbook changes all the time")

    def _decided(self, rules: Sequence[Notification], run: EndedRun) -> tuple[list[ToldState], list[OutboxRow]]:
        states, rows, now = list[ToldState](), list[OutboxRow](), self._clock.now()
        mark = late_mark(run.execution_id)
        for rule in rules:
            there = self._kept.told_states(rule.name, (run.playbook, mark))
            before, late = there.get(run.playbook), there.get(mark)
            told = told_of(rule, run, before, late, now)
            if told.state != before:
                states.append(ToldState(rule.name, run.playbook, before, told.state))
            if late is not None:
                states.append(ToldState(rule.name, mark, late, None))
            if told.message is not None:
                subject = f"{told.message['event']} {run.execution_id} {run.ended}"
                rows.append(OutboxRow(0, MESSAGES + rule.name, subject, told.message, now, now))
        return states, rows


class LateLooks:
    """Looks for executions that should be over by what a notification says."""

    def __init__(self, runtime: Runtime, kept: Notifications, clock: Clock) -> None:
        self._runtime = runtime
        self._kept = kept
        self._clock = clock
        self._due = 0

    def __call__(self) -> None:
        """Put a message for each that has become late, if it is time. Raises StoreFailure."""
        now = self._clock.now()
        if now < self._due:
            return
        self._due = now + LOOK_EVERY
        for rule in known(self._kept):
            if rule.late_after:
                self._look(rule, now)

    def _look(self, rule: Notification, now: int) -> None:
        wanted = Wanted(open=True, top=True, limit=_PAGE, started_before=now - rule.late_after)
        while page := self._runtime.store.executions(wanted):
            rows = [row for row in page if rule.is_about(row.playbook)]
            told = self._kept.told_states(rule.name, [late_mark(row.execution_id) for row in rows])
            for row in rows:
                mark = late_mark(row.execution_id)
                if mark not in told and not self._runtime.was_scripted(row.execution_id):
                    self._put(rule, row, mark, now)
            if len(page) < _PAGE:
                return
            wanted = wanted._replace(before=page[-1].execution_id)

    def _put(self, rule: Notification, row: ExecutionRow, mark: str, now: int) -> None:
        run = EndedRun(row.execution_id, row.playbook, row.status, row.started, None)
        message = OutboxRow(0, MESSAGES + rule.name, f"late {row.execution_id}", late_message(rule, run), now, now)
        # Another server may have told it since the look.
        self._kept.decide_told([ToldState(rule.name, mark, None, {"late": True})], [message])


class MessageSender:
    """Sends messages where their notification says, with the credentials that are kept beside the store."""

    def __init__(self, runtime: Runtime, kept: Notifications) -> None:
        self._runtime = runtime
        self._kept = kept

    def __call__(self, row: OutboxRow) -> None:
        """Send a message. Raises NotTold, StoreFailure."""
        name = row.topic.removeprefix(MESSAGES)
        found = self._kept.rows(name)
        if not found or not isinstance(row.body, dict):  # nobody wants it any more
            return
        if found[0].paused:
            raise NotTold("the notification is paused")
        try:
            address = notification_of(found[0].document).address
        except BadDocument as problem:  # a newer version may have put it there
            raise NotTold(f"it is no notification: {problem}") from None
        fields = self._credential(address)
        if address.way == "mail":
            self._mail(address, fields, row.body, f"{name} {row.subject}")
        else:
            self._post(address, fields, row.body, f"{name} {row.subject}")
        # It is sent: what becomes of this is no reason to send it again.
        with suppress(StoreFailure):
            self._kept.move(found[0], found[0]._replace(told=WallClock().now()))

    def _credential(self, address: Recipient) -> dict[str, Json]:
        if not address.credential:
            return {}
        try:
            found = Credentials(self._runtime.secrets_path).fields(address.credential)
        except CredentialProblem as problem:
            raise NotTold(str(problem)) from None
        if found is None:
            raise NotTold(f"there is no credential `{address.credential}` beside the store of this server")
        for field, text in found.items():
            if isinstance(text, str) and not is_storable(text):
                raise NotTold(f"the credential `{address.credential}`: `{field}` {HALF}")
        return found

    def _mail(self, address: Recipient, fields: Mapping[str, Json], message: Mapping[str, Json], once: str) -> None:
        try:
            send_mail(address, fields, message, once, self._runtime.settings.fence)
        except NotMailed as problem:
            raise NotTold(str(problem)) from None

    def _post(self, address: Recipient, fields: Mapping[str, Json], message: Mapping[str, Json], once: str) -> None:
        url = address.url or fields.get("url")
        if not isinstance(url, str):
            raise NotTold(f"the credential `{address.credential}` has no field `url`")
        body = json.dumps(slack_body(message) if address.way == "slack" else message).encode()
        headers = {"Content-Type": "application/json", "Idempotency-Key": sha256(once.encode()).hexdigest()}
        if isinstance(token := fields.get("token"), str):
            headers["Authorization"] = f"Bearer {token}"
        if isinstance(secret := fields.get("secret"), str):
            headers["X-Noetl-Signature-256"] = "sha256=" + hmac.new(secret.encode(), body, sha256).hexdigest()
        request = HttpRequest("POST", url, headers, content=body)
        got = exchange_now(request, RequestLimits(total=WITHIN, most=_MOST), self._runtime.settings.fence)
        if not isinstance(got, HttpResponse):
            # Its message may name the address, which is a secret where it comes from a credential.
            code = str((got.error or {}).get("code", "http.failed"))
            text = str((got.error or {}).get("message", "")) if address.url else "the address of the credential"
            raise NotTold(f"{code}: {text}")
        if got.status == GONE:
            raise NotTold(f"http.status_{GONE}: the receiver wants no more of it", for_good=True)
        if not 200 <= got.status < 300:
            # Any other refusal may be a slip of the receiver's, or of a credential, which somebody mends meanwhile.
            wait = retry_after_of(got.headers, time.time()) or 0 if got.status in _ASK_TO_WAIT else 0
            raise NotTold(f"http.status_{got.status}", wait=wait)


def slack_body(message: Mapping[str, Json]) -> dict[str, Json]:
    """A message in the shape of Slack's incoming webhooks, which others take, too."""
    text = sentence_of(message).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    link = message.get("link")
    execution, tail = message.get("execution_id"), ""
    if message.get("event") != TEST:  # the execution of a test is not there
        tail = f"\n<{link}|execution {execution}>" if link else f"\nexecution {execution}"
    return {"text": f"{_SIGNS.get(str(message.get('event')), ':x:')} {text}{tail}"}


_SIGNS = {
    "recovered": ":white_check_mark:",
    "completed": ":white_check_mark:",
    "late": ":hourglass:",
    TEST: ":wave:",
}


def known(kept: Notifications) -> list[Notification]:
    """The notifications that are not paused; one that cannot be read is passed over, and told in their list."""
    found = []
    for row in kept.rows():
        if not row.paused:
            try:
                found.append(notification_of(row.document))
            except BadDocument:
                continue
    return found


def late_mark(execution_id: str) -> str:
    """The subject under which it is known that an execution was told to be late."""
    return f"late {execution_id}"


def ended_run(runtime: Runtime, row: ExecutionRow) -> EndedRun:
    """An execution that is over, with code and message of its failure; secrets are hidden as in its log."""
    run = EndedRun(row.execution_id, row.playbook, row.status, row.started, row.ended, row.error or "")
    if row.status not in FAILING:
        return run
    for record in deque(runtime.store.read(row.execution_id), len(END)):
        event = hydrate(record, runtime.blobs)
        if event.event_type == "workflow.finished":
            run = _with_error(run, event.data.get("error"), event.data.get("reason"))
    return run


def _with_error(run: EndedRun, error: Json, reason: Json) -> EndedRun:
    if isinstance(error, dict):
        return run._replace(code=str(error.get("code") or run.code), message=str(error.get("message") or ""))
    return run._replace(code=run.code or run.status, message=str(reason or ""))
