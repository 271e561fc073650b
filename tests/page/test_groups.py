"""The page at a gateway: one list of all groups, and what it says of a group that does not answer."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import httpx
import pytest

from harness.browsing import Listener, listening
from services import waited_for

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

WAITS = (
    "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: t, path: PATH}\n"
    "workflow: [{step: start, tool: {name: w, kind: wait, events: [go]}}]\n"
)


class Groups(NamedTuple):
    """A gateway, and the servers of its groups with what ends each of them."""

    url: str
    servers: dict[str, Listener]
    ends: dict[str, ExitStack]


@pytest.fixture
def groups(browser: "Browser", tmp_path: Path) -> Iterator[Groups]:
    servers, ends, text = dict[str, Listener](), dict[str, ExitStack](), ""
    with ExitStack() as whole:
        for name in ("a", "b"):
            (tmp_path / name).mkdir()
            ends[name] = whole.enter_context(ExitStack())
            servers[name] = ends[name].enter_context(listening(tmp_path / name))
            text += f'[groups.{name}]\nservers = ["{servers[name].url}"]\nplaybooks = ["{name}/*"]\n'
        (tmp_path / "groups.toml").write_text(text)
        words = [sys.executable, "-m", "noetl.cli", "gateway", "--port", "0", "groups.toml"]
        process = subprocess.Popen(words, cwd=tmp_path, text=True, stderr=subprocess.PIPE)
        whole.callback(process.wait, 30)
        whole.callback(process.kill)
        assert process.stderr is not None
        whole.callback(process.stderr.close)
        ready = process.stderr.readline()
        assert ready.startswith("listening on "), ready
        yield Groups(ready.split()[-1], servers, ends)


def test_all_groups_are_in_one_list_and_one_that_is_gone_is_named(groups: Groups, page: "Page") -> None:
    with httpx.Client(base_url=groups.url) as api:
        for path in ("a/one", "b/one"):
            assert api.post("/playbooks?name=t.yaml", content=WAITS.replace("PATH", path)).status_code == 201
        first, second = [
            api.post("/executions", json={"path": path}).json()["execution_id"] for path in ("a/one", "b/one")
        ]
        page.goto(groups.url)
        rows = page.locator("table.rows tbody tr[aria-rowindex]")
        rows.nth(1).wait_for()
        assert rows.count() == 2
        page.goto(f"{groups.url}/#/executions/{second}")
        page.get_by_role("button", name="Signal").first.wait_for()
        assert api.post(f"/executions/{second}/signal", json={"name": "go"}).status_code == 202
        page.get_by_text("completed").first.wait_for()
        told = page.locator("p.problem", has_text="does not answer: what it has is missing here")
        assert told.count() == 0 or not told.is_visible()
        groups.ends["b"].close()
        page.goto(f"{groups.url}/#/executions")
        told.wait_for()
        assert told.inner_text() == "Group b does not answer: what it has is missing here."
        waited_for(lambda: rows.count() == 1, "the list has what is gone")
        page.goto(f"{groups.url}/#/executions/{first}")
        page.get_by_text("running").first.wait_for()
        waited_for(lambda: not told.is_visible(), "it is said where nothing is missing")
