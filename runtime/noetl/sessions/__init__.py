"""Sessions of users (case-dialect §6): made, validated, kept alive, ended, and listed by user.

Where they lie is behind `SessionStorage`. A token is shown once, to whoever made the session; what is kept is its
hash. The value has the fields of the specification, and nothing else: how long a session lasts without activity is
the time from `last_activity_at` to `expires_at`.
"""

import hashlib
import json
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Protocol

from noetl.ports import Clock, StoreFailure
from noetl.ports.user_sessions import FIELDS, LIFETIME, FoundSession, SessionPage
from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple

SECOND = 1_000_000
PREFIX = "noetl_session_"
"""Tokens begin with it, so that scanners for secrets find one that was written down."""


class KeptValue(NamedTuple):
    """A value of the storage, with the revision to change it under."""

    data: bytes
    revision: int


class SessionStorage(Protocol):
    """Where sessions lie, by the hash of their token, with an index by user. Raises StoreFailure.

    What is older than its `seconds` goes away by itself, sooner or later.
    """

    def create(self, key: str, user: str, data: bytes, seconds: int) -> int:
        """Keep a value under a new key; returns its revision."""
        ...

    def get(self, key: str) -> KeptValue | None: ...

    def update(self, key: str, user: str, kept: KeptValue, seconds: int) -> int:
        """Replace the value of the revision in `kept`; returns the new one. Raises Stale."""
        ...

    def delete(self, key: str, user: str) -> None: ...

    def of_user(self, user: str, after: str, most: int) -> Sequence[tuple[str, bytes]]:
        """A user's sessions whose keys come behind one, by key: keys and values, at most so many."""
        ...

    def close(self) -> None: ...


class KeptSessions:
    """`noetl.ports.user_sessions.Sessions` over a storage. `clock` says what time it is for those who look."""

    def __init__(self, storage: SessionStorage, clock: Clock) -> None:
        self._storage = storage
        self._clock = clock

    def create(self, user_id: str | int, said: dict[str, Json], seconds: int = LIFETIME) -> tuple[str, FoundSession]:
        """A new session and its token."""
        token, now = PREFIX + secrets.token_urlsafe(32), self._now()
        session: dict[str, Json] = {
            # 53 bits are what readers of JSON keep of a number. It names the session to people; what lets in is the
            # token alone.
            "session_id": secrets.randbits(53),
            "user_id": user_id,
            **{field: said.get(field) for field in FIELDS},
            "created_at": _text(now),
            "expires_at": _text(now + seconds),
            "last_activity_at": _text(now),
        }
        data = _packed(session)
        return token, FoundSession(session, self._storage.create(_key(token), _user(user_id), data, seconds))

    def validate(self, token: str) -> FoundSession | None:
        """The session of a token, None where there is none any more."""
        kept = self._storage.get(_key(token))
        if kept is None:
            return None
        found = FoundSession(_unpacked(kept.data), kept.revision)
        # The storage removes what is over when it comes to it, so the time is looked at here.
        return found if self._seconds_left(found.session) > 0 else None

    def update(self, token: str, revision: int, said: dict[str, Json]) -> FoundSession | None:
        """Note activity: the session lasts as long again from now, and what is `said` is changed. Raises Stale."""
        found = self.validate(token)
        if found is None:
            return None
        session, now = found.session, self._now()
        # The length is in the value, so that a session keeps its own when the server's default is changed.
        seconds = _time(session, "expires_at") - _time(session, "last_activity_at")
        changed: dict[str, Json] = {
            **session,
            **{field: said[field] for field in FIELDS if field in said},
            "expires_at": _text(now + seconds),
            "last_activity_at": _text(now),
        }
        kept = KeptValue(_packed(changed), revision)
        return FoundSession(changed, self._storage.update(_key(token), _user(session["user_id"]), kept, seconds))

    def invalidate(self, token: str) -> bool:
        """End a session; whether there was one."""
        found = self.validate(token)
        if found is not None:
            self._storage.delete(_key(token), _user(found.session["user_id"]))
        return found is not None

    def of_user(self, user_id: str | int, after: str, most: int) -> SessionPage:
        """The sessions of a user that last, by pages of at most `most`; in each the oldest first."""
        rows = self._storage.of_user(_user(user_id), after, most)
        lasting = [session for _, data in rows if self._seconds_left(session := _unpacked(data)) > 0]
        lasting.sort(key=lambda session: (str(session["created_at"]), str(session["session_id"])))
        # The next page begins behind the last row that was read, also where that one is over: else a page of ended
        # sessions would end the list.
        return SessionPage(lasting, rows[-1][0] if len(rows) == most else None)

    def close(self) -> None:
        """Let go of the storage."""
        self._storage.close()

    def _now(self) -> int:
        return self._clock.now() // SECOND

    def _seconds_left(self, session: dict[str, Json]) -> int:
        return _time(session, "expires_at") - self._now()


def _key(token: str) -> str:
    """The digest that is kept of a token: it has 256 random bits, so a plain hash cannot be reversed."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _user(user_id: Json) -> str:
    """The index of a user: any text or number, as a key can hold it. 7 and "7" are one user."""
    return hashlib.sha256(str(user_id).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _packed(session: dict[str, Json]) -> bytes:
    return json.dumps(session).encode("ascii")


def _unpacked(data: bytes) -> dict[str, Json]:
    try:
        found: Json = json.loads(data)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or "user_id" not in found:
        raise StoreFailure("a session was altered where it is kept")
    return found


def _text(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _time(session: dict[str, Json], field: str) -> int:
    try:
        return int(datetime.fromisoformat(str(session[field])).timestamp())
    except (KeyError, ValueError):
        raise StoreFailure("a session was altered where it is kept") from None
