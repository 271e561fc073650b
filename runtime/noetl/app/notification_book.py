"""The book of notifications: how they are kept, changed and told of, by the API and beside a store alike."""

import os
from itertools import islice

from noetl.app.notifying import ENDS, MESSAGES
from noetl.app.runtime import Runtime
from noetl.ports import Clock, Store
from noetl.ports.notifications import NotificationRow, Notifications, Notifying
from noetl.ports.outbox import Outbox, OutboxRow, Telling, WantedOutbox
from noetl.server.checked_documents import BadDocument
from noetl.server.notifications.document import notification_of
from noetl_ir.expr import Json
from noetl_ir.nearest import nearest


class NoSuchNotification(Exception):
    """There is no notification of that name; the text names one that is much like it."""


class NotificationBook:
    """The notifications of a store. All methods raise StoreFailure, and NoSuchNotification for a name that is not
    there.
    """

    def __init__(self, runtime: Runtime, clock: Clock) -> None:
        self._store: Store = runtime.store
        self._clock = clock

    def put(self, document: dict[str, Json], name: str = "") -> dict[str, Json]:
        """Keep a notification; one of its name is replaced. Raises BadDocument, also where it has another name than the
        one that was asked for.
        """
        notification = notification_of(document)
        if name and name != notification.name:
            text = f"`metadata.name` is `{notification.name}`, and the address names `{name}`"
            raise BadDocument(text, ("metadata", "name"))
        there = next(iter(self._kept.notifications(notification.name)), None)
        row = NotificationRow(
            notification.name, document, there is not None and there.paused, self._clock.now()
        )  # fmt: skip
        # Watched first: an end between the two is held against it, and not lost to it.
        self._outbox.watch_ends(ENDS, top=True)
        self._kept.put_notification(row)
        return self._told(row)

    def remove(self, name: str) -> None:
        """Keep a notification no more."""
        if not self._kept.remove_notification(name):
            raise self._unknown(name)
        if not self._kept.notifications():
            self._outbox.unwatch_ends(ENDS)

    def pause(self, name: str) -> dict[str, Json]:
        """Tell nobody by a notification: what happens meanwhile is passed."""
        return self._changed(name, paused=True)

    def resume(self, name: str) -> dict[str, Json]:
        """Go on with what happens from now on."""
        return self._changed(name, paused=False)

    def test(self, name: str) -> dict[str, Json]:
        """Have a message sent that is about nothing."""
        row, now = self._row(name), self._clock.now()
        message: dict[str, Json] = {"notification": name, "event": "test", "execution_id": None, "playbook": None}
        self._outbox.put_outbox([OutboxRow(0, MESSAGES + name, f"test {os.urandom(8).hex()}", message, now, now)])
        return self._told(row)

    def documents(self, after: str = "", limit: int = 0) -> list[dict[str, Json]]:
        """The notifications behind a name, by name; at most `limit`, 0 for all."""
        rows = (row for row in self._kept.notifications() if row.name > after)
        return [self._told(row) for row in islice(rows, limit or None)]

    def document(self, name: str) -> dict[str, Json]:
        """A notification, and the messages that were not sent yet."""
        return self._told(self._row(name))

    @property
    def _kept(self) -> Notifications:
        assert isinstance(self._store, Notifying), "every store that is written to has notifications"
        return self._store.notifying

    @property
    def _outbox(self) -> Outbox:
        assert isinstance(self._store, Telling), "every store that is written to has an outbox"
        return self._store.outbox

    def _row(self, name: str) -> NotificationRow:
        found = self._kept.notifications(name)
        if not found:
            raise self._unknown(name)
        return found[0]

    def _unknown(self, name: str) -> NoSuchNotification:
        near = nearest(name, [row.name for row in self._kept.notifications()])
        return NoSuchNotification(f"there is no notification `{name}`" + (f"; did you mean `{near}`?" if near else ""))

    def _changed(self, name: str, *, paused: bool) -> dict[str, Json]:
        row = self._row(name)._replace(paused=paused)
        self._kept.put_notification(row)
        return self._told(row)

    def _told(self, row: NotificationRow) -> dict[str, Json]:
        waiting = self._outbox.outbox_rows(WantedOutbox(topic=MESSAGES + row.name, limit=1_000))
        told: dict[str, Json] = {
            "name": row.name,
            "paused": row.paused,
            "waiting": sum(not each.is_dead for each in waiting),
            "dead": sum(each.is_dead for each in waiting),
            "trouble": next((each.trouble for each in reversed(waiting) if each.trouble), None),
            "document": row.document,
        }
        try:
            notification = notification_of(row.document)
        except BadDocument as problem:
            return {**told, "trouble": str(problem)}
        return {**told, "on": [*sorted(notification.events)], "to": notification.address.way}
