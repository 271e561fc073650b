"""The contract of every keeper of blobs, whichever it is: the promises of `noetl.ports.Blobs`."""

import hashlib
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.adapters import adapters_with, opening
from noetl.ports import Blobs, Collectable
from noetl.ports.purges import Removable
from noetl_ir.outcome import is_reference

Open = Callable[[], Blobs]


@pytest.fixture(params=adapters_with("open_blobs"))
def open_blobs(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    """Opens the same blobs again and again."""
    with opening(request.param, "open_blobs", {"files": f"files:///{tmp_path}/deep/blobs"}) as opener:
        yield opener


@pytest.fixture
def blobs(open_blobs: Open) -> Blobs:
    """The blobs, open."""
    return open_blobs()


@pytest.mark.parametrize("data", [b"", b"x", bytes(range(256)) * 5_000])
def test_what_was_put_is_got(open_blobs: Open, data: bytes) -> None:
    reference = open_blobs().put("e1", data)
    assert is_reference(reference)
    assert reference["size"] == len(data)
    assert reference["checksum"] == hashlib.sha256(data).hexdigest()
    assert open_blobs().get(reference) == data


def test_a_repeat_gives_the_same_reference(blobs: Blobs) -> None:
    first = blobs.put("e1", b"x")
    assert blobs.put("e1", b"x") == first
    assert blobs.put("e1", b"y") != first
    assert blobs.get(blobs.put("e2", b"x")) == blobs.get(first) == b"x"


@pytest.mark.parametrize("name", ["../up", "/etc", "a/b", "", ".", "..", "a\0b", "ü" * 300, "\ud800", "=" * 70])
def test_any_execution_id_does(blobs: Blobs, name: str) -> None:
    assert blobs.get(blobs.put(name, b"x")) == b"x"


def test_a_blob_that_is_not_there_is_a_key_error(blobs: Blobs) -> None:
    reference = blobs.put("e1", b"x")
    checksum = hashlib.sha256(b"other").hexdigest()
    key = str(reference["key"]).replace(str(reference["checksum"]), checksum)
    with pytest.raises(KeyError):
        blobs.get({**reference, "key": key, "checksum": checksum})


@pytest.mark.parametrize(
    "change",
    [
        {"size": 2},
        {"size": None},
        {"checksum": "0" * 64},
        {"checksum": None},
        {"key": None},
        {"key": ""},
        {"key": "../../etc/passwd", "checksum": "../etc/passwd"},
        {"key": "../passwd", "checksum": "passwd"},
        {"key": "e1/../x", "checksum": "../x"},
        {"key": "e1/", "checksum": ""},
        {"key": ["e1"]},
        {"key": "e1/\0", "checksum": "\0"},
    ],
)
def test_a_reference_that_was_tampered_with_is_a_key_error(blobs: Blobs, change: dict[str, object]) -> None:
    reference: dict[str, object] = {**blobs.put("e1", b"x"), **change}
    with pytest.raises(KeyError):
        blobs.get(reference)  # type: ignore[arg-type]


def test_threads_may_put_the_same_blob_at_once(blobs: Blobs) -> None:
    found: list[dict[str, object]] = []
    threads = [threading.Thread(target=lambda: found.append({**blobs.put("e1", b"z" * 100_000)})) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [found[0]] * 8
    assert blobs.get(blobs.put("e1", b"z" * 100_000)) == b"z" * 100_000


@pytest.fixture
def collected(blobs: Blobs) -> Collectable:
    """Blobs that can be collected. Skips where there is nothing that outlives the process."""
    if not isinstance(blobs, Collectable):
        pytest.skip("nothing stays there")
    return blobs


def mine(blobs: Collectable, *ids: str) -> list[str]:
    """Which of some executions are not collected; others may be in the same database."""
    found, after = list[str](), ""
    while page := blobs.uncollected(after, 2):
        assert [*page] == sorted(page) and page[0] > after
        found, after = [*found, *page], page[-1]
    return [name for name in found if name in ids]


def test_what_is_collected_is_gone_and_the_rest_stays(blobs: Blobs, collected: Collectable) -> None:
    one, two, three = (f"c{number}-{os.urandom(4).hex()}" for number in range(3))
    kept, dropped = blobs.put(one, b"kept"), blobs.put(one, b"dropped")
    other = blobs.put(two, b"dropped")
    blobs.put(three, b"x")
    assert mine(collected, one, two, three) == [one, two, three]
    assert collected.names(one) == {kept["checksum"], dropped["checksum"]}
    assert collected.content(one, str(kept["checksum"])) == b"kept"
    assert collected.collect(one, [str(dropped["checksum"])]) == len(b"dropped")
    assert (blobs.get(kept), blobs.get(other)) == (b"kept", b"dropped")
    with pytest.raises(KeyError, match="gone"):
        blobs.get(dropped)
    with pytest.raises(KeyError, match="gone"):
        collected.content(one, str(dropped["checksum"]))
    assert collected.names(one) == {kept["checksum"]}
    assert mine(collected, one, two, three) == [two, three]


def test_what_is_put_later_is_to_be_collected_again(blobs: Blobs, collected: Collectable) -> None:
    name = f"l-{os.urandom(4).hex()}"
    first = blobs.put(name, b"1")
    collected.collect(name, [])
    assert mine(collected, name) == []
    blobs.put(name, b"1")
    assert mine(collected, name) == []
    again = blobs.put(name, b"2")
    assert mine(collected, name) == [name]
    assert collected.collect(name, [str(first["checksum"]), str(again["checksum"])]) == 2
    assert (mine(collected, name), collected.names(name)) == ([], set())
    assert blobs.put(name, b"1") == first
    assert blobs.get(first) == b"1"


def test_nothing_is_to_be_collected_where_nothing_was_put(collected: Collectable) -> None:
    assert mine(collected, "never") == []


def test_all_values_of_an_execution_can_be_removed_and_no_others(blobs: Blobs) -> None:
    mine = [blobs.put("e1", data) for data in (b"x", b"yy")]
    other = blobs.put("e10", b"x")
    assert isinstance(blobs, Removable)
    assert blobs.remove("e1") == 3
    for reference in mine:
        with pytest.raises(KeyError):
            blobs.get(reference)
    assert blobs.get(other) == b"x"
    assert blobs.remove("e1") == blobs.remove("nobody") == blobs.remove("../e10") == 0
    assert blobs.get(blobs.put("e1", b"x")) == b"x"
