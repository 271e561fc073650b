"""Traces of executions: told to a collector, whatever crashes, with the ids that HTTP calls carry, and no value."""

import json
import os
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from harness.collectors import Collector, attributes_of, collecting
from harness.running import HEAD
from harness.serving import Served, served, until
from noetl.app.clock import WallClock
from noetl.app.outbox_delivery import OutboxDelivery
from noetl.app.telling import deliveries_of
from noetl.app.tracing.exporting import NotExported, SpanExporter
from noetl.app.tracing.spans import INTERNAL, SpanRow
from noetl.host.trace_sampling import BadTracing, Tracing, tracing_of
from noetl.ports.outbox import Telling, WantedOutbox
from noetl_ir.trace_ids import TraceContext, context_of, trace_id_of
from services import waited_for

SECRET = "hidden-12345678"
CHILD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: c, path: t/c}\n"
CHILD += "workflow:\n  - {step: only, tool: {kind: python, code: 'result = 1'}}\n"
MANY = f"""{HEAD}
workload: {{password: {SECRET}}}
workflow:
  - step: start
    tool:
      name: shaky
      kind: python
      args: {{password: "{{{{ workload.password }}}}", number: "{{{{ _attempt }}}}"}}
      code: |
        if number < 2:
            raise ValueError(password)
        result = password
      spec:
        policy:
          rules:
            - when: "{{{{ outcome.status == 'error' }}}}"
              then: {{do: retry, attempts: 3, delay: 0.01}}
    next: {{arcs: [{{step: each}}]}}
  - step: each
    loop: {{in: [1, 2], iterator: one}}
    tool: {{name: item, kind: python, code: "result = 1"}}
    next: {{arcs: [{{step: called}}]}}
  - step: called
    tool: {{name: call, kind: playbook, path: t/c}}
"""


