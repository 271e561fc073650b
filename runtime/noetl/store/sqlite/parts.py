"""The parts of a SQLite store that most runs do without: each is imported when it is first asked for."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from noetl.ports.audit import Audit
    from noetl.ports.mailbox import Mailbox
    from noetl.ports.maintenance import Maintenance
    from noetl.ports.namespaces import Namespaces
    from noetl.ports.notifications import Notifications
    from noetl.ports.outbox import Outbox
    from noetl.ports.purges import Purges
    from noetl.ports.schedules import Schedules
    from noetl.ports.triggers import Triggers
    from noetl.store.sqlite import SqliteStore


class SqliteParts:
    """The parts, for the store that has them."""

    @property
    def _whole(self) -> SqliteStore:
        return cast("SqliteStore", self)

    @cached_property
    def mailbox(self) -> Mailbox:
        from noetl.store.sqlite.mailbox import SqliteMailbox  # few runs use it

        return SqliteMailbox(self._whole)

    @cached_property
    def purges(self) -> Purges:
        from noetl.store.sqlite.purges import SqlitePurges  # no run uses it

        return SqlitePurges(self._whole)

    @cached_property
    def scheduling(self) -> Schedules:
        from noetl.store.sqlite.schedules import SqliteSchedules  # no run uses it

        return SqliteSchedules(self._whole)

    @cached_property
    def audit(self) -> Audit:
        from noetl.store.sqlite.audit import SqliteAudit  # most runs use it not at all

        return SqliteAudit(self._whole)

    @cached_property
    def outbox(self) -> Outbox:
        from noetl.store.sqlite.outbox import SqliteOutbox  # no run uses it

        return SqliteOutbox(self._whole)

    @cached_property
    def notifying(self) -> Notifications:
        from noetl.store.sqlite.notifications import SqliteNotifications  # no run uses it

        return SqliteNotifications(self._whole)

    @cached_property
    def namespaces(self) -> Namespaces:
        from noetl.store.sqlite.namespaces import SqliteNamespaces  # no run uses it

        return SqliteNamespaces(self._whole)

    @cached_property
    def triggering(self) -> Triggers:
        from noetl.store.sqlite.triggers import SqliteTriggers  # no run uses it

        return SqliteTriggers(self._whole)

    @cached_property
    def maintenance(self) -> Maintenance:
        from noetl.store.sqlite.maintenance import SqliteMaintenance  # no run uses it

        return SqliteMaintenance(self._whole)
