"""A server in this process: its service in a thread, its API behind a client that needs no socket."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from starlette.testclient import TestClient

from noetl.api.authorization import Authorization
from noetl.api.bearer_tokens import BearerToken
from noetl.api.compiling import compiled_source
from noetl.api.notifier import Notifier
from noetl.api.oidc_sign_in import OidcSignIn
from noetl.api.page_sessions import PageSessions
from noetl.api.pending_sign_in import PendingSignIns
from noetl.api.people import People
from noetl.api.routes import application
from noetl.api.service import ApiService
from noetl.app.composition import server_of
from noetl.app.runtime import Runtime, Settings, open_runtime
from noetl.app.sessions import sessions_beside
from noetl.clients.oidc_provider import OidcProvider
from noetl.host.trace_sampling import Tracing
from noetl.ports import Store
from noetl.server.service import Service
from noetl.server.workers.macs import Macs

SECOND = 1_000_000


class Trouble(list[str]):
    """Lines of a server without those of the level `debug`."""

    def append(self, line: str) -> None:
        """Hear a line; those of each execution that begins or ends are passed over."""
        if getattr(line, "level", "warning") != "debug":
            super().append(line)


class Served(NamedTuple):
    """A server that runs, and a client of its API. `said` has what it says of trouble."""

    client: TestClient
    runtime: Runtime
    service: Service
    said: list[str]

    def start(self, **body: object) -> str:
        """Start an execution, of the playbook `t/t` where nothing is said; its id."""
        response = self.client.post("/executions", json=body or {"path": "t/t"})
        assert response.status_code == 201, response.text
        return str(response.json()["execution_id"])

    def status(self, execution_id: str) -> str:
        """How an execution stands."""
        return str(self.client.get(f"/executions/{execution_id}/row").json()["status"])


@contextmanager
def served(
    folder: Path,
    *tokens: BearerToken,
    host: str = "http://localhost",
    store: str = "",
    tracing: Tracing | None = None,
    people: People | None = None,
    page: str = "",
) -> Iterator[Served]:
    """A server over a store, that in the folder where none is named, until the block ends: as if it were stopped.

    Where there are `people`, they sign in to the page, which is at `page` or at the host.
    """
    said = Trouble()
    url = store or f"sqlite:///{folder}/noetl.db"
    with open_runtime(url, Settings(root=folder, tracing=tracing), _no_catalogue) as runtime:
        notifier = Notifier()
        service = server_of(runtime, None, notifier.notify, said.append).service
        api_service = ApiService(runtime, service, notifier, lambda data, name: compiled_source(data, name, ()))
        key, oidc = runtime.store.claims_key, None
        if people is not None:
            provider = OidcProvider(people.party)
            oidc = OidcSignIn(provider, people, PendingSignIns(key), lambda: page or host, said.append)
        authorization = Authorization(lambda: tokens, PageSessions(key, people=people))
        sessions = sessions_beside(runtime.secrets_path)
        app = application(api_service, authorization, said.append, sessions, oidc=oidc)
        thread = threading.Thread(target=service.run)
        thread.start()
        try:
            with TestClient(app, base_url=host, raise_server_exceptions=False) as client:
                yield Served(client, runtime, service, said)
        finally:
            service.stop(0)
            thread.join(60)
            assert not thread.is_alive()


def signed(store: Store, chunk: dict[str, Any], step: int = 0) -> dict[str, Any]:
    """A piece of output as the worker hands it in that has the order: with the code of a step's run and iteration."""
    place = step, chunk["run"], tuple(chunk["path"]), chunk["claim"]
    return {**chunk, "mac": Macs(store.claims_key).of_output(chunk["execution_id"], *place)}


def until(holds: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait until something holds; fails when it never does."""
    waiting = threading.Event()
    for _ in range(int(seconds * 100)):
        if holds():
            return
        waiting.wait(0.01)
    raise AssertionError("it never came to that")


def _no_catalogue(path: Path) -> bytes:
    raise AssertionError(f"{path} is compiled")
