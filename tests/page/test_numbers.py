"""Numbers on the page are those that were recorded, and those that somebody wrote, to the last digit."""

import json
from typing import TYPE_CHECKING, Any

from harness.browsing import Listener
from harness.running import HEAD
from harness.serving import until

if TYPE_CHECKING:
    from playwright.sync_api import Page

LOOSE = "workload: {n: 1, f: 2.5, more: [1]}\nworkflow: [{step: start, tool: {kind: noop}}]\n"
# Above 2**53 (IEEE 754 binary64) and with a point that JavaScript drops: it would make 9007199254740992 and 1 of them.
PAYLOAD = '{"n": 9007199254740993, "f": 1.0, "more": [12345678901234567890, -0.10, 3, "9007199254740993 1.0"]}'
VALUES = {"n": 9007199254740993, "f": 1.0, "more": [12345678901234567890, -0.1, 3, "9007199254740993 1.0"]}


def started(server: Listener) -> str:
    server.register(HEAD + LOOSE)
    made = server.api.post(
        "/executions", content=f'{{"path": "t/t", "payload": {PAYLOAD}}}', headers={"content-type": "application/json"}
    )
    assert made.status_code == 201, made.text
    name = str(made.json()["execution_id"])
    until(lambda: server.api.get(f"/executions/{name}/row").json()["ended"] is not None)
    return name


def payload_of(server: Listener, name: str) -> Any:
    first = json.loads(server.api.get(f"/executions/{name}/events?limit=1").text)["events"][0]
    return first["payload"]["payload"]


def newest(server: Listener) -> str:
    return str(server.api.get("/executions").json()["executions"][0]["execution_id"])


def is_same(found: Any, wanted: Any) -> bool:
    """Whether two values are the same, also in whether their numbers are whole ones."""
    return json.dumps(found, sort_keys=True) == json.dumps(wanted, sort_keys=True)


def test_what_is_started_again_has_the_same_numbers(server: Listener, page: "Page") -> None:
    name = started(server)
    assert is_same(payload_of(server, name), VALUES)
    page.goto(f"{server.url}/#/executions/{name}")
    page.get_by_role("button", name="Start again…").click()
    assert page.get_by_label("n", exact=True).input_value() == "9007199254740993"
    page.get_by_role("button", name="Start", exact=True).click()
    page.wait_for_function("first => !location.hash.includes(first)", arg=name)
    assert is_same(payload_of(server, newest(server)), VALUES)


def test_what_is_written_in_a_form_is_sent_as_it_is(server: Listener, page: "Page") -> None:
    name = started(server)
    page.goto(f"{server.url}/#/executions/{name}")
    page.get_by_role("button", name="Start again…").click()
    page.get_by_label("n", exact=True).fill("9007199254740995")
    page.get_by_label("f", exact=True).fill("2.0")
    more = page.get_by_label("more (JSON)")
    assert json.loads(more.input_value()) == VALUES["more"] and "12345678901234567890" in more.input_value()
    more.fill("[18446744073709551617, 01]")
    page.get_by_role("button", name="Start", exact=True).click()
    page.get_by_role("alert").get_by_text("more is no JSON").wait_for()
    more.fill('{"a\\\\\\"1": [18446744073709551617, 5.0, "5.0"]}')
    page.get_by_role("button", name="Start", exact=True).click()
    page.wait_for_function("first => !location.hash.includes(first)", arg=name)
    wanted = {"n": 9007199254740995, "f": 2.0, "more": {'a\\"1': [18446744073709551617, 5.0, "5.0"]}}
    assert is_same(payload_of(server, newest(server)), wanted)


def test_the_log_shows_the_numbers_of_events(server: Listener, page: "Page") -> None:
    name = started(server)
    page.goto(f"{server.url}/#/executions/{name}")
    row = page.locator(".log td.brief button", has_text="9007199254740993").first
    assert '"f":1.0' in row.inner_text()
    row.click()
    whole = json.loads(page.locator(".log tr.whole pre").inner_text())
    assert is_same(whole["payload"], VALUES)


def test_a_document_shows_its_numbers(server: Listener, page: "Page") -> None:
    spec = f'{{"playbook": "t/t", "every": "1h", "payload": {PAYLOAD}}}'
    text = f'{{"apiVersion": "noetl.io/v2", "kind": "Schedule", "metadata": {{"name": "s"}}, "spec": {spec}}}'
    put = server.api.put("/schedules/s", content=text, headers={"content-type": "application/json"})
    assert put.status_code == 200, put.text
    page.goto(f"{server.url}/#/schedules/s")
    page.get_by_text("Document").click()
    shown = json.loads(page.locator("details pre").inner_text())
    assert is_same(shown["spec"]["payload"], VALUES)
