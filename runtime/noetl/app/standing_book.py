"""The book of documents beside playbooks: how those of one kind are kept, changed and told of, by the API and beside a
store alike.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import islice
from typing import Generic

from noetl.ports.scopes import is_within, scope_now
from noetl.ports.standing import Row, Standing
from noetl.server.checked_documents import BadDocument
from noetl_ir.expr import Json
from noetl_ir.nearest import nearest


class NoSuchDocument(Exception):
    """There is no document of that name; the text names one that is much like it."""


class ForOthers(Exception):
    """Whoever asks may not keep a document: it is about playbooks of others, or has a name of theirs. The text says
    which, and what to write.
    """


class StandingBook(ABC, Generic[Row]):
    """The documents of one kind in a store; `noun` names one of them. All methods raise StoreFailure, and
    NoSuchDocument for a name that is not there, or whose document is out of the scope of whoever asks.
    """

    noun = ""

    @abstractmethod
    def put(self, document: dict[str, Json], name: str = "") -> dict[str, Json]:
        """Keep a document; one of its name is replaced. Raises BadDocument, also where it has another name than the one
        that was asked for.
        """

    def remove(self, name: str) -> None:
        """Keep one no more."""
        self.row(name)
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
        rows = (row for row in self._shown() if row.name > after)
        return [self._told(row) for row in islice(rows, limit or None)]

    def document(self, name: str) -> dict[str, Json]:
        """One of them, and how it stands."""
        return self._told(self.row(name))

    def row(self, name: str) -> Row:
        """One of them as it is kept."""
        found = self._kept.rows(name)
        if not found or not self._is_shown(found[0]):
            raise self._unknown(name)
        return found[0]

    def check_scope(self, document: dict[str, Json], name: str) -> None:
        """Raises ForOthers where whoever asks may not keep a document under a name, and BadDocument for what is none.

        Names are those of all: a document has a name of its scope, or takes the place of one that is shown.
        """
        paths = scope_now().paths
        if not paths:
            return
        told = ", ".join([f"`{each}`" for each in paths])
        if not self._is_about(document, paths):
            raise ForOthers(f"this {self.noun} is about playbooks out of your scope, which is {told}")
        there = self._kept.rows(name)
        if not (self._is_shown(there[0]) if there else is_within(name, paths)):
            raise ForOthers(f"the name `{name}` is out of your scope: begin it with one of {told}")

    def _shown(self) -> list[Row]:
        """The documents in the scope of whoever asks, by name."""
        rows = self._kept.rows()
        return [row for row in rows if self._is_shown(row)] if scope_now().paths else [*rows]

    def _is_shown(self, row: Row) -> bool:
        paths = scope_now().paths
        try:
            return not paths or self._is_about(row.document, paths)
        except BadDocument:  # of a newer version: nothing tells what it is about
            return False

    @abstractmethod
    def _is_about(self, document: dict[str, Json], paths: Sequence[str]) -> bool:
        """Whether a document is about playbooks of a scope alone. Raises BadDocument."""

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
        near = nearest(name, [row.name for row in self._shown()])
        return NoSuchDocument(f"there is no {self.noun} `{name}`" + (f"; did you mean `{near}`?" if near else ""))


def check_name(name: str, wanted: str) -> None:
    """Raises BadDocument where a document has another name than the one that was asked for."""
    if wanted and wanted != name:
        raise BadDocument(f"`metadata.name` is `{name}`, and the address names `{wanted}`", ("metadata", "name"))
