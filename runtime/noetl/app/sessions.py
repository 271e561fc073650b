"""Which sessions a server has: in NATS where its workers are on a bus there, else in a file beside the store."""

import os

from noetl.app.clock import WallClock
from noetl.clients.nats import NatsLogin, target_of
from noetl.ports import StoreFailure
from noetl.ports.user_sessions import Sessions
from noetl.sessions import KeptSessions
from noetl.sessions.sqlite import SqliteSessions
from noetl_ir.expr import Json

FILE = "sessions.db"


def sessions_beside(secrets_path: str) -> Sessions:
    """Sessions in a file beside that of the credentials."""
    return KeptSessions(SqliteSessions(os.path.join(os.path.dirname(secrets_path), FILE)), WallClock())


def sessions_on(bus_url: str) -> Sessions:
    """Sessions on the NATS of a bus; buses of different prefixes have different ones. Raises StoreFailure."""
    from noetl.bus.nats.subjects import BusSubjects
    from noetl.sessions.nats import NatsSessions

    target, prefix = _place(bus_url)
    spoken = BusSubjects(prefix, None)
    return KeptSessions(NatsSessions(target, spoken.sessions, spoken.inbox), WallClock())


def _place(url: str) -> tuple[NatsLogin, str]:
    """The first server of a bus, and its prefix."""
    from noetl.bus import BusFailure
    from noetl.bus.nats.names import address_in

    try:
        address = address_in(url)
        login: dict[str, Json] = {}
        if address.credentials is not None:
            with open(address.credentials, encoding="utf-8") as file:
                login = {"creds": file.read()}
        return target_of(address.servers[0], login), address.prefix
    except (BusFailure, ValueError, OSError) as problem:
        raise StoreFailure(f"the sessions in NATS: {problem}") from None
