"""Groups of servers, and which of them the executions of a playbook begin in.

All executions under one first part of their paths, `orders` of `orders/ship/parcel`, begin in one group: what
holds between executions, as locks and limits of concurrency, is a matter of one store. Groups are drawn by rendezvous
hashing (Thaler and Ravishankar 1998; weights by Schindelhauer and Schomaker 2005): each gateway draws the
same ones without asking anybody, and a group that is added takes its share from each other one and moves nothing else.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from hashlib import sha256
from urllib.parse import urlsplit

from noetl_ir.nearest import nearest
from noetl_ir.records import NamedTuple

MOST_GROUPS = 100
MOST_SERVERS = 100
MOST_BYTES = 1 << 20
"""The most groups of a file, the most servers of one, and the most bytes that the file has."""

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
_PLAIN = re.compile(r"[A-Za-z0-9:/.%_~\[\]-]+")
_PORTS = {"http": 80, "https": 443}
_TABLES = ("groups", "spread")
_KEYS = ("servers", "playbooks", "share")
_SPREAD = ("starts",)


class BadGroups(ValueError):
    """A file of groups that cannot be used; the text says what is wrong there, and what to write."""


class ServerGroup(NamedTuple):
    """Servers with one store: their addresses, patterns of the `playbooks` that always begin there, and its `share` of
    all others, 0 for none.
    """

    name: str
    servers: tuple[str, ...]
    playbooks: tuple[str, ...] = ()
    share: float = 1.0


class GroupMap:
    """All groups, by name. `starts` are patterns of paths whose starts are spread one by one."""

    def __init__(self, groups: Iterable[ServerGroup], starts: Sequence[str] = ()) -> None:
        self.groups = {group.name: group for group in groups}
        self.starts = tuple(starts)

    def group_of(self, path: str) -> ServerGroup:
        """The group that the executions of a playbook begin in, and that has the documents which start them."""
        return self._named_for(path) or self.drawn(path.partition("/")[0])

    def groups_of(self, pattern: str) -> set[str]:
        """The names of the groups of paths that fit a pattern, whose first part has no wildcard."""
        if self._named_for(pattern) is not None or _stem(pattern) == pattern:
            return {self.group_of(pattern).name}
        named = {group.name for group in self.groups.values() if _may_meet(pattern, group.playbooks)}
        return {*named, self.drawn(pattern.partition("/")[0]).name}

    def may_spread(self, pattern: str) -> bool:
        """Whether starts of some path that fits a pattern may be drawn alone."""
        return _may_meet(pattern, self.starts)

    def is_spread(self, path: str) -> bool:
        """Whether each start of a playbook is drawn alone."""
        return self._named_for(path) is None and _fits(path, self.starts)

    def _named_for(self, path: str) -> ServerGroup | None:
        return next((group for group in self.groups.values() if _fits(path, group.playbooks)), None)

    def drawn(self, key: str, among: Iterable[str] | None = None) -> ServerGroup:
        """The group that a key draws: of all, or of those with a name `among` some, of which one takes a share."""
        names = self.groups.keys() if among is None else set(among)
        takers = [group for group in self.groups.values() if group.name in names and group.share > 0]
        return max(takers, key=lambda group: _score(group, key))


def _score(group: ServerGroup, key: str) -> float:
    # 53 bits, as many as a float has, and a half more: never 0 or 1, of which the logarithm would be none.
    number = int.from_bytes(sha256(f"{group.name}\0{key}".encode("utf-8", "surrogatepass")).digest()[:8]) >> 11
    return -group.share / math.log((number + 0.5) * 2.0**-53)


def _fits(path: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(path, pattern) for pattern in patterns)


def _stem(pattern: str) -> str:
    """The beginning of all that fits a pattern."""
    return re.split(r"[*?[]", pattern)[0]


def _may_meet(pattern: str, others: Iterable[str]) -> bool:
    """Whether a text may fit a pattern and one of some others: as far as their beginnings tell."""
    stem = _stem(pattern)
    return any(other.startswith(stem) or stem.startswith(other) for other in map(_stem, others))


def groups_in(text: str) -> GroupMap:
    """The groups that a TOML file says. Raises BadGroups."""
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as problem:
        raise BadGroups(f"it is no TOML: {problem}") from None
    _check_keys("the file", document, _TABLES)
    tables = document.get("groups")
    if not isinstance(tables, dict) or not tables:
        raise BadGroups('it has no groups: write `[groups.a]` and `servers = ["https://HOST:PORT"]`')
    if len(tables) > MOST_GROUPS:
        raise BadGroups(f"it has {len(tables)} groups; {MOST_GROUPS} are the most")
    groups = [_group(name, table) for name, table in tables.items()]
    _check_apart(groups)
    if not any(group.share for group in groups):
        raise BadGroups("no group has a share: one has to take the playbooks that none is named for")
    spread = document.get("spread", {})
    if not isinstance(spread, dict):
        raise BadGroups('`spread` is a table: write `[spread]` and `starts = ["telemetry/*"]`')
    _check_keys("`[spread]`", spread, _SPREAD)
    return GroupMap(groups, _texts("`spread.starts`", spread.get("starts", [])))


def _group(name: str, table: object) -> ServerGroup:
    if not _NAME.fullmatch(name):
        raise BadGroups(f"`{name}` is no name of a group: small letters, digits, `-` and `_`, at most 63")
    if not isinstance(table, dict):
        raise BadGroups(f"`groups.{name}` is a table: write `[groups.{name}]`")
    _check_keys(f"`[groups.{name}]`", table, _KEYS)
    servers = tuple(map(_address, _texts(f"`groups.{name}.servers`", table.get("servers", []))))
    if not servers:
        raise BadGroups(f'`[groups.{name}]` has no servers: write `servers = ["https://HOST:PORT"]`')
    if len(servers) > MOST_SERVERS:
        raise BadGroups(f"`[groups.{name}]` has {len(servers)} servers; {MOST_SERVERS} are the most")
    share = table.get("share", 1)
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1000:
        raise BadGroups(f"`groups.{name}.share` is a number from 0 to 1000")
    return ServerGroup(name, servers, _texts(f"`groups.{name}.playbooks`", table.get("playbooks", [])), float(share))


def _address(text: str) -> str:
    try:
        parts = urlsplit(text)
        is_one = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        is_one = False
    if not is_one or parts.username is not None or not _PLAIN.fullmatch(text):
        raise BadGroups(f"`{_without_login(text)}` is no address of a server: write `https://HOST:PORT`")
    # As one writes it who writes it shortest, so that the same server is the same text.
    host = parts.hostname or ""
    port = "" if parts.port in (None, _PORTS[parts.scheme]) else f":{parts.port}"
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{port}{parts.path.rstrip('/')}"


def _without_login(text: str) -> str:
    return re.sub(r"//[^/]*@", "//", text)


def _check_apart(groups: Sequence[ServerGroup]) -> None:
    """A server that is in two groups would have its executions in all lists twice."""
    seen: dict[str, str] = {}
    for group in groups:
        for server in group.servers:
            if seen.setdefault(server, group.name) != group.name:
                raise BadGroups(f"`{server}` is in `groups.{seen[server]}` and in `groups.{group.name}`")


def _texts(what: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) and each for each in value):
        raise BadGroups(f"{what} is a list of texts")
    return tuple(value)


def _check_keys(what: str, table: Mapping[str, object], known: Sequence[str]) -> None:
    for key in table:
        if key not in known:
            near = nearest(key, [*known])
            raise BadGroups(
                f"{what} has no `{key}`" + (f"; did you mean `{near}`?" if near else f": {', '.join(known)}")
            )
