"""The mailbox of the store in memory: the plainest statement of what the others do (`noetl.clients.mailbox_rows`)."""

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from itertools import islice

from noetl.clients.mailbox_rows import as_json, ask_same, body_of, name_of
from noetl.ports import MailboxFull
from noetl.ports.mailbox import ALL_MAIL, MOST_KEPT, SHOWN_WAITS, Correspondence, Letter, MailRow, OpenWait, WantedMail
from noetl_ir.expr import Json


class _Kept:
    """A letter. `to` is the execution and inbox row by which it was addressed, None while it is kept."""

    __slots__ = ("letter", "since", "to", "tries", "until")

    def __init__(self, letter: Letter, since: int) -> None:
        self.letter = letter
        self.since = since
        self.until = since + letter.keep_for
        self.tries = 0
        self.to: tuple[str, int] | None = None


class MemoryMailbox:
    """Letters and waits, the oldest first. `leave` puts a signal into an inbox and gives its row; `is_open` says
    whether an execution is there and not over, `sent` the body of what was put into an inbox under a name. `changing`
    and `looking` are what a change and a look are made in.
    """

    def __init__(
        self,
        leave: Callable[[str, Json, str], int],
        is_open: Callable[[str], bool],
        sent: Callable[[str], Json],
        now: Callable[[], int],
        changing: Callable[[], AbstractContextManager[None]],
        looking: Callable[[], AbstractContextManager[None]],
        record_deed: Callable[[str, str], None],
    ) -> None:
        self._leave = leave
        self._is_open = is_open
        self._sent = sent
        self._now = now
        self._changing = changing
        self._looking = looking
        self._record_deed = record_deed
        self._letters: list[_Kept] = []
        self._waits: dict[tuple[str, str], OpenWait] = {}
        self._served: dict[tuple[str, str], int] = {}

    def post_letter(self, letter: Letter, now: int | None = None) -> bool:
        """`Mailbox.post_letter`."""
        with self._changing():
            as_json(letter.data)
            if (known := self._known(letter.once)) is not None:
                ask_same(letter, known[1])
                return known[0]
            at = self._now() if now is None else now
            kept = _Kept(letter, at)
            mine = [one for one in self._letters if one.letter.key == letter.key and one.to is None]
            over = [one for one in mine if one.until <= at]
            self._letters = [one for one in self._letters if one not in over]
            if len(mine) - len(over) >= MOST_KEPT and self._wait_for(letter) is None:
                raise MailboxFull(f"{MOST_KEPT:,} signals are kept under that key already")
            self._letters.append(kept)
            self._record_deed("signal", f"key {letter.key}")
            return self._address_to_oldest(kept)

    def await_letter(self, wait: OpenWait, now: int | None = None) -> bool:
        """`Mailbox.await_letter`."""
        with self._changing():
            place = wait.execution_id, wait.call
            if not self._is_open(wait.execution_id):
                return False
            if place in self._served:
                return True
            self._waits.setdefault(place, wait)
            at = self._now() if now is None else now
            for kept in self._letters:
                is_its = kept.letter.key == wait.key and kept.letter.name in wait.names
                if is_its and kept.to is None and kept.until > at:
                    self._address(kept, *place)
                    return True
            return False

    def settle_mail(self, execution_id: str, calls: Collection[str], rows: Collection[int]) -> None:
        """`Mailbox.settle_mail`."""
        with self._changing():
            for call in calls:
                self._unlist((execution_id, call))
            taken = {(execution_id, row) for row in rows}
            self._letters = [kept for kept in self._letters if kept.to not in taken]

    def return_letter(self, execution_id: str, row: int, now: int | None = None) -> None:
        """`Mailbox.return_letter`."""
        with self._changing():
            for place in [place for place, by in self._served.items() if (place[0], by) == (execution_id, row)]:
                self._unlist(place)
            for kept in self._letters:
                if kept.to == (execution_id, row):
                    kept.to, kept.tries = None, kept.tries + 1
                    if kept.until <= (self._now() if now is None else now):
                        self._letters.remove(kept)
                    else:
                        self._address_to_oldest(kept)
                    return

    def correspondence(self, execution_id: str) -> Correspondence:
        """`Mailbox.correspondence`."""
        with self._looking():
            rows = sorted([kept.to[1] for kept in self._letters if kept.to is not None and kept.to[0] == execution_id])
            calls = sorted([call for name, call in self._waits if name == execution_id])
            return Correspondence(tuple(rows), tuple(calls))

    def rows(self, wanted: WantedMail = ALL_MAIL, now: int | None = None) -> tuple[MailRow, ...]:
        """`Mailbox.rows`."""
        with self._looking():
            at = self._now() if now is None else now
            found: dict[tuple[str, str], MailRow] = {}
            for kept in self._letters:
                if kept.to is None and kept.until > at:
                    place = kept.letter.key, kept.letter.name
                    row = found.get(place, MailRow(*place, since=kept.since, until=kept.until))
                    since, until = min(row.since, kept.since), min(row.until, kept.until)
                    found[place] = row._replace(kept=row.kept + 1, since=since, until=until)
            for (execution_id, call), wait in self._waits.items():
                if (execution_id, call) not in self._served and self._is_open(execution_id):
                    for name in dict.fromkeys(wait.names):
                        row = found.get((wait.key, name), MailRow(wait.key, name))
                        waits = (*row.waits, execution_id)[:SHOWN_WAITS]
                        found[wait.key, name] = row._replace(waiting=row.waiting + 1, waits=waits)
            rows = [found[place] for place in sorted(found) if place > wanted.after]
            is_wanted = (row for row in rows if wanted.key in ("", row.key) and row.key.startswith(wanted.prefix))
            return tuple(islice(is_wanted, wanted.limit or None))

    def drop_letters(self, prefix: str) -> None:
        """`Mailbox.drop_letters`."""
        with self._changing():
            self._letters = [
                kept for kept in self._letters if kept.to is not None or not kept.letter.key.startswith(prefix)
            ]

    def stranded_letters(self) -> tuple[tuple[str, int], ...]:
        """`Mailbox.stranded_letters`."""
        with self._looking():
            found = [kept.to for kept in self._letters if kept.to is not None and not self._is_open(kept.to[0])]
            return tuple(sorted(found, key=lambda each: each[1]))

    def letters(self) -> list[tuple[Json, tuple[str, int] | None]]:
        """The data of all letters that are here, the oldest first, each with the execution and row that it went to."""
        with self._looking():
            return [(kept.letter.data, kept.to) for kept in self._letters]

    def _known(self, once: str) -> tuple[bool, dict[str, Json]] | None:
        for kept in self._letters:
            if kept.letter.once == once:
                return kept.to is not None, body_of(*kept.letter[:3], "", kept.since)
        sent = self._sent(once)
        return (True, sent) if isinstance(sent, dict) else None

    def _unlist(self, place: tuple[str, str]) -> None:
        self._waits.pop(place, None)
        self._served.pop(place, None)

    def _wait_for(self, letter: Letter) -> tuple[str, str] | None:
        for place, wait in self._waits.items():
            is_its = wait.key == letter.key and letter.name in wait.names
            if is_its and place not in self._served and self._is_open(place[0]):
                return place
        return None

    def _address_to_oldest(self, kept: _Kept) -> bool:
        place = self._wait_for(kept.letter)
        if place is not None:
            self._address(kept, *place)
        return place is not None

    def _address(self, kept: _Kept, execution_id: str, call: str) -> None:
        letter = kept.letter
        body = body_of(letter.key, letter.name, letter.data, call, kept.since)
        row = self._leave(execution_id, body, name_of(letter.once, kept.tries))
        kept.to = execution_id, row
        self._served[execution_id, call] = row
