"""Tokens with scopes: whoever has one for the playbooks of a team sees and changes nothing of another one."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from harness.serving import Served, served, signed, until
from noetl.api.bearer_tokens import BearerToken, digest_of
from noetl.api.operation import EXECUTION, OWN, PLAN, PLAYBOOK, WITHIN, WORK, Operation
from noetl.api.problems import Forbidden
from noetl.api.routes import ROUTES
from noetl.api.scoping import check_heeded, check_registration
from noetl.app.runtime import Settings, open_runtime
from noetl.clients.compiler import compile_source
from noetl.ports.scopes import TokenScope, is_pattern_within, keeping_to
from noetl_ir.plan_format import read_plan
from noetl_ir.plan_sources import write_sources

TOKENS = [
    BearerToken("root", "admin", digest_of("root")),
    BearerToken("ann", "admin", digest_of("ann"), paths=("team-a/",)),
    BearerToken("gpu", "operator", digest_of("gpu"), pools=("gpu",)),
    BearerToken("worker", "worker", digest_of("worker"), pools=("gpu",)),
    BearerToken("hand", "worker", digest_of("hand"), paths=("team-a/",)),
    BearerToken("bob", "viewer", digest_of("bob"), paths=("team-b/",)),
]
WAITS = "workflow:\n  - step: start\n    tool: {kind: wait, events: [go]}\n"
NAMES = {"execution_id": "no-such", "digest": "abc123", "path": "team-b/none", "name": "none", "group": "status"}


def _source(path: str, rest: str = WAITS, *, executor: str = "") -> bytes:
    head = f"apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {{name: p, path: {path}, labels: {{owner: {path}}}}}\n"
    return (head + executor + rest).encode()


class Teams(NamedTuple):
    """A server with the playbooks and documents of two teams, an execution of each, and the ids of these."""

    up: Served
    mine: str
    theirs: str
    my_plan: str
    their_plan: str

    def ask(self, method: str, path: str, body: Any = None, *, by: str = "ann", key: str = "") -> Any:
        head = {"authorization": f"Bearer {by}", **({"idempotency-key": key} if key else {})}
        if isinstance(body, bytes):
            return self.up.client.request(method, path, content=body, headers=head)
        return self.up.client.request(method, path, json=body, headers=head)


def _document(kind: str, name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "noetl.io/v2", "kind": kind, "metadata": {"name": name}, "spec": spec}


def _schedule(name: str, playbook: str) -> dict[str, Any]:
    return _document("Schedule", name, playbook=playbook, cron="0 3 * * *", timezone="UTC")


def _hook(name: str, playbook: str) -> dict[str, Any]:
    return _document("Trigger", name, playbook=playbook, webhook={"signature": "token", "secret": "hooks"})


def _notification(name: str, *playbooks: str) -> dict[str, Any]:
    to = {"webhook": {"url": "https://hooks.example.org/x"}}
    return _document("Notification", name, on=["failed"], to=to, **({"playbooks": [*playbooks]} if playbooks else {}))


@pytest.fixture(scope="module")
def teams(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Teams]:
    with served(tmp_path_factory.mktemp("teams"), *TOKENS) as up:
        asked = Teams(up, "", "", "", "")
        found = {}
        for team in ("team-a", "team-ab", "team-b"):
            told = asked.ask("POST", "/playbooks", _source(f"{team}/one"), by="root")
            assert told.status_code == 201, told.text
            begun = asked.ask("POST", "/executions", {"path": f"{team}/one"}, by="root", key=f"of {team}")
            found[team] = begun.json()["execution_id"], told.json()["playbook_id"]
            documents = {
                "schedules": _schedule(f"nightly-{team}", f"{team}/one"),
                "triggers": _hook(f"hook-{team}", f"{team}/one"),
                "notifications": _notification(f"told-{team}", f"{team}/*"),
                "namespaces": _document(
                    "Namespace", f"space-{team}", prefix=f"{team}/", quotas={"open_executions": 50}
                ),
            }
            for plural, document in documents.items():
                told = asked.ask("PUT", f"/{plural}/{document['metadata']['name']}", document, by="root")
                assert told.status_code == 200, told.text
        (mine, my_plan), (theirs, their_plan) = found["team-a"], found["team-b"]
        until(lambda: '"what":"wait"' in asked.ask("GET", f"/executions/{theirs}", by="root").text)
        yield Teams(up, mine, theirs, my_plan, their_plan)


def _rows(*scopes: str) -> list[Operation]:
    return [row for row in ROUTES if row.role and row.scope in scopes]


def _named(row: Operation) -> str:
    return f"{row.method} {row.path}"


def _path(row: Operation, **names: str) -> str:
    return re.sub(r"\{(\w+)[^}]*\}", lambda part: {**NAMES, **names}[part[1]], row.path)


BODIES: dict[str, Any] = {"SignalBody": {"name": "go"}, "RerunBody": {}}


def _same(teams: Teams, row: Operation, theirs: str, nobodys: str, **named: str) -> None:
    """Fails unless what is of others is answered as what is not there, but for its own name."""
    (key,) = named
    body = BODIES.get(row.body.__name__) if row.body is not None else None
    found = teams.ask(row.method, _path(row, **{key: theirs}), body)
    none = teams.ask(row.method, _path(row, **{key: nobodys}), body)
    assert (found.status_code, none.status_code) == (404, 404), (found.text, none.text)
    assert found.text.replace(theirs, "X") == none.text.replace(nobodys, "X")
    assert dict(found.headers).keys() == dict(none.headers).keys()


@pytest.mark.parametrize("row", _rows(EXECUTION), ids=_named)
def test_an_execution_of_others_is_not_there(teams: Teams, row: Operation) -> None:
    assert "{execution_id}" in row.path
    _same(teams, row, teams.theirs, "7" * len(teams.theirs), execution_id=teams.theirs)
    if row.method == "GET":
        for name, by in ((teams.theirs, "root"), (teams.mine, "ann")):
            there = teams.ask("GET", _path(row, execution_id=name), by=by)
            assert there.status_code != 404 or "execution" not in there.json()["detail"], there.text


@pytest.mark.parametrize("row", _rows(PLAN), ids=_named)
def test_a_plan_of_others_is_not_there(teams: Teams, row: Operation) -> None:
    assert "{digest}" in row.path
    _same(teams, row, teams.their_plan, "ab" * (len(teams.their_plan) // 2), digest=teams.their_plan)
    mine = teams.ask(row.method, _path(row, digest=teams.my_plan))
    assert mine.status_code != 404 or "no plan" not in mine.text


@pytest.mark.parametrize("row", _rows(PLAYBOOK), ids=_named)
def test_a_playbook_of_others_is_not_there(teams: Teams, row: Operation) -> None:
    _same(teams, row, "team-b/one", "team-b/not", path="team-b/one")
    _same(teams, row, "team-ab/one", "team-ab/not", path="team-ab/one")
    assert teams.ask(row.method, _path(row, path="team-a/one")).status_code == 200
    assert teams.ask("POST", "/playbooks", _source("team-ab/four"), by="root").status_code == 201
    for by, near in (("root", "did you mean `team-ab/four`?"), ("ann", "")):
        told = teams.ask(row.method, _path(row, path="team-a/four"), by=by).json()["detail"]
        assert (near or "registered") in told and ("team-ab" in told) is bool(near)
    assert "did you mean `team-a/one`?" in teams.ask(row.method, _path(row, path="team-a/ones")).json()["detail"]


@pytest.mark.parametrize("row", [row for row in _rows(WITHIN) if row.method == "GET" and "{name" not in row.path],
                         ids=_named)  # fmt: skip
def test_a_list_leaks_nothing(teams: Teams, row: Operation) -> None:
    for group in ("status", "playbook", "label.owner", "error") if "{group" in row.path else ("",):
        path = _path(row, group=group)
        for query in ("", "?query=team-b", f"?parent={teams.theirs}", f"?before={teams.theirs}", "?now=true"):
            told = teams.ask("GET", path + query)
            assert told.status_code in (200, 400, 409), told.text
            text = told.text.replace(teams.theirs, "") if "=" + teams.theirs in query else told.text
            assert "team-b" not in text and "team-ab" not in text and teams.theirs not in text, (query, told.text)
        assert "team-b" in teams.ask("GET", path, by="root").text or group in ("status", "error") or "counts" in path
    assert "team-a" in teams.ask("GET", _path(row, group="playbook")).text or row.path == "/counts"


def test_counts_and_pages_are_of_what_is_in_scope(teams: Teams) -> None:
    assert sum(teams.ask("GET", "/counts").json().values()) == 1
    assert sum(teams.ask("GET", "/counts", by="root").json().values()) == 3
    rows = teams.ask("GET", "/counts/status").json()["counts"]
    assert [row["count"] for row in rows] == [1]
    rows = teams.ask("GET", "/executions").json()["executions"]
    assert [row["execution_id"] for row in rows] == [teams.mine]
    # The other team's is newer, so that this one stands behind it: an id that nobody has is told alike.
    none, theirs = (teams.ask("GET", f"/executions?before={name}") for name in ("123", teams.theirs))
    assert (none.status_code, theirs.status_code) == (409, 409)
    assert theirs.json()["detail"].replace(teams.theirs, "123") == none.json()["detail"]
    assert len(teams.ask("GET", f"/executions?before={teams.theirs}", by="root").json()["executions"]) == 2


@pytest.mark.parametrize("verb", ["cancel", "signal", "pause", "resume", "rerun"])
def test_many_are_those_in_scope(teams: Teams, verb: str) -> None:
    said = {"name": "go", "anyway": True} if verb == "signal" else {}
    found = teams.ask("POST", f"/executions/{verb}", {"filter": {}, "dry_run": True, **said})
    ids = [row["execution_id"] for row in found.json()["executions"]]
    assert ids == ([teams.mine] if verb in ("cancel", "signal", "pause") else []) and found.json()["left"] == 0
    for dry_run in (True, False):
        named = {"ids": [teams.theirs, "nobody"], "dry_run": dry_run, **said}
        theirs, nobodys = teams.ask("POST", f"/executions/{verb}", named).json()["executions"]
        assert {**theirs, "execution_id": ""} == {**nobodys, "execution_id": ""}
        assert nobodys["outcome"] == "refused"
    behind = teams.ask("POST", f"/executions/{verb}", {"filter": {}, "before": teams.theirs, "dry_run": True, **said})
    assert behind.json()["executions"] == []


def test_nothing_of_others_is_started(teams: Teams) -> None:
    for body in ({"path": "team-b/one"}, {"path": "team-b/one", "version": 9}, {"playbook_id": teams.their_plan}):
        assert teams.ask("POST", "/executions", body).status_code == 404
    there = teams.ask("POST", "/executions", {"path": "team-b/one", "version": 9}).json()["detail"]
    assert there == teams.ask("POST", "/executions", {"path": "team-b/none"}).json()["detail"].replace("none", "one")
    # The key of another team's start tells nothing of it.
    mine = teams.ask("POST", "/executions", {"path": "team-a/one"}, key="of team-b")
    assert mine.status_code == 201
    again = teams.ask("POST", "/executions", {"path": "team-a/one"}, key="of team-b")
    assert again.status_code == 200 and again.json() == {"execution_id": mine.json()["execution_id"]}
    other = teams.ask("POST", "/executions", {"path": "team-a/one", "payload": {"a": 1}}, key="of team-b")
    assert other.status_code == 409 and "`of team-b`" in other.json()["detail"] and "\0" not in other.text
    ended = mine.json()["execution_id"]
    teams.ask("POST", f"/executions/{ended}/cancel")
    until(lambda: teams.ask("GET", f"/executions/{ended}/row").json()["status"] == "cancelled")
    for other_plan in ({"path": "team-b/one"}, {"playbook_id": teams.their_plan}):
        rerun = teams.ask("POST", f"/executions/{ended}/rerun", {"dry_run": True, **other_plan})
        assert rerun.status_code == 404, rerun.text
    differences = f"/plans/{teams.my_plan}/differences?from="
    assert teams.ask("GET", differences + teams.their_plan).status_code == 404


CALLS = "workflow:\n  - step: start\n    tool: {kind: playbook, path: %s}\n"


def test_registered_is_what_is_of_the_team_with_all_that_it_calls(teams: Teams) -> None:
    for source in (_source("team-b/two"), _source("team-ab/two"), _source("team-a/two", CALLS % "team-b/one")):
        told = teams.ask("POST", "/playbooks", source)
        assert told.status_code == 403 and "out of your scope, which is `team-a/`" in told.json()["detail"], told.text
    told = teams.ask("POST", "/playbooks", _source("team-a/two", CALLS % "'{{ workload.which }}'"))
    assert told.status_code == 403 and "write the path" in told.json()["detail"]
    assert "two" not in teams.ask("GET", "/playbooks", by="root").text
    for path in ("team-a/../team-b/one", "team-a/./../team-b/one"):
        told = teams.ask("POST", "/playbooks", _source("team-a/two", CALLS % path))
        assert told.status_code == 403 and "out of your scope" in told.json()["detail"], told.text
    assert teams.ask("POST", "/playbooks", _source("team-a/three", CALLS % "team-a/one")).status_code == 201


def test_what_was_compiled_in_is_looked_into(teams: Teams, tmp_path: Path) -> None:
    (tmp_path / "inner.yaml").write_bytes(_source("team-a/inner", CALLS % "team-b/one"))
    plan = compile_source(_source("team-a/outer", CALLS % "team-a/inner"), "outer.yaml", [tmp_path]).plan
    assert [child.path for child in read_plan(plan).children] == ["team-a/inner"]
    told = teams.ask("POST", "/playbooks", plan)
    assert told.status_code == 403 and "`team-b/one` is out of your scope" in told.json()["detail"], told.text
    assert "outer" not in teams.ask("GET", "/playbooks", by="root").text


def test_a_child_of_another_team_and_its_source_are_not_shown(tmp_path: Path) -> None:
    fails = "workflow:\n  - step: start\n    tool: {kind: python, code: 'result = 1 / 0'}\n"
    (tmp_path / "theirs.yaml").write_bytes(_source("team-b/inner", fails))
    made = compile_source(_source("team-a/outer", CALLS % "team-b/inner"), "outer.yaml", [tmp_path])
    inner = read_plan(made.plan).children[0].digest
    with served(tmp_path, *TOKENS) as up:
        teams = Teams(up, "", "", "", "")
        body = write_sources(made.sources, made.plan)
        # Neither may they give it a source by way of a plan of their own.
        assert teams.ask("POST", "/playbooks", body).status_code == 403
        assert teams.ask("GET", f"/plans/{inner}/source", by="root").status_code == 404
        assert teams.ask("POST", "/playbooks", body, by="root").status_code == 201
        name = teams.ask("POST", "/executions", {"path": "team-a/outer"}, by="root").json()["execution_id"]
        until(lambda: teams.ask("GET", f"/executions/{name}").json()["status"] == "failed")
        [child] = teams.ask("GET", f"/executions/{name}", by="root").json()["failed_children"]
        assert child["playbook_id"] == inner and child["error"]["at"]["file"] == "theirs.yaml"
        mine = teams.ask("GET", f"/executions/{name}")
        assert "failed_children" not in mine.json() and "theirs.yaml" not in mine.text
        for by, status in (("root", 200), ("ann", 404), ("bob", 200)):
            assert teams.ask("GET", f"/plans/{inner}/source", by=by).status_code == status


def test_a_file_of_the_team_that_is_a_playbook_of_another_is_none_of_its_own(tmp_path: Path) -> None:
    """In the folders of a server a playbook is found by the path of its file, too."""
    (tmp_path / "team-a").mkdir()
    (tmp_path / "team-a" / "theirs.yaml").write_bytes(_source("team-b/inner"))

    def compiled(file: Path) -> tuple[bytes, dict[str, bytes]]:
        return compile_source(file.read_bytes(), file.name, [])[:2]

    plan = compile_source(_source("team-a/outer", CALLS % "team-a/theirs"), "outer.yaml", []).plan
    assert not read_plan(plan).children
    url = f"sqlite:///{tmp_path}/noetl.db"
    with open_runtime(url, Settings(root=tmp_path, folders=(tmp_path,)), compiled) as runtime:
        program = runtime.programs.read_plan(plan)
        check_registration(runtime, program)
        with (
            keeping_to(TokenScope(("team-a/",))),
            pytest.raises(Forbidden, match="`team-b/inner`, which `team-a/theirs`"),
        ):
            check_registration(runtime, program)


def test_a_trigger_of_a_team_does_not_tell_which_credentials_there_are(teams: Teams) -> None:
    hook = _hook("team-a/asks", "team-a/one")
    for by, found in (("root", 1), ("ann", 0)):
        told = teams.ask("PUT", "/triggers/team-a%2Fasks", hook, by=by).json()
        assert len(told["warnings"]) == found and (told["trouble"] is None) == (not found)
    assert teams.ask("GET", "/triggers/team-a%2Fasks").json()["trouble"] is None
    assert teams.ask("DELETE", "/triggers/team-a%2Fasks", by="root").status_code == 204


@pytest.mark.parametrize("plural", ["schedules", "triggers", "notifications"])
def test_documents_of_others_are_not_there(teams: Teams, plural: str) -> None:
    made = {"schedules": _schedule, "triggers": _hook, "notifications": _notification}[plural]
    name = {"schedules": "nightly", "triggers": "hook", "notifications": "told"}[plural]
    for row in ROUTES:
        if row.path.startswith(f"/{plural}/{{name") and row.method != "PUT":
            bodies = {"BackfillBody": {"since": "2026-01-01T00:00:00Z", "until": "2026-01-02T00:00:00Z"}}
            body = bodies.get(row.body.__name__, {}) if row.body is not None else None
            told = [teams.ask(row.method, _path(row, name=each), body) for each in (f"{name}-team-b", f"{name}-team-c")]
            assert [each.status_code for each in told] == [404, 404], (row.path, [each.text for each in told])
            assert told[0].text.replace(f"{name}-team-b", "X") == told[1].text.replace(f"{name}-team-c", "X")
    assert teams.ask("GET", f"/{plural}/{name}-team-a").status_code == 200
    for own, playbook, status in (
        (f"{name}-team-b", "team-a/one", 403), ("nobodys", "team-a/one", 403), ("team-ab/x", "team-a/one", 403),
        ("team-a/x", "team-b/one", 403), (f"{name}-team-a", "team-b/one", 403),
        (f"{name}-team-a", "team-a/one", 200), ("team-a/x", "team-a/one", 200),
    ):  # fmt: skip
        told = teams.ask("PUT", f"/{plural}/{own}", made(own, playbook))
        assert told.status_code == status, (own, playbook, told.text)
    theirs = teams.ask("GET", f"/{plural}/{name}-team-b", by="root").json()["document"]["spec"]
    assert "team-b" in json.dumps(theirs)
    assert teams.ask("DELETE", f"/{plural}/team-a/x").status_code == 204


@pytest.mark.parametrize(
    "to",
    [
        {"webhook": {"url": "https://hooks.example.org/x", "credential": "of-the-server"}},
        {"mail": {"to": ["a@example.org"], "credential": "mailer"}},
        {"slack": {"credential": "chat"}},
    ],
)
def test_the_server_sends_its_credentials_nowhere_that_a_team_says(teams: Teams, to: dict[str, Any]) -> None:
    document = _document("Notification", "team-a/leak", on=["failed"], to=to, playbooks=["team-a/*"])
    told = teams.ask("PUT", "/notifications/team-a/leak", document)
    assert told.status_code == 403 and "may name no credential of the server" in told.text, told.text
    assert teams.ask("PUT", "/notifications/team-a/leak", document, by="root").status_code == 200
    replaced = _document("Notification", "team-a/leak", on=["failed"], to=to, playbooks=["team-a/one"])
    assert teams.ask("PUT", "/notifications/team-a/leak", replaced).status_code == 403
    assert teams.ask("DELETE", "/notifications/team-a/leak").status_code == 204


def test_what_a_document_hears_of_is_of_the_team_too(teams: Teams) -> None:
    for document in (
        _document("Trigger", "team-a/t", playbook="team-a/one", after={"playbook": "team-b/*"}),
        _document("Trigger", "team-a/t", playbook="team-a/one", after={"playbook": "team-*/x"}),
        _document("Trigger", "team-a/t", playbook="team-a/one", nats={"subject": "orders.>"}),
        _notification("team-a/t"), _notification("team-a/t", "team-a/*", "*"),
    ):  # fmt: skip
        told = teams.ask("PUT", f"/{document['kind'].lower()}s/team-a/t", document)
        assert told.status_code == 403, told.text
    after = _document("Trigger", "team-a/t", playbook="team-a/one", after={"playbook": "team-a/*"})
    assert teams.ask("PUT", "/triggers/team-a/t", after).status_code == 200


@pytest.mark.parametrize(
    ("pattern", "fits"),
    [("team-a/*", True), ("team-a/x", True), ("team-a/[xy]", True), ("team-*", False), ("*", False), ("team-a*", False),
     ("team-b/x", False), ("[t]eam-a/x", False), ("team-a/?", True)],
)  # fmt: skip
def test_a_pattern_is_in_scope_where_its_beginning_is(pattern: str, fits: bool) -> None:
    assert is_pattern_within(pattern, ["team-a/"]) is fits


def test_values_are_those_of_the_team_and_of_who_hands_them_over(teams: Teams) -> None:
    runtime = teams.up.runtime
    theirs, mine = (runtime.blobs.put(each, b'"value"') for each in (teams.theirs, teams.mine))
    assert teams.ask("POST", "/blobs", {"reference": mine}).status_code == 200
    found = teams.ask("POST", "/blobs", {"reference": theirs})
    none = teams.ask("POST", "/blobs", {"reference": {**theirs, "key": f"nobody/{theirs['checksum']}"}})
    assert found.status_code == none.status_code == 404 and found.text == none.text
    assert teams.ask("POST", "/blobs", {"reference": theirs}, by="root").status_code == 200


def test_a_child_of_another_team_is_seen_by_its_own_path(teams: Teams) -> None:
    """Somebody without scopes registered the caller, so that it may be started."""
    source = _source("team-a/caller", CALLS % "team-b/one")
    assert teams.ask("POST", "/playbooks", source, by="root").status_code == 201
    caller = teams.ask("POST", "/executions", {"path": "team-a/caller"}).json()["execution_id"]
    children = f"/executions?parent={caller}"
    until(lambda: bool(teams.ask("GET", children, by="root").json()["executions"]))
    child = teams.ask("GET", children, by="root").json()["executions"][0]["execution_id"]
    assert teams.ask("GET", children).json()["executions"] == []
    statuses = {
        (by, name): teams.ask("GET", f"/executions/{of}", by=by).status_code
        for by in ("ann", "bob") for name, of in (("caller", caller), ("child", child))
    }  # fmt: skip
    assert statuses == {("ann", "caller"): 200, ("ann", "child"): 404, ("bob", "caller"): 404, ("bob", "child"): 200}
    # What is handed over belongs to both sides.
    for of in (caller, child):
        reference = teams.up.runtime.blobs.put(of, b'"handed over"')
        assert [teams.ask("POST", "/blobs", {"reference": reference}, by=by).status_code for by in ("ann", "bob")] == [
            200, 200,
        ]  # fmt: skip
    teams.ask("POST", f"/executions/{caller}/cancel")
    until(lambda: teams.ask("GET", f"/executions/{child}/row", by="bob").json()["status"] == "cancelled")


def test_a_worker_hands_in_the_output_of_its_own_playbooks(teams: Teams) -> None:
    chunk = {
        "step": "start", "run": 1, "path": [], "task": "start", "visit": 1, "attempt": 1, "claim": 1,
        "stream": "stdout", "offset": 0, "at": 1, "text": "printed",
    }  # fmt: skip
    store = teams.up.runtime.store
    logs = [signed(store, {**chunk, "execution_id": each}) for each in (teams.mine, teams.theirs)]
    assert teams.ask("POST", "/logs", {"logs": logs}, by="hand").json() == {"heard": 1}
    assert "printed" in teams.ask("GET", f"/executions/{teams.mine}/logs", by="root").text
    assert "printed" not in teams.ask("GET", f"/executions/{teams.theirs}/logs", by="root").text
    assert teams.ask("POST", "/logs", {"logs": []}, by="hand").json() == {"heard": 0}
    for of, status in ((teams.mine, 201), (teams.theirs, 404)):
        assert teams.ask("PUT", f"/blobs/{of}", b"value", by="hand").status_code == status


def test_nothing_that_is_shown_of_a_team_tells_of_another(teams: Teams) -> None:
    """Every look of the API, with the names of what is in scope."""
    own = {
        "execution_id": teams.mine, "digest": teams.my_plan, "path": "team-a/one", "group": "playbook", "code": "NL203",
    }  # fmt: skip
    documents = {"schedules": "nightly", "triggers": "hook", "notifications": "told", "namespaces": "space"}
    queries = {"get_result": "?step=start", "get_item": "?step=start&key=1/0", "get_items": "?step=start"}
    queries["get_differences"] = f"?from={teams.my_plan}"
    seen = 0
    for row in ROUTES:
        if row.method != "GET" or not row.scope:
            continue
        plural = row.path.split("/")[1]
        path = _path(row, **own, name=f"{documents.get(plural, '')}-team-a")
        told = teams.ask("GET", path + queries.get(row.handler.__name__, ""))
        assert "team-b" not in told.text and "team-ab" not in told.text, path
        assert teams.theirs not in told.text and teams.their_plan not in told.text, path
        assert told.status_code in (200, 404, 409), (path, told.text)
        seen += told.status_code == 200
    assert seen >= 25


def test_refusals_are_in_the_audit(tmp_path: Path) -> None:
    with served(tmp_path, *TOKENS) as up:
        teams = Teams(up, "", "", "", "")
        assert teams.ask("POST", "/playbooks", _source("team-b/one"), by="root").status_code == 201
        theirs = teams.ask("POST", "/executions", {"path": "team-b/one"}, by="root").json()["execution_id"]
        # What is not there leaves the same row: nobody tells the two apart by how long they take.
        for name in (theirs, "nobody"):
            teams.ask("GET", f"/executions/{name}/result")
        teams.ask("POST", "/playbooks", _source("team-b/two"))
        teams.ask("GET", "/metrics")
        rows = teams.ask("GET", "/audit?who=ann&outcome=refused", by="root").json()["audit"][::-1]
    assert [(row["deed"], row["subject"]) for row in rows] == [
        ("GET /executions/{execution_id}/result", theirs), ("GET /executions/{execution_id}/result", "nobody"),
        ("register", ""), ("GET /metrics", ""),
    ]  # fmt: skip
    assert [row["reason"] for row in rows] == [
        "out of the scope of the token, or not there", "out of the scope of the token, or not there",
        "the playbook `team-b/two` is out of your scope, which is `team-a/`",
        "the token `ann` is for some playbooks only; this is for tokens without limits",
    ]  # fmt: skip


def test_pools_of_a_token_are_those_of_all_steps(teams: Teams) -> None:
    gpu, cpu = "executor: {spec: {pool: gpu}}\n", "executor: {spec: {pool: cpu}}\n"
    step = "workflow:\n  - step: start\n    spec: {pool: cpu}\n    tool: {kind: noop}\n"
    for path, rest, executor in (("p/none", WAITS, ""), ("p/cpu", WAITS, cpu), ("p/mixed", step, gpu)):
        told = teams.ask("POST", "/playbooks", _source(path, rest, executor=executor), by="gpu")
        assert told.status_code == 403 and "your pools are `gpu`" in told.json()["detail"], told.text
        assert teams.ask("POST", "/playbooks", _source(path, rest, executor=executor), by="root").status_code == 201
        assert teams.ask("POST", "/executions", {"path": path}, by="gpu").status_code == 403
        assert teams.ask("PUT", "/schedules/s", _schedule("s", path), by="gpu").status_code == 403
    told = teams.ask("POST", "/playbooks", _source("p/gpu", executor=gpu), by="gpu")
    assert told.status_code == 201
    plan = told.json()["playbook_id"]
    assert teams.ask("POST", "/executions", {"path": "p/gpu"}, by="gpu").status_code == 201
    for called, status in (("p/gpu", 201), ("p/cpu", 403), ("p/not-there", 403), ("'{{ workload.x }}'", 403)):
        source = _source("p/caller", CALLS % called, executor=gpu)
        assert teams.ask("POST", "/playbooks", source, by="gpu").status_code == status, called
    elsewhere = teams.ask("POST", "/executions", {"path": "p/cpu"}, by="root").json()["execution_id"]
    for target in ({"path": "p/cpu"}, {"path": "p/gpu"}):
        told = teams.ask("POST", f"/executions/{elsewhere}/migrate", {**target, "dry_run": True}, by="gpu")
        assert (told.status_code == 403) is (target["path"] == "p/cpu"), told.text
    teams.ask("POST", f"/executions/{elsewhere}/cancel", by="root")
    until(lambda: teams.ask("GET", f"/executions/{elsewhere}/row", by="root").json()["status"] == "cancelled")
    assert teams.ask("POST", f"/executions/{elsewhere}/rerun", {"dry_run": True}, by="gpu").status_code == 403
    (one,) = teams.ask("POST", "/executions/rerun", {"ids": [elsewhere]}, by="gpu").json()["executions"]
    assert one["outcome"] == "refused" and "your pools are `gpu`" in one["why"]
    # A worker has the plans of its pools, and nothing that only people need.
    assert teams.ask("GET", f"/plans/{plan}", by="worker").status_code == 200
    assert teams.ask("GET", f"/plans/{teams.their_plan}", by="worker").status_code == 404
    assert teams.ask("PUT", f"/blobs/{teams.theirs}", b"x", by="worker").status_code == 404
    assert teams.ask("GET", "/executions", by="worker").status_code == 403


def test_each_operation_says_how_it_keeps_to_scopes() -> None:
    assert {row.scope for row in ROUTES} <= {"", OWN, EXECUTION, PLAN, PLAYBOOK, WITHIN, WORK}
    for row in ROUTES:
        named = {"execution_id": EXECUTION, "digest": PLAN}
        for name, scope in named.items():
            if f"{{{name}}}" in row.path:
                assert row.scope == scope, row.path


def test_a_handler_that_forgets_scopes_is_no_use_to_whoever_has_one() -> None:
    row = next(row for row in ROUTES if row.path == "/executions" and row.method == "GET")
    scope = TokenScope(("team-a/",))
    with pytest.raises(AssertionError, match="does not keep to scopes"):
        check_heeded(row, scope, TOKENS[1])
    assert scope.paths == ("team-a/",)
    check_heeded(row, scope, TOKENS[1])
    check_heeded(row, TokenScope(), TOKENS[0])


def test_forbidden_is_told_as_such() -> None:
    from noetl.api.problems import problem_of

    assert problem_of(Forbidden("x")).status_code == 403
