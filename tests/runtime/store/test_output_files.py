"""Task output in files: what the machine cut off, what others altered, and who may look."""

import os
from pathlib import Path

import pytest

from noetl.ports import NoRoom, StoreFailure
from noetl.ports.output import OutputChunk
from noetl.store import output_files
from noetl.store.output_files import OutputFiles

ONE = OutputChunk("e1", "step", 1, (), "task", 1, 1, 1, "stdout", 0, 1_000, "hello\n")


def later(number: int) -> OutputChunk:
    return ONE._replace(offset=number * 6, text=f"line {number}")


def test_a_line_that_was_cut_off_is_passed_over_and_nothing_behind_it(tmp_path: Path) -> None:
    OutputFiles(str(tmp_path)).add_chunks([ONE])
    file = tmp_path / "e1.jsonl"
    whole = file.read_bytes()
    for cut in range(1, len(whole)):
        file.write_bytes(whole + whole[:-cut])
        assert [row.chunk for row in OutputFiles(str(tmp_path)).read("e1")] == [ONE]
        OutputFiles(str(tmp_path)).add_chunks([later(1)])
        assert [row.chunk for row in OutputFiles(str(tmp_path)).read("e1")][-1] == later(1)


@pytest.mark.parametrize(
    "line", [b"\xff\xfe", b"[]", b"{}", b"1e999", b"[" * 50_000, b'{"path": ["x"]}', b"\x1b[2J", b'{"path": []}']
)
def test_what_others_wrote_into_a_file_is_passed_over(tmp_path: Path, line: bytes) -> None:
    outputs = OutputFiles(str(tmp_path))
    outputs.add_chunks([ONE])
    with open(tmp_path / "e1.jsonl", "ab") as file:
        file.write(line + b"\n")
    outputs.add_chunks([later(1)])
    assert [row.chunk for row in outputs.read("e1")] == [ONE, later(1)]


def test_a_file_holds_no_character_that_a_terminal_obeys_and_is_its_owners_alone(tmp_path: Path) -> None:
    OutputFiles(str(tmp_path / "deep" / "output")).add_chunks([ONE._replace(text="\x1b]0;evil\x07 \x9b31m é\r\n")])
    [file] = (tmp_path / "deep" / "output").iterdir()
    assert all(0x20 <= byte < 0x7F or byte == 0x0A for byte in file.read_bytes())
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_no_id_leads_out_of_the_folder(tmp_path: Path) -> None:
    outputs = OutputFiles(str(tmp_path / "output"))
    outputs.add_chunks([ONE._replace(execution_id="../../etc/passwd")])
    assert [path.parent for path in tmp_path.rglob("*.jsonl")] == [tmp_path / "output"]
    assert len(outputs.read("../../etc/passwd")) == 1


def test_what_cannot_be_written_is_a_failure_with_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreFailure, match="cannot be kept"):
        OutputFiles(str(tmp_path / "file" / "output")).add_chunks([ONE])

    def full(*words: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(output_files, "make_folder", full)
    with pytest.raises(NoRoom, match="cannot be kept"):
        OutputFiles(str(tmp_path)).add_chunks([ONE])