def test_a_collector_that_drips_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each byte comes in time, and the response never ends."""
    ended, asked = Event(), list[int]()

    class DrippingHandler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(1)
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("Content-Length", "100000")
            self.end_headers()
            while not ended.wait(0.05):
                self.wfile.write(b" ")
                self.wfile.flush()

        def log_message(self, format: str, *arguments: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), DrippingHandler)
    Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{server.server_address[1]}")
    monkeypatch.setattr("noetl.app.tracing.exporting.LONGEST", 0.5)
    exporter = SpanExporter()
    span = SpanRow("s", "0" * 31 + "1", "0" * 15 + "1", "", INTERNAL, 1, 2, 0, {})
    try:
        with pytest.raises(NotExported, match=r"not ended its response after 0\.5 s"):
            exporter.export([span])
        with pytest.raises(NotExported, match="to the spans before"):
            exporter.export([span])
        waited_for(lambda: asked, "it is never asked")
        assert len(asked) == 1
    finally:
        ended.set()
        exporter.close()
        server.shutdown()
        server.server_close()


@pytest.fixture
def delivered(monkeypatch: pytest.MonkeyPatch) -> Callable[[Served, Collector], OutboxDelivery]:
    """Has the traces of a server told to a collector, when it is looked at."""

    def delivered(up: Served, collector: Collector) -> OutboxDelivery:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-team=etl")
        up.runtime.settings = up.runtime.settings._replace(tracing=tracing_of(os.environ))
        delivery, _ = deliveries_of(up.runtime, up.said.append)
        return delivery

    return delivered


def run(up: Served, source: str, **headers: str) -> str:
    assert up.client.post("/playbooks", content=source).status_code == 201
    response = up.client.post("/executions", json={"path": "t/t"}, headers=headers)
    execution = str(response.json()["execution_id"])
    until(lambda: up.status(execution) in ("completed", "failed"))
    return execution


def test_a_span_for_each_step_task_and_attempt(
    tmp_path: Path, delivered: Callable[[Served, Collector], OutboxDelivery]
) -> None:
    with collecting() as collector, served(tmp_path) as up:
        delivery = delivered(up, collector)
        assert up.client.post("/playbooks", content=CHILD).status_code == 201
        execution = run(up, MANY)
        while delivery.look():
            pass
        mine = [span for span in collector.spans if span.trace_id.hex() == trace_id_of(execution)]
        by_id = {span.span_id: span for span in collector.spans}
        assert len(by_id) == len(collector.spans), "no span is told twice"
        (root,) = [span for span in mine if not span.parent_span_id]
        assert (root.name, root.status.code) == ("t/t", Status.STATUS_CODE_OK)
        tree = sorted((by_id[span.parent_span_id].name, span.name) for span in mine if span.parent_span_id)
        assert tree == sorted(
            [
                ("t/t", "start"), ("start", "shaky"), ("shaky", "shaky #1"), ("shaky", "shaky #2"),
                ("t/t", "each"), ("each", "item"), ("each", "item"), ("item", "item #1"), ("item", "item #1"),
                ("t/t", "called"), ("called", "call"), ("call", "call #1"),
            ]
        )  # fmt: skip
        failed = collector.named("shaky #1")
        assert failed.status.code == Status.STATUS_CODE_ERROR
        assert attributes_of(failed)["error.type"] == "python.exception"
        assert {attributes_of(span).get("noetl.iteration") for span in mine if span.name == "item"} == {"0", "1"}
        for span in mine:
            above = by_id.get(span.parent_span_id, root)
            assert above.start_time_unix_nano <= span.start_time_unix_nano <= span.end_time_unix_nano
            assert span.end_time_unix_nano <= above.end_time_unix_nano
        log = up.client.get(f"/executions/{execution}/events").json()["events"]
        assert root.start_time_unix_nano // 1000 == micros(log[0]["ts"])
        child = collector.named("t/c")
        (link,) = collector.named("call #1").links
        assert (link.trace_id, link.span_id) == (child.trace_id, child.span_id)
        (back,) = child.links
        assert (back.trace_id, back.span_id) == (root.trace_id, collector.named("call").span_id)
        assert set(collector.services) == {"noetl"} and collector.headers[0]["x-team"] == "etl"
        assert not any(SECRET.encode() in span.SerializeToString() for span in collector.spans)
        assert up.runtime.store.outbox.outbox_rows(WantedOutbox()) == ()  # type: ignore[attr-defined]


def micros(text: str) -> int:
    from datetime import UTC, datetime, timedelta

    return (datetime.fromisoformat(text) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def test_what_a_start_came_with_is_above(
    tmp_path: Path, delivered: Callable[[Served, Collector], OutboxDelivery]
) -> None:
    above = TraceContext("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7")
    with collecting() as collector, served(tmp_path) as up:
        delivery = delivered(up, collector)
        run(up, CHILD.replace("t/c", "t/t"), traceparent=above.header)
        run(up, CHILD.replace("t/c", "t/t"), traceparent="00-nonsense-00")
        run(up, CHILD.replace("t/c", "t/t"), traceparent=above._replace(flags=0).header)
        while delivery.look():
            pass
        first, second = [span for span in collector.spans if span.name == "t/t"]
        assert (first.trace_id.hex(), first.parent_span_id.hex()) == above[:2]
        assert second.trace_id.hex() != above.trace_id and not second.parent_span_id


def test_a_collector_that_is_away_is_told_later(
    tmp_path: Path, delivered: Callable[[Served, Collector], OutboxDelivery]
) -> None:
    with collecting() as collector, served(tmp_path) as up:
        delivery = delivered(up, collector)
        collector.refusals[0] = 1
        run(up, CHILD.replace("t/c", "t/t"))
        assert delivery.look()
        store = up.runtime.store
        assert isinstance(store, Telling)
        (row,) = store.outbox.outbox_rows(WantedOutbox())
        assert row.tries == 1 and "did not take" in row.trouble and collector.spans == []
        store.outbox.put_off_outbox(row.number, 0, "")
        assert delivery.look()
        assert len(collector.unique()) == 4


def test_a_server_that_died_before_it_told_loses_no_span(
    tmp_path: Path, delivered: Callable[[Served, Collector], OutboxDelivery]
) -> None:
    with collecting() as collector:
        with served(tmp_path) as up:
            delivered(up, collector)
            execution = run(up, CHILD.replace("t/c", "t/t"))
        assert collector.spans == []
        for _ in range(2):  # the second one begins where the first one was killed behind the collector's answer
            with served(tmp_path) as up:
                delivery = delivered(up, collector)
                store = up.runtime.store
                assert isinstance(store, Telling)
                (row,) = store.outbox.outbox_rows(WantedOutbox())
                delivery._tellers["trace"](row)
        assert len(collector.spans) == 8 and len(collector.unique()) == 4
        assert {span.trace_id.hex() for span in collector.spans} == {trace_id_of(execution)}


class Heard(BaseHTTPRequestHandler):
    headers_heard: list[dict[str, str]] = []  # noqa: RUF012

    def do_GET(self) -> None:
        self.headers_heard.append({name.lower(): value for name, value in self.headers.items()})
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing."""


