"""Whom to tell of an end, and what: pure functions of a notification, an end, and what was told before."""

from collections.abc import Mapping

from noetl.server.notifications.document import COMPLETED, EVENTS, FAILING, LATE, RECOVERED, Notification
from noetl_ir.events import iso_of
from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple

TEST = "test"
"""The event of a message that is about nothing."""

LONGEST_MESSAGE = 500
"""Characters of an error's message that are told."""

_EXAMPLE_TOOK = 60_000_000
"""Microseconds that the execution of a test took."""

MOST_OTHERS = 50
"""The failures of a playbook, beside the last one, of which is known that they were told."""


class EndedRun(NamedTuple):
    """An execution that is over, or late. Times are microseconds since the epoch."""

    execution_id: str
    playbook: str
    status: str
    started: int
    ended: int | None
    code: str = ""
    message: str = ""


class ToldEnd(NamedTuple):
    """Consequences of an end for one notification: the message, None for none, and the state from then on, None for
    nothing that has to be known.
    """

    message: dict[str, Json] | None
    state: dict[str, Json] | None


def told_of(
    notification: Notification,
    run: EndedRun,
    state: Mapping[str, Json] | None,
    late: Mapping[str, Json] | None,
    now: int,
) -> ToldEnd:
    """Decide what a notification tells of an end. `state` is what it told of the playbook, `late` that this execution
    is late, None for nothing.
    """
    before = dict(state) if state is not None else None
    if run.status == COMPLETED:
        was_bad = before is not None and before.get("failing") is True
        if (was_bad or late is not None) and RECOVERED in notification.events:
            since = before.get("since") if was_bad and before is not None else None
            return ToldEnd(message_of(notification, RECOVERED, run, since=since), None)
        if COMPLETED in notification.events:
            return ToldEnd(message_of(notification, COMPLETED, run), None if was_bad else before)
        return ToldEnd(None, None if was_bad else before)
    if not notification.is_of(run.code):
        return ToldEnd(None, before)
    fails = run.status in FAILING
    failing = {"failing": True, "since": (before or {}).get("since") or iso_of(run.ended or now)} if fails else {}
    if run.status not in notification.events:
        # It is not told, and a recovery from it is.
        return ToldEnd(None, {**(before or {}), **failing} or None)
    if before is not None and _is_quiet(notification, run, before, now):
        left_out = before.get("left_out")
        return ToldEnd(None, {**before, **failing, "left_out": (left_out if isinstance(left_out, int) else 0) + 1})
    told: dict[str, Json] = {**failing, "code": run.code, "status": run.status, "told": now, "left_out": 0}
    if others := _others_told(notification, run, before or {}, now):
        told["others"] = others
    return ToldEnd(message_of(notification, run.status, run, left_out=(before or {}).get("left_out")), told)


def _is_quiet(notification: Notification, run: EndedRun, before: Mapping[str, Json], now: int) -> bool:
    return [run.status, run.code] in [[status, code] for status, code, _ in _told_within(notification, before, now)]


def _others_told(notification: Notification, run: EndedRun, before: Mapping[str, Json], now: int) -> list[Json]:
    """The other failures of a playbook that are not told again yet, the newest first."""
    found = _told_within(notification, before, now)
    others = [row for row in found if (row[0], row[1]) != (run.status, run.code)]
    return [[*row] for row in others[:MOST_OTHERS]]


def _told_within(notification: Notification, before: Mapping[str, Json], now: int) -> list[tuple[str, str, int]]:
    """Status, code and time of what was told within the quiet time, the newest first."""
    others = before.get("others")
    rows: list[Json] = [[before.get("status"), before.get("code"), before.get("told")]]
    found = []
    for row in rows + (others if isinstance(others, list) else []):
        match row:
            case [str(status), str(code), int(told)] if now - told < notification.quiet:
                found.append((status, code, told))
    return found


def late_message(notification: Notification, run: EndedRun) -> dict[str, Json]:
    """The message about an execution that should be over."""
    return message_of(notification, LATE, run)


def message_of(
    notification: Notification, event: str, run: EndedRun, *, since: Json = None, left_out: Json = None
) -> dict[str, Json]:
    """The message about an event."""
    found: dict[str, Json] = {
        "notification": notification.name,
        "event": event,
        "playbook": run.playbook,
        "execution_id": run.execution_id,
        "status": run.status,
        "started": iso_of(run.started),
        "ended": iso_of(run.ended) if run.ended is not None else None,
    }
    if run.code:
        found |= {"code": run.code, "message": run.message[:LONGEST_MESSAGE]}
    if since is not None:
        found["failing_since"] = since
    if left_out:
        found["left_out"] = left_out
    if notification.page:
        found["link"] = f"{notification.page}/#/executions/{run.execution_id}"
    return found


def example_of(notification: Notification, execution_id: str, now: int) -> dict[str, Json]:
    """A message as a notification sends them, with the event `TEST`, about an execution that is not there: whoever
    reads it by a program sees whether that can read the others.
    """
    event = next(one for one in EVENTS if one in notification.events)
    pattern = notification.playbooks[0] if notification.playbooks else "*/*"
    playbook = pattern.replace("*", "example").replace("?", "x")
    status = {LATE: "running", RECOVERED: COMPLETED}.get(event, event)
    run = EndedRun(execution_id, playbook, status, now - _EXAMPLE_TOOK, None if event == LATE else now)
    if event in FAILING:
        run = run._replace(code="example.error", message="this is a test")
    since = iso_of(run.started) if event == RECOVERED else None
    return {**message_of(notification, event, run, since=since), "event": TEST}


def sentence_of(message: Mapping[str, Json]) -> str:
    """A message in a sentence, for people."""
    event, playbook = message.get("event"), message.get("playbook")
    if event == TEST:
        return "this is a test: notifications come through"
    text = {
        LATE: f"{playbook} is late: it began at {message.get('started')} and is {message.get('status')}",
        RECOVERED: f"{playbook} has recovered",
    }.get(str(event), f"{playbook} is {message.get('status')}")
    if message.get("code"):
        text += f": {message['code']}: {message.get('message')}"
    if message.get("failing_since"):
        text += f", failing since {message['failing_since']}"
    if message.get("left_out"):
        text += f" ({message['left_out']} more of them since the last message)"
    return text
