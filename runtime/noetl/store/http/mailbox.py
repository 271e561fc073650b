"""The mailbox of a server, over its API."""

import json
from collections.abc import Collection
from typing import TYPE_CHECKING

from noetl.ports import StoreFailure
from noetl.ports.mailbox import ALL_MAIL, Correspondence, Letter, MailRow, OpenWait, WantedMail
from noetl.store.http.documents import micros_of, no_server_of_ours, not_from_here
from noetl_ir.expr import Json

if TYPE_CHECKING:
    from noetl.store.http import Connection


class RemoteMailbox:
    """The `Mailbox` of a server, to which letters can be posted; the rest is the server's affair."""

    def __init__(self, connection: "Connection") -> None:
        self._connection = connection

    def post_letter(self, letter: Letter, now: int | None = None) -> bool:
        """By the clock of the server."""
        data: dict[str, Json] = {
            "key": letter.key, "name": letter.name, "data": letter.data, "keep_for": letter.keep_for / 1_000_000,
        }  # fmt: skip
        return self._connection.json("POST", "/signals", data=data, key=letter.once).get("delivered") is True

    def await_letter(self, wait: OpenWait, now: int | None = None) -> bool:
        raise self._refused()

    def settle_mail(self, execution_id: str, calls: Collection[str], rows: Collection[int]) -> None:
        raise self._refused()

    def return_letter(self, execution_id: str, row: int, now: int | None = None) -> None:
        raise self._refused()

    def correspondence(self, execution_id: str) -> Correspondence:
        raise self._refused()

    def rows(self, wanted: WantedMail = ALL_MAIL, now: int | None = None) -> tuple[MailRow, ...]:
        """A page after the other, by the clock of the server."""
        after = json.dumps(wanted.after) if any(wanted.after) else ""
        asked = {"key": wanted.key, "prefix": wanted.prefix, "after": after}
        return tuple(map(self._row, self._connection.walk("/signals", asked, limit=wanted.limit)))

    def drop_letters(self, prefix: str) -> None:
        raise self._refused()

    def stranded_letters(self) -> tuple[tuple[str, int], ...]:
        raise self._refused()

    def _row(self, document: dict[str, Json]) -> MailRow:
        since, until, waits = document.get("since"), document.get("until"), document.get("waits")
        try:
            return MailRow(
                str(document["key"]), str(document["name"]), int(str(document["kept"])),
                micros_of(str(since)) if since else 0, micros_of(str(until)) if until else 0,
                int(str(document["waiting"])), tuple(map(str, waits if isinstance(waits, list) else ())),
            )  # fmt: skip
        except (KeyError, ValueError):
            raise no_server_of_ours(self._connection.url) from None

    def _refused(self) -> StoreFailure:
        return not_from_here(self._connection.url)
