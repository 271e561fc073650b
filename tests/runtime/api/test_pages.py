"""Every list of the API comes by pages, and the pages are all of it."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from harness.running import HEAD
from harness.serving import Served, served, signed, until
from noetl.api.bearer_tokens import ROLES, BearerToken, digest_of
from noetl.api.openapi import document
from noetl.api.operation import Operation
from noetl.api.pages import LONGEST_PAGE
from noetl.api.routes import ROUTES
from noetl.ports.outbox import OutboxRow, Telling
from noetl.secrets.credentials import Credentials

TOKENS = [BearerToken(role, role, digest_of(f"secret-{role}")) for role in ROLES]
WAITS = "workflow:\n  - {step: start, tool: {name: w, kind: wait, events: [EVENT]}}\n"
NO_LISTS = {
    ("get_execution", "now"): "one row for what goes on at a place of the playbook: as long as what is in flight",
    ("get_replay", "now"): "the same",
    ("get_execution", "parent"): "a pair",
    ("get_moment", "now"): "the same",
    ("get_moment", "to_come"): "steps of the plan",
    ("get_moment", "interrupted"): "the last `MOST_INTERRUPTIONS`",
    ("get_timeline", "bars"): "at most `timeline.MOST`, and after the first time those that are new",
    **dict.fromkeys((("get_verdicts", key) for key in ("verdicts", "assumptions", "steps")), "as long as the plan"),
    **dict.fromkeys(
        (("get_outline", key) for key in ("keys", "shared", "kinds", "pools", "credentials", "children")),
        "as long as the plan",
    ),
    ("who_am_i", "paths"): "the scopes of one token",
    ("who_am_i", "pools"): "the same",
    ("get_notification", "on"): "some of `EVENTS`",
    ("get_trigger", "dead_letters"): "at most `trigger_book.LETTERS`",
    ("get_findings", "findings"): "at most `derived.MOST`",
    ("get_differences", "changes"): "the same",
    ("get_schedule", "next"): "`schedule_book.NEXT` times",
    ("get_schedule", "last"): "`schedule_book.LAST` times",
    ("get_ctx", "gathered"): "a value of the playbook's own",
    ("get_result", "result"): "a value of the playbook's own",
}
"""Arrays that are no lists of the API, and why they end: by the operation and the key."""

GATHERS = """
workflow:
  - step: start
    tool:
      name: n
      kind: noop
      result: [1, 2, 3]
      spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {gathered: [1, 2, 3]}}}}]}}
    next: {arcs: [{step: many}]}
  - step: many
    loop: {in: [1, 2, 3], iterator: one}
    tool: {kind: noop}
    next: {arcs: [{step: last}]}
  - {step: last, tool: {name: w, kind: wait, events: [go]}}
"""


PRINTED = {
    "step": "start", "run": 1, "path": [], "task": "n", "visit": 1, "attempt": 1, "claim": 1, "stream": "stdout",
    "at": 1, "text": "more\n",
}  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that has more than one of everything."""
    with served(tmp_path_factory.mktemp("pages"), *TOKENS) as up:
        up.client.headers["authorization"] = "Bearer secret-admin"
        for name in ("bank", "mail", "shop"):
            Credentials(up.runtime.secrets_path).add_credential(name, "bearer", {"token": "12345678"})
        for name in ("a", "b", "c"):
            text = HEAD + WAITS.replace("EVENT", name)
            assert up.client.post("/playbooks?name=t.yaml", content=text.encode()).status_code == 201
        assert up.client.post("/playbooks", content=(HEAD + GATHERS).encode()).status_code == 201
        for _ in range(3):
            assert up.client.post("/executions", json={"path": "t/t"}).status_code == 201
            assert up.client.post("/sessions", json={"user_id": "ada"}).status_code == 201
        for name in ("paid", "é\0", '"'):
            assert up.client.post("/signals", json={"key": "order 7", "name": name}).status_code == 202
        for name in ("daily", "hourly", "nightly"):
            spec = {"playbook": "t/t", "cron": "0 0 1 1 *"}
            body = {"apiVersion": "noetl.io/v2", "kind": "Schedule", "metadata": {"name": name}, "spec": spec}
            assert up.client.put(f"/schedules/{name}", json=body).status_code == 200
            body = {**body, "kind": "Trigger", "spec": {"playbook": "t/t", "after": {"playbook": "x"}}}
            assert up.client.put(f"/triggers/{name}", json=body).status_code == 200
        for name in ("daily", "mail", "oncall"):
            spec = {"on": ["failed"], "to": {"webhook": {"url": "https://example.org"}}}
            body = {"apiVersion": "noetl.io/v2", "kind": "Notification", "metadata": {"name": name}, "spec": spec}
            assert up.client.put(f"/notifications/{name}", json=body).status_code == 200
            body = {**body, "kind": "Namespace", "spec": {"prefix": f"{name}/"}}
            assert up.client.put(f"/namespaces/{name}", json=body).status_code == 200
        assert isinstance(up.runtime.store, Telling)
        up.runtime.store.outbox.put_outbox([OutboxRow(0, "t", name, None, 1, 1) for name in ("a", "b", "c")])
        for number in (1, 2, 3):
            up.runtime.store.outbox.put_off_outbox(number, 1, "no", dead=True)
        one = _one(up)
        logs = [signed(up.runtime.store, {**PRINTED, "execution_id": one, "offset": 5 * at}) for at in range(3)]
        assert up.client.post("/logs", json={"logs": logs}).status_code == 202
        until(lambda: "ctx" in up.client.get(f"/executions/{one}/replay").json()["ctx"] or _waits(up, one))
        yield up


