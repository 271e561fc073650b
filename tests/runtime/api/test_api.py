"""The API of a server, over a real store and a service that drives it."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterable
from pathlib import Path
from threading import Event

import pytest
from starlette.responses import StreamingResponse

from harness.running import HEAD, compiled
from harness.serving import Served, served, until
from noetl.api.lasting import Lasting
from noetl.api.service import ApiService
from noetl.api.streams import Streams
from noetl.app.programs import WORTH
from noetl.app.verifier import verifier
from noetl.ports import Busy, StoreFailure

GREET = """
workload: {who: nobody}
workflow:
  - {step: start, tool: {kind: noop, result: {hello: "{{ workload.who }}"}}, next: {arcs: [{step: note}]}}
  - step: note
    tool:
      name: n
      kind: noop
      spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {seen: "{{ workload.who }}"}}}}]}}
"""
NOOP = "workflow: [{step: start, tool: {kind: noop}}]\n"
WAITS = """
workflow:
  - {step: start, tool: {name: w, kind: wait, events: [go]}, next: {arcs: [{step: last}]}}
  - {step: last, tool: {kind: noop, result: done}}
"""


@pytest.fixture
def server(tmp_path: Path):  # type: ignore[no-untyped-def]
    with served(tmp_path) as up:
        yield up


def register(server: Served, body: str) -> dict[str, object]:
    response = server.client.post("/playbooks?name=t.yaml", content=(HEAD + body).encode())
    assert response.status_code == 201, response.text
    return dict(response.json())


def test_nothing_is_started_without_an_input_that_must_be_brought(server: Served) -> None:
    register(server, 'workload: {order: "{{ order }}"}\n' + NOOP)
    response = server.client.post("/executions", json={"path": "t/t"})
    assert response.status_code == 409
    told = "nothing was started; t.yaml:4:19: `workload.order`: the input `order` must be brought"
    assert told in response.json()["detail"]
    assert server.client.get("/executions").json()["executions"] == []
    execution_id = server.start(path="t/t", payload={"order": 7})
    until(lambda: server.status(execution_id) == "completed")


def test_a_playbook_is_registered_started_and_looked_at(server: Served) -> None:
    row = register(server, GREET)
    assert (row["path"], row["version"]) == ("t/t", 1)
    execution_id = server.start(path="t/t", payload={"who": "me"})
    until(lambda: server.status(execution_id) == "completed")
    get = server.client.get
    document = get(f"/executions/{execution_id}").json()
    assert (document["status"], document["now"], document["counts"]["tasks"]) == ("completed", [], 2)
    assert get(f"/executions/{execution_id}/ctx").json() == {"seen": "me"}
    assert get(f"/executions/{execution_id}/result?step=start").json() == {"result": {"hello": "me"}}
    assert get(f"/executions/{execution_id}/replay").json()["legal"] is True
    events = get(f"/executions/{execution_id}/events").json()["events"]
    assert [event["event_type"] for event in events][-2:] == ["workflow.finished", "playbook.processed"]
    page = get(f"/executions/{execution_id}/events?after=2&limit=3").json()
    assert page["events"] == events[2:5]
    assert page["next"] == 5


def test_a_failure_names_the_file_that_was_sent(server: Served) -> None:
    register(server, "workflow: [{step: start, tool: {name: c, kind: playbook, path: none}}]\n")
    execution_id = server.start(path="t/t")
    until(lambda: server.status(execution_id) == "failed")
    error = server.client.get(f"/executions/{execution_id}").json()["error"]
    assert (error["at"]["file"], error["at"]["line"]) == ("t.yaml", 4)


def test_versions_are_kept_and_pinned(server: Served) -> None:
    first = register(server, GREET)
    assert register(server, GREET) == first
    second = register(server, GREET.replace("hello:", "bye:"))
    assert (second["path"], second["version"]) == ("t/t", 2)
    old = server.start(path="t/t", version=1)
    new = server.start(path="t/t")
    by_id = server.start(playbook_id=first["playbook_id"])
    for execution_id, key in [(old, "hello"), (new, "bye"), (by_id, "hello")]:
        until(lambda: server.status(execution_id) == "completed")  # noqa: B023
        response = server.client.get(f"/executions/{execution_id}/result?step=start")
        assert response.json() == {"result": {key: "nobody"}}
    listed = server.client.get("/playbooks").json()["playbooks"]
    assert listed == [second, first]
    newest = server.client.get("/playbooks?newest=true").json()["playbooks"]
    assert newest == [second]


def test_a_list_is_paged_newest_first(server: Served) -> None:
    register(server, GREET)
    started = [server.start(path="t/t") for _ in range(5)]
    until(lambda: server.client.get("/counts").json()["completed"] == 5)
    seen, before = [], ""
    while True:
        page = server.client.get(f"/executions?limit=2&before={before}").json()
        seen += [row["execution_id"] for row in page["executions"]]
        if (before := page["next"]) is None:
            break
    assert seen == started[::-1]
    assert server.client.get("/executions?status=failed").json() == {"executions": [], "next": None}


def test_a_signal_reaches_a_wait(server: Served) -> None:
    register(server, WAITS)
    execution_id = server.start(path="t/t")
    one = f"/executions/{execution_id}"
    until(lambda: any(row["what"] == "wait" for row in server.client.get(one).json()["now"]))
    (row,) = [row for row in server.client.get(one).json()["now"] if row["what"] == "wait"]
    assert row["signals"] == ["go"]
    assert server.client.post(f"{one}/signal", json={"name": "go", "data": 1}).status_code == 202
    until(lambda: server.status(execution_id) == "completed")
    again = server.client.post(f"{one}/signal", json={"name": "go"})
    assert (again.status_code, "is over" in again.json()["detail"]) == (409, True)


def test_pause_resume_and_cancel(server: Served) -> None:
    register(server, WAITS)
    execution_id = server.start(path="t/t")
    for verb, then in [("pause", "paused"), ("resume", "running"), ("cancel", "cancelled")]:
        assert server.client.post(f"/executions/{execution_id}/{verb}").status_code == 202
        until(lambda: server.status(execution_id) == then)  # noqa: B023


def test_a_signal_to_what_ends_meanwhile_is_refused(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """The row was read before the end, and the signal is stored behind it."""
    register(server, WAITS)
    execution_id = server.start(path="t/t")
    server.client.post(f"/executions/{execution_id}/cancel")
    until(lambda: server.status(execution_id) == "cancelled")
    row = ApiService.execution_row
    monkeypatch.setattr(ApiService, "execution_row", lambda self, name: row(self, name)._replace(ended=None))
    refused = server.client.post(f"/executions/{execution_id}/signal", json={"name": "go"})
    assert (refused.status_code, "is over" in refused.json()["detail"]) == (409, True)


def test_events_are_followed_to_the_end_and_from_where_one_was(server: Served) -> None:
    register(server, WAITS)
    execution_id = server.start(path="t/t")
    server.client.post(f"/executions/{execution_id}/signal", json={"name": "go"})
    stream = {"accept": "text/event-stream"}
    text = server.client.get(f"/executions/{execution_id}/events", headers=stream).text
    blocks = [dict(line.split(": ", 1) for line in block.split("\n")) for block in text.strip().split("\n\n")]
    assert [block["event"] for block in blocks][-1] == "end"
    events = server.client.get(f"/executions/{execution_id}/events").json()["events"]
    assert [json.loads(block["data"]) for block in blocks[:-1]] == events
    assert [block["id"] for block in blocks[:-1]] == [str(at) for at in range(1, len(events) + 1)]
    rest = server.client.get(f"/executions/{execution_id}/events", headers={**stream, "last-event-id": "3"}).text
    assert rest.startswith("id: 4\n")


def test_events_are_followed_only_as_long_as_who_asked_may(server: Served) -> None:
    """A token that is forgotten ends what it began: the authorization is asked at each look."""
    register(server, WAITS)
    execution_id = server.start(path="t/t")
    asked: list[bool] = []

    def may_go_on() -> bool:
        asked.append(len(asked) < 2)
        return asked[-1]

    service = server.client.app.state.service  # type: ignore[attr-defined]
    response = Streams(service).followed(execution_id, 0, may_go_on)

    async def read() -> list[str]:
        return [str(part) async for part in response.body_iterator]

    parts = asyncio.run(read())
    assert asked == [True, True, False]
    assert parts and not any("event: end" in part for part in parts)


def test_a_position_that_is_not_there_is_refused_before_anything_is_sent(server: Served) -> None:
    register(server, WAITS)
    execution_id = server.start(path="t/t")
    stream = {"accept": "text/event-stream"}
    for name, status_code in ((execution_id, 409), ("none", 404)):
        response = server.client.get(f"/executions/{name}/events?after=999", headers=stream)
        assert (response.status_code, response.headers["content-type"]) == (status_code, "application/problem+json")


def test_a_store_that_fails_ends_what_is_followed(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    register(server, WAITS)
    execution_id = server.start(path="t/t")
    service = server.client.app.state.service  # type: ignore[attr-defined]

    def failing(_: str) -> bool:
        raise StoreFailure("away")

    async def read() -> list[str]:
        lines = Streams(service).followed(execution_id, 0, lambda: True).body_iterator
        first = str(await anext(aiter(lines)))
        monkeypatch.setattr(service, "is_over", failing)
        return [first, *[str(line) async for line in lines]]

    parts = asyncio.run(read())
    assert parts[0].startswith("id: 1\n")
    assert not any("event: end" in part for part in parts)


def test_only_so_many_follow_at_once(server: Served) -> None:
    register(server, WAITS)
    execution_id = server.start(path="t/t")
    streams = Streams(server.client.app.state.service, most=2)  # type: ignore[attr-defined]

    async def follow() -> None:
        def followed() -> StreamingResponse:
            return streams.followed(execution_id, 0, lambda: True)

        open_ones = [followed().body_iterator, followed().body_iterator]
        for lines in open_ones:
            assert isinstance(lines, AsyncGenerator)
            assert str(await anext(lines)).startswith("id: 1\n")
        with pytest.raises(Busy, match="2 executions are followed"):
            followed()
        for lines in open_ones:
            assert isinstance(lines, AsyncGenerator)
            await lines.aclose()
        followed()

    asyncio.run(follow())


def test_one_client_follows_only_so_many(server: Served) -> None:
    register(server, WAITS)
    execution_id = server.start(path="t/t")
    streams = Streams(server.client.app.state.service, of_one=1)  # type: ignore[attr-defined]

    async def follow() -> None:
        lines = streams.followed(execution_id, 0, lambda: True, "10.0.0.1").body_iterator
        assert isinstance(lines, AsyncGenerator)
        await anext(lines)
        with pytest.raises(Busy, match="1 executions are followed from there"):
            streams.followed(execution_id, 0, lambda: True, "10.0.0.1")
        streams.followed(execution_id, 0, lambda: True, "10.0.0.2")
        await lines.aclose()
        streams.followed(execution_id, 0, lambda: True, "10.0.0.1")

    asyncio.run(follow())


def test_a_stream_of_events_without_end_ends_when_its_token_does(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is always more, as of a cycle that never waits: still each page asks whether the next may be sent."""
    register(server, WAITS)
    execution_id = server.start(path="t/t")
    service = server.client.app.state.service  # type: ignore[attr-defined]
    monkeypatch.setattr(service, "events", lambda *_: [{"event_type": "more"}])

    async def read() -> int:
        asked = iter([True] * 5)
        found = Streams(service).followed(execution_id, 0, lambda: next(asked, False)).body_iterator
        return len([line async for line in islice_of(found)])

    async def islice_of(lines: AsyncIterable[object]) -> AsyncGenerator[object]:
        count = 0
        async for line in lines:
            yield line
            if (count := count + 1) > 100:
                return

    assert asyncio.run(read()) == 5


