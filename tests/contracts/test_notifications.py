"""The contract of notifications in stores."""

from collections.abc import Callable

import pytest

from noetl.ports import Store
from noetl.ports.actors import Actor, acting
from noetl.ports.audit import Audited, WantedAudit
from noetl.ports.notifications import NotificationRow, Notifications, Notifying, ToldState
from noetl.ports.outbox import OutboxRow, Telling, WantedOutbox

ROW = NotificationRow("ops/oncall", {"spec": {"é\0": [1, None, True]}}, began=7)
Open = Callable[..., Store]


@pytest.fixture
def kept(store: Store) -> Notifications:
    assert isinstance(store, Notifying)
    return store.notifying


def test_what_is_kept_comes_back_by_name_and_is_recorded(open_store: Open) -> None:
    store = open_store()
    assert isinstance(store, Notifying) and isinstance(store, Audited)
    other = ROW._replace(name="a", paused=True, told=1_772_323_200_000_002)
    with acting(Actor("ann", "api")):
        for row in (ROW._replace(began=8), other):
            store.notifying.put(row)
        again = open_store()
        assert isinstance(again, Notifying)
        assert again.notifying.rows() == (other, ROW._replace(began=8))
        assert again.notifying.rows("nobody") == ()
        assert store.notifying.remove("a") and not store.notifying.remove("a")
    deeds = [row.deed for row in store.audit.deeds(WantedAudit())]
    assert deeds == ["notification-delete", *["notification-put"] * 2]


def test_what_is_decided_is_told_once(store: Store, kept: Notifications) -> None:
    assert isinstance(store, Telling)
    kept.put(ROW)
    store.outbox.put_outbox([OutboxRow(0, "notify", "x1", None, 1, 1)])
    (end,) = store.outbox.outbox_rows(WantedOutbox())
    message = OutboxRow(0, "notify:ops/oncall", "failed x1", {"a": 1}, 2, 2)
    first = ToldState(ROW.name, "etl/a", None, {"failing": True, "é": [1]})
    assert kept.decide_told([first], [message], instead_of=end.number)
    assert [row.subject for row in store.outbox.outbox_rows(WantedOutbox())] == ["failed x1"]
    # Another server that looked at the same time saw nothing told, and tells nothing.
    assert not kept.decide_told([first], [message._replace(subject="failed x2")])
    assert [row.subject for row in store.outbox.outbox_rows(WantedOutbox())] == ["failed x1"]
    assert kept.told_states(ROW.name, ("etl/a", "etl/b")) == {"etl/a": {"failing": True, "é": [1]}}
    assert kept.decide_told([ToldState(ROW.name, "etl/a", {"failing": True, "é": [1]}, None)], [])
    assert kept.told_states(ROW.name, ("etl/a",)) == {}


def test_what_was_told_goes_with_its_notification(kept: Notifications) -> None:
    kept.put(ROW)
    assert kept.decide_told([ToldState(ROW.name, "etl/a", None, {"failing": True})], [])
    kept.put(ROW._replace(paused=True))
    assert kept.told_states(ROW.name, ("etl/a",)) == {"etl/a": {"failing": True}}
    kept.remove(ROW.name)
    assert kept.told_states(ROW.name, ("etl/a",)) == {}
