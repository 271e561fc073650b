"""The book of documents beside playbooks: how those of one kind are kept, changed and told of, by the API and beside a
store alike.
"""

from abc import ABC, abstractmethod
from itertools import islice
from typing import Generic

from noetl.ports.standing import Row, Standing
from noetl.server.checked_documents import BadDocument
from noetl_ir.expr import Json
from noetl_ir.nearest import nearest


class NoSuchDocument(Exception):
    """There is no document of that name; the text names one that is much like it."""


class StandingBook(ABC, Generic[Row]):
    """The documents of one kind in a store; `noun` names one of them. All methods raise StoreFailure, and
    NoSuchDocument for a name that is not there.
    """

    noun = ""

    @abstractmethod
    def put(self, document: dict[str, Json], name: str = "") -> dict[str, Json]:
        """Keep a document; one of its name is replaced. Raises BadDocument, also where it has another name than the one
        that was asked for.
        """

    def remove(self, name: str) -> None:
        """Keep one no more."""
        if not self._kept.remove(name):
            raise self._unknown(name)

    def pause(self, name: str) -> dict[str, Json]:
        """Carry one out no more, until it is resumed."""
        return self._changed(name, paused=True)

    def resume(self, name: str) -> dict[str, Json]:
        """Go on with one."""
        return self._changed(name, paused=False)

    def documents(self, after: str = "", limit: int = 0) -> list[dict[str, Json]]:
        """The documents behind a name, by name; at most `limit`, 0 for all."""
        rows = (row for row in self._kept.rows() if row.name > after)
        return [self._told(row) for row in islice(rows, limit or None)]

    def document(self, name: str) -> dict[str, Json]:
        """One of them, and how it stands."""
        return self._told(self.row(name))

    def row(self, name: str) -> Row:
        """One of them as it is kept."""
        found = self._kept.rows(name)
        if not found:
            raise self._unknown(name)
        return found[0]

    @property
    @abstractmethod
    def _kept(self) -> Standing[Row]:
        """The documents of the store."""

    @abstractmethod
    def _paused(self, row: Row, *, paused: bool) -> Row:
        """A row as it is when it is paused, or resumed."""

    @abstractmethod
    def _told(self, row: Row) -> dict[str, Json]:
        """How one stands."""

    def _changed(self, name: str, *, paused: bool) -> dict[str, Json]:
        while True:
            row = self.row(name)
            after = self._paused(row, paused=paused)
            # A server may move it, or somebody replace it, at the same time.
            if self._kept.move(row, after):
                return self._told(after)

    def _unknown(self, name: str) -> NoSuchDocument:
        near = nearest(name, [row.name for row in self._kept.rows()])
        return NoSuchDocument(f"there is no {self.noun} `{name}`" + (f"; did you mean `{near}`?" if near else ""))


def check_name(name: str, wanted: str) -> None:
    """Raises BadDocument where a document has another name than the one that was asked for."""
    if wanted and wanted != name:
        raise BadDocument(f"`metadata.name` is `{name}`, and the address names `{wanted}`", ("metadata", "name"))
