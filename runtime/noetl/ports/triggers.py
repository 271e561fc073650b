"""The port of triggers: what starts a playbook when something happens, and what of that is still to be dealt with."""

from typing import Protocol, runtime_checkable

from noetl.ports.standing import Standing
from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple

MOST_LETTERS = 1_000
"""Dead letters that are kept of one trigger, the newest."""


class TriggerRow(NamedTuple):
    """A trigger. Times are microseconds since the epoch.

    - `kind`: what it waits for: `webhook`, `after` or `nats`.
    - `document`: as it was given; `templates`: those in it, as the runtime evaluates them.
    - `paused`: nothing is started; `began`: when it was kept.
    - `last`: the execution that was started last, empty for none; `trouble`: why a start could not be made, empty where
      the last one could.
    """

    name: str
    kind: str
    document: dict[str, Json]
    templates: dict[str, Json]
    paused: bool = False
    last: str = ""
    trouble: str = ""
    began: int = 0


class AwaitedEnd(NamedTuple):
    """The end of an execution that a trigger has not dealt with; `ended` tells the ends of one from each other."""

    number: int
    trigger: str
    execution_id: str
    ended: int


class TriggerLetter(NamedTuple):
    """Something that happened, and that a trigger could not start anything of.

    - `key`: that of its start, so that it is started once, whoever tries it again.
    - `body`: all that is needed to try again; `reason`: why nothing was started; `at`: when.
    """

    number: int
    trigger: str
    key: str
    body: dict[str, Json]
    reason: str
    at: int


class Triggers(Standing[TriggerRow], Protocol):
    """The triggers of a store. Each change is one durable transaction. All raise StoreFailure."""

    # Written by the transaction in which an execution ends, for each trigger of kind `after` that is not paused.
    def awaited_ends(self, limit: int, trigger: str = "", execution_id: str = "") -> tuple[AwaitedEnd, ...]:
        """Ends that are not dealt with, the oldest first; with `trigger` those of that one, with `execution_id` those
        of that execution.
        """
        ...

    def settle_end(self, number: int, letter: TriggerLetter | None = None) -> None:
        """An end is dealt with; with a letter it goes there in the same transaction."""
        ...

    def put_letter(self, letter: TriggerLetter) -> None:
        """Keep a dead letter, whose number is of no account; one with its key is there once. The oldest go."""
        ...

    def dead_letters(self, trigger: str, after: int, limit: int) -> tuple[TriggerLetter, ...]:
        """The dead letters of a trigger behind a number, the oldest first."""
        ...

    def remove_letter(self, number: int) -> bool:
        """Keep a dead letter no more; whether there was one."""
        ...


@runtime_checkable
# Apart from `Store`, as schedules are.
class Triggered(Protocol):
    """A store with triggers."""

    @property
    def triggering(self) -> Triggers: ...
