"""Fixtures of the contract suites: the stores there are."""

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from harness.adapters import adapters_with, opening
from noetl.ports import ExecutionRow, Store

ROW = ExecutionRow("e1", "demo/one", "d" * 64, "running", None, 1_000, None)
Open = Callable[..., Store]


@pytest.fixture(params=adapters_with("open_store"))
def adapter(request: pytest.FixtureRequest) -> ModuleType:
    """The module of one adapter."""
    return import_module(f"noetl.store.{request.param}")


@pytest.fixture
def open_store(adapter: ModuleType, tmp_path: Path) -> Iterator[Open]:
    """Opens the store, again and again; stores in memory are the same one every time but with a hook."""
    name = adapter.__name__.rpartition(".")[2]
    with opening(name, "open_store", {"sqlite": f"sqlite:///{tmp_path}/x.db"}) as opener:
        yield opener


@pytest.fixture
def store(open_store: Open) -> Store:
    """A store with execution e1 in it."""
    store = open_store()
    store.create(ROW)
    return store
