"""Stores that fail at the named points of their transactions: what was to be written is there wholly or not at all."""

from collections.abc import Callable
from functools import partial
from types import ModuleType

import pytest

from noetl.ports import ExecutionRow, Store
from noetl.ports.audit import Audit, Audited, AuditRow, WantedAudit
from noetl.ports.mailbox import Letter, OpenWait
from noetl.ports.namespaces import Namespaced, NamespaceRow, Namespaces
from noetl.ports.notifications import NotificationRow, Notifications, Notifying
from noetl.ports.outbox import Outbox, OutboxRow, Telling, WantedOutbox
from noetl.ports.places import PlaceRow
from noetl.ports.schedules import Scheduled, ScheduleRow, Schedules
from noetl.ports.triggers import Triggered, TriggerRow, Triggers
from noetl_ir.plan_sources import SourcedPlan

ROW = ExecutionRow("e1", "demo/one", "d" * 64, "running", None, 1_000, None)
Open = Callable[..., Store]


class Stop(Exception):
    """The exception that the hook raises."""


def test_a_failure_at_a_named_point_leaves_all_or_nothing(adapter: ModuleType, open_store: Open) -> None:
    for point in adapter.FAULT_POINTS:
        stop_at: list[str] = []
        store = open_store(partial(stop_if_in, stop_at))
        row = ROW._replace(execution_id=f"at {point}")
        operation, state = operations(store, row)[point.partition(".")[0]]
        if not point.startswith("create"):
            store.create(row, [("a", b"1")])
        before = state()
        stop_at.append(point)
        with pytest.raises(Stop, match=point):
            operation()
        assert (state() == before) is not point.endswith("after_commit")
        stop_at.clear()
        operation()
        operation()
        assert state() != before
        name = row.execution_id
        assert store.append(name, len([*store.read(name)]), [("z", b"")], status="running", ended=None)


def stop_if_in(points: list[str], reached: str) -> None:
    """Raises at the points listed."""
    if reached in points:
        raise Stop(reached)


def operations(store: Store, row: ExecutionRow) -> dict[str, tuple[Callable[[], object], Callable[[], object]]]:
    """Operation → how to do it, and what shows that it was done."""
    name, over, inner = row.execution_id, f"{row.execution_id}, over", f"{row.execution_id}, inside"
    store.create(row._replace(execution_id=over, status="completed", ended=2_000))
    return {
        "create": (lambda: store.create(row, [("a", b"1")]), lambda: store.execution(name)),
        "append": (
            lambda: store.append(name, 1, [("b", b"2"), ("c", b"3")], status="failed", ended=9),
            lambda: (list(store.read(name)), store.execution(name)),
        ),
        "put_plan": (
            lambda: store.put_plan(name, name, b"plan", sources=sourced(name, inner)),
            lambda: (store.plan_at(name), store.plan_bytes(inner), store.source(name), store.source(inner)),
        ),
        "post": (lambda: store.post(name, "cancel", None), lambda: len(store.inbox(name, 0))),
        "mail": (
            lambda: letter_to(store, name),
            lambda: (len(store.inbox(name, 0)), store.mailbox.correspondence(name)),
        ),
        "places": (
            lambda: store.change_places(lambda rows: [PlaceRow(name, name, name, placed=True)]),
            lambda: [place.key for place in store.places()],
        ),
        "purge": (lambda: store.purges.purge([over]), lambda: store.execution(over)),
        "audit": (
            lambda: deeds(store).add_deed(AuditRow(0, 1, "ann", "cli", "", "stop", name, once=name)),
            lambda: deeds(store).deeds(WantedAudit(subject=name)),
        ),
        "trigger": (
            lambda: triggering(store).put(TriggerRow(name, "after", {}, {})),
            lambda: triggering(store).rows(name),
        ),
        "notification": (
            lambda: notifying(store).put(NotificationRow(name, {})),
            lambda: notifying(store).rows(name),
        ),
        "namespace": (
            lambda: namespaces(store).put(NamespaceRow(name, {}, f"{name}/")),
            lambda: namespaces(store).rows(name),
        ),
        "outbox": (
            lambda: outbox(store).put_outbox([OutboxRow(0, "t", name, None, 1, 1)]),
            lambda: [row.subject for row in outbox(store).outbox_rows(WantedOutbox())],
        ),
        "schedule": (
            lambda: scheduling(store).put(ScheduleRow(name, {}, 1)),
            lambda: scheduling(store).rows(name),
        ),
    }


def sourced(*digests: str) -> list[SourcedPlan]:
    """Plans with their sources."""
    return [SourcedPlan(digest, b"plan", b"of " + digest.encode()) for digest in digests]


def deeds(store: Store) -> Audit:
    """The audit of a store."""
    assert isinstance(store, Audited)
    return store.audit


def namespaces(store: Store) -> Namespaces:
    """The namespaces of a store."""
    assert isinstance(store, Namespaced)
    return store.namespaces


def notifying(store: Store) -> Notifications:
    """The notifications of a store."""
    assert isinstance(store, Notifying)
    return store.notifying


def outbox(store: Store) -> Outbox:
    """The outbox of a store."""
    assert isinstance(store, Telling)
    return store.outbox


def scheduling(store: Store) -> Schedules:
    """The schedules of a store."""
    assert isinstance(store, Scheduled)
    return store.scheduling


def triggering(store: Store) -> Triggers:
    """The triggers of a store."""
    assert isinstance(store, Triggered)
    return store.triggering


def letter_to(store: Store, name: str) -> None:
    """An execution waits, and has a letter."""
    store.mailbox.await_letter(OpenWait(name, name, "1:0:1:1", ("go",)))
    store.mailbox.post_letter(Letter(name, "go", None, name))
