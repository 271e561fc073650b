"""Blobs as files: what is on disk, altered files, disks that refuse."""

import os
from pathlib import Path

import pytest

from noetl.ports import NoRoom, StoreFailure
from noetl.store.files import FileBlobs


def only(folder: Path) -> Path:
    """The one file below a folder."""
    (file,) = (path for path in folder.rglob("*") if path.is_file())
    return file


def test_the_name_is_the_checksum_below_the_execution(tmp_path: Path) -> None:
    reference = FileBlobs(str(tmp_path / "b")).put("e1", b"abc")
    # SHA-256 of "abc", FIPS 180-2 appendix B.1.
    checksum = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert only(tmp_path).relative_to(tmp_path) == Path("b", "e1", checksum)
    assert (reference["store"], reference["key"], reference["size"]) == ("files", f"e1/{checksum}", 3)


@pytest.mark.parametrize("name", ["../up", "/etc/x", "a/b", "", "..", "\0", "\ud800", "x" * 300])
def test_no_execution_id_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    FileBlobs(str(tmp_path / "b")).put(name, b"abc")
    assert only(tmp_path).parent.parent == tmp_path / "b"


@pytest.mark.parametrize("content", [b"", b"ab", b"abd", b"abcd"])
def test_an_altered_blob_is_a_key_error_until_it_is_put_again(tmp_path: Path, content: bytes) -> None:
    blobs = FileBlobs(str(tmp_path))
    reference = blobs.put("e1", b"abc")
    only(tmp_path).write_bytes(content)
    with pytest.raises(KeyError, match="altered"):
        blobs.get(reference)
    assert blobs.put("e1", b"abc") == reference
    assert blobs.get(reference) == b"abc"
    only(tmp_path).unlink()
    with pytest.raises(KeyError, match="gone"):
        blobs.get(reference)


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    def hook(point: str) -> None:
        if point == "blob.after_write":
            raise OSError(28, "No space left on device")

    with pytest.raises(NoRoom, match="the disk is full"):
        FileBlobs(str(tmp_path), hook=hook).put("e1", b"abc")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_file_in_the_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "b").write_text("a file")
    with pytest.raises(StoreFailure, match="in the place of a folder"):
        FileBlobs(str(tmp_path / "b")).put("e1", b"abc")
    assert os.listdir(tmp_path) == ["b"]
