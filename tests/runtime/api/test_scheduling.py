"""Schedules over the API and the command line, and real servers that carry them out."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from harness.processes import noetl
from harness.running import HEAD
from harness.serving import Served, served
from noetl.api.scheduling import starter_of
from noetl.app.retention import Purger
from noetl.ports.schedules import UnstartedTime
from services import waited_for

PLAYBOOK = (
    HEAD + 'workload: {day: none}\nworkflow:\n  - step: start\n    tool: {kind: noop, result: "{{ workload.day }}"}\n'
)


def document(name: str = "nightly", **spec: object) -> dict[str, object]:
    told = {"playbook": "t/t", "cron": "0 2 * * *", "timezone": "Europe/Berlin", "time_input": "day", **spec}
    told = {key: value for key, value in told.items() if value is not None}
    return {"apiVersion": "noetl.io/v2", "kind": "Schedule", "metadata": {"name": name}, "spec": told}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path) as running:
        assert running.client.post("/playbooks", content=PLAYBOOK).status_code == 201
        yield running


def put(server: Served, **spec: object) -> dict[str, object]:
    response = server.client.put("/schedules/nightly", json=document(**spec))
    assert response.status_code == 200, response.text
    found: dict[str, object] = response.json()
    return found


def test_a_schedule_is_kept_told_paused_and_deleted(server: Served) -> None:
    kept = put(server)
    assert (kept["name"], kept["paused"], kept["trouble"], kept["playbook"]) == ("nightly", False, None, "t/t")
    assert str(kept["due"])[10:] in ("T02:00:00+01:00", "T02:00:00+02:00", "T03:00:00+02:00")
    shown = server.client.get("/schedules/nightly").json()
    assert len(shown["next"]) == 5 and shown["next"][0] == kept["due"]
    assert shown["last"] == []  # those of before it was kept are not its own
    assert shown["times"] == "at 02:00 every day, Europe/Berlin"
    assert [row["name"] for row in server.client.get("/schedules").json()["schedules"]] == ["nightly"]
    assert server.client.post("/schedules/nightly/pause").json()["paused"] is True
    assert server.client.get("/schedules/nightly").json()["due"] is None
    assert server.client.post("/schedules/nightly/resume").json()["due"] == kept["due"]
    assert server.client.delete("/schedules/nightly").status_code == 204
    for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/pause"), ("POST", "/resume")):
        assert server.client.request(method, f"/schedules/nightly{path}").status_code == 404


def test_times_of_a_pause_are_told_as_that(server: Served) -> None:
    put(server, cron=None, timezone=None, time_input=None, every="1s")
    server.client.post("/schedules/nightly/pause")
    waited_for(lambda: server.client.get("/schedules/nightly").json()["last"], "no time comes")
    paused = server.client.get("/schedules/nightly").json()["last"][0]
    assert paused == {"time": paused["time"], "execution_id": None, "why": "paused", "running": None}
    server.client.post("/schedules/nightly/resume")
    assert paused in server.client.get("/schedules/nightly").json()["last"], "it is known afterwards, too"


def test_times_that_a_refusal_has_cost_are_told_as_that(server: Served, tmp_path: Path) -> None:
    put(server, cron=None, timezone=None, time_input=None, every="1h")
    kept = server.runtime.store.scheduling
    (row,) = kept.rows("nightly")
    hour = 3_600_000_000
    last = (row.cursor // hour) * hour
    times = [UnstartedTime(last - hour, "refused"), UnstartedTime(last, "quota")]
    assert kept.move(row, row._replace(began=last - 2 * hour).with_unstarted(times))
    found = server.client.get("/schedules/nightly").json()["last"]
    assert [each["why"] for each in found] == ["quota", "refused"]
    url = f"sqlite:///{server.runtime.secrets_path[:-12]}"
    shown = noetl(tmp_path, "schedules", "show", "nightly", "--store", url).stdout
    assert "refused: its namespace had no place for too long" in shown
    assert "refused: it could not be started for too long" in shown


def test_what_hindered_a_time_that_a_pause_passed_is_told_no_more(server: Served) -> None:
    put(server)
    kept = server.runtime.store.scheduling
    (row,) = kept.rows("nightly")
    assert kept.move(row, row._replace(trouble="its namespace is full"))
    assert server.client.post("/schedules/nightly/pause").json()["trouble"]
    assert server.client.post("/schedules/nightly/resume").json()["trouble"] is None


def test_a_time_that_no_server_has_dealt_with_is_told(server: Served) -> None:
    put(server, cron=None, timezone=None, time_input=None, every="1h")
    kept, path = server.runtime.store.scheduling, "/schedules/nightly"
    (row,) = kept.rows("nightly")
    assert server.client.get(path).json()["trouble"] is None
    day = 86_400_000_000
    assert kept.move(row, row._replace(cursor=row.cursor - day))
    told = server.client.get(path).json()
    assert told["trouble"] == (
        f"{told['due']} has passed, and no server was there: `noetl server` carries out the schedules of its store"
    )
    assert server.client.get("/schedules").json()["schedules"][0]["trouble"] == told["trouble"]
    # Of one that is paused, waits for the end of the execution before, or is hindered otherwise, it is not that.
    (late,) = kept.rows("nightly")
    source = f"{HEAD}workflow:\n  - {{step: start, tool: {{name: w, kind: wait, events: [go]}}}}\n"
    assert server.client.post("/playbooks", content=source.replace("t/t", "t/w")).status_code == 201
    running = server.client.post("/executions", json={"path": "t/w"}).json()["execution_id"]
    for other in ({"paused": True}, {"last": running}, {"trouble": "no room"}):
        assert kept.move(late, late._replace(**other))
        assert "no server" not in str(server.client.get(path).json()["trouble"])
        assert kept.move(late._replace(**other), late)


def test_what_is_wrong_is_told_with_its_key(server: Served) -> None:
    for path, body, text in (
        ("nightly", document(cron="0 2 * *"), "`spec.cron`: a cron expression has five fields"),
        ("other", document(), "`metadata.name` is `nightly`, and the address names `other`"),
        ("nightly", {**document(), "more": 1}, "more"),
        ("nightly", {"kind": "Schedule"}, "apiVersion"),
    ):
        response = server.client.put(f"/schedules/{path}", json=body)
        assert response.status_code == 400
        assert text in response.json()["detail"]
    put(server)
    found = server.client.get("/schedules/nihgtly")
    assert (found.status_code, "did you mean `nightly`?" in found.json()["detail"]) == (404, True)


def test_a_backfill_starts_each_passed_time_once_with_its_time_as_input(server: Served) -> None:
    put(server)
    asked = {"since": "2026-03-28T00:00:00+01:00", "until": "2026-03-31T00:00:00+02:00"}
    dry = server.client.post("/schedules/nightly/backfill", json={**asked, "dry_run": True}).json()["starts"]
    times = ["2026-03-28T02:00:00+01:00", "2026-03-29T03:00:00+02:00", "2026-03-30T02:00:00+02:00"]
    assert [row["time"] for row in dry] == times
    started = server.client.post("/schedules/nightly/backfill", json=asked).json()["starts"]
    assert [row["time"] for row in started] == times
    again = server.client.post("/schedules/nightly/backfill", json={**asked, "limit": 2}).json()["starts"]
    assert [row.pop("fresh") for row in started] == [True] * 3 and [row.pop("fresh") for row in again] == [False] * 2
    assert again == started[:2]
    dry = server.client.post("/schedules/nightly/backfill", json={**asked, "dry_run": True}).json()["starts"]
    assert dry == started
    for row in started:
        name = row["execution_id"]
        waited_for(lambda name=name: server.status(name) == "completed", "it does not end")
        assert server.client.get(f"/executions/{name}/result").json()["result"] == row["time"]
        told = server.client.get(f"/executions/{name}").json()
        assert told["started_by"] == {"schedule": "nightly", "time": row["time"], "backfill": True}
        assert server.client.get(f"/executions/{name}/replay").json()["legal"] is True
    # Those to come are the schedule's own.
    future = {"since": "2090-01-01T00:00:00Z", "until": "2090-02-01T00:00:00Z"}
    assert server.client.post("/schedules/nightly/backfill", json=future).json() == {
        "starts": [], "left_out": None, "coming": "2090-01-01T02:00:00+01:00",
    }  # fmt: skip
    cut = server.client.post("/schedules/nightly/backfill", json={**asked, "limit": 2, "dry_run": True}).json()
    assert (len(cut["starts"]), cut["left_out"], cut["coming"]) == (2, times[2], None)
    # Started before it was kept, and so they are shown.
    assert len(server.client.get("/schedules/nightly").json()["last"]) <= 3
    for wrong in ({"since": "x", "until": "y"}, {"since": asked["until"], "until": asked["since"]}):
        assert server.client.post("/schedules/nightly/backfill", json=wrong).status_code == 400


def test_what_a_schedule_starts_is_started_now_when_asked(server: Served) -> None:
    put(server)
    before = server.client.get("/schedules/nightly").json()["due"]
    key = {"Idempotency-Key": "once"}
    first = server.client.post("/schedules/nightly/start", headers=key)
    assert first.status_code == 201
    name = first.json()["execution_id"]
    assert server.client.post("/schedules/nightly/start", headers=key).json() == first.json()
    for wrong in ("", "x" * 256, "a\tb"):
        refused = server.client.post("/schedules/nightly/start", headers={"Idempotency-Key": wrong})
        assert (refused.status_code, "printable ASCII" in refused.text) == (400, True)
    other = server.client.post("/schedules/nightly/start").json()["execution_id"]
    assert other != name
    told = server.client.get(f"/executions/{name}").json()["started_by"]
    assert (told["schedule"], told["asked"]) == ("nightly", True)
    waited_for(lambda: server.status(name) == "completed", "it does not end")
    assert server.client.get(f"/executions/{name}/result").json()["result"] == told["time"]
    assert server.client.get("/schedules/nightly").json()["due"] == before
    assert server.client.post("/schedules/nothing/start").status_code == 404
    row = server.runtime.store.execution(name)
    assert row is not None and Purger(server.runtime).purge([row]).kept == ()


def figures(server: Served) -> dict[str, float]:
    lines = server.client.get("/metrics").text.splitlines()
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if line[0] != "#")}


def test_a_playbook_that_is_not_there_is_told_until_it_is(server: Served) -> None:
    starter = starter_of(server.client.app.state.service, server.said.append)  # type: ignore[attr-defined]
    assert starter is not None
    put(server, cron=None, every="1s", timezone=None, playbook="t/later", time_input=None)
    time.sleep(1.1)
    starter.look()
    trouble = server.client.get("/schedules/nightly").json()["trouble"]
    assert "t/later" in trouble
    assert [line for line in server.said if "schedule nightly" in line and "t/later" in line]
    stands = figures(server)
    assert stands['noetl_schedules{state="hindered"}'] == 1
    assert 0 < stands["noetl_schedule_overdue_seconds"] < 60
    server.client.post("/playbooks", content=PLAYBOOK.replace("t/t", "t/later"))
    starter.look()
    stands = figures(server)
    assert stands['noetl_schedules{state="active"}'] == 1
    started = stands['noetl_schedule_times_total{outcome="started"}']
    assert started == stands["noetl_schedule_late_seconds_count"] >= 1
    assert 0 < stands["noetl_schedule_late_seconds_sum"] < 60
    starter.look()
    told = server.client.get("/schedules/nightly").json()
    assert told["trouble"] is None and server.client.get(f"/executions/{told['last_execution']}").status_code == 200


def served_by(folder: Path) -> tuple[subprocess.Popen[str], str]:
    """A server of its own process over the store in a folder, and its URL."""
    process = subprocess.Popen(
        [sys.executable, "-m", "noetl.cli", "server", "--port", "0"], cwd=folder, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("listening on "):
            return process, line.split()[-1]
    raise AssertionError("it does not listen")


def test_two_servers_one_of_which_is_killed_start_each_second_once(tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text(PLAYBOOK)
    begun = int(time.time())
    spec = {"cron": None, "every": "1s", "timezone": None, "overlap": "allow", "catch_up": 100}
    (tmp_path / "nightly.json").write_text(json.dumps(document(**spec)))
    servers = [served_by(tmp_path) for _ in range(2)]
    try:
        assert noetl(tmp_path, "register", "t.yaml", "--server", servers[0][1]).returncode == 0
        done = noetl(tmp_path, "schedules", "put", "nightly.json")
        assert done.returncode == 0, done.stderr

        def starts() -> int:
            return len(json.loads(noetl(tmp_path, "list", "--json").stdout))

        waited_for(lambda: starts() >= 3, "nothing is started")
        os.kill(servers[0][0].pid, signal.SIGKILL)
        before = starts()
        waited_for(lambda: starts() >= before + 3, "the other one starts nothing")
        assert noetl(tmp_path, "schedules", "pause", "nightly", "--server", servers[1][1]).returncode == 0
        shown = httpx.get(f"{servers[1][1]}/schedules/nightly").json()
        deleted = noetl(tmp_path, "schedules", "delete", "nightly", "--server", servers[1][1])
        assert (deleted.returncode, deleted.stdout) == (0, "deleted nightly\n"), deleted.stderr
    finally:
        for process, _ in servers:
            process.kill()
            process.communicate()
    found = Counter[str]()
    for row in json.loads(noetl(tmp_path, "list", "--json").stdout):
        told = json.loads(noetl(tmp_path, "status", row["execution_id"], "--json").stdout)
        found[told["started_by"]["time"]] += 1
    assert max(found.values()) == 1
    assert shown["paused"] is True and begun < time.time()
    # Each second from the first to the last one.
    seconds = sorted(time.mktime(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S")) for text in found)
    assert seconds == [seconds[0] + number for number in range(len(seconds))]


def test_the_commands(tmp_path: Path) -> None:
    (tmp_path / "nightly.yaml").write_text(
        "apiVersion: noetl.io/v2\nkind: Schedule\nmetadata: {name: etl/nightly}\n"
        "spec: {playbook: t/t, cron: '0 2 * * *', timezone: Europe/Berlin}\n"
    )
    assert noetl(tmp_path, "schedules", "list").returncode == 1
    done = noetl(tmp_path, "schedules", "put", "nightly.yaml")
    assert done.returncode == 0, done.stderr
    assert noetl(tmp_path, "schedules", "list").stdout == done.stdout
    assert done.stdout.splitlines()[0].split() == ["SCHEDULE", "DUE", "LAST", "EXECUTION", "PLAYBOOK"]
    shown = noetl(tmp_path, "schedules", "show", "etl/nightly").stdout
    assert shown.count("\nnext  20") == 5 and "not started" not in shown
    assert "\ntimes  at 02:00 every day, Europe/Berlin\ncron  0 2 * * *\n" in shown
    assert " paused " in noetl(tmp_path, "schedules", "pause", "etl/nightly").stdout
    assert " paused " not in noetl(tmp_path, "schedules", "resume", "etl/nightly").stdout
    (tmp_path / "bad.yaml").write_text(
        "apiVersion: noetl.io/v2\nkind: Schedule\nmetadata: {name: x}\nspec: {cron: x}\n"
    )
    assert noetl(tmp_path, "schedules", "put", "bad.yaml").stderr.startswith(
        "error: bad.yaml:4:1: `spec.playbook` is missing"
    )
    assert "did you mean `etl/nightly`?" in noetl(tmp_path, "schedules", "show", "etl/nigtly").stderr
    assert noetl(tmp_path, "schedules", "delete", "etl/nightly").stdout == "deleted etl/nightly\n"
    assert noetl(tmp_path, "schedules", "list").stderr == "no schedules\n"


SLIPS = """\
apiVersion: noetl.io/v2
kind: Schedule
metadata: {name: nightly}
spec:
  playbook: t/t
  every: 1h
  time_input: dya
  payload:
    moer: 1
