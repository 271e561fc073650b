"""The contract of every keeper of task output: the promises of `noetl.ports.output.Outputs`."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.adapters import adapters_with, opening
from noetl.ports.output import CHUNK, EXECUTION_BYTES, FULL, OVERHEAD, OutputChunk, Outputs
from noetl.ports.purges import Removable

ONE = OutputChunk("e1", "step", 1, (0, 2), "task", 1, 1, 1, "stdout", 0, 1_000, "hello\n")
Open = Callable[[], Outputs]


@pytest.fixture(params=adapters_with("open_outputs"))
def open_outputs(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    """Opens the same outputs again and again."""
    with opening(request.param, "open_outputs", {"output_files": f"files:///{tmp_path}/deep/output"}) as opener:
        yield opener


@pytest.fixture
def outputs(open_outputs: Open) -> Outputs:
    """The outputs, open."""
    return open_outputs()


def texts(outputs: Outputs, execution_id: str = "e1", after: int = 0, limit: int = 0) -> list[str]:
    return [row.chunk.text for row in outputs.read(execution_id, after, limit)]


def behind(chunk: OutputChunk, text: str) -> OutputChunk:
    return chunk._replace(offset=chunk.until, text=text)


def test_nothing_is_there_of_what_printed_nothing(outputs: Outputs) -> None:
    assert (outputs.read("e1"), outputs.last_position("e1")) == ([], 0)
    outputs.add_chunks([])
    assert outputs.read("nobody") == []


@pytest.mark.parametrize("text", ["", "é\0\\0\\ \x1b[31m ￿ 𝄞\r\n", "x" * CHUNK, "\0" * CHUNK])
def test_what_is_kept_comes_back_whole_and_in_its_order(open_outputs: Open, text: str) -> None:
    outputs = open_outputs()
    chunks = [
        ONE,
        behind(ONE, text),
        ONE._replace(step='a "\\ step', task="\0", path=(), run=7, attempt=2, stream="cut"),
    ]
    outputs.add_chunks(chunks)
    rows = open_outputs().read("e1")
    assert [row.chunk for row in rows] == chunks
    assert sorted({row.position for row in rows}) == [row.position for row in rows]
    assert outputs.last_position("e1") == rows[-1].position > 0


def test_reading_goes_on_behind_a_position(outputs: Outputs) -> None:
    chunks = [ONE._replace(offset=at, text=str(at)) for at in range(10)]
    outputs.add_chunks(chunks)
    first = outputs.read("e1", limit=4)
    assert [row.chunk for row in first] == chunks[:4]
    assert [row.chunk for row in outputs.read("e1", first[-1].position)] == chunks[4:]
    last = outputs.last_position("e1")
    assert outputs.read("e1", last) == []
    outputs.add_chunks([ONE._replace(offset=10, text="more")])
    assert texts(outputs, after=last) == ["more"]


def test_what_comes_again_is_kept_once_whoever_brings_it(open_outputs: Open) -> None:
    first, second = open_outputs(), open_outputs()
    later = behind(ONE, "later\n")
    first.add_chunks([ONE, later])
    second.add_chunks([ONE, later, behind(later, "last\n")])
    first.add_chunks([later])
    assert texts(first) == texts(second) == ["hello\n", "later\n", "last\n"]


def test_attempts_and_claims_and_executions_are_apart(outputs: Outputs) -> None:
    others = [
        ONE._replace(attempt=2), ONE._replace(claim=2), ONE._replace(visit=2), ONE._replace(run=2),
        ONE._replace(path=(0, 3)), ONE._replace(task="t"), ONE._replace(step="s"), ONE._replace(execution_id="e2"),
    ]  # fmt: skip
    outputs.add_chunks([ONE, *others])
    outputs.add_chunks([*others, ONE])
    assert len(outputs.read("e1")) == 8
    assert texts(outputs, "e2") == ["hello\n"]


def test_what_is_missing_is_no_end(outputs: Outputs) -> None:
    outputs.add_chunks([ONE, ONE._replace(offset=100, text="behind a gap")])
    assert texts(outputs) == ["hello\n", "behind a gap"]


def test_an_execution_that_prints_without_end_is_cut_and_takes_the_room_of_no_other(outputs: Outputs) -> None:
    noise = ONE._replace(text="x" * CHUNK)
    most = EXECUTION_BYTES // (CHUNK + OVERHEAD)
    for start in range(0, most + 100, 500):
        outputs.add_chunks([noise._replace(offset=at * CHUNK) for at in range(start, start + 500)])
    outputs.add_chunks([ONE._replace(attempt=2), ONE._replace(execution_id="e2")])
    rows = outputs.read("e1")
    assert len(rows) == most + 1
    assert [row.chunk.stream for row in rows if row.chunk.stream == FULL] == [rows[-1].chunk.stream]
    assert f"{EXECUTION_BYTES:,} bytes" in rows[-1].chunk.text
    assert texts(outputs, "e2") == ["hello\n"]


def test_small_pieces_without_end_are_bounded_in_number(outputs: Outputs) -> None:
    most = EXECUTION_BYTES // (1 + OVERHEAD)
    outputs.add_chunks([ONE._replace(offset=at, text="x") for at in range(most + 10)])
    assert len(outputs.read("e1")) == most + 1


def test_many_threads_add_at_once_and_who_reads_behind_a_position_misses_nothing(open_outputs: Open) -> None:
    count, each = 4, 25

    def add(number: int) -> None:
        outputs = open_outputs() if number % 2 else opened
        for at in range(each):
            outputs.add_chunks([ONE._replace(attempt=number + 1, offset=10 * at, text=f"{number}:{at} ")])

    opened = open_outputs()
    threads = [threading.Thread(target=add, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    seen: list[str] = []
    after = 0
    while any(thread.is_alive() for thread in threads) or opened.last_position("e1") > after:
        for row in opened.read("e1", after):
            seen.append(row.chunk.text)
            after = row.position
    assert sorted(seen) == sorted(f"{number}:{at} " for number in range(count) for at in range(each))


def test_all_output_of_an_execution_can_be_removed_and_no_other(open_outputs: Open) -> None:
    outputs = open_outputs()
    outputs.add_chunks([ONE, behind(ONE, "more"), ONE._replace(execution_id="e10")])
    assert isinstance(outputs, Removable)
    assert outputs.remove("e1") > 0
    for again in (outputs, open_outputs()):
        assert (again.read("e1"), again.last_position("e1")) == ([], 0)
        assert texts(again, "e10") == ["hello\n"]
    assert outputs.remove("e1") == 0
    outputs.add_chunks([ONE])  # as if there never had been any
    assert texts(outputs) == ["hello\n"]
