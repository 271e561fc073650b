"""The bearer tokens of a server: a file of names, roles and hashes. They themselves are shown once.

A token has 256 random bits, so a plain hash of it cannot be reversed.
"""

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence

from noetl.host.engine_files import make_folder
from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple

ROLES = ("viewer", "worker", "operator", "admin")
MAY: Mapping[str, frozenset[str]] = {
    "viewer": frozenset({"viewer"}),
    "worker": frozenset({"viewer", "worker"}),
    "operator": frozenset({"viewer", "operator"}),
    "admin": frozenset(ROLES),
}
"""What the bearer of a role may do, as the roles that an operation can ask for."""

PREFIX = "noetl_"
"""Tokens begin with it, so that scanners for secrets find one that was committed."""


class TokenProblem(Exception):
    """The file cannot be used; the text says why."""


class TokenTaken(TokenProblem):
    """There is a token of that name; the text says what its bearer may do."""


class BearerToken(NamedTuple):
    """A token that is known: its name for people, what its bearer may do, and the SHA-256 of it in hex."""

    name: str
    role: str
    digest: str


def digest_of(token: str) -> str:
    """The digest that is kept of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def read_tokens(path: str) -> tuple[BearerToken, ...]:
    """The tokens in a file, none where there is no file. Raises TokenProblem."""
    try:
        with open(path, encoding="utf-8") as file:
            value: Json = json.load(file)
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, RecursionError) as error:
        raise TokenProblem(f"{path} cannot be read: {error}") from None
    rows = value if isinstance(value, list) else [value]
    return tuple(_token_of(path, row) for row in rows)


class TokenFile:
    """The tokens of a file as it is now: what was forgotten lets nobody in any more. Raises TokenProblem when made.

    Later on a file that cannot be read lets nobody in. `said` hears why, once for each state of the file.
    """

    def __init__(self, path: str, said: Callable[[str], None]) -> None:
        self._path = path
        self._said = said
        self._state = _state_of(path)
        self._tokens = read_tokens(path)

    def __call__(self) -> Sequence[BearerToken]:
        """The tokens; the file is read again when it was replaced."""
        state = _state_of(self._path)
        # Inode, time and size: the file is replaced as a whole, so a token that was deleted lets nobody in from the
        # next request on.
        if state != self._state:
            self._state = state
            try:
                self._tokens = read_tokens(self._path)
            except TokenProblem as problem:
                self._tokens = ()
                self._said(str(problem))
        return self._tokens


def _state_of(path: str) -> tuple[int, int, int] | None:
    """The state that tells one content of a file from the next: `add_token` and `delete_token` replace it."""
    try:
        stat = os.stat(path)
    except OSError:
        return None
    return stat.st_ino, stat.st_mtime_ns, stat.st_size


def add_token(path: str, name: str, role: str) -> str:
    """Make a token; returns it. Raises TokenTaken, TokenProblem."""
    tokens = read_tokens(path)
    known = next((row for row in tokens if row.name == name), None)
    if known is not None:
        raise TokenTaken(f"there is a token `{name}` already, with the role `{known.role}`")
    return _added(path, tokens, name, role)


def replace_token(path: str, name: str, role: str) -> tuple[str, BearerToken | None]:
    """Make a token, over one of the same name; returns it, and what was there before. Raises TokenProblem."""
    tokens = read_tokens(path)
    known = next((row for row in tokens if row.name == name), None)
    return _added(path, [row for row in tokens if row is not known], name, role), known


def _added(path: str, tokens: Sequence[BearerToken], name: str, role: str) -> str:
    from secrets import token_urlsafe

    token = PREFIX + token_urlsafe(32)
    _write(path, [*tokens, BearerToken(name, role, digest_of(token))])
    return token


def delete_token(path: str, name: str) -> bool:
    """Forget a token; whether there was one. Raises TokenProblem."""
    tokens = read_tokens(path)
    kept = [row for row in tokens if row.name != name]
    if len(kept) == len(tokens):
        return False
    _write(path, kept)
    return True


def _token_of(path: str, row: Json) -> BearerToken:
    if isinstance(row, dict):
        name, role, digest = row.get("name"), row.get("role"), row.get("sha256")
        if isinstance(name, str) and role in ROLES and isinstance(digest, str) and len(digest) == 64:
            return BearerToken(name, str(role), digest)
    raise TokenProblem(f"{path}: each token has a `name`, a `role` of {', '.join(ROLES)}, and its `sha256`")


def _write(path: str, tokens: Sequence[BearerToken]) -> None:
    """Replace the file as a whole; only its owner may read it."""
    rows = [{"name": row.name, "role": row.role, "sha256": row.digest} for row in tokens]
    part = f"{path}.{os.getpid()}.part"
    try:
        make_folder(os.path.dirname(path))
        # Made with these rights: a file that is narrowed afterwards was readable for a moment.
        number = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(number, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=2)
            file.flush()
            os.fsync(number)
        # At once, so that a server which reads at this moment has the old file or the new one, and never a half.
        os.replace(part, path)
    except OSError as error:
        raise TokenProblem(f"{path} cannot be written: {error.strerror}") from None
