"""The tables of all dialects, and that of the passes, fit together."""

import sys
from collections.abc import Iterator
from importlib import import_module
from pkgutil import walk_packages
from subprocess import run

import noetlc.older
from nets import HEAD, steps
from noetl_ir import registry
from noetlc.ast.sugar import Sugar
from noetlc.dialects import dialects_of
from noetlc.older import LOWERING, PACKAGE, combined
from noetlc.reading.reader import SCOPE_NAMES, Tables


def test_every_scope_is_read_by_some_dialect() -> None:
    tables, _ = combined()
    assert [scope for scope in Tables._fields if not getattr(tables, scope)] == []


def test_what_is_read_is_not_refused() -> None:
    tables, legacy = combined()
    for scope, keys in legacy.items():
        assert not getattr(tables, scope, {}).keys() & keys.keys(), scope
        assert scope in SCOPE_NAMES


def test_a_refused_construct_names_its_dialect() -> None:
    _, legacy = combined()
    titles = [dialect.title for dialect in dialects_of(PACKAGE)]
    for keys in legacy.values():
        assert all(key in construct and any(title in construct for title in titles) for key, construct in keys.items())


def test_every_key_of_an_older_dialect_has_its_reader() -> None:
    for dialect in dialects_of(PACKAGE):
        for take in [take for table in dialect.tables for take in table.values()]:
            if take.__module__.startswith("noetlc.older."):
                home = import_module(take.__module__)
                assert callable(getattr(home, take.__name__, None)), (take.__module__, take.__name__)


def test_the_table_of_passes_names_the_nodes_that_there_are() -> None:
    """Every node is removed by one row, and every name in a row is that of a node."""
    for found in walk_packages(noetlc.older.__path__, "noetlc.older."):
        import_module(found.name)
    nodes = {kind.__name__ for kind in _subclasses(Sugar) if kind.__module__.startswith("noetlc.")} - {
        "HasBodies",
        "Guess",
    }  # bases
    removed = [name for row in LOWERING for name in row.removes]
    assert sorted([*removed, "Route"]) == sorted(nodes), "`next` in a chain goes with its case"
    assert {name for row in LOWERING for name in row.among} <= nodes


def _subclasses(kind: type) -> Iterator[type]:
    for below in kind.__subclasses__():
        yield below
        yield from _subclasses(below)


def test_a_canonical_playbook_starts_without_the_constructs_of_older_dialects() -> None:
    text = HEAD + steps("step: start, tool: {kind: http, url: x}, next: {arcs: [{step: end}]}", "step: end")
    code = (
        "import sys; from noetlc.pipeline import compile_source\n"
        "assert compile_source('t.yaml', sys.stdin.buffer.read()).plans\n"
        "print(*sorted(name[13:] for name in sys.modules if name.startswith('noetlc.older.')))"
    )
    done = run([sys.executable, "-c", code], input=text, capture_output=True, text=True, check=True)
    # What every playbook needs: the names that may be absent; and what the pass over one with a task of http does.
    for_http = {
        "absent",
        "http_paths",
        "http_keys",
        "http_status",
        "events",
        "legacy_names",
        "nearer",
        "case",
        "case.nodes",
        "page_nodes",
        "repetition",
    }
    tables = {"passes", "hints", "loose", "dialects", *(f"dialects.{name}" for name in registry.names(PACKAGE))}
    assert set(done.stdout.split()) - tables - for_http == set()
