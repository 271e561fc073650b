"""The book of namespaces: how they are kept, changed and told of, by the API and beside a store alike."""

from collections.abc import Sequence
from itertools import islice

from noetl.app.runtime import Runtime
from noetl.app.standing_book import StandingBook, check_name
from noetl.ports import Store
from noetl.ports.namespaces import OPEN, STARTS, Namespaced, NamespaceRow, Namespaces, NamespaceUse, PrefixTaken
from noetl.ports.scopes import is_pattern_within
from noetl.server.checked_documents import BadDocument
from noetl.server.namespaces.document import BURST, namespace_of, pool_limits
from noetl_ir.expr import Json


class NamespaceBook(StandingBook[NamespaceRow]):
    """The namespaces of a store. In one that is paused nothing is started; what runs goes on."""

    noun = "namespace"

    def __init__(self, runtime: Runtime) -> None:
        self._store: Store = runtime.store

    def put(self, document: dict[str, Json], name: str = "") -> dict[str, Json]:
        """Keep a namespace; one of its name is replaced. What is open stays so, also where it is more than may be.
        Raises BadDocument, also where it has another name than the one that was asked for.
        """
        row = namespace_of(document)
        check_name(row.name, name)
        there = next(iter(self._kept.rows(row.name)), None)
        row = row._replace(paused=there is not None and there.paused)
        try:
            self._kept.put(row)
        except PrefixTaken as problem:
            raise BadDocument(f"`spec.prefix`: {problem}", ("spec", "prefix")) from None
        return self._told(row)

    def documents(self, after: str = "", limit: int = 0) -> list[dict[str, Json]]:
        """The namespaces behind a name, by name; at most `limit`, 0 for all."""
        rows = [*islice((row for row in self._shown() if row.name > after), limit or None)]
        return [_told(row, use) for row, use in zip(rows, self._kept.uses(rows), strict=True)]

    @property
    def _kept(self) -> Namespaces:
        assert isinstance(self._store, Namespaced), "every store that is written to has namespaces"
        return self._store.namespaces

    def _is_about(self, document: dict[str, Json], paths: Sequence[str]) -> bool:
        return is_pattern_within(f"{namespace_of(document).prefix}*", paths)

    def _paused(self, row: NamespaceRow, *, paused: bool) -> NamespaceRow:
        return row._replace(paused=paused)

    def _told(self, row: NamespaceRow) -> dict[str, Json]:
        (use,) = self._kept.uses((row,))
        return _told(row, use)


def _pools(row: NamespaceRow) -> dict[str, Json]:
    try:
        return {**pool_limits(row.document)}
    except BadDocument:  # a newer version may have put it there
        return {}


def _told(row: NamespaceRow, use: NamespaceUse) -> dict[str, Json]:
    quotas: dict[str, Json] = {OPEN: row.open_executions, STARTS: row.starts_per_minute, BURST: row.burst}
    return {
        "name": row.name,
        "prefix": row.prefix,
        "paused": row.paused,
        "weight": row.weight,
        "quotas": {name: number for name, number in quotas.items() if number},
        "pools": _pools(row),
        "open": use.open,
        "starts_left": use.starts_left,
        "document": row.document,
    }
