"""The port of namespaces: playbooks below a prefix of paths, how many of their executions there may be, and which share
of the workers they have.
"""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from noetl.ports import Conflict
from noetl.ports.standing import Standing
from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple

OPEN, STARTS, PAUSED = "open_executions", "starts_per_minute", "paused"
"""The quotas by which a start is refused, and the pause of a namespace, which refuses all."""


class NamespaceRow(NamedTuple):
    """A namespace: `document` is as it was given, and the rest follows from it but for `paused`: nothing is started.

    - `prefix`: playbooks below it are its own, but for those below a longer prefix of another one.
    - `weight`: its share of the workers; `open_executions`: how many may be open at once, 0 for any number.
    - `starts_per_minute` and `burst`: the rate at which its bucket fills with starts, 0 for none, and what it holds.
    """

    name: str
    document: dict[str, Json]
    prefix: str
    paused: bool = False
    weight: int = 1
    open_executions: int = 0
    starts_per_minute: int = 0
    burst: int = 0


class NamespaceUse(NamedTuple):
    """The use of a namespace: its open executions, and how many starts its bucket holds, None without one."""

    open: int
    starts_left: int | None


class QuotaExceeded(Conflict):
    """A namespace has no place for one more execution. Nothing is started, and the same start may be made later: in
    `retry_after` seconds, as far as that is known.
    """

    def __init__(self, namespace: str, quota: str, text: str, retry_after: int) -> None:
        super().__init__(f"namespace `{namespace}` {text}")
        self.namespace = namespace
        self.quota = quota
        self.retry_after = retry_after

    @property
    def way_on(self) -> str:
        """The condition under which the same start may be made, in words."""
        return way_on(self.namespace, self.quota, self.retry_after)


def way_on(namespace: str, quota: str, retry_after: int | str) -> str:
    """The condition under which a start that a namespace has refused may be made, in words."""
    if quota == PAUSED:
        return f"resume it first: `noetl namespaces resume {namespace}`"
    if quota == OPEN:
        return f"try again when one of them has ended (`noetl namespaces show {namespace}`)"
    return f"try again in {retry_after} s"


class PrefixTaken(Conflict):
    """Another namespace has the prefix: which of the two would count? Nothing is kept."""

    def __init__(self, namespace: str) -> None:
        super().__init__(f"namespace `{namespace}` has that prefix")


# Checked by `Store.create`, in the transaction that adds the execution: of two servers that want the last place one
# gets it. What is open is counted from rows of executions, as a count of its own could be left behind by a crash.
class Namespaces(Standing[NamespaceRow], Protocol):
    """The namespaces of a store. `put` raises PrefixTaken."""

    def uses(self, rows: Sequence[NamespaceRow]) -> tuple[NamespaceUse, ...]:
        """The use of each of some namespaces."""
        ...


@runtime_checkable
# Apart from `Store`: one elsewhere (the API of a server) has its namespaces there.
class Namespaced(Protocol):
    """A store with namespaces."""

    @property
    def namespaces(self) -> Namespaces: ...