def _waits(up: Served, execution_id: str) -> bool:
    return any(row["what"] == "wait" for row in up.client.get(f"/executions/{execution_id}").json()["now"])


def _one(up: Served) -> str:
    return str(up.client.get("/executions").json()["executions"][0]["execution_id"])


def _run_of_many(up: Served) -> str:
    """The run of the step with a loop."""
    return str(up.client.get(f"/executions/{_one(up)}/items?step=many").json()["items"][0]["run"])


def _path(up: Served, row: Operation) -> str:
    path = row.path.replace("{execution_id}", _one(up)).replace("{user_id:path}", "ada")
    digest = up.client.get("/playbooks").json()["playbooks"][0]["playbook_id"]
    # It is not over, and has no result itself.
    asked = {
        "get_result": "?step=start", "get_differences": f"?from={digest}",
        "get_items": "?step=many", "get_item": f"?step=many&key={_run_of_many(up)}/0",
    }.get(row.handler.__name__, "")  # fmt: skip
    return (
        path.replace("{path:path}", "t/t")
        .replace("{digest}", digest)
        .replace("{code}", "NL701")
        .replace("{name:path}", "daily")
        .replace("{group:path}", "search.n")
        + asked
    )


READING = [row for row in ROUTES if row.method == "GET" and row.status == 200]
LISTS = [row for row in READING if row.pages is not None and row.pages.rows]


@pytest.mark.parametrize("row", READING, ids=lambda row: row.handler.__name__)
def test_whatever_answers_an_array_is_paged(server: Served, row: Operation) -> None:
    response = server.client.get(_path(server, row))
    assert response.status_code == 200, response.text
    if response.headers["content-type"] != "application/json":
        return
    body = response.json()
    assert isinstance(body, dict)
    arrays = {key for key, value in body.items() if isinstance(value, list)}
    paged = {row.pages.rows} if row.pages is not None else set()
    assert {key for key in arrays - paged if (row.handler.__name__, key) not in NO_LISTS} == set()
    assert arrays >= paged


@pytest.mark.parametrize("row", LISTS, ids=lambda row: row.handler.__name__)
def test_the_pages_of_a_list_are_all_of_it(server: Served, row: Operation) -> None:
    assert row.pages is not None
    path, found, behind = _path(server, row), [], None
    whole = server.client.get(str(httpx.URL(path).copy_merge_params({"limit": LONGEST_PAGE}))).json()
    assert whole["next"] is None
    for _ in range(len(whole[row.pages.rows]) + 1):
        asked = {"limit": 1} if behind is None else {"limit": 1, row.pages.cursor: behind}
        page = server.client.get(str(httpx.URL(path).copy_merge_params(asked))).json()
        assert len(page[row.pages.rows]) <= 1
        found += page[row.pages.rows]
        behind = page["next"]
        if behind is None:
            break
    names = {row.handler.__name__: len(found)}
    assert names[row.handler.__name__] >= (1 if row.path in ("/workers", "/pools", "/counts/{group:path}") else 3)
    assert sorted(map(_told, found)) == sorted(map(_told, whole[row.pages.rows]))
    assert behind is None
    for wrong in ("0", str(LONGEST_PAGE + 1), "x"):
        assert server.client.get(str(httpx.URL(path).copy_merge_params({"limit": wrong}))).status_code == 400


def _told(row: object) -> str:
    if not isinstance(row, dict):
        return str(row)
    return str({key: value for key, value in sorted(row.items()) if key != "heard"})


def test_a_cursor_that_none_gave_is_refused(server: Served) -> None:
    for wrong in ("t/t", "t/t@x", "t/t@0", f"t/t@{1 << 40}"):
        response = server.client.get("/playbooks", params={"after": wrong})
        assert response.status_code == 400 and "`after`" in response.json()["detail"]
    for wrong in ("order 7", '["order 7"]', '["a", "b", "c"]', '["a", 1]', "7", "[" * 10_000, '["\\ud800", "a"]'):
        response = server.client.get("/signals", params={"after": wrong})
        assert response.status_code == 400 and "`after`" in response.json()["detail"]


def test_the_document_says_how_lists_are_paged() -> None:
    paths = document(ROUTES)["paths"]
    for row in READING:
        described = paths[row.path.replace(":path}", "}")]["get"]  # type: ignore[index,call-overload]
        names = [parameter["name"] for parameter in described["parameters"]]
        if row.pages is None:
            assert "limit" not in names
            continue
        assert names[-2:] == [row.pages.cursor, "limit"]
        content = described["responses"]["200"]["content"]
        schema = content.get("application/json", {}).get("schema", {})
        assert schema.get("required", []) == ([row.pages.rows, "next"] if row.pages.rows else [])


def test_pages_of_the_log_go_on(server: Served, tmp_path: Path) -> None:
    path = f"/executions/{_one(server)}/log"
    whole = server.client.get(path).content
    assert len(server.client.get(path, params={"limit": 1}).content) < len(whole)
    assert server.client.get(path, params={"limit": 1001}).status_code == 400
