"""The keychain of an execution: declared entries, each resolved by its name when it is used.

Nothing is kept but, for a while, what came over the network: a rotated value is seen at its next use. A name that no
entry declares is looked up in the credential store. The fields of an entry may use other entries; those are resolved
then, here, and nothing of them leaves this machine. What each kind reads, as `fields` of its entry:

    env                  `var` (else the entry's name), or `map` of field to variable; `default`, which the
                         playbook has in clear and which hides nothing
    file                 `path`, its text without the last line end; `format: json` for a mapping of fields
    static               `value`, or `map`, or the fields themselves
    bearer               `token`, or where it comes from: `env`, `file`, `credential`; `header` for another header
    postgres_credential  `host port user password dbname` or `dsn`; else the stored `credential` (or entry's name)
    credential           the stored credential named by `credential`, `key` or `auth` (else the entry's name)
    secrets              `map` of field to stored credential, or to variable with `provider: env`
    secret_manager       `provider` env (when absent), file, nats or google; the rest is in `noetl.secrets.remote`
    oauth2 google_id_token  in `noetl.secrets.remote`
"""

import copy
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from noetl.host.engine_files import is_own
from noetl.host.process_secrets import is_own as is_own_variable
from noetl.ports.needs import HERE, Needs
from noetl.secrets.credentials import CredentialProblem, Credentials
from noetl.secrets.remote import Fetcher, NotFetched, TokenEntry, TokenFetch, named_secrets
from noetl_ir.evaluate import Fault
from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple
from noetl_ir.scopes.values import ResultView
from noetl_ir.secret_fields import ADDRESSES, PUBLIC

_NO_FIELDS = frozenset({"scope", "auto_renew", "ttl", "cache", "provider", "map", "description", "desc"})
_DERIVED = "#password"


class Unresolved(KeyError):
    """A name that cannot be resolved; the text says why and holds no value."""

    def __str__(self) -> str:
        return str(self.args[0])


class Entry(NamedTuple):
    """A declared entry; `fields` are its other keys, rendered, or empty where the keychain renders them at use."""

    name: str
    kind: str
    fields: Mapping[str, Json]


