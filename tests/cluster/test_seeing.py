"""A cluster that is looked at: traces, messages, figures and the audit, while a server dies."""

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from harness.clusters import Cluster, killed
from harness.collectors import collecting
from services import waited_for

ONCALL = """
apiVersion: noetl.io/v2
kind: Notification
metadata: {name: oncall}
spec: {on: [failed], to: {webhook: {url: "URL"}}}
"""
CALLS = """
workflow:
- {step: start, tool: {name: get, kind: http, url: "URL"}, next: {arcs: [{step: last}]}}
- {step: last, tool: {name: bad, kind: fail, code: mine.bad, message: "no"}}
"""


@contextmanager
def heard() -> Iterator[tuple[str, list[tuple[str, dict[str, str], bytes]]]]:
    """An HTTP server, and what it was asked."""
    found: list[tuple[str, dict[str, str], bytes]] = []

    class SeenHandler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            found.append((self.command, {name.lower(): value for name, value in self.headers.items()}, body))
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        do_POST = do_GET

        def log_message(self, format: str, *arguments: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), SeenHandler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", found
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.long
def test_what_a_server_that_dies_had_to_tell_is_told_by_another(cluster: Cluster) -> None:
    local = ("--allow-address", "127.0.0.0/8")
    with collecting() as collector, heard() as (url, requests):
        cluster.environment["OTEL_EXPORTER_OTLP_ENDPOINT"] = collector.url
        collector.refusals[0] = 1_000
        first, second = cluster.server(*local), cluster.server(*local)
        worker = cluster.begun("worker", "--bus", cluster.bus, "--metrics", "127.0.0.1:0", *local)
        try:
            assert worker.stderr is not None
            metrics = worker.stderr.readline().split()[-1]
            assert worker.stderr.readline().startswith("working as ")
            (cluster.folder / "oncall.yaml").write_text(ONCALL.replace("URL", url))
            cluster.noetl("notifications", "put", "oncall.yaml", server=first)
            name = cluster.begin(CALLS.replace("URL", url), first)
            with cluster.looking() as runtime:
                waited_for(
                    lambda: (row := runtime.store.execution(name)) is not None and row.ended is not None, "no end"
                )
            killed(first)
            collector.refusals[0] = 0
            waited_for(lambda: len(collector.unique()) == 7, "not all spans are told", 150)
            waited_for(lambda: any(kind == "POST" for kind, *_ in requests), "nobody is told", 150)
            _check(collector.unique().values(), requests, name)
            figures = httpx.get(metrics).text
            assert 'noetl_worker_tools_total{kind="http",status="ok"} 1' in figures
            assert [*text_string_to_metric_families(figures)]
            api = httpx.get(f"{cluster.urls[second.pid]}/metrics").text
            assert [*text_string_to_metric_families(api)] and "noetl_commit_seconds_bucket" in api
            rows = json.loads(cluster.noetl("audit", "--json", server=second))
            assert [(row["deed"], row["subject"]) for row in rows][:1] == [("start", name)]
        finally:
            worker.send_signal(signal.SIGKILL)
            worker.communicate()


def _check(spans: object, requests: list[tuple[str, dict[str, str], bytes]], name: str) -> None:
    found = list(spans)  # type: ignore[call-overload]
    (attempt,) = [span for span in found if span.name == "get #1"]
    called = [headers["traceparent"] for kind, headers, _ in requests if kind == "GET"]
    assert called == [f"00-{attempt.trace_id.hex()}-{attempt.span_id.hex()}-01"]
    messages = {(headers["idempotency-key"], body) for kind, headers, body in requests if kind == "POST"}
    ((_, body),) = messages
    assert (json.loads(body)["event"], json.loads(body)["execution_id"]) == ("failed", name)
