"""Words of a command line that are no UTF-8: told as that, whoever keeps the store."""

from typing import TYPE_CHECKING

import pytest

from noetl.ports import StoreFailure
from noetl.store.http import Connection

if TYPE_CHECKING:
    from conftest import Home

BYTES = "a\udcff"
"""As Python has the bytes `a\\xff` of a command line."""

COMMANDS = (
    ("status",), ("events",), ("cancel",), ("triggers", "show"), ("schedules", "pause"), ("notifications", "delete"),
    ("namespaces", "pause"),
    ("audit", "--subject"), ("audit", "--who"), ("list", "--query"), ("playbooks",), ("workers", "drain"),
)  # fmt: skip


def test_a_server_is_not_asked_for_what_is_no_text(home: "Home") -> None:
    with home.serving() as (_, url):
        told = [home.run(*words, BYTES, "--server", url) for words in COMMANDS]
        (document,) = [home.run("audit", "--json", "--subject", BYTES, "--server", url)]
    for words, done in zip(COMMANDS, told, strict=True):
        assert done.returncode == 1, (words, done.stderr)
        assert "internal error" not in done.stderr and "no address" not in done.stderr, words
        assert "UTF-8" in done.stderr or "cannot be asked for that: 'utf-8' codec" in done.stderr, words
    assert '"error"' in document.stdout and document.returncode == 1


def test_a_store_has_no_name_that_is_no_text(home: "Home") -> None:
    done = home.run("credential", "add", BYTES, stdin="{}")
    assert done.returncode == 1 and r"`a\udcff` is no UTF-8" in done.stderr


@pytest.mark.parametrize(
    ("url", "path", "said"),
    [
        ("http://127.0.0.1:1", "/a\ud800", "cannot be asked for that"),
        ("http://127.0.0.1:1", "/" + "a" * 70_000, "cannot be asked for that"),
        ("http://[::1", "/a", "is no address of a server"),
    ],
)
def test_what_is_wrong_is_said_of_the_right_part(url: str, path: str, said: str) -> None:
    with pytest.raises(StoreFailure, match=said):
        Connection(url).ask("GET", path)
