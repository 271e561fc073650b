"""The configuration of lint: `noetlc.toml`, or `[tool.noetlc]` in `pyproject.toml`, the nearest above a file.

Keys: `select`, `ignore`, `per-file-ignores`, `strict`, `fail-on`, `baseline`, `cache-dir`. Paths and patterns are
relative to the folder of the configuration. What is no key, or has another type, is wrong usage with its place.
"""

import os
import re
from collections.abc import Callable
from typing import NoReturn, TypeAlias

from noetl_cli import lazy_click as click
from noetl_ir.nearest import nearest
from noetl_ir.records import NamedTuple
from noetlc.cli.files import read
from noetlc.cli.findings import FAIL_ON

OWN, SHARED = "noetlc.toml", "pyproject.toml"
_TABLE = rb"""(?m)tool["']?\s*\.\s*["']?noetlc|^\s*\[\s*["']?tool["']?\s*\]|^\s*["']?tool["']?\s*="""
"""What a `pyproject.toml` with a table of ours has: only such a one is worth reading as TOML."""


class Configuration(NamedTuple):
    """The settings of a configuration. `home` is its folder, "" without one; `select` of nothing is all."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file: tuple[tuple[str, tuple[str, ...]], ...] = ()
    fail_on: str = "error"
    baseline: str = ""
    cache: str = ""
    home: str = ""
    file: str = ""

    def ignored_in(self, name: str) -> tuple[str, ...]:
        """The codes that are ignored in a file of that name."""
        if not self.per_file:
            return self.ignore
        from fnmatch import fnmatchcase

        inside = os.path.relpath(name, self.home or ".").replace(os.sep, "/")
        last = os.path.basename(name)
        # Patterns fit the path from the configuration, or the name alone, as `*_test.yaml`.
        fitting = [
            words for pattern, words in self.per_file if fnmatchcase(inside, pattern) or fnmatchcase(last, pattern)
        ]
        return (*self.ignore, *(word for words in fitting for word in words))


class Configurations:
    """Finds the configuration of each file; each is read once. With `only` it is that file for all."""

    def __init__(self, only: str = "") -> None:
        self._only = _read_file(only) if only else None
        self._known: dict[str, Configuration] = {}

    def settings_of(self, name: str) -> Configuration:
        """The settings for a file, `-` being in the current folder."""
        return self._only or self._above(os.path.dirname(os.path.abspath(name)))

    def _above(self, folder: str) -> Configuration:
        passed = []
        found: Configuration | None = None
        while found is None:
            if folder in self._known:
                found = self._known[folder]
                break
            passed.append(folder)
            found = _in(folder)
            above = os.path.dirname(folder)
            if found is None and above == folder:
                found = Configuration()
            folder = above
        # All folders on the way up are known from now on: a thousand files of a tree ask for each once.
        self._known.update(dict.fromkeys(passed, found))
        return found


def _in(folder: str) -> Configuration | None:
    """The settings that a folder has itself."""
    own, shared = os.path.join(folder, OWN), os.path.join(folder, SHARED)
    if os.path.isfile(own):
        return _read_file(own)
    if os.path.isfile(shared):
        data = read(shared)
        # A look at the bytes spares the import of `tomllib` in projects that configure other tools there.
        if re.search(_TABLE, data):
            tool = _toml(shared, data).get("tool")
            if isinstance(tool, dict) and "noetlc" in tool:
                return _settings(shared, data, tool["noetlc"])
    return None


def _read_file(name: str) -> Configuration:
    data = read(name)
    table = _toml(name, data)
    if os.path.basename(name) == SHARED:
        tool = table.get("tool")
        if not isinstance(tool, dict) or "noetlc" not in tool:
            raise click.UsageError(f"{_near(name)}: there is no [tool.noetlc]")
        return _settings(name, data, tool["noetlc"])
    return _settings(name, data, table)


def _toml(name: str, data: bytes) -> dict[str, object]:
    import tomllib

    try:
        return tomllib.loads(data.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise click.UsageError(f"{_near(name)}: {problem}") from None


def _settings(name: str, data: bytes, table: object) -> Configuration:
    where = _Where(_near(name), data.decode("utf-8"))
    if not isinstance(table, dict):
        where.fail("noetlc", "`[tool.noetlc]` must be a table")
    home = os.path.dirname(os.path.abspath(name))
    found = Configuration(home=home, file=_near(name))
    for key, value in table.items():
        if key not in _KEYS:
            near = nearest(key, _KEYS)
            where.fail(key, f"unknown key `{key}`" + (f"; did you mean `{near}`?" if near else ""))
        found = _KEYS[key](found, value, _Key(where, key))
    return found


class _Where(NamedTuple):
    """A configuration: what it is called and its text."""

    name: str
    text: str

    def fail(self, key: str, message: str) -> NoReturn:
        """Say what is wrong with a key: wrong usage."""
        # The reader of TOML gives no places; the first use of the key is nearly always the right one.
        written = re.search(rf"""(?<![\w-])["']?{re.escape(key)}["']?\s*[=\].]""", self.text)
        line = f":{self.text.count(chr(10), 0, written.start()) + 1}" if written else ""
        raise click.UsageError(f"{self.name}{line}: {message}")


class _Key(NamedTuple):
    """A key of a configuration, to check its value."""

    where: _Where
    name: str

    def words(self, value: object) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
            self.where.fail(self.name, f'`{self.name}` must be a list of codes, as ["NL601"]')
        return tuple(value)

    def path(self, value: object, home: str) -> str:
        if not isinstance(value, str) or not value or "\0" in value:
            self.where.fail(self.name, f"`{self.name}` must be a path")
        return _near(os.path.join(home, value))


def _strict(found: Configuration, value: object, key: _Key) -> Configuration:
    if not isinstance(value, bool):
        key.where.fail(key.name, "`strict` must be true or false")
    return found._replace(fail_on="note") if value else found


def _fail_on(found: Configuration, value: object, key: _Key) -> Configuration:
    if value not in FAIL_ON:
        key.where.fail(key.name, f"`fail-on` must be one of {', '.join(FAIL_ON)}")
    # `strict` says more, wherever in the file it stands.
    return found if found.fail_on == "note" else found._replace(fail_on=str(value))


def _per_file(found: Configuration, value: object, key: _Key) -> Configuration:
    if not isinstance(value, dict):
        key.where.fail(key.name, "`per-file-ignores` must be a table of patterns")
    rows = tuple((str(pattern), _Key(key.where, str(pattern)).words(words)) for pattern, words in value.items())
    return found._replace(per_file=rows)


_Setter: TypeAlias = Callable[[Configuration, object, _Key], Configuration]
_KEYS: dict[str, _Setter] = {
    "select": lambda found, value, key: found._replace(select=key.words(value)),
    "ignore": lambda found, value, key: found._replace(ignore=key.words(value)),
    "per-file-ignores": _per_file,
    "strict": _strict,
    "fail-on": _fail_on,
    "baseline": lambda found, value, key: found._replace(baseline=key.path(value, found.home)),
    "cache-dir": lambda found, value, key: found._replace(cache=key.path(value, found.home)),
}


def _near(name: str) -> str:
    """A path as short as it can be told: from the current folder where it is inside of it."""
    inside = os.path.relpath(name)
    return name if inside.startswith(os.pardir) else inside
