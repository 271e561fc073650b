"""The port of maintenance: what a database of our own may be asked to look at, to give back, and to copy."""

from typing import Protocol, runtime_checkable

from noetl_ir.records import NamedTuple


class StoreSchema(NamedTuple):
    """The schema of a store, 0 where there is none yet, and the one that this version writes."""

    found: int
    known: int


class Maintenance(Protocol):
    """The maintenance of a store. All raise StoreFailure."""

    def integrity(self) -> tuple[str, ...]:
        """The faults that the database finds in itself, in words; none where it is whole."""
        ...

    def vacuum(self) -> tuple[int, int]:
        """Give room that became free back to the disk; the bytes of the database before and after."""
        ...

    # While others write: a copy of the files of a database that is in use is none.
    def backup(self, path: str) -> None:
        """Write the database as it stands at one moment to a file that is not there yet. Raises StoreRefused where this
        kind of store has its own way.
        """
        ...


@runtime_checkable
# Apart from `Store`: one elsewhere (the API of a server), and one in memory, have nothing to maintain.
class Maintained(Protocol):
    """A store with maintenance."""

    @property
    def maintenance(self) -> Maintenance: ...
