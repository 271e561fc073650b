"""Fixtures of the contract suites: the stores there are.

Adapters are found by existing: memory, sqlite and postgres always, another one when `NOETL_TEST_<NAME>_URL` is set.
"""

import os
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from noetl.ports import ExecutionRow, Hook, Store
from noetl_ir.registry import names
from services import postgres

READERS = {"http"}  # what only reads a server's store is held against that server, in tests/runtime/cli/test_server.py
ADAPTERS = [
    name
    for name in names("noetl.store")
    if name not in READERS and hasattr(import_module(f"noetl.store.{name}"), "open_store")
]
ROW = ExecutionRow("e1", "demo/one", "d" * 64, "running", None, 1_000, None)
Open = Callable[..., Store]


@pytest.fixture(params=ADAPTERS)
def adapter(request: pytest.FixtureRequest) -> ModuleType:
    """The module of one adapter."""
    return import_module(f"noetl.store.{request.param}")


@pytest.fixture
def open_store(adapter: ModuleType, tmp_path: Path) -> Iterator[Open]:
    """Opens the store, again and again; stores in memory are the same one every time but with a hook."""
    name = adapter.__name__.rpartition(".")[2]
    url = {"memory": "memory:", "sqlite": f"sqlite:///{tmp_path}/x.db"}.get(name)
    url = url or os.environ.get(f"NOETL_TEST_{name.upper()}_URL")
    if name == "postgres":
        url = postgres().store_url()
    if url is None:
        pytest.skip(f"NOETL_TEST_{name.upper()}_URL is not set")
    opened: list[Store] = []

    def opener(hook: Hook | None = None) -> Store:
        if name == "memory" and opened and hook is None:
            return opened[-1]
        opened.append(adapter.open_store(url, hook=hook))
        return opened[-1]

    yield opener
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: Open) -> Store:
    """A store with execution e1 in it."""
    store = open_store()
    store.create(ROW)
    return store
