"""Snowflake for tests: fakesnow, which answers with DuckDB behind the real connector; and a session that gets stuck."""

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def snowflake() -> Iterator[None]:
    """An account with a database `db1` and a schema `s1`, kept in memory until the end."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import fakesnow

        with fakesnow.patch():
            yield


class Stuck:
    """A connection and cursor in one, whose statements end only when the session's statements are cancelled."""

    def __init__(self, **_: object) -> None:
        self.cancelled = threading.Event()
        self.running = threading.Event()
        self.closed = threading.Event()

    def cursor(self) -> "Stuck":
        return self

    def execute(self, text: str, *_: Any) -> None:
        if "SYSTEM$CANCEL_ALL_QUERIES" in text:
            self.cancelled.set()
            return
        from snowflake.connector.errors import ProgrammingError

        self.running.set()
        assert self.cancelled.wait(60)
        raise ProgrammingError(msg="SQL execution canceled", errno=604, sqlstate="57014")

    def close(self) -> None:
        self.closed.set()
