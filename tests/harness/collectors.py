"""A collector of OpenTelemetry in this process: what exporters send it, as protobuf has it."""

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span


class Collector(NamedTuple):
    """The spans that came, with services and headers; `refusals` is how many requests are refused."""

    url: str
    spans: list[Span]
    services: list[str]
    headers: list[dict[str, str]]
    refusals: list[int]

    def named(self, name: str) -> Span:
        """The one span of a name."""
        (found,) = [span for span in self.spans if span.name == name]
        return found

    def unique(self) -> dict[bytes, Span]:
        """The spans by id, each once however often it came."""
        return {span.span_id: span for span in self.spans}


def attributes_of(span: Span) -> dict[str, object]:
    """The attributes of a span by name."""
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in span.attributes}


@contextmanager
def collecting() -> Iterator[Collector]:
    """A collector that listens, for as long as the block lasts."""
    spans: list[Span] = []
    services: list[str] = []
    headers: list[dict[str, str]] = []
    refusals = [0]

    class CollectorHandler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if refusals[0]:
                refusals[0] -= 1
                self.send_response(400)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            if self.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            headers.append({name.lower(): value for name, value in self.headers.items()} | {"path": self.path})
            for each in ExportTraceServiceRequest.FromString(body).resource_spans:
                services.extend(one.value.string_value for one in each.resource.attributes if one.key == "service.name")
                for scope in each.scope_spans:
                    spans.extend(scope.spans)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *arguments: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), CollectorHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield Collector(f"http://127.0.0.1:{server.server_port}", spans, services, headers, refusals)
    finally:
        server.shutdown()
        server.server_close()