"""


def test_slips_of_the_start_are_told_at_their_lines_when_it_is_kept(tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text(PLAYBOOK)
    (tmp_path / "s.yaml").write_text(SLIPS)
    done = noetl(tmp_path, "schedules", "put", "s.yaml")
    assert done.stderr.splitlines()[0] == "warning: s.yaml:5:3: no playbook `t/t` is registered"
    assert noetl(tmp_path, "run", "t.yaml").returncode == 0  # it is in the catalogue then
    done = noetl(tmp_path, "schedules", "put", "s.yaml")
    assert done.returncode == 0
    assert done.stderr.splitlines() == [
        "warning: s.yaml:9:5: nothing reads `moer` of the payload, and `workload` has no such key",
        "warning: s.yaml:7:3: nothing reads `dya` of the payload, and `workload` has no such key; did you mean `day`?",
        "the servers of the store carry schedules out: where none runs, `noetl server` is one",
    ]
    (tmp_path / "s.yaml").write_text(SLIPS.replace("playbook: t/t", "playbook: t/t\n  version: 7"))
    done = noetl(tmp_path, "schedules", "put", "s.yaml")
    assert done.stderr.splitlines()[0] == "warning: s.yaml:6:3: playbook `t/t` has no version 7: the newest is 1"


def test_a_slip_about_the_time_says_what_comes(server: Served) -> None:
    source = (
        HEAD + "executor: {spec: {inputs: {day: {type: string, format: date}}}}\n"
        "workflow:\n  - {step: start, tool: {kind: noop}}\n"
    )
    assert server.client.post("/playbooks", content=source.replace("t/t", "t/day")).status_code == 201
    (slip,) = put(server, playbook="t/day", timezone="UTC")["warnings"]  # type: ignore[misc]
    assert slip["key"] == ["spec", "time_input"]
    assert re.search(r"of the format date; a time such as `20\d\d-\d\d-\d\dT\d\d:.*\+00:00` comes$", slip["text"])


def test_slips_against_declared_inputs(server: Served) -> None:
    source = (
        HEAD + "executor: {spec: {inputs: {region: {type: string, required: true}, n: {type: integer}}}}\n"
        "workflow:\n  - {step: start, tool: {kind: noop}}\n"
    )
    assert server.client.post("/playbooks", content=source.replace("t/t", "t/inputs")).status_code == 201
    told = put(server, playbook="t/inputs", time_input=None, payload={"n": "x", "regoin": 1})
    warnings = {tuple(row["key"]): row["text"] for row in told["warnings"]}  # type: ignore[attr-defined]
    assert "the input n is text" in warnings["spec", "payload", "n"] or "n" in warnings["spec", "payload", "n"]
    assert "did you mean `region`?" in warnings["spec", "payload", "regoin"]
    assert "the input `region` must be brought" in warnings["spec",]


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    process, found = served_by(tmp_path)
    yield found
    process.kill()
    process.communicate()


def test_a_server_refuses_with_file_and_line_and_says_what_a_backfill_leaves_out(url: str, tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text(PLAYBOOK)
    (tmp_path / "s.yaml").write_text(SLIPS.replace("every: 1h", 'cron: "0 25 * * *"'))
    there = ("--server", url)
    found = noetl(tmp_path, "schedules", "put", "s.yaml", *there)
    assert found.stderr == "error: s.yaml:6:3: `spec.cron`: `25` is no hour: 0 to 23\n"
    for where in (there, ()):
        found = noetl(tmp_path, "schedules", "put", "t.yaml", *where)
        assert found.stderr == "error: t.yaml:2:1: it is a Playbook, and no Schedule: `noetl register` keeps those\n"
    (tmp_path / "s.json").write_text(json.dumps(document()))
    found = noetl(tmp_path, "schedules", "put", "s.json", *there)
    assert (found.returncode, found.stderr[:17]) == (0, "warning: s.json:1")
    assert noetl(tmp_path, "run", "t.yaml", "--quiet").returncode == 0
    done = noetl(tmp_path, "schedules", "start", "nightly", *there)
    assert done.returncode == 0 and done.stdout.strip().isdecimal(), done.stderr
    words = ("schedules", "backfill", "nightly", *there, "--dry-run", "--from")
    done = noetl(tmp_path, *words, "2026-03-01T00:00:00Z", "--until", "2026-04-01T00:00:00Z", "--limit", "2")
    assert done.stderr == "--limit 2 leaves out those from 2026-03-03T02:00:00+01:00 on\n"
    done = noetl(tmp_path, *words, "2090-01-01T00:00:00Z", "--until", "2090-04-01T00:00:00Z")
    assert done.stderr.splitlines() == [
        "0 times",
        "those from 2090-01-01T02:00:00+01:00 on are still to come: the schedule starts them",
    ]


def test_without_the_library_a_sentence_says_what_to_install(tmp_path: Path) -> None:
    without = (
        "import sys; sys.modules['cronsim'] = None; from noetl.cli import main; sys.exit(main(['schedules', 'list']))"
    )
    done = subprocess.run([sys.executable, "-c", without], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, "pip install 'noetlc[server]'" in done.stderr) == (1, True)