def test_what_lasts_leaves_threads_for_others() -> None:
    lasting, gate, ran = Lasting(at_once=2, waiting=1), Event(), list[int]()

    def work(number: int) -> int:
        ran.append(number)
        assert gate.wait(60)
        return number

    async def ask() -> list[int]:
        asked = [asyncio.create_task(lasting.run(work, number)) for number in range(3)]
        while len(ran) < 2:
            await asyncio.sleep(0.01)
        with pytest.raises(Busy, match="3 playbooks and logs"):
            await lasting.run(work, 9)
        assert sorted(ran) == [0, 1]
        gate.set()
        done = await asyncio.gather(*asked)
        return [*done, await lasting.run(work, 3)]

    assert asyncio.run(ask()) == [0, 1, 2, 3]


def test_a_stream_that_is_old_ends_and_the_next_one_goes_on(server: Served) -> None:
    register(server, WAITS)
    execution_id = server.start(path="t/t")
    service = server.client.app.state.service  # type: ignore[attr-defined]

    async def read(after: int, longest: float) -> list[str]:
        streams = Streams(service, longest=longest)
        return [str(line) async for line in streams.followed(execution_id, after, lambda: True).body_iterator]

    first = asyncio.run(read(0, 0.2))
    events = len(first) - 1
    assert first[-1] == f"id: {events}\nevent: again\ndata: {{}}\n\n"
    server.client.post(f"/executions/{execution_id}/signal", json={"name": "go"})
    until(lambda: server.status(execution_id) == "completed")
    rest = asyncio.run(read(events, 3_600))
    assert rest[0].startswith(f"id: {events + 1}\n") and "event: end" in rest[-1]


