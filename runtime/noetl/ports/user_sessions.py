"""The port of users' sessions (case-dialect §6): what the API needs of them, wherever they lie."""

from typing import Protocol

from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple

FIELDS = ("email", "display_name", "roles", "client_ip", "auth0_id")
"""What is said of a user when a session is made, and may be changed (case-dialect §6.3)."""
LIFETIME = 24 * 3600
LONGEST = 31 * 24 * 3600
"""How long a session lasts without activity: as a rule, and at most."""


# A revision and no lock: sessions lie in a store of key and value, whose one promise is to compare before it writes.
class Stale(Exception):
    """The session was changed by somebody else since it was read."""


class FoundSession(NamedTuple):
    """A session as it is now: its fields, and the revision to change it under."""

    session: dict[str, Json]
    revision: int


class SessionPage(NamedTuple):
    """Sessions of a user, and what asks for those behind them, None where there are none."""

    sessions: list[dict[str, Json]]
    next: str | None


class Sessions(Protocol):
    """Sessions of users (case-dialect §6.4). Raises StoreFailure."""

    def create(self, user_id: str | int, said: dict[str, Json], seconds: int) -> tuple[str, FoundSession]:
        """A new session and its token, which is kept nowhere."""
        ...

    def validate(self, token: str) -> FoundSession | None:
        """The session of a token, None where there is none any more."""
        ...

    def update(self, token: str, revision: int, said: dict[str, Json]) -> FoundSession | None:
        """Note activity: the session lasts as long again from now, and what is `said` is changed. Raises Stale."""
        ...

    def invalidate(self, token: str) -> bool:
        """End a session; whether there was one."""
        ...

    def of_user(self, user_id: str | int, after: str, most: int) -> SessionPage:
        """The sessions of a user that last, by pages of at most `most`; in each the oldest first."""
        ...

    def close(self) -> None: ...
