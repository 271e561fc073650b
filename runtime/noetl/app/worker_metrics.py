"""`/metrics` of a worker in a process of its own: what it runs, and how that ended, for Prometheus."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

from noetl.host.measures import WORKER, Measures, escaped_label, label_of
from noetl.ports import ToolCall
from noetl.worker.worker import Worker
from noetl_ir.outcome import Outcome

_TIMEOUT = 5.0
"""Seconds that one who asks has. They are answered one after the other, so that no number of them costs anything."""


class WorkerMeasures:
    """Times the tools of a worker, and says how it stands."""

    def __init__(self, pool: str, slots: int) -> None:
        self._measures = Measures(WORKER)
        self._pool = pool
        self._slots = slots
        self.worker: Worker | None = None

    def tool_ended(self, call: ToolCall, outcome: Outcome, seconds: float) -> None:
        """A call of a tool has its outcome."""
        self._measures.observe("noetl_worker_tool_seconds", seconds, call.kind)
        self._measures.count("noetl_worker_tools", call.kind, outcome.status)

    def text(self) -> str:
        """All figures in the text format of Prometheus."""
        worker, lines = self.worker, list[str]()
        gauges = (
            ("noetl_worker_slots", "Tasks that it runs at most.", self._slots),
            ("noetl_worker_busy_slots", "Pipelines that it has.", worker.busy if worker is not None else 0),
            ("noetl_worker_leaving", "1 while it takes no more.", int(worker is not None and worker.leaving)),
        )
        label = escaped_label(label_of(self._pool))
        for name, text, value in gauges:
            lines += [f"# HELP {name} {text}", f"# TYPE {name} gauge", f'{name}{{pool="{label}"}} {value}']
        return "\n".join(lines) + "\n" + self._measures.text()


@contextmanager
def metrics_served(host: str, port: int, text: Callable[[], str]) -> Iterator[int]:
    """Answer `GET /metrics` there for as long as the block lasts; the port, also where 0 took any. Raises OSError."""

    class MetricsHandler(BaseHTTPRequestHandler):
        timeout = _TIMEOUT

        def do_GET(self) -> None:
            is_known = self.path.partition("?")[0] == "/metrics"
            body = text().encode() if is_known else b"there is /metrics\n"
            self.send_response(200 if is_known else 404)
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:
            """Say nothing: who asks every 15 s would fill the log."""

    server = HTTPServer((host, port), MetricsHandler)
    thread = Thread(target=server.serve_forever, name="noetl-metrics", daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
