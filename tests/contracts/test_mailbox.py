"""The contract of the mailbox in every store: the oldest open wait under a key has a letter, once, or it is kept.

Random scripts are held against a model that knows nothing of tables. `conftest.py` finds the adapters.
"""

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from harness.samples import first
from noetl.ports import ExecutionRow, MailboxFull, Store
from noetl.ports.mailbox import MOST_KEPT, SHOWN_WAITS, Letter, MailRow, OpenWait, OtherLetter, WantedMail

ROW = ExecutionRow("e1", "demo/one", "d" * 64, "running", None, 1_000, None)
Open = Callable[..., Store]
GO = Letter("k \0ö", "go", {"n": 1}, "a")
WAIT = OpenWait("k \0ö", "e1", "1:0:1:1", ("other", "go"))


def bodies(store: Store, execution_id: str = "e1") -> list[Any]:
    """The signals in the inbox of an execution."""
    return [row.body for row in store.inbox(execution_id, 0) if row.verb == "signal"]


def test_a_letter_goes_to_the_wait_that_is_open_with_all_that_it_carries(open_store: Open) -> None:
    store = open_store()
    store.create(ROW)
    assert store.mailbox.await_letter(WAIT) is False
    assert open_store().mailbox.post_letter(GO, 1_000) is True
    assert bodies(store) == [{"name": "go", "data": {"n": 1}, "key": GO.key, "wait": WAIT.call, "since": 1_000}]
    row = store.inbox("e1", 0)[0].row
    assert store.mailbox.correspondence("e1") == ((row,), (WAIT.call,))
    store.mailbox.settle_mail("e1", [WAIT.call], [row])
    assert store.mailbox.correspondence("e1") == ((), ())


def test_a_letter_is_kept_for_the_wait_that_opens_later(store: Store) -> None:
    assert store.mailbox.post_letter(GO) is False
    assert store.mailbox.post_letter(GO._replace(name="third", once="b")) is False
    assert store.mailbox.post_letter(GO._replace(key="K", once="c")) is False
    assert bodies(store) == []
    assert store.mailbox.await_letter(WAIT) is True
    assert [body["name"] for body in bodies(store)] == ["go"]


def test_what_is_done_twice_counts_once(store: Store) -> None:
    store.create(ROW._replace(execution_id="e2"))
    assert store.mailbox.post_letter(GO) is store.mailbox.post_letter(GO._replace(data=2)) is False
    assert store.mailbox.await_letter(WAIT) is store.mailbox.await_letter(WAIT) is True
    assert store.mailbox.post_letter(GO) is True, "somebody had it"
    store.mailbox.settle_mail("e1", [WAIT.call], [store.posted()])
    assert store.mailbox.post_letter(GO) is True, "somebody took it"
    assert store.mailbox.await_letter(WAIT._replace(execution_id="e2")) is False
    assert [body["data"] for body in bodies(store)] == [{"n": 1}]


def test_an_exact_letter_is_refused_where_another_one_had_its_name(store: Store) -> None:
    exact = GO._replace(is_exact=True, data={"a": 1, "b": True})
    others = [{"key": "k"}, {"name": "other"}, {"data": {"a": 1.0, "b": True}}, {"data": {"a": 1, "b": 1}}]

    def ask() -> None:
        for other in others:
            with pytest.raises(OtherLetter):
                store.mailbox.post_letter(exact._replace(**other))  # type: ignore[arg-type]

    assert store.mailbox.post_letter(exact) is False
    ask()
    assert store.mailbox.post_letter(exact._replace(data={"b": True, "a": 1}, keep_for=1)) is False
    store.mailbox.await_letter(WAIT)
    ask()
    store.mailbox.settle_mail("e1", [WAIT.call], [store.posted()])
    ask()
    assert store.mailbox.post_letter(exact) is store.mailbox.post_letter(exact._replace(data=2, is_exact=False)) is True


def test_a_wait_that_has_one_takes_no_other(store: Store) -> None:
    store.mailbox.await_letter(WAIT)
    assert store.mailbox.post_letter(GO) is True
    assert store.mailbox.post_letter(GO._replace(once="b")) is False
    assert store.mailbox.await_letter(WAIT) is True
    assert len(bodies(store)) == 1
    assert store.mailbox.await_letter(WAIT._replace(call="2:0:1:1")) is True


