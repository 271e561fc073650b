"""Who acts on a command line: the user of the operating system, for the audit of a store."""

from __future__ import annotations

import os
import pwd
from contextlib import AbstractContextManager

from noetl.ports import Store
from noetl.ports.actors import ASKED, Actor, acting


def user(deed: str = "", subject: str = "") -> Actor:
    """The user, whose changes are recorded; with a `subject` only those of that, with a `deed` as that."""
    number = os.geteuid()
    try:
        name = pwd.getpwuid(number).pw_name
    except KeyError:  # a container may run as a user that its machine has no name for
        name = str(number)
    return Actor(name, "cli", subject=subject, deed=deed)


def by_user(deed: str = "") -> AbstractContextManager[None]:
    """Changes are recorded meanwhile as what the user did."""
    return acting(user(deed))


def record_alone(store: Store, deed: str, subject: str) -> None:
    """Record what changes nothing in a store itself, as `asked`, before it is done. Raises StoreFailure."""
    from noetl.ports.audit import Audited, audit_row  # a run needs neither

    if isinstance(store, Audited):  # a server records by itself what it is asked
        store.audit.add_deed(audit_row(user(), deed, subject, ASKED))


def record_beside(url: str, deed: str, subject: str) -> None:
    """Record what is changed beside a store, as its tokens; one that is not there yet has no audit. A store that cannot
    be written to is a Problem.
    """
    from noetl.cli.stores import is_there, opened_runtime

    if is_there(url):
        with opened_runtime(url) as runtime:
            record_alone(runtime.store, deed, subject)
