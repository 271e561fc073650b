"""The findings of lint in files, kept from run to run: a file that did not change is not checked again.

An entry is a file of its own, named after the playbook's path. Its first line is a digest of everything that the
findings follow from (the content of the playbook, its name, this program down to the times of its modules, the
interpreter) and of the entry's own text: one that is old, cut off or damaged is not believed. Entries are put in place
whole, so that runs at the same time only repeat work. Of children, which lint looks up in its catalogue, an entry has
the states that they were in; whoever gets it compares. What is selected or known to a baseline is decided afterwards.

Nothing fails for the cache: where it cannot be read or written there is none.
"""

import os
import sys
from collections.abc import Sequence

from noetl_ir.records import NamedTuple
from noetl_ir.span import Span
from noetlc.diag.diagnostic import Diagnostic, Fix, Related, Severity
from noetlc.diag.findings import Reported
from noetlc.diag.selection import INTERNAL

FOLDER = ".noetlc_cache"
_FORMAT = "4"
# Characters of a folder's name (256 folders), entries of a folder from which old ones are looked for, and their age.
_SHARD, _MANY, _DAYS = 2, 64, 30
_EMPTY = b"[0, []]"


class CachedFile(NamedTuple):
    """The record of a file: its findings after its own comments, how many those took back, and the children that
    were looked up for it: each path with the state of its file.
    """

    findings: tuple[Reported, ...]
    ignored: int
    children: tuple[tuple[str, str], ...] = ()


class Cache(NamedTuple):
    """A folder of entries, and what stands for this program."""

    folder: str
    program: bytes

    def get(self, name: str, data: bytes) -> CachedFile | None:
        """The findings in a file with this content, None where that is not known."""
        try:
            with open(self._path(name), "rb") as file:
                head, _, body = file.read().partition(b"\n")
        except OSError:
            return None
        # The body is part of the digest, so that an entry that was cut off or edited counts as none.
        if head != self._head(name, data, body):
            return None
        return CachedFile((), 0) if body == _EMPTY else _thawed(name, body)

    def put(self, name: str, data: bytes, kept: CachedFile) -> None:
        """Keep what was found, unless a mistake of ours is among it: with the next version there may be more."""
        if any(one.diagnostic.code == INTERNAL for one in kept.findings):
            return
        body = _frozen(kept)
        path = self._path(name)
        part = f"{path}.{os.getpid()}.part"
        try:
            _make(self.folder, os.path.dirname(path))
            with open(part, "wb") as file:
                file.write(self._head(name, data, body) + b"\n" + body)
            os.replace(part, path)
            _forget_old(os.path.dirname(path))
        except OSError:
            return

    def _path(self, name: str) -> str:
        key = _digest(os.path.abspath(name).encode("utf-8", "surrogateescape"))
        return os.path.join(self.folder, key[:_SHARD], key[_SHARD:])

    def _head(self, name: str, data: bytes, body: bytes) -> bytes:
        parts = (name.encode("utf-8", "surrogateescape"), data, self.program, body)
        # Lengths keep the parts apart: else a name that ends like a file begins could stand for another pair.
        return _digest(b"".join(len(part).to_bytes(8, "big") + part for part in parts)).encode()


def cache_in(folder: str) -> Cache:
    """The cache in a folder."""
    return Cache(folder, _program())


def folder_of(home: str) -> str:
    """Where entries are kept: beside a configuration, without one in the user's cache folder (XDG base directories)."""
    if home:
        return os.path.join(home, FOLDER)
    folder = os.environ.get("XDG_CACHE_HOME", "")
    return os.path.join(folder if os.path.isabs(folder) else os.path.expanduser("~/.cache"), "noetlc")


def _program() -> bytes:
    """The state that tells this program from another version of it: the names, sizes and times of its modules and
    of the folders that other packages are installed in.
    """
    import noetl_ir

    parts = [_FORMAT, sys.version]
    waiting = [os.path.dirname(os.path.dirname(os.path.abspath(__file__))), *noetl_ir.__path__]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.name == "__pycache__":
                    continue
                if entry.is_dir():
                    waiting.append(entry.path)
                else:
                    about = entry.stat()
                    # Sizes and times instead of contents: to read all modules would take longer than to check a small
                    # file.
                    parts.append(f"{entry.path} {about.st_size} {about.st_mtime_ns}")
    for place in sys.path:
        # A package that is installed may bring kinds of tools, by which other fields are known.
        if os.path.isdir(place) and place.endswith("-packages"):
            parts.append(f"{place} {os.stat(place).st_mtime_ns}")
    return _digest("\n".join(sorted(parts)).encode("utf-8", "surrogateescape")).encode()


def _digest(data: bytes) -> str:
    from hashlib import blake2b

    return blake2b(data, digest_size=20).hexdigest()


def _make(folder: str, shard: str) -> None:
    """Make the folders, and keep version control and backups out of them (https://bford.info/cachedir/)."""
    if os.path.isdir(shard):
        return
    os.makedirs(shard, exist_ok=True)
    for name, text in ((".gitignore", "*\n"), ("CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n")):
        path = os.path.join(folder, name)
        if not os.path.exists(path):
            with open(path, "w", encoding="ascii") as file:
                file.write(text)


def _forget_old(shard: str) -> None:
    """Delete entries that nobody wrote for a month, where there are many."""
    names = os.listdir(shard)
    if len(names) <= _MANY:
        return
    from time import time

    limit = time() - _DAYS * 86400
    for name in names:
        path = os.path.join(shard, name)
        if os.stat(path).st_mtime < limit:
            os.remove(path)


def _frozen(kept: CachedFile) -> bytes:
    if not kept.findings and not kept.ignored and not kept.children:
        return _EMPTY
    import json

    fixes: dict[Fix, int] = {}  # many findings may share one
    rows = []
    for one in kept.findings:
        fix = one.diagnostic.fix
        number = -1 if fix is None else fixes.setdefault(fix, len(fixes))
        rows.append((one.slug, one.address, one.diagnostic._replace(fix=None), number))
    return json.dumps([kept.ignored, rows, list(fixes), kept.children]).encode()


def _thawed(name: str, body: bytes) -> CachedFile | None:
    import json

    try:
        ignored, rows, written, children = json.loads(body)
        fixes = [_fix(*row) for row in written]
        found = [
            Reported(name, slug, address, _diagnostic(row, fixes[number] if number >= 0 else None))
            for slug, address, row, number in rows
        ]
        return CachedFile(tuple(found), ignored, tuple([(str(path), str(state)) for path, state in children]))
    # A digest can be right and the shape old, where `_FORMAT` was forgotten: then the file is checked anew.
    except (ValueError, TypeError, LookupError, RecursionError):
        return None


def _fix(span: object, text: str, title: str, safe: bool, rest: Sequence[Sequence[object]]) -> Fix:
    return Fix(_span(span), text, title, safe, tuple([(_span(place), str(part)) for place, part in rest]))


def _diagnostic(row: Sequence[object], fix: Fix | None) -> Diagnostic:
    code, severity, message, span, help, related, _, run = row
    assert isinstance(related, list) and isinstance(run, list) and isinstance(severity, int)
    return Diagnostic(
        str(code), Severity(severity), str(message), _span(span), str(help),
        tuple([Related(_span(place), text) for place, text in related]), fix, tuple(run),
    )  # fmt: skip


def _span(parts: object) -> Span:
    assert isinstance(parts, list)
    return Span(*parts)
