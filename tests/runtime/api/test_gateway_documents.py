"""Documents beside playbooks over two groups: what starts a playbook is in one of them, what is about all in each."""

import hashlib
import hmac
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import Response

from harness.grouped import Gateway, grouped
from noetl.secrets.credentials import Credentials
from services import waited_for

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: t, path: PATH}\n"
NOOP = HEAD + "workflow: [{step: start, tool: {kind: noop, result: 7}}]\n"
SECRET = "hook-secret-8"


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Gateway]:
    with grouped(tmp_path, starts=["spread/*"]) as up:
        yield up


def document(kind: str, name: str, **spec: object) -> dict[str, object]:
    return {"apiVersion": "noetl.io/v2", "kind": kind, "metadata": {"name": name}, "spec": spec}


def put(gateway: Gateway, kind: str, name: str, **spec: object) -> Any:
    return gateway.client.put(f"/{kind.lower()}s/{name}", json=document(kind, name, **spec))


def has(gateway: Gateway, kind: str, name: str) -> str:
    """The groups that have a document, as their own servers say."""
    return "".join(
        group for group, server in gateway.servers.items() if server.api.get(f"/{kind}/{name}").status_code == 200
    )


def test_a_schedule_is_where_its_playbook_begins_and_nowhere_else(gateway: Gateway) -> None:
    for group in "ab":
        path = gateway.path_of(group)
        gateway.register(NOOP.replace("PATH", path))
        assert put(gateway, "Schedule", f"at/{group}", playbook=path, every="1h").status_code == 200
        assert has(gateway, "schedules", f"at/{group}") == group
        assert gateway.client.get(f"/schedules/at/{group}").json()["playbook"] == path
        assert gateway.client.post(f"/schedules/at/{group}/pause").json()["paused"] is True
        assert gateway.servers[group].api.get(f"/schedules/at/{group}").json()["paused"] is True
        begun = gateway.client.post(f"/schedules/at/{group}/start")
        assert begun.status_code == 201
        assert [row["execution_id"] for row in gateway.at(group)] == [begun.json()["execution_id"]]
    rows = gateway.client.get("/schedules").json()["schedules"]
    assert [(row["name"], row["group"]) for row in rows] == [("at/a", "a"), ("at/b", "b")]
    page = gateway.client.get("/schedules?limit=1").json()
    assert ([row["name"] for row in page["schedules"]], page["next"]) == (["at/a"], "at/a")
    page = gateway.client.get("/schedules?limit=1&after=at/a").json()
    assert [row["name"] for row in page["schedules"]] == ["at/b"]
    assert gateway.client.delete("/schedules/at/a").status_code == 204
    assert has(gateway, "schedules", "at/a") == ""
    assert gateway.client.get("/schedules/at/a").status_code == 404


def test_a_schedule_is_never_in_two_groups(gateway: Gateway) -> None:
    path, other = gateway.path_of("a"), gateway.path_of("b")
    gateway.register(NOOP.replace("PATH", path), NOOP.replace("PATH", other))
    assert put(gateway, "Schedule", "s", playbook=path, every="1h").status_code == 200
    moved = put(gateway, "Schedule", "s", playbook=other, every="1h")
    assert moved.status_code == 409 and "`s` is in group a, and its playbook begins in group b" in moved.text
    assert has(gateway, "schedules", "s") == "a"
    assert put(gateway, "Schedule", "s", playbook=path, every="2h").status_code == 200
    gateway.stop("b")
    # The one that is gone may have one of that name.
    assert put(gateway, "Schedule", "new", playbook=path, every="1h").status_code == 503
    assert gateway.client.get("/schedules/s").status_code == 200
    assert gateway.client.get("/schedules/new").status_code == 503
    assert gateway.client.get("/schedules").json()["missing"] == ["b"]