class Keychain:
    """Resolves the names of one execution.

    - `root`: where relative file paths start.
    - `fetcher`: fetches values over the network, as one of the asker's needs: resolving a name may raise Absent.
    - `render`: renders the fields of an entry, which may use those of others; it may raise Fault, also where a value is
      only absent for now.
    """

    def __init__(
        self,
        entries: Sequence[Entry],
        store: Credentials,
        *,
        root: str,
        environ: Mapping[str, str] = os.environ,
        fetcher: Fetcher | None = None,
        render: Callable[[str, ResultView], Mapping[str, Json]] | None = None,
    ) -> None:
        self._render = render
        self._resolving: set[str] = set()
        self.in_clear: set[str] = set()
        """Entries whose value is the default that the playbook has in clear: there is nothing to hide."""
        self._entries = {entry.name: entry for entry in entries}
        self._store = store
        self._root = root
        self._environ = environ
        self._fetcher = Fetcher() if fetcher is None else fetcher
        self._needs = HERE

    def asked_by(self, needs: Needs) -> "Keychain":
        """A keychain of the same entries, for one asker."""
        # What is shared by a shallow copy is the execution's (entries, what resolves now, what stands in clear); only
        # the asker is another one.
        mine = copy.copy(self)
        mine._needs = needs
        return mine

    def fields(self, name: str) -> dict[str, Json]:
        """The fields behind a name, as they are now. Raises Unresolved."""
        entry = self._entries.get(name)
        return self._stored(name) if entry is None else self._resolved(entry)

    def with_token(self, name: str) -> dict[str, Json]:
        """The fields behind a name, and its one value as `token` where it has no such field. Raises Unresolved."""
        fields = self.fields(name)
        return fields if "token" in fields else {**fields, "token": _only(Entry(name, "", {}), fields)}

    def value(self, name: str, field: str) -> Json:
        """One field as `secrets` names it. Raises Unresolved."""
        found: Json = self.fields(name)
        for step in field.removesuffix(_DERIVED).split("/"):
            found = found.get(step) if isinstance(found, dict) else None
        if field.endswith(_DERIVED):
            found = _password_of(found) if isinstance(found, str) else None
        if found is None:
            raise Unresolved(f"keychain entry {name!r} has no field {field!r} any more")
        return found

    def secrets(self, name: str) -> tuple[tuple[str, str, str], ...]:
        """The secrets of a name: (name, field, value). Raises Unresolved."""
        fields = self.fields(name)
        return () if name in self.in_clear else tuple((name, field, value) for field, value in secrets_of(fields))

    def known_secrets(self) -> tuple[tuple[str, str, str], ...]:
        """The secrets of all declared entries, as far as they resolve now."""
        found: list[tuple[str, str, str]] = []
        for name in self._entries:
            try:
                found += self.secrets(name)
            except Unresolved:
                continue  # `check` tells; a run may have been started long ago
        return tuple(found)

    def check(self) -> dict[str, str]:
        """The entries that cannot be resolved, each with a sentence; nothing is revealed of what can be."""
        problems = {}
        for name in self._entries:
            try:
                self.fields(name)
            except Unresolved as problem:
                problems[name] = str(problem)
        return problems

    def _resolved(self, entry: Entry) -> dict[str, Json]:
        resolve = _KINDS.get(entry.kind)
        if resolve is None:
            raise Unresolved(f"keychain entry {entry.name!r}: there is no kind {entry.kind!r}")
        # Entries may use each other's fields, and so themselves in a circle, which would end in a RecursionError.
        if entry.name in self._resolving:
            raise Unresolved(f"keychain entry {entry.name!r} uses itself")
        self._resolving.add(entry.name)
        try:
            # Rendered at each use: a field may name another entry, whose value may have been rotated.
            if self._render is not None:
                entry = entry._replace(fields=self._render(entry.name, _Others(self)))
            return resolve(self, entry)
        except Fault as fault:
            raise Unresolved(f"keychain entry {entry.name!r}: {fault.message}") from None
        finally:
            self._resolving.discard(entry.name)

    def _stored(self, name: str) -> dict[str, Json]:
        try:
            found = self._store.fields(name)
        except CredentialProblem as problem:
            raise Unresolved(str(problem)) from None
        if found is None:
            from shlex import quote

            lacking = f"there is no keychain entry and no stored credential named {name!r}"
            raise Unresolved(f"{lacking}; store one with `noetl credential add {quote(name)}`")
        return found

    def has(self, name: Json) -> bool:
        """Whether the environment has a variable of that name that says anything."""
        return isinstance(name, str) and bool(self._environ.get(name)) and not is_own_variable(name)

    def variable(self, entry: Entry, name: Json) -> Json:
        """An environment variable. Raises Unresolved."""
        if isinstance(name, str) and is_own_variable(name):
            raise Unresolved(
                f"keychain entry {entry.name!r}: {name!r} is the engine's own variable: no playbook reads it"
            )
        # An empty one is what is left of a secret that nobody set (`TOKEN=$(…)`), and no request can be made of it.
        if not isinstance(name, str) or not self._environ.get(name):
            how = "set, and empty" if isinstance(name, str) and name in self._environ else "not set"
            raise Unresolved(
                f"keychain entry {entry.name!r}: the environment variable {name!r} is {how}: export it with the secret"
                " in it, for the process that runs the tasks"
            )
        return self._environ[name]

    def file(self, entry: Entry, path: Json) -> str:
        """The text of a file without its last line end. Raises Unresolved."""
        if not isinstance(path, str) or "\0" in path:
            raise Unresolved(f"keychain entry {entry.name!r}: path is missing")
        found, home = os.path.realpath(os.path.join(self._root, path)), os.path.realpath(self._root)
        # A keychain entry may read files outside of the tools' root, as secrets are mounted anywhere. But the key of
        # the credential store is for nobody to print.
        if is_own(found, home):
            raise Unresolved(
                f"keychain entry {entry.name!r}: {path!r} is the engine's own file: no playbook may read it"
            )
        try:
            with open(found, encoding="utf-8") as file:
                # Editors and `echo` end a file with a line end, which no password has. Only one goes, as a key in PEM
                # has its own.
                text = file.read().removesuffix("\n").removesuffix("\r")
        except (OSError, UnicodeError) as problem:
            reason = problem.strerror if isinstance(problem, OSError) else "it is not UTF-8 text"
            raise Unresolved(f"keychain entry {entry.name!r}: {path!r} cannot be read: {reason}") from None
        if not text:
            raise Unresolved(f"keychain entry {entry.name!r}: {path!r} is empty: write the secret into it")
        return text

    def fetched(self, entry: Entry, fetch: TokenFetch) -> dict[str, Json]:
        """The fields that the network gives, told about as the entry's problem. Raises Unresolved."""
        credential: dict[str, Json] = {}
        if (name := _first(entry, "credential", "auth")) is not None:
            credential = self.stored(entry, name)
        elif (path := _first(entry, "file", "service_account_file")) is not None:
            credential = {"value": self.file(entry, path)}
        fields = dict(entry.fields)
        for field in ("client_id", "client_secret", "refresh_token"):
            if (name := fields.pop(f"{field}_env", None)) is not None:
                fields[field] = self.variable(entry, name)
        asked = TokenEntry(entry.name, fields, credential)
        # Asked first, so that a token that still holds costs no thread.
        kept = self._fetcher.kept_value(asked, fetch)
        if kept is not None:
            return kept
        try:
            return self._needs.get((fetch.__name__, asked.key), lambda: self._fetcher.fetched(asked, fetch))
        except NotFetched as problem:
            raise Unresolved(f"keychain entry {entry.name!r}: {problem}") from None

    def stored(self, entry: Entry, name: Json) -> dict[str, Json]:
        """A stored credential, told about as the entry's problem. Raises Unresolved."""
        try:
            return self._stored(str(name))
        except Unresolved as problem:
            raise Unresolved(f"keychain entry {entry.name!r}: {problem}") from None


