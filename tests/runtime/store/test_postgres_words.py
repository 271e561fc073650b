"""The texts of a PostgreSQL store: errors in plain words, never a password; and the text that it keeps."""

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg import errors

from noetl.ports import StoreFailure
from noetl.store.postgres import open_store
from noetl.store.postgres.address import address_of
from noetl.store.postgres.failures import LOST, TEXTS, failure, is_passing
from noetl.store.postgres.texts import read, written


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://joe:hunter22@127.0.0.1:1/db",
        "postgresql://joe:hunter22@127.0.0.1:1/db?nonsense=hunter22",
        "postgresql://joe:hunter22@[::1/db",
        "postgresql://joe:hunt/er22@h/db",
        "postgresql://127.0.0.1:1/db?password=hunter22&user=joe",
        "postgresql://joe:hunter22@h/db?schema=No!",
        "postgresql://",
        "mysql://joe:hunter22@h/db",
    ],
)
def test_a_password_is_in_no_message(url: str) -> None:
    with pytest.raises(StoreFailure) as raised:
        open_store(url)
    assert "hunt" not in str(raised.value) and "er22" not in str(raised.value)


def test_a_password_is_cut_out_of_the_drivers_words() -> None:
    address = address_of("postgresql://joe:hunter22@h:5/db")
    told = str(failure(psycopg.OperationalError("no entry for joe with\nhunter22"), address))
    assert told == f"postgresql://h:5/db: {LOST} [no entry for joe with ***]"


def test_every_error_of_postgresql_has_words() -> None:
    """The table of translations: whole codes before their classes, and errors that have none."""
    address = address_of("postgresql://h/db")
    for code, text in TEXTS.items():
        error = psycopg.Error("driver's words")
        error.sqlstate = code.ljust(5, "0")
        assert str(failure(error, address)) == f"postgresql://h/db: {text} [driver's words]"
    error.sqlstate = "ZZ000"
    assert str(failure(error, address)) == "postgresql://h/db: PostgreSQL failed [driver's words]"
    assert str(failure(psycopg.ProgrammingError("odd"), address)) == "postgresql://h/db: the driver failed [odd]"
    with pytest.raises(UnicodeError) as raised:
        "\ud800".encode()
    assert "not text" in str(failure(raised.value, address))
    assert "larger" in str(failure(OverflowError("int too large"), address))


@pytest.mark.parametrize(
    ("error", "text", "passes"),
    [
        (errors.DiskFull, "disk", False),
        (errors.InsufficientPrivilege, "may not", False),
        (errors.UndefinedTable, "tables of a store", False),
        (errors.ReadOnlySqlTransaction, "read-only", False),
        (errors.DataCorrupted, "damaged", False),
        (errors.QueryCanceled, "too long", False),
        (errors.TooManyConnections, "too many connections", True),
        (errors.AdminShutdown, "shutting down", True),
        (errors.CannotConnectNow, "starting up", True),
        (errors.SerializationFailure, "in the way", True),
        (errors.ConnectionFailure, "lost", True),
        (psycopg.OperationalError, LOST, True),
    ],
)
def test_the_errors_that_matter_are_in_the_table(error: type[psycopg.Error], text: str, passes: bool) -> None:
    made = error("x")
    assert text in str(failure(made, address_of("postgresql://h/db")))
    assert is_passing(made) is passes


@given(st.text(st.sampled_from("a\\\0" + "0é"), max_size=8), st.text(st.sampled_from("a\\\0" + "0é"), max_size=8))
def test_any_text_can_be_stored_and_none_is_mistaken_for_another(one: str, other: str) -> None:
    assert read(written(one)) == one and "\0" not in written(one)
    assert (written(one) == written(other)) is (one == other)


def test_a_store_has_a_namespace_of_its_own() -> None:
    assert address_of("postgresql://h/db").namespace == '"noetl"'
    named = address_of("postgres://u@h:5/db?schema=user&sslmode=require")
    assert (named.namespace, named.shown) == ('"user"', "postgresql://h:5/db?schema=user")
    assert named.parameters == {"host": "h", "port": "5", "dbname": "db", "user": "u", "sslmode": "require"}
