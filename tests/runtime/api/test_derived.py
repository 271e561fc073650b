"""The texts of the compiler about a plan, over the API: findings, differences, explanations, each made once."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from harness.processes import noetl
from harness.running import HEAD
from harness.serving import Served, served, until
from noetl.api import derived
from noetl.api.lasting import AT_ONCE
from noetl.clients.compiler import CompileError

SOURCE = f"""{HEAD}workflow:
  - step: start
    tool: {{kind: noop}}
    next: {{arcs: [{{step: reject}}]}}
  - step: reject
    tool: {{kind: fail, code: order.rejected}}
    next: {{arcs: [{{step: tell}}]}}
  - {{step: tell, tool: {{kind: noop}}}}
"""
LONGER = SOURCE.replace("kind: noop}}", "kind: noop}, next: {arcs: [{step: last}]}}", 1) + (
    "  - {step: last, tool: {kind: noop}}\n"
)


def registered(up: Served, source: str) -> str:
    response = up.client.post("/playbooks?name=t.yaml", content=source.encode())
    assert response.status_code == 201, response.text
    return str(response.json()["playbook_id"])


def test_findings_have_their_places_in_the_source(tmp_path: Path) -> None:
    with served(tmp_path) as up:
        found = up.client.get(f"/plans/{registered(up, SOURCE)}/findings").json()
    assert found["left_out"] == 0
    (one,) = found["findings"]
    assert (one["code"], one["severity"]) == ("NL615", "warning")
    line = SOURCE.splitlines()[one["span"]["line"] - 1]
    assert line[one["span"]["column"] - 1 : one["span"]["end_column"] - 1] == "{step: tell}"
    assert "step.failed" in one["help"]


DESCRIBED = SOURCE.replace(
    "path: t/t}",
    'path: t/t, description: "Loads <b>orders</b>\\nevery night.", owner: data, cost: 12, tags: [a], on: true}',
)


def test_what_metadata_says_to_readers_is_told(tmp_path: Path) -> None:
    assert DESCRIBED != SOURCE
    with served(tmp_path) as up:
        found = up.client.get(f"/plans/{registered(up, DESCRIBED)}/metadata").json()
        assert found == {
            "metadata": {"description": "Loads <b>orders</b>\nevery night.", "owner": "data", "cost": "12"}
        }
        other = registered(up, SOURCE.replace("t/t", "t/other"))
        assert up.client.get(f"/plans/{other}/metadata").json() == {"metadata": {}}
        long = registered(up, SOURCE.replace("path: t/t}", f"path: t/long, description: {'x' * 9_000}}}"))
        assert len(up.client.get(f"/plans/{long}/metadata").json()["metadata"]["description"]) == 2_000
    store = f"sqlite:///{up.runtime.secrets_path.removesuffix('.credentials')}"
    (tmp_path / "n.yaml").write_text(DESCRIBED)
    shown = noetl(tmp_path, "playbooks", "t/other", "--store", store)
    assert shown.stdout.startswith("PATH"), shown.stderr


def test_a_description_stands_above_the_versions(tmp_path: Path) -> None:
    (tmp_path / "n.yaml").write_text(DESCRIBED)
    noetl(tmp_path, "run", "n.yaml", "--quiet")
    lines = noetl(tmp_path, "playbooks", "t/t").stdout.splitlines()
    assert lines[:3] == ["description  Loads <b>orders</b> every night.", "owner  data", "cost  12"]
    assert lines[3].startswith("PATH")


def test_of_a_plan_without_its_source_there_are_no_findings(tmp_path: Path) -> None:
    with served(tmp_path) as up:
        plan = up.client.get(f"/plans/{registered(up, SOURCE)}").content
    with served(tmp_path / "other") as up:
        digest = up.client.post("/playbooks", content=plan).json()["playbook_id"]
        assert up.client.get(f"/plans/{digest}/findings").status_code == 404
        assert up.client.put(f"/plans/{digest}/source", content=b"a: [").status_code == 200
        (one,) = up.client.get(f"/plans/{digest}/findings").json()["findings"]
        assert one["severity"] == "error", "whatever was given as its source is looked at"


def test_promises_of_the_playbook_are_among_the_verdicts(tmp_path: Path) -> None:
    def questions(source: str) -> list[str]:
        found = up.client.get(f"/plans/{registered(up, source)}/verdicts").json()["verdicts"]
        return [one["question"] for one in found if one["status"] == "refuted"]

    with served(tmp_path) as up:
        assert "reachable(tell)" in questions(SOURCE + "x-assert: [reachable(tell)]\n")
        # The source comes apart from its plan: where it is none, the plan is judged all the same.
        plan = up.client.get(f"/plans/{registered(up, SOURCE)}").content
    with served(tmp_path / "other") as up:
        digest = up.client.post("/playbooks", content=plan).json()["playbook_id"]
        assert up.client.put(f"/plans/{digest}/source", content=b"a: [").status_code == 200
        assert up.client.get(f"/plans/{digest}/verdicts").json()["verdicts"]


def test_a_configuration_above_is_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "noetlc.toml").write_text('ignore = ["ALL"]\n')
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    (one,) = derived.json.loads(derived.findings_of(SOURCE.encode()))
    assert one["code"] == "NL615"


def test_what_was_found_is_found_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where several ask while it is looked for; and what could not be found is tried again."""
    asked, go = list[bytes](), threading.Event()

    def slowly(source: bytes) -> str:
        asked.append(source)
        assert go.wait(60)
        if len(asked) == 1:
            raise CompileError("it was stopped", 1)
        return "[]"

    monkeypatch.setattr(derived, "findings_of", slowly)
    with served(tmp_path) as up, ThreadPoolExecutor(3) as several:
        path = f"/plans/{registered(up, SOURCE)}/findings"
        waiting = [several.submit(up.client.get, path) for _ in range(3)]
        assert up.client.get("/healthz").status_code == 200, "nobody else waits"
        go.set()
        codes = [one.result().status_code for one in waiting]
        assert 422 in codes and set(codes) <= {422, 200} and len(asked) <= 1 + codes.count(200)
        for _ in range(3):
            assert up.client.get(path).json() == {"findings": [], "left_out": 0}
        assert len(asked) == 2


