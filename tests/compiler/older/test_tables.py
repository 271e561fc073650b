"""The tables of all dialects fit together."""

from noetlc.dialects import dialects_of
from noetlc.older import PACKAGE, combined
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
    for dialect in dialects_of(PACKAGE):
        for keys in dialect.legacy.values():
            assert all(dialect.title in construct for construct in keys.values())
