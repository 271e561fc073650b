"""The contract of every dialect, kept by being there: tables, a golden, and canonical source that stays as it is."""

from collections.abc import Iterator

import pytest

import goldens
from noetl_ir import registry
from noetlc import dialects, older
from noetlc.ast.printing import printed
from noetlc.ast.walk import sugar_in
from noetlc.diag.diagnostic import Severity
from noetlc.dialects import Dialect
from noetlc.pipeline import check_source, compile_source, understood
from noetlc.reading.reader import Reader, Tables
from noetlc.source.nodes import Mapping, Node, Sequence
from noetlc.source.yaml_reader import read_yaml

PACKAGES = {name: package for package in (dialects.PACKAGE, older.PACKAGE) for name in registry.names(package)}
DIALECTS = sorted(PACKAGES)
CASES = [case for case in goldens.cases() if case.stage == "dialects"]


def dialect_of(name: str) -> Dialect:
    return registry.load(PACKAGES[name], name, "DIALECT", Dialect)


def keys_in(node: Node | None) -> Iterator[str]:
    """Every key of a document, wherever it stands."""
    if isinstance(node, Mapping):
        for key, value in node.entries:
            yield key.text
            yield from keys_in(value)
    elif isinstance(node, Sequence):
        for item in node.items:
            yield from keys_in(item)


def own_keys(name: str) -> set[str]:
    """The keys that this dialect takes; forms of tasks are no keys."""
    tables = dialect_of(name).tables
    scopes = [scope for scope in Tables._fields if scope != "task_forms"]
    return {key for scope in scopes for key in getattr(tables, scope)}


@pytest.mark.parametrize("name", DIALECTS)
def test_a_dialect_has_a_title_and_reads_something(name: str) -> None:
    dialect = dialect_of(name)
    assert dialect.title
    assert any(getattr(dialect.tables, scope) for scope in Tables._fields)


@pytest.mark.parametrize("name", DIALECTS)
def test_a_dialect_has_a_golden(name: str) -> None:
    shows = _shows if own_keys(name) else _has_form
    assert any(shows(case, name) for case in CASES), f"nothing under golden/dialects is written in {name}"


def _document(case: goldens.Case) -> Node | None:
    return read_yaml(case.path.name, case.path.read_bytes()).documents[0]


def _shows(case: goldens.Case, name: str) -> bool:
    return bool(own_keys(name) & set(keys_in(_document(case))))


def _has_form(case: goldens.Case, name: str) -> bool:
    """Whether some task of a golden is written in a form that this dialect recognises."""
    reading = read_yaml(case.path.name, case.path.read_bytes())
    dialect = dialect_of(name)
    r = Reader(reading.source, dialect.tables, {})
    return any(
        form(r, 0, item) is not None
        for item in _items(reading.documents[0])
        for form in dialect.tables.task_forms.values()
    )


def _items(node: Node | None) -> Iterator[Mapping]:
    """The mappings that are items of lists."""
    if isinstance(node, Mapping):
        for _, value in node.entries:
            yield from _items(value)
    elif isinstance(node, Sequence):
        for item in node.items:
            if isinstance(item, Mapping):
                yield item
            yield from _items(item)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_golden_compiles_to_canonical_source_that_passes_unchanged(case: goldens.Case) -> None:
    compiled = compile_source(case.path.name, case.path.read_bytes())
    assert [found for found in compiled.diagnostics if found.severity >= Severity.ERROR] == []
    reading = read_yaml(case.path.name, case.path.read_bytes())
    playbook = understood(reading.source, reading.documents[0]).playbook
    assert playbook is not None
    text = printed(playbook)
    again = read_yaml("again.yaml", text.encode())
    second = understood(again.source, again.documents[0])
    assert second.playbook is not None
    assert second.changes == ()
    assert list(sugar_in(second.playbook)) == []
    assert printed(second.playbook) == text
    assert check_source("again.yaml", text.encode()).count_of(Severity.ERROR) == 0
