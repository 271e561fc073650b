"""The output of a step on the page of its execution: live, by attempts, and harmless whatever it is."""

import json
from typing import TYPE_CHECKING

from harness.browsing import Listener
from harness.running import HEAD
from harness.serving import signed, until

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page

STANDS = """
workflow:
  - step: start
    tool:
      name: s
      kind: shell
      command: "echo first; echo wrong >&2; until test -e go; do sleep 0.02; done; echo last"
    next: {arcs: [{step: quiet}]}
  - {step: quiet, tool: {kind: shell, command: "true"}}
"""
RETRIED = """
workflow:
  - step: start
    loop: {in: "{{ [1, 2] }}", iterator: n, spec: {mode: sequential}}
    tool:
      name: s
      kind: shell
      command: "echo x >> tries; echo try $(wc -l < tries); test $(wc -l < tries) -gt 1"
      spec: {policy: {rules: [{when: "{{ outcome.status == 'error' }}", then: {do: retry, delay: 0.01}}]}}
"""


def shell(text: str) -> str:
    return f"workflow:\n  - {{step: start, tool: {{kind: shell, command: {json.dumps(text)}}}}}\n"


def ended(server: Listener, body: str) -> str:
    server.register(HEAD + body)
    name = server.start("t/t")
    until(lambda: server.api.get(f"/executions/{name}/row").json()["ended"] is not None)
    return name


def test_the_output_of_a_step_comes_while_it_runs(server: Listener, page: "Page", tmp_path: "Path") -> None:
    server.register(HEAD + STANDS)
    name = server.start("t/t")
    page.goto(f"{server.url}/#/executions/{name}?step=start")
    output = page.get_by_role("region", name="Output of the task")
    output.get_by_text("first").wait_for()
    assert output.locator(".stderr").inner_text() == "wrong\n"
    output.evaluate("(element) => { element.kept = true; }")
    (tmp_path / "go").touch()
    output.get_by_text("last").wait_for()  # without a reload, and in the same place
    assert output.evaluate("(element) => element.kept") is True
    page.get_by_role("button", name="Step quiet: done").click()
    page.get_by_text("Its tasks have printed nothing.").wait_for()
    page.get_by_role("tab", name="Now").click()
    assert page.locator(".output").is_hidden()


def test_attempts_are_chosen(server: Listener, page: "Page") -> None:
    name = ended(server, RETRIED)
    page.goto(f"{server.url}/#/executions/{name}?step=start")
    output, choice = page.get_by_role("region", name="Output of the task"), page.get_by_label("Attempt", exact=True)
    output.get_by_text("try 3").wait_for()
    assert choice.locator("option").all_inner_texts() == ["[0] s", "[0] s, attempt 2", "[1] s"]
    choice.select_option("[0] s, attempt 2")
    output.get_by_text("try 2").wait_for()
    assert output.inner_text().strip() == "try 2"


def test_hostile_output_is_text_and_every_character_is_seen(server: Listener, page: "Page") -> None:
    evil = "<img src=x onerror=document.title=1>"
    hostile = r"a\033[31mb\007\tc\r\nd\342\200\256e\377f\302\205"
    name = ended(server, shell(rf"printf '%s\n' '{evil}'; printf '{hostile}'"))
    page.goto(f"{server.url}/#/executions/{name}?step=start")
    output = page.get_by_role("region", name="Output of the task")
    output.get_by_text(evil).wait_for()
    assert output.text_content() == f"{evil}\na␛[31mb␇\tc\nd\\u202ee\ufffdf\\u0085"
    assert page.title().startswith(name) and page.locator("main img").count() == 0


def test_what_is_missing_is_told_also_behind_characters_beyond_16_bits(server: Listener, page: "Page") -> None:
    name = ended(server, shell(r"printf '\360\237\216\211\360\237\216\211'"))
    first = server.api.get(f"/executions/{name}/logs").json()["logs"][0]
    assert first["text"] == "\U0001f389\U0001f389"
    behind = signed(server.runtime.store, {**first, "offset": 3, "text": "behind"})
    del behind["position"]
    assert server.api.post("/logs", json={"logs": [behind]}).status_code == 202
    page.goto(f"{server.url}/#/executions/{name}?step=start")
    output = page.get_by_role("region", name="Output of the task")
    output.get_by_text("behind").wait_for()
    assert "some output is missing here" in (output.text_content() or "")


def test_ten_megabytes_in_one_line_are_shown_in_part(server: Listener, page: "Page") -> None:
    name = ended(server, shell("head -c 10000000 /dev/zero | tr '\\000' x; printf 'a line behind'"))
    page.set_default_timeout(60_000)
    page.goto(f"{server.url}/#/executions/{name}?step=start")
    output = page.get_by_role("region", name="Output of the task")
    output.get_by_text("the rest was dropped").wait_for()
    page.get_by_text("characters are left out here").wait_for()
    assert 100_000 < len(output.text_content() or "") < 300_000
    page.get_by_role("tab", name="Context").click()  # it still answers
    page.get_by_text("Nothing is in ctx here.").wait_for()