def test_what_is_no_document_is_refused_as_by_a_server(gateway: Gateway) -> None:
    for kind in ("schedules", "triggers", "notifications", "namespaces"):
        for body in (b"", b"[]", b"{", b'{"spec": []}', b'{"spec": {"playbook": 7}}', b'{"spec": {"after": {}}}'):
            refused = gateway.client.put(f"/{kind}/x", content=body, headers={"content-type": "application/json"})
            assert refused.status_code == 400, (kind, body, refused.text)


def signed(gateway: Gateway, hook: str, data: bytes) -> Response:
    sign = "sha256=" + hmac.new(SECRET.encode(), data, hashlib.sha256).hexdigest()
    headers = {"content-type": "application/json", "x-hub-signature-256": sign}
    response: Response = gateway.client.post(f"/hooks/{hook}", content=data, headers=headers)
    return response


def test_a_webhook_is_taken_by_the_group_that_knows_its_secret(gateway: Gateway) -> None:
    path = gateway.path_of("b")
    gateway.register(NOOP.replace("PATH", path))
    Credentials(gateway.servers["b"].runtime.secrets_path).add_credential("hooks", "generic", {"secret": SECRET})
    put_ = put(gateway, "Trigger", "hook", playbook=path, webhook={"signature": "github", "secret": "hooks"})
    assert put_.status_code == 200 and has(gateway, "triggers", "hook") == "b"
    for number in range(3):
        taken = signed(gateway, "hook", b'{"n": %d}' % number)
        assert taken.status_code == 202, taken.body
    assert (len(gateway.at("a")), len(gateway.at("b"))) == (0, 3)
    assert gateway.client.post("/hooks/hook", json={}).status_code == 401
    assert gateway.client.post("/hooks/other", json={}).status_code == 401
    gateway.stop("b")
    # Whoever sent it sends it again: the group that could not be asked may be the one that takes it.
    assert signed(gateway, "hook", b"{}").status_code == 503


def test_a_trigger_after_an_end_is_where_the_end_is_or_refused(gateway: Gateway) -> None:
    path, other = gateway.path_of("a"), gateway.path_of("b")
    first = path.partition("/")[0]
    gateway.register(*[NOOP.replace("PATH", each) for each in (path, f"{first}/two", other, "spread/x")])
    assert put(gateway, "Trigger", "t", playbook=f"{first}/two", after={"playbook": path}).status_code == 200
    assert has(gateway, "triggers", "t") == "a"
    name = gateway.start(path)
    waited_for(
        lambda: any(row["playbook"] == f"{first}/two" for row in gateway.at("a")), f"nothing begins behind {name}"
    )
    for ended, told in (
        (other, f"the ends of `{other}` happen in group b, and `{path}` begins in group a"),
        ("spread/*", "the ends of `spread/*` happen in several groups"),
        ("*", "the ends of `*` happen in several groups"),
    ):
        refused = put(gateway, "Trigger", "u", playbook=path, after={"playbook": ended})
        assert refused.status_code == 409 and told in refused.json()["detail"], refused.text
    assert has(gateway, "triggers", "u") == ""


def test_namespaces_and_notifications_are_in_all_groups(gateway: Gateway) -> None:
    told = put(gateway, "Namespace", "team", prefix="team/", quotas={"open_executions": 3})
    assert told.status_code == 200 and has(gateway, "namespaces", "team") == "ab"
    rows = gateway.client.get("/namespaces").json()["namespaces"]
    assert [(row["name"], row["group"]) for row in rows] == [("team", "a"), ("team", "b")]
    assert gateway.client.post("/namespaces/team/pause").status_code == 200
    assert [server.api.get("/namespaces/team").json()["paused"] for server in gateway.servers.values()] == [True, True]
    gateway.stop("b")
    assert gateway.client.delete("/namespaces/team").status_code == 503
    assert gateway.servers["a"].api.get("/namespaces/team").status_code == 200
    gateway.begin("b")
    gateway.servers["b"].api.delete("/namespaces/team")
    assert gateway.client.delete("/namespaces/team").status_code == 204
    assert has(gateway, "namespaces", "team") == ""
    assert gateway.client.delete("/namespaces/team").status_code == 404
