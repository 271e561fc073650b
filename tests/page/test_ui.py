"""`noetl ui`: the page over a store of this machine, which leaves alone what it was not asked about."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx

from harness.running import HEAD
from harness.serving import until

WAITS = "workflow: [{step: start, tool: {name: w, kind: wait, events: [go]}}]\n"


def test_it_drives_what_it_is_asked_for_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text(HEAD + WAITS)
    noetl = [sys.executable, "-m", "noetl.cli"]
    names = []
    for _ in range(2):  # runs that end with their process, and wait in the store
        with subprocess.Popen([*noetl, "run", "t.yaml"], cwd=tmp_path, stderr=subprocess.PIPE, text=True) as run:
            assert run.stderr is not None
            names.append(run.stderr.readline().partition(":")[0])
            while "start: started" not in run.stderr.readline():  # then its first events are on disk
                pass
            run.kill()
    ui = subprocess.Popen([*noetl, "ui", "--port", "0"], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    try:
        assert ui.stderr is not None
        found = re.fullmatch(r"(http://127\.0\.0\.1:\d+)/\n", ui.stderr.readline())
        assert found is not None
        with httpx.Client(base_url=found[1], timeout=60) as api:
            assert api.get("/").text.startswith("<!doctype html>")
            assert {row["execution_id"] for row in api.get("/executions").json()["executions"]} == {*names}
            api.post(f"/executions/{names[0]}/signal", json={"name": "go"})
            until(lambda: api.get(f"/executions/{names[0]}/row").json()["status"] == "completed", 60)
            other = api.get(f"/executions/{names[1]}/row").json()
            assert (other["status"], other["owned"]) == ("running", False)
            digest = api.get("/playbooks").json()["playbooks"][0]["playbook_id"]
            begun = api.post("/executions", json={"playbook_id": digest}).json()["execution_id"]
            assert api.get(f"/executions/{begun}/row").json()["owned"] is True
    finally:
        ui.send_signal(signal.SIGTERM)
        ui.communicate(timeout=60)
    assert ui.returncode == 0