def test_what_is_returned_goes_to_the_next_and_only_once(store: Store) -> None:
    store.create(ROW._replace(execution_id="e2"))
    store.mailbox.await_letter(WAIT)
    store.mailbox.await_letter(WAIT._replace(execution_id="e2"))
    store.mailbox.post_letter(GO)
    row = store.posted()
    store.mailbox.return_letter("e1", row)
    assert [body["data"] for body in bodies(store, "e2")] == [{"n": 1}]
    store.mailbox.return_letter("e1", row)
    store.mailbox.return_letter("e2", row)
    assert len(bodies(store, "e2")) == len(bodies(store)) == 1
    store.mailbox.return_letter("e2", store.posted())
    assert store.mailbox.await_letter(WAIT) is True, "kept again, and the wait that gave it back was listed no more"


def test_a_letter_that_came_back_is_as_old_as_it_was(store: Store) -> None:
    store.mailbox.await_letter(WAIT)
    store.mailbox.post_letter(GO)
    store.mailbox.post_letter(GO._replace(data=2, once="b"))
    store.mailbox.return_letter("e1", store.posted())
    store.mailbox.await_letter(WAIT._replace(call="2:0:1:1"))
    assert [body["data"] for body in bodies(store)] == [{"n": 1}, {"n": 1}]


def test_what_is_over_waits_for_nothing_and_what_it_has_can_be_found(store: Store) -> None:
    store.mailbox.await_letter(WAIT)
    store.mailbox.post_letter(GO)
    row = store.posted()
    assert store.mailbox.stranded_letters() == ()
    store.append("e1", 0, [("s1", b"end")], status="failed", ended=9, read=None)
    assert store.mailbox.stranded_letters() == (("e1", row),)
    assert store.mailbox.await_letter(WAIT._replace(call="2:0:1:1")) is False
    assert store.mailbox.post_letter(GO._replace(once="b")) is False
    store.mailbox.return_letter("e1", row)
    assert store.mailbox.stranded_letters() == () and len(bodies(store)) == 1
    assert store.mailbox.await_letter(WAIT._replace(execution_id="nobody")) is False


def test_an_execution_does_not_end_past_a_letter(store: Store) -> None:
    from noetl.ports import Unread

    store.mailbox.await_letter(WAIT)
    store.mailbox.post_letter(GO)
    with pytest.raises(Unread):
        store.append("e1", 0, [("s1", b"end")], status="completed", ended=9, read=0)


def test_a_letter_is_kept_for_its_time_by_whosever_clock(store: Store) -> None:
    short = GO._replace(keep_for=10)
    assert store.mailbox.post_letter(short, 1_000) is False
    assert store.mailbox.post_letter(short._replace(once="b", data=2), 1_005) is False
    assert store.mailbox.await_letter(WAIT, 1_010) is True
    assert [body["data"] for body in bodies(store)] == [2]
    store.mailbox.return_letter("e1", store.posted(), 1_015)
    assert store.mailbox.await_letter(WAIT._replace(call="c"), 1_014) is False, "its time was over when it came back"
    assert store.mailbox.post_letter(GO._replace(once="now", keep_for=0)) is True, "somebody waits now"
    assert store.mailbox.post_letter(GO._replace(once="never", keep_for=0)) is False
    assert store.mailbox.await_letter(WAIT._replace(call="d")) is False


def test_a_letter_says_when_it_was_posted_however_often_it_came_back(store: Store) -> None:
    store.create(ROW._replace(execution_id="e2"))
    store.mailbox.post_letter(GO, 1_000)
    store.mailbox.await_letter(WAIT, 1_010)
    store.mailbox.return_letter("e1", store.posted(), 1_020)
    store.mailbox.await_letter(WAIT._replace(execution_id="e2"), 1_030)
    assert [body["since"] for name in ("e1", "e2") for body in bodies(store, name)] == [1_000, 1_000]


def test_what_is_kept_under_a_beginning_is_dropped_and_nothing_else(store: Store) -> None:
    keys = ["a", "a ", "a b", "a ö\0", "a\U0010ffff", "A b", "ab", "b"]
    for number, key in enumerate(keys):
        store.mailbox.post_letter(GO._replace(key=key, once=str(number)), 1_000)
    store.mailbox.await_letter(WAIT._replace(key="a b"), 1_000)
    addressed = store.mailbox.correspondence("e1").rows
    store.mailbox.drop_letters("a ")
    assert [row.key for row in store.mailbox.rows(now=1_000) if row.kept] == ["A b", "a", "ab", "a\U0010ffff", "b"]
    assert store.mailbox.correspondence("e1").rows == addressed != ()
    store.mailbox.return_letter("e1", addressed[0], 1_000)
    assert [row.kept for row in store.mailbox.rows(WantedMail("a b"), 1_000)] == [1], "it came back"
    store.mailbox.drop_letters("nothing begins so")
    assert store.mailbox.post_letter(GO._replace(key="a ", once="1"), 1_000) is False, "it may be posted again"


