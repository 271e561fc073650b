"""Two groups of servers, each a real server with a store of its own, and a gateway before them in this process."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch
from urllib.parse import urlsplit

from starlette.testclient import TestClient

from harness.browsing import Listener, listening
from noetl.api.bearer_tokens import BearerToken
from noetl.api.gateway.application import gateway_application
from noetl.api.gateway.groups import GroupMap, ServerGroup
from noetl.api.gateway.upstream import Upstream

HERE = "http://127.0.0.1"


class Gateway(NamedTuple):
    """A gateway: a client of it, its groups, the folders and servers behind them."""

    client: TestClient
    groups: GroupMap
    upstream: Upstream
    folders: dict[str, Path]
    servers: dict[str, Listener]
    stacks: dict[str, ExitStack]
    said: list[str]

    def look(self) -> None:
        """Have it look at all servers, as it does every other second."""
        assert self.client.portal is not None
        self.client.portal.call(self.upstream.look)

    def stop(self, name: str) -> None:
        """End the server of a group."""
        self.stacks[name].close()
        self.look()

    def begin(self, name: str) -> None:
        """Have the server of a group serve again, at the address that it had."""
        port = urlsplit(self.servers[name].url).port or 0
        self.servers[name] = self.stacks[name].enter_context(listening(self.folders[name], port=port))
        self.look()

    def register(self, *sources: str) -> None:
        """Register playbooks with all groups."""
        for source in sources:
            response = self.client.post("/playbooks?name=t.yaml", content=source.encode())
            assert response.status_code == 201, response.text

    def start(self, path: str, **headers: str) -> str:
        """Start a playbook; its execution."""
        response = self.client.post("/executions", json={"path": path}, headers=headers)
        assert response.status_code in (200, 201), response.text
        return str(response.json()["execution_id"])

    def at(self, name: str) -> list[dict[str, Any]]:
        """The executions that a group has, as its own server says."""
        return list(self.servers[name].api.get("/executions?limit=1000").json()["executions"])

    def path_of(self, name: str, rest: str = "one") -> str:
        """A path that a group draws."""
        return next(path for n in range(100) if self.groups.group_of(path := f"p{n}/{rest}").name == name)


@contextmanager
def grouped(
    folder: Path, *tokens: BearerToken, secret: str = "", starts: Sequence[str] = (), hidden: bool = False
) -> Iterator[Gateway]:
    """Groups `a` and `b`, and a gateway before them, until the block ends."""
    said, stacks, servers, folders = list[str](), dict[str, ExitStack](), dict[str, Listener](), dict[str, Path]()
    with ExitStack() as whole:
        for name in ("a", "b"):
            folders[name] = folder / name
            folders[name].mkdir()
            stacks[name] = whole.enter_context(ExitStack())
            servers[name] = stacks[name].enter_context(listening(folders[name], *tokens, secret=secret))
        groups = GroupMap([ServerGroup(name, (each.url,)) for name, each in servers.items()], starts)
        client, upstream = whole.enter_context(before(groups, said, hidden=hidden))
        if secret:
            client.headers["authorization"] = f"Bearer {secret}"
        yield Gateway(client, groups, upstream, folders, servers, stacks, said)


@contextmanager
def before(groups: GroupMap, said: list[str], *, hidden: bool = False) -> Iterator[tuple[TestClient, Upstream]]:
    """A gateway before groups of any servers, that has looked at them once, until the block ends; a client of it."""
    upstream = Upstream(groups.groups, said.append)
    app = gateway_application(groups, upstream, said.append, hosts_hidden=hidden)
    # On a machine with much to do a server may take long to say how it stands: it is gone where nobody listens.
    patient = patch("noetl.api.gateway.upstream.LOOK_WITHIN", 60.0)
    with patient, TestClient(app, base_url=HERE, raise_server_exceptions=False) as client:
        assert client.portal is not None
        client.portal.call(upstream.look)
        yield client, upstream
        client.portal.call(upstream.close)