def test_who_looks_at_plans_holds_up_nobody_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever looks at one plan, however often, has one turn; and all turns of the compiler are none of logs."""
    asked, go = list[bytes](), threading.Event()

    def slowly(source: bytes) -> str:
        asked.append(source)
        assert go.wait(60)
        return "[]"

    monkeypatch.setattr(derived, "findings_of", slowly)
    with served(tmp_path) as up, ThreadPoolExecutor(2 * AT_ONCE + 1) as several:
        plans = [registered(up, SOURCE.replace("tell", f"tell{n}")) for n in range(AT_ONCE + 1)]
        waiting = [several.submit(up.client.get, f"/plans/{plans[0]}/findings") for _ in range(AT_ONCE)]
        waiting += [several.submit(up.client.get, f"/plans/{one}/findings") for one in plans[1:]]
        until(lambda: len(asked) == AT_ONCE)
        assert up.client.get(f"/plans/{plans[0]}/outline").status_code == 200
        assert len(set(asked)) == len(asked) == AT_ONCE, "those who look wait still"
        go.set()
        assert [one.result().status_code for one in waiting] == [200] * len(waiting)
    assert len(set(asked)) == len(asked) == len(plans)


def test_so_much_is_kept_and_the_oldest_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[bytes]()

    def many(source: bytes) -> str:
        asked.append(source)
        return str([*range(1_000)])

    monkeypatch.setattr(derived, "findings_of", many)
    monkeypatch.setattr(derived, "MOST", 0)  # what is not told is not kept either
    monkeypatch.setattr(derived, "KEPT", 50)
    with served(tmp_path) as up:
        old, new = registered(up, SOURCE), registered(up, LONGER)
        for digest in (old, old, new, new, old):
            assert up.client.get(f"/plans/{digest}/findings").json() == {"findings": [], "left_out": 1_000}
    assert asked == [SOURCE.encode(), LONGER.encode(), SOURCE.encode()]


def test_so_many_are_told_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(derived, "MOST", 0)
    with served(tmp_path) as up:
        old, new = registered(up, SOURCE), registered(up, LONGER)
        assert up.client.get(f"/plans/{old}/findings").json() == {"findings": [], "left_out": 1}
        found = up.client.get(f"/plans/{new}/differences?from={old}").json()
        assert found["changes"] == [] and found["left_out"] > 0


def test_differences_go_from_the_other_plan_to_this_one(tmp_path: Path) -> None:
    with served(tmp_path) as up:
        old, new = registered(up, SOURCE), registered(up, LONGER)
        there = up.client.get(f"/plans/{new}/differences?from={old}").json()
        back = up.client.get(f"/plans/{old}/differences?from={new}").json()
        assert up.client.get(f"/plans/{new}/differences?from={new}").json()["same"] is True
    assert there["same"] is False and back["same"] is False
    added = [one for one in there["changes"] if one["sign"] == "+" and one["message"] == "step `last`"]
    gone = [one for one in back["changes"] if one["sign"] == "-" and one["message"] == "step `last`"]
    assert [one["span"]["line"] for one in (*added, *gone)] == [len(LONGER.splitlines())] * 2


def test_what_is_not_there_is_not_compared(tmp_path: Path) -> None:
    with served(tmp_path) as up:
        path = f"/plans/{registered(up, SOURCE)}/differences"
        assert up.client.get(path).status_code == 400
        for wrong in ("0" * 64, "../x", "-", "é"):
            assert up.client.get(path, params={"from": wrong}).status_code == 404, wrong
        assert up.client.get(f"/plans/{'0' * 64}/differences?from={'0' * 64}").status_code == 404


def test_a_finding_is_explained_by_code_and_by_name(tmp_path: Path) -> None:
    with served(tmp_path) as up:
        page = up.client.get("/findings/NL615").text
        assert page.startswith("NL615 arc-after-failure (warning)\n") and "\nWhy it matters\n" in page
        assert up.client.get("/findings/arc-after-failure").text == page
        for wrong in ("NL999", "--help", "-h", "x" * 100, "é", "NL615 "):
            response = up.client.get(f"/findings/{wrong}")
            assert response.status_code == 404, wrong
            assert "noetlc" not in response.text
