"""The credential store: named credentials in a SQLite file, encrypted at rest.

What is encrypted names the credential too, so that a row cannot be passed off as another. Names and types are
readable without the key; the fields are not.
"""

import json
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from noetl.secrets.keys import KeyProblem, master_key
from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple

if TYPE_CHECKING:
    from cryptography.fernet import Fernet

_SCHEMA = """
CREATE TABLE IF NOT EXISTS credential (
  name TEXT PRIMARY KEY, type TEXT NOT NULL, body BLOB NOT NULL, changed INTEGER NOT NULL
) WITHOUT ROWID
"""


class CredentialProblem(Exception):
    """The store cannot do what was asked; the text says why, in plain words, and holds no secret."""


class CredentialTaken(CredentialProblem):
    """There is a credential of that name; the text says of which type."""


class Listed(NamedTuple):
    """A stored credential as lists show it; `changed` in microseconds since the epoch."""

    name: str
    type: str
    changed: int


class Credentials:
    """The credential store in the file at `path`; its key file is that path with `.key`."""

    def __init__(self, path: str) -> None:
        self._path = path

    @property
    def key_path(self) -> str:
        """Where the key lies unless the environment holds one."""
        return f"{self._path}.key"

    def add_credential(self, name: str, type: str, fields: dict[str, Json]) -> None:
        """Store a credential. Raises CredentialTaken, CredentialProblem."""
        row = self._row(name, type, fields)
        with self._opened(make=True) as connection:
            # The database decides who was first. A look before the insert would let two commands both find the name
            # free.
            if connection.execute("INSERT OR IGNORE INTO credential VALUES (?, ?, ?, ?)", row).rowcount > 0:
                return
        self.check_free(name)

    def replace(self, name: str, type: str, fields: dict[str, Json]) -> None:
        """Store a credential, over one of the same name. Raises CredentialProblem."""
        row = self._row(name, type, fields)
        with self._opened(make=True) as connection:
            connection.execute("INSERT OR REPLACE INTO credential VALUES (?, ?, ?, ?)", row)

    def check_free(self, name: str) -> None:
        """Raises CredentialTaken."""
        known = self.type_of(name)
        if known is not None:
            raise CredentialTaken(f"there is a credential `{name}` already, of type {known}")

    def type_of(self, name: str) -> str | None:
        """The type of a credential, None when there is none of that name."""
        with self._opened(make=False) as connection:
            row = connection.execute("SELECT type FROM credential WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    def _row(self, name: str, type: str, fields: dict[str, Json]) -> tuple[str, str, bytes, int]:
        if not name or not fields:
            raise CredentialProblem("a credential needs a name and at least one field")
        # The name is encrypted along: whoever can write the file could else put the row of a harmless credential
        # under the name of another.
        plain = json.dumps({"name": name, "fields": fields}, ensure_ascii=True).encode("ascii")
        return name, type, self._cipher().encrypt(plain), time.time_ns() // 1000

    def list(self) -> tuple[Listed, ...]:
        """All credentials by name, without their fields."""
        with self._opened(make=False) as connection:
            rows = connection.execute("SELECT name, type, changed FROM credential ORDER BY name").fetchall()
        return tuple(Listed(*row) for row in rows)

    def delete(self, name: str) -> bool:
        """Remove a credential; whether there was one."""
        with self._opened(make=False) as connection:
            return connection.execute("DELETE FROM credential WHERE name = ?", (name,)).rowcount > 0

    def fields(self, name: str) -> dict[str, Json] | None:
        """The fields of a credential, None when there is none of that name. Raises CredentialProblem."""
        with self._opened(make=False) as connection:
            row = connection.execute("SELECT body FROM credential WHERE name = ?", (name,)).fetchone()
        return None if row is None else self._decrypted(name, row[0])

    def _decrypted(self, name: str, body: bytes) -> dict[str, Json]:
        from cryptography.fernet import InvalidToken

        try:
            stored = json.loads(self._cipher().decrypt(body))
        except InvalidToken:
            raise CredentialProblem(f"credential {name!r} was stored with another key") from None
        if stored.get("name") != name or not isinstance(stored.get("fields"), dict):
            raise CredentialProblem(f"credential {name!r} was altered in the store")
        fields: dict[str, Json] = stored["fields"]
        return fields

    def _cipher(self) -> "Fernet":
        try:
            from cryptography.fernet import Fernet
        except ImportError:
            message = "stored credentials need the extra: pip install 'noetlc[credentials]'"
            raise CredentialProblem(message) from None
        from base64 import urlsafe_b64encode

        try:
            return Fernet(urlsafe_b64encode(master_key(self.key_path)))
        except KeyProblem as problem:
            raise CredentialProblem(str(problem)) from None

    @contextmanager
    def _opened(self, *, make: bool) -> Iterator[sqlite3.Connection]:
        """A connection in a transaction; an empty one in memory where there is no store to read from."""
        there = make or os.path.exists(self._path)
        try:
            if make and not os.path.exists(self._path):
                # SQLite would make it with the rights of the umask, for others to read until somebody narrows them.
                os.close(os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o600))
            # A look into a store that is not there finds nothing, and must not make an empty file on the way.
            connection = sqlite3.connect(self._path if there else ":memory:", timeout=10)
            try:
                connection.execute(_SCHEMA)
                with connection:
                    yield connection
            finally:
                connection.close()
        except (sqlite3.Error, OSError) as problem:
            raise CredentialProblem(f"the credential store {self._path}: {problem}") from None
