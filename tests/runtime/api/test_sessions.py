"""The operations on sessions over the API: what they answer, who may, and how often (case-dialect §6)."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.serving import Served, served
from noetl.api.bearer_tokens import ROLES, BearerToken, digest_of
from noetl.api.throttle import Throttle
from noetl_ir.expr import Json

USER: dict[str, Json] = {
    "user_id": 456,
    "email": "user@example.com",
    "display_name": "User Name",
    "roles": ["admin"],
    "client_ip": "192.168.1.1",
    "auth0_id": "auth0|123",
}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path) as found:
        yield found


def asked(server: Served, path: str, **body: Json) -> tuple[int, dict[str, Json]]:
    response = server.client.post(path, content=json.dumps(body), headers={"content-type": "application/json"})
    found = response.json()
    assert isinstance(found, dict)
    return response.status_code, found


def test_a_session_from_its_making_to_its_end(server: Served) -> None:
    status, made = asked(server, "/sessions", **USER)
    assert status == 201
    token, session = made["token"], made["session"]
    assert isinstance(session, dict) and session.items() >= USER.items()
    assert set(session) == {*USER, "session_id", "created_at", "expires_at", "last_activity_at"}
    assert asked(server, "/sessions/validate", token=token) == (200, {"session": session, "revision": made["revision"]})
    assert server.client.get("/users/456/sessions").json() == {"sessions": [session], "next": None}
    status, kept = asked(server, "/sessions/activity", token=token, revision=made["revision"], roles=["viewer"])
    assert status == 200 and isinstance(kept["session"], dict)
    assert (kept["session"]["roles"], kept["session"]["email"]) == (["viewer"], "user@example.com")
    status, told = asked(server, "/sessions/activity", token=token, revision=made["revision"])
    assert (status, told["title"]) == (409, "Conflict")
    assert asked(server, "/sessions/invalidate", token=token) == (200, {"invalidated": True})
    assert asked(server, "/sessions/invalidate", token=token) == (200, {"invalidated": False})
    status, told = asked(server, "/sessions/validate", token=token)
    assert (status, told["detail"]) == (404, "there is no such session")
    assert asked(server, "/sessions/activity", token=token, revision=1)[0] == 404
    assert server.client.get("/users/456/sessions").json() == {"sessions": [], "next": None}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/sessions", {}),
        ("/sessions", {"user_id": ""}),
        ("/sessions", {"user_id": True}),
        ("/sessions", {"user_id": "u", "ttl_seconds": 0}),
        ("/sessions", {"user_id": "u", "ttl_seconds": 10**9}),
        ("/sessions", {"user_id": "u", "roles": "admin"}),
        ("/sessions", {"user_id": "u", "session_id": 1}),
        ("/sessions", {"user_id": "u", "email": "\ud800"}),
        ("/sessions/activity", {"token": "t"}),
        ("/sessions/activity", {"token": "t", "revision": 1, "user_id": "other"}),
        ("/sessions/validate", {"token": ""}),
        ("/sessions/validate", {"token": "t" * 600}),
    ],
)
def test_a_body_that_does_not_fit(server: Served, path: str, body: dict[str, Json]) -> None:
    assert asked(server, path, **body)[0] == 400


def test_who_may(tmp_path: Path) -> None:
    tokens = [BearerToken(role, role, digest_of(f"secret-{role}")) for role in ROLES]
    with served(tmp_path, *tokens) as server:
        for role in ROLES:
            head = {"authorization": f"Bearer secret-{role}"}
            changes = role in ("operator", "admin")
            made = server.client.post("/sessions", json={"user_id": role}, headers=head)
            assert (made.status_code == 201) is changes
            assert (server.client.get("/users/u/sessions", headers=head).status_code == 200) is changes
            assert server.client.post("/sessions/validate", json={"token": "t"}, headers=head).status_code == 404


def test_sessions_of_a_user_are_made_only_so_often(server: Served) -> None:
    found = [server.client.post("/sessions", json={"user_id": "often"}) for _ in range(25)]
    assert [response.status_code for response in found[:20]] == [201] * 20
    assert found[-1].status_code == 429 and found[-1].headers["retry-after"] == "1"
    assert found[-1].headers["content-type"] == "application/problem+json"
    assert asked(server, "/sessions", user_id="another")[0] == 201


def test_tokens_are_guessed_only_so_often(server: Served) -> None:
    _, made = asked(server, "/sessions", **USER)
    found = [asked(server, "/sessions/validate", token=f"guess-{number}")[0] for number in range(140)]
    assert set(found[:100]) == {404} and found[-1] == 429
    assert asked(server, "/sessions/validate", token=made["token"])[0] == 200, "whoever has one is not kept out"


def test_ending_sessions_tells_nobody_which_tokens_there_are(server: Served) -> None:
    _, made = asked(server, "/sessions", **USER)
    found = [asked(server, "/sessions/invalidate", token=f"guess-{number}")[0] for number in range(140)]
    assert set(found[:100]) == {200} and found[-1] == 429
    assert asked(server, "/sessions/validate", token="guess")[0] == 429, "a guess is a guess"
    assert asked(server, "/sessions/invalidate", token=made["token"]) == (200, {"invalidated": True})


def test_wrong_tokens_of_the_api_are_tried_only_so_often(tmp_path: Path) -> None:
    with served(tmp_path, BearerToken("a", "viewer", digest_of("right"))) as server:
        heads = [{"authorization": f"Bearer wrong-{number}"} for number in range(140)]
        found = [server.client.get("/counts", headers=head).status_code for head in heads]
        assert set(found[:100]) == {401} and found[-1] == 429
        assert server.client.get("/counts", headers={"authorization": "Bearer right"}).status_code == 200


def test_a_bucket_fills_again() -> None:
    time = [0.0]
    tries = Throttle(2, 0.5, lambda: time[0], most=2)
    assert [tries.allows("a") for _ in range(3)] == [True, True, False]
    assert tries.allows("b")
    time[0] = 1.9
    assert not tries.allows("a")
    time[0] = 2.1
    assert [tries.allows("a"), tries.allows("a")] == [True, False]
    time[0] = 1000
    assert [tries.allows("a") for _ in range(3)] == [True, True, False]
    assert tries.allows("c") and tries.allows("d") and tries.allows("a"), "the oldest key is forgotten"


def test_a_user_s_name_may_have_slashes(server: Served) -> None:
    made = server.client.post("/sessions", json={"user_id": "team/ann"})
    assert made.status_code == 201
    [found] = server.client.get("/users/team%2Fann/sessions").json()["sessions"]
    assert found["user_id"] == "team/ann"