def test_a_call_carries_the_span_of_its_attempt(
    tmp_path: Path, delivered: Callable[[Served, Collector], OutboxDelivery], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Heard)
    Thread(target=server.serve_forever, daemon=True).start()
    Heard.headers_heard.clear()
    url = f"http://127.0.0.1:{server.server_port}/"
    own = "00-11111111111111111111111111111111-2222222222222222-01"
    calls = (
        f"{HEAD}workflow:\n"
        f"  - {{step: start, tool: {{name: get, kind: http, url: '{url}'}}, next: {{arcs: [{{step: own}}]}}}}\n"
        f"  - {{step: own, tool: {{name: set, kind: http, url: '{url}', headers: {{Traceparent: {own}}}}}}}\n"
    )
    with collecting() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        with served(tmp_path, tracing=tracing_of(os.environ)) as up:
            delivery = delivered(up, collector)
            execution = run(up, calls)
            while delivery.look():
                pass
        server.shutdown()
        server.server_close()
        first, second = Heard.headers_heard
        attempt = collector.named("get #1")
        assert attempt.kind == Span.SPAN_KIND_CLIENT
        assert first["traceparent"] == f"00-{trace_id_of(execution)}-{attempt.span_id.hex()}-01"
        assert second["traceparent"] == own
    Heard.headers_heard.clear()


def test_what_variables_say() -> None:
    at = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}
    assert tracing_of({}) is None
    assert tracing_of(at) == Tracing(1.0, follows=True)
    assert tracing_of({**at, "OTEL_SDK_DISABLED": "true"}) is None
    assert tracing_of({**at, "OTEL_TRACES_EXPORTER": "none"}) is None
    ratio = {**at, "OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.25"}
    assert tracing_of(ratio) == Tracing(0.25, follows=False)
    for wrong in (
        {"OTEL_TRACES_SAMPLER": "sometimes"},
        {**ratio, "OTEL_TRACES_SAMPLER_ARG": "2"},
        {"OTEL_TRACES_EXPORTER": "zipkin"},
    ):
        with pytest.raises(BadTracing):
            tracing_of({**at, **wrong})


def test_a_share_of_families_is_kept() -> None:
    kept = [number for number in range(2_000) if Tracing(0.25).is_kept(str(number), None)]
    assert 400 < len(kept) < 600
    assert not any(Tracing(0.0).is_kept(str(number), None) for number in range(100))
    received = TraceContext("1" * 32, "2" * 16, 0)
    assert not Tracing(1.0).is_kept("7", received) and Tracing(1.0, follows=False).is_kept("7", received)


@pytest.mark.parametrize(
    ("header", "is_one"),
    [
        ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", True),
        ("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-comes", True),
        ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x", False),
        ("ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", False),
        ("00-00000000000000000000000000000000-00f067aa0ba902b7-01", False),
        ("00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", False),
        ("00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01", False),
        ("", False),
    ],
)
def test_contexts_are_read_as_w3c_says(header: str, is_one: bool) -> None:
    assert (context_of(header) is not None) is is_one


def test_what_nobody_tells_any_more_does_not_grow(
    tmp_path: Path, delivered: Callable[[Served, Collector], OutboxDelivery]
) -> None:
    with collecting() as collector, served(tmp_path) as up:
        delivered(up, collector)
        run(up, CHILD.replace("t/c", "t/t"))
        up.runtime.settings = up.runtime.settings._replace(tracing=None)
        deliveries_of(up.runtime, up.said.append)
        store = up.runtime.store
        assert isinstance(store, Telling)
        assert store.outbox.watched_ends() == () == store.outbox.outbox_rows(WantedOutbox())


def test_json_is_that_of_protobuf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from google.protobuf.json_format import Parse
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    from noetl.app.tracing.otlp_json import trace_document
    from noetl.app.tracing.reading import spans_of

    with served(tmp_path) as up:
        execution = run(up, CHILD.replace("t/c", "t/t"))
        row = up.runtime.store.execution(execution)
        assert row is not None
        text = json.dumps(trace_document(spans_of(up.runtime, row), "mine"))
    found = Parse(text, ExportTraceServiceRequest())
    (resource,) = found.resource_spans
    assert [span.name for span in resource.scope_spans[0].spans] == ["only_task #1", "only_task", "only", "t/t"]
    assert WallClock().now() * 1000 > resource.scope_spans[0].spans[-1].end_time_unix_nano > 1.7e18