def test_what_is_wrong_is_a_problem_document(server: Served) -> None:
    register(server, GREET)
    post, get = server.client.post, server.client.get
    wrong = [
        (get("/executions/none"), 404, "there is no execution `none`"),
        (get("/nothing"), 404, "Not Found"),
        (server.client.delete("/executions"), 405, "Method Not Allowed"),
        (get("/executions?limit=0"), 400, "`limit`"),
        (get("/executions?status=odd"), 400, "`status`"),
        (post("/executions", content=b"{"), 415, "JSON"),
        (post("/executions", content=b"{", headers={"content-type": "application/json"}), 400, "no JSON"),
        (post("/executions", content=b"[" * 100_000, headers={"content-type": "application/json"}), 400, "no JSON"),
        (post("/executions", content=b'{"path":NaN}', headers={"content-type": "application/json"}), 400, "NaN"),
        (post("/executions", json={}), 400, "either `playbook_id` or `path`"),
        (post("/executions", json={"path": "t/t", "payload": 1}), 400, "`payload`"),
        (post("/executions", json={"path": "t/t", "more": 1}), 400, "`more`"),
        (post("/executions", json={"path": "t/t", "version": 1 << 40}), 400, "`version`"),
        (get(f"/playbooks/t/t?version={1 << 40}"), 400, "`version`"),
        (post("/executions", json={"path": "t/x"}), 404, "did you mean `t/t`?"),
        (post("/executions", json={"path": "t/t", "version": 2}), 404, "the newest is 1"),
        (post("/playbooks?name=b.yaml", content=b"a: ["), 422, "error[NL"),
        (post("/playbooks", content=b"NOETLPLN junk"), 422, "not a plan"),
        (get("/plans/nope"), 404, "nope"),
        (post("/blobs", json={"reference": {"key": "../../etc/passwd"}}), 404, "blob"),
    ]
    for response, code, words in wrong:
        assert response.status_code == code, response.text
        assert response.headers["content-type"] == "application/problem+json"
        assert words in response.json()["detail"], response.text
    assert server.said == []


