"""A transaction, as the rows have it that stores which speak SQL share."""

from collections.abc import Mapping
from typing import Any, Protocol


class RowTransaction(Protocol):
    """A transaction of a store."""

    def rows(self, query: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """The rows of a query, whose parameters are written `:name`; none for one that gives no rows."""
        ...
