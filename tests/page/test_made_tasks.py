"""Tasks that the compiler made are nobody's: neither counted nor named, on the page and on the command line."""

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from harness.browsing import Listener
from harness.running import HEAD
from harness.serving import until

if TYPE_CHECKING:
    from playwright.sync_api import Page

POLLS = """
workflow:
  - step: start
    tool:
      - until:
          when: "{{ iter.seen == 2 }}"
          max_iterations: 5
          then:
            - name: ask
              kind: python
              code: result = 1
              spec: {policy: {rules: [{else: {then: {do: continue, set_iter: {seen: "{{ (iter.seen or 0) + 1 }}"}}}}]}}
    next: {arcs: [{step: route}]}
  - {step: route, next: {arcs: [{step: last}]}}
  - {step: last, tool: {name: w, kind: wait, events: [go]}}
"""


def test_nothing_but_the_log_has_them(server: Listener, page: "Page", tmp_path: Path) -> None:
    server.register(HEAD + POLLS)
    name = server.start("t/t")
    until(lambda: any(row.get("signals") for row in server.api.get(f"/executions/{name}").json()["now"]))
    events = server.api.get(f"/executions/{name}/events?limit=1000").json()["events"]
    tasks = [event["task"] for event in events if event["event_type"] == "task.done"]
    made = {task for task in tasks if task.startswith("__")}
    assert made, "the log has every event as it is"
    page.goto(f"{server.url}/#/executions/{name}?step=start")
    page.get_by_text("3 tasks").wait_for()  # `ask` twice, and the wait
    page.locator(".attempts li").nth(1).wait_for()
    shown = page.locator("main").inner_text() + page.locator(".lanes").inner_html()
    log = page.locator(".log").inner_text()
    assert not [task for task in made if task in shown.replace(log, "")]
    assert page.locator(".attempts li").count() == 2
    bars = server.api.get(f"/executions/{name}/timeline").json()["bars"]
    assert {bar["task"] for bar in bars if bar["kind"] in ("task", "wait")} == {"ask", "w"}
    document = server.api.get(f"/executions/{name}").json()
    assert document["counts"]["tasks"] == 3 and not [task for task in made if task in str(document)]
    for words in (["status", name], ["list"]):
        asked = [sys.executable, "-m", "noetl.cli", *words, "--server", server.url]
        done = subprocess.run(asked, capture_output=True, text=True, check=True, cwd=tmp_path)
        assert "__" not in done.stdout
        assert words[0] != "status" or "3 tasks" in done.stdout, done.stdout
