"""A receiver of notifications, and what tests of them do alike."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, NamedTuple

from harness.running import HEAD
from harness.serving import Served, until
from noetl.app.outbox_delivery import OutboxDelivery
from noetl.app.telling import deliveries_of
from noetl.ports.outbox import Outbox, Telling

SECRET = "hidden-12345678"
FAILS = f"{HEAD}workflow:\n  - {{step: start, tool: {{kind: python, code: 'raise ValueError(\"no <b>\")'}}}}\n"


class Hook(NamedTuple):
    """A receiver of webhooks: the requests that came; `refusals` is how many are refused, by the status `refused`, with
    `headers`.
    """

    url: str
    bodies: list[dict[str, Any]]
    requests: list[tuple[dict[str, str], bytes]]
    refusals: list[int]
    refused: list[int]
    headers: dict[str, str]


@contextmanager
def hooked() -> Iterator[Hook]:
    bodies: list[dict[str, Any]] = []
    requests: list[tuple[dict[str, str], bytes]] = []
    refusals, refused, headers = [0], [503], dict[str, str]()

    class HookHandler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            status = refused[0] if refusals[0] else 204
            refusals[0] -= bool(refusals[0])
            if status == 204:
                bodies.append(json.loads(body))
                requests.append(({name.lower(): value for name, value in self.headers.items()}, body))
            self.send_response(status)
            for name, value in headers.items() if status != 204 else ():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *arguments: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), HookHandler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield Hook(f"http://127.0.0.1:{server.server_port}/{SECRET}", bodies, requests, refusals, refused, headers)
    finally:
        server.shutdown()
        server.server_close()


def document(to: dict[str, Any], **spec: Any) -> dict[str, Any]:
    whole = {"on": ["failed", "recovered"], "to": to, **spec}
    return {"apiVersion": "noetl.io/v2", "kind": "Notification", "metadata": {"name": "oncall"}, "spec": whole}


def put(up: Served, to: dict[str, Any], **spec: Any) -> None:
    response = up.client.put("/notifications/oncall", json=document(to, **spec))
    assert response.status_code == 200, response.text


def outbox_of(up: Served) -> Outbox:
    store = up.runtime.store
    assert isinstance(store, Telling)
    return store.outbox


def delivery(up: Served) -> OutboxDelivery:
    (found,) = deliveries_of(up.runtime, up.said.append)
    return found


def run(up: Served, source: str) -> str:
    assert up.client.post("/playbooks", content=source).status_code == 201
    one = up.start()
    until(lambda: up.status(one) in ("completed", "failed"))
    return one


def told(up: Served, tells: OutboxDelivery) -> None:
    while tells.look():
        pass
