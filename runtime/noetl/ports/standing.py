"""The port of documents that a store keeps beside playbooks, as far as all kinds of them have the same."""

from typing import Protocol, TypeVar

from noetl_ir.expr import Json


class StandingRow(Protocol):
    """A document under its name: as it was given, and whether it is carried out for now."""

    @property
    def name(self) -> str: ...

    @property
    def document(self) -> dict[str, Json]: ...

    @property
    def paused(self) -> bool: ...


Row = TypeVar("Row", bound=StandingRow)


class Standing(Protocol[Row]):
    """The documents of one kind in a store. Each change is one durable transaction. All raise StoreFailure."""

    def put(self, row: Row) -> None:
        """Keep one; one of its name is replaced, and what is kept beside it stays."""
        ...

    def remove(self, name: str) -> bool:
        """Keep one no more, nor what is kept beside it; whether there was one."""
        ...

    def rows(self, name: str = "") -> tuple[Row, ...]:
        """All of them by name; with `name` that one, none where it is not there."""
        ...

    # Of two servers that have started the same one moves it; the other finds that it was moved.
    def move(self, before: Row, after: Row) -> bool:
        """Replace a row where it still is as it was; whether it was."""
        ...