def test_a_body_is_read_only_as_far_as_it_may_be_long(server: Served) -> None:
    big = b'{"path": "' + b"x" * (1 << 20) + b'"}'
    assert (
        server.client.post("/executions", content=big, headers={"content-type": "application/json"}).status_code == 413
    )


def test_metrics_count_and_the_health_is_told(server: Served) -> None:
    register(server, GREET)
    execution_id = server.start(path="t/t")
    until(lambda: server.status(execution_id) == "completed")
    lines = server.client.get("/metrics").text.splitlines()
    assert 'noetl_executions{status="completed"} 1.0' in lines
    assert server.client.get("/healthz").json() == {"status": "ok"}
    assert server.client.get("/readyz").status_code == 200


def test_a_plan_is_given_back_byte_for_byte(server: Served) -> None:
    plan = compiled(GREET)
    response = server.client.post("/playbooks", content=plan)
    digest = response.json()["playbook_id"]
    assert server.client.get(f"/plans/{digest}").content == plan
    assert "x-verified" not in server.client.get(f"/plans/{digest}").headers, "small ones are verified by all"
    at = server.client.get("/playbooks/t/t")
    assert (at.content, at.headers["x-digest"]) == (plan, digest)
    large = compiled("workflow:\n- {step: start, tool: {kind: noop, result: " + "x" * WORTH + "}}\n")
    digest_of_large = server.client.post("/playbooks", content=large).json()["playbook_id"]
    assert server.client.get(f"/plans/{digest_of_large}").headers["x-verified"] == verifier()
