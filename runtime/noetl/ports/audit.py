"""The port of the audit: who did what with a store, in rows that nobody changes.

A row goes into the transaction of its deed, so that there is neither without the other.
"""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from noetl.ports.actors import DONE, LONGEST, Actor, audit_values
from noetl_ir.nearest import nearest
from noetl_ir.records import NamedTuple

LONGEST_REASON = LONGEST
"""The most characters of a reason."""

DEEDS = (
    "start", "rerun", "restore", "cancel", "pause", "resume", "signal", "migrate", "retry-fault", "register", "purge",
    "backfill", "drain", "stop", "sign-in",
    "schedule-put", "schedule-delete", "schedule-pause", "schedule-resume",
    "namespace-put", "namespace-delete", "namespace-pause", "namespace-resume",
    "notification-put", "notification-delete", "notification-pause", "notification-resume", "notification-test",
    "dead-letter-retry", "dead-letter-drop",
    "trigger-put", "trigger-delete", "trigger-pause", "trigger-resume", "trigger-retry",
    "token-add", "token-delete", "credential-add", "credential-delete",
)  # fmt: skip
"""The deeds that there are; what was refused of those who only looked has its method and path instead."""


class NoSuchDeed(Exception):
    """Nothing is called so. The text says what was meant."""


class AuditRow(NamedTuple):
    """A deed. `row` numbers them from 1; `at` is in microseconds since the epoch; `subject` is an execution, playbook,
    schedule, credential, token or worker, by its name; `reason` is why it was refused; `once` keeps a repeat from being
    another row.
    """

    row: int
    at: int
    who: str
    via: str
    address: str
    deed: str
    subject: str
    outcome: str = DONE
    reason: str = ""
    once: str = ""


class WantedAudit(NamedTuple):
    """A filter of the audit; an empty field filters nothing; of `deeds` each is wanted. `since` is in microseconds;
    only rows `before` that number are wanted, at most `limit` of them, 0 for all.
    """

    who: str = ""
    deeds: tuple[str, ...] = ()
    subject: str = ""
    outcome: str = ""
    since: int = 0
    before: int = 0
    limit: int = 0


class Audit(Protocol):
    """The audit of a store. All raise StoreFailure."""

    def add_deed(self, row: AuditRow) -> None:
        """Record what no change of the store is: in a durable transaction of its own. `row.row` means nothing."""
        ...

    def deeds(self, wanted: WantedAudit) -> Sequence[AuditRow]:
        """The rows that fit, the newest first."""
        ...

    def forget_deeds(self, before: int) -> int:
        """Remove the rows that are older than a time; how many there were. Nothing else ever removes one."""
        ...


@runtime_checkable
# Apart from `Store`: one elsewhere (the API of a server) has its audit there.
class Audited(Protocol):
    """A store with an audit."""

    @property
    def audit(self) -> Audit: ...


def audit_row(actor: Actor, deed: str, subject: str, outcome: str = DONE, reason: str = "") -> AuditRow:
    """A row about now, for what no change of the store is."""
    return row_of_values(audit_values(actor, deed, subject, outcome, reason))


def row_of_values(values: dict[str, str | int]) -> AuditRow:
    """The row that has these values by columns."""
    texts = [str(values[name]) for name in AuditRow._fields[2:]]
    return AuditRow(0, int(values["at"]), *texts)


def deeds_in(text: str) -> tuple[str, ...]:
    """The deeds of a list with commas. Raises NoSuchDeed: a filter by what there is not would find nothing, and look as
    if nothing had been done.
    """
    found = tuple(name for part in text.split(",") if (name := part.strip()))
    for name in found:
        if name not in DEEDS and not name.partition(" ")[0].isupper():
            near = nearest(name, DEEDS)
            raise NoSuchDeed(
                f"there is no deed `{name[:LONGEST]}`: "
                + (f"did you mean `{near}`?" if near else f"there are {', '.join(DEEDS)}")
            )
    return found
