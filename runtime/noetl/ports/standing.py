"""The rows of documents that a store keeps beside playbooks, as far as all kinds of them have the same."""

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