class _Others(ResultView):
    """The value of `keychain` in the fields of an entry: the fields of the others, as they are now."""

    __slots__ = ("_keychain",)

    def __init__(self, keychain: Keychain) -> None:
        self._keychain = keychain

    def plain(self) -> object:
        raise Fault("credential.missing", "`keychain` is no value: name an entry and a field of it")

    def under(self, key: object) -> object:
        try:
            return self._keychain.fields(str(key))
        except Unresolved as problem:
            raise Fault("credential.missing", str(problem)) from None


def secrets_of(fields: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    """The secret texts among some fields with their paths, and the passwords inside addresses."""
    for field, value in fields.items():
        match value:
            case dict():
                yield from ((f"{field}/{path}", text) for path, text in secrets_of(value))
            case str() if field in ADDRESSES:
                if (password := _password_of(value)) is not None:
                    yield field, value
                    # The password inside an address is a secret of its own: a driver's error may show it without the
                    # rest.
                    yield field + _DERIVED, password
            # What is not known to be public is a secret: a field that nobody thought of is hidden too much rather
            # than too little.
            case str() if field not in PUBLIC:
                yield field, value


def _password_of(address: str) -> str | None:
    """The password in a URL or a libpq string."""
    from urllib.parse import unquote, urlsplit

    try:
        found = urlsplit(address).password
    except ValueError:
        found = None
    if found is not None:
        return unquote(found)
    match = _LIBPQ_PASSWORD.search(address)
    return None if match is None else re.sub(r"\\(.)", r"\1", match[1][1:-1] if match[1][0] == "'" else match[1])


_LIBPQ_PASSWORD = re.compile(r"(?<!\w)password\s*=\s*('(?:[^'\\]|\\.)+'|[^\s']\S*)")


def _env(keychain: Keychain, entry: Entry) -> dict[str, Json]:
    if isinstance(mapping := entry.fields.get("map"), dict):
        return {field: keychain.variable(entry, name) for field, name in mapping.items()}
    name = _first(entry, "var", "variable", "env", "key") or entry.name
    # A default stands in the playbook for everybody to read. Hiding it would only turn equal words in results into
    # markers.
    if (default := entry.fields.get("default")) is not None and not keychain.has(name):
        keychain.in_clear.add(entry.name)
        return {"value": default}
    keychain.in_clear.discard(entry.name)
    return {"value": keychain.variable(entry, name)}


def _file(keychain: Keychain, entry: Entry) -> dict[str, Json]:
    text = keychain.file(entry, _first(entry, "path", "file"))
    if entry.fields.get("format") != "json":
        return {"value": text}
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Unresolved(f"keychain entry {entry.name!r}: the file is no JSON mapping")
    return found


def _static(_: Keychain, entry: Entry) -> dict[str, Json]:
    if isinstance(mapping := entry.fields.get("map"), dict):
        return dict(mapping)
    found = {name: value for name, value in entry.fields.items() if name not in _NO_FIELDS}
    if not found:
        raise Unresolved(f"keychain entry {entry.name!r}: value is missing")
    return found


def _bearer(keychain: Keychain, entry: Entry) -> dict[str, Json]:
    token = _first(entry, "token", "value")
    if token is None and (name := _first(entry, "env", "var")) is not None:
        token = keychain.variable(entry, name)
    if token is None and (path := _first(entry, "file", "path")) is not None:
        token = keychain.file(entry, path)
    if token is None:
        stored = keychain.stored(entry, _first(entry, "credential", "auth", "key") or entry.name)
        token = _only(entry, stored)
    header = entry.fields.get("header")
    return {"token": token} if header is None else {"token": token, "header": header}


def _postgres(keychain: Keychain, entry: Entry) -> dict[str, Json]:
    own = {name: value for name, value in entry.fields.items() if name in PUBLIC | {"password", "dsn", "url"}}
    if own.keys() & {"host", "dsn", "url", "db_host", "hostaddr"}:
        if (name := entry.fields.get("password_env")) is not None:
            own["password"] = keychain.variable(entry, name)
        return own
    return keychain.stored(entry, _first(entry, "credential", "key", "auth") or entry.name) | own


def _credential(keychain: Keychain, entry: Entry) -> dict[str, Json]:
    return keychain.stored(entry, _first(entry, "credential", "key", "auth", "ref") or entry.name)


def _secrets(keychain: Keychain, entry: Entry) -> dict[str, Json]:
    provider = entry.fields.get("provider")
    mapping = entry.fields.get("map")
    if not isinstance(mapping, dict):
        mapping = {"value": _first(entry, "secret_name", "secret", "key") or entry.name}
    match provider:
        case None | "noetl" | "store" | "credential":
            return {field: _only(entry, keychain.stored(entry, name)) for field, name in mapping.items()}
        case "env":
            return {field: keychain.variable(entry, name) for field, name in mapping.items()}
        case "file":
            return {field: keychain.file(entry, path) for field, path in mapping.items()}
    raise Unresolved(f"keychain entry {entry.name!r}: there is no provider {provider!r} in this version")


def _secret_manager(keychain: Keychain, entry: Entry) -> dict[str, Json]:
    provider, names = entry.fields.get("provider"), named_secrets(TokenEntry(entry.name, entry.fields, {}))
    match provider:
        case None | "env" | "environment":
            return {field: keychain.variable(entry, name) for field, name in names.items()}
        case "file":
            folder = str(entry.fields.get("folder") or "")
            return {field: keychain.file(entry, os.path.join(folder, name)) for field, name in names.items()}
        case "nats" | "nats_kv":
            return keychain.fetched(entry, Fetcher.nats_secrets)
        case "google" | "gcp" | "google_secret_manager":
            return keychain.fetched(entry, Fetcher.google_secrets)
    raise Unresolved(f"keychain entry {entry.name!r}: there is no provider {provider!r}: use env, file, nats or google")


def _only(entry: Entry, fields: dict[str, Json]) -> Json:
    """The one value of a credential: its token or value, else its only secret field."""
    for name in ("value", "token", "secret", "api_key", "password"):
        if fields.get(name) is not None:
            return fields[name]
    # Of several fields none is taken by chance: another one would be sent when somebody adds a field.
    if len(fields) == 1:
        return next(iter(fields.values()))
    raise Unresolved(f"keychain entry {entry.name!r}: the stored credential has no single value")


def _first(entry: Entry, *names: str) -> Json:
    return next((entry.fields[name] for name in names if entry.fields.get(name) is not None), None)


_KINDS: dict[str, Callable[[Keychain, Entry], dict[str, Json]]] = {
    "env": _env,
    "file": _file,
    "static": _static,
    "bearer": _bearer,
    "postgres_credential": _postgres,
    "credential": _credential,
    "secrets": _secrets,
    "secret": _secrets,
    "secret_manager": _secret_manager,
    "oauth2": lambda keychain, entry: keychain.fetched(entry, Fetcher.oauth2),
    "google_id_token": lambda keychain, entry: keychain.fetched(entry, Fetcher.google_id_token),
}
