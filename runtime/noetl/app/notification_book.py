"""The book of notifications: how they are kept, changed and told of, by the API and beside a store alike."""

import os
from collections.abc import Iterator, Sequence

from noetl.app.named_credentials import lacking_recipient
from noetl.app.notifying import ENDS, MESSAGES
from noetl.app.runtime import Runtime
from noetl.app.standing_book import StandingBook, check_name
from noetl.app.start_checks import StartSlip
from noetl.ports import Clock, Store
from noetl.ports.notifications import NotificationRow, Notifications, Notifying
from noetl.ports.outbox import Outbox, OutboxRow, Telling, WantedOutbox
from noetl.ports.scopes import is_pattern_within
from noetl.server.checked_documents import BadDocument
from noetl.server.notifications.deciding import TEST, example_of
from noetl.server.notifications.document import Notification, notification_of
from noetl_ir.events import iso_of
from noetl_ir.expr import Json


class NotificationBook(StandingBook[NotificationRow]):
    """The notifications of a store. By one that is paused nobody is told: what happens meanwhile is passed."""

    noun = "notification"

    def __init__(self, runtime: Runtime, clock: Clock) -> None:
        self._store: Store = runtime.store
        self._runtime = runtime
        self._clock = clock

    def put(self, document: dict[str, Json], name: str = "") -> dict[str, Json]:
        """Keep a notification; one of its name is replaced. `warnings` say why none could be sent. Raises BadDocument,
        also where it has another name than the one that was asked for.
        """
        notification = notification_of(document)
        check_name(notification.name, name)
        there = next(iter(self._kept.rows(notification.name)), None)
        row = NotificationRow(notification.name, document, began=self._clock.now())
        if there is not None:
            row = row._replace(paused=there.paused, told=there.told)
        # Watched first: an end between the two is held against it, and not lost to it.
        self._outbox.watch_ends(ENDS, top=True)
        self._kept.put(row)
        return {**self._told(row), "warnings": [slip.document() for slip in self._slips(notification)]}

    def _slips(self, notification: Notification) -> Iterator[StartSlip]:
        address = notification.address
        if why := lacking_recipient(self._runtime.secrets_path, address):
            text = f"it is kept, but {why}; messages wait for it, and are dead letters after some hours"
            yield StartSlip(("spec", "to", address.way, "credential"), text)

    def remove(self, name: str) -> None:
        """Keep a notification no more."""
        super().remove(name)
        if not self._kept.rows():
            self._outbox.unwatch_ends(ENDS)

    def test(self, name: str) -> dict[str, Json]:
        """Have a message sent that is about nothing, in the shape of those that it sends."""
        row, now = self.row(name), self._clock.now()
        try:
            message = example_of(notification_of(row.document), self._runtime.new_execution_id(), now)
        except BadDocument:  # a newer version may have put it there, and whoever sends it says so
            message = {"notification": name, "event": TEST}
        self._outbox.put_outbox([OutboxRow(0, MESSAGES + name, f"test {os.urandom(8).hex()}", message, now, now)])
        return self._told(row)

    @property
    def _kept(self) -> Notifications:
        assert isinstance(self._store, Notifying), "every store that is written to has notifications"
        return self._store.notifying

    @property
    def _outbox(self) -> Outbox:
        assert isinstance(self._store, Telling), "every store that is written to has an outbox"
        return self._store.outbox

    def _is_about(self, document: dict[str, Json], paths: Sequence[str]) -> bool:
        patterns = notification_of(document).playbooks
        return bool(patterns) and all(is_pattern_within(each, paths) for each in patterns)

    def _paused(self, row: NotificationRow, *, paused: bool) -> NotificationRow:
        return row._replace(paused=paused)

    def _told(self, row: NotificationRow) -> dict[str, Json]:
        waiting = self._outbox.outbox_rows(WantedOutbox(topic=MESSAGES + row.name, limit=1_000))
        told: dict[str, Json] = {
            "name": row.name,
            "paused": row.paused,
            "waiting": sum(not each.is_dead for each in waiting),
            "dead": sum(each.is_dead for each in waiting),
            "trouble": next((each.trouble for each in reversed(waiting) if each.trouble), None),
            "last_told": iso_of(row.told) if row.told else None,
            "document": row.document,
        }
        try:
            notification = notification_of(row.document)
        except BadDocument as problem:
            return {**told, "trouble": str(problem)}
        if told["trouble"] is None:
            told["trouble"] = lacking_recipient(self._runtime.secrets_path, notification.address) or None
        return {**told, "on": [*sorted(notification.events)], "to": notification.address.way}
