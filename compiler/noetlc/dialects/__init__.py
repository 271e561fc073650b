"""The canonical form: which reader takes which key, one module per version. The older dialects are `noetlc.older`.

Constructs are recognised one by one and mix freely in a file, so the tables of all dialects are put together
(`merged_tables`) and a file is never sorted into one of them.
"""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from noetl_ir import registry
from noetl_ir.records import NamedTuple
from noetlc.reading.reader import Tables

PACKAGE = "noetlc.dialects"


class Dialect(NamedTuple):
    """`tables` are read; `legacy` is recognised by name and refused: the keys of each scope."""

    title: str
    tables: Tables = Tables()
    legacy: Mapping[str, tuple[str, ...]] = MappingProxyType({})


@cache
def canonical() -> Tables:
    """The tables of the canonical forms alone: what source has after every lowering."""
    return merged_tables(dialects_of(PACKAGE))


def dialects_of(package: str) -> list[Dialect]:
    """The dialects of a package, each of which a module exports as `DIALECT`, in the order of their names."""
    # Found by existing, as kinds and rules are: a dialect is added by its module alone.
    return [registry.load(package, name, "DIALECT", Dialect) for name in registry.names(package)]


def merged_tables(dialects: list[Dialect]) -> Tables:
    """The tables of several dialects as one. Raises `ValueError` where two take the same key."""
    # By the names of the scopes, so that a new scope is merged without a line here.
    found = {scope: _merged([getattr(dialect.tables, scope) for dialect in dialects]) for scope in Tables._fields}
    return Tables(**found)  # type: ignore[arg-type]


def _merged(tables: list[dict[str, object]]) -> dict[str, object]:
    """The keys of all tables of one scope; no two dialects may take the same key."""
    found: dict[str, object] = {}
    for table in tables:
        twice = found.keys() & table.keys()
        # Which of two readers takes a key must not depend on the order of their names.
        if twice:
            raise ValueError(f"two dialects take {sorted(twice)}")
        found.update(table)
    return found
