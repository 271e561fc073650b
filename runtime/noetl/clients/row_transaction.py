"""A transaction, as the rows have it that stores which speak SQL share."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Protocol


class RowTransaction(Protocol):
    """A transaction of a store."""

    def rows(self, query: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """The rows of a query, whose parameters are written `:name`; none for one that gives no rows."""
        ...


class SqlPart(ABC):
    """A part of a store that speaks SQL."""

    locking = ""
    """How a query locks the rows that it finds."""

    @abstractmethod
    def change(self, work: Callable[[RowTransaction], None]) -> None:
        """Do something in a transaction, which may be repeated until it is on disk."""

    @abstractmethod
    def look(self, query: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """The rows of a query, whose parameters are written `:name`."""
