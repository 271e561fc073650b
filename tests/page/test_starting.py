"""Forms that start a playbook: defaults, dates and times, and an execution that is started again."""

from typing import TYPE_CHECKING, Any

from harness.browsing import Listener, page_of
from harness.running import HEAD
from harness.serving import until

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

FIRST = """
workload: {n: 3, day: "2026-03-01", twice: "{{ workload.n * 2 }}", greeting: "for {{ workload.who }}"}
executor:
  spec:
    inputs:
      n: {type: integer}
      day: {type: string, format: date}
      at: {type: string, format: date-time, description: When.}
      twice: {type: integer}
      greeting: {type: string}
      size: {enum: [small, large]}
      who: {type: string, required: true}
workflow: [{step: start, tool: {kind: noop, result: "{{ workload }}"}}]
"""
SECOND = FIRST.replace("      size: {enum: [small, large]}\n", "").replace("n: 3,", "n: 4,")
LOOSE = "workload: {n: 1}\nworkflow: [{step: start, tool: {kind: noop}}]\n"


def payload_of(server: Listener, name: str) -> dict[str, Any]:
    first = server.api.get(f"/executions/{name}/events?limit=1").json()["events"][0]
    return dict(first["payload"]["payload"])


def newest(server: Listener) -> str:
    return str(server.api.get("/executions").json()["executions"][0]["execution_id"])


def value(page: "Page", label: str) -> str:
    return page.get_by_label(label, exact=True).input_value()


def test_a_form_has_the_defaults_also_where_something_must_be_brought(server: Listener, browser: "Browser") -> None:
    server.register(HEAD + FIRST)
    with page_of(browser, timezone_id="Europe/Athens") as page:
        page.goto(f"{server.url}/#/playbooks/t%2Ft")
        page.locator(".values dt", has_text="twice").wait_for()
        page.get_by_role("button", name="Start…").click()
        assert [value(page, name) for name in ("n", "day", "twice", "greeting")] == ["3", "2026-03-01", "6", ""]
        types = {name: page.get_by_label(name, exact=True).get_attribute("type") for name in ("day", "at", "who *")}
        assert types == {"day": "date", "at": "datetime-local", "who *": "text"}
        page.get_by_label("who *").fill("Ada")
        page.get_by_label("day", exact=True).fill("2026-04-05")
        page.get_by_label("at", exact=True).fill("2026-07-01T10:30")
        page.get_by_text("In the time zone of this browser, UTC+0").wait_for()
        page.get_by_role("button", name="Start", exact=True).click()
        page.locator(".head .badge.completed").wait_for()
    assert payload_of(server, newest(server)) == {
        "who": "Ada", "day": "2026-04-05", "at": "2026-07-01T10:30:00+03:00",
    }, "summer there"  # fmt: skip


def test_a_run_is_started_again_also_with_another_version(server: Listener, page: "Page") -> None:
    server.register(HEAD + FIRST)
    brought = {"who": "Ada", "size": "large", "n": 7, "at": "2026-07-01T10:30:00.5Z"}
    first = server.start("t/t", **brought)
    until(lambda: server.api.get(f"/executions/{first}/row").json()["ended"] is not None)
    server.register(HEAD + SECOND)
    page.goto(f"{server.url}/#/executions/{first}")
    page.get_by_role("button", name="Start again…").click()
    page.get_by_text("There is a newer one: version 2.").wait_for()
    options = page.get_by_label("Version").locator("option").all_inner_texts()
    assert options == ["version 1, which ran", "version 2, the newest"]
    assert (value(page, "n"), value(page, "who *"), value(page, "day")) == ("7", "Ada", "2026-03-01")
    page.get_by_role("button", name="Start", exact=True).click()
    page.wait_for_function("first => !location.hash.includes(first)", arg=first)
    again = newest(server)
    assert payload_of(server, again) == brought, "nothing was changed, to the last digit"
    page.get_by_role("button", name="Start again…").click()
    page.get_by_label("Version").select_option("version 2, the newest")
    page.get_by_text("Version 2 has no input size: left out here.").wait_for()
    page.get_by_label("n", exact=True).fill("9")
    page.get_by_role("button", name="Start", exact=True).click()
    page.wait_for_function("first => !location.hash.includes(first)", arg=again)
    page.locator(".head .badge.completed").wait_for()
    third = newest(server)
    assert payload_of(server, third) == {"who": "Ada", "n": 9, "at": "2026-07-01T10:30:00.5Z"}
    versions = server.api.get("/playbooks?path=t/t").json()["playbooks"]
    assert server.api.get(f"/executions/{third}/row").json()["plan_digest"] == versions[0]["playbook_id"]


def test_values_that_no_workload_has_are_told_and_kept(server: Listener, page: "Page") -> None:
    server.register(HEAD + LOOSE)
    first = server.start("t/t", n=2, more=[1])
    until(lambda: server.api.get(f"/executions/{first}/row").json()["ended"] is not None)
    page.goto(f"{server.url}/#/executions/{first}")
    page.get_by_role("button", name="Start again…").click()
    page.get_by_text("Version 1 has no more in its workload").wait_for()
    others = page.get_by_label("Other values (JSON)")
    assert "more" in others.input_value()
    others.fill("[1]")
    page.get_by_role("button", name="Start", exact=True).click()
    page.get_by_role("alert").get_by_text("Other values are a mapping").wait_for()
    others.fill('{"other": 5}')
    page.get_by_role("button", name="Start", exact=True).click()
    page.locator("#said", has_text="other").wait_for()  # the warning of the server
    assert payload_of(server, newest(server)) == {"n": 2, "other": 5}
