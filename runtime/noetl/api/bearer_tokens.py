"""The bearer tokens of a server: a file of names, roles, hashes, ends and scopes. They themselves are shown once.

A token has 256 random bits, so a plain hash of it cannot be reversed.
"""

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence

from noetl.host.engine_files import make_folder
from noetl.ports.scopes import MOST, path_trouble, pool_trouble
from noetl_ir.events import iso_of
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
    """A token that is known.

    - `name`: for people; `role`: what its bearer may do; `digest`: the SHA-256 of it in hex.
    - `expires`: microseconds since the epoch, from when on it lets nobody in; None: never.
    - `paths`: the playbooks that it is for (`noetl.ports.scopes`); `pools`: where their steps may run. Empty: all.
    """

    name: str
    role: str
    digest: str
    expires: int | None = None
    paths: tuple[str, ...] = ()
    pools: tuple[str, ...] = ()

    @property
    def is_scoped(self) -> bool:
        """Whether it is for some playbooks or pools only."""
        return bool(self.paths or self.pools)

    def has_expired(self, now: float) -> bool:
        """Whether it lets nobody in any more at a time in seconds since the epoch."""
        return self.expires is not None and self.expires <= now * 1_000_000

    def document(self) -> dict[str, Json]:
        """The token without its digest, as API and command line show it; its end as RFC 3339, null for none."""
        expires = iso_of(self.expires) if self.expires is not None else None
        scopes: dict[str, Json] = {"paths": [*self.paths], "pools": [*self.pools]}
        return {"name": self.name, "role": self.role, "expires": expires, **scopes}


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


def add_token(
    path: str,
    name: str,
    role: str,
    *,
    expires: int | None = None,
    paths: Sequence[str] = (),
    pools: Sequence[str] = (),
) -> str:
    """Make a token; returns it. Raises TokenTaken, TokenProblem."""
    tokens = read_tokens(path)
    known = next((row for row in tokens if row.name == name), None)
    if known is not None:
        raise TokenTaken(f"there is a token `{name}` already, with the role `{known.role}`")
    return _added(path, tokens, BearerToken(name, role, "", expires, tuple(paths), tuple(pools)))


def replace_token(
    path: str,
    name: str,
    role: str,
    *,
    expires: int | None = None,
    paths: Sequence[str] = (),
    pools: Sequence[str] = (),
) -> tuple[str, BearerToken | None]:
    """Make a token, over one of the same name; returns it, and what was there before. Raises TokenProblem."""
    tokens = read_tokens(path)
    known = next((row for row in tokens if row.name == name), None)
    made = BearerToken(name, role, "", expires, tuple(paths), tuple(pools))
    return _added(path, [row for row in tokens if row is not known], made), known


def _added(path: str, tokens: Sequence[BearerToken], made: BearerToken) -> str:
    from secrets import token_urlsafe

    token = PREFIX + token_urlsafe(32)
    _write(path, [*tokens, made._replace(digest=digest_of(token))])
    return token


def delete_token(path: str, name: str) -> bool:
    """Forget a token; whether there was one. Raises TokenProblem."""
    tokens = read_tokens(path)
    kept = [row for row in tokens if row.name != name]
    if len(kept) == len(tokens):
        return False
    _write(path, kept)
    return True


_KEYS = frozenset({"name", "role", "sha256", "expires", "paths", "pools"})


def _token_of(path: str, row: Json) -> BearerToken:
    """A token as its row in the file has it. Raises TokenProblem."""
    if isinstance(row, dict):
        name, role, digest = row.get("name"), row.get("role"), row.get("sha256")
        if isinstance(name, str) and role in ROLES and isinstance(digest, str) and len(digest) == 64:
            # A limit that is not understood must not be passed over: it would let in whom it keeps out.
            if unknown := [key for key in row if key not in _KEYS]:
                raise TokenProblem(f"{path}: the token `{name}` has a key `{unknown[0]}` that means nothing here")
            paths = _texts_of(path, name, row, "paths", path_trouble)
            pools = _texts_of(path, name, row, "pools", pool_trouble)
            return BearerToken(name, str(role), digest, _end_of(path, name, row), paths, pools)
    raise TokenProblem(f"{path}: each token has a `name`, a `role` of {', '.join(ROLES)}, and its `sha256`")


def _end_of(path: str, name: str, row: dict[str, Json]) -> int | None:
    if "expires" not in row:
        return None
    from noetl.server.schedules.times import BadTimes, time_of

    try:
        return time_of(str(row["expires"]))
    except BadTimes as problem:
        raise TokenProblem(f"{path}: `expires` of the token `{name}`: {problem}") from None


def _texts_of(path: str, name: str, row: dict[str, Json], key: str, trouble: Callable[[str], str]) -> tuple[str, ...]:
    """The texts of a list, none where the key is not there: an empty list could mean nothing or all."""
    if key not in row:
        return ()
    texts = row[key]
    if not isinstance(texts, list) or not texts:
        raise TokenProblem(f"{path}: `{key}` of the token `{name}` is a list of texts that is not empty")
    if len(texts) > MOST:
        raise TokenProblem(f"{path}: `{key}` of the token `{name}` has {len(texts)} texts; at most {MOST} are taken")
    for text in texts:
        if why := trouble(text) if isinstance(text, str) else f"{json.dumps(text)} is no text":
            raise TokenProblem(f"{path}: `{key}` of the token `{name}`: {why}")
    return tuple(map(str, texts))


def _row_of(token: BearerToken) -> dict[str, Json]:
    """A token as the file has it: what it has not is left out."""
    row: dict[str, Json] = {"name": token.name, "role": token.role, "sha256": token.digest}
    limits = {name: value for name, value in token.document().items() if name not in row and value}
    return {**row, **limits}


def _write(path: str, tokens: Sequence[BearerToken]) -> None:
    """Replace the file as a whole; only its owner may read it."""
    rows = [_row_of(token) for token in tokens]
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
