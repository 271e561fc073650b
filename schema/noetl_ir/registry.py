"""Find a part by its module name: a part is registered by existing.

`names` lists the modules of a package without importing them; `load` imports one and checks what it exports.
This is the only place of the project that imports by a computed name, so what a playbook writes can reach
nothing but modules of the given package and installed entry points. Third parties add parts through entry
points (`GROUPS`); a part of ours always wins over an entry point of the same name.
"""

import os
import re
from collections.abc import Iterator
from importlib import import_module
from importlib.machinery import all_suffixes
from types import ModuleType
from typing import TypeVar

from noetl_ir.patterns import LatePattern

GROUPS = {"noetl_ir.kinds": "noetl.kinds", "noetl.tools": "noetl.tools"}
"""Package → the entry-point group that adds to it. An entry point names a module or an object in one."""

_SUFFIXES = frozenset(all_suffixes())

_Part = TypeVar("_Part")

_REQUIREMENT = LatePattern(
    r"\s*([A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)\s*(?:\[[\w\s,.-]*\])?\s*(?:[<>=!~][^;]*)?", re.ASCII
)


class MissingPart(LookupError):
    """There is no part of that name: neither a module of the package nor an entry point of its group."""


def names(package: str, group: str = "") -> tuple[str, ...]:
    """The names of a package's parts, sorted, and those of the entry points of `group` where one is given.

    Imports the package but none of its modules. Names with a leading underscore are private and left out.
    """
    found = {name for folder in import_module(package).__path__ for name in _listed(folder)}
    if group:
        from importlib.metadata import entry_points

        found |= {point.name for point in entry_points(group=group)}
    return tuple(sorted(name for name in found if not name.startswith("_")))


def _listed(folder: str) -> Iterator[str]:
    """The names of the modules in a folder, or in what stands for one, as in an archive."""
    try:
        files = os.listdir(folder)
    except OSError:
        from pkgutil import iter_modules

        yield from (part.name for part in iter_modules([folder]))
        return
    for file in files:  # `pkgutil` lists them so too, and imports all of `inspect` for it
        name, dot, suffix = file.partition(".")
        own = f"{dot}{suffix}" in _SUFFIXES if dot else _is_package(os.path.join(folder, name))
        if own and name.isidentifier() and name != "__init__":
            yield name


def _is_package(folder: str) -> bool:
    return any(os.path.exists(os.path.join(folder, f"__init__{suffix}")) for suffix in _SUFFIXES)


def load(package: str, name: str, attribute: str, expected: type[_Part]) -> _Part:
    """The object that part `name` of `package` exports as `attribute`, an `expected`.

    Raises `MissingPart` where there is no such part and `TypeError` where it exports nothing, or something
    else, under that name. What goes wrong while its module is imported is raised as it is.
    """
    # Ours first: an installed package must not take the place of a kind by its name.
    part = _own(package, name) or _foreign(package, name)
    found = getattr(part, attribute, None) if isinstance(part, ModuleType) else part
    if not isinstance(found, expected):
        raise TypeError(f"{package}: {attribute} of {name!r} is not a {expected.__name__}: {found!r}")
    return found


def is_module(name: str) -> bool:
    """Whether a name may be that of a module; a distribution may have other names too."""
    return all(part.isidentifier() for part in name.split("."))


def distribution_of(requirement: str) -> str:
    """The distribution that a requirement names (`psycopg2-binary>=2.9`), "" where it is none."""
    found = _REQUIREMENT.fullmatch(requirement)
    return found[1] if found is not None else ""


def can_import(module: str) -> bool:
    """Whether a module is installed; it is not imported, but for the package that it is in."""
    from importlib.util import find_spec

    try:
        return find_spec(module) is not None
    except (ModuleNotFoundError, ValueError):
        return False


def folders_of(package: str) -> tuple[str, ...]:
    """The folders of an installed package, which is not imported; none where it is not installed."""
    from importlib.util import find_spec

    found = find_spec(package)
    return tuple(found.submodule_search_locations or ()) if found else ()


def modules_of(requirement: str) -> tuple[str, ...]:
    """The modules at the top of an installed distribution, sorted; none where it is not installed."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        found = distribution(distribution_of(requirement) or " ")
    except (PackageNotFoundError, ValueError):
        return ()
    # Not every build tool writes that file; without it the names of the files tell.
    listed = found.read_text("top_level.txt")
    tops = listed.split() if listed else [file.parts[0].removesuffix(".py") for file in found.files or ()]
    return tuple(sorted({top for top in tops if top.isidentifier() and not top.startswith("_")}))


def _own(package: str, name: str) -> ModuleType | None:
    """The module of the package, or None. A dotted name would reach outside of the package."""
    if not name.isidentifier() or name.startswith("_"):
        return None
    path = f"{package}.{name}"
    try:
        return import_module(path)
    except ModuleNotFoundError as error:
        if error.name != path:  # the part is there, and something that it needs is not
            raise
        return None


def _foreign(package: str, name: str) -> object:
    """The object that the entry point of that name stands for; of several, the first by its value."""
    group = GROUPS.get(package)
    if group is not None:
        from importlib.metadata import entry_points

        # Sorted, since the order of installed packages differs from machine to machine.
        points = sorted(entry_points(group=group, name=name), key=lambda point: point.value)
        if points:
            return points[0].load()
    raise MissingPart(f"{package} has no {name!r}")