def test_no_more_are_kept_under_a_key_than_may_be(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST_KEPT == 1_000
    for module in ("noetl.clients.mailbox_rows", "noetl.store.memory.mailbox"):
        monkeypatch.setattr(f"{module}.MOST_KEPT", 3)
    for number in range(3):
        store.mailbox.post_letter(GO._replace(once=str(number)))
    with pytest.raises(MailboxFull, match="3 signals are kept under that key"):
        store.mailbox.post_letter(GO)
    assert store.mailbox.post_letter(GO._replace(key="another", once="y")) is False
    assert store.mailbox.await_letter(WAIT) is True
    assert store.mailbox.post_letter(GO) is False, "there is room again"
    with pytest.raises(MailboxFull):
        store.mailbox.post_letter(GO._replace(once="z"))
    for call in "abc":
        store.mailbox.await_letter(WAIT._replace(call=call))
    store.mailbox.await_letter(WAIT._replace(call="d"))
    assert store.mailbox.post_letter(GO._replace(once="z")) is True


def test_of_many_at_once_each_letter_has_one_wait(open_store: Open) -> None:
    store = open_store()
    names = [f"x{number}" for number in range(8)]
    for name in names:
        store.create(ROW._replace(execution_id=name))

    def both(name: str) -> None:
        store.mailbox.post_letter(GO._replace(data=name, once=name))
        store.mailbox.await_letter(WAIT._replace(execution_id=name))

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(both, names))
    assert sorted(body["data"] for name in names for body in bodies(store, name)) == names
    assert [len(bodies(store, name)) for name in names] == [1] * 8


def test_what_is_kept_and_who_waits_is_told_by_key_and_name(open_store: Open) -> None:
    store, key = open_store(), GO.key
    for name in ("e1", "e2", "e3"):
        store.create(ROW._replace(execution_id=name))
    for at, once, keep in ((1_000, "a", 500), (1_010, "b", 90), (1_020, "c", 400)):
        store.mailbox.post_letter(GO._replace(once=once, keep_for=keep), at)
    store.mailbox.post_letter(GO._replace(key="K", name="a\\", once="d", keep_for=5), 1_030)
    store.mailbox.await_letter(WAIT._replace(execution_id="e2", names=("stop", "pause")), 1_030)
    store.mailbox.await_letter(WAIT._replace(names=("stop",)), 1_030)
    store.mailbox.await_letter(WAIT._replace(execution_id="e3", names=("stop",)), 1_030)
    store.mailbox.settle_mail("e3", [WAIT.call], [])
    kept = MailRow(key, "go", 3, 1_000, 1_100)
    paused, stopped = (
        MailRow(key, "pause", waiting=1, waits=("e2",)),
        MailRow(key, "stop", waiting=2, waits=("e2", "e1")),
    )
    other = MailRow("K", "a\\", 1, 1_030, 1_035)
    again = open_store().mailbox
    assert again.rows(now=1_034) == (other, kept, paused, stopped)
    assert again.rows(now=1_035) == (kept, paused, stopped), "its time is over"
    assert again.rows(now=1_100) == (kept._replace(kept=2, until=1_420), paused, stopped)
    assert again.rows(WantedMail(key="k"), 1_034) == again.rows(WantedMail(prefix="k \0ö "), 1_034) == ()
    assert again.rows(WantedMail(prefix="k \0"), 1_034) == again.rows(WantedMail(key), 1_034) == (kept, paused, stopped)
    assert again.rows(WantedMail(limit=2), 1_034) == (other, kept)
    assert again.rows(WantedMail(after=(key, "go"), limit=1), 1_034) == (paused,)
    assert again.rows(WantedMail(after=("K", "b")), 1_034) == (kept, paused, stopped)
    store.append("e2", 0, [("s1", b"end")], status="failed", ended=9, read=None)
    assert again.rows(WantedMail(after=(key, "go")), 1_034) == (stopped._replace(waiting=1, waits=("e1",)),)


def test_what_was_addressed_is_told_of_only_when_it_came_back(store: Store) -> None:
    store.mailbox.await_letter(WAIT, 1_000)
    store.mailbox.post_letter(GO._replace(keep_for=500), 1_010)
    assert store.mailbox.rows(now=1_020) == ()
    store.mailbox.return_letter("e1", store.posted(), 1_200)
    assert store.mailbox.rows(now=1_200) == (MailRow(GO.key, "go", 1, 1_010, 1_510),)


