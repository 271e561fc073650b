"""The contract of sessions, wherever they lie (case-dialect §6): the promises of `noetl.sessions`."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest

from noetl.app.sessions import sessions_on
from noetl.clients.nats import target_of
from noetl.ports import StoreFailure
from noetl.ports.user_sessions import FIELDS, Stale
from noetl.sessions import KeptSessions, SessionStorage
from noetl.sessions.nats import NatsSessions
from noetl.sessions.sqlite import SqliteSessions
from noetl_ir.expr import Json
from services import nats, waited_for

SECOND = 1_000_000
START = 1_769_860_800  # 2026-01-31T12:00:00Z
SAID: dict[str, Json] = {
    "email": "user@example.com",
    "display_name": "User Name",
    "roles": ["admin", "developer"],
    "client_ip": "192.168.1.1",
    "auth0_id": "auth0|123",
}
_buckets = count(1)


class Clock:
    """Time that a test moves, in seconds."""

    def __init__(self) -> None:
        self.seconds = START

    def now(self) -> int:
        return self.seconds * SECOND


@pytest.fixture
def clock() -> Clock:
    return Clock()


Opener = Callable[[], SessionStorage]


@pytest.fixture(params=["sqlite", "nats"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opener]:
    """Opens one storage of each kind, again and again."""
    bucket, opened = f"sessions{next(_buckets)}", list[SessionStorage]()

    def opener() -> SessionStorage:
        if request.param == "sqlite":
            opened.append(SqliteSessions(str(tmp_path / "sessions.db")))
        else:
            opened.append(NatsSessions(target_of(f"nats://{nats().address}", {}), bucket))
        return opened[-1]

    yield opener
    for each in opened:
        each.close()


@pytest.fixture
def sessions(storage: Opener, clock: Clock) -> KeptSessions:
    return KeptSessions(storage(), clock)


def listed(sessions: KeptSessions, user: str | int) -> list[dict[str, Json]]:
    """The sessions of a user, which fit on a page."""
    page = sessions.of_user(user, "", 10)
    assert page.next is None
    return page.sessions


def test_a_session_has_the_fields_of_the_specification(sessions: KeptSessions) -> None:
    token, found = sessions.create(456, SAID)
    assert found.session.pop("session_id")
    assert found.session == {
        "user_id": 456,
        **SAID,
        "created_at": "2026-01-31T12:00:00Z",
        "expires_at": "2026-02-01T12:00:00Z",
        "last_activity_at": "2026-01-31T12:00:00Z",
    }
    again = sessions.validate(token)
    assert again is not None and again.revision == found.revision
    assert {name for name in again.session if name not in FIELDS} == {
        "session_id", "user_id", "created_at", "expires_at", "last_activity_at"
    }  # fmt: skip
    assert sessions.validate(token + "x") is None and sessions.validate("") is None


def test_activity_keeps_a_session_alive(sessions: KeptSessions, clock: Clock) -> None:
    token, found = sessions.create("u", SAID, 100)
    clock.seconds += 99
    updated = sessions.update(token, found.revision, {})
    assert updated is not None
    assert (updated.session["last_activity_at"], updated.session["expires_at"]) == (
        "2026-01-31T12:01:39Z",
        "2026-01-31T12:03:19Z",
    )
    assert updated.session["created_at"] == "2026-01-31T12:00:00Z"
    clock.seconds += 99
    assert sessions.validate(token) == updated
    clock.seconds += 1
    assert sessions.validate(token) is None
    assert sessions.update(token, updated.revision, {}) is None
    assert listed(sessions, "u") == []


def test_an_update_under_an_old_revision_changes_nothing(sessions: KeptSessions) -> None:
    token, first = sessions.create("u", SAID)
    second = sessions.update(token, first.revision, {"roles": ["viewer"], "session_id": 1, "user_id": "other"})
    assert second is not None and second.revision > first.revision
    assert second.session == {**first.session, "roles": ["viewer"]}
    for revision in (first.revision, second.revision + 1):
        with pytest.raises(Stale):
            sessions.update(token, revision, {"roles": ["admin"]})
    assert sessions.validate(token) == second


def test_what_was_ended_is_gone(sessions: KeptSessions) -> None:
    token, found = sessions.create("u", SAID)
    other, _ = sessions.create("u", SAID)
    assert sessions.invalidate(token) is True
    assert sessions.validate(token) is None
    assert sessions.invalidate(token) is False
    assert sessions.update(token, found.revision, {}) is None
    assert sessions.validate(other) is not None
    assert len(listed(sessions, "u")) == 1


def test_the_sessions_of_a_user(sessions: KeptSessions, clock: Clock) -> None:
    for user, name in ((7, "a"), ("7", "b"), ("7.*", "c"), ("", "d"), (7, "e")):
        sessions.create(user, {"display_name": name})
        clock.seconds += 1
    assert [session["display_name"] for session in listed(sessions, 7)] == ["a", "b", "e"]
    assert [session["display_name"] for session in listed(sessions, "7.*")] == ["c"]
    assert listed(sessions, "nobody") == []


def test_those_of_a_user_are_listed_by_pages(sessions: KeptSessions) -> None:
    tokens = [sessions.create("u", {"display_name": str(number)})[0] for number in range(7)]
    sessions.create("other", SAID)
    for size in (1, 3, 7, 8):
        found: list[Json] = []
        after: str | None = ""
        while after is not None:
            page = sessions.of_user("u", after, size)
            found += [session["display_name"] for session in page.sessions]
            after = page.next
        assert sorted(map(str, found)) == [*"0123456"]
    first = sessions.of_user("u", "", 1).sessions[0]
    sessions.invalidate(tokens[int(str(first["display_name"]))])
    assert len(listed(sessions, "u")) == 6


def test_a_list_is_whole_also_while_many_are_asked_for(sessions: KeptSessions) -> None:
    for number in range(9):
        sessions.create("u", {"display_name": str(number)})
    with ThreadPoolExecutor(16) as threads:
        lengths = [*threads.map(lambda _: len(listed(sessions, "u")), range(150))]
    assert {*lengths} == {9}


def test_they_outlive_their_server_and_are_shared(storage: Opener, clock: Clock) -> None:
    first, second = KeptSessions(storage(), clock), KeptSessions(storage(), clock)
    token, found = first.create("u", SAID)
    assert second.validate(token) == found
    assert second.update(token, found.revision, {}) is not None
    with pytest.raises(Stale):
        first.update(token, found.revision, {})


def test_what_is_over_goes_away_by_itself(storage: Opener, clock: Clock) -> None:
    kept = storage()
    sessions = KeptSessions(kept, clock)
    token, _ = sessions.create("u", SAID, 1)
    assert token

    def gone() -> bool:
        sessions.create("other", SAID)
        return not kept.of_user(_user_of(kept, "u"), "", 10)

    waited_for(gone, "it stays for ever")


def _user_of(kept: SessionStorage, user: str) -> str:
    from hashlib import sha256

    return sha256(user.encode()).hexdigest()[:32]


def test_those_of_a_bus_are_on_its_server() -> None:
    first, other = sessions_on(url := nats().bus_url()), sessions_on(nats().bus_url())
    token, found = first.create("u", SAID, 100)
    assert first.validate(token) == found and other.validate(token) is None
    again = sessions_on(url)
    assert again.validate(token) == found
    for each in (first, other, again):
        each.close()
    with pytest.raises(StoreFailure, match="written nats"):
        sessions_on("nats://")


def test_those_in_nats_come_back_with_it(clock: Clock) -> None:
    storage = NatsSessions(target_of(f"nats://{nats().address}", {}), f"sessions{next(_buckets)}")
    sessions = KeptSessions(storage, clock)
    token, found = sessions.create("u", SAID)
    nats().kill()
    with pytest.raises(StoreFailure):
        sessions.validate(token)
    nats().start()
    assert sessions.validate(token) == found
    storage.close()


def test_no_token_is_kept(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "sessions.db"
    token, _ = KeptSessions(SqliteSessions(str(path)), clock).create("u", SAID)
    assert path.stat().st_mode & 0o077 == 0
    assert token.removeprefix("noetl_session_").encode() not in path.read_bytes()


def test_what_was_altered_is_told(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "sessions.db"
    sessions = KeptSessions(SqliteSessions(str(path)), clock)
    token, _ = sessions.create("u", SAID)
    for data in (b"no json", b"[]", json.dumps({"user_id": 1, "expires_at": "soon"}).encode()):
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("UPDATE session SET data = ?", (data,))
        with pytest.raises(StoreFailure, match="altered"):
            sessions.validate(token)


def test_a_storage_that_cannot_be_reached_says_so(tmp_path: Path, clock: Clock) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(StoreFailure, match="folder"):
        KeptSessions(SqliteSessions(str(tmp_path / "folder")), clock).create("u", SAID)
    away = NatsSessions(target_of("nats://u:hidden@127.0.0.1:1", {}), "sessions")
    with pytest.raises(StoreFailure, match="no connection") as told:
        KeptSessions(away, clock).create("u", SAID)
    assert "hidden" not in str(told.value)
    away.close()
