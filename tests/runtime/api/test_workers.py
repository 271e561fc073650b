"""The operations of the API for and about workers, and who may use them: values of executions, the list, draining."""

from pathlib import Path

from harness.running import compiled
from harness.serving import served, until
from noetl.api.bearer_tokens import BearerToken, digest_of
from noetl.api.bodies import BLOB_BYTES, SOURCE_BYTES
from noetl.engine.starting import Request

WAITS = "workflow:\n  - {step: start, tool: {name: w, kind: wait, events: [go]}}\n"


def test_a_worker_leaves_a_value_and_finds_it(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        program = server.runtime.programs.add_plan(compiled(WAITS))
        server.service.do(lambda control: control.own_and_start(program, "e1", Request({}))).result(10)
        value = bytes(range(256)) * 10_000
        put = server.client.put("/blobs/e1", content=value)
        assert put.status_code == 201
        reference = put.json()["reference"]
        assert (reference["size"], reference["key"].split("/")[0]) == (len(value), "e1")
        got = server.client.post("/blobs", json={"reference": reference})
        assert got.content == value
        assert server.client.put("/blobs/nobody", content=b"x").status_code == 404


def test_an_execution_that_is_over_takes_no_values(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        program = server.runtime.programs.add_plan(compiled(WAITS))
        server.service.do(lambda control: control.own_and_start(program, "e1", Request({}))).result(10)
        kept = server.client.put("/blobs/e1", content=b"before").json()["reference"]
        server.client.post("/executions/e1/cancel")
        until(lambda: server.client.get("/executions/e1/row").json()["status"] == "cancelled")
        refused = server.client.put("/blobs/e1", content=b"after")
        assert refused.headers["content-type"] == "application/problem+json"
        assert (refused.status_code, refused.json()["detail"]) == (
            409,
            "execution e1 is over (cancelled): it takes no more values",
        )
        assert server.client.post("/blobs", json={"reference": kept}).content == b"before"


def test_a_body_that_says_that_it_is_too_large_is_not_read(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        program = server.runtime.programs.add_plan(compiled(WAITS))
        server.service.do(lambda control: control.own_and_start(program, "e1", Request({}))).result(10)
        stated = {"content-length": str(BLOB_BYTES + 1)}
        assert server.client.put("/blobs/e1", content=b"x", headers=stated).status_code == 413
        assert server.client.put("/blobs/nobody", content=b"x", headers=stated).status_code == 404
        assert server.client.put("/blobs/e1", content=b"x", headers={"content-length": "9" * 400}).status_code == 413
        for path, headers in (("/playbooks", {}), ("/executions", {"content-type": "application/json"})):
            too_long = {**headers, "content-length": str(SOURCE_BYTES + 1)}
            assert server.client.post(path, content=b"x", headers=too_long).status_code == 413


def test_values_are_left_by_workers_only(tmp_path: Path) -> None:
    tokens = [BearerToken(role, role, digest_of(role)) for role in ("viewer", "worker", "operator", "admin")]
    with served(tmp_path, *tokens) as server:
        responses = {}
        for role in ("viewer", "worker", "operator", "admin"):
            bearer = {"Authorization": f"Bearer {role}"}
            put = server.client.put("/blobs/nobody", content=b"x", headers=bearer)
            drain = server.client.post("/workers/nobody/drain", headers=bearer)
            responses[role] = (put.status_code, drain.status_code)
        assert responses == {"viewer": (403, 403), "worker": (404, 403), "operator": (403, 409), "admin": (404, 409)}


def test_a_server_without_a_bus_is_its_own_worker(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        until(lambda: server.client.get("/readyz").status_code == 200)
        (row,) = server.client.get("/workers").json()["workers"]
        assert (row["name"], row["busy"], row["state"]) == ("server", 0, "ready")
        refused = server.client.post("/workers/server/drain")
        assert refused.status_code == 409 and "stop the server" in refused.json()["detail"]