def test_of_many_that_wait_the_oldest_are_named(store: Store) -> None:
    for number in range(SHOWN_WAITS + 2):
        store.mailbox.await_letter(WAIT._replace(call=str(number), names=("go",)))
    store.create(ROW._replace(execution_id="e2"))
    store.mailbox.await_letter(WAIT._replace(execution_id="e2"))
    go, other = store.mailbox.rows()
    assert (go.name, go.waiting, go.waits) == ("go", SHOWN_WAITS + 3, ("e1",) * SHOWN_WAITS)
    assert (other.name, other.waiting, other.waits) == ("other", 1, ("e2",))


class Model:
    """Who has which letter, told by looking at all of them each time: nothing is remembered but what happened."""

    def __init__(self) -> None:
        self.letters: list[tuple[str, str, str]] = []
        self.waits: list[tuple[str, str, str, tuple[str, ...]]] = []
        self.has: dict[tuple[str, str], str] = {}
        self.over: set[str] = set()

    def shown(self) -> list[tuple[str, str, int, int, tuple[str, ...]]]:
        """Key, name, letters, waits and who waits."""
        rows = []
        for key, name in ((key, name) for key in "kl" for name in "ab"):
            kept = [at for at, where, called in self.letters if (where, called) == (key, name)]
            free = sum(at not in self.has.values() for at in kept)
            open_ones = [
                execution
                for execution, call, where, names in self.waits
                if where == key and name in names and (execution, call) not in self.has and execution not in self.over
            ]
            if free or open_ones:
                rows.append((key, name, free, len(open_ones), tuple(open_ones)))
        return rows

    def match(self) -> None:
        """The first letter of all for the first wait of all that is open for it, until there are no two."""
        for once, key, name in [*self.letters]:
            if once in self.has.values():
                continue
            for execution, call, where, names in self.waits:
                if (
                    (key == where and name in names)
                    and (execution, call) not in self.has
                    and execution not in self.over
                ):
                    self.has[execution, call] = once
                    break


@pytest.mark.parametrize("seed", first(12, range(60)))
def test_random_scripts_come_to_what_a_plain_model_says(store: Store, seed: int) -> None:
    chance, model = random.Random(seed), Model()
    for number in range(2, 5):
        store.create(ROW._replace(execution_id=f"e{number}"))
    executions = [f"e{number}" for number in range(1, 5)]
    rows: dict[tuple[str, str], int] = {}
    for turn in range(60):
        what = chance.choice(("post", "post", "wait", "wait", "take", "return", "leave", "again", "end"))
        key, name, execution = chance.choice("kl"), chance.choice("ab"), chance.choice(executions)
        had = [place for place in rows if place[0] not in model.over]
        listed = [wait for wait in model.waits if wait[0] not in model.over]
        if what == "post":
            model.letters.append((str(turn), key, name))
            store.mailbox.post_letter(Letter(key, name, turn, str(turn)))
        elif what == "wait" and execution not in model.over:
            names = chance.choice((("a",), ("b",), ("a", "b")))
            model.waits.append((execution, str(turn), key, names))
            store.mailbox.await_letter(OpenWait(key, execution, str(turn), names))
        elif what == "take" and had:
            place = chance.choice(had)
            once = model.has.pop(place)
            model.letters = [letter for letter in model.letters if letter[0] != once]
            model.waits = [wait for wait in model.waits if wait[:2] != place]
            store.mailbox.settle_mail(place[0], [place[1]], [rows.pop(place)])
        elif what == "return" and had:
            place = chance.choice(had)
            del model.has[place]
            model.waits = [wait for wait in model.waits if wait[:2] != place]
            store.mailbox.return_letter(place[0], rows.pop(place))
        elif what == "leave" and (open_ones := [wait for wait in listed if wait[:2] not in model.has]):
            left = chance.choice(open_ones)
            model.waits.remove(left)
            store.mailbox.settle_mail(left[0], [left[1]], [])
        elif what == "again" and listed:
            again = chance.choice(listed)
            store.mailbox.await_letter(OpenWait(again[2], again[0], again[1], again[3]))
        elif what == "end" and chance.random() < 0.2 and execution not in {place[0] for place in rows}:
            model.over.add(execution)
            store.append(execution, 0, [("s1", b"end")], status="completed", ended=9, read=None)
        model.match()
        for each in executions:
            for row in store.inbox(each, 0):
                place = (each, str(row.body["wait"]))  # type: ignore[index, call-overload]
                if place in model.has and place not in rows:
                    rows[place] = row.row
                    assert str(row.body["data"]) == model.has[place]  # type: ignore[index, call-overload]
        assert {*rows} == {*model.has}, f"turn {turn}: {what}"
        assert [row[:3] + row[5:] for row in store.mailbox.rows()] == model.shown(), f"turn {turn}: {what}"
