"""The forms that playbooks are written in: which reader takes which key, one module per dialect.

Constructs are recognised one by one and mix freely in a file, so the tables of all dialects are put together
and a file is never sorted into one of them. A dialect that is only recognised lists its keys under `legacy`;
when its readers are written they move into its `tables`, and nothing else changes.
"""

from functools import cache
from types import MappingProxyType

from noetl_ir import registry
from noetl_ir.rows import NamedTuple
from noetlc.ast.playbook import Playbook
from noetlc.reading.document import read_document
from noetlc.reading.reader import Legacy, Reader, Tables
from noetlc.source.nodes import Node
from noetlc.source.text import Source

PACKAGE = "noetlc.dialects"
CANONICAL = ("v2", "v10")


class Dialect(NamedTuple):
    """`tables` are read; `legacy` is recognised by name and refused, scope → key → what the construct is
    called.
    """

    title: str
    tables: Tables = Tables()
    legacy: Legacy = MappingProxyType({})


def reader_of(source: Source) -> Reader:
    """A reader of a file for all dialects at once."""
    return Reader(source, *combined())


def read_playbook(r: Reader, node: Node | None) -> Playbook | None:
    """The playbook in one document, with the sugar of all dialects; the reader collects what there is to say about
    its form.

    Never raises. With an error among the findings the tree holds what could be understood; it is None where
    the document is no mapping.
    """
    return read_document(r, node)


@cache
def combined() -> tuple[Tables, Legacy]:
    """The tables of all dialects, and what is recognised by some and read by none."""
    found = [registry.load(PACKAGE, name, "DIALECT", Dialect) for name in registry.names(PACKAGE)]
    merged = _tables(found)
    legacy: dict[str, dict[str, str]] = {}
    for dialect in found:
        for scope, keys in dialect.legacy.items():
            taken = merged.get(scope, {})
            own = legacy.setdefault(scope, {})
            own.update({key: name for key, name in keys.items() if key not in taken and key not in own})
    return Tables(**merged), legacy  # type: ignore[arg-type]


@cache
def canonical() -> Tables:
    """The tables of the canonical forms alone: what source has after every lowering."""
    return Tables(**_tables([registry.load(PACKAGE, name, "DIALECT", Dialect) for name in CANONICAL]))  # type: ignore[arg-type]


def _tables(dialects: list[Dialect]) -> dict[str, dict[str, object]]:
    return {scope: _merged([getattr(dialect.tables, scope) for dialect in dialects]) for scope in Tables._fields}


def _merged(tables: list[dict[str, object]]) -> dict[str, object]:
    """The keys of all tables of one scope; no two dialects may take the same key."""
    found: dict[str, object] = {}
    for table in tables:
        twice = found.keys() & table.keys()
        if twice:
            raise ValueError(f"two dialects take {sorted(twice)}")
        found.update(table)
    return found
