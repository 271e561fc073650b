"""The adapters of stores and of what lies beside them, found by existing: in memory, in files and in PostgreSQL always,
another one when `NOETL_TEST_<NAME>_URL` is set.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import pytest

from noetl.ports import Hook
from noetl_ir.registry import names
from services import postgres

READERS = {"http"}  # held against their server, in tests/runtime/cli/test_server.py and, for output, test_logs.py


def adapters_with(opener: str) -> list[str]:
    """The adapters that have a function of this name."""
    return [
        name
        for name in names("noetl.store")
        if name not in READERS and hasattr(import_module(f"noetl.store.{name}"), opener)
    ]


@contextmanager
def opening(name: str, opener: str, files: Mapping[str, str]) -> Iterator[Callable[..., Any]]:
    """A function that opens the same place of an adapter again and again; what is in memory is one, but with a hook.

    `files` are the URLs of adapters that keep files. Skips the test where an adapter has no URL.
    """
    url = {"memory": "memory:", **files}.get(name) or os.environ.get(f"NOETL_TEST_{name.upper()}_URL")
    if name == "postgres":
        url = postgres().store_url()
    if url is None:
        pytest.skip(f"NOETL_TEST_{name.upper()}_URL is not set")
    opens = getattr(import_module(f"noetl.store.{name}"), opener)
    opened: list[Any] = []

    def again(hook: Hook | None = None) -> Any:
        if name != "memory" or not opened or hook is not None:
            opened.append(opens(url) if hook is None else opens(url, hook=hook))
        return opened[-1]

    yield again
    for each in opened:
        each.close()
