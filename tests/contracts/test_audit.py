"""The contract of the audit: a row goes with its deed, and nobody changes one."""

from collections.abc import Callable
from contextlib import suppress

import pytest

from noetl.ports import ExecutionRow, Store, StoreFailure, Taken
from noetl.ports.actors import REFUSED, Actor, acting
from noetl.ports.audit import Audit, Audited, WantedAudit, audit_row
from noetl.ports.idempotency import StartKey
from noetl.ports.mailbox import Letter
from noetl.ports.schedules import Scheduled, ScheduleRow

ANN = Actor("ann", "api", "10.0.0.7")
ROW = ExecutionRow("x1", "etl/a", "d", "running", None, 1, None)
Open = Callable[..., Store]


def audit_of(store: Store) -> Audit:
    assert isinstance(store, Audited)
    return store.audit


def deeds(store: Store) -> list[tuple[str, str, str]]:
    return [(row.who, row.deed, row.subject) for row in audit_of(store).deeds(WantedAudit())][::-1]


def test_each_change_has_its_row(store: Store) -> None:
    assert isinstance(store, Scheduled)
    with acting(ANN):
        store.create(ROW, [("s1", b"{}")])
        for verb in ("pause", "resume", "signal"):
            store.post("x1", verb, {"name": "go"})
        store.put_plan("d", "etl/a", b"plan")
        store.put_plan("d", "etl/a", b"plan")
        schedule = ScheduleRow("nightly", {}, 1)
        store.scheduling.put(schedule)
        store.scheduling.move(schedule, schedule._replace(paused=True))
        store.scheduling.remove("nightly")
        store.scheduling.remove("nightly")
        store.mailbox.post_letter(Letter("order 7", "paid", None, "once", 1_000_000))
    with acting(Actor("bob", "cli")):
        store.append("x1", 1, [("s2", b"{}")], status="completed", ended=5)
        store.purges.purge(["x1"])
    assert deeds(store) == [
        ("ann", "start", "x1"),
        ("ann", "pause", "x1"),
        ("ann", "resume", "x1"),
        ("ann", "signal", "x1"),
        ("ann", "register", "etl/a@1"),
        ("ann", "schedule-put", "nightly"),
        ("ann", "schedule-pause", "nightly"),
        ("ann", "schedule-delete", "nightly"),
        ("ann", "signal", "key order 7"),
        ("bob", "purge", "x1"),
    ]


def test_what_nobody_did_has_none(store: Store) -> None:
    store.create(ROW, [("s1", b"{}")])
    with acting(ANN._replace(subject="another")):
        store.post("x1", "cancel", None)
    with acting(ANN):
        store.create(ROW._replace(execution_id="x2", parent_execution_id="x1"))
    assert deeds(store) == []


def test_what_was_refused_by_the_store_leaves_none(store: Store) -> None:
    store.create(ROW, [("s1", b"{}")], key=StartKey("k", "r"))
    with acting(ANN), pytest.raises(Taken):
        store.create(ROW._replace(execution_id="x2"), key=StartKey("k", "r"))
    with acting(ANN), pytest.raises(StoreFailure):
        store.post("nobody", "cancel", None)
    assert deeds(store) == []


def test_a_rerun_is_one_and_a_restore_says_so(store: Store) -> None:
    with acting(ANN):
        store.create(ROW._replace(rerun_of="x0"))
    with acting(ANN._replace(deed="restore")):
        store.create(ROW._replace(execution_id="x2"))
    assert deeds(store) == [("ann", "rerun", "x1"), ("ann", "restore", "x2")]


@pytest.mark.parametrize("point", ["create.before_commit", "post.before_commit"])
def test_a_deed_that_was_not_done_has_no_row(open_store: Open, point: str) -> None:
    class Died(Exception):
        pass

    armed: list[str] = []

    def hook(reached: str) -> None:
        if reached in armed:
            raise Died

    store = open_store(hook=hook)
    store.create(ROW._replace(execution_id="x0"))
    armed.append(point)
    for work in (lambda: store.create(ROW), lambda: store.post("x0", "cancel", None)):
        with acting(ANN), suppress(Died):
            work()
    assert len(deeds(store)) == 1


def test_rows_are_found_by_what_they_say(store: Store) -> None:
    audit = audit_of(store)
    for number, who in enumerate(("ann", "bob", "a\0nn")):
        audit.add_deed(audit_row(Actor(who, "page"), "sign-in", f"s{number}", REFUSED, "no such token"))
    rows = audit.deeds(WantedAudit())
    assert [(row.row, row.who, row.outcome, row.reason) for row in rows] == [
        (3, "a\0nn", "refused", "no such token"),
        (2, "bob", "refused", "no such token"),
        (1, "ann", "refused", "no such token"),
    ]
    assert audit.deeds(WantedAudit(who="bob")) == [rows[1]]
    assert audit.deeds(WantedAudit(subject="s2", deeds=("sign-in",), outcome=REFUSED)) == [rows[0]]
    assert audit.deeds(WantedAudit(deeds=("stop", "sign-in"), who="bob")) == [rows[1]]
    assert audit.deeds(WantedAudit(deeds=("stop", "start"))) == []
    assert audit.deeds(WantedAudit(outcome="done")) == []
    assert audit.deeds(WantedAudit(limit=2)) == rows[:2]
    assert audit.deeds(WantedAudit(before=2, limit=2)) == rows[2:]
    assert audit.deeds(WantedAudit(since=rows[0].at + 1)) == []


def test_a_row_that_comes_twice_is_one(store: Store) -> None:
    row = audit_row(ANN, "stop", "")
    audit_of(store).add_deed(row)
    audit_of(store).add_deed(row)
    assert len(deeds(store)) == 1


def test_rows_are_kept_and_go_by_their_age_alone(open_store: Open) -> None:
    store = open_store()
    audit = audit_of(store)
    for at in (10, 20, 30):
        audit.add_deed(audit_row(ANN, "stop", str(at))._replace(at=at))
    assert audit_of(open_store()).forget_deeds(20) == 1
    assert audit.forget_deeds(20) == 0
    assert deeds(store) == [("ann", "stop", "20"), ("ann", "stop", "30")]


def test_long_texts_are_cut(store: Store) -> None:
    audit_of(store).add_deed(audit_row(ANN._replace(who="é" * 5_000), "stop", "s" * 5_000))
    (row,) = audit_of(store).deeds(WantedAudit())
    assert (len(row.who), len(row.subject)) == (512, 512)
